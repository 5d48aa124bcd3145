"""The languages of source code: their grammars, their files, and the nodes that are definitions."""

import re
from collections.abc import Mapping
from functools import cache
from importlib.util import find_spec
from pathlib import PurePath
from typing import Any, NamedTuple

from advchunk.errors import MissingExtra, import_extra

_SCRIPT = """
    (function_declaration) @d (generator_function_declaration) @d (class_declaration) @d (method_definition) @d
    (variable_declarator value: [(arrow_function) (function_expression) (generator_function) (class)]) @d
    (variable_declarator value: (call_expression arguments: (arguments . [(arrow_function) (function_expression)]))) @d
    (assignment_expression right: [(arrow_function) (function_expression) (generator_function) (class)]) @d
    (pair value: [(arrow_function) (function_expression) (generator_function)]) @d"""
_TYPED_SCRIPT = f"""{_SCRIPT}
    (abstract_class_declaration) @d (interface_declaration) @d (enum_declaration) @d (type_alias_declaration) @d
    (internal_module) @d (module) @d (public_field_definition value: (arrow_function)) @d"""
_C = """
    (function_definition) @d (struct_specifier body: (_)) @d (union_specifier body: (_)) @d (enum_specifier body: (_)) @d
    (type_definition type: [(struct_specifier body: (_)) (union_specifier body: (_)) (enum_specifier body: (_))]) @d"""


class Language(NamedTuple):
    """A programming language.

    Parameters
    ----------
    grammar : module with its Tree-sitter grammar.
    suffixes : of its files, without dots.
    definitions : Tree-sitter query that captures its definitions.
    function : function of the module that returns the grammar.
    """

    grammar: str
    suffixes: str
    definitions: str
    function: str = "language"


LANGUAGES: Mapping[str, Language] = {
    "bash": Language("tree_sitter_bash", "sh bash ksh zsh", "(function_definition) @d"),
    "c": Language("tree_sitter_c", "c", _C),
    "cpp": Language("tree_sitter_cpp", "cpp cc cxx c++ h hpp hh hxx h++ ipp inl", f"""{_C}
        (class_specifier body: (_)) @d (namespace_definition) @d"""),
    "csharp": Language("tree_sitter_c_sharp", "cs csx", """
        (namespace_declaration) @d (class_declaration) @d (struct_declaration) @d (interface_declaration) @d
        (enum_declaration) @d (record_declaration) @d (method_declaration) @d (constructor_declaration) @d
        (destructor_declaration) @d (operator_declaration) @d (local_function_statement) @d
        (property_declaration accessors: (accessor_list (accessor_declaration body: (_)))) @d"""),
    "go": Language("tree_sitter_go", "go", """
        (function_declaration) @d (method_declaration) @d (type_spec type: [(struct_type) (interface_type)]) @d"""),
    "java": Language("tree_sitter_java", "java", """
        (class_declaration) @d (interface_declaration) @d (enum_declaration) @d (record_declaration) @d
        (annotation_type_declaration) @d (method_declaration) @d (constructor_declaration) @d
        (compact_constructor_declaration) @d"""),
    "javascript": Language("tree_sitter_javascript", "js mjs cjs jsx", f"""{_SCRIPT}
        (field_definition value: (arrow_function)) @d"""),
    "php": Language("tree_sitter_php", "php phtml", """
        (namespace_definition body: (_)) @d (class_declaration) @d (trait_declaration) @d (interface_declaration) @d
        (enum_declaration) @d (function_definition) @d (method_declaration) @d""", "language_php"),
    "python": Language("tree_sitter_python", "py pyi pyw", "(class_definition) @d (function_definition) @d"),
    "ruby": Language("tree_sitter_ruby", "rb rake gemspec", "(class) @d (module) @d (method) @d (singleton_method) @d"),
    "rust": Language("tree_sitter_rust", "rs", """
        (function_item) @d (impl_item) @d (trait_item) @d (mod_item body: (_)) @d (struct_item) @d (enum_item) @d
        (union_item) @d (macro_definition) @d"""),
    "sql": Language("tree_sitter_sql", "sql", """
        (create_table) @d (create_view) @d (create_materialized_view) @d (create_function) @d (create_procedure) @d
        (create_trigger) @d (create_type) @d"""),
    "tsx": Language("tree_sitter_typescript", "tsx", _TYPED_SCRIPT, "language_tsx"),
    "typescript": Language("tree_sitter_typescript", "ts mts cts", _TYPED_SCRIPT, "language_typescript"),
}  # fmt: skip

_BY_SUFFIX = {f".{suffix}": name for name, language in LANGUAGES.items() for suffix in language.suffixes.split()}
_SHEBANG = re.compile(r"\ufeff?#!.*\b(?P<program>bash|ksh|node|php|python|ruby|sh|zsh)[\d.]*(?:\s|\Z)")
_PROGRAMS = {"ksh": "bash", "node": "javascript", "sh": "bash", "zsh": "bash"}
_FILE_KEYS = ("source", "file_path", "file_name")  # of metadata; the first is LangChain's, the others LlamaIndex's


def detect_language(name: str, text: str = "", metadata: Mapping[str, Any] | None = None) -> str:
    r"""Detect the language of source code from the name of its file, the metadata, or the first line; "" if unknown.

    The metadata may name it as ``language``, or its file as ``source``, ``file_path`` or ``file_name``.

    >>> detect_language("tea.py"), detect_language("", "#!/bin/sh\nboil"), detect_language("tea.md")
    ('python', 'bash', '')
    """
    metadata = metadata or {}
    if metadata.get("language") in LANGUAGES:
        return str(metadata["language"])
    names = [name, *(str(metadata.get(key) or "") for key in _FILE_KEYS)]
    suffixes = [suffix for name in names if (suffix := _suffix(name))]
    if suffixes:
        return next((_BY_SUFFIX[suffix] for suffix in suffixes if suffix in _BY_SUFFIX), "")
    shebang = _SHEBANG.match(text)
    return _PROGRAMS.get(shebang["program"], shebang["program"]) if shebang else ""


def _suffix(name: str) -> str:
    """Return the suffix of a path or URL, in lower case."""
    path = name.partition("://")[2].partition("?")[0].partition("#")[0].partition("/")[2] if "://" in name else name
    return PurePath(path).suffix.lower()


def is_installed(language: str) -> bool:
    """Return True if Tree-sitter and the grammar of a language are installed."""
    return all(find_spec(module) for module in ("tree_sitter", LANGUAGES[language].grammar))


@cache
def load_grammar(language: str) -> tuple[Any, Any]:
    """Return the Tree-sitter grammar of a language, and the query for its definitions; else raise `MissingExtra`."""
    tree_sitter = import_extra("tree_sitter", "code")
    module, _, definitions, function = LANGUAGES[language]
    try:
        grammar = tree_sitter.Language(getattr(import_extra(module, "code"), function)())
    except AttributeError as error:
        raise MissingExtra(f"a current {module}", "code") from error  # noqa: EM102
    return grammar, tree_sitter.Query(grammar, definitions)
