"""What chunks lack for standing alone, written to LlamaIndex nodes by a chat model."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from typing import Any, Self

from llama_index.core.schema import (
    BaseNode,
    IndexNode,
    MetadataMode,
    TextNode,
    TransformComponent,
)
from pydantic import BaseModel, ConfigDict, Field, InstanceOf

from advchunk import Chunk
from advchunk import Document as Source
from advchunk.enrich import Enricher
from advchunk.enrich.rebuilt import Piece, paired, spans_in, written

_HIDDEN = ("summary", "summary_status", "rewritten", "rewritten_status", "original_text")


class ChunkEnricher(TransformComponent):
    """Give nodes what they lack for standing alone: ``ChunkEnricher(enricher=Summaries(llm=...))``.

    It stands behind a node parser, one of ours or another, in an ``IngestionPipeline``. A pipeline hands on nodes and no
    documents, so documents are put together again from the nodes of one SOURCE, by ``start_char_idx`` and
    ``end_char_idx``, or in their order; from those of our parsers exactly. Give it all nodes of a document at once.

    A summary stands in ``metadata["context"]``, behind titles and headings, which embedder and language model both see.
    What else is written is hidden from both: what a chunk was rewritten to, in ``metadata["rewritten"]``. Text, places and
    ids stay; links between the nodes are fresh. A node whose content changes loses the embedding it came with. What is no
    text, and the sentences that ``vectors="units"`` makes, pass as they are.

    A pipeline's own cache keeps what comes out, a chunk that failed as it was too, and a component has no say in that. Clear
    it, and with a ``cache`` of the enricher the next run asks about those chunks alone. With ``on_error="raise"`` it keeps
    nothing of such a run.
    """

    model_config = ConfigDict(arbitrary_types_allowed=True, extra="forbid")
    enricher: InstanceOf[Enricher] = Field(exclude=True, description="Summaries or Rewriting of advchunk.enrich.")
    rewritten: bool = Field(default=False, description="Whether a node's text is what it was rewritten to.")
    on_error: Any = Field(
        default="skip", exclude=True, description="'skip', 'raise', or a callable that is given each ChunkFailure."
    )
    show_progress: bool = Field(default=False, exclude=True, description="Whether to show a bar.")

    @classmethod
    def class_name(cls) -> str:
        """Return the name LlamaIndex serializes this component under."""
        return f"advchunk.{cls.__name__}"

    def __call__(self, nodes: Sequence[BaseNode], **kwargs: Any) -> list[BaseNode]:
        """Return the nodes with what was found, in their order."""
        groups = _groups(nodes)
        found = self.enricher.enrich_many(_pairs(groups), on_error=self.on_error, progress=self.show_progress)
        return self._written(nodes, groups, found)

    async def acall(self, nodes: Sequence[BaseNode], **kwargs: Any) -> list[BaseNode]:
        """Await what calling does."""
        groups = _groups(nodes)
        found = await self.enricher.aenrich_many(_pairs(groups), on_error=self.on_error, progress=self.show_progress)
        return self._written(nodes, groups, found)

    def _written(
        self, nodes: Sequence[BaseNode], groups: list[list[TextNode]], found: list[list[Chunk]]
    ) -> list[BaseNode]:
        enriched = {
            id(node): self._node(node, chunk)
            for group, chunks in zip(groups, found, strict=True)
            for node, chunk in zip(group, chunks, strict=True)
        }
        fresh = {node.node_id: node.as_related_node_info() for node in enriched.values()}
        for node in enriched.values():  # hashes are final from here on, so links hold
            node.relationships = {
                kind: [fresh.get(info.node_id, info) for info in infos]
                if isinstance(infos, list)
                else fresh.get(infos.node_id, infos)
                for kind, infos in node.relationships.items()
            }
        return [enriched.get(id(node), node) for node in nodes]

    def _node(self, node: TextNode, chunk: Chunk) -> TextNode:
        text, metadata = written(chunk, rewritten=self.rewritten)
        if chunk.context:
            metadata["context"] = chunk.context
        hidden = [key for key in _HIDDEN if key in metadata]
        changed = node.model_copy(
            update={
                "text": text,
                "metadata": metadata,
                "excluded_embed_metadata_keys": _and(node.excluded_embed_metadata_keys, hidden),
                "excluded_llm_metadata_keys": _and(node.excluded_llm_metadata_keys, hidden),
            }
        )
        if changed.get_content(MetadataMode.EMBED) != node.get_content(MetadataMode.EMBED):
            changed.embedding = None
        return changed

    def to_dict(self, **kwargs: Any) -> dict[str, Any]:
        """Add a fingerprint: the IngestionPipeline's cache key is made from this."""
        return {**super().to_dict(**kwargs), "fingerprint": self.enricher.fingerprint()}

    @classmethod
    def from_dict(cls, data: dict[str, Any], **kwargs: Any) -> Self:
        """Build from `to_dict`; the enricher is not in it, so give it again."""
        return super().from_dict({key: data[key] for key in data if key != "fingerprint"}, **kwargs)

    # The base drops what cannot be pickled, from the original too; pydantic's own way fails loudly instead.
    def __getstate__(self) -> dict[str, Any]:
        return BaseModel.__getstate__(self)

    def __setstate__(self, state: dict[str, Any]) -> None:
        BaseModel.__setstate__(self, state)


def _groups(nodes: Sequence[BaseNode]) -> list[list[TextNode]]:
    """Return the chunks of each document."""
    groups = dict[str, list[TextNode]]()
    for node in nodes:
        if isinstance(node, TextNode) and not isinstance(node, IndexNode) and node.text.strip():
            groups.setdefault(node.ref_doc_id or node.node_id, []).append(node)
    return list(groups.values())


def _pairs(groups: Sequence[Sequence[TextNode]]) -> Iterator[tuple[Source, list[Chunk]]]:
    for nodes in groups:
        yield paired([_piece(node) for node in nodes], nodes[0].ref_doc_id or nodes[0].node_id)


def _piece(node: TextNode) -> Piece:
    text = node.metadata.get("original_text", node.text)
    spans = spans_in(node.metadata, node.start_char_idx, node.end_char_idx, len(text))
    verbatim = sum(end - start for start, end in spans) == len(text)
    return Piece(text, spans if verbatim else (), node.metadata.get("context", ""), node.metadata)


def _and(keys: Sequence[str], more: Sequence[str]) -> list[str]:
    return [*keys, *(key for key in more if key not in keys)]
