"""The texts and chunks around hits, read from where they are kept."""

from __future__ import annotations

from collections.abc import Callable, Hashable, Iterable, Mapping, Sequence, Set
from dataclasses import dataclass, field
from functools import lru_cache
from functools import partial as partial_of
from pathlib import Path
from typing import Any, Protocol, TypeAlias, TypeVar

from advchunk.errors import ConfigurationError, StoreUnavailable, first_line, is_instance, require
from advchunk.readers.files import read_file
from advchunk.records import Chunk, Span
from advchunk.retrieval.locating import is_whole
from advchunk.retrieval.passages import Hit
from advchunk.retrieval.warning_log import WarningLog
from advchunk.text.counters import Counter

Texts: TypeAlias = Mapping[str, str] | Callable[[str], str | None]
"""The texts of documents by name."""

Naming: TypeAlias = Callable[[Hit], Iterable[str]]
"""Returns the names under which the text of a hit's document may be kept, the likeliest first."""

_KEPT_FILES = 64  # that are remembered
_SAMPLE = 20  # texts whose tokens are counted
_Name = TypeVar("_Name", bound=Hashable)


@dataclass(frozen=True, slots=True, eq=False)
class Neighborhood:
    """The texts and chunks around some hits.

    Parameters
    ----------
    beside : other chunks of the documents of the hits, with spans; their scores do not count.
    texts : whole texts by ``Hit.document``.
    items : those of ``beside`` as their framework has them, None for others; () if it has none.
    """

    beside: Sequence[Hit] = ()
    texts: Mapping[str, str] = field(default_factory=dict)
    items: Sequence[Any] = ()

    @property
    def pairs(self) -> list[tuple[Hit, Any]]:
        """The chunks beside hits, each with its item."""
        return list(zip(self.beside, self.items or [None] * len(self.beside), strict=True))


class Surroundings(Protocol):
    """The method of a source of the texts and chunks around hits; an attribute ``name`` is used in messages."""

    def read(self, hits: Sequence[Hit], reach: float, /) -> Neighborhood:
        """Return the texts and chunks around hits that are known, at least ``reach`` characters on either side.

        It is called once for all hits of a question, from any thread.
        """
        ...


SurroundingsLike: TypeAlias = Surroundings | Texts | str | Path | Sequence[Any]
"""A source, the texts of documents by name, the path of a folder of files, or several of these."""


@dataclass(frozen=True, eq=False)
class CheckedSurroundings:
    """Sources whose answers and errors are checked; the first with the text of a document counts (`as_surroundings`).

    Each has whether it is left out if it fails, which is logged once; ``warnings`` logs once that hits are not in the
    sources, or have another text there.
    """

    sources: Sequence[tuple[Surroundings, bool]] = ()
    warnings: WarningLog = field(default_factory=WarningLog)

    @property
    def name(self) -> str:
        """The names of the sources."""
        return " and ".join(dict.fromkeys(_name_of(source) for source, _ in self.sources))

    def read(self, hits: Iterable[Hit], reach: float) -> Neighborhood:
        """Return the texts and chunks around hits that have the name of a document, without these. Raises
        `StoreUnavailable`, with the names of source and document, if a source failed; `ConfigurationError` if it
        returned something else.
        """
        hits = list(hits)
        named, pairs, texts = [hit for hit in hits if hit.document], list[tuple[Hit, Any]](), dict[str, str]()
        if hits and not named and self.sources and all(isinstance(source, TextSource) for source, _ in self.sources):
            reason = "%s cannot be asked for: none of %d hits has the name of a document in its metadata"
            self.warnings.warn(f"nameless {self.name}", reason, self.name, len(hits))
        has_answer = False
        for source, may_fail in self.sources:
            if unread := [hit for hit in named if hit.document not in texts]:
                answer = self._ask(source, unread, reach, may_fail=may_fail)
                has_answer |= answer is not None
                answer = answer or Neighborhood()
                pairs += answer.pairs
                texts = {**answer.texts, **texts}
        if has_answer:
            self._warn_of_missing(named, {*texts, *(hit.document for hit, _ in pairs)})
        pairs = self._others(named, pairs)
        return Neighborhood([hit for hit, _ in pairs], texts, [item for _, item in pairs])

    def _ask(self, source: Surroundings, hits: Sequence[Hit], reach: float, *, may_fail: bool) -> Neighborhood | None:
        """Return the answer of a source, without chunks that have no place; None if it failed."""
        name = _name_of(source)
        try:
            around = source.read(hits, reach)
            require(isinstance(around, Neighborhood), f"{name} must return a Neighborhood", around)
            wrong: list[Any] = [text for text in around.texts.values() if not isinstance(text, str)]
            require(not wrong, "texts must be strings or documents", *wrong[:1] or [None])
            wrong = [hit for hit in around.beside if not _is_sound(hit)]
            require(not wrong, f"{name} must return hits that have a text, and metadata by name", *wrong[:1] or [None])
            pairs = [pair for pair in around.pairs if _is_placed(pair[0].chunk)]
            return Neighborhood([hit for hit, _ in pairs], around.texts, [item for _, item in pairs])
        except ConfigurationError:
            raise
        except Exception as error:
            failure = _unavailable(name, [hit.document for hit in hits], error)
            if not may_fail:
                raise failure from error
            self.warnings.warn(f"failed {name}", "answers are partial: %s", failure)
            return None

    def _others(self, hits: Sequence[Hit], pairs: Sequence[tuple[Hit, Any]]) -> list[tuple[Hit, Any]]:
        """Return the chunks without the hits, each once: a source may return one for each hit that it is near."""
        ids = {hit.chunk.id: hit.chunk.text for hit in hits if hit.chunk.id}
        stale = [hit.chunk.id for hit, _ in pairs if ids.get(hit.chunk.id, hit.chunk.text) != hit.chunk.text]
        if stale:
            reason = "%d of %d hits have another text in %s, such as %r: the text of the hits counts"
            self.warnings.warn(f"stale {self.name}", reason, len(stale), len(hits), self.name, ids[stale[0]][:60])
        places = set(map(_place, hits))
        others = {_place(pair[0]): pair for pair in reversed(pairs) if pair[0].chunk.id not in ids}
        return [pair for place, pair in reversed(others.items()) if place not in places]

    def _warn_of_missing(self, hits: Sequence[Hit], documents: Set[str]) -> None:
        """Log that documents of hits are not in the sources, or that none is in texts by name."""
        texts = [source for source, _ in self.sources if isinstance(source, TextSource)]
        are_texts = len(texts) == len(self.sources)
        if are_texts and (documents or all(source.is_optional for source in texts)):
            return
        missing = [hit.document for hit in hits if hit.document not in documents and (hit.chunk.spans or are_texts)]
        if missing:
            reason = "%s has nothing of %d of %d hits, such as one of %r: they are used as they are"
            self.warnings.warn(f"missing {self.name}", reason, self.name, len(missing), len(hits), missing[0])


def _name_of(source: Any) -> str:
    return str(getattr(source, "name", None) or f"the source {type(source).__name__}")


def _is_sound(hit: Any) -> bool:
    """Return True for a hit whose text, context and metadata are what they must be."""
    chunk: Any = hit.chunk if isinstance(hit, Hit) else None
    return chunk is not None and (
        isinstance(chunk.text, str) and isinstance(chunk.context, str) and isinstance(chunk.metadata, Mapping)
    )


def _place(hit: Hit) -> tuple[Any, ...]:
    return hit.document, tuple(hit.chunk.spans), hit.chunk.text


def _is_placed(chunk: Chunk) -> bool:
    """Return True if a chunk has spans that a document can have, which are as long as its text."""
    edges = [edge for span in chunk.spans for edge in span]
    return bool(edges) and is_whole(chunk) and edges[0] >= 0 and edges == sorted(edges)


def _unavailable(source: str, documents: Sequence[str], error: Exception) -> StoreUnavailable:
    """Return the error of a source that failed for hits of some documents."""
    if isinstance(error, StoreUnavailable):
        return error
    others = len(set(documents)) - 1
    names = f"{documents[0]!r}" + (f" and {others} other documents" if others else "")
    return StoreUnavailable(f"{source} failed for hits of {names}: {type(error).__name__}: {first_line(error)}")


def as_surroundings(
    source: SurroundingsLike | None,
    warnings: WarningLog | None = None,
    *,
    naming: Naming | None = None,
    partial: bool = False,
) -> CheckedSurroundings:
    """Coerce a source of the texts or chunks around hits.

    Parameters
    ----------
    source : `Surroundings`; the texts of documents by name, as a mapping, or as a function that returns None for a
        name that it does not know; the path of a folder (`FolderTexts`); several of these, of which the first that
        has the text of a document counts; or None, which has nothing.
    warnings : logs what a source lacks; None is a new one.
    naming : names of texts, if they differ from ``Hit.document``.
    partial : leave out a source that fails, with a warning in the log, in place of an error.

    Raises
    ------
    ConfigurationError : the source is anything else.

    >>> from advchunk import Chunk
    >>> hit = Hit(Chunk("Add tea.", (Span(6, 14),), 3), "guide", 1.0)
    >>> as_surroundings({"guide": "Boil. Add tea. Wait."}).read([hit], 50).texts
    {'guide': 'Boil. Add tea. Wait.'}
    """
    if isinstance(source, CheckedSurroundings):
        return source
    warnings = warnings or WarningLog()
    own: Any = FolderTexts(source) if isinstance(source, (str, Path)) else source
    if isinstance(own, Sequence):
        parts = [as_surroundings(part, warnings, naming=naming, partial=partial) for part in own]
        return CheckedSurroundings([pair for part in parts for pair in part.sources], warnings)
    if isinstance(own, Mapping) or (callable(own) and not hasattr(own, "read")):
        find = own.get if isinstance(own, Mapping) else own
        own = TextSource(partial_of(map, find), naming) if own != {} else None
    rule = "texts must be a mapping, a function, the path of a folder, Surroundings, or several of these"
    require(own is None or (is_instance(source) and callable(getattr(own, "read", None))), rule, source)
    return CheckedSurroundings([] if own is None else [(own, partial)], warnings)


@dataclass(frozen=True, eq=False)
class TextSource:
    """Texts of documents, read by name: ``find`` returns one for each of some names, None for one that it does not
    know. ``naming`` is for texts kept under other names than ``Hit.document``, ``name`` for messages; if
    ``is_optional``, the log does not say that it has nothing.
    """

    find: Callable[[list[str]], Iterable[Any]]
    naming: Naming | None = None
    name: str = "texts"
    is_optional: bool = False

    def read(self, hits: Sequence[Hit], _reach: float, /) -> Neighborhood:
        """Return for each document the text under the first of its names that has one, with one call."""
        named = {hit.document: list(self.naming(hit) if self.naming else (hit.document,)) for hit in hits}
        names = list(dict.fromkeys(name for own in named.values() for name in own))
        texts = {name: text for name, text in zip(names, self.find(names), strict=True) if text is not None}
        contents = {document: [texts[name] for name in own if name in texts] for document, own in named.items()}
        return Neighborhood(texts={document: own[0] for document, own in contents.items() if own})


@dataclass(frozen=True)
class FolderTexts:
    """The texts of the files in a folder, by their paths below it, as `advchunk.read_file` reads them.

    A name that is not a file, or leads out of the folder, is not known. A file is read when it is asked for, and
    again after it has changed; the last 64 are remembered.

    Parameters
    ----------
    path : the folder.
    encoding : encoding of the files (`advchunk.readers.files.read_file`).

    Raises
    ------
    ConfigurationError : there is no such folder.
    """

    path: str | Path
    encoding: str | None = field(default=None, kw_only=True)

    def __post_init__(self) -> None:
        require(isinstance(self.path, (str, Path)), "path must name a folder", self.path)
        require(Path(self.path).is_dir(), "texts must be a folder that exists, if it is a path", str(self.path))

    def __call__(self, name: str) -> str | None:
        """Return the text of the file with a name, None if there is none."""
        folder = Path(self.path).resolve()
        try:
            path = (folder / name).resolve()
            is_inside = path.is_relative_to(folder) and path.is_file()
        except (OSError, ValueError):  # a name that no file can have
            return None
        if not is_inside:
            return None
        status = path.stat()
        return _text_of(path, self.encoding, status.st_mtime_ns, status.st_size)


@lru_cache(_KEPT_FILES)
def _text_of(path: Path, encoding: str | None, _time: int, _size: int) -> str:
    """Return the text of a file in a state."""
    return read_file(path, encoding=encoding).text


def ranges_around(places: Iterable[tuple[_Name, Sequence[Span]]], reach: float) -> list[tuple[_Name, Span]]:
    """Return the ranges of documents that reach ``reach`` characters beyond spans, each part of a document once."""
    by_name = dict[_Name, list[Span]]()
    for name, spans in places:
        by_name.setdefault(name, []).extend(spans)
    ranges = list[tuple[_Name, Span]]()
    for name, members in by_name.items():
        end = -1
        for first, last in sorted(members):
            start = max(int(first - reach), 0)
            if start > end:
                ranges.append((name, Span(start, start)))
            end = max(end, int(last + reach))
            ranges[-1] = name, Span(ranges[-1][1].start, end)
    return ranges


def characters_of(tokens: float, hits: Iterable[Hit], counter: Counter) -> float:
    """Return about how many characters are so many tokens, by the texts of twenty hits, whatever their order."""
    texts = sorted({hit.chunk.text for hit in hits})
    sample = texts[:: max(len(texts) // _SAMPLE, 1)]
    counted = int(counter.counts(sample).sum()) if sample else 0
    return tokens * sum(map(len, sample)) / counted if counted else tokens
