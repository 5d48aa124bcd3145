"""Run candidates on one corpus with one set of questions, and score them the same way."""

from __future__ import annotations

import json
import logging
import pickle
import sys
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import asdict, dataclass, field, replace
from functools import cached_property, partial
from hashlib import sha256
from math import isnan
from pathlib import Path
from typing import Any, Self, TypeAlias, TypeVar

import numpy as np

from advchunk.engine.threads import as_exception
from advchunk.engine.workers import ALONE, run_in_processes
from advchunk.errors import WorkerDied, first_line, require
from advchunk.evaluation.comparison.candidates import Candidate, CandidateGroup, SizeMatched
from advchunk.evaluation.comparison.index import ChunkIndex
from advchunk.evaluation.comparison.task import EvaluationTask
from advchunk.evaluation.metrics import retrieval, shape
from advchunk.evaluation.metrics.metering import Meter, RunCost, measure_cost
from advchunk.evaluation.metrics.table import Retrieved, metrics
from advchunk.models.atomic import open_atomic
from advchunk.records import Chunk, Floats, Ints

_log = logging.getLogger("advchunk")

_K = TypeVar("_K")
_T = TypeVar("_T")


@dataclass(frozen=True)
class Result:
    """The scores of a candidate per question, and the shape and cost of its chunks.

    Parameters
    ----------
    scores : (q,) of each metric by name (`metrics.table`), which are attributes as well: ``result.recall``.
    tokens : (chunks,) tokens of each chunk, its context included.
    curve : mean recall by budget.
    redundancy : mean number of chunks that contain a character; 1 without overlap.
    coverage : share of non-space characters that are in a chunk.
    within, between : mean similarity of sentences within chunks, and between neighboring chunks (`shape.cohesion`).
    forced : share of cuts made by a size limit; None if unknown.
    over, under : share of chunks over and under the target size (`shape.off_target_shares`); None without one.
    chunking_cost, indexing_cost : of chunking the documents, and of embedding the chunks or indexing their words, as
        the search needs. Candidates that differ in their search only share one measurement. Chunks with vectors of
        their own are embedded in ``chunking_cost``.
    size_matched, target_mean : see `Candidate`.
    boundaries : means of the boundary scores over documents with boundaries (`shape.boundary_means`).
    search : label of the way of search.
    """

    label: str
    group: CandidateGroup
    settings: Mapping[str, Any]
    scores: Mapping[str, Floats]
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
    indexing_cost: RunCost
    size_matched: bool = False
    target_mean: float | None = None
    boundaries: Mapping[str, float] = field(default_factory=dict)
    search: str = "dense"

    @property
    def cost(self) -> RunCost:
        """The cost of chunking and indexing."""
        return self.chunking_cost + self.indexing_cost

    @property
    def off_target(self) -> bool:
        """True if the mean chunk is too far from the target mean for a fair comparison."""
        target = self.target_mean
        return target is not None and abs(float(self.tokens.mean()) - target) > 0.05 * target

    def to_dict(self) -> dict[str, Any]:
        """Return the result as JSON, with the scores beside the rest, and NaN as null."""
        data = asdict(self)
        scores = data.pop("scores").items()
        nullable = {name: [None if isnan(score) else score for score in values.tolist()] for name, values in scores}
        return {**data, "tokens": self.tokens.tolist(), **nullable}

    @classmethod
    def from_dict(cls, data: Mapping[str, Any]) -> Result:
        """Return the result that `to_dict` returned."""
        facts = {name: value for name, value in data.items() if name not in metrics()}
        facts["scores"] = {name: np.array(data[name], dtype=np.float64) for name in metrics() if name in data}
        facts |= {name: RunCost(**data[name]) for name in ("chunking_cost", "indexing_cost")}
        facts["curve"] = {int(budget): recall for budget, recall in data["curve"].items()}
        return cls(**{**facts, "tokens": np.array(data["tokens"], dtype=np.int64)})

    def __getattr__(self, name: str) -> Floats:
        """Return the scores of a metric."""
        if name not in (scores := vars(self).get("scores", {})):
            msg = f"{type(self).__name__!r} object has no attribute {name!r}"
            raise AttributeError(msg)
        values: Floats = scores[name]
        return values


@dataclass(frozen=True)
class FailedCandidate:
    """A candidate without a result: the error, and the document in which it was raised if that is known."""

    label: str
    reason: str


_Work: TypeAlias = tuple[Sequence[Candidate | SizeMatched], Sequence[Path | None]]
_Outcomes: TypeAlias = list[Result | FailedCandidate]


class EvaluationResults(list[Result]):
    """The results of candidates, in their order, and ``failures``, the candidates without a result."""

    def __init__(self, results: Iterable[Result] = (), failures: Iterable[FailedCandidate] = ()) -> None:
        super().__init__(results)
        self.failures = list(failures)


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
    processes : number of parallel processes, >= 1. Candidates that cannot be pickled run in this one. A script that
        uses several must start its work under ``if __name__ == "__main__":``.
    store : folder where results are saved, and from which the same code reads them again, with the costs of the first
        run.
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
    groups = group_by_chunks({i: candidates[i] for i in pending})
    parallel = processes > 1 and len(groups) > 1
    remote = [group for group in groups if all(_is_picklable(candidates[i]) for i in group)]
    remote = remote if parallel and _is_picklable(task) else []
    jobs = [([candidates[i] for i in group], [paths[i] for i in group]) for group in remote]
    for group, results in zip(remote, _run_in_processes(jobs, task, min(processes, len(jobs))), strict=True):
        outcomes.update(zip(group, results, strict=True))
        for i in group:
            progress(candidates[i].label)
    with _each_warning_once():
        for group in (group for group in groups if group[0] not in outcomes):
            for i in group:
                progress(candidates[i].label + " (in this process, since it cannot be pickled)" * parallel)
            results = attempt([candidates[i] for i in group], task, [paths[i] for i in group])
            outcomes.update(zip(group, results, strict=True))
    ordered = [outcomes[i] for i in range(len(candidates))]
    failures = [outcome for outcome in ordered if isinstance(outcome, FailedCandidate)]
    for failure in failures:
        _log.warning("%s has no result: %s", failure.label, failure.reason)
    return EvaluationResults([outcome for outcome in ordered if isinstance(outcome, Result)], failures)


def group_by_chunks(candidates: Mapping[_K, Candidate | SizeMatched]) -> list[list[_K]]:
    """Return the keys of candidates in groups with the same chunks and vectors, which differ in their search only."""
    groups = dict[Any, list[_K]]()
    for name, candidate in candidates.items():
        cuts = (id(candidate.make), candidate.mean) if isinstance(candidate, SizeMatched) else id(candidate.cut)
        rank = getattr(candidate, "rank", None)
        groups.setdefault((type(candidate), rank, candidate.fingerprint or cuts), []).append(name)
    return list(groups.values())


def _result_path(candidate: Candidate | SizeMatched, task: EvaluationTask, store: str | Path | None) -> Path | None:
    if store is None or not (fingerprint := candidate.fingerprint):
        return None
    kind = type(candidate).__name__, getattr(candidate, "size_matched", True)
    key = repr((task.digest, candidate.label, kind, fingerprint, candidate.search))
    return Path(store) / f"{sha256(key.encode()).hexdigest()[:32]}.json"


def _load(path: Path | None) -> Result | None:
    if path is None or not path.exists():
        return None
    try:
        return Result.from_dict(json.loads(path.read_text(encoding="utf-8")))
    except (ValueError, TypeError, KeyError, AttributeError):  # another format, or damaged: run again
        return None


def attempt(
    candidates: Sequence[Candidate | SizeMatched], task: EvaluationTask, paths: Sequence[Path | None] | None = None
) -> list[Result | FailedCandidate]:
    """Return the result or the failure of each candidate, and save results to ``paths``.

    Candidates must differ in their search only (`group_by_chunks`).
    """
    shared = _attempt(lambda: ChunkedTask.of(candidates[0], task))
    if isinstance(shared, str):
        return [FailedCandidate(candidate.label, shared) for candidate in candidates]
    outcomes = list[Result | FailedCandidate]()
    for candidate, path in zip(candidates, paths or [None] * len(candidates), strict=True):
        outcome = _attempt(partial(shared.score, candidate))
        if isinstance(outcome, Result) and path is not None:
            path.parent.mkdir(parents=True, exist_ok=True)
            with open_atomic(path, encoding="utf-8") as file:
                json.dump(outcome.to_dict(), file)
        outcomes.append(FailedCandidate(candidate.label, outcome) if isinstance(outcome, str) else outcome)
    return outcomes


def _attempt(work: Callable[[], _T]) -> _T | str:
    try:
        return work()
    except BaseException as error:  # noqa: BLE001 - a panic in a library of Rust is the candidate's failure, too
        failure = as_exception(error)
        message = f"{type(failure).__name__}: {first_line(failure)}"
        return ", ".join([message, *getattr(failure, "__notes__", ())])  # the notes name the document


def _is_picklable(value: Any) -> bool:
    """Return True if another process can unpickle it; it cannot import what is defined in a notebook."""
    try:
        pickled = pickle.dumps(value)
    except (pickle.PicklingError, TypeError, AttributeError, ValueError, RuntimeError):
        return False
    main = sys.modules["__main__"]
    return b"__main__" not in pickled or main.__spec__ is not None or hasattr(main, "__file__")


def _run_in_processes(jobs: Sequence[_Work], task: EvaluationTask, processes: int) -> Iterator[_Outcomes]:
    """Yield outcomes from other processes, in order; each process receives the task, with its vectors, once."""
    if not jobs:
        return
    _ = task.question_vectors, task.sentence_vectors, task.needs  # cached before the task is pickled
    results = run_in_processes(partial(_run_jobs, task), jobs, processes, lambda _: ALONE, max_deaths=1)
    for (candidates, _), outcomes in zip(jobs, results, strict=True):
        if isinstance(outcomes, WorkerDied):
            reason = "its process died: it was killed, crashed, or ran out of memory"
            yield [FailedCandidate(candidate.label, reason) for candidate in candidates]
        else:
            yield outcomes


def _run_jobs(task: EvaluationTask, jobs: Sequence[_Work]) -> list[_Outcomes]:
    with _each_warning_once():
        return [attempt(candidates, task, paths) for candidates, paths in jobs]


@contextmanager
def _each_warning_once() -> Iterator[None]:
    """Log the first warning of a kind about documents, and in the end how many more there were: candidates repeat
    them.
    """
    seen = dict[str, list[logging.LogRecord]]()

    def is_first(record: logging.LogRecord) -> bool:
        seen.setdefault(record.msg, []).append(record)
        return len(seen[record.msg]) == 1

    _log.addFilter(is_first)
    try:
        yield
    finally:
        _log.removeFilter(is_first)
        for first, *others in seen.values():
            if others:
                _log.log(first.levelno, "%d more like this: %s", len(others), first.getMessage())


def run(candidate: Candidate | SizeMatched, task: EvaluationTask) -> Result:
    """Match the size if needed, chunk, index, retrieve and score; chunks that come with vectors keep them."""
    return ChunkedTask.of(candidate, task).score(candidate)


@dataclass(frozen=True, eq=False)
class ChunkedTask:
    """The chunks of a task by candidates that differ in their search only, and what does not depend on the search.

    Parameters
    ----------
    candidate : one of them, at its size.
    chunks : of each document.
    cost : of chunking.
    """

    task: EvaluationTask
    candidate: Candidate
    chunks: Sequence[Sequence[Chunk]]
    cost: RunCost

    @classmethod
    def of(cls, candidate: Candidate | SizeMatched, task: EvaluationTask) -> Self:
        """Return the chunks of a candidate."""
        if isinstance(candidate, SizeMatched):
            candidate = candidate.calibrate(task)
        task.load()
        meter = Meter() if candidate.chunker or candidate.uses_no_model else None
        cut = candidate.metered_cut(meter) if meter else candidate.cut
        all_chunks, cost = measure_cost(lambda: cut(task.documents), meter, task.counter)
        chunks = [
            [
                replace(_with_document_spans(chunk, document.text, candidate.label), index=i)
                for i, chunk in enumerate(group)
                if chunk.embed_text
            ]
            for document, group in zip(task.documents, all_chunks, strict=True)
        ]
        require(any(chunks), f"{candidate.label} must return chunks", 0)
        return cls(task, candidate, chunks, cost)

    def score(self, candidate: Candidate | SizeMatched) -> Result:
        """Return the result of one of the candidates."""
        task = self.task
        ranking, cost = self.candidate.rank(self._index, candidate.search)
        at_budgets = {budget: retrieval.at_budget(self._overlaps, ranking, budget) for budget in task.budgets}
        first = retrieval.at_k(self._overlaps, ranking, task.k)
        retrieved = Retrieved(at_budgets[task.budget], first, self._omega, self._by_document, ranking, task.k)
        return Result(
            label=candidate.label,
            curve={budget: float(scores.recall.mean()) for budget, scores in at_budgets.items()},
            indexing_cost=cost,
            search=candidate.search.label,
            scores={
                name: metric.score(retrieved._replace(needs=task.needs.get(name, ())))
                for name, metric in metrics().items()
            },
            **self._shape,
        )

    @cached_property
    def _flat(self) -> list[Chunk]:
        return [chunk for group in self.chunks for chunk in group]

    @cached_property
    def _by_document(self) -> dict[str, Sequence[Chunk]]:
        return dict(zip([document.source for document in self.task.documents], self.chunks, strict=True))

    @cached_property
    def _tokens(self) -> Ints:
        return np.maximum(self.task.counter.counts([chunk.embed_text for chunk in self._flat]), 1)

    @cached_property
    def _overlaps(self) -> retrieval.Overlaps:
        return retrieval.find_overlaps(self._by_document, self.task.questions, tokens=self._tokens)

    @cached_property
    def _index(self) -> ChunkIndex:
        documents = [name for name, group in self._by_document.items() for _ in group]
        return ChunkIndex(self._flat, documents, self._tokens, self.task)

    @cached_property
    def _omega(self) -> Floats:
        return retrieval.precision_omega(self._overlaps)

    @cached_property
    def _shape(self) -> dict[str, Any]:
        """The fields of a result that do not depend on the search."""
        task, candidate, tokens = self.task, self.candidate, self._tokens
        cohesion = shape.cohesion(task.sentences, task.sentence_vectors, self.chunks)
        sizes = np.array([chunk.tokens for chunk in self._flat])
        over, under = shape.off_target_shares(sizes if sizes.all() else tokens, candidate.settings)
        sentences = dict(zip(self._by_document, task.sentences, strict=True))
        return {
            "group": candidate.group,
            "settings": candidate.settings,
            "tokens": tokens,
            "redundancy": retrieval.redundancy(self._overlaps),
            "coverage": shape.coverage(task.documents, self.chunks),
            **cohesion._asdict(),
            "forced": shape.forced_share(self.chunks) if candidate.chunker else None,
            "over": over,
            "under": under,
            "chunking_cost": self.cost,
            "size_matched": candidate.size_matched,
            "target_mean": candidate.target_mean,
            "boundaries": shape.boundary_means(sentences, self._by_document, task.boundaries),
        }


def _with_document_spans(chunk: Chunk, text: str, label: str) -> Chunk:
    """Return a chunk with spans in the task's document, if its chunker derived another text from it."""
    if chunk.text == "".join(text[start:end] for start, end in chunk.spans):
        return chunk
    require(bool(chunk.source_spans), f"{label} must return chunks with the text of their spans", chunk.text[:60])
    return replace(chunk, spans=chunk.source_spans)
