"""Methods of retrieval in common use, as candidates to compare with."""

from collections.abc import Sequence
from dataclasses import replace
from functools import partial
from itertools import pairwise

import numpy as np

from advchunk.chunkers.by_size import RecursiveChunker
from advchunk.errors import checked, require
from advchunk.evaluation.comparison.candidates import Candidate, Chunks, SizeMatched, chunks_at, size_matched
from advchunk.evaluation.comparison.index import ChunkIndex
from advchunk.evaluation.metrics.metering import RunCost
from advchunk.records import Chunk, Document, Ints, Span
from advchunk.retrieval.search import Search
from advchunk.text import sentences

CHILD_TOKENS = 40
WINDOW = 3
FACTOR, LEVELS = 4, 3
SHARE = 0.5


@checked
def baselines(mean: float) -> list[Candidate | SizeMatched]:
    """Return the baselines with chunks of ``mean`` tokens, the simplest first.

    The chunks of `recursive` by their vectors ("vectors"), by their words ("BM25"), and by both, fused by rank; then
    `parent_documents`, `sentence_windows`, whose size is fixed, and `auto_merging`.
    """
    by_rank = Search("hybrid", fusion="reciprocal", lexical_weight=1.0)
    searches = {"vectors": Search(), "BM25": Search("lexical"), "vectors and BM25, fused by rank": by_rank}
    return [
        *(replace(size_matched("recursive", mean, label), search=search) for label, search in searches.items()),
        SizeMatched("parent documents", parent_documents, mean),
        replace(sentence_windows(), target_mean=mean),
        SizeMatched("auto-merging", auto_merging, mean),
    ]


def parent_documents(size: int, child_tokens: int = CHILD_TOKENS) -> Candidate:
    """Return chunks as similar to a question as the most similar of their children, in the order of their first child
    (LangChain, ``ParentDocumentRetriever``). Sizes are ``max_tokens`` of chunks and of children.
    """

    def cut(documents: Sequence[Document]) -> Chunks:
        groups = _recursive_chunks(documents, size)
        texts = [Document(chunk.embed_text) for group in groups for chunk in group]
        children = iter(_recursive_chunks(texts, child_tokens))
        return [
            [replace(chunk, row_texts=tuple(child.embed_text for child in next(children))) for chunk in group]
            for group in groups
        ]

    settings, fingerprint = {"max_tokens": size, "child_tokens": child_tokens}, f"parents {size} {child_tokens}"
    return Candidate("parent documents", cut, "baseline", settings, fingerprint, uses_no_model=True)


def sentence_windows(window: int = WINDOW) -> Candidate:
    """Return each sentence with ``window`` sentences on either side, found by the vector of the sentence alone.
    Overlapping text counts against the budget each time, as it does in a prompt (LlamaIndex,
    ``SentenceWindowNodeParser`` with ``MetadataReplacementPostProcessor``).
    """

    def windows(text: str) -> list[Chunk]:
        units = sentences.sentences(text)
        edges, texts, last = units.edges.tolist(), units.strings(), len(units)
        spans = [Span(edges[max(i - window, 0)], edges[min(i + window + 1, last)]) for i in range(last)]
        chunks = chunks_at(text, spans)
        return [replace(chunk, row_texts=(own,)) for chunk, own in zip(chunks, texts, strict=True) if own.strip()]

    def cut(documents: Sequence[Document]) -> Chunks:
        return [windows(document.text) if document.text.strip() else [] for document in documents]

    settings, fingerprint = {"window": window}, f"sentence windows {window}"
    return Candidate("sentence windows", cut, "baseline", settings, fingerprint, uses_no_model=True)


def auto_merging(size: int) -> Candidate:
    """Return chunks in a hierarchy: the smallest are found, and several of one larger chunk are replaced by it.

    As many small chunks as fill the budget are found. Then, as long as anything changes, a chunk between two found one
    after the other is added, and a larger chunk replaces those in it if more than half were found, with their mean
    score (LlamaIndex, ``AutoMergingRetriever`` over a ``HierarchicalNodeParser``). The other small chunks follow.
    ``size`` is ``max_tokens`` of the smallest; each level above is four times as large.
    """
    sizes = tuple(size * FACTOR**level for level in reversed(range(LEVELS)))
    settings, fingerprint = {"max_tokens": size, "sizes": list(sizes)}, f"auto-merging {sizes}"
    cut = partial(split_by_levels, sizes)
    return Candidate("auto-merging", cut, "baseline", settings, fingerprint, uses_no_model=True, rank=rank_by_merging)


def split_by_levels(sizes: Sequence[int], documents: Sequence[Document]) -> Chunks:
    """Return the chunks of each document, level by level: those of one, the largest first, are cut into the next."""
    groups = list[list[Chunk]]()
    for document in documents:
        chunks = list[Chunk]()
        parents = [Chunk(document.text, (Span(0, len(document.text)),), 0)]
        for level, size in enumerate(sizes):
            first, made = len(chunks) - len(parents), list[Chunk]()
            for i, group in enumerate(_recursive_chunks([Document(parent.text) for parent in parents], size)):
                for child in group:
                    spans = tuple(Span(parents[i].start + a, parents[i].start + b) for a, b in child.spans)
                    place, above = len(chunks) + len(made), first + i if level else None
                    made.append(replace(child, spans=spans, level=level, parent=above, index=place))
            chunks += made
            parents = made
        groups.append(chunks)
    return groups


def rank_by_merging(index: ChunkIndex, search: Search) -> tuple[Ints, RunCost]:
    """Return all chunks of a hierarchy, best first for each question, (q, c), and the cost (`auto_merging`)."""
    require(search == Search(), "auto-merging must be searched by vectors alone", search.label)
    parents = index.hierarchy.parents.tolist()
    leaves = np.flatnonzero(index.hierarchy.leaves)
    small = index.part(leaves)
    dense, rows = small.dense, list[Ints]()
    for ranked in (dense.first(question, None) for question in range(len(dense.scores))):
        number = int(np.searchsorted(np.cumsum(small.tokens[ranked.chunks]), index.task.budget)) + 1
        order, first = ranked.chunks, ranked.first(number)
        hits = list(zip(leaves[first.chunks].tolist(), first.scores.tolist(), strict=True))
        merged = list(dict.fromkeys(chunk for chunk, _ in merge(hits, parents)))
        are_new = set(merged).isdisjoint
        left = [i for i in leaves[order].tolist() if are_new([i, *index.hierarchy.above(i)])]
        rows.append(np.array(list(dict.fromkeys([*merged, *left, *range(len(index.chunks))]))))
    return np.stack(rows), dense.cost


def merge(hits: list[tuple[int, float]], parents: Sequence[int]) -> list[tuple[int, float]]:
    """Return hits, which are chunks with their scores, best first, after merging; each chunk has its parent, or -1."""
    children = dict[int, list[int]]()
    for i, parent in enumerate(parents):
        if parent >= 0:
            children.setdefault(parent, []).append(i)

    def beside(chunk: int, step: int) -> int | None:
        siblings = children.get(parents[chunk], [chunk])
        place = siblings.index(chunk) + step
        return siblings[place] if 0 <= place < len(siblings) else None

    while True:
        filled = hits[:1]
        for (chunk, score), following in pairwise(hits):
            between = beside(chunk, 1)
            if between is not None and between == beside(following[0], -1):
                filled.append((between, (score + following[1]) / 2))
            filled.append(following)
        scores_of = dict[int, list[float]]()
        for chunk, score in filled:
            scores_of.setdefault(parents[chunk], []).append(score)
        full = {i: own for i, own in scores_of.items() if i >= 0 and len(own) / len(children[i]) > SHARE}
        if not full and len(filled) == len(hits):
            return sorted(filled, key=lambda pair: -pair[1])
        hits = [hit for hit in filled if parents[hit[0]] not in full]
        hits += [(parent, sum(scores) / len(scores)) for parent, scores in full.items()]


def _recursive_chunks(documents: Sequence[Document], size: int) -> list[list[Chunk]]:
    return [list(chunks) for chunks in RecursiveChunker(max_tokens=size, fallback=None).chunk_many(documents)]
