"""What is compared: registered chunkers, splitters of other libraries, and either at a size that is solved."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping, Sequence
from contextlib import suppress
from dataclasses import dataclass, field, fields, replace
from functools import partial
from hashlib import sha256
from itertools import pairwise
from math import log
from typing import Any, Literal, TypeAlias

import numpy as np

from advchunk.chunkers import registry
from advchunk.chunkers.base import Chunker
from advchunk.chunkers.params import parameters
from advchunk.engine import Watch, drive
from advchunk.errors import ConfigurationError, require
from advchunk.evaluation.comparison.trial import Trial
from advchunk.models.counters import as_counter
from advchunk.records import Chunk, Document, Span
from advchunk.text import tiling

Group: TypeAlias = Literal["stable", "experimental", "baseline", "peer"]
Chunks: TypeAlias = Sequence[Sequence[Chunk]]

BASELINES = ("sliding-window", "recursive")
_MIXED = ("context", "units")  # vectors that say more than a chunk's own text does, so that others are no match
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
    settings : JSON-able; what it was built with. Its ``target_tokens``, else ``max_tokens``, is the size it aims at.
    fingerprint : changes whenever its chunks may; "" for what cannot be told, whose outcomes are not kept.
    chunker : what ``cut`` runs, if it is one of ours: then what it sends to models is known, and why it cuts.
    matched : whether its size was solved for.
    aim : the mean tokens that its size was solved for.
    unaided : whether ``cut`` asks no model; what a chunker asks is known in any case.
    """

    label: str
    cut: Callable[[Sequence[Document]], Chunks]
    group: Group
    settings: Mapping[str, Any] = field(default_factory=dict)
    fingerprint: str = ""
    chunker: Chunker | None = None
    matched: bool = False
    aim: float | None = None
    unaided: bool = False

    def watched(self, watch: Watch) -> Callable[[Sequence[Document]], Chunks]:
        """Return ``cut``; that of one of ours is loaded, says the reason for each cut, and has its calls of models told."""
        if self.chunker is None:
            return self.cut
        chunker = replace(self.chunker, add_scores=True)
        chunker.load()
        return lambda documents: [found.chunks for found in drive(chunker.jobs(documents), watch)]


@dataclass(frozen=True)
class Matched:
    """A candidate whose size is solved where and when it runs.

    Chunks of unlike size are no fair comparison: small ones are precise, large ones complete.

    Parameters
    ----------
    label : what tables call it.
    make : builds the candidate from its size, a whole number >= 1; larger sizes make larger chunks. To run in another
        process it must pickle, as a `functools.partial` of a function of a module does, and a ``lambda`` does not.
    mean : tokens that its mean chunk should have, > 0.
    """

    label: str
    make: Callable[[int], Candidate]
    mean: float

    @property
    def fingerprint(self) -> str:
        """Changes whenever the chunks may, of whatever size."""
        try:
            one = self.make(max(round(self.mean), 1))
        except ConfigurationError:
            return ""
        return sha256(f"{one.fingerprint}|{self.mean}".encode()).hexdigest()[:16] if one.fingerprint else ""

    def solved(self, trial: Trial) -> Candidate:
        """Return the candidate of the nearest mean."""
        return replace(matched(self.make, self.mean, trial)[0], label=self.label)


def candidate(name: str, label: str = "", **params: Any) -> Candidate:
    """Return a registered chunker, experimental or not, as a candidate; a document it fails on is an error.

    Its label, if none is given, says the parameters, and of vectors that are not of a chunk's text alone which they are.

    >>> candidate("recursive", max_tokens=100).label
    'recursive, max_tokens=100'
    """
    chunker = registry.create(name, experimental=True, **{"fallback": None, **params})
    quiet = {f.name for f in fields(chunker) if not f.metadata.get("changes", True)}  # such as the address of a cache
    plain = {k: value for k, value in params.items() if isinstance(value, (str, int, float)) and k not in quiet}
    if plain.get("vectors") in _MIXED:
        del plain["vectors"]
    said = ", ".join([_titled(name, params), *(f"{key}={value}" for key, value in plain.items())])
    group: Group = "baseline" if name in BASELINES else registry.TABLE[name].group
    settings = {**parameters(chunker), **{key: value for key, value in params.items() if key == "vectors"}}
    return Candidate(label or said, chunker.chunk_many, group, settings, chunker.fingerprint(), chunker)


def size_matched(name: str, mean: float, label: str = "", **params: Any) -> Matched:
    """Return a registered chunker as a candidate whose ``max_tokens`` is solved, so that its mean chunk has ``mean`` tokens.

    >>> size_matched("recursive", 100).label, size_matched("universal-semantic", 100, vectors="units").label
    ('recursive', 'universal-semantic, units')
    """
    label = label or _titled(name, params)
    return Matched(label, partial(_of_size, name, label, params), mean)


def _titled(name: str, params: Mapping[str, Any]) -> str:
    vectors = params.get("vectors")
    return f"{name}, {vectors}" if vectors in _MIXED else name


def _of_size(name: str, label: str, params: Mapping[str, Any], size: int) -> Candidate:
    return candidate(name, label, **params, max_tokens=size)


def external(label: str, split: Callable[[str], Iterable[str]], *, fingerprint: str = "", **settings: Any) -> Candidate:
    """Return a splitter of another library as a candidate.

    Each of its texts is looked for behind the start of the last, whatever white space it made of the document's: most
    splitters lose or change some. What cannot be found even so is an error, since it could not be scored.

    Parameters
    ----------
    split : returns the texts of a text's chunks, in order.
    fingerprint : the library's name and version and whatever changes its chunks, so that its outcome can be kept.
    settings : what it was built with; ``max_tokens`` or ``target_tokens`` is the size it aims at.
    """
    return Candidate(label, Placed(label, split), "peer", settings, fingerprint)


def evenly(size: int) -> Candidate:
    """Return the baseline that cuts texts into pieces as equal as the ends of words allow, whatever they say.

    Parameters
    ----------
    size : tokens of a piece at most, >= 1; a word of more is a piece.

    >>> [chunk.text for chunk in evenly(2).cut([Document("One two three four five.")])[0]]
    ['One two ', 'three four ', 'five.']
    """
    require(size >= 1, "size must be >= 1", size)
    return Candidate("even-split", Evenly(size), "baseline", {"max_tokens": size}, f"even-split {size}", unaided=True)


@dataclass(frozen=True)
class Evenly:
    """Cuts texts into equal pieces (`evenly`)."""

    size: int

    def __call__(self, documents: Sequence[Document]) -> list[list[Chunk]]:
        """Return the chunks of each document."""
        return [self.pieces(document.text) if document.text.strip() else [] for document in documents]

    def pieces(self, text: str) -> list[Chunk]:
        """Return the chunks of a text that is not blank."""
        edges = tiling.words(text).edges
        before = np.r_[0, np.cumsum(as_counter(None).counts([text[a:b] for a, b in pairwise(edges.tolist())]))]
        cuts = [0]
        while cuts[-1] < len(before) - 1:
            start, left = cuts[-1], int(before[-1] - before[cuts[-1]])
            share = left // max(-(-left // self.size), 1)  # of what is left, so that none must be over the size
            end = int(np.searchsorted(before, before[start] + share, "right")) - 1
            cuts.append(max(end, start + 1))
        return [Chunk(text[a:b], (Span(a, b),), 0, i) for i, (a, b) in enumerate(pairwise(edges[cuts].tolist()))]


@dataclass(frozen=True)
class Placed:
    """A splitter of another library, and where its texts stand."""

    label: str
    split: Callable[[str], Iterable[str]]

    def __call__(self, documents: Sequence[Document]) -> list[list[Chunk]]:
        """Return the chunks of each document."""
        return [_found(document, self.split(document.text), self.label) for document in documents]


def _found(document: Document, texts: Iterable[str], label: str) -> list[Chunk]:
    ink = [i for i, character in enumerate(document.text) if not character.isspace()]
    squeezed = "".join([document.text[i] for i in ink])
    chunks, start, end = list[Chunk](), -1, 0
    for text in texts:
        if wanted := "".join(text.split()):
            # What is said twice is looked for where the last text ends, first.
            place = end if squeezed.startswith(wanted, end) else squeezed.find(wanted, start + 1)
            require(place >= 0, f"{label} must return texts of the document {document.source!r}, in order", text[:60])
            span = Span(ink[place], ink[place + len(wanted) - 1] + 1)
            chunks.append(Chunk(document.text[slice(*span)], (span,), 0, len(chunks)))
            start, end = place, place + len(wanted)
    return chunks


def mean_tokens(one: Candidate, trial: Trial) -> float:
    """Return the mean size of a candidate's chunks; vectors do not change it, so it is found once for all kinds of them."""
    plain = _remembering(one, trial)
    key = plain.fingerprint() if isinstance(plain, Chunker) else one.fingerprint
    if not key or key not in trial.means:
        cut = plain.chunk_many if isinstance(plain, Chunker) else plain
        texts = [chunk.embed_text for several in cut(trial.documents) for chunk in several]
        counts = trial.counter.counts([text for text in texts if text])
        trial.means[key] = float(counts.mean()) if len(counts) else 0.0
    return trial.means[key]


def _remembering(one: Candidate, trial: Trial) -> Chunker | Callable[[Sequence[Document]], Chunks]:
    """Return what cuts as a candidate does, what models answer remembered and the vectors of its chunks not asked for."""
    if one.chunker is None:
        return one.cut
    plain: dict[str, Any] = {"vectors": "none"} if hasattr(one.chunker, "vectors") else {}
    chunker: Any = replace(one.chunker, **plain)
    if hasattr(chunker, "cache") and chunker.cache is None:
        with suppress(ConfigurationError):  # of a model without a name
            chunker = replace(chunker, cache=trial.memo)
    found: Chunker = chunker
    return found


def matched(make: Callable[[int], Candidate], mean: float, trial: Trial) -> tuple[Candidate, float]:
    """Solve the size parameter of a candidate, so that its mean chunk has ``mean`` tokens.

    A mean is about a power of its size, so the first try is already near, and the next is where the line through the
    nearest sizes on either side says, of logarithms (regula falsi); two to five tries do. The search ends where larger sizes
    make no larger chunks. Where a larger size makes smaller ones, the nearest of those tried is taken.

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
    low, high, size, same = (0, 0.0), None, max(round(mean), 1), 0
    while len(tried) < _TRIES and size not in tried:
        tried[size] = found = _mean_of(make, size, trial)
        if abs(found - mean) <= _CLOSE * mean:
            break
        if found < mean:
            same = max(same, 0) + 1  # how often in turn the same side moved
            if high is None and 0 < found <= low[1] and size >= 1.5 * low[0]:
                break
            low = size, found
        else:
            same = min(same, 0) - 1
            high = size, found
        size = _next(low, high, mean, halve=abs(same) > 2)
    best = min(tried, key=lambda size: (abs(tried[size] - mean), size))
    return replace(make(best), matched=True, aim=mean), tried[best]


def _next(low: tuple[int, float], high: tuple[int, float] | None, mean: float, *, halve: bool) -> int:
    """Return a size between one that is too small and one that is too large, if that is known."""
    least, small = low
    if high is None:
        return max(round(least * min(max(mean / small, 1.05), 4)) if small else 2 * least, least + 1)
    most, large = high
    if halve:
        size = (least + most) / 2
    elif small:
        size = least * (most / least) ** (log(mean / small) / log(large / small))
    else:
        size = least + mean / large * (most - least)
    return min(max(round(size), least + 1), max(most - 1, 1))


def _mean_of(make: Callable[[int], Candidate], size: int, trial: Trial) -> float:
    """Return the mean that a size gives; one that a rule forbids is too small."""
    try:
        return mean_tokens(make(size), trial)
    except ConfigurationError:
        return 0.0
