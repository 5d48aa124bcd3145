"""Texts and nodes around hits, from the stores of LlamaIndex."""

from __future__ import annotations

from collections.abc import Sequence
from functools import partial
from typing import Any, TypeAlias

from llama_index.core.schema import BaseNode, NodeRelationship
from llama_index.core.storage.docstore import BaseDocumentStore
from llama_index.core.vector_stores.types import BasePydanticVectorStore

from advchunk.chunkers.frameworks import level_of
from advchunk.errors import require
from advchunk.records import Span
from advchunk.retrieval.passages import Hit
from advchunk.retrieval.surroundings import (
    CheckedSurroundings,
    Neighborhood,
    SurroundingsLike,
    TextSource,
    as_surroundings,
)
from advchunk.retrieval.warning_log import WarningLog
from llamaindex_advchunk.base import node_spans
from llamaindex_advchunk.collection import to_hit, users_name

AnySource: TypeAlias = SurroundingsLike | BaseDocumentStore | BasePydanticVectorStore
"""A source of texts or nodes as in the core, a docstore that has the documents, or a vector store that has the
nodes."""

_MOST_STEPS = 50  # from a hit to the nodes around it


class StoreNodes:
    """The nodes around hits, from the store that has them.

    Nodes are followed by their links to the previous and the next, all hits at once: the store is asked once for each
    step, such as five times for 350 tokens in nodes of 100. Nodes without a link or without ``start_char_idx`` have no
    neighbors.

    Parameters
    ----------
    store : a vector store that keeps the text of nodes and has ``get_nodes``, or a docstore that has the nodes.

    Raises
    ------
    ConfigurationError : the store has no such method.
    """

    def __init__(self, store: BasePydanticVectorStore | BaseDocumentStore) -> None:
        rule = "store must be a docstore, or a vector store that keeps the text of nodes and has get_nodes"
        require(isinstance(store, BaseDocumentStore) or can_find(store), rule, type(store).__name__)
        self._get: Any = store.get_nodes
        if isinstance(store, BaseDocumentStore):
            self._get = partial(store.get_nodes, raise_error=False)
        self.name = f"the store {type(store).__name__}"
        self._warnings = WarningLog()

    def read(self, hits: Sequence[Hit], reach: float) -> Neighborhood:
        """Return the nodes within ``reach`` characters of hits, and the hits themselves."""
        levels = {level_of(hit.chunk.metadata) for hit in hits}
        nodes = [node for node in self._walk(hits, reach) if level_of(node.metadata) in levels]
        return Neighborhood(list(map(to_hit, nodes)), items=nodes)

    def _walk(self, hits: Sequence[Hit], reach: float) -> list[BaseNode]:
        """Return the nodes of hits, and those that their links lead to."""
        ahead = {
            (hit.chunk.id, side): Span(int(hit.chunk.start - reach), int(hit.chunk.end + reach))
            for hit in hits
            if hit.chunk.id and hit.chunk.spans
            for side in (NodeRelationship.PREVIOUS, NodeRelationship.NEXT)
        }
        nodes, passed, steps = dict[str, BaseNode](), set[tuple[str, NodeRelationship]](), 0
        while ahead and steps < _MOST_STEPS:
            names = dict.fromkeys(name for name, _ in ahead if name not in nodes)
            nodes |= {node.node_id: node for node in (self._get(list(names)) if names else ())}
            passed |= ahead.keys()  # a hit farther along reaches farther, so a place is passed once
            links = {_step(nodes.get(name), side, range_): range_ for (name, side), range_ in ahead.items()}
            ahead = {place: range_ for place, range_ in links.items() if place is not None and place not in passed}
            steps += 1
        if ahead:
            reason = "the links of nodes were followed %d steps, and do not reach %d characters"
            self._warnings.warn("steps", reason, steps, int(reach))
        return list(nodes.values())


def _step(node: BaseNode | None, side: NodeRelationship, range_: Span) -> tuple[str, NodeRelationship] | None:
    """Return the node beside another on a side; None if the range ends within this one."""
    spans = () if node is None else node_spans(node)
    if node is None or not spans:
        return None
    is_last = spans[0].start <= range_.start if side is NodeRelationship.PREVIOUS else spans[-1].end >= range_.end
    link = node.relationships.get(side)
    return None if is_last or link is None or isinstance(link, list) else (link.node_id, side)


def can_find(store: object) -> bool:
    """Return True if a vector store keeps the text of its nodes and returns them by their ids."""
    if not isinstance(store, BasePydanticVectorStore) or not store.stores_text:
        return False
    return type(store).get_nodes is not BasePydanticVectorStore.get_nodes


def surroundings_of(source: AnySource | None, warnings: WarningLog) -> CheckedSurroundings:
    """Coerce a source of the texts or nodes around hits; see `as_surroundings` of the core.

    ``source``: besides those of the core, a docstore with the documents or the nodes, or a vector store (`StoreNodes`).
    """
    own: Any = source
    if isinstance(source, BaseDocumentStore):
        own = [documents_in(source), StoreNodes(source)]
    elif isinstance(source, BasePydanticVectorStore):
        own = StoreNodes(source)
    elif isinstance(source, (list, tuple)):
        own = [surroundings_of(part, warnings) for part in source]
    return as_surroundings(own, warnings, naming=_names)


def documents_in(docstore: BaseDocumentStore) -> TextSource:
    """Return the source of the texts of the documents in a docstore."""
    return TextSource(partial(_find, docstore), _names, f"the docstore {type(docstore).__name__}", is_optional=True)


def _names(hit: Hit) -> list[str]:
    """Return the names under which the text of a document may be kept: its id, and the name of its file."""
    name = users_name(hit.chunk.metadata)
    return [hit.document, name] if name else [hit.document]


def _find(docstore: BaseDocumentStore, ids: list[str]) -> list[str | None]:
    nodes = {node.node_id: node.get_content() for node in docstore.get_nodes(ids, raise_error=False)}
    return [nodes.get(name) for name in ids]
