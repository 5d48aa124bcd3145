"""The languages of source code: their grammars, their files, and the nodes that are definitions."""

import json
import logging
import re
from collections.abc import Mapping
from functools import cache, lru_cache
from importlib.resources import files
from importlib.util import find_spec
from pathlib import PurePath
from typing import TYPE_CHECKING, Any, NamedTuple

from advchunk.errors import MissingExtra, import_extra
from advchunk.readers.code import SUFFIXES

if TYPE_CHECKING:
    from tree_sitter import Node

_log = logging.getLogger("advchunk")


class Language(NamedTuple):
    """A programming language."""

    grammar: str  # module with its Tree-sitter grammar
    definitions: str  # types of the nodes that may be definitions (see `is_definition`)
    function: str = "language"  # of the module, which returns the grammar


_DATA = json.loads(files(__package__).joinpath("languages.json").read_text("utf-8"))
LANGUAGES: Mapping[str, Language] = {name: Language(**about) for name, about in _DATA.items()}

_WITH_BODY = frozenset(
    "class_specifier enum_specifier mod_item namespace_definition struct_specifier union_specifier".split()  # noqa: SIM905
)
_WITH_VALUE = frozenset(
    "variable_declarator assignment_expression pair field_definition public_field_definition".split()  # noqa: SIM905
)
_FUNCTIONS = frozenset(["arrow_function", "function_expression", "generator_function", "class"])


def is_definition(node: "Node") -> bool:
    """Return True if a node of a type in ``definitions`` has what makes it one, such as a body or a function."""
    if node.type in _WITH_BODY:
        return node.child_by_field_name("body") is not None
    if node.type in _WITH_VALUE:
        value = node.child_by_field_name("value") or node.child_by_field_name("right")
        arguments = value.child_by_field_name("arguments") if value and node.type == "variable_declarator" else None
        first = arguments.named_children[:1] if arguments else []
        return any(item is not None and item.type in _FUNCTIONS for item in (value, *first))
    kind = node.child_by_field_name("type")
    if node.type == "type_definition":
        return kind is not None and kind.child_by_field_name("body") is not None
    if node.type == "type_spec":
        return kind is not None and kind.type in {"struct_type", "interface_type"}
    if node.type == "property_declaration":
        accessors = node.child_by_field_name("accessors")
        return any(item.child_by_field_name("body") for item in (accessors.named_children if accessors else ()))
    return True


_BY_SUFFIX = {f".{suffix}": name for name, suffixes in SUFFIXES.items() for suffix in suffixes.split()}
_SHEBANG = re.compile(r"\ufeff?#!.*\b(?P<program>bash|ksh|node|php|python|ruby|sh|zsh)[\d.]*(?:\s|\Z)")
_PROGRAMS = {"ksh": "bash", "node": "javascript", "sh": "bash", "zsh": "bash"}
_FILE_KEYS = ("source", "file_path", "file_name")  # of metadata; the first is LangChain's, the others LlamaIndex's


def detect_language(name: str, text: str = "", metadata: Mapping[str, Any] | None = None) -> str:
    """Return the language of code by its metadata, else the name of its file, else its first line; "" if unknown."""
    metadata = metadata or {}
    if metadata.get("language") in LANGUAGES:
        return str(metadata["language"])
    names = [name, *(str(metadata.get(key) or "") for key in _FILE_KEYS)]
    suffixes = [suffix for name in names if (suffix := _suffix(name))]
    if suffixes:
        return next((_BY_SUFFIX[suffix] for suffix in suffixes if suffix in _BY_SUFFIX), "")
    shebang = _SHEBANG.match(text)
    return _PROGRAMS.get(shebang["program"], shebang["program"]) if shebang else ""


def detect(text: str, name: str, metadata: Mapping[str, Any]) -> str:
    """Return "code"; "plain" if the grammar is not installed, which is logged once; "" for other text."""
    language = detect_language(name, text, metadata)
    if language and not is_installed(language):
        _report_missing()
        return "plain"
    return "code" if language else ""


@cache
def _report_missing() -> None:
    _log.warning("source code is read as plain text: %s", MissingExtra("tree-sitter", "code"))


@lru_cache(maxsize=1024)
def _suffix(name: str) -> str:
    """Return the suffix of a path or URL, in lower case."""
    path = name.partition("://")[2].partition("?")[0].partition("#")[0].partition("/")[2] if "://" in name else name
    return PurePath(path).suffix.lower()


def is_installed(language: str) -> bool:
    """Return True if Tree-sitter and the grammar of a language are installed."""
    return all(find_spec(module) for module in ("tree_sitter", LANGUAGES[language].grammar))


@cache
def load_grammar(language: str) -> Any:
    """Return the Tree-sitter grammar of a language, or raise `MissingExtra`."""
    tree_sitter, grammar = import_extra("tree_sitter", "code"), LANGUAGES[language]
    return tree_sitter.Language(getattr(import_extra(grammar.grammar, "code"), grammar.function)())
