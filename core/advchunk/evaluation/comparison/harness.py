"""Which chunker for these documents? Runs candidates on one corpus and one set of questions, and scores them alike."""

from __future__ import annotations

import json
import math
import multiprocessing
import os
import pickle
import sys
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from concurrent.futures import ProcessPoolExecutor
from dataclasses import asdict, dataclass, field, replace
from hashlib import sha256
from pathlib import Path
from typing import Any, TypeAlias

import numpy as np

from advchunk.errors import require
from advchunk.evaluation.comparison.candidates import Candidate, Chunks, Group, Matched
from advchunk.evaluation.comparison.trial import Trial
from advchunk.evaluation.metrics import retrieval, shape
from advchunk.evaluation.metrics.claims import claims_at_k
from advchunk.evaluation.metrics.metering import Cost, Meter, measured
from advchunk.records import Chunk, Floats, Ints

Progress: TypeAlias = Callable[[str], None]


@dataclass(frozen=True)
class Outcome:
    """What became of a candidate: one score a question, and what its chunks are and cost.

    Parameters
    ----------
    recall, iou : (q,) within the budget.
    recall_at_k, precision_at_k, iou_at_k, hit_at_k, reciprocal_rank, ndcg : (q,) of the first k.
    claims_at_k : (q,) share of the answer's numeric claims that one of the first k chunks holds whole; NaN without claims.
    precision_omega : (q,) of the cuts alone.
    tokens : (chunks,) tokens of each chunk, its context included.
    curve : mean recall by budget.
    redundancy : how often the text is said: 1 for chunks that do not overlap.
    coverage : share of the text, white space left out, that is in a chunk.
    within, between : mean similarity of the sentences of a chunk, and of those of neighboring chunks (`shape.cohesion`).
    forced : share of cuts that a size made; None if that is not known.
    over, under : share of chunks over and under the size aimed at (`shape.off_target`); None without one.
    cutting, embedding : what it cost to cut the documents, and to embed the chunks. Where chunks come with vectors of their
        own, all is in ``cutting``.
    matched : whether its size was solved for.
    aim : the mean tokens that its size was solved for; None if it was not.
    boundaries : means of the boundary scores over documents whose boundaries are known (`shape.boundary_means`).
    chunks : of each document, each chunk as its tokens and then the start and end of each of its spans.
    """

    label: str
    group: Group
    settings: Mapping[str, Any]
    recall: Floats
    iou: Floats
    recall_at_k: Floats
    precision_at_k: Floats
    iou_at_k: Floats
    hit_at_k: Floats
    reciprocal_rank: Floats
    ndcg: Floats
    claims_at_k: Floats
    precision_omega: Floats
    tokens: Ints
    curve: Mapping[int, float]
    redundancy: float
    coverage: float
    within: float | None
    between: float | None
    forced: float | None
    over: float | None
    under: float | None
    cutting: Cost
    embedding: Cost
    matched: bool = False
    aim: float | None = None
    boundaries: Mapping[str, float] = field(default_factory=dict)
    chunks: Sequence[Sequence[Sequence[int]]] = ()

    @property
    def cost(self) -> Cost:
        """What it cost to have chunks with vectors."""
        return self.cutting + self.embedding

    @property
    def missed(self) -> bool:
        """Whether the mean chunk is so far off the size that was to be solved for that it compares with no other."""
        return self.aim is not None and abs(float(self.tokens.mean()) - self.aim) > _OFF * self.aim

    def said(self) -> dict[str, Any]:
        """Return it as JSON has it."""
        return {name: _plain(value) for name, value in asdict(self).items()}

    @classmethod
    def read(cls, said: Mapping[str, Any]) -> Outcome:
        """Return what `said` said."""
        scores = {name: np.array(said[name], dtype=np.float64) for name in SCORES}
        costs = {name: Cost(**said[name]) for name in ("cutting", "embedding")}
        curve = {int(budget): recall for budget, recall in said["curve"].items()}
        return cls(**{**said, **scores, **costs, "tokens": np.array(said["tokens"], dtype=np.int64), "curve": curve})


_OFF = 0.05  # of the size aimed at, that a matched mean may be away
_NOTHING = Cost(calls=0, texts=0, tokens=0)
SCORES = ("recall", "iou", "recall_at_k", "precision_at_k", "iou_at_k", "hit_at_k", "reciprocal_rank", "ndcg", "claims_at_k",
          "precision_omega")  # fmt: skip
"""The fields of an `Outcome` that have a number a question."""


def _plain(value: Any) -> Any:
    if isinstance(value, np.ndarray):
        return [None if isinstance(number, float) and math.isnan(number) else number for number in value.tolist()]
    return value


def evaluate(
    candidates: Iterable[Candidate | Matched],
    trial: Trial,
    *,
    processes: int = 1,
    store: str | Path | None = None,
    progress: Progress = lambda _: None,
) -> list[Outcome]:
    """Run candidates on a trial.

    Parameters
    ----------
    processes : that run candidates beside each other, >= 1. Each loads the models once. What does not pickle runs here, one
        after the other. Scores are the same for any number; times by the clock on the wall are not, nor is their noise. A
        script that asks for several must start its work under ``if __name__ == "__main__":``.
    store : a folder that keeps outcomes, so that what was run before is read again, by the same code; times too are those
        of then. A run that is stopped keeps what was done.
    progress : called with a line for each candidate: with several processes, when it is done.

    Returns
    -------
    One outcome a candidate, in their order.

    Raises
    ------
    ConfigurationError : two candidates of one label; a question whose document is missing.
    """
    candidates = list(candidates)
    labels = [one.label for one in candidates]
    require(len(labels) == len(set(labels)), "candidates must have labels of their own", labels)
    require(processes >= 1, "processes must be >= 1", processes)
    paths = [_path(one, trial, store) for one in candidates]
    found = {i: outcome for i, path in enumerate(paths) if (outcome := _read(path)) is not None}
    todo = [i for i in range(len(candidates)) if i not in found]
    shared = processes > 1 and len(todo) > 1
    away = [i for i in todo if _pickles(candidates[i])] if shared and _pickles(trial) else []
    for i, outcome in _elsewhere({i: (candidates[i], paths[i]) for i in away}, trial, min(processes, len(away))):
        found[i] = outcome
        progress(candidates[i].label)
    for i in todo:
        if i not in found:
            progress(candidates[i].label + " (in this process, for want of a pickle)" * shared)
            found[i] = _kept(candidates[i], trial, paths[i])
    return [found[i] for i in range(len(candidates))]


def _path(one: Candidate | Matched, trial: Trial, store: str | Path | None) -> Path | None:
    """Return where an outcome is kept, if it can be."""
    if store is None or not (fingerprint := one.fingerprint):
        return None
    kind = type(one).__name__, getattr(one, "matched", True)
    return Path(store) / f"{sha256(repr((trial.digest, one.label, kind, fingerprint)).encode()).hexdigest()[:32]}.json"


def _read(path: Path | None) -> Outcome | None:
    """Return a kept outcome; None where there is none, or one that cannot be read."""
    if path is None or not path.exists():
        return None
    try:
        return Outcome.read(json.loads(path.read_text(encoding="utf-8")))
    except (ValueError, TypeError, KeyError, AttributeError):  # of another shape, or damaged: run again
        return None


def _kept(one: Candidate | Matched, trial: Trial, path: Path | None) -> Outcome:
    outcome = run(one, trial)
    if path is not None:
        path.parent.mkdir(parents=True, exist_ok=True)
        partial = path.with_suffix(f".{os.getpid()}.part")  # so that an interrupted run leaves no half file
        try:
            partial.write_text(json.dumps(outcome.said()), encoding="utf-8")
            partial.replace(path)
        finally:
            partial.unlink(missing_ok=True)
    return outcome


def _pickles(one: Any) -> bool:
    """Tell whether another process can read it: what a notebook defines stands in no module that it could import."""
    try:
        said = pickle.dumps(one)
    except (pickle.PicklingError, TypeError, AttributeError, ValueError, RuntimeError):
        return False
    main = sys.modules["__main__"]
    return b"__main__" not in said or main.__spec__ is not None or hasattr(main, "__file__")


def _elsewhere(
    tasks: Mapping[int, tuple[Candidate | Matched, Path | None]], trial: Trial, processes: int
) -> Iterator[tuple[int, Outcome]]:
    """Yield outcomes from other processes, in order; each process is given the trial, and what is known of it, once."""
    if not tasks:
        return
    _ = trial.asked, trial.rows, trial.claims  # once for all
    fresh = multiprocessing.get_context("spawn")  # a fork would share threads and GPUs
    with ProcessPoolExecutor(processes, fresh, _take, (trial,)) as pool:
        futures = {i: pool.submit(_work, *task) for i, task in tasks.items()}
        try:
            for i, future in futures.items():
                yield i, future.result()
        finally:
            pool.shutdown(wait=True, cancel_futures=True)


_GIVEN: list[Trial] = []  # in a process that works for another


def _take(trial: Trial) -> None:
    _GIVEN[:] = [trial]


def _work(one: Candidate | Matched, path: Path | None) -> Outcome:
    return _kept(one, _GIVEN[0], path)


def run(one: Candidate | Matched, trial: Trial) -> Outcome:
    """Solve the size if that is asked for, cut, embed, retrieve and score; chunks that have vectors keep them."""
    if isinstance(one, Matched):
        one = one.solved(trial)
    asked = trial.asked  # so that the model is loaded before anything is measured
    meter = Meter() if one.chunker or one.unaided else None
    cut = one.watched(meter) if meter else one.cut
    all_chunks, cutting = measured(lambda: cut(trial.documents), meter, trial.counter)
    cuts = [
        [_placed(chunk, document.text, one.label) for chunk in several if chunk.embed_text]
        for document, several in zip(trial.documents, all_chunks, strict=True)
    ]
    chunks = [chunk for several in cuts for chunk in several]
    require(len(chunks) > 0, f"{one.label} must find chunks", 0)
    vectors, owners, embedding = _vectors(chunks, trial)
    tokens = np.maximum(trial.counter.counts([chunk.embed_text for chunk in chunks]), 1)
    by_name = dict(zip([document.source for document in trial.documents], cuts, strict=True))
    held = retrieval.overlaps(by_name, trial.questions, tokens=tokens)
    ranking = retrieval.rank(asked, vectors, owners)
    within = {budget: retrieval.at_budget(held, ranking, budget) for budget in trial.budgets}
    first = retrieval.at_k(held, ranking, trial.k)
    similar = shape.cohesion(trial.sentences, trial.rows, cuts)
    sizes = np.array([chunk.tokens for chunk in chunks])
    over, under = shape.off_target(sizes if sizes.all() else tokens, one.settings)
    sentences = dict(zip(by_name, trial.sentences, strict=True))
    return Outcome(
        label=one.label,
        group=one.group,
        settings=one.settings,
        recall=within[trial.budget].recall,
        iou=within[trial.budget].iou,
        recall_at_k=first.recall,
        precision_at_k=first.precision,
        iou_at_k=first.iou,
        hit_at_k=first.hit,
        reciprocal_rank=first.reciprocal_rank,
        ndcg=first.ndcg,
        claims_at_k=claims_at_k(trial.claims, by_name, ranking, trial.k),
        precision_omega=retrieval.precision_omega(held),
        tokens=tokens,
        curve={budget: float(scores.recall.mean()) for budget, scores in within.items()},
        redundancy=retrieval.redundancy(held),
        coverage=shape.coverage(trial.documents, cuts),
        within=similar.within,
        between=similar.between,
        forced=shape.forced(cuts) if one.chunker else None,
        over=over,
        under=under,
        cutting=cutting,
        embedding=embedding,
        matched=one.matched,
        aim=one.aim,
        boundaries=shape.boundary_means(sentences, by_name, trial.boundaries),
        chunks=_flat(cuts, tokens),
    )


def _placed(chunk: Chunk, text: str, label: str) -> Chunk:
    """Return a chunk whose spans are of the document as it was given, from which a chunker may have read another text."""
    if chunk.text == "".join(text[start:end] for start, end in chunk.spans):
        return chunk
    require(bool(chunk.source_spans), f"{label} must return chunks whose text is what their spans say", chunk.text[:60])
    return replace(chunk, spans=chunk.source_spans)


def _vectors(chunks: Sequence[Chunk], trial: Trial) -> tuple[Floats, Ints, Cost]:
    """Return the rows by which chunks are found, the chunk of each, and what it cost to have those that none came with."""
    found = [chunk.vector if chunk.rows is None else chunk.rows for chunk in chunks]
    lacking, cost = [i for i, rows in enumerate(found) if rows is None], _NOTHING
    if lacking:
        meter, texts = Meter(), [chunks[i].embed_text for i in lacking]
        vectors, cost = measured(lambda: trial.embed_texts(texts, meter), meter, trial.counter)
        for i, vector in zip(lacking, vectors, strict=True):
            found[i] = vector
    several = [np.atleast_2d(rows) for rows in found if rows is not None]
    return np.concatenate(several), np.repeat(np.arange(len(several)), [len(rows) for rows in several]), cost


def _flat(cuts: Chunks, tokens: Ints) -> list[list[list[int]]]:
    sizes = iter(tokens.tolist())
    return [[[next(sizes), *(at for span in c.spans for at in span)] for c in several] for several in cuts]
