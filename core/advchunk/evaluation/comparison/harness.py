"""Run candidates on one corpus with one set of questions, and score them the same way."""

from __future__ import annotations

import json
import logging
import multiprocessing
import pickle
import sys
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from concurrent.futures import ProcessPoolExecutor, ThreadPoolExecutor
from concurrent.futures.process import BrokenProcessPool
from dataclasses import asdict, dataclass, field, replace
from hashlib import sha256
from math import isnan
from pathlib import Path
from queue import SimpleQueue
from typing import Any

import numpy as np

from advchunk.engine import Job, Plan, completed, drive
from advchunk.errors import first_line, require
from advchunk.evaluation.comparison.candidates import Candidate, CandidateGroup, Chunks, SizeMatched
from advchunk.evaluation.comparison.task import EvaluationTask
from advchunk.evaluation.metrics import claims, retrieval, shape
from advchunk.evaluation.metrics.metering import Meter, RunCost, measure_cost
from advchunk.models.atomic import open_atomic
from advchunk.records import Chunk, Floats, Ints

_log = logging.getLogger("advchunk")


@dataclass(frozen=True)
class Result:
    """The scores of a candidate per question, and the shape and cost of its chunks.

    Parameters
    ----------
    recall, iou : (q,) within the budget.
    recall_at_k, precision_at_k, iou_at_k, hit_at_k, reciprocal_rank, ndcg : (q,) of the first k chunks.
    claims_at_k : (q,) share of the answer's numeric claims that are complete in one of the first k chunks; NaN without claims.
    precision_omega : (q,) of the cuts alone.
    tokens : (chunks,) tokens of each chunk, its context included.
    curve : mean recall by budget.
    redundancy : mean number of chunks that contain a character; 1 without overlap.
    coverage : share of non-space characters that are in a chunk.
    within, between : mean similarity of sentences within chunks, and between neighboring chunks (`shape.cohesion`).
    forced : share of cuts made by a size limit; None if unknown.
    over, under : share of chunks over and under the target size (`shape.off_target_shares`); None without one.
    chunking_cost, embedding_cost : of chunking the documents, and of embedding the chunks. All is in ``chunking_cost`` if
        chunks have vectors of their own.
    size_matched, target_mean : True if its size was chosen to match a mean, and the tokens of that mean.
    boundaries : means of the boundary scores over documents with boundaries (`shape.boundary_means`).
    chunks : of each document, each chunk as its tokens followed by the start and end of each of its spans.
    """

    label: str
    group: CandidateGroup
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
    chunking_cost: RunCost
    embedding_cost: RunCost
    size_matched: bool = False
    target_mean: float | None = None
    boundaries: Mapping[str, float] = field(default_factory=dict)
    chunks: Sequence[Sequence[Sequence[int]]] = ()

    @property
    def cost(self) -> RunCost:
        """The cost of chunking and embedding."""
        return self.chunking_cost + self.embedding_cost

    @property
    def off_target(self) -> bool:
        """True if the mean chunk is too far from the target mean for a fair comparison."""
        target = self.target_mean
        return target is not None and abs(float(self.tokens.mean()) - target) > 0.05 * target

    def to_dict(self) -> dict[str, Any]:
        """Return the result as JSON, NaN as null."""
        data = {name: v.tolist() if isinstance(v, np.ndarray) else v for name, v in asdict(self).items()}
        return data | {name: [None if isnan(score) else score for score in data[name]] for name in SCORES}

    @classmethod
    def from_dict(cls, data: Mapping[str, Any]) -> Result:
        """Return the result that `to_dict` returned."""
        scores = {name: np.array(data[name], dtype=np.float64) for name in SCORES}
        costs = {name: RunCost(**data[name]) for name in ("chunking_cost", "embedding_cost")}
        curve = {int(budget): recall for budget, recall in data["curve"].items()}
        return cls(**{**data, **scores, **costs, "tokens": np.array(data["tokens"], dtype=np.int64), "curve": curve})


@dataclass(frozen=True)
class FailedCandidate:
    """A candidate without a result: the error, and the document in which it was raised if that is known."""

    label: str
    reason: str


class EvaluationResults(list[Result]):
    """The results of candidates, in their order, and ``failures``, the candidates without a result."""

    def __init__(self, results: Iterable[Result] = (), failures: Iterable[FailedCandidate] = ()) -> None:
        super().__init__(results)
        self.failures = list(failures)


_SCORES_AT_K = ("recall_at_k", "precision_at_k", "iou_at_k", "hit_at_k", "reciprocal_rank", "ndcg")
SCORES = ("recall", "iou", *_SCORES_AT_K, "claims_at_k", "precision_omega")
"""The fields of a `Result` with one number per question."""


def evaluate(
    candidates: Iterable[Candidate | SizeMatched],
    task: EvaluationTask,
    *,
    processes: int = 1,
    store: str | Path | None = None,
    progress: Callable[[str], None] = lambda _: None,
) -> EvaluationResults:
    """Run candidates on a task and return their results in the same order.

    A candidate that raises an error, even on one document, or whose process dies, is logged and listed in ``failures``;
    the others are not affected. Raises `ConfigurationError` for two candidates with the same label, and the errors of
    the task's embedder.

    Parameters
    ----------
    processes : number of parallel processes, >= 1. Each loads the models once. Candidates that cannot be pickled run in
        this process, one after the other. Scores do not depend on the number; wall-clock times and their noise do. A
        script that uses several must start its work under ``if __name__ == "__main__":``.
    store : folder where results are saved, and from which the same code reads them again, with the costs of the first run. A run that
        is interrupted keeps finished results.
    progress : called with a line per candidate: with several processes, when it is finished.
    """
    candidates = list(candidates)
    labels = [candidate.label for candidate in candidates]
    require(len(labels) == len(set(labels)), "candidates must have unique labels", labels)
    require(processes >= 1, "processes must be >= 1", processes)
    paths = [_result_path(candidate, task, store) for candidate in candidates]
    outcomes: dict[int, Result | FailedCandidate]
    outcomes = {i: result for i, path in enumerate(paths) if (result := _load(path)) is not None}
    pending = [i for i in range(len(candidates)) if i not in outcomes]
    if pending:
        _ = task.question_vectors  # an embedder that fails is no fault of the candidates
    parallel = processes > 1 and len(pending) > 1
    remote = [i for i in pending if _is_picklable(candidates[i])] if parallel and _is_picklable(task) else []
    jobs = {i: (candidates[i], paths[i]) for i in remote}
    for i, outcome in _run_in_processes(jobs, task, min(processes, len(remote))):
        outcomes[i] = outcome
        progress(candidates[i].label)
    for i in pending:
        if i not in outcomes:
            progress(candidates[i].label + " (in this process, since it cannot be pickled)" * parallel)
            outcomes[i] = attempt(candidates[i], task, paths[i])
    ordered = [outcomes[i] for i in range(len(candidates))]
    failures = [outcome for outcome in ordered if isinstance(outcome, FailedCandidate)]
    for failure in failures:
        _log.warning("%s has no result: %s", failure.label, failure.reason)
    return EvaluationResults([outcome for outcome in ordered if isinstance(outcome, Result)], failures)


def _result_path(candidate: Candidate | SizeMatched, task: EvaluationTask, store: str | Path | None) -> Path | None:
    """Return the file of a result; None if it cannot be stored."""
    if store is None or not (fingerprint := candidate.fingerprint):
        return None
    kind = type(candidate).__name__, getattr(candidate, "size_matched", True)
    key = repr((task.digest, candidate.label, kind, fingerprint))
    return Path(store) / f"{sha256(key.encode()).hexdigest()[:32]}.json"


def _load(path: Path | None) -> Result | None:
    """Return a stored result; None if there is none, or if it cannot be read."""
    if path is None or not path.exists():
        return None
    try:
        return Result.from_dict(json.loads(path.read_text(encoding="utf-8")))
    except (ValueError, TypeError, KeyError, AttributeError):  # another format, or damaged: run again
        return None


def attempt(
    candidate: Candidate | SizeMatched, task: EvaluationTask, path: Path | None = None
) -> Result | FailedCandidate:
    """Return a candidate's result, saved to ``path``, or its failure."""

    def plan() -> Plan[Result | FailedCandidate]:
        yield from ()
        return _run_and_save(candidate, task, path)

    def failed(error: Exception) -> Job[Result | FailedCandidate]:
        message = f"{type(error).__name__}: {first_line(error)}"
        reason = ", ".join([message, *getattr(error, "__notes__", ())])  # the notes name the document
        return Job(completed(FailedCandidate(candidate.label, reason)))

    (outcome,) = drive([Job(plan(), recover=failed)])
    return outcome


def _run_and_save(candidate: Candidate | SizeMatched, task: EvaluationTask, path: Path | None) -> Result:
    result = run(candidate, task)
    if path is not None:
        path.parent.mkdir(parents=True, exist_ok=True)
        with open_atomic(path, encoding="utf-8") as file:
            json.dump(result.to_dict(), file)
    return result


def _is_picklable(value: Any) -> bool:
    """Return True if another process can unpickle it; it cannot import what is defined in a notebook."""
    try:
        pickled = pickle.dumps(value)
    except (pickle.PicklingError, TypeError, AttributeError, ValueError, RuntimeError):
        return False
    main = sys.modules["__main__"]
    return b"__main__" not in pickled or main.__spec__ is not None or hasattr(main, "__file__")


def _run_in_processes(
    jobs: Mapping[int, tuple[Candidate | SizeMatched, Path | None]], task: EvaluationTask, processes: int
) -> Iterator[tuple[int, Result | FailedCandidate]]:
    """Yield outcomes from other processes, in order; each process receives the task, with its vectors, once."""
    if not jobs:
        return
    _ = task.question_vectors, task.sentence_vectors, task.claims  # cached before the task is pickled
    workers = [_Worker(task) for _ in range(processes)]
    idle = SimpleQueue[_Worker]()
    for worker in workers:
        idle.put(worker)

    def run_job(candidate: Candidate | SizeMatched, path: Path | None) -> Result | FailedCandidate:
        worker = idle.get()
        try:
            return worker.run(candidate, path)
        finally:
            idle.put(worker)

    with ThreadPoolExecutor(processes) as threads:
        futures = {i: threads.submit(run_job, *job) for i, job in jobs.items()}
        try:
            for i, future in futures.items():
                yield i, future.result()
        finally:
            threads.shutdown(wait=True, cancel_futures=True)
            for worker in workers:
                worker.close()


class _Worker:
    """A process that runs one candidate at a time, so that it is known which one it died of; then another is started."""

    def __init__(self, task: EvaluationTask) -> None:
        self._task = task
        self._pool: ProcessPoolExecutor | None = None

    def run(self, candidate: Candidate | SizeMatched, path: Path | None) -> Result | FailedCandidate:
        if self._pool is None:
            spawn = multiprocessing.get_context("spawn")  # a fork would share threads and GPUs
            self._pool = ProcessPoolExecutor(1, spawn, _set_task, (self._task,))
        try:
            return self._pool.submit(_run_job, candidate, path).result()
        except BrokenProcessPool:
            self.close()
            return FailedCandidate(candidate.label, "its process died: it was killed, crashed, or ran out of memory")

    def close(self) -> None:
        if self._pool is not None:
            self._pool.shutdown()
            self._pool = None


_TASK: list[EvaluationTask] = []  # of a worker process


def _set_task(task: EvaluationTask) -> None:
    _TASK[:] = [task]


def _run_job(candidate: Candidate | SizeMatched, path: Path | None) -> Result | FailedCandidate:
    return attempt(candidate, _TASK[0], path)


def run(candidate: Candidate | SizeMatched, task: EvaluationTask) -> Result:
    """Match the size if needed, chunk, embed, retrieve and score; chunks that come with vectors keep them."""
    if isinstance(candidate, SizeMatched):
        candidate = candidate.calibrate(task)
    question_vectors = task.question_vectors  # so that the model is loaded before anything is measured
    meter = Meter() if candidate.chunker or candidate.uses_no_model else None
    cut = candidate.metered_cut(meter) if meter else candidate.cut
    all_chunks, chunking_cost = measure_cost(lambda: cut(task.documents), meter, task.counter)
    chunks = [
        [_with_document_spans(chunk, document.text, candidate.label) for chunk in group if chunk.embed_text]
        for document, group in zip(task.documents, all_chunks, strict=True)
    ]
    flat = [chunk for group in chunks for chunk in group]
    require(len(flat) > 0, f"{candidate.label} must return chunks", 0)
    vectors, owners, embedding_cost = _chunk_vectors(flat, task)
    tokens = np.maximum(task.counter.counts([chunk.embed_text for chunk in flat]), 1)
    by_document = dict(zip([document.source for document in task.documents], chunks, strict=True))
    overlaps = retrieval.find_overlaps(by_document, task.questions, tokens=tokens)
    ranking = retrieval.rank(question_vectors, vectors, owners)
    at_budgets = {budget: retrieval.at_budget(overlaps, ranking, budget) for budget in task.budgets}
    at_k = retrieval.at_k(overlaps, ranking, task.k)
    scores = {name: getattr(at_k, name.removesuffix("_at_k")) for name in _SCORES_AT_K}
    cohesion = shape.cohesion(task.sentences, task.sentence_vectors, chunks)
    sizes = np.array([chunk.tokens for chunk in flat])
    over, under = shape.off_target_shares(sizes if sizes.all() else tokens, candidate.settings)
    sentences = dict(zip(by_document, task.sentences, strict=True))
    return Result(
        label=candidate.label,
        group=candidate.group,
        settings=candidate.settings,
        recall=at_budgets[task.budget].recall,
        iou=at_budgets[task.budget].iou,
        **scores,
        claims_at_k=claims.claims_at_k(task.claims, by_document, ranking, task.k),
        precision_omega=retrieval.precision_omega(overlaps),
        tokens=tokens,
        curve={budget: float(scores.recall.mean()) for budget, scores in at_budgets.items()},
        redundancy=retrieval.redundancy(overlaps),
        coverage=shape.coverage(task.documents, chunks),
        **cohesion._asdict(),
        forced=shape.forced_share(chunks) if candidate.chunker else None,
        over=over,
        under=under,
        chunking_cost=chunking_cost,
        embedding_cost=embedding_cost,
        size_matched=candidate.size_matched,
        target_mean=candidate.target_mean,
        boundaries=shape.boundary_means(sentences, by_document, task.boundaries),
        chunks=_chunk_rows(chunks, tokens),
    )


def _with_document_spans(chunk: Chunk, text: str, label: str) -> Chunk:
    """Return a chunk with spans in the task's document, if its chunker derived another text from it."""
    if chunk.text == "".join(text[start:end] for start, end in chunk.spans):
        return chunk
    require(bool(chunk.source_spans), f"{label} must return chunks with the text of their spans", chunk.text[:60])
    return replace(chunk, spans=chunk.source_spans)


def _chunk_vectors(chunks: Sequence[Chunk], task: EvaluationTask) -> tuple[Floats, Ints, RunCost]:
    """Return the vectors of chunks, the chunk of each vector, and the cost of embedding those without any."""
    vectors = [chunk.vector if chunk.rows is None else chunk.rows for chunk in chunks]
    missing, cost = [i for i, rows in enumerate(vectors) if rows is None], RunCost(calls=0, texts=0, tokens=0)
    if missing:
        meter, texts = Meter(), [chunks[i].embed_text for i in missing]
        rows, cost = measure_cost(lambda: task.embed_texts(texts, meter), meter, task.counter)
        for i, row in zip(missing, rows, strict=True):
            vectors[i] = row
    matrices = [np.atleast_2d(rows) for rows in vectors if rows is not None]
    owners = np.repeat(np.arange(len(matrices)), [len(rows) for rows in matrices])
    return np.concatenate(matrices), owners, cost


def _chunk_rows(chunks: Chunks, tokens: Ints) -> list[list[list[int]]]:
    sizes = iter(tokens.tolist())
    return [[[next(sizes), *(at for span in chunk.spans for at in span)] for chunk in group] for group in chunks]
