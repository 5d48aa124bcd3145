"""Nodes of LlamaIndex with their places, and passages as nodes of LlamaIndex."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field, replace
from itertools import chain
from typing import Any

import numpy as np
from llama_index.core.schema import (
    BaseNode,
    Document,
    IndexNode,
    MetadataMode,
    NodeRelationship,
    NodeWithScore,
    TextNode,
)
from llama_index.core.storage.docstore import BaseDocumentStore
from llama_index.core.vector_stores import FilterCondition, MetadataFilters
from llama_index.core.vector_stores.utils import build_metadata_filter_fn

from advchunk import Chunk
from advchunk.chunkers.frameworks import flatten_spans
from advchunk.errors import require
from advchunk.layout import inherited_metadata
from advchunk.records import write_metadata, written_metadata
from advchunk.retrieval import LexicalIndex, Passage, Ranking
from advchunk.retrieval.collection import Collection
from advchunk.retrieval.cutting import DEPTH_TO_CUT, PassageCutter, Texts, find_text
from advchunk.retrieval.hierarchies import ChunkHierarchy
from advchunk.retrieval.locating import Finder, place_in_text
from advchunk.retrieval.passages import PassageOrder
from advchunk.retrieval.search import Search
from advchunk.retrieval.warning_log import WarningLog
from advchunk.text.counters import Counter
from llamaindex_advchunk.base import chunk_spans, exclusions, hidden_keys, presentation, users_metadata

_NAMES = ("file_path", "file_name")  # metadata keys of a document's name


@dataclass(frozen=True, eq=False)
class Pool:
    """The nodes that are known.

    Parameters
    ----------
    nodes : with their places, each once; chunks in place of their rows.
    numbers : of the nodes, and of the rows of chunks, by their ids.
    reader : reads other nodes.
    """

    nodes: Collection[BaseNode]
    numbers: Mapping[str, int]
    reader: PoolReader

    def __len__(self) -> int:
        return len(self.nodes)

    @property
    def has_rows(self) -> bool:
        """True if chunks have rows."""
        return len(self.numbers) > len(self)

    def lacks(self, hits: Iterable[NodeWithScore]) -> bool:
        """Return True if a hit is not among the nodes, or has changed."""
        return any(self._number(hit.node) is None for hit in hits)

    def respond(
        self,
        query: str,
        hits: Sequence[NodeWithScore],
        search: Search | None,
        *,
        depth: int,
        size: int,
        budget: int | None,
        order: PassageOrder,
        distances: bool | None = None,
    ) -> list[NodeWithScore]:
        """Return the first nodes for a query, or passages within a budget, from hits by vectors.

        Parameters
        ----------
        search : None takes the hits as they are, of whatever level, and cuts passages from them.
        distances : True if a lower score is better; None if scores that rise are distances.
        """
        nodes, dense = self._rank(hits, distances)
        ranking = nodes.rank(query, dense, search, depth) if search else dense.keep(nodes.allowed).first(depth)
        cutter, merge = self.reader.cutter, search.merge if search else None
        if budget is None:
            passages = nodes.results(nodes.first(ranking, size, merge))
        elif cutter and (search is None or nodes.hierarchy.is_flat):
            passages = self._unified(nodes, ranking).cut(query, ranking, budget, cutter, order)
        else:
            passages = nodes.passages(ranking, budget, self.reader.counter, order, merge)
        results = list[NodeWithScore]()
        for passage in passages:
            first = nodes.items[passage.hits[0].chunk.index]
            node = _with_citation(passage, first) if budget is None else to_node(passage, first)
            results.append(NodeWithScore(node=node, score=passage.score))
        return results

    def _rank(self, hits: Sequence[NodeWithScore], distances: bool | None) -> tuple[Collection[BaseNode], Ranking]:
        """Return the nodes, with hits that are not among them, and the ranking of the hits, by the best row of each."""
        nodes, once = self.nodes, self.reader.once
        scores = [hit.score for hit in hits if hit.score is not None]
        has_scores = len(scores) == len(hits)
        if has_scores:
            sign = 1 if (scores == sorted(scores) if distances is None else distances) else -1
            hits = sorted(hits, key=lambda hit: sign * hit.get_score())
        else:
            once.warn("scores", "the retriever returns no scores, so the order of its hits counts")
        numbers = [self._number(hit.node) for hit in hits]
        if missing := [hit.node for hit, number in zip(hits, numbers, strict=True) if number is None]:
            self._warn(missing, len(hits))
            missing.sort(
                key=lambda node: (node.ref_doc_id or "", getattr(node, "start_char_idx", None) or 0, node.node_id)
            )
            others = self.reader.read(missing, are_all=False)
            outdated = {self.numbers[node.node_id] for node in missing if node.node_id in self.numbers}
            nodes = nodes.joined(others.nodes, outdated.difference(numbers))
            numbers = [
                len(self) + others.numbers[hit.node_id] if number is None else number
                for hit, number in zip(hits, numbers, strict=True)
            ]
        return nodes, Ranking.from_hits(numbers, [hit.get_score() for hit in hits] if has_scores else None)

    def _unified(self, nodes: Collection[BaseNode], ranking: Ranking) -> Collection[BaseNode]:
        """Return nodes with the texts of the documents to cut, in which hits stand beside the nodes that are known.

        Nodes whose places are estimated stay in texts of their own. Under filters, only nodes that pass stand around hits.
        """
        texts, renamed = dict[str, str | None](), dict[str, str]()
        for i in ranking.first(DEPTH_TO_CUT).chunks.tolist():
            key, document = nodes.keys[i], _document(nodes.items[i])
            if self.reader.filters is None and document not in texts:
                texts[document] = nodes.texts.get(key) or self.reader.text_of(nodes.items[i])
            is_placed = texts.get(document) is not None or nodes.estimated.isdisjoint((key, document))
            renamed[key] = document if is_placed else key
        own_texts = {document: text for document, text in texts.items() if text is not None}
        is_same = all(key == document for key, document in renamed.items())
        return replace(
            nodes,
            keys=nodes.keys if is_same else [renamed.get(key, key) for key in nodes.keys],
            names={**nodes.names, **{document: nodes.names[key] for key, document in renamed.items()}},
            texts=own_texts,
            estimated=nodes.estimated - own_texts.keys(),
            allowed=nodes.allowed & nodes.hierarchy.leaves,
        )

    def _number(self, node: BaseNode) -> Any:
        """Return the number of a node, or of the chunk of a row; None if it is unknown, or has another text."""
        number = self.numbers.get(node.node_id)
        if number is None:
            return self.numbers.get(node.index_id) if isinstance(node, IndexNode) else None
        own = self.nodes.items[number]
        return None if own.node_id == node.node_id and own.get_content() != node.get_content() else number

    def _warn(self, missing: Sequence[BaseNode], total: int) -> None:
        changed = sum(node.node_id in self.numbers for node in missing)
        if changed:
            reason = (
                "%d of %d hits have another text than the node with their id, and replace it: pass the present nodes"
            )
            self.reader.once.warn("changed", reason, changed, total)
        if len(self) and changed < len(missing):
            reason = "%d of %d hits are not among the nodes, and have no neighbors that are not found: pass all nodes"
            self.reader.once.warn("hits", reason, len(missing) - changed, total)


@dataclass(frozen=True, eq=False)
class PoolReader:
    """Reads nodes, and finds their places.

    Parameters
    ----------
    counter : counts tokens.
    once : logs warnings.
    docstore : may have the documents of nodes.
    objects : chunks by the ``index_id`` of their rows.
    filters : of the nodes that may be returned.
    language : of the words by which nodes are searched; None if they are not.
    texts : the texts of documents by their ids or names.
    cutter : cuts passages; None makes them of whole nodes.
    """

    counter: Counter
    once: WarningLog
    docstore: BaseDocumentStore | None = None
    objects: Mapping[str, Any] = field(default_factory=dict)
    filters: MetadataFilters | None = None
    language: str | None = None
    texts: Texts | None = None
    cutter: PassageCutter | None = None

    def text_of(self, node: BaseNode) -> str | None:
        """Return the text of a node's document, None if it is not known."""
        for name in filter(None, (node.ref_doc_id, _name(node))):
            if (text := find_text(self.texts, name)) is not None:
                return text
        if self.docstore is None or node.ref_doc_id is None:
            return None
        document = self.docstore.get_document(node.ref_doc_id, raise_error=False)
        return None if document is None else document.get_content()

    def read(self, nodes: Iterable[BaseNode], *, are_all: bool = True) -> Pool:
        """Return nodes with their places.

        Parameters
        ----------
        are_all : True if the nodes are all of their documents; else some of them, in any order, which are not searched by
            words.
        """
        sources = list(nodes)
        parents = {node.ref_doc_id for node in sources}
        documents = {
            node.node_id: node for node in sources if are_all and isinstance(node, Document) and node.node_id in parents
        }
        plain = {node.node_id: node for node in sources if not isinstance(node, IndexNode)}
        own, numbers = list[BaseNode](), dict[str, int]()
        for node in sources:
            if node.node_id not in documents:
                chunk = self._chunk(node, plain)
                numbers[node.node_id] = number = numbers.setdefault(chunk.node_id, len(own))
                own += [chunk] if number == len(own) else []
        collection = self._place(own, documents, are_all=are_all)
        allowed = [self.filters is None or _passes(node, self.filters) for node in own]
        collection = replace(collection, allowed=np.array(allowed, bool))
        if are_all and self.language is not None:
            words = LexicalIndex((node.get_content(MetadataMode.EMBED) for node in own), self.language)
            collection = collection.with_words(words)
        return Pool(collection, numbers, self)

    def _chunk(self, node: BaseNode, nodes: Mapping[str, BaseNode]) -> BaseNode:
        """Return the chunk of a row; other nodes, also those that refer to a query engine or retriever, as they are."""
        if not isinstance(node, IndexNode):
            return node
        chunk = node.obj or self.objects.get(node.index_id) or nodes.get(node.index_id)
        return chunk if isinstance(chunk, BaseNode) else node

    def _place(
        self, nodes: Sequence[BaseNode], documents: Mapping[str, BaseNode], *, are_all: bool
    ) -> Collection[BaseNode]:
        """Return nodes in their documents; those without one, or hits without a place, in runs that are texts of their own."""
        chunks = list(map(_to_chunk, nodes))
        texts, runs, keys = dict[str, str | None](), _runs(nodes), list(map(_document, nodes))
        for key, node, chunk in zip(keys, nodes, chunks, strict=True):
            if node.ref_doc_id and key not in texts and (are_all or not chunk.spans):
                document = documents.get(node.ref_doc_id)
                texts[key] = self.text_of(node) if document is None else document.get_content()
        own_texts = {key: text for key, text in texts.items() if text is not None}
        finders = {key: Finder(text) for key, text in own_texts.items()}
        unplaced = [i for i, chunk in enumerate(chunks) if chunk.text and not chunk.spans]
        for i in unplaced:
            if not are_all and keys[i] in finders:  # those that are read later are in any order
                chunks[i] = place_in_text(chunks[i], finders[keys[i]])
        for run in runs:
            for i in run:
                if not (nodes[i].ref_doc_id and (are_all or chunks[i].spans or keys[i] in own_texts)):
                    keys[i] = f"{nodes[run[0]].node_id}\n{keys[i]}"
        names = {key: _name(node) for key, node in zip(keys, nodes, strict=True)}
        order = chain.from_iterable(runs)
        above = [node.parent_node.node_id if are_all and node.parent_node else None for node in nodes]
        hierarchy = ChunkHierarchy.of([node.node_id for node in nodes], above)
        collection = Collection.of(
            nodes, chunks, keys, names, self.counter, order=order, texts=own_texts, hierarchy=hierarchy
        )
        if unplaced:
            reason = (
                "%d of %d nodes have no start_char_idx in their document: %d are located in its text, "
                "the others stand in the order of their previous and next nodes, and are cited without offsets"
            )
            located = sum(bool(chunks[i].spans) or keys[i] in collection.texts for i in unplaced)
            self.once.warn("places", reason, len(unplaced), len(nodes), located)
        return collection


def _to_chunk(node: BaseNode) -> Chunk:
    """Return a node as a chunk, with the spans that it states; a part of a node by LlamaIndex counts from that node."""
    written = written_metadata(node.metadata)
    counts_from_document = "token_count" in written or node.parent_node is None
    spans = chunk_spans(node) if isinstance(node, TextNode) and counts_from_document else ()
    return Chunk(node.get_content(), spans, written.get("token_count", 0), id=node.node_id, metadata=node.metadata)


def _runs(nodes: Sequence[BaseNode]) -> list[list[int]]:
    """Return runs of nodes that follow one another, by their links to the next."""
    numbers = {node.node_id: i for i, node in enumerate(nodes)}
    following = [numbers.get(node.next_node.node_id) if node.next_node else None for node in nodes]
    first = sorted(set(numbers.values()).difference(following))
    runs, seen = list[list[int]](), set[int]()
    for start in [*first, *range(len(nodes))]:  # links in a circle have no first
        run, i = list[int](), start
        while i is not None and i not in seen:
            seen.add(i)
            run.append(i)
            i = following[i]
        runs += [run] if run else []
    return runs


def _with_citation(passage: Passage, node: BaseNode) -> BaseNode:
    """Return a node with its citation, hidden from embedder and language model."""
    metadata = write_metadata(node.metadata, {"citation": passage.citation})
    return node.model_copy(update={"metadata": metadata, **exclusions(node, hidden_keys(metadata, node.metadata))})


def to_node(passage: Passage, first: BaseNode) -> TextNode:
    """Return a passage as a node, after the first of its nodes."""
    spans = passage.spans
    values: dict[str, Any] = {
        "citation": passage.citation,
        "token_count": passage.tokens,
        "node_ids": [hit.chunk.id for hit in passage.hits],
    }
    if passage.lines:
        values |= {"start_line": passage.lines[0][0], "end_line": passage.lines[-1][1]}
    if len(spans) > 1:
        values["spans"] = flatten_spans(spans)
    if passage.context:
        values["context"] = passage.context
    if passage.section:
        values |= {"title_path": passage.section, "section": passage.section.rpartition(" > ")[2]}
    metadata = write_metadata(inherited_metadata(first.metadata), values)
    return TextNode(
        id_=passage.id,
        text=passage.text,
        start_char_idx=spans[0].start if spans else None,
        end_char_idx=spans[-1].end if spans else None,
        metadata=metadata,
        relationships={NodeRelationship.SOURCE: first.source_node} if first.source_node else {},
        **presentation(first, metadata, hidden_keys(metadata, users_metadata(first.metadata))),
    )


def check_nodes(nodes: Iterable[BaseNode]) -> list[BaseNode]:
    """Return nodes as a list; raise `ConfigurationError` for anything else."""
    nodes = list(nodes)
    others = [node for node in nodes if not isinstance(node, BaseNode)]
    require(not others, "nodes must be nodes of LlamaIndex", others)
    return nodes


def _document(node: BaseNode) -> str:
    """Return the key of a node's document; it ends like the name of its file, which says whether it is source code."""
    name = _name(node)
    return name if node.ref_doc_id in (None, name) else f"{node.ref_doc_id}: {name}"


def _name(node: BaseNode) -> str:
    """Return the name of a node's document for citations."""
    names = [str(node.metadata[key]) for key in _NAMES if node.metadata.get(key)]
    return names[0] if names else node.ref_doc_id or node.node_id


def _passes(node: BaseNode, filters: MetadataFilters) -> bool:
    """Return True if a node passes filters, which may be nested."""
    source = dict.fromkeys(
        ("document_id", "doc_id", "ref_doc_id"), node.ref_doc_id or "None"
    )  # as vector stores add it
    passed = []
    for condition in filters.filters:
        if isinstance(condition, MetadataFilters):
            passed.append(_passes(node, condition))
        else:
            alone = MetadataFilters(filters=[condition])
            passed.append(build_metadata_filter_fn(lambda _: node.metadata | source, alone)(node.node_id))
    if filters.condition == FilterCondition.OR:
        return any(passed)
    return not any(passed) if filters.condition == FilterCondition.NOT else all(passed)


def nodes_in(docstore: BaseDocumentStore) -> list[BaseNode]:
    """Return the nodes in a docstore, without documents, and of those that have been divided into others only ours."""
    return [
        node
        for node in docstore.docs.values()
        if not isinstance(node, Document) and (_is_section(node) or not node.child_nodes)
    ]


def with_sections(nodes: Sequence[BaseNode], docstore: BaseDocumentStore) -> list[BaseNode]:
    """Return nodes after the sections of ours that contain them, at all levels, as far as a docstore has these."""
    by_id, added = {node.node_id: node for node in nodes}, list(nodes)
    while above := {node.parent_node.node_id for node in added if node.parent_node} - by_id.keys():
        added = [node for node in docstore.get_nodes(sorted(above), raise_error=False) if _is_section(node)]
        by_id = {node.node_id: node for node in added} | by_id
    return list(by_id.values())


def _is_section(node: BaseNode) -> bool:
    """Return True for a node of ours above others; those of LlamaIndex's parser count offsets from their parents."""
    return bool(node.child_nodes) and "level" in written_metadata(node.metadata)
