"""Vectors for the nodes of any node parser."""

from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from typing import Any, Literal, Self

from llama_index.core.schema import BaseNode, MetadataMode, TextNode

from advchunk import Chunk, Span
from advchunk.building.ids import IdGenerator
from advchunk.chunkers.frameworks import TextPlace
from advchunk.chunkers.vectors import aadd_vectors, add_vectors
from advchunk.errors import require
from advchunk.models.cache import CacheLike
from advchunk.models.embedders import EmbedderLike
from advchunk.records import written_metadata
from advchunk.retrieval.locating import Finder
from llamaindex_advchunk.base import chunk_spans, sentence_nodes


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

    They go into any index, as the nodes of our parsers with ``vectors=kind`` do (`LinearNodeParser`)::

        nodes = SentenceSplitter()(documents)
        index = VectorStoreIndex(vectors_for(nodes, "units", documents=documents))

    A node is embedded with the metadata that its embedder sees. The nodes themselves are not changed; those without text are
    returned as they are, after the others.

    Parameters
    ----------
    nodes : in the order in which the parser returned them.
    kind : see `advchunk.chunkers.vectors.ChunkVectors`.
    embed_model : ``BaseEmbedding`` or anything that embeds; None is the built-in default.
    documents : the documents, or nodes, that were parsed. A node is located by its ``start_char_idx``, else by its text,
        ignoring white space. Without documents, text is known from the nodes alone, and those without ``start_char_idx`` are
        taken to follow one another.
    batch_size : texts per model call.
    cache : keeps embeddings: a path, a dict, or a Store.

    Raises
    ------
    ConfigurationError : a node is not part of its document.
    """
    sources = _Sources.of(nodes, documents)
    texts, located = sources.texts, sources.located
    results = add_vectors(located, kind, embed_model, documents=texts, batch_size=batch_size, cache=cache)
    return sources.entries(results)


async def avectors_for(
    nodes: Sequence[BaseNode],
    kind: Literal["plain", "context", "units", "late"] = "units",
    embed_model: EmbedderLike = None,
    documents: Sequence[BaseNode] | None = None,
    *,
    batch_size: int | None = None,
    cache: CacheLike = None,
    concurrency: int | None = None,
) -> list[BaseNode]:
    """Await `vectors_for`, with at most ``concurrency`` (>= 1) model calls at a time; None leaves it to each model."""
    sources = _Sources.of(nodes, documents)
    options: dict[str, Any] = {"batch_size": batch_size, "cache": cache, "concurrency": concurrency}
    results = await aadd_vectors(sources.located, kind, embed_model, documents=sources.texts, **options)
    return sources.entries(results)


@dataclass(frozen=True)
class _Sources:
    """The nodes of each document, as they are and as chunks of its text, if that is known, and the nodes without text."""

    groups: dict[str, list[TextNode]]
    located: list[list[Chunk]]
    texts: list[str] | None
    rest: list[BaseNode]

    @classmethod
    def of(cls, nodes: Sequence[BaseNode], documents: Sequence[BaseNode] | None) -> Self:
        """Return the nodes by their documents."""
        groups, rest = dict[str, list[TextNode]](), list[BaseNode]()
        for node in nodes:
            if isinstance(node, TextNode) and node.text.strip():
                groups.setdefault(node.ref_doc_id or "", []).append(node)
            else:
                rest.append(node)
        if documents is None:
            return cls(groups, [_locate(group, None) for group in groups.values()], None, rest)
        contents = {document.node_id: document.get_content(MetadataMode.NONE) for document in documents}
        unknown = [source for source in groups if source not in contents]
        require(not unknown, "documents must have the source of each node", unknown)
        texts = [contents[source] for source in groups]
        return cls(groups, list(map(_locate, groups.values(), texts)), texts, rest)

    def entries(self, results: Iterable[Sequence[Chunk]]) -> list[BaseNode]:
        """Return the nodes with the vectors of their chunks."""
        ids, entries = IdGenerator(), list[BaseNode]()
        for (source, group), chunks in zip(self.groups.items(), results, strict=True):
            place = TextPlace(None if self.texts is not None or _are_placed(group) else ())
            for node, chunk in zip(group, ids.assign(source, chunks), strict=True):
                if chunk.rows is not None:
                    entries += sentence_nodes(node, chunk, place)
                elif chunk.vector is not None:
                    entries.append(node.model_copy(update={"embedding": chunk.vector.tolist()}))
        return [*entries, *self.rest]


def _are_placed(nodes: Sequence[TextNode]) -> bool:
    """Return True if each node has the offset of its text."""
    return all(
        spans and sum(end - start for start, end in spans) == len(node.text)
        for node, spans in zip(nodes, map(chunk_spans, nodes), strict=True)
    )


def _locate(nodes: Sequence[TextNode], text: str | None) -> list[Chunk]:
    """Return the nodes of a document as chunks of its text, or if that is unknown, of what they say of it."""
    finder, chunks, end, are_placed = Finder(text or ""), list[Chunk](), 0, _are_placed(nodes)
    for node in nodes:
        spans, content = chunk_spans(node), node.text
        if text is None:
            spans = spans if are_placed else (Span(end, end + len(content)),)
        elif not spans or not finder.has(content, spans):
            span = finder.find(content)
            require(span is not None, "nodes must be parts of their document, in order", content[:80])
            spans = (span,) if span else ()
            content = "".join(text[start:end] for start, end in spans)
        end = spans[-1].end + 2
        level = written_metadata(node.metadata).get("level")
        context = node.get_metadata_str(MetadataMode.EMBED)
        chunks.append(Chunk(content, spans, 0, level=level if isinstance(level, int) else 0, context=context))
    return chunks
