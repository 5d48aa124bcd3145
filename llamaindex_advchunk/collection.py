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
    RelatedNodeInfo,
    TextNode,
)
from llama_index.core.storage.docstore import BaseDocumentStore
from llama_index.core.vector_stores import FilterCondition, MetadataFilters
from llama_index.core.vector_stores.utils import build_metadata_filter_fn

from advchunk import Chunk
from advchunk.building.ids import hashed_id
from advchunk.building.layout import inherited_metadata
from advchunk.records import write_metadata, written_metadata
from advchunk.retrieval import Hit, LexicalIndex, Passage, Ranking
from advchunk.retrieval.collection import Collection
from advchunk.retrieval.cutting import DEPTH_TO_CUT, PassageCutter
from advchunk.retrieval.hierarchies import ChunkHierarchy
from advchunk.retrieval.locating import Finder, place_in_text
from advchunk.retrieval.neighbors import FARTHEST
from advchunk.retrieval.passages import PassageOrder
from advchunk.retrieval.query_language import Languages
from advchunk.retrieval.search import Search
from advchunk.retrieval.surroundings import CheckedSurroundings, Neighborhood, as_surroundings
from advchunk.retrieval.warning_log import WarningLog
from advchunk.text.detection import AUTO
from llamaindex_advchunk.base import exclusions, hidden_keys, node_spans, presentation, users_metadata

_NAMES = ("file_path", "file_name")  # metadata keys of a document's name


@dataclass(frozen=True, eq=False)
class Pool:
    """The nodes that are known.

    ``nodes``: with their places, each once; chunks in place of their rows. ``numbers``: of the nodes, and of the rows
    of chunks, by their ids. ``reader``: reads other nodes.
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
        order: PassageOrder = "rank",
        distances: bool | None = None,
    ) -> list[NodeWithScore]:
        """Return the first nodes for a query, or passages within a budget, from hits by vectors.

        ``search``: None takes the hits as they are, of whatever level, and cuts passages from them. ``distances``: True
        if a lower score is better; None if scores that rise are distances.
        """
        reader, is_cut = self.reader, budget is not None and not self.reader.whole_chunks
        tokens = reader.cutter.around * is_cut + (FARTHEST if search and search.neighbors else 0)
        nodes, dense, texts = self._rank(hits, distances, tokens)
        ranking = nodes.rank(query, dense, search, depth) if search else dense.keep(nodes.allowed).first(depth)
        merge = search.merge if search else None
        if budget is None:
            passages = nodes.results(nodes.first(ranking, size, merge))
        else:
            if is_cut and (search is None or nodes.hierarchy.is_flat):
                nodes = self._unified(nodes, ranking, texts)
            options = budget, reader.cutter.counter, reader.cutter, order, merge
            passages = nodes.passages(query, ranking, *options, whole_chunks=not is_cut)
        results = list[NodeWithScore]()
        for passage in passages:
            first = nodes.items[passage.hits[0].chunk.index]
            node = _with_citation(passage, first) if budget is None else to_node(passage, first)
            results.append(NodeWithScore(node=node, score=passage.score))
        return results

    def _rank(
        self, hits: Sequence[NodeWithScore], distances: bool | None, tokens: float
    ) -> tuple[Collection[BaseNode], Ranking, Mapping[str, str]]:
        """Return the nodes, with hits that are not among them, and the ranking of the hits, by the best row of each.

        The last value has the texts of the documents of these hits.

        ``tokens``: on either side of these hits of which nodes are read.
        """
        nodes, once, texts = self.nodes, self.reader.once, dict[str, str]()
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
            around = self.reader.around(missing, tokens, has_nodes=len(self) > 0)
            others = self.reader.read(missing, around=around)
            texts = {document: around.texts[name] for name, document in map(_names_of, missing) if name in around.texts}
            outdated = {self.numbers[node.node_id] for node in missing if node.node_id in self.numbers}
            nodes = nodes.joined(others.nodes, outdated.difference(numbers))
            numbers = [
                len(self) + others.numbers[hit.node_id] if number is None else number
                for hit, number in zip(hits, numbers, strict=True)
            ]
        return nodes, Ranking.from_hits(numbers, [hit.get_score() for hit in hits] if has_scores else None), texts

    def _unified(self, nodes: Collection[BaseNode], ranking: Ranking, texts: Mapping[str, str]) -> Collection[BaseNode]:
        """Return nodes with the texts of the documents to cut, in which hits stand beside the nodes that are known.

        Nodes whose places are estimated stay in texts of their own. Under filters, only nodes that pass stand around
        hits.

        ``texts``: of documents that are known already.
        """
        numbers = ranking.first(DEPTH_TO_CUT).chunks.tolist()
        places = {nodes.keys[i]: _document(nodes.items[i]) for i in numbers}
        own_texts = dict[str, str]()
        if self.reader.filters is None:
            own_texts = {document: nodes.texts[key] for key, document in places.items() if nodes.texts.get(key)}
            own_texts = {**texts, **own_texts}
            unread = {_document(nodes.items[i]): nodes.items[i] for i in numbers if i < len(self)}
            unread = {document: node for document, node in unread.items() if document not in own_texts}
            around = self.reader.around(list(unread.values()), 0, has_nodes=True)
            for document, node in unread.items():
                if (name := _names_of(node)[0]) in around.texts:
                    own_texts[document] = around.texts[name]
        renamed = {
            key: document if document in own_texts or nodes.estimated.isdisjoint((key, document)) else key
            for key, document in places.items()
        }
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

    ``once``: logs warnings. ``texts``: source of the documents of nodes. ``stored``: source of the nodes around hits as
    well, which is read if no nodes are known. ``objects``: chunks by the ``index_id`` of their rows. ``filters``: of
    the nodes that may be returned. ``has_words``: True if nodes are searched by words. ``cutter``: counts tokens, and
    cuts passages, unless they are ``whole_chunks``.
    """

    once: WarningLog
    texts: CheckedSurroundings = field(default_factory=lambda: as_surroundings(None))
    stored: CheckedSurroundings = field(default_factory=lambda: as_surroundings(None))
    objects: Mapping[str, Any] = field(default_factory=dict)
    filters: MetadataFilters | None = None
    has_words: bool = False
    cutter: PassageCutter = PassageCutter()  # noqa: RUF009
    whole_chunks: bool = False

    def around(self, nodes: Sequence[BaseNode], tokens: float, *, has_nodes: bool) -> Neighborhood:
        """Return the texts and chunks around nodes, at least so many tokens on either side of each.

        ``has_nodes``: True if nodes are known, so that only texts are read.
        """
        hits = list(map(to_hit, nodes))
        source = self.texts if has_nodes else self.stored
        return source.read(hits, self.cutter.reach(hits, tokens) if tokens else 0)

    def read(self, nodes: Iterable[BaseNode], *, around: Neighborhood | None = None) -> Pool:
        """Return nodes with their places.

        ``around``: the text around the nodes, which are some hits, in any order, and are not searched by words; None if
        they are all nodes of their documents.
        """
        are_all, texts = around is None, dict[str, str]()
        sources = list(nodes)
        if around is not None:
            sources += [item or _to_node(hit, sources) for hit, item in around.pairs]
            texts = dict(around.texts)
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
        if are_all:
            firsts = {node.ref_doc_id: node for node in own if node.ref_doc_id and node.ref_doc_id not in documents}
            texts = dict(self.around(list(firsts.values()), 0, has_nodes=True).texts)
        texts |= {name: document.get_content() for name, document in documents.items()}
        collection = self._place(own, texts, are_all=are_all)
        allowed = [self.filters is None or _passes(node, self.filters) for node in own]
        collection = replace(collection, allowed=np.array(allowed, bool))
        if are_all and self.has_words:
            contents = [node.get_content(MetadataMode.EMBED) for node in own]
            languages = Languages(contents, self.cutter.language or AUTO)
            collection = collection.with_words(LexicalIndex(contents), languages)
        return Pool(collection, numbers, self)

    def _chunk(self, node: BaseNode, nodes: Mapping[str, BaseNode]) -> BaseNode:
        """Return the chunk of a row; other nodes, also those that refer to a query engine or retriever, as they are."""
        if not isinstance(node, IndexNode):
            return node
        chunk = node.obj or self.objects.get(node.index_id) or nodes.get(node.index_id)
        return chunk if isinstance(chunk, BaseNode) else node

    def _place(self, nodes: Sequence[BaseNode], texts: Mapping[str, str], *, are_all: bool) -> Collection[BaseNode]:
        """Return nodes in their documents; those without one, or hits without a place, in runs that are texts of their
        own.

        ``texts``: of documents, by their ids.
        """
        chunks = list(map(_to_chunk, nodes))
        runs, keys = _runs(nodes), list(map(_document, nodes))
        own_texts = {
            key: texts[name]
            for key, name, chunk in zip(keys, (node.ref_doc_id for node in nodes), chunks, strict=True)
            if name is not None and name in texts and (are_all or not chunk.spans)
        }
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
            nodes, chunks, keys, names, self.cutter.counter, order=order, texts=own_texts, hierarchy=hierarchy
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
    text, written = node.get_content(), written_metadata(node.metadata)
    text, spans = (text, node_spans(node, written)) if text.strip() else ("", ())
    context = str(written.get("context", ""))
    return Chunk(text, spans, written.get("token_count", 0), id=node.node_id, context=context, metadata=node.metadata)


def to_hit(node: BaseNode) -> Hit:
    """Return a node as a hit in the document of its id, or of its name if it has none."""
    return Hit(_to_chunk(node), _names_of(node)[0], 0.0)


def _names_of(node: BaseNode) -> tuple[str, str]:
    """Return the name of a node's document for sources, and its key."""
    return node.ref_doc_id or _name(node), _document(node)


def _to_node(hit: Hit, others: Iterable[BaseNode]) -> TextNode:
    """Return a chunk that is from no store of LlamaIndex, with the file name of other nodes of its document."""
    named = next((node.metadata for node in others if node.ref_doc_id == hit.document), {})
    metadata = {name: named[name] for name in _NAMES if name in named} | hit.chunk.metadata
    return TextNode(
        id_=hit.chunk.id or hashed_id(hit.document, hit.chunk.start, hit.chunk.text),
        text=hit.chunk.text,
        start_char_idx=hit.chunk.start,
        end_char_idx=hit.chunk.end,
        metadata=metadata,
        relationships={NodeRelationship.SOURCE: RelatedNodeInfo(node_id=hit.document)},
    )


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
    return node.model_copy(update={"metadata": metadata, **exclusions([node], hidden_keys(metadata, node.metadata))})


def to_node(passage: Passage, first: BaseNode) -> TextNode:
    """Return a passage as a node, after the first of its nodes."""
    spans, values = passage.spans, {**passage.values, "node_ids": [hit.chunk.id for hit in passage.hits]}
    values |= {"context": passage.context} if passage.context else {}
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


def _document(node: BaseNode) -> str:
    """Return the key of a node's document; it ends like the name of its file, which says whether it is source code."""
    name = _name(node)
    return name if node.ref_doc_id in (None, name) else f"{node.ref_doc_id}: {name}"


def _name(node: BaseNode) -> str:
    """Return the name of a node's document for citations."""
    return users_name(node.metadata) or node.ref_doc_id or node.node_id


def users_name(metadata: Mapping[str, Any]) -> str:
    """Return the name of the file of a document, "" if its metadata has none."""
    return next((str(metadata[key]) for key in _NAMES if metadata.get(key)), "")


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
