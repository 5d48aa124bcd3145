"""The splitter of each chunker; its parameters, and their documentation, come from the core."""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import Any

from advchunk import Chunker
from advchunk.chunkers.base import VectorsChunker
from advchunk.chunkers.catalog import params_of
from advchunk.chunkers.frameworks import chunker_named, chunker_names, describe_adapter, own_resources
from advchunk.chunkers.params import RESOURCE
from langchain_advchunk.base import (
    RESOURCE_NAMES,
    EmbeddingSplitter,
    LanguageModelSplitter,
    LexicalSplitter,
    LinearSplitter,
)

_SUFFIX = "Splitter"
_CORPUS = """A call splits one corpus: the first documents that it returns are the root and the communities. They belong to no document
and have none of the metadata of documents; their ``sources`` are JSON, ``[[source_id, start, end], ...]``."""


def splitter_class(chunker: type[Chunker]) -> type[LinearSplitter]:
    """Return a new text splitter class that runs a chunker, with its parameters and resources.

    >>> from advchunk import RecursiveChunker
    >>> splitter_class(RecursiveChunker)(max_tokens=4).split_text("One two. Three four.")
    ['One two. ', 'Three four.']
    """
    base, own = _base(chunker), dict[str, Any]()
    for resource in own_resources(chunker, base, RESOURCE_NAMES):
        own[resource.name] = field(default=resource.default, repr=False, metadata=RESOURCE)
    name = chunker.__name__.removesuffix("Chunker") + _SUFFIX
    members = {
        **own,
        "__annotations__": dict.fromkeys(own, Any),
        "__doc__": describe_adapter(chunker, own, _CORPUS),
        "__module__": __name__,
        "chunker_class": chunker,
    }
    made: Any = dataclass(kw_only=True, eq=False)(type(name, (base, params_of(chunker)), members))
    splitter: type[LinearSplitter] = made
    return splitter


def _base(chunker: Any) -> type[LinearSplitter]:
    if issubclass(chunker, VectorsChunker):
        return EmbeddingSplitter
    names = chunker.__dataclass_fields__
    return LexicalSplitter if "word_splitter" in names else LanguageModelSplitter if "lm" in names else LinearSplitter


def __getattr__(name: str) -> Any:
    """Return the splitter of a chunker."""
    if name == "__all__":
        return sorted(chunker_names(_SUFFIX))
    splitter = splitter_class(chunker_named(name, _SUFFIX, __name__))
    return globals().setdefault(name, splitter)


def __dir__() -> list[str]:
    return sorted({*globals(), *chunker_names(_SUFFIX)})
