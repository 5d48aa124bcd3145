"""Which chunker for these documents? Runs candidates on one corpus and one set of questions, and scores them alike."""

from __future__ import annotations

import json
import time
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import asdict, dataclass, field
from functools import cached_property
from hashlib import sha256
from pathlib import Path
from typing import Any, Literal, TypeAlias

import numpy as np

from advchunk import registry
from advchunk.chunkers.params import parameters
from advchunk.errors import ConfigurationError, require
from advchunk.evaluation import retrieval
from advchunk.evaluation.questions import Question
from advchunk.models.counters import Counter, as_counter
from advchunk.models.embedders import as_embedder
from advchunk.models.identity import identity
from advchunk.records import Chunk, Document, Floats, Ints, Span

Group: TypeAlias = Literal["stable", "experimental", "baseline", "peer"]
Progress: TypeAlias = Callable[[str], None]

BASELINES = ("sliding-window", "recursive")
_VERSION = 1  # raise it when the same settings come to give other outcomes, so that stored ones are not read
_CLOSE = 0.02  # of the size asked for, that a matched mean is within if it can be
_TRIES = 16  # sizes tried to match one


@dataclass(frozen=True)
class Candidate:
    """Something that cuts documents, and how it is told apart.

    Parameters
    ----------
    label : what tables call it; each once.
    cut : returns the chunks of each document, with spans.
    group : what it is compared as.
    settings : JSON-able; what it was built with.
    fingerprint : changes whenever its chunks may.
    """

    label: str
    cut: Callable[[Sequence[Document]], Sequence[Sequence[Chunk]]]
    group: Group
    settings: Mapping[str, Any] = field(default_factory=dict)
    fingerprint: str = ""


def candidate(name: str, label: str = "", **params: Any) -> Candidate:
    """Return a registered chunker, experimental or not, as a candidate; a document it fails on is an error.

    >>> candidate("recursive", max_tokens=100).label
    'recursive, max_tokens=100'
    """
    chunker = registry.create(name, experimental=True, **{"fallback": None, **params})
    said = ", ".join(
        [name, *(f"{key}={value}" for key, value in params.items() if isinstance(value, (str, int, float)))]
    )
    group: Group = "baseline" if name in BASELINES else registry.TABLE[name].group
    settings = {**parameters(chunker), **{key: value for key, value in params.items() if key == "vectors"}}
    return Candidate(label or said, chunker.chunk_many, group, settings, chunker.fingerprint())


def peer(label: str, split: Callable[[str], Iterable[str]]) -> Candidate:
    """Return a splitter of another library as a candidate.

    Each of its texts is looked for behind the start of the last, whatever white space it made of the document's: most
    splitters lose or change some. What cannot be found even so is an error, since it could not be scored.
    """

    def cut(documents: Sequence[Document]) -> list[list[Chunk]]:
        return [_found(document, split(document.text), label) for document in documents]

    return Candidate(label, cut, "peer")


def _found(document: Document, texts: Iterable[str], label: str) -> list[Chunk]:
    ink = [i for i, character in enumerate(document.text) if not character.isspace()]
    squeezed = "".join([document.text[i] for i in ink])
    chunks, start = list[Chunk](), -1
    for text in texts:
        if wanted := "".join(text.split()):
            place = squeezed.find(wanted, start + 1)
            require(place >= 0, f"{label} must return texts of the document {document.source!r}, in order", text[:60])
            span = Span(ink[place], ink[place + len(wanted) - 1] + 1)
            chunks.append(Chunk(document.text[slice(*span)], (span,), 0, len(chunks)))
            start = place
    return chunks


@dataclass(frozen=True)
class Trial:
    """A corpus, questions about it, and how retrieval is scored: the same for every candidate.

    Parameters
    ----------
    documents : each with a name of its own, which the questions' references use.
    embedder : anything `models.embedders.as_embedder` takes; None is the embedded default.
    k : chunks retrieved, for the scores at fixed k, >= 1.
    budgets : tokens retrieved, for the curve; each >= 1.
    budget : of them, the one that candidates are compared at.
    """

    documents: tuple[Document, ...]
    questions: tuple[Question, ...]
    embedder: Any = None
    k: int = 5
    budget: int = 1000
    budgets: tuple[int, ...] = (250, 500, 1000, 2000, 4000)

    def __post_init__(self) -> None:
        names = [document.source for document in self.documents]
        require(len(names) == len(set(names)) > 0, "documents must have names of their own", names)
        require(len(self.questions) >= 2, "questions must be two or more", len(self.questions))
        require(self.k >= 1, "k must be >= 1", self.k)
        require(min(self.budgets, default=0) >= 1, "budgets must be >= 1", self.budgets)
        require(self.budget in self.budgets, f"budget must be one of the budgets, {self.budgets}", self.budget)

    @cached_property
    def counter(self) -> Counter:
        """What counts tokens, for every candidate: the embedded WordPiece."""
        return as_counter(None)

    @cached_property
    def asked(self) -> Floats:
        """The vectors of the questions."""
        return self.embedded([question.text for question in self.questions])

    @cached_property
    def digest(self) -> str:
        """Changes whenever an outcome may."""
        said = [
            _VERSION,
            [(document.source, document.text) for document in self.documents],
            [(question.text, question.references) for question in self.questions],
            identity(self.embedder),
            self.k,
            self.budgets,
        ]
        return sha256(json.dumps(said).encode()).hexdigest()

    def embedded(self, texts: Sequence[str]) -> Floats:
        """Return the unit vector of each text."""
        rows: Floats = as_embedder(self.embedder).embed(texts)
        return rows


@dataclass(frozen=True)
class Outcome:
    """What became of a candidate: one score a question, and what its chunks are and cost.

    Parameters
    ----------
    recall, iou : (q,) within the budget.
    recall_at_k, precision_at_k, iou_at_k, hit_at_k, reciprocal_rank, ndcg : (q,) of the first k.
    precision_omega : (q,) of the cuts alone.
    curve : mean recall by budget.
    tokens : (chunks,) tokens of each chunk, its context included.
    redundancy : how often the text is said: 1 for chunks that do not overlap.
    cut_seconds, embed_seconds : processor seconds to cut the documents, and to embed the chunks.
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
    precision_omega: Floats
    tokens: Ints
    curve: Mapping[int, float]
    redundancy: float
    cut_seconds: float
    embed_seconds: float

    def said(self) -> dict[str, Any]:
        """Return it as JSON has it."""
        return {
            name: value.tolist() if isinstance(value, np.ndarray) else value for name, value in asdict(self).items()
        }

    @classmethod
    def read(cls, said: Mapping[str, Any]) -> Outcome:
        """Return what `said` said."""
        arrays = {name: np.array(value) for name, value in said.items() if isinstance(value, list)}
        return cls(**{**said, **arrays, "curve": {int(budget): recall for budget, recall in said["curve"].items()}})


def evaluate(
    candidates: Iterable[Candidate],
    trial: Trial,
    *,
    store: str | Path | None = None,
    progress: Progress = lambda _: None,
) -> list[Outcome]:
    """Run candidates on a trial.

    Parameters
    ----------
    store : a folder that keeps outcomes, so that what was run before is read again; times too are those of then.
    progress : called with the label of each candidate before it runs.

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
    return [_stored(one, trial, store, progress) for one in candidates]


def _stored(one: Candidate, trial: Trial, store: str | Path | None, progress: Progress) -> Outcome:
    if store is None or not one.fingerprint:
        progress(one.label)
        return run(one, trial)
    key = sha256(f"{trial.digest}|{one.label}|{one.fingerprint}".encode()).hexdigest()[:32]
    path = Path(store) / f"{key}.json"
    if path.exists():
        return Outcome.read(json.loads(path.read_text(encoding="utf-8")))
    progress(one.label)
    outcome = run(one, trial)
    path.parent.mkdir(parents=True, exist_ok=True)
    partial = path.with_suffix(".part")  # so that an interrupted run leaves no half file
    partial.write_text(json.dumps(outcome.said()), encoding="utf-8")
    partial.replace(path)
    return outcome


def run(one: Candidate, trial: Trial) -> Outcome:
    """Cut, embed, retrieve and score; chunks that have vectors keep them."""
    began = time.process_time()
    cut = one.cut(trial.documents)
    chunks = [chunk for several in cut for chunk in several if chunk.embed_text]
    require(len(chunks) > 0, f"{one.label} must find chunks", 0)
    cut_seconds = time.process_time() - began
    began = time.process_time()
    own = [chunk.vector for chunk in chunks if chunk.vector is not None]
    vectors = np.array(own) if len(own) == len(chunks) else trial.embedded([chunk.embed_text for chunk in chunks])
    embed_seconds = time.process_time() - began
    tokens = np.maximum(trial.counter.counts([chunk.embed_text for chunk in chunks]), 1)
    by_name = {
        document.source: [chunk for chunk in several if chunk.embed_text]
        for document, several in zip(trial.documents, cut, strict=True)
    }
    held = retrieval.overlaps(by_name, trial.questions, tokens=tokens)
    ranking = retrieval.rank(trial.asked, vectors)
    within = {budget: retrieval.at_budget(held, ranking, budget) for budget in trial.budgets}
    first = retrieval.at_k(held, ranking, trial.k)
    return Outcome(
        one.label,
        one.group,
        one.settings,
        within[trial.budget].recall,
        within[trial.budget].iou,
        first.recall,
        first.precision,
        first.iou,
        first.hit,
        first.reciprocal_rank,
        first.ndcg,
        retrieval.precision_omega(held),
        tokens,
        {budget: float(scores.recall.mean()) for budget, scores in within.items()},
        retrieval.redundancy(held),
        cut_seconds,
        embed_seconds,
    )


def mean_tokens(one: Candidate, trial: Trial) -> float:
    """Return the mean size of a candidate's chunks."""
    cut = one.cut(trial.documents)
    texts = [chunk.embed_text for several in cut for chunk in several if chunk.embed_text]
    return float(trial.counter.counts(texts).mean()) if texts else 0.0


def matched(make: Callable[[int], Candidate], mean: float, trial: Trial) -> tuple[Candidate, float]:
    """Solve the size parameter of a candidate, so that its mean chunk has ``mean`` tokens.

    Chunks of unlike size are no fair comparison: small ones are precise, large ones complete.

    Parameters
    ----------
    make : builds the candidate from its size, a whole number >= 1; larger sizes make larger chunks.
    mean : tokens, > 0.

    Returns
    -------
    The candidate nearest to it of those tried, and its mean.
    """
    require(mean > 0, "mean must be > 0", mean)
    tried = dict[int, float]()
    low, high, size = 1, 0, max(round(mean), 1)  # a size that is too small, and one that is too large if known
    while len(tried) < _TRIES and size not in tried:
        tried[size] = _mean_of(make, size, trial)
        if abs(tried[size] - mean) <= _CLOSE * mean:
            break
        if tried[size] < mean:
            low = size
            size = (size + high) // 2 if high else 2 * size
        else:
            high = size
            size = (low + size) // 2
    best = min(tried, key=lambda size: (abs(tried[size] - mean), size))
    return make(best), tried[best]


def _mean_of(make: Callable[[int], Candidate], size: int, trial: Trial) -> float:
    """Return the mean that a size gives; one that a rule forbids is too small."""
    try:
        return mean_tokens(make(size), trial)
    except ConfigurationError:
        return 0.0
