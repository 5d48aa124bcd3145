"""Candidates of a comparison: registered chunkers, splitters of other libraries, and either at a matched size."""

from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from contextlib import suppress
from dataclasses import dataclass, field, fields, replace
from hashlib import sha256
from itertools import pairwise
from math import log
from typing import Any, Literal, TypeAlias, TypeVar, final

import numpy as np

from advchunk.chunkers import catalog, gate
from advchunk.chunkers.base import Chunker
from advchunk.chunkers.params import parameters
from advchunk.chunkers.vectors import Vectors, add_vectors
from advchunk.engine import Watch, drive
from advchunk.engine.runner import Failure
from advchunk.errors import ConfigurationError, checked, did_you_mean, require
from advchunk.evaluation.comparison.index import ChunkIndex
from advchunk.evaluation.comparison.task import EvaluationTask
from advchunk.evaluation.metrics.metering import RunCost
from advchunk.models.counters import as_counter
from advchunk.models.embedders import EmbedderLike
from advchunk.models.identity import identity
from advchunk.records import Chunk, Document, Ints, Span
from advchunk.retrieval.locating import locate
from advchunk.retrieval.search import SEARCHES, Search
from advchunk.text import tiling

CandidateGroup: TypeAlias = Literal["stable", "experimental", "baseline", "external"]
Chunks: TypeAlias = Sequence[Sequence[Chunk]]

BASELINES = ("sliding-window", "recursive")
CONTEXT_VECTORS = ("context", "units", "late")  # vectors of more than a chunk's own text, named in labels
_VERSIONED = frozenset({"advchunk", "abc", "builtins"})  # packages whose classes change with their version
_TOLERANCE = 0.02  # relative, of a matched mean size
_MAX_TRIES = 16  # sizes tried to match a mean


@dataclass(frozen=True)
class Candidate:
    """A way to chunk documents and to search the chunks, with a label.

    Parameters
    ----------
    label : unique name in tables.
    cut : returns the chunks of each document, with spans.
    settings : JSON-able; its ``target_tokens``, else ``max_tokens``, is its target size.
    fingerprint : changes whenever its chunks may; "" if that is unknown: its results are not stored.
    chunker : the advchunk chunker behind ``cut``; its model calls and the reasons for its cuts are then recorded.
    target_mean : tokens of the mean that its size was chosen to match, if any.
    uses_no_model : True if ``cut`` calls no model; ignored with a ``chunker``, whose calls are counted.
    search : how chunks are searched. Candidates that differ in their search only are chunked and embedded once.
    rank : ranks the chunks for each question, as `ChunkIndex.rank` does.
    plain : the candidate without vectors (`with_vectors`), whose chunks have the same sizes.
    """

    label: str
    cut: Callable[[Sequence[Document]], Chunks]
    group: CandidateGroup
    settings: Mapping[str, Any] = field(default_factory=dict)
    fingerprint: str = ""
    chunker: Chunker | None = None
    target_mean: float | None = None
    uses_no_model: bool = False
    search: Search = field(default_factory=Search)
    rank: Callable[[ChunkIndex, Search], tuple[Ints, RunCost]] = ChunkIndex.rank
    plain: "Candidate | None" = None

    def metered_cut(self, watch: Watch) -> Callable[[Sequence[Document]], Chunks]:
        """Return ``cut``; that of a chunker with its model loaded, the reasons for cuts recorded, its calls watched."""
        if self.chunker is None:
            return self.cut
        chunker = replace(self.chunker, add_scores=True)
        chunker.load()
        return lambda documents: [result.chunks for result in drive(chunker.jobs(documents), watch)]


@final
@dataclass(frozen=True)
class SizeMatched:
    """A candidate whose size is chosen when it runs, so that its mean chunk has ``mean`` > 0 tokens.

    Comparing chunks of different sizes is unfair: small ones are precise, large ones complete. ``make`` builds the
    candidate of a size, a whole number >= 1, whatever its search; larger sizes make larger chunks.
    """

    label: str
    make: Callable[[int], Candidate]
    mean: float
    search: Search = field(default_factory=Search)

    @property
    def fingerprint(self) -> str:
        """A hash that changes whenever the chunks may, at any size."""
        try:
            fingerprint = self.make(max(round(self.mean), 1)).fingerprint
        except ConfigurationError:
            return ""
        return sha256(f"{fingerprint}|{self.mean}".encode()).hexdigest()[:16] if fingerprint else ""

    def calibrate(self, task: EvaluationTask) -> Candidate:
        """Return the candidate whose mean is nearest to ``mean``."""
        return replace(match_size(self.make, self.mean, task)[0], label=self.label, search=self.search)


@checked
def searches_of(candidate: Candidate | SizeMatched, searches: Iterable[Search]) -> list[Candidate | SizeMatched]:
    """Return a candidate with each way of search, named in its label unless it is "dense".

    >>> [c.label for c in searches_of(candidate("recursive"), [Search(), Search("hybrid", neighbors=True)])]
    ['recursive', 'recursive, hybrid, neighbors']
    """
    return [replace(candidate, label=search_label(candidate.label, search), search=search) for search in searches]


@checked
def named_searches(names: str) -> list[Search]:
    """Return ways of search by name, each once: "all", or labels with "+", separated by commas.

    >>> [search.label for search in named_searches("dense, hybrid+neighbors")]
    ['dense', 'hybrid, neighbors']
    """
    by_name = {search.label.replace(", ", "+"): search for search in SEARCHES}
    listed = list(by_name) if names == "all" else [name.strip() for name in names.split(",")]
    for name in listed:
        require(name in by_name, f"a search must be one of {list(by_name)}{did_you_mean(name, by_name)}", name)
    return [by_name[name] for name in dict.fromkeys(listed)]


def search_label(label: str, search: Search) -> str:
    """Return the label of a candidate with a way of search."""
    return label if search == Search() else f"{label}, {search.label}"


@checked
def candidate(name: str, label: str = "", **params: Any) -> Candidate:
    """Return a registered chunker as a candidate without fallback; an experimental one if the settings allow it.

    The default label lists the parameters, and the kind of vectors if they are not of a chunk's text alone.

    >>> candidate("recursive", max_tokens=100).label
    'recursive, max_tokens=100'
    """
    chunker = catalog.create(name, **{"experimental": gate.to_compare(), "fallback": None, **params})
    hidden = {f.name for f in fields(chunker) if not f.metadata.get("changes", True)}  # such as the path of a cache
    listed = {k: value for k, value in params.items() if isinstance(value, (str, int, float)) and k not in hidden}
    if listed.get("vectors") in CONTEXT_VECTORS:
        del listed["vectors"]
    label = label or ", ".join([_label(name, params), *(f"{key}={value}" for key, value in listed.items())])
    group: CandidateGroup = "baseline" if name in BASELINES else catalog.chunker_class(name).group
    settings = {**parameters(chunker), **{key: value for key, value in params.items() if key == "vectors"}}
    # The code of a chunker of another package has no version to count up.
    ours = {cls.__module__.partition(".")[0] for cls in type(chunker).__mro__} <= _VERSIONED
    return Candidate(label, chunker.chunk_many, group, settings, chunker.fingerprint() if ours else "", chunker)


@checked
def size_matched(name: str, mean: float, label: str = "", **params: Any) -> SizeMatched:
    """Return a registered chunker whose ``max_tokens`` is chosen so that its mean chunk has ``mean`` tokens.

    >>> size_matched("recursive", 100).label, size_matched("universal-semantic", 100, vectors="units").label
    ('recursive', 'universal-semantic, units')
    """
    require("max_tokens" not in params, "max_tokens is chosen to match the mean and must not be set", params)
    label = label or _label(name, params)
    return SizeMatched(label, lambda size: candidate(name, label, **params, max_tokens=size), mean)


def _label(name: str, params: Mapping[str, Any]) -> str:
    vectors = params.get("vectors")
    return f"{name}, {vectors}" if vectors in CONTEXT_VECTORS else name


def brittleness_notes(labels: Iterable[str]) -> dict[str, str]:
    """Return the published warnings about brittle chunkers by label, for names or labels of `candidate`."""
    published, warnings = catalog.sensitivities()["chunkers"], dict[str, str]()
    for label in labels:
        name, *rest = label.split(", ")
        configuration = ", ".join([name, *(part for part in rest if part.startswith("preset="))])
        if warning := published.get(configuration, {}).get("warning"):
            warnings[label] = warning
    return warnings


@checked
def external(label: str, split: Callable[[str], Iterable[str]], *, fingerprint: str = "", **settings: Any) -> Candidate:
    """Return a splitter of another library as a candidate.

    Each of its texts is located after the start of the previous one, ignoring white space, which most splitters change.
    A text that cannot be located is an error, since it could not be scored. With a ``fingerprint``, the library's name
    and version and all settings that change its chunks, its result can be stored; ``settings`` are as in `Candidate`.
    """

    def cut(documents: Sequence[Document]) -> list[list[Chunk]]:
        groups = list[list[Chunk]]()
        for index, document in enumerate(documents):
            try:
                rule = f"{label} must return texts of the document {document.source!r}, in order"
                groups.append(chunks_at(document.text, locate(document.text, split(document.text), rule)))
            except Exception as error:
                error.add_note(f"in {Failure(index, document.source, error).place}")
                raise
        return groups

    fingerprint = fingerprint and f"{label}: {fingerprint}"  # candidates with the same chunks are measured once
    return Candidate(label, cut, "external", settings, fingerprint)


def chunks_at(text: str, spans: Iterable[Span]) -> list[Chunk]:
    """Return a chunk for each span of a text."""
    return [Chunk(text[slice(*span)], (span,), 0, i) for i, span in enumerate(spans)]


_AnyCandidate = TypeVar("_AnyCandidate", Candidate, SizeMatched)


@checked
def with_vectors(
    candidate: _AnyCandidate, kind: Vectors = "units", embedder: EmbedderLike = None, label: str = ""
) -> _AnyCandidate:
    """Return a candidate whose chunks, such as another library's, have vectors (`advchunk.retrieval.add_vectors`).

    The embedder must be that of the questions; an empty label adds the kind to the candidate's.

    >>> with_vectors(external("by line", str.splitlines), "units").label
    'by line, units'
    """
    label = label or f"{candidate.label}, {kind}"
    if isinstance(candidate, SizeMatched):
        make = candidate.make
        return replace(candidate, label=label, make=lambda size: with_vectors(make(size), kind, embedder))
    return replace(
        candidate,
        label=label,
        cut=lambda documents: add_vectors(candidate.cut(documents), kind, embedder, documents=documents),
        fingerprint=candidate.fingerprint and f"{candidate.fingerprint}, {kind}, {identity(embedder)}",
        chunker=None,
        uses_no_model=False,
        plain=candidate.plain or candidate,
    )


@checked
def even_split_candidate(size: int) -> Candidate:
    """Return the baseline that cuts texts into equal pieces of at most ``size`` >= 1 tokens, or a longer word."""
    require(size >= 1, "size must be >= 1", size)

    def cut(documents: Sequence[Document]) -> list[list[Chunk]]:
        return [chunks_at(d.text, _even_spans(size, d.text)) if d.text.strip() else [] for d in documents]

    return Candidate("even-split", cut, "baseline", {"max_tokens": size}, f"even-split {size}", uses_no_model=True)


def _even_spans(size: int, text: str) -> Iterator[Span]:
    edges = tiling.words(text).edges.tolist()
    before = np.r_[0, np.cumsum(as_counter(None).counts([text[a:b] for a, b in pairwise(edges)]))]
    start = 0
    while start < len(before) - 1:
        left = int(before[-1] - before[start])
        share = left // max(-(-left // size), 1)  # of the rest, so that no later piece exceeds the size
        end = max(int(np.searchsorted(before, before[start] + share, "right")) - 1, start + 1)
        yield Span(edges[start], edges[end])
        start = end


def mean_tokens(candidate: Candidate, task: EvaluationTask) -> float:
    """Return the mean size of a candidate's chunks; computed once for all kinds of vectors, which do not change it."""
    candidate = candidate.plain or candidate
    cut, key, chunker = candidate.cut, candidate.fingerprint, candidate.chunker
    if chunker is not None:
        chunker = replace(chunker, vectors="none")
        with suppress(ConfigurationError):  # of a model without a name, whose answers are not cached
            chunker = chunker if chunker.cache is not None else replace(chunker, cache=task.embedding_cache)
        cut, key = chunker.chunk_many, chunker.fingerprint()
    if not key or key not in task.mean_sizes:
        texts = [chunk.embed_text for group in cut(task.documents) for chunk in group]
        counts = task.counter.counts([text for text in texts if text])
        task.mean_sizes[key] = float(counts.mean()) if len(counts) else 0.0
    return task.mean_sizes[key]


def match_size(make: Callable[[int], Candidate], mean: float, task: EvaluationTask) -> tuple[Candidate, float]:
    """Return the candidate of the size whose mean chunk is nearest to ``mean`` tokens, and its mean. A mean is roughly
    a power of the size, so sizes are interpolated between logarithms (regula falsi), in two to five tries.
    """
    require(mean > 0, "mean must be > 0", mean)
    tried = dict[int, float]()
    low, high, size, repeats = (0, 0.0), None, max(round(mean), 1), 0
    while len(tried) < _MAX_TRIES and size not in tried:
        got = 0.0
        with suppress(ConfigurationError):  # a size that is rejected is too small
            got = mean_tokens(make(size), task)
        tried[size] = got
        if abs(got - mean) <= _TOLERANCE * mean:
            break
        if got < mean:
            repeats = max(repeats, 0) + 1  # how often in a row the same bound moved
            if high is None and 0 < got <= low[1] and size >= 1.5 * low[0]:
                break
            low = size, got
        else:
            repeats = min(repeats, 0) - 1
            high = size, got
        size = _next_size(low, high, mean, bisect=abs(repeats) > 2)
    possible = [size for size, got in tried.items() if got] or list(tried)  # a rejected size has no mean
    best = min(possible, key=lambda size: (abs(tried[size] - mean), size))
    return replace(make(best), target_mean=mean), tried[best]


def _next_size(low: tuple[int, float], high: tuple[int, float] | None, mean: float, *, bisect: bool) -> int:
    """Return a size between one that is too small and one that is too large, or else beyond the former."""
    small, small_mean = low
    if high is None:
        return max(round(small * min(max(mean / small_mean, 1.05), 4)) if small_mean else 2 * small, small + 1)
    large, large_mean = high
    if bisect:
        size = (small + large) / 2
    elif small_mean:
        size = small * (large / small) ** (log(mean / small_mean) / log(large_mean / small_mean))
    else:
        size = small + mean / large_mean * (large - small)
    return min(max(round(size), small + 1), max(large - 1, 1))
