"""Run candidates on one corpus with one set of questions, and score them the same way."""

import json
import logging
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import asdict, dataclass, field, replace
from hashlib import sha256
from math import isnan
from pathlib import Path
from typing import Any, Self, TypeVar

import numpy as np

from advchunk.engine.threads import as_exception
from advchunk.errors import checked, first_line, require
from advchunk.evaluation.comparison.candidates import Candidate, CandidateGroup, SizeMatched
from advchunk.evaluation.comparison.index import ChunkIndex
from advchunk.evaluation.comparison.task import EvaluationTask
from advchunk.evaluation.metrics import retrieval, shape
from advchunk.evaluation.metrics.metering import Meter, RunCost, measure_cost
from advchunk.evaluation.metrics.table import Retrieved, metrics
from advchunk.models.atomic import open_atomic
from advchunk.records import Chunk, Floats, Ints

_log = logging.getLogger("advchunk")

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
    chunking_cost, indexing_cost : cost of chunking the documents, and of embedding the chunks or indexing their words,
        as the search needs, once for candidates that differ only in it. A chunker's own vectors are in the former.
    target_mean : see `Candidate`.
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
    target_mean: float | None = None
    boundaries: Mapping[str, float] = field(default_factory=dict)
    search: str = "dense"

    @property
    def cost(self) -> RunCost:
        """The cost of chunking and indexing."""
        return self.chunking_cost + self.indexing_cost

    @property
    def size_matched(self) -> bool:
        """True if the size was chosen to match a mean."""
        return self.target_mean is not None

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
    def from_dict(cls, data: Mapping[str, Any]) -> "Result":
        """Return the result that `to_dict` returned."""
        facts = {name: value for name, value in data.items() if name not in metrics()}
        facts["scores"] = {name: np.array(data[name], dtype=np.float64) for name in metrics() if name in data}
        facts |= {name: RunCost(**data[name]) for name in ("chunking_cost", "indexing_cost")}
        facts["curve"] = {int(budget): recall for budget, recall in data["curve"].items()}
        return cls(**{**facts, "tokens": np.array(data["tokens"], dtype=np.int64)})

    def __getattr__(self, name: str) -> Floats:
        """Return the scores of a metric."""
        if name in (scores := vars(self).get("scores", {})):
            return scores[name]  # type: ignore[no-any-return]
        msg = f"{type(self).__name__!r} object has no attribute {name!r}"
        raise AttributeError(msg)


@dataclass(frozen=True)
class FailedCandidate:
    """A candidate without a result: the error, and the document in which it was raised if that is known."""

    label: str
    reason: str


class EvaluationResults(list[Result]):
    """The results of candidates, in their order, and ``failures``, the candidates without a result."""

    failures: Sequence[FailedCandidate] = ()


@checked
def evaluate(
    candidates: Iterable[Candidate | SizeMatched],
    task: EvaluationTask,
    *,
    store: str | Path | None = None,
    progress: Callable[[str], None] = lambda _: None,
) -> EvaluationResults:
    """Run candidates on a task and return their results in the same order.

    A candidate that raises an error, even on one document, is logged and listed in ``failures``; the others are not
    affected. Raises `ConfigurationError` for two candidates with the same label, and the errors of the task's embedder.

    Parameters
    ----------
    store : folder where results are saved, and from which the same code reads them again, with their former costs.
    progress : called with the label of each candidate before it runs.
    """
    candidates = list(candidates)
    labels = [candidate.label for candidate in candidates]
    require(len(labels) == len(set(labels)), "candidates must have unique labels", labels)
    paths = [_result_path(candidate, task, store) for candidate in candidates]
    outcomes: dict[int, Any] = {i: result for i, path in enumerate(paths) if (result := _load(path)) is not None}
    groups = dict[Any, list[int]]()  # of candidates with the same chunks and vectors, which differ in their search only
    for i in [i for i in range(len(candidates)) if i not in outcomes]:
        groups.setdefault(_chunks_key(candidates[i]), []).append(i)
    if groups:
        _ = task.question_vectors  # an embedder that fails is no fault of the candidates
    with _each_warning_once():
        for group in groups.values():
            shared: ChunkedTask | str = ""
            for i in group:
                progress(labels[i])
                shared = shared or _attempt(ChunkedTask.of, candidates[i], task)
                outcome = shared if isinstance(shared, str) else _attempt(shared.score, candidates[i])
                outcomes[i] = FailedCandidate(labels[i], outcome) if isinstance(outcome, str) else outcome
                if isinstance(outcome, Result) and (path := paths[i]):
                    path.parent.mkdir(parents=True, exist_ok=True)
                    with open_atomic(path, encoding="utf-8") as file:
                        json.dump(outcome.to_dict(), file)
    ordered = [outcomes[i] for i in range(len(candidates))]
    results = EvaluationResults(outcome for outcome in ordered if isinstance(outcome, Result))
    results.failures = [outcome for outcome in ordered if isinstance(outcome, FailedCandidate)]
    for failure in results.failures:
        _log.warning("%s has no result: %s", failure.label, failure.reason)
    return results


def _chunks_key(candidate: Candidate | SizeMatched) -> Any:
    """Return the key that candidates with the same chunks, vectors and ranking share."""
    if isinstance(candidate, SizeMatched):
        return candidate.fingerprint or (id(candidate.make), candidate.mean), SizeMatched
    return candidate.fingerprint or id(candidate.cut), candidate.rank


def _result_path(candidate: Candidate | SizeMatched, task: EvaluationTask, store: str | Path | None) -> Path | None:
    if store is None or not (fingerprint := candidate.fingerprint):
        return None
    key = repr((task.digest, candidate.label, type(candidate).__name__, fingerprint, candidate.search))
    return Path(store) / f"{sha256(key.encode()).hexdigest()[:32]}.json"


def _load(path: Path | None) -> Result | None:
    if path is None or not path.exists():
        return None
    try:
        return Result.from_dict(json.loads(path.read_text(encoding="utf-8")))
    except (ValueError, TypeError, KeyError, AttributeError, RecursionError):  # another format, or damaged: run again
        return None


def _attempt(work: Callable[..., _T], *args: Any) -> _T | str:
    try:
        return work(*args)
    except BaseException as error:  # noqa: BLE001 - a panic in a library of Rust is the candidate's failure, too
        failure = as_exception(error)
        message = f"{type(failure).__name__}: {first_line(failure)}"
        return ", ".join([message, *getattr(failure, "__notes__", ())])  # the notes name the document


@contextmanager
def _each_warning_once() -> Iterator[None]:
    """Log the first warning of a kind, which candidates repeat, and in the end how many more say something else."""
    seen = dict[str, dict[str, int]]()

    def is_first(record: logging.LogRecord) -> bool:
        is_new = record.msg not in seen
        seen.setdefault(record.msg, {})[record.getMessage()] = record.levelno
        return is_new

    _log.addFilter(is_first)
    try:
        yield
    finally:
        _log.removeFilter(is_first)
        for (first, level), *others in (messages.items() for messages in seen.values()):
            if others:
                _log.log(level, "%d more like this: %s", len(others), first)


def run(candidate: Candidate | SizeMatched, task: EvaluationTask) -> Result:
    """Match the size if needed, chunk, index, retrieve and score; chunks that come with vectors keep them."""
    return ChunkedTask.of(candidate, task).score(candidate)


@dataclass(frozen=True, eq=False)
class ChunkedTask:
    """The chunks of candidates that differ in their search only, one of which it has, and what is shared of results."""

    task: EvaluationTask
    candidate: Candidate
    chunks: Mapping[str, Sequence[Chunk]]
    index: ChunkIndex
    overlaps: retrieval.Overlaps
    shape: Mapping[str, Any]

    @classmethod
    def of(cls, candidate: Candidate | SizeMatched, task: EvaluationTask) -> Self:
        """Return the chunks of a candidate."""
        if isinstance(candidate, SizeMatched):
            candidate = candidate.calibrate(task)
        task = task.loaded
        meter = Meter() if candidate.chunker or candidate.uses_no_model else None
        cut = candidate.metered_cut(meter) if meter else candidate.cut
        all_chunks, cost = measure_cost(lambda: cut(task.documents), meter, task.counter)
        chunks = {
            document.source: [
                replace(_with_document_spans(chunk, document.text, candidate.label), index=i)
                for i, chunk in enumerate(group)
                if chunk.embed_text
            ]
            for document, group in zip(task.documents, all_chunks, strict=True)
        }
        require(any(chunks.values()), f"{candidate.label} must return chunks", 0)
        groups = list(chunks.values())
        flat = [chunk for group in groups for chunk in group]
        tokens = np.maximum(task.counter.counts([chunk.embed_text for chunk in flat]), 1)
        index = ChunkIndex(flat, [name for name, group in chunks.items() for _ in group], tokens, task)
        overlaps = retrieval.find_overlaps(chunks, task.questions, tokens=tokens)
        sizes = np.array([chunk.tokens for chunk in flat])
        over, under = shape.off_target_shares(sizes if sizes.all() else tokens, candidate.settings)
        fields = {
            "group": candidate.group,
            "settings": candidate.settings,
            "tokens": tokens,
            "redundancy": retrieval.redundancy(overlaps),
            "coverage": shape.coverage(task.documents, groups),
            **shape.cohesion(task.sentences, task.sentence_vectors, groups)._asdict(),
            "forced": shape.forced_share(groups) if candidate.chunker else None,
            "over": over,
            "under": under,
            "chunking_cost": cost,
            "target_mean": candidate.target_mean,
            "boundaries": shape.boundary_means(dict(zip(chunks, task.sentences, strict=True)), chunks, task.boundaries),
        }
        return cls(task, candidate, chunks, index, overlaps, fields)

    def score(self, candidate: Candidate | SizeMatched) -> Result:
        """Return the result of one of the candidates."""
        task, overlaps = self.task, self.overlaps
        ranking, cost = self.candidate.rank(self.index, candidate.search)
        at_budgets = {budget: retrieval.at_budget(overlaps, ranking, budget) for budget in task.budgets}
        first, omega = retrieval.at_k(overlaps, ranking, task.k), retrieval.precision_omega(overlaps)
        retrieved = Retrieved(at_budgets[task.budget], first, omega, self.chunks, ranking, task.k)
        scores = {n: m.score(retrieved._replace(needs=task.needs.get(n, ()))) for n, m in metrics().items()}
        return Result(
            label=candidate.label,
            curve={budget: float(scores.recall.mean()) for budget, scores in at_budgets.items()},
            indexing_cost=cost,
            search=candidate.search.label,
            scores=scores,
            **self.shape,
        )


def _with_document_spans(chunk: Chunk, text: str, label: str) -> Chunk:
    """Return a chunk with spans in the task's document, if its chunker derived another text from it."""
    if chunk.text == "".join(text[start:end] for start, end in chunk.spans):
        return chunk
    require(bool(chunk.source_spans), f"{label} must return chunks with the text of their spans", chunk.text[:60])
    return replace(chunk, spans=chunk.source_spans)
