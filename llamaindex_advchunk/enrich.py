"""Enrichment of LlamaIndex nodes by their documents' own words or a chat model."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from itertools import chain
from typing import Annotated, Any, Self

from llama_index.core.schema import BaseNode, IndexNode, MetadataMode, TextNode, TransformComponent
from pydantic import ConfigDict, Field

from advchunk import Chunk
from advchunk import Document as Source
from advchunk.chunkers.reassembly import FrameworkChunk, text_and_metadata, to_document
from advchunk.enrich import Enricher, Estimate
from advchunk.errors import checked
from advchunk.records import remove_written, write_metadata, written_metadata
from llamaindex_advchunk.base import chunk_spans, exclusions, hidden_keys, users_metadata
from llamaindex_advchunk.plain import PlainFields, Resource


class ChunkEnricher(PlainFields, TransformComponent):
    """Add the context that nodes need to be read alone: ``ChunkEnricher(enricher=ContextualEnricher(llm=...))``.

    It goes after a node parser, ours or another, in an ``IngestionPipeline``. As a pipeline passes on nodes without
    their documents, it reassembles documents from the nodes of one SOURCE, by ``start_char_idx`` and ``end_char_idx``,
    or else in the order of the nodes; with our parsers the result is exact. Pass all nodes of a document in one call.

    An added context or summary is in ``metadata["context"]``, after titles and headings, where embedder and language
    model both see it. A rewritten chunk is in ``metadata["rewritten"]``, hidden from both, as are all other added keys.
    Text, positions and ids do not change; links between nodes are updated. A node whose content changes loses its
    embedding. Nodes without text, and the sentences that ``vectors="units"`` adds, pass through unchanged.

    A pipeline's cache stores the output, including chunks that failed, and a component cannot prevent that. Clear it
    and, with the enricher's own ``cache``, the next run requests only those chunks. With ``on_error="raise"`` the
    pipeline caches nothing of a failed run.
    """

    model_config = ConfigDict(arbitrary_types_allowed=True, extra="forbid")
    enricher: Annotated[Enricher, Resource(Enricher)] = Field(
        exclude=True, description="ContextualEnricher, Summaries, or Rewriting of advchunk.enrich."
    )
    rewritten: bool = Field(default=False, description="Whether a rewritten chunk replaces the node's text.")
    on_error: Any = Field(
        default="skip", exclude=True, description="'skip', 'raise', or a callable that receives each ChunkFailure."
    )
    show_progress: bool = Field(default=False, exclude=True, description="Whether to show a progress bar.")

    def __call__(self, nodes: Sequence[BaseNode], **kwargs: Any) -> list[BaseNode]:
        """Return the enriched nodes in the same order."""
        groups = _group_by_source(nodes)
        results = self.enricher.enrich_many(_pairs(groups), on_error=self.on_error, progress=self.show_progress)
        return self._update(nodes, groups, results)

    async def acall(self, nodes: Sequence[BaseNode], **kwargs: Any) -> list[BaseNode]:
        """Await the enriched nodes."""
        groups = _group_by_source(nodes)
        results = await self.enricher.aenrich_many(_pairs(groups), on_error=self.on_error, progress=self.show_progress)
        return self._update(nodes, groups, results)

    def estimate(self, nodes: Sequence[BaseNode]) -> Estimate:
        """Return the requests that a call would send, and their tokens (`Enricher.estimate`)."""
        return self.enricher.estimate(_pairs(_group_by_source(nodes)))

    def _update(
        self, nodes: Sequence[BaseNode], groups: list[list[TextNode]], results: list[list[Chunk]]
    ) -> list[BaseNode]:
        pairs = zip(chain.from_iterable(groups), chain.from_iterable(results), strict=True)
        enriched = {id(node): self._update_node(node, chunk) for node, chunk in pairs}
        links = {node.node_id: node.as_related_node_info() for node in enriched.values()}
        for node in enriched.values():  # hashes do not change from here on, so the links stay valid
            node.relationships = {
                kind: [links.get(info.node_id, info) for info in infos]
                if isinstance(infos, list)
                else links.get(infos.node_id, infos)
                for kind, infos in node.relationships.items()
            }
        return [enriched.get(id(node), node) for node in nodes]

    def _update_node(self, node: TextNode, chunk: Chunk) -> TextNode:
        text, metadata = text_and_metadata(chunk, rewritten=self.rewritten)
        metadata = remove_written(metadata, ["context"])
        metadata = write_metadata(metadata, {"context": chunk.context} if chunk.context else {})
        hidden = hidden_keys(metadata, users_metadata(node.metadata))
        changed = node.model_copy(update={"text": text, "metadata": metadata, **exclusions([node], hidden)})
        if changed.get_content(MetadataMode.EMBED) != node.get_content(MetadataMode.EMBED):
            changed.embedding = None
        return changed

    def to_dict(self, **kwargs: Any) -> dict[str, Any]:
        """Add the enricher's fingerprint, because the IngestionPipeline makes its cache key from this."""
        return {**super().to_dict(**kwargs), "fingerprint": self.enricher.fingerprint()}

    @classmethod
    def from_dict(cls, data: dict[str, Any], **kwargs: Any) -> Self:
        """Build from `to_dict`, which does not contain the enricher: pass it again."""
        return super().from_dict({key: data[key] for key in data if key != "fingerprint"}, **kwargs)


@checked
def _group_by_source(nodes: Sequence[BaseNode]) -> list[list[TextNode]]:
    """Return the text nodes of each document."""
    groups = dict[str, list[TextNode]]()
    for node in nodes:
        if isinstance(node, TextNode) and not isinstance(node, IndexNode) and node.text.strip():
            groups.setdefault(node.ref_doc_id or node.node_id, []).append(node)
    return list(groups.values())


def _pairs(groups: Sequence[Sequence[TextNode]]) -> Iterator[tuple[Source, list[Chunk]]]:
    for nodes in groups:
        yield to_document([_to_chunk(node) for node in nodes], nodes[0].ref_doc_id or nodes[0].node_id)


def _to_chunk(node: TextNode) -> FrameworkChunk:
    written, spans = written_metadata(node.metadata), chunk_spans(node)
    text = written.get("original_text", node.text)
    verbatim = sum(end - start for start, end in spans) == len(text)
    return FrameworkChunk(text, spans if verbatim else (), written.get("context", ""), node.metadata)
