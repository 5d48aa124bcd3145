"""The splitter of each chunker; its parameters, and their documentation, come from the core."""

from __future__ import annotations

from dataclasses import dataclass, field
from functools import cache
from typing import Any

from advchunk import Chunker
from advchunk.chunkers.catalog import params_of
from advchunk.chunkers.frameworks import adapter_base, adapter_classes, describe_adapter, own_resources, pickled_by
from advchunk.chunkers.params import RESOURCE
from advchunk.errors import checked
from langchain_advchunk import base as bases
from langchain_advchunk.base import RESOURCE_NAMES, LinearSplitter

_SUFFIX = "Splitter"
_CORPUS = """A call splits one corpus: the first documents that it returns are the root and the communities. They belong to no document
and have none of the metadata of documents; their ``sources`` are JSON, ``[[source_id, start, end], ...]``. An edit may replace any
of them: split all documents again, and pass the chunks to ``index(..., cleanup="full", key_encoder=record_key)``."""  # noqa: E501


@checked
@cache
def splitter_class(chunker: type[Chunker]) -> type[LinearSplitter]:
    """Return the text splitter class that runs a chunker, with its parameters and resources.

    >>> from advchunk import RecursiveChunker
    >>> splitter_class(RecursiveChunker)(max_tokens=4).split_text("One two. Three four.")
    ['One two. ', 'Three four.']
    """
    base, own = adapter_base(chunker, bases, _SUFFIX), dict[str, Any]()
    for resource in own_resources(chunker, base, RESOURCE_NAMES):
        own[resource.name] = field(default=resource.default, repr=False, metadata=RESOURCE)
    name = chunker.__name__.removesuffix("Chunker") + _SUFFIX
    members = {
        **own,
        "__annotations__": dict.fromkeys(own, Any),
        "__doc__": describe_adapter(chunker, own, _CORPUS),
        "__module__": __name__,
        "__reduce_ex__": pickled_by(splitter_class),
        "chunker_class": chunker,
    }
    made: Any = dataclass(kw_only=True, eq=False)(type(name, (base, params_of(chunker)), members))
    splitter: type[LinearSplitter] = made
    return splitter


__getattr__, __dir__ = adapter_classes(__name__, _SUFFIX, splitter_class)
