"""Score retrieval by the characters of the answers that the retrieved chunks contain.

Scores are computed from ranges, not from text. With C the characters of the retrieved chunks, R those that answer the
question, and |c| the characters of a chunk:

    recall     |C ∩ R| / |R|
    precision  |C ∩ R| / Σ|c|
    IoU        |C ∩ R| / (Σ|c| + |R - C|)

The sum over chunks counts text in two chunks twice, which penalizes repetition; chunks of wrong documents count, too.
*Precision-omega* is the score of a perfect retriever, |C ∩ R| / (|C| + |R - C|): C is every chunk that contains some of
R. These are the definitions of Smith and Troynikov (2024), Evaluating Chunking Strategies for Retrieval, Chroma,
extended to chunks of several spans. They depart from the published code, chunking_evaluation, in three points: a chunk
that ends where an answer starts does not contain any of it; overlapping spans of a chunk, and references, count once.
"""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, fields

import numpy as np

from advchunk.errors import did_you_mean, require
from advchunk.evaluation.data.questions import Question
from advchunk.models.signals import unit_rows
from advchunk.records import Chunk, Floats, Ints

_BLOCK = 256  # queries at a time: memory grows with this number times the vectors


@dataclass(frozen=True, slots=True, eq=False)
class Overlaps:
    """The overlaps of chunks and answers, as positions on one line of ``length``, documents end to end.

    ``sizes`` (characters) and ``tokens`` are (c,) of each chunk; ``answers`` (q,) characters; ``spans`` (s, 3) chunk,
    start and end, those of a chunk ascending and disjoint. A piece is the overlap of a chunk's span and an answer:
    ``pieces`` are (p, 5) question, chunk, start, end, and the number of the chunk's characters before it. ``ideal`` is
    (q, r) characters added to each answer by the first r chunks of the best ranking (`RetrievalScores.ndcg`).
    """

    sizes: Ints
    tokens: Ints
    answers: Ints
    spans: Ints
    pieces: Ints
    ideal: Floats
    length: int


@dataclass(frozen=True, slots=True, eq=False)
class RetrievalScores:
    """Scores of each question, (q,) each; see the module for ``recall``, ``precision`` and ``iou``.

    ``precision`` is 0 where nothing was retrieved; ``hit`` is 1 if any of the answer was; ``reciprocal_rank`` is of the
    first chunk with some of the answer, 0 if there is none. ``ndcg`` is alpha-nDCG for alpha 1 and every character of
    the answer a nugget, so repetition gains nothing, capped at 1, since a ranking can beat the ideal: as many chunks
    chosen greedily. See Clarke et al. (2008), Novelty and diversity in information retrieval evaluation, section 3.
    """

    recall: Floats
    precision: Floats
    iou: Floats
    hit: Floats
    reciprocal_rank: Floats
    ndcg: Floats
    tokens: Floats

    def means(self) -> dict[str, float]:
        """Return the mean of each score over the questions."""
        return {field.name: float(np.mean(getattr(self, field.name))) for field in fields(self)}


def find_overlaps(
    chunks: Mapping[str, Sequence[Chunk]], questions: Sequence[Question], *, tokens: Sequence[int] | Ints | None = None
) -> Overlaps:
    """Return the overlap of every chunk with every answer, chunks numbered in the mapping's order.

    ``tokens`` are (c,), >= 0, or the chunks' own. Raises `ConfigurationError` for no questions, or unknown documents.
    """
    require(len(questions) > 0, "questions must not be empty", len(questions))
    numbers = {name: number for number, name in enumerate(chunks)}
    for name in {reference.document for question in questions for reference in question.references}:
        require(name in numbers, f"questions must be about documents with chunks{did_you_mean(name, numbers)}", name)
    indexed = [(name, chunk) for name, group in chunks.items() for chunk in group]
    held_rows = [(i, numbers[name], *span) for i, (name, chunk) in enumerate(indexed) for span in chunk.spans]
    asked_rows = [(i, numbers[name], *span) for i, q in enumerate(questions) for name, span in q.references]
    spans, references = (np.array(own, dtype=np.int64).reshape(-1, 4) for own in (held_rows, asked_rows))
    # One more than the longest, so that documents do not touch on the line.
    stride = int(max(spans[:, 3].max(initial=0), references[:, 3].max())) + 1
    length = stride * len(numbers)
    on_line = [(rows[:, 0], rows[:, 2:] + rows[:, 1:2] * stride) for rows in (spans, references)]
    held, asked = (merge_ranges(*rows, length) for rows in on_line)
    sizes, answers = total_lengths(held, len(indexed)), total_lengths(asked, len(questions))
    counts = np.array([chunk.tokens for _, chunk in indexed] if tokens is None else tokens, dtype=np.int64)
    require(counts.shape == sizes.shape, f"tokens must be {len(indexed)} numbers", counts)
    pieces = _pieces(held, asked, sizes)
    return Overlaps(sizes, counts, answers, held, pieces, _ideal_gains(pieces, sizes, answers, length), length)


def similarities(query_vectors: Floats, chunk_vectors: Floats, owners: Sequence[int] | Ints | None = None) -> Floats:
    """Return the cosine of each query and each chunk: (q, c), exact, in double precision, rounded to nine decimals.

    A zero vector has similarity 0 to all. Vectors, (q, d) and (r, d), have any norm. With ``owners``, (r,) the chunk of
    each vector, 0..c - 1, at least one per chunk, a chunk has the similarity of its best vector.
    """
    queries, rows = (unit_rows(np.asarray(some, dtype=np.float64)) for some in (query_vectors, chunk_vectors))
    first = np.arange(len(rows))
    if owners is not None:
        order = np.argsort(owners, kind="stable")
        rows, (_, first) = rows[order], np.unique(np.asarray(owners)[order], return_index=True)
    scores = np.empty((len(queries), len(first)))
    for start in range(0, len(queries), _BLOCK):
        # The last bits of a product depend on the row's position in it; rounding makes equal vectors tie.
        near = np.round(queries[start : start + _BLOCK] @ rows.T, 9)
        scores[start : start + _BLOCK] = near if owners is None else np.maximum.reduceat(near, first, axis=1)
    return scores


def at_k(overlaps: Overlaps, ranking: Ints, k: int) -> RetrievalScores:
    """Score the first ``k`` >= 1 chunks of each ranking: (q, r) indices, best first; r >= k, or all chunks.

    Raises `ConfigurationError` for a ranking that is too short, or has a chunk twice.
    """
    require(k >= 1, "k must be >= 1", k)
    enough = ranking.shape[1] >= min(k, len(overlaps.sizes))
    require(enough, f"a ranking must have the first {k} chunks", ranking.shape[1])
    first = ranking[:, :k]
    return _score(overlaps, first, overlaps.sizes[first], overlaps.tokens[first].sum(axis=1))


def at_budget(overlaps: Overlaps, ranking: Ints, budget: int) -> RetrievalScores:
    """Score the first ``budget`` tokens of each question's ranking, which has all chunks, or enough to fill it.

    The first chunk that does not fit is truncated to the remaining tokens, by the same share of its characters, and is
    the last, so a larger budget never retrieves less. Raises the errors of `at_k`, also for text in chunks of 0 tokens.
    """
    require(budget >= 1, "budget must be >= 1", budget)
    free = np.flatnonzero((overlaps.tokens == 0) & (overlaps.sizes > 0))
    require(not len(free), "chunks with text must have tokens >= 1; 0 at indices", free)
    tokens, sizes = overlaps.tokens[ranking], overlaps.sizes[ranking]
    spent = np.cumsum(tokens, axis=1)
    full = ranking.shape[1] == len(overlaps.sizes) or spent.max(axis=1, initial=0).min() >= budget
    require(bool(full), f"a ranking must fill {budget} tokens", ranking.shape)
    share = np.minimum(np.maximum(budget - spent + tokens, 0), tokens)
    return _score(overlaps, ranking, sizes * share // np.maximum(tokens, 1), share.sum(axis=1))


def precision_omega(overlaps: Overlaps) -> Floats:
    """Return the IoU of each question's answer and all chunks that contain some of it: (q,), 0 if there are none."""
    pieces, questions, chunks = overlaps.pieces, len(overlaps.answers), len(overlaps.sizes)
    question, chunk = np.divmod(np.unique(pieces[:, 0] * chunks + pieces[:, 1]), max(chunks, 1))
    first, last = (np.searchsorted(overlaps.spans[:, 0], chunk, side) for side in ("left", "right"))
    pair, span = expand_ranges(first, last)
    read = total_lengths(merge_ranges(question[pair], overlaps.spans[span, 1:], overlaps.length), questions)
    answered = total_lengths(merge_ranges(pieces[:, 0], pieces[:, 2:4], overlaps.length), questions)
    return answered / (read + overlaps.answers - answered)


def redundancy(overlaps: Overlaps) -> float:
    """Return the mean number of chunks that contain a character: 1 without overlap, 0 without text."""
    spans = overlaps.spans
    distinct = total_lengths(merge_ranges(np.zeros_like(spans[:, 0]), spans[:, 1:], overlaps.length), 1)
    return float(overlaps.sizes.sum() / max(int(distinct[0]), 1))


def _score(overlaps: Overlaps, ranking: Ints, kept: Ints, tokens: Ints) -> RetrievalScores:
    """Score the first ``kept`` characters of each chunk of a ranking."""
    questions, chunks = len(overlaps.answers), len(overlaps.sizes)
    question, place = np.nonzero(kept)
    keys = question * chunks + ranking[question, place]
    order = np.argsort(keys)
    # A sentinel beyond all keys, for the lookup of chunks that were not retrieved.
    keys = np.append(keys[order], questions * chunks)
    require(not np.any(keys[1:] == keys[:-1]), "a ranking must not have a chunk twice", "a repeated chunk")
    pieces = overlaps.pieces
    piece_keys = pieces[:, 0] * chunks + pieces[:, 1]
    at = np.searchsorted(keys, piece_keys)
    pieces, at = pieces[keys[at] == piece_keys], order[at[keys[at] == piece_keys]]
    head = kept[question[at], place[at]] - pieces[:, 4]
    pieces, at = pieces[head > 0], place[at[head > 0]]
    ends = np.minimum(pieces[:, 3], pieces[:, 2] + head[head > 0])
    piece, atom, answer, lengths = split_at_edges(pieces[:, 0], pieces[:, 2], ends, overlaps.length)
    best = np.full(len(lengths), ranking.shape[1])
    np.minimum.at(best, atom, at[piece])
    answer, lengths, best = (array[best < ranking.shape[1]] for array in (answer, lengths, best))
    retrieved = sum_by_owner(answer, lengths, questions)
    first = np.full(questions, np.inf)
    np.minimum.at(first, answer, best + 1)
    gains = sum_by_owner(answer, lengths / np.log2(best + 2), questions)
    ideal = np.cumsum(overlaps.ideal / np.log2(np.arange(overlaps.ideal.shape[1]) + 2), axis=1)
    depth = np.where(kept > 0, np.arange(kept.shape[1]) + 1, 0).max(axis=1, initial=0)
    last = np.minimum(depth, ideal.shape[1]) - 1
    ideal_gains = np.where(last >= 0, ideal[np.arange(questions), last], 0)
    taken = kept.sum(axis=1)
    return RetrievalScores(
        recall=retrieved / overlaps.answers,
        precision=_divide(retrieved, taken),
        iou=retrieved / (taken + overlaps.answers - retrieved),
        hit=(retrieved > 0).astype(np.float64),
        reciprocal_rank=1 / first,
        ndcg=np.minimum(_divide(gains, ideal_gains), 1),
        tokens=tokens.astype(np.float64),
    )


def _pieces(held: Ints, asked: Ints, sizes: Ints) -> Ints:
    """Return the overlap of each span with each answer (`Overlaps.pieces`)."""
    offset = np.cumsum(held[:, 2] - held[:, 1]) - (held[:, 2] - held[:, 1])
    offset -= (np.cumsum(sizes) - sizes)[held[:, 0]]
    order = np.argsort(held[:, 1], kind="stable")
    held, offset = held[order], offset[order]
    # Chunks may overlap: no span before `first` reaches the answer, but not every one after it does.
    first = np.searchsorted(np.maximum.accumulate(held[:, 2]), asked[:, 1], side="right")
    last = np.searchsorted(held[:, 1], asked[:, 2], side="left")
    answer, span = expand_ranges(first, last)
    meets = held[span, 2] > asked[answer, 1]
    answer, span = answer[meets], span[meets]
    start = np.maximum(held[span, 1], asked[answer, 1])
    end = np.minimum(held[span, 2], asked[answer, 2])
    before = offset[span] + start - held[span, 1]
    return np.column_stack([asked[answer, 0], held[span, 0], start, end, before])


def _ideal_gains(pieces: Ints, sizes: Ints, answers: Ints, length: int) -> Floats:
    """Return the characters added by each chunk of the greedy ranking; ties by index."""
    pairs, pair_of = np.unique(pieces[:, 0] * len(sizes) + pieces[:, 1], return_inverse=True)
    question = pairs // max(len(sizes), 1)
    leads = np.r_[True, question[1:] > question[:-1]][: len(question)]
    piece, atom, _, left = split_at_edges(pieces[:, 0], pieces[:, 2], pieces[:, 3], length)
    pair = pair_of[piece]
    gains: list[Floats] = [np.zeros(len(answers))]
    while left[atom].any():
        adds = sum_by_owner(pair, left[atom], len(pairs))
        chosen = np.lexsort((-adds, question))[leads]
        gains.append(sum_by_owner(question[chosen], adds[chosen], len(answers)))
        left[atom[np.isin(pair, chosen)]] = 0
    return np.column_stack(gains[1:] or gains)


def _divide(part: Floats, whole: Floats | Ints) -> Floats:
    return np.divide(part, whole, out=np.zeros(len(part)), where=np.asarray(whole) > 0)


# Set operations on half-open ranges, for many owners at once: the ranges of each are placed on a line of their own, and
# the lines end to end, so that one sort handles them all.


def merge_ranges(owner: Ints, ranges: Ints, length: int) -> Ints:
    """Return the union of each owner's ranges: (m, 3) owner, start, end; ascending, disjoint, not empty."""
    ranges = (ranges + owner[:, None] * length)[ranges[:, 0] < ranges[:, 1]]
    ranges = ranges[np.argsort(ranges[:, 0], kind="stable")]
    reach = np.maximum.accumulate(ranges[:, 1])
    opens = np.ones(len(ranges), dtype=np.bool_)
    opens[1:] = ranges[1:, 0] > reach[:-1]
    owner, start = np.divmod(ranges[opens, 0], length)
    return np.column_stack([owner, start, reach[np.roll(opens, -1)] - owner * length])


def total_lengths(merged: Ints, owners: int) -> Ints:
    """Return the total length of each owner's ranges from `merge_ranges`: (owners,)."""
    return sum_by_owner(merged[:, 0], merged[:, 2] - merged[:, 1], owners).astype(np.int64)


def sum_by_owner(owner: Ints, amounts: Floats | Ints, owners: int) -> Floats:
    """Return the sum of each owner's amounts: (owners,)."""
    return np.bincount(owner, amounts, owners).astype(np.float64)


def split_at_edges(question: Ints, start: Ints, end: Ints, length: int) -> tuple[Ints, Ints, Ints, Ints]:
    """Split ranges at their question's edges into atoms: (m,) ranges, (m,) their atoms; (a,) questions, (a,) sizes."""
    start, end = start + question * length, end + question * length
    edges = np.unique(np.r_[start, end])
    piece, atom = expand_ranges(np.searchsorted(edges, start), np.searchsorted(edges, end))
    return piece, atom, edges[:-1] // length, np.diff(edges)


def expand_ranges(first: Ints, last: Ints) -> tuple[Ints, Ints]:
    """Return each i with each j of first[i] ... last[i] - 1."""
    counts = np.maximum(last - first, 0)
    i = np.repeat(np.arange(len(first)), counts)
    return i, np.arange(len(i)) + np.repeat(first - np.cumsum(counts) + counts, counts)
