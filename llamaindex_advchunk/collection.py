"""Nodes of LlamaIndex with their places."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence, Set
from dataclasses import dataclass, field, replace
from functools import cached_property
from itertools import chain
from typing import Any, NamedTuple
from uuid import NAMESPACE_OID, uuid5

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
from advchunk.records import Span, write_metadata, written_metadata
from advchunk.retrieval import Hit, LexicalIndex, Passage, Places, Ranking, assemble_passages
from advchunk.retrieval.locating import Finder, find_overlap
from advchunk.retrieval.passages import PassageOrder
from advchunk.retrieval.places import estimate_tokens
from advchunk.retrieval.warning_log import WarningLog
from advchunk.text.counters import Counter
from llamaindex_advchunk.base import chunk_spans, hidden_keys, users_metadata

_NAMES = ("file_path", "file_name")  # metadata keys of a document's name
_APART = 3  # characters between nodes that are not merged


@dataclass(frozen=True, eq=False)
class Collection:
    """Nodes of LlamaIndex with their places.

    Parameters
    ----------
    nodes : the nodes, each once; chunks in place of their rows.
    numbers : of the nodes, and of the rows of chunks, by their ids.
    chunks : the nodes as chunks; those whose spans are not known have none.
    keys : of the document of each node.
    texts : of documents, by key, if they are known.
    estimated : keys of the documents in which places are estimated.
    places : of the nodes.
    allowed : (n,) True for each node that the filters let pass and no hit replaces.
    more : makes the same of other nodes.
    """

    nodes: Sequence[BaseNode]
    numbers: Mapping[str, int]
    chunks: Sequence[Chunk]
    keys: Sequence[str]
    texts: Mapping[str, str]
    estimated: Set[str]
    places: Places
    allowed: Any
    more: CollectionReader

    def __len__(self) -> int:
        return len(self.nodes)

    @property
    def has_rows(self) -> bool:
        """True if chunks have rows."""
        return len(self.numbers) > len(self.nodes)

    def lacks(self, hits: Iterable[NodeWithScore]) -> bool:
        """Return True if a hit is not among the nodes, or has changed."""
        return any(self._number(hit.node) is None for hit in hits)

    def rank(self, hits: Sequence[NodeWithScore], *, distances: bool | None = None) -> tuple[Collection, Ranking]:
        """Return the nodes, with hits that are not among them, and the ranking of the hits, by the best row of each.

        Parameters
        ----------
        distances : True if a lower score is better; None if scores that rise are distances.
        """
        pool, once = self, self.more.once
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
            others = self.more.read(missing, are_all=False)
            pool = self._joined(others)
            outdated = {self.numbers[node.node_id] for node in missing if node.node_id in self.numbers}
            pool.allowed[list(outdated.difference(numbers))] = False
            numbers = [
                len(self) + others.numbers[hit.node_id] if number is None else number
                for hit, number in zip(hits, numbers, strict=True)
            ]
        return pool, Ranking.from_hits(numbers, [hit.get_score() for hit in hits] if has_scores else None)

    def _number(self, node: BaseNode) -> Any:
        """Return the number of a node, or of the chunk of a row; None if it is unknown, or has another text."""
        number = self.numbers.get(node.node_id)
        if number is None:
            return self.numbers.get(node.index_id) if isinstance(node, IndexNode) else None
        own = self.nodes[number]
        return None if own.node_id == node.node_id and own.get_content() != node.get_content() else number

    def _warn(self, missing: Sequence[BaseNode], total: int) -> None:
        changed = sum(node.node_id in self.numbers for node in missing)
        if changed:
            reason = (
                "%d of %d hits have another text than the node with their id, and replace it: pass the present nodes"
            )
            self.more.once.warn("changed", reason, changed, total)
        if len(self) and changed < len(missing):
            reason = "%d of %d hits are not among the nodes, and have no neighbors that are not found: pass all nodes"
            self.more.once.warn("hits", reason, len(missing) - changed, total)

    def _joined(self, hits: Collection) -> Collection:
        """Return the nodes with hits after them, in texts of their own."""
        first = int(self.places.documents.max(initial=-1)) + 1
        documents = np.concatenate([self.places.documents, hits.places.documents + first])
        return replace(
            self,
            nodes=[*self.nodes, *hits.nodes],
            chunks=[*self.chunks, *(replace(chunk, index=len(self) + chunk.index) for chunk in hits.chunks)],
            keys=[*self.keys, *(f"\n{key}" for key in hits.keys)],
            texts={**self.texts, **{f"\n{key}": text for key, text in hits.texts.items()}},
            estimated=self.estimated | {f"\n{key}" for key in hits.estimated},
            places=Places(documents, np.concatenate([self.places.middles, hits.places.middles])),
            allowed=np.concatenate([self.allowed, hits.allowed]),
        )

    @cached_property
    def words(self) -> LexicalIndex:
        """The index of the words that embedders see."""
        return LexicalIndex((node.get_content(MetadataMode.EMBED) for node in self.nodes), self.more.language)

    def results(self, ranking: Ranking) -> list[NodeWithScore]:
        """Return nodes with their scores."""
        pairs = zip(ranking.chunks.tolist(), ranking.scores.tolist(), strict=True)
        return [NodeWithScore(node=self.nodes[i], score=score) for i, score in pairs]

    def passages(self, ranking: Ranking, budget: int, order: PassageOrder) -> list[NodeWithScore]:
        """Return passages as nodes with their scores."""
        pairs = zip(ranking.chunks.tolist(), ranking.scores.tolist(), strict=True)
        hits = [Hit(self.chunks[i], self.keys[i], score) for i, score in pairs]
        passages = assemble_passages(hits, budget, self.more.counter, order=order, texts=self.texts)
        return [NodeWithScore(node=self._to_node(passage), score=passage.score) for passage in passages]

    def _to_node(self, passage: Passage) -> TextNode:
        first = self.nodes[passage.hits[0].chunk.index]
        own_id = str(uuid5(NAMESPACE_OID, repr((passage.document, passage.spans, passage.text))))
        spans = () if passage.document in self.estimated else passage.spans
        values: dict[str, Any] = {
            "citation": replace(passage, document=_name(first), spans=spans).citation,
            "token_count": passage.tokens,
            "node_ids": [hit.chunk.id for hit in passage.hits],
        }
        if len(spans) > 1:
            values["spans"] = flatten_spans(spans)
        metadata = write_metadata(inherited_metadata(first.metadata), values)
        hidden = hidden_keys(metadata, users_metadata(first.metadata))
        return TextNode(
            id_=own_id,
            text=passage.text,
            start_char_idx=spans[0].start if spans else None,
            end_char_idx=spans[-1].end if spans else None,
            metadata=metadata,
            relationships={NodeRelationship.SOURCE: first.source_node} if first.source_node else {},
            excluded_embed_metadata_keys=[*first.excluded_embed_metadata_keys, *hidden],
            excluded_llm_metadata_keys=[*first.excluded_llm_metadata_keys, *hidden],
            metadata_template=first.metadata_template,
            metadata_separator=first.metadata_separator,
            text_template=getattr(first, "text_template", TextNode.model_fields["text_template"].default),
        )


@dataclass(frozen=True, eq=False)
class CollectionReader:
    """Reads nodes, and finds their places.

    Parameters
    ----------
    counter : counts tokens.
    once : logs warnings.
    docstore : may have the documents of nodes.
    objects : chunks by the ``index_id`` of their rows.
    filters : of the nodes that may be returned.
    language : of the words.
    """

    counter: Counter
    once: WarningLog
    docstore: BaseDocumentStore | None = None
    objects: Mapping[str, Any] = field(default_factory=dict)
    filters: MetadataFilters | None = None
    language: str = "en"

    def read(self, nodes: Iterable[BaseNode], *, are_all: bool = True) -> Collection:
        """Return nodes with their places.

        Parameters
        ----------
        are_all : True if the nodes are all of their documents; else some of them, in any order.
        """
        sources = list(nodes)
        parents = {node.ref_doc_id for node in sources}
        texts = {
            node.node_id: node.get_content()
            for node in sources
            if are_all and isinstance(node, Document) and node.node_id in parents
        }
        plain = {node.node_id: node for node in sources if not isinstance(node, IndexNode)}
        own, numbers = list[BaseNode](), dict[str, int]()
        for node in sources:
            if node.node_id not in texts:
                chunk = self._chunk(node, plain)
                numbers[node.node_id] = number = numbers.setdefault(chunk.node_id, len(own))
                own += [chunk] if number == len(own) else []
        placed = self._place_all(own, texts, are_all=are_all)
        chunks = self._to_chunks(own, placed, texts)
        keys = [place.key for place in placed]
        spread = [replace(chunk, spans=place.spans) for chunk, place in zip(chunks, placed, strict=True)]
        estimated = {place.key for place in placed if not place.is_exact}
        filters = self.filters
        allowed = np.array([filters is None or _passes(node, filters) for node in own], bool)
        return Collection(own, numbers, chunks, keys, texts, estimated, Places.of(spread, keys), allowed, self)

    def _chunk(self, node: BaseNode, nodes: Mapping[str, BaseNode]) -> BaseNode:
        """Return the chunk of a row; other nodes, also those that refer to a query engine or retriever, as they are."""
        if not isinstance(node, IndexNode):
            return node
        chunk = node.obj or self.objects.get(node.index_id) or nodes.get(node.index_id)
        return chunk if isinstance(chunk, BaseNode) else node

    def _place_all(self, nodes: Sequence[BaseNode], texts: dict[str, str], *, are_all: bool) -> list[_Place]:
        """Return the place of each node; add the texts in which nodes were located."""
        groups = dict[str, list[int]]()
        for i, node in enumerate(nodes):
            groups.setdefault(node.ref_doc_id or "", []).append(i)
        placed, guessed, located = dict[int, _Place](), 0, 0
        for key, group in groups.items():
            members = [nodes[i] for i in group]
            spans = [_stated_spans(node) for node in members]
            if not (key and all(spans)):
                text, runs = self._text(key, texts), _runs(members)
                spans = _locate(members, runs, text or "")
                if not all(spans):
                    guessed += len(group)
                    placed |= zip(group, _place_in_order(members, runs, key, are_all=are_all), strict=True)
                    continue
                located += len(group)
                texts[key] = text or ""
            placed |= zip(group, [_Place(key, own) for own in spans], strict=True)
        if located or guessed:
            reason = (
                "%d of %d nodes have no start_char_idx in their document: %d are located in its text, "
                "the others stand in the order of their previous and next nodes, and are cited without offsets"
            )
            self.once.warn("places", reason, located + guessed, len(nodes), located)
        return [placed[i] for i in range(len(nodes))]

    def _text(self, key: str, texts: Mapping[str, str]) -> str | None:
        """Return the text of a document, if it is known."""
        if key in texts or not key or self.docstore is None:
            return texts.get(key)
        document = self.docstore.get_document(key, raise_error=False)
        return None if document is None else document.get_content()

    def _to_chunks(self, nodes: Sequence[BaseNode], placed: Sequence[_Place], texts: Mapping[str, str]) -> list[Chunk]:
        """Return nodes as chunks with their own tokens, or else estimated ones."""
        contents = [node.get_content() for node in nodes]
        estimates = estimate_tokens(contents, self.counter)
        chunks = list[Chunk]()
        for i, (node, content, place, estimate) in enumerate(zip(nodes, contents, placed, estimates, strict=True)):
            spans, text = place.spans, content
            if spans and place.key in texts:  # without differences in white space
                text = "".join(texts[place.key][start:end] for start, end in spans)
            elif sum(end - start for start, end in spans) != len(content):  # of markup, which the text is without
                spans = ()
            tokens = written_metadata(node.metadata).get("token_count", estimate)
            chunks.append(Chunk(text, spans, tokens, i, node.node_id, metadata=node.metadata))
        return chunks


class _Place(NamedTuple):
    """The place of a node: the key of its document, and its spans, which are estimated unless they are exact."""

    key: str
    spans: tuple[Span, ...]
    is_exact: bool = True


def _stated_spans(node: BaseNode) -> tuple[Span, ...]:
    """Return the spans that a node states; () for a part of a node by LlamaIndex, which counts from that node."""
    is_ours = "token_count" in written_metadata(node.metadata)
    return chunk_spans(node) if isinstance(node, TextNode) and (is_ours or node.parent_node is None) else ()


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


def _locate(nodes: Sequence[BaseNode], runs: Sequence[Sequence[int]], text: str) -> list[tuple[Span, ...]]:
    """Return the span of each node in the text of its document, () if it is not found."""
    finder, spans = Finder(text), [tuple[Span, ...]()] * len(nodes)
    for i in chain.from_iterable(runs):
        span = finder.find(nodes[i].get_content())
        spans[i] = (span,) if span else ()
    return spans


def _place_in_order(
    nodes: Sequence[BaseNode], runs: Sequence[Sequence[int]], key: str, *, are_all: bool
) -> list[_Place]:
    """Return places as if nodes stood one after another; where some are missing, or have no document, those of a run.

    Nodes whose texts overlap keep their overlap; others are as far apart as not to be merged.
    """
    texts = [list(chain.from_iterable(runs))] if key and are_all else runs
    places = dict[int, _Place]()
    for order in texts:
        own_key = f"{key}\n{nodes[order[0]].node_id}"
        before, end = "", 0
        for i in order:
            text = nodes[i].get_content()
            start = end - (find_overlap(before, text) or -_APART)
            before, end = text, start + len(text)
            places[i] = _Place(own_key, (Span(start, end),), is_exact=False)
    return [places[i] for i in range(len(nodes))]


def check_nodes(nodes: Iterable[BaseNode]) -> list[BaseNode]:
    """Return nodes as a list; raise `ConfigurationError` for anything else."""
    nodes = list(nodes)
    others = [node for node in nodes if not isinstance(node, BaseNode)]
    require(not others, "nodes must be nodes of LlamaIndex", others)
    return nodes


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
    """Return the nodes in a docstore, without documents, and without nodes that have been divided into others."""
    return [node for node in docstore.docs.values() if not (isinstance(node, Document) or node.child_nodes)]
