"""The pages of the API reference: what users call, and apart from it what the authors of algorithms write."""

from __future__ import annotations

import json
import re
from collections import defaultdict
from collections.abc import Iterator
from importlib import import_module
from inspect import isclass, isfunction, signature
from types import ModuleType
from typing import Any, NamedTuple

from docstrings import entries, markdown, sections

import advchunk
from advchunk.chunkers.catalog import chunker_class, names, params_of
from advchunk.chunkers.experimental import Edus
from advchunk.chunkers.params import Params
from advchunk.cli.viewer import plots
from advchunk.enrich import Enricher
from advchunk.records import Segmentation, Units
from langchain_advchunk import AdvchunkSplitter, ChunkerSplitter, LinearSplitter
from llamaindex_advchunk import AdvchunkNodeParser, ChunkerNodeParser, LinearNodeParser

MODULES = (
    "advchunk", "langchain_advchunk", "llamaindex_advchunk", "advchunk.evaluation", "advchunk.retrieval", "advchunk.enrich",  # noqa: E501
    "advchunk.cli.viewer", "advchunk.cli.viewer.plots", "advchunk.tables", "advchunk.chunkers.experimental", "advchunk.chunkers.by_page",  # noqa: E501
)  # fmt: skip
"""The modules of which users import all public names."""
FOR_AUTHORS = {
    "advchunk.registry": ("Registration",),
    "advchunk.chunkers.base": ("EmbeddingChunker", "LinearChunker", "SegmentingChunker"),
    "advchunk.chunkers.catalog": ("is_general_purpose", "register", "required_model"),
    "advchunk.chunkers.explanations": ("Cut",),
    "advchunk.chunkers.experimental_base": ("ExperimentalChunker",),
    "advchunk.chunkers.model_bases": ("ChatChunker", "ChatParams", "LanguageModelChunker"),
    "advchunk.chunkers.lexical": ("LexicalChunker", "LexicalParams"),
    "advchunk.chunkers.params": ("GroupedParams", "Params"),
    "advchunk.chunkers.sections": ("SectionedChunker",),
    "advchunk.records": ("Place", "Segmentation", "Units"),
    "advchunk.readers.writing": ("Writer", "pipe_table", "squeeze"),
    "advchunk.readers.xml": ("parse_xml",),
}
"""What the authors of chunkers, readers, and plugins import besides, by module."""


class Base(NamedTuple):
    """A class that others derive from.

    Parameters
    ----------
    title : of the section that its subclasses are in.
    methods : what users call, of it and of its subclasses.
    hooks : what subclasses use or override.
    """

    title: str
    methods: tuple[str, ...]
    hooks: tuple[str, ...] = ()


BASES: dict[type, Base] = {
    advchunk.Chunker: Base(
        "Chunkers",
        (
            "chunk", "achunk", "chunk_many", "achunk_many", "stream", "astream", "rechunk", "explain", "read_file",
            "read_documents", "fingerprint", "chunk_corpus", "achunk_corpus",
        ),
        (
            "plan", "check", "read", "limits", "tile", "fit_units", "chunk_metadata", "postprocess", "chunk_empty", "load",  # noqa: E501
            "fallback_chunker", "embeds", "counter", "sentence_tiler",
        ),
    ),
    Enricher: Base(
        "Enrichers",
        ("enrich", "aenrich", "enrich_many", "aenrich_many", "stream", "astream", "estimate"),
        ("plan", "ask", "check", "set_result", "fill_in_document", "load", "chat", "counter"),
    ),
    AdvchunkSplitter: Base(
        "Text splitters",
        (
            "split_text", "create_documents", "split_documents", "lazy_split_documents", "transform_documents", "atransform_documents",  # noqa: E501
            "split_files", "lazy_split_files", "core",
        ),
    ),
    AdvchunkNodeParser: Base("Node parsers", ("from_defaults", "split_text", "get_nodes_from_files", "lazy_nodes_from_files", "core")),  # noqa: E501
}  # fmt: skip
OF_AUTHORS = {Units, Segmentation, Edus, ChunkerSplitter, ChunkerNodeParser}
OWN = "For your own algorithm"
ORDER = (*(base.title for base in BASES.values()), "Functions", "Classes", "Errors", "Constants", OWN)
OF_FRAMEWORKS = "!^(class_name|to_dict|from_dict|model_post_init|model_copy)$"


def reference(module: str) -> str:
    """Return the page of a module: every name that it exports, by what it is for."""
    loaded = import_module(module)
    groups: dict[str, list[str]] = {title: [] for title in ORDER}
    bases = [base for base in BASES if getattr(loaded, base.__name__, None) is base]
    for name in _public(loaded):
        member = getattr(loaded, name)
        if member not in bases:
            groups[section_of(member)].append(_entry(f"{module}.{name}", **_options(member)))
    for base in bases:
        title, methods, hooks = BASES[base]
        path = f"{module}.{base.__name__}"
        groups[title].insert(0, _entry(path, members=[name for name in methods if name in vars(base)]))
        groups[title].insert(0, f"Each has the methods of [`{base.__name__}`][{path}].")
        groups[OWN] += [f"`{base.__name__}` has these hooks, which subclasses use or override:"] * bool(hooks)
        groups[OWN] += [_entry(f"{path}.{hook}") for hook in hooks]
    doc = markdown((loaded.__doc__ or "").partition("\n\n>>>")[0])
    parts = [part for title, entries in groups.items() if entries for part in (f"## {title}", *entries)]
    return "\n\n".join([f"# {module}", doc, *parts]) + "\n"


def reference_for_authors() -> str:
    """Return the page of what authors import, by module."""
    parts = ["# For authors", "What the authors of chunkers, readers, and plugins use besides what users do."]
    for module, public in FOR_AUTHORS.items():
        loaded = import_module(module)
        parts += [f"## {module}", *(_entry(f"{module}.{name}", **_options(getattr(loaded, name))) for name in public)]
    return "\n\n".join(parts) + "\n"


def parameters() -> str:
    """Return the page of all parameters by name, which a search finds by their headings: what each means, and what
    takes it.
    """
    meanings: dict[str, dict[str, list[str]]] = defaultdict(lambda: defaultdict(list))
    others: dict[str, list[str]] = defaultdict(list)
    for path, member in _callables():
        documented = entries(sections(member.__doc__ or "").get("Parameters", ""))
        for name, text in documented.items():
            meanings[name.lstrip("*")][text].append(path)
        for name in signature(member).parameters.keys() - documented.keys() if isfunction(member) else ():
            others[name].append(path)
    parts = [
        "# Parameters",
        "All parameters by name, with what takes them. `create` and the command line take those of the chunkers, too.",
    ]
    for name in sorted(meanings, key=str.lower):
        parts.append(f"## `{name}`")
        texts = sorted(meanings[name].items(), key=lambda own: "advchunk.Chunker" not in own[1])
        lines = [f"* {_taken_by(paths)}: {markdown(text)}" for text, paths in texts]
        parts.append("\n".join(lines + [f"* also in {_taken_by(others[name])}"] * bool(others[name])))
    return "\n\n".join(parts) + "\n"


def _callables() -> Iterator[tuple[str, Any]]:
    """Yield the functions, classes, and methods that the reference shows, except the adapters of chunkers, by path."""
    for module in MODULES:
        loaded = import_module(module)
        for name in _public(loaded):
            member = getattr(loaded, name)
            if isfunction(member):
                yield f"{module}.{name}", member
            elif isclass(member) and not hasattr(member, "chunker_class"):
                yield f"{module}.{name}", member
                for method in (
                    BASES[member].methods if member in BASES else _options(member).get("members", vars(member))
                ):
                    value = vars(member).get(method)
                    is_own = isfunction(value) and value.__qualname__ == f"{member.__name__}.{method}"
                    if is_own and value.__doc__ and not re.search(f"^_|{OF_FRAMEWORKS[1:]}", method):
                        yield f"{module}.{name}.{method}", value


def _taken_by(paths: list[str]) -> str:
    """Return links to what takes a parameter; chunkers that have it from their base are not listed."""
    of_all = "advchunk.Chunker" in paths
    chunkers = {f"advchunk.{chunker_class(name).__name__}" for name in names()} if of_all else set()
    links = [f"[`{path.removeprefix('advchunk.')}`][{path}]" for path in paths if path not in chunkers]
    return ", ".join("[all chunkers][advchunk.Chunker]" if "[advchunk.Chunker]" in link else link for link in links)


def section_of(member: Any) -> str:
    """Return the title of the section that a public name is in.

    >>> section_of(advchunk.RecursiveChunker), section_of(LinearSplitter), section_of(advchunk.create)
    ('Chunkers', 'For your own algorithm', 'Functions')
    """
    if not isclass(member):
        return "Functions" if isfunction(member) else "Constants"
    if issubclass(member, BaseException):
        return "Errors"
    chunkers = set(map(chunker_class, names()))
    if getattr(member, "chunker_class", member) in chunkers or member in set(map(params_of, chunkers)):
        return next((base.title for kind, base in BASES.items() if issubclass(member, kind)), "Chunkers")
    if issubclass(member, (Params, LinearSplitter, LinearNodeParser)) or member in OF_AUTHORS:
        return OWN
    return next((base.title for kind, base in BASES.items() if issubclass(member, kind)), "Classes")


def _public(loaded: ModuleType) -> Iterator[str]:
    """Yield the names that a module exports: classes first."""
    names = [name for name in vars(plots) if name.startswith("plot_")] if loaded is plots else loaded.__all__
    names = [name for name in names if name != "REGISTRATIONS"]
    yield from sorted(names, key=lambda name: (not name[0].isupper(), name))


def _options(member: Any) -> dict[str, Any]:
    """Return which members of a class are shown."""
    if not isclass(member):
        return {}
    methods = next((base.methods for kind, base in BASES.items() if issubclass(member, kind)), None)
    if section_of(member) == OWN:
        return {"filters": ["!^_", OF_FRAMEWORKS, "!^(check|decide|chunker_class)$"]}
    if methods is not None or issubclass(member, Params):
        return {"members": [name for name in methods or () if name in vars(member)]}
    return {"filters": ["!^_", OF_FRAMEWORKS]} if "_advchunk" in member.__module__ else {}


def _entry(path: str, **options: Any) -> str:
    return f"::: {path}\n    options: {json.dumps({'heading_level': 3, **options})}"
