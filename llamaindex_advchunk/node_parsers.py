"""The node parser of each chunker; its parameters, and their documentation, come from the core."""

from __future__ import annotations

from typing import Annotated, Any

from pydantic import Field

from advchunk import Chunker
from advchunk.chunkers.base import VectorsChunker
from advchunk.chunkers.catalog import params_of
from advchunk.chunkers.docstrings import parameter_docs
from advchunk.chunkers.frameworks import chunker_named, chunker_names, describe_adapter, own_resources
from llamaindex_advchunk.base import (
    RESOURCE_NAMES,
    UNCHECKED,
    EmbeddingNodeParser,
    LanguageModelNodeParser,
    LexicalNodeParser,
    LinearNodeParser,
)

_SUFFIX = "NodeParser"
_CORPUS = """A call parses one corpus: the first nodes that it returns are the root and the communities. They belong to no document:
they have no SOURCE and none of the metadata of documents; their ``sources`` are JSON, ``[[document id, start, end], ...]``."""


def node_parser_class(chunker: type[Chunker]) -> type[LinearNodeParser]:
    """Return a new node parser class that runs a chunker, with its parameters and resources.

    >>> from advchunk import RecursiveChunker
    >>> node_parser_class(RecursiveChunker)(max_tokens=4).split_text("One two. Three four.")
    ['One two. ', 'Three four.']
    """
    base, docs = _base(chunker), parameter_docs(chunker.__doc__ or "")
    own = {
        resource.name: Field(default=resource.default, exclude=True, description=docs.get(resource.name))
        for resource in own_resources(chunker, base, RESOURCE_NAMES)
    }
    members = {
        **own,
        "__annotations__": dict.fromkeys(own, Annotated[Any, UNCHECKED]),
        "__doc__": describe_adapter(chunker, own, _CORPUS),
        "__module__": __name__,
        "chunker_class": chunker,
    }
    name = chunker.__name__.removesuffix("Chunker") + _SUFFIX
    parser: type[LinearNodeParser] = type(base)(name, (base, params_of(chunker)), members)
    return parser


def _base(chunker: Any) -> type[LinearNodeParser]:
    if issubclass(chunker, VectorsChunker):
        return EmbeddingNodeParser
    names = chunker.__dataclass_fields__
    return (
        LexicalNodeParser
        if "word_splitter" in names
        else LanguageModelNodeParser
        if "lm" in names
        else LinearNodeParser
    )


def __getattr__(name: str) -> Any:
    """Return the node parser of a chunker."""
    if name == "__all__":
        return sorted(chunker_names(_SUFFIX))
    parser = node_parser_class(chunker_named(name, _SUFFIX, __name__))
    return globals().setdefault(name, parser)


def __dir__() -> list[str]:
    return sorted({*globals(), *chunker_names(_SUFFIX)})
