"""Vectors for the nodes of any node parser."""

from collections.abc import Sequence
from typing import Any, Literal

from llama_index.core.schema import BaseNode, MetadataMode, TextNode

from advchunk import Chunk
from advchunk.building.ids import IdGenerator
from advchunk.chunkers.frameworks import TextPlace, level_of
from advchunk.chunkers.vectors import add_vectors
from advchunk.errors import checked, require
from advchunk.models.cache import CacheLike
from advchunk.models.embedders import EmbedderLike
from advchunk.retrieval.locating import locate_chunks, place_in_order
from llamaindex_advchunk.base import chunk_spans, sentence_nodes


@checked
def vectors_for(
    nodes: Sequence[BaseNode],
    kind: Literal["plain", "context", "units", "late"] = "units",
    embed_model: EmbedderLike = None,
    documents: Sequence[BaseNode] | None = None,
    *,
    batch_size: int | None = None,
    cache: CacheLike = None,
) -> list[BaseNode]:
    """Return the nodes of any node parser with an ``embedding``; for "units", an `IndexNode` for each sentence of each.

    They go into any index, as the nodes of our parsers with ``vectors=kind`` do (`LinearNodeParser`).
    A node is embedded with the metadata that its embedder sees. The nodes themselves are not changed; those without
    text are returned as they are, after the others.

    Parameters
    ----------
    nodes : in the order in which the parser returned them.
    kind : see `advchunk.chunkers.vectors.ChunkVectors`.
    embed_model : ``BaseEmbedding`` or anything that embeds; None is the built-in default.
    documents, batch_size, cache : as in `langchain_advchunk.vectors_for`; documents may also be nodes that were parsed.

    Raises
    ------
    ConfigurationError : a node is not part of its document.
    """
    groups, rest = dict[str, list[TextNode]](), list[BaseNode]()
    for node in nodes:
        if isinstance(node, TextNode) and node.text.strip():
            groups.setdefault(node.ref_doc_id or "", []).append(node)
        else:
            rest.append(node)
    contents = {document.node_id: document.get_content(MetadataMode.NONE) for document in documents or ()}
    unknown = [] if documents is None else [source for source in groups if source not in contents]
    require(not unknown, "documents must have the source of each node", unknown)
    texts = None if documents is None else [contents[source] for source in groups]
    located = [_locate(group, contents.get(source)) for source, group in groups.items()]
    results = add_vectors(located, kind, embed_model, documents=texts, batch_size=batch_size, cache=cache)
    ids, entries = IdGenerator(), list[BaseNode]()
    for (source, group), chunks in zip(groups.items(), results, strict=True):
        place = TextPlace(None if source in contents or _are_placed(group) else ())
        for node, chunk in zip(group, ids.assign(source, chunks), strict=True):
            if chunk.rows is not None:
                entries += sentence_nodes(node, chunk, place)
            elif chunk.vector is not None:
                entries.append(node.model_copy(update={"embedding": chunk.vector.tolist()}))
    return [*entries, *rest]


def _are_placed(nodes: Sequence[TextNode]) -> bool:
    """Return True if each node has the offset of its text."""
    return all(
        spans and sum(end - start for start, end in spans) == len(node.text)
        for node, spans in zip(nodes, map(chunk_spans, nodes), strict=True)
    )


def _locate(nodes: Sequence[TextNode], text: str | None) -> list[Chunk]:
    """Return the nodes of a document as chunks of its text, or if that is unknown, of what they say of it."""
    are_known = text is not None or _are_placed(nodes)
    chunks = list[Chunk]()
    for node in nodes:
        spans, context = chunk_spans(node) if are_known else (), node.get_metadata_str(MetadataMode.EMBED)
        chunks.append(Chunk(node.text, spans, 0, level=level_of(node.metadata), context=context))
    located = place_in_order(chunks) if text is None else locate_chunks(text, chunks)
    lost: list[Any] = [chunk.text[:80] for chunk in located if not chunk.spans]
    require(not lost, "nodes must be parts of their document, in order", *lost[:1] or [None])
    return located
