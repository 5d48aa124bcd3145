"""The node parser of each chunker; its parameters, and their documentation, come from the core."""

from __future__ import annotations

from functools import cache
from typing import Annotated, Any

from pydantic import Field

from advchunk import Chunker
from advchunk.chunkers.catalog import params_of
from advchunk.chunkers.docstrings import parameter_docs
from advchunk.chunkers.frameworks import adapter_base, adapter_classes, describe_adapter, own_resources, pickled_by
from advchunk.errors import checked
from llamaindex_advchunk import base as bases
from llamaindex_advchunk.base import RESOURCE_NAMES, LinearNodeParser
from llamaindex_advchunk.plain import UNCHECKED

_SUFFIX = "NodeParser"
_CORPUS = """A call parses one corpus: the first nodes that it returns are the root and the communities. They belong to no document:
they have no SOURCE and none of the metadata of documents; their ``sources`` are JSON, ``[[document id, start, end],
...]``. An edit may replace any of them: parse all documents again by ``get_nodes_from_documents``, and pass the nodes
to `update_nodes`. The parser is no
transformation of a pipeline or an index, which may pass some of the documents only."""  # noqa: E501


@checked
@cache
def node_parser_class(chunker: type[Chunker]) -> type[LinearNodeParser]:
    """Return the node parser class that runs a chunker, with its parameters and resources.

    >>> from advchunk import RecursiveChunker
    >>> node_parser_class(RecursiveChunker)(max_tokens=4).split_text("One two. Three four.")
    ['One two. ', 'Three four.']
    """
    base, docs = adapter_base(chunker, bases, _SUFFIX), parameter_docs(chunker.__doc__ or "")
    own = {
        resource.name: Field(default=resource.default, exclude=True, description=docs.get(resource.name))
        for resource in own_resources(chunker, base, RESOURCE_NAMES)
    }
    members = {
        **own,
        "__annotations__": dict.fromkeys(own, Annotated[Any, UNCHECKED]),
        "__doc__": describe_adapter(chunker, own, _CORPUS),
        "__module__": __name__,
        "__reduce_ex__": pickled_by(node_parser_class),
        "chunker_class": chunker,
    }
    name = chunker.__name__.removesuffix("Chunker") + _SUFFIX
    parser: type[LinearNodeParser] = type(base)(name, (base, params_of(chunker)), members)
    return parser


__getattr__, __dir__ = adapter_classes(__name__, _SUFFIX, node_parser_class)
