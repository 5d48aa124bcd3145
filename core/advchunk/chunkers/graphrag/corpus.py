"""A corpus as a tree of chunks; its leaves are chunks of documents, with their sentences and entities."""

from bisect import bisect_left, bisect_right
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from itertools import pairwise

from advchunk.chunkers.graphrag.central_sentences import Sentence, Summary
from advchunk.chunkers.graphrag.communities import Community
from advchunk.chunkers.graphrag.extraction import LeafText
from advchunk.chunkers.graphrag.graph import Extraction, KnowledgeGraph, canonical_name
from advchunk.records import Chunk, Span


@dataclass(frozen=True, slots=True)
class Leaf:
    """A chunk of a document, and what is in it."""

    chunk: Chunk
    sentences: tuple[Span, ...]  # their spans in the document
    extraction: Extraction  # its entities and relations; offsets are in the text from the start of the chunk to its end


@dataclass(frozen=True)
class Corpus:
    """The chunks of a corpus at all levels, and the graph behind them, made by `GraphRAGChunker`."""

    chunks: list[Chunk]  # the root, communities, leaves; parents before children. parent is an index in this list
    leaves: Mapping[str, tuple[Leaf, ...]]  # the leaves of each document, by its name, in reading order
    # the communities of entities, by level; the tree has those with several children
    communities: tuple[Community, ...]
    summaries: tuple[Summary, ...]  # those of the first chunks: the root and the communities of the tree
    graph: KnowledgeGraph  # with the places of every entity and edge: the ids of leaves, and spans in their documents


def split_sentences(chunk: Chunk, edges: Sequence[int], text: str) -> tuple[Span, ...]:
    """Return the parts of the sentences of a document, with ``edges`` and ``text``, that are in a chunk, stripped."""
    spans = list[Span]()
    for first, last in chunk.spans:
        inside = [first, *edges[bisect_right(edges, first) : bisect_left(edges, last)], last]
        for start, end in pairwise(inside):
            part = text[start:end]
            if part.strip():
                spans.append(Span(start + len(part) - len(part.lstrip()), start + len(part.rstrip())))
    return tuple(spans)


def make_passage(chunk: Chunk, sentences: Iterable[Span], text: str) -> LeafText:
    """Return the text of a document from the start of a chunk to its end, to extract from."""
    start = chunk.start
    return LeafText(text[start : chunk.end], tuple(Span(a - start, b - start) for a, b in sentences))


def find_entities(leaf: Leaf, name: str, text: str, graph: KnowledgeGraph, language: str) -> list[Sentence]:
    """Return the sentences of a leaf of a document, with the canonical names of their entities in the graph."""
    entities, starts = [set[str]() for _ in leaf.sentences], [span.start for span in leaf.sentences]
    for mention in leaf.extraction.mentions:
        place = bisect_right(starts, leaf.chunk.start + mention.start)
        if place and (key := canonical_name(mention.name, language)) in graph.entities:
            entities[place - 1].add(key)
    rows = zip(leaf.sentences, entities, strict=True)
    return [Sentence(name, span, text[slice(*span)], frozenset(names)) for span, names in rows]
