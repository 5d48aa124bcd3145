"""Score what is retrieved by the characters of the answers that it holds, whatever the chunks are made of.

All is computed from ranges, not from text: C the characters of the chunks retrieved, R those that answer the
question, both in one corpus, |c| the characters of a chunk:

    recall     |C ∩ R| / |R|
    precision  |C ∩ R| / Σ|c|
    IoU        |C ∩ R| / (Σ|c| + |R - C|)

The sum over chunks counts twice what two chunks hold, so that to repeat text costs; a chunk of a wrong document counts
in it, too. *Precision-omega* asks what the best retriever could do: C is every chunk that holds some of R, and

    precision-omega  |C ∩ R| / (|C| + |R - C|)

These are the definitions of Smith and Troynikov (2024), for chunks of several spans. They depart from the code
published with them, chunking_evaluation, in three points: a chunk that ends where an answer starts does not hold some
of it, there it does (which lowers precision-omega); spans that overlap within a chunk count once; and so do references
that overlap.

With a ``scale`` everything is in tokens instead (`token_scale`).

References
----------
Smith and Troynikov (2024), Evaluating Chunking Strategies for Retrieval, Chroma technical report.
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, fields
from typing import Literal, TypeAlias, get_args

import numpy as np

from advchunk.errors import did_you_mean, require
from advchunk.evaluation.data.questions import Question
from advchunk.evaluation.metrics.ranges import apart, atoms, summed, through, totals
from advchunk.numerics.signals import unit_rows
from advchunk.records import Chunk, Floats, Ints
from advchunk.text.counters import Counter

Crossing: TypeAlias = Literal["cut", "stop"]


@dataclass(frozen=True, slots=True, eq=False)
class Overlaps:
    """Where the chunks of a corpus hold the answers to its questions (`overlaps`): what all metrics start from.

    Positions are those on one line, the documents end to end. A *piece* is what a span of a chunk holds of an answer.

    Parameters
    ----------
    sizes : (c,) characters of each chunk.
    tokens : (c,) what each chunk takes of a budget.
    answers : (q,) characters that answer each question.
    spans : (s, 3) chunk, start and end; those of a chunk ascending and apart.
    pieces : (p, 5) question, chunk, start, end, and how many characters the chunk has before it.
    ideal : (q, r) what the first r chunks of the best ranking add to each answer (`RetrievalScores.ndcg`).
    length : of the line.
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
    """What was retrieved for each question: (q,) each.

    Parameters
    ----------
    recall, precision, iou : see the module; precision is 0 where nothing was retrieved.
    hit : 1 if any of the answer was retrieved, else 0; its mean is the hit rate.
    reciprocal_rank : 1 / rank of the first chunk that holds some of the answer, 0 without; its mean is the MRR.
    ndcg : gains are what each chunk adds to the answer, so that to repeat it gains nothing, discounted by
        log2(1 + rank); as a share of what the same number of chunks could gain, each in turn the one that adds most.
        1 for a ranking that does better than this.
    tokens : what was retrieved in all.

    References
    ----------
    Clarke et al. (2008), Novelty and diversity in information retrieval evaluation, section 3: alpha-nDCG, for alpha 1
    and every character of the answer a nugget.
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


def overlaps(
    chunks: Mapping[str, Sequence[Chunk]],
    questions: Sequence[Question],
    *,
    tokens: Sequence[int] | Ints | None = None,
    scale: Mapping[str, Ints] | None = None,
) -> Overlaps:
    """Find what every chunk holds of every answer.

    Chunks are numbered through all documents, in the mapping's order.

    Parameters
    ----------
    chunks : the chunks of each document, by its name; none, if a chunker made none of it.
    questions : at least one, all of documents in ``chunks``.
    tokens : (c,) what each chunk takes of a budget, >= 0; None for their own ``tokens``, which compare only where one
        counter counted them.
    scale : for scores in tokens, how many are before each character and the end of each document (`token_scale`).

    Raises
    ------
    ConfigurationError : no questions; a document that is not in ``chunks`` or not in ``scale``; a span or reference
        outside its scale; an answer without tokens; tokens that do not fit the chunks.

    >>> from advchunk import Span
    >>> from advchunk.evaluation.data.questions import Reference
    >>> halves = [Chunk("x" * 50, (Span(0, 50),), 10), Chunk("x" * 50, (Span(50, 100),), 10)]
    >>> found = overlaps({"a": halves}, [Question("Who?", (Reference("a", Span(40, 50)),))])
    >>> at_k(found, np.array([[1, 0]]), k=2).means()["precision"], precision_omega(found).tolist()
    (0.1, [0.2])
    """
    require(len(questions) > 0, "there must be a question", len(questions))
    numbers = {name: number for number, name in enumerate(chunks)}
    for name in {reference.document for question in questions for reference in question.references}:
        require(name in numbers, f"a question must be of a document that has chunks{did_you_mean(name, numbers)}", name)
    each = [(name, chunk) for name, of_one in chunks.items() for chunk in of_one]
    spans = _rows((i, numbers[name], *span) for i, (name, chunk) in enumerate(each) for span in chunk.spans)
    wanted = _rows((i, numbers[name], *span) for i, one in enumerate(questions) for name, span in one.references)
    if scale is not None:
        absent = [name for name in chunks if name not in scale]
        require(not absent, "scale must have every document", absent)
        spans, wanted = (_scaled(rows, [np.asarray(scale[name]) for name in chunks]) for rows in (spans, wanted))
    # One more than the longest, so that documents do not touch on the line.
    stride = int(max(spans[:, 3].max(initial=0), wanted[:, 3].max())) + 1
    length = stride * len(numbers)
    held, asked = (apart(rows[:, 0], rows[:, 2:] + rows[:, 1:2] * stride, length) for rows in (spans, wanted))
    sizes, answers = totals(held, len(each)), totals(asked, len(questions))
    require(
        bool(answers.all()),
        "an answer must hold a token",
        [questions[i].text for i in np.flatnonzero(answers == 0).tolist()],
    )
    own = np.array([chunk.tokens for _, chunk in each] if tokens is None else tokens, dtype=np.int64)
    require(own.shape == sizes.shape and bool(np.all(own >= 0)), f"tokens must be {len(each)} numbers >= 0", own)
    pieces = _pieces(held, asked, sizes)
    return Overlaps(sizes, own, answers, held, pieces, _ideal(pieces, sizes, answers, length), length)


def token_scale(text: str, counter: Counter) -> Ints:
    """Return how many tokens end before each character of a text and before its end: (len(text) + 1,).

    Words are counted one by one, and the tokens of one take an equal share of its characters each.

    >>> from advchunk.text.counters import WORDS
    >>> token_scale("To be, or", WORDS).tolist()
    [0, 0, 1, 1, 1, 1, 2, 2, 2, 3]
    """
    words = [match.span() for match in re.finditer(r"\S+", text)]
    counts = counter.counts([text[start:end] for start, end in words])
    ends = np.zeros(len(text) + 1, dtype=np.int64)
    for (start, end), count in zip(words, counts.tolist(), strict=True):
        np.add.at(ends, start + (np.arange(1, count + 1) * (end - start) + count - 1) // count, 1)
    total: Ints = np.cumsum(ends)
    return total


def rank(
    query_vectors: Floats,
    chunk_vectors: Floats,
    owners: Sequence[int] | Ints | None = None,
    *,
    depth: int | None = None,
    block: int = 256,
) -> Ints:
    """Return the chunks nearest to each query by cosine, the nearest first.

    Exact, in double precision, a block of queries at a time. Of chunks equally near, to nine decimals, the one with the
    smaller index comes first. A vector of zeros is at cosine 0 to all. A chunk of several vectors is as near as the
    nearest of them.

    Parameters
    ----------
    query_vectors, chunk_vectors : (q, d) and (r, d), of any length.
    owners : (r,) the chunk of each vector, in any order, 0..c - 1; each chunk has at least one. None is one each.
    depth : how many to return for each, >= 1; None for all.
    block : queries at a time, >= 1; memory grows with block times r.

    Returns
    -------
    (q, min(depth, c)) indices of chunks.

    Raises
    ------
    ConfigurationError : vectors of different dimensions, or not finite; owners that do not fit the vectors, or leave
        out a chunk.

    >>> rank(np.array([[1.0, 1.0]]), np.array([[0.0, 1.0], [2.0, 2.0], [3.0, 0.0]])).tolist()
    [[1, 0, 2]]
    >>> rank(np.array([[1.0, 1.0]]), np.array([[0.0, 1.0], [2.0, 2.0], [3.0, 0.0]]), [0, 1, 1]).tolist()
    [[1, 0]]
    """
    queries, rows = _unit(query_vectors), _unit(chunk_vectors)
    require(queries.shape[1] == rows.shape[1], f"vectors must have {rows.shape[1]} dimensions", queries.shape[1])
    require(depth is None or depth >= 1, "depth must be >= 1", depth)
    require(block >= 1, "block must be >= 1", block)
    rows, first = (rows, np.arange(len(rows))) if owners is None else _by_owner(rows, np.asarray(owners))
    order = np.empty((len(queries), len(first) if depth is None else min(depth, len(first))), dtype=np.int64)
    for start in range(0, len(queries), block):
        # A product's last bits depend on where a row stands in it; rounded, equal vectors tie again.
        nearness = np.round(queries[start : start + block] @ rows.T, 9)
        if owners is not None:
            nearness = np.maximum.reduceat(nearness, first, axis=1)
        order[start : start + block] = np.argsort(-nearness, axis=1, kind="stable")[:, : order.shape[1]]
    return order


def at_k(overlaps: Overlaps, ranking: Ints, k: int) -> RetrievalScores:
    """Score the first ``k`` chunks of each question's ranking.

    It favors big chunks in recall and small ones in precision: `at_budget` compares chunkers.

    Parameters
    ----------
    ranking : (q, r) indices of chunks, best first (`rank`); r >= k, or all chunks there are.
    k : >= 1.

    Raises
    ------
    ConfigurationError : a ranking of other questions or chunks, too short, or with a chunk twice.
    """
    require(k >= 1, "k must be >= 1", k)
    ranking = _checked(overlaps, ranking)
    right = ranking.shape[1] >= min(k, len(overlaps.sizes))
    require(right, f"a ranking must have the first {k} chunks", ranking.shape[1])
    first = ranking[:, :k]
    return _scores(overlaps, first, overlaps.sizes[first], overlaps.tokens[first].sum(axis=1))


def at_budget(overlaps: Overlaps, ranking: Ints, budget: int, *, crossing: Crossing = "cut") -> RetrievalScores:
    """Score what fits in ``budget`` tokens of each question's ranking.

    Chunks are taken whole, in order, as long as they fit. Of the first that does not, the head is taken that has the
    tokens left: as large a share of its characters. Nothing is taken after it. So every chunker spends the same, a
    larger budget never retrieves less. "stop" leaves that chunk out, as pipelines do that cannot cut: then it counts how
    sizes happen to divide the budget, half a chunk is lost on the mean, and one larger than the budget finds nothing.

    To go on with later chunks that would fit is not offered: only small chunks would profit, and a larger budget could
    retrieve less.

    Parameters
    ----------
    ranking : (q, r) indices of chunks, best first (`rank`); all chunks, or as many as fill the budget.
    budget : in the tokens of ``overlaps``, >= 1.
    crossing : what to do with the chunk that crosses it.

    Raises
    ------
    ConfigurationError : as `at_k`; and chunks with text whose tokens have not been counted.
    """
    require(budget >= 1, "budget must be >= 1", budget)
    require(crossing in get_args(Crossing), f"crossing must be one of {get_args(Crossing)}", crossing)
    free = np.flatnonzero((overlaps.tokens == 0) & (overlaps.sizes > 0))
    require(not len(free), "chunks with text must have tokens >= 1; 0 at the indices", free)
    ranking = _checked(overlaps, ranking)
    tokens, sizes = overlaps.tokens[ranking], overlaps.sizes[ranking]
    spent = np.cumsum(tokens, axis=1)
    full = ranking.shape[1] == len(overlaps.sizes) or spent.max(axis=1, initial=0).min() >= budget
    require(bool(full), f"a ranking must fill {budget} tokens", ranking.shape)
    left = np.maximum(budget - spent + tokens, 0)
    share = np.minimum(left, tokens) if crossing == "cut" else np.where(tokens <= left, tokens, 0)
    return _scores(overlaps, ranking, sizes * share // np.maximum(tokens, 1), share.sum(axis=1))


def precision_omega(overlaps: Overlaps) -> Floats:
    """Return the IoU of each question's answer and all chunks that hold some of it: (q,), 0 if there are none.

    It needs no ranking, so it judges the cuts alone: how little else one must read. Text that chunks share counts once.
    """
    pieces, questions, chunks = overlaps.pieces, len(overlaps.answers), len(overlaps.sizes)
    question, chunk = np.divmod(np.unique(pieces[:, 0] * chunks + pieces[:, 1]), max(chunks, 1))
    first, last = (np.searchsorted(overlaps.spans[:, 0], chunk, side) for side in ("left", "right"))
    pair, span = through(first, last)
    opened = totals(apart(question[pair], overlaps.spans[span, 1:], overlaps.length), questions)
    found = totals(apart(pieces[:, 0], pieces[:, 2:4], overlaps.length), questions)
    return found / (opened + overlaps.answers - found)


def redundancy(overlaps: Overlaps) -> float:
    """Return how many times the chunks hold, on the mean, what they hold: 1 without overlap, 0 without text.

    >>> from advchunk import Span
    >>> from advchunk.evaluation.data.questions import Reference
    >>> twice = [Chunk("", (Span(0, 50),), 10), Chunk("", (Span(25, 75),), 10)]
    >>> redundancy(overlaps({"a": twice}, [Question("Who?", (Reference("a", Span(40, 50)),))]))
    1.3333333333333333
    """
    spans = overlaps.spans
    once = totals(apart(np.zeros_like(spans[:, 0]), spans[:, 1:], overlaps.length), 1)
    return float(overlaps.sizes.sum() / max(int(once[0]), 1))


def _scores(overlaps: Overlaps, ranking: Ints, kept: Ints, tokens: Ints) -> RetrievalScores:
    """Score the first ``kept`` characters of each chunk of a ranking."""
    questions, chunks = len(overlaps.answers), len(overlaps.sizes)
    question, place = np.nonzero(kept)
    keys = question * chunks + ranking[question, place]
    order = np.argsort(keys)
    # The last, beyond all, is where what was not retrieved is looked for.
    keys = np.append(keys[order], questions * chunks)
    require(not np.any(keys[1:] == keys[:-1]), "a ranking must not have a chunk twice", "one that has")

    pieces = overlaps.pieces
    wanted = pieces[:, 0] * chunks + pieces[:, 1]
    at = np.searchsorted(keys, wanted)
    pieces, at = pieces[keys[at] == wanted], order[at[keys[at] == wanted]]
    head = kept[question[at], place[at]] - pieces[:, 4]
    pieces, at = pieces[head > 0], place[at[head > 0]]
    ends = np.minimum(pieces[:, 3], pieces[:, 2] + head[head > 0])

    piece, atom, answer, lengths = atoms(pieces[:, 0], pieces[:, 2], ends, overlaps.length)
    best = np.full(len(lengths), ranking.shape[1])
    np.minimum.at(best, atom, at[piece])
    answer, lengths, best = (array[best < ranking.shape[1]] for array in (answer, lengths, best))
    found = summed(answer, lengths, questions)
    first = np.full(questions, np.inf)
    np.minimum.at(first, answer, best + 1)

    gained = summed(answer, lengths / np.log2(best + 2), questions)
    most = np.cumsum(overlaps.ideal / np.log2(np.arange(overlaps.ideal.shape[1]) + 2), axis=1)
    depth = np.where(kept > 0, np.arange(kept.shape[1]) + 1, 0).max(axis=1, initial=0)
    reach = np.minimum(depth, most.shape[1]) - 1
    could = np.where(reach >= 0, most[np.arange(questions), reach], 0)
    taken = kept.sum(axis=1)
    return RetrievalScores(
        recall=found / overlaps.answers,
        precision=_share(found, taken),
        iou=found / (taken + overlaps.answers - found),
        hit=(found > 0).astype(np.float64),
        reciprocal_rank=1 / first,
        ndcg=np.minimum(_share(gained, could), 1),
        tokens=tokens.astype(np.float64),
    )


def _pieces(held: Ints, asked: Ints, sizes: Ints) -> Ints:
    """Return what each span holds of each answer, as `Overlaps` has it."""
    within = np.cumsum(held[:, 2] - held[:, 1]) - (held[:, 2] - held[:, 1])
    within -= (np.cumsum(sizes) - sizes)[held[:, 0]]
    order = np.argsort(held[:, 1], kind="stable")
    held, within = held[order], within[order]
    # Chunks may overlap: no span before `first` reaches the answer, but not every one after it does.
    first = np.searchsorted(np.maximum.accumulate(held[:, 2]), asked[:, 1], side="right")
    last = np.searchsorted(held[:, 1], asked[:, 2], side="left")
    wanted, span = through(first, last)
    meets = held[span, 2] > asked[wanted, 1]
    wanted, span = wanted[meets], span[meets]
    start = np.maximum(held[span, 1], asked[wanted, 1])
    end = np.minimum(held[span, 2], asked[wanted, 2])
    before = within[span] + start - held[span, 1]
    return np.column_stack([asked[wanted, 0], held[span, 0], start, end, before])


def _ideal(pieces: Ints, sizes: Ints, answers: Ints, length: int) -> Floats:
    """Return what is added by the chunk that adds most, by the one that then adds most, and so on; ties by index."""
    pairs, pair_of = np.unique(pieces[:, 0] * len(sizes) + pieces[:, 1], return_inverse=True)
    question = pairs // max(len(sizes), 1)
    leads = np.r_[True, question[1:] > question[:-1]][: len(question)]
    piece, atom, _, left = atoms(pieces[:, 0], pieces[:, 2], pieces[:, 3], length)
    pair = pair_of[piece]
    gains: list[Floats] = [np.zeros(len(answers))]
    while left[atom].any():
        adds = summed(pair, left[atom], len(pairs))
        chosen = np.lexsort((-adds, question))[leads]
        gains.append(summed(question[chosen], adds[chosen], len(answers)))
        left[atom[np.isin(pair, chosen)]] = 0
    return np.column_stack(gains[1:] or gains)


def _rows(rows: Iterable[tuple[int, int, int, int]]) -> Ints:
    """Return (n, 4) owner, document, start and end."""
    return np.array(list(rows), dtype=np.int64).reshape(-1, 4)


def _scaled(rows: Ints, scales: Sequence[Ints]) -> Ints:
    """Return the rows with each place as its document's scale has it."""
    lengths = np.array([len(scale) for scale in scales])
    inside = bool(np.all((rows[:, 2:] >= 0) & (rows[:, 2:] < lengths[rows[:, 1:2]])))
    require(inside, "scale must have a number for each character and the end of a document", lengths)
    places = np.concatenate(scales)[(np.cumsum(lengths) - lengths)[rows[:, 1:2]] + rows[:, 2:]]
    return np.column_stack([rows[:, :2], places])


def _checked(overlaps: Overlaps, ranking: Ints) -> Ints:
    """Return the ranking as an array if it is one of these chunks for each of these questions."""
    ranking = np.asarray(ranking)
    questions, chunks = len(overlaps.answers), len(overlaps.sizes)
    right = ranking.ndim == 2 and len(ranking) == questions and ranking.dtype.kind in "iu"
    right = right and bool(np.all((ranking >= 0) & (ranking < chunks)))
    require(right, f"a ranking must have indices of {chunks} chunks for {questions} questions", ranking)
    return ranking.astype(np.int64)


def _unit(vectors: Floats) -> Floats:
    """Return rows of length 1, in double precision; those of length 0 as they are."""
    rows = np.asarray(vectors, dtype=np.float64)
    require(rows.ndim == 2 and bool(np.isfinite(rows).all()), "vectors must be (n, d) finite numbers", rows.shape)
    return unit_rows(rows)


def _by_owner(rows: Floats, owners: Ints) -> tuple[Floats, Ints]:
    """Return the rows in the order of their owners, and the first row of each."""
    right = owners.shape == (len(rows),) and (owners.dtype.kind in "iu" or not len(owners))
    require(right, f"owners must be the indices of the chunks of {len(rows)} vectors", owners)
    order = np.argsort(owners, kind="stable")
    known, first = np.unique(owners[order], return_index=True)
    require(np.array_equal(known, np.arange(len(known))), "owners must name each chunk from 0 on", known)
    return rows[order], first


def _share(part: Floats, whole: Floats | Ints) -> Floats:
    """Return part / whole, 0 of nothing."""
    return np.divide(part, whole, out=np.zeros(len(part)), where=np.asarray(whole) > 0)
