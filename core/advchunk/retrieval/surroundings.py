"""The texts and chunks around hits, read from where they are kept."""

from __future__ import annotations

import asyncio
import functools
from collections import OrderedDict
from collections.abc import Awaitable, Callable, Hashable, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field, replace
from itertools import islice
from pathlib import Path
from threading import Lock
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

_MAX_KEPT = 1 << 26  # characters of files that a folder remembers
_FEW = 3  # names in a message
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

    def joined(self, other: Neighborhood) -> Neighborhood:
        """Return both together; of two texts of a document, the first counts."""
        pairs = [*self.pairs, *other.pairs]
        items = [item for _, item in pairs]
        return Neighborhood([hit for hit, _ in pairs], {**other.texts, **self.texts}, items)


class Surroundings(Protocol):
    """The method of a source of the texts and chunks around hits.

    It is called once for all hits of a question. Optional: ``aread``, which is awaited in place of ``read``, and ``name``, for
    messages.
    """

    def read(self, hits: Sequence[Hit], reach: float, /) -> Neighborhood:
        """Return the texts and chunks around hits, at least ``reach`` characters on either side of each, as far as they are known."""
        ...


SurroundingsLike: TypeAlias = Surroundings | Texts | str | Path | Sequence[Any]
"""A source, the texts of documents by name, the path of a folder of files, or several of these."""


@dataclass(frozen=True, eq=False)
class CheckedSurroundings:
    """A source whose answers and errors are checked. See `as_surroundings`.

    Parameters
    ----------
    source : None has nothing.
    warnings : logs once that hits are not in the source, or have another text there.
    partial : a source that fails is left out, and a warning in the log says so once.
    is_part : other sources may have the documents that this one lacks.
    """

    source: Surroundings | None
    warnings: WarningLog = field(default_factory=WarningLog)
    partial: bool = False
    is_part: bool = False

    @property
    def name(self) -> str:
        """The name of the source."""
        return str(getattr(self.source, "name", None) or f"the source {type(self.source).__name__}")

    @property
    def may_lack_documents(self) -> bool:
        """True for texts by name, which may be those of some documents only."""
        if isinstance(self.source, _Several):
            return all(source.may_lack_documents for source in self.source.sources)
        return isinstance(self.source, TextSource)

    @property
    def _texts(self) -> list[TextSource]:
        """The texts by name, as far as they are the user's, who means them for the documents of hits."""
        sources = self.source.sources if isinstance(self.source, _Several) else [self]
        return [own for source in sources if isinstance(own := source.source, TextSource) and own.listed is not None]

    def read(self, hits: Iterable[Hit], reach: float) -> Neighborhood:
        """Return the texts and chunks around hits that have the name of a document, without these.

        Raises
        ------
        StoreUnavailable : the source failed; the message has its name, and that of a document.
        ConfigurationError : the source returned something else.
        """
        hits = self._named(hits)
        if self.source is None or not hits:
            return Neighborhood()
        try:
            return self._checked(hits, self.source.read(hits, reach))
        except Exception as error:  # noqa: BLE001 - of a source that is not ours
            return self._without(hits, error)

    async def aread(self, hits: Iterable[Hit], reach: float) -> Neighborhood:
        """Await `read`, with the async method of the source, or in another thread."""
        hits = self._named(hits)
        aread: Callable[..., Awaitable[Neighborhood]] | None = getattr(self.source, "aread", None)
        if aread is None or not hits:
            return await asyncio.to_thread(self.read, hits, reach)
        try:
            return self._checked(hits, await aread(hits, reach))
        except Exception as error:  # noqa: BLE001 - of a source that is not ours
            return self._without(hits, error)

    def _named(self, hits: Iterable[Hit]) -> list[Hit]:
        """Return the hits that have the name of a document; log that none has, if texts are asked for by it."""
        hits = list(hits)
        named = [hit for hit in hits if hit.document]
        if hits and not named and self._texts and not self.is_part:
            reason = "%s cannot be asked for: none of %d hits has the name of a document in its metadata"
            self.warnings.warn(f"nameless {self.name}", reason, self.name, len(hits))
        return named

    def _without(self, hits: Sequence[Hit], error: Exception) -> Neighborhood:
        """Raise the error of a source, or log it if answers may be partial."""
        if isinstance(error, ConfigurationError):
            raise error
        failure = unavailable(self.name, [hit.document for hit in hits], error)
        if not self.partial:
            raise failure from error
        self.warnings.warn(f"failed {self.name}", "answers are partial: %s", failure)
        return Neighborhood()

    def _checked(self, hits: Sequence[Hit], around: Neighborhood) -> Neighborhood:
        """Return the answer of a source without chunks that are hits, or have no place."""
        require(isinstance(around, Neighborhood), f"{self.name} must return a Neighborhood", around)
        wrong: list[Any] = [text for text in around.texts.values() if not isinstance(text, str)]
        require(not wrong, "texts must be strings or documents", *wrong[:1] or [None])
        wrong = [hit for hit in around.beside if not _is_sound(hit)]
        require(not wrong, f"{self.name} must return hits that have a text, and metadata by name", *wrong[:1] or [None])
        if self.is_part:  # the whole is checked, too
            return around
        if not self.may_lack_documents:
            self._warn_of_missing(hits, around)
        elif not around.texts and not around.beside:
            self._warn_of_other_names(hits)
        if not around.beside:
            return around
        ids = {hit.chunk.id: hit.chunk.text for hit in hits if hit.chunk.id}
        places = {(hit.document, hit.chunk.spans, hit.chunk.text) for hit in hits}
        stale = [
            chunk.id for chunk in (hit.chunk for hit in around.beside) if ids.get(chunk.id, chunk.text) != chunk.text
        ]
        if stale:
            reason = "%d of %d hits have another text in %s, such as %r: the text of the hits counts"
            self.warnings.warn(f"stale {self.name}", reason, len(stale), len(hits), self.name, ids[stale[0]][:60])
        kept = [
            (hit, item)
            for hit, item in around.pairs
            if hit.chunk.id not in ids
            and (hit.document, hit.chunk.spans, hit.chunk.text) not in places
            and _is_placed(hit.chunk)
        ]
        return Neighborhood([hit for hit, _ in kept], around.texts, [item for _, item in kept])

    def _warn_of_missing(self, hits: Sequence[Hit], around: Neighborhood) -> None:
        """Log that documents of hits are not in a source."""
        documents = {*around.texts, *(hit.document for hit in around.beside)}
        missing = [hit.document for hit in hits if hit.chunk.spans and hit.document not in documents]
        if missing:
            reason = "%d of %d hits, such as one of %r, are of documents that are not in %s: they are used as they are"
            self.warnings.warn(f"missing {self.name}", reason, len(missing), len(hits), missing[0], self.name)

    def _warn_of_other_names(self, hits: Sequence[Hit]) -> None:
        """Log under which names texts were looked up in vain, and under which they are kept."""
        for source in self._texts:
            asked, kept = _quoted(source.names(hits)), _quoted(source.listed() if source.listed else ())
            reason = "%s has no text of the documents of %d hits: it was asked for %s%s; hits are used as they are"
            has = f", and has {kept}" if kept else ""
            self.warnings.warn(f"names {source.name}", reason, source.name, len(hits), asked, has)


def _quoted(names: Iterable[str]) -> str:
    """Return the first names as text.

    >>> _quoted("abcd"), _quoted([])
    ("'a', 'b', 'c' and others", '')
    """
    first = [repr(name) for name in islice(names, _FEW + 1)]
    return ", ".join(first[:_FEW]) + (" and others" if len(first) > _FEW else "")


def _is_sound(hit: Any) -> bool:
    """Return True for a hit whose text, context and metadata are what they must be."""
    if not isinstance(hit, Hit):
        return False
    chunk: Any = hit.chunk
    texts_are_strings = isinstance(chunk.text, str) and isinstance(chunk.context, str)
    return texts_are_strings and isinstance(chunk.metadata, Mapping)


def _is_placed(chunk: Chunk) -> bool:
    """Return True if a chunk has spans that a document can have, which are as long as its text."""
    edges = [edge for span in chunk.spans for edge in span]
    return bool(edges) and is_whole(chunk) and edges[0] >= 0 and edges == sorted(edges)


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
    source : `Surroundings`; the texts of documents by name, as a mapping, or as a function that returns None for a name that it
        does not know; the path of a folder (`FolderTexts`); several of these, of which the first that has the text of a
        document counts; or None, which has nothing.
    warnings : logs what a source lacks; None is a new one.
    naming : of texts that are kept under other names than ``Hit.document``.
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
    own: Any = FolderTexts(source) if isinstance(source, (str, Path)) else source
    if isinstance(own, Sequence):
        parts = [as_surroundings(part, warnings, naming=naming, partial=partial) for part in own if part is not None]
        own = _Several([replace(part, is_part=True) for part in parts if part.source is not None])
    elif isinstance(own, Mapping) or (callable(own) and not hasattr(own, "read")):
        own = TextSource(functools.partial(_find_each, own), naming, listed=_names_in(own))
    rule = "texts must be a mapping, a function, the path of a folder, Surroundings, or several of these"
    require(own is None or (is_instance(source) and callable(getattr(own, "read", None))), rule, source)
    return CheckedSurroundings(own, warnings or WarningLog(), partial)


def unavailable(source: str, documents: Sequence[str], error: Exception) -> StoreUnavailable:
    """Return the error of a source that failed for hits of some documents."""
    if isinstance(error, StoreUnavailable):
        return error
    others = len(set(documents)) - 1
    names = f"{documents[0]!r}" + (f" and {others} other documents" if others else "")
    msg = f"{source} failed for hits of {names}: {type(error).__name__}: {first_line(error)}"
    return StoreUnavailable(msg)


@dataclass(frozen=True, eq=False)
class _Several:
    """Sources of which the first that has the text of a document counts."""

    sources: Sequence[CheckedSurroundings]

    @property
    def name(self) -> str:
        """The names of the sources."""
        return " and ".join(source.name for source in self.sources) or "texts"

    def read(self, hits: Sequence[Hit], reach: float) -> Neighborhood:
        """Return the texts and chunks of all sources."""
        whole = Neighborhood()
        for source in self.sources:
            whole = whole.joined(source.read((hit for hit in hits if hit.document not in whole.texts), reach))
        return whole

    async def aread(self, hits: Sequence[Hit], reach: float) -> Neighborhood:
        """Await `read`."""
        whole = Neighborhood()
        for source in self.sources:
            rest = [hit for hit in hits if hit.document not in whole.texts]
            whole = whole.joined(await source.aread(rest, reach))
        return whole


class TextSource:
    """The texts of documents, which are read by name.

    Parameters
    ----------
    find : returns a text for each of some names, None for one that it does not know.
    naming : of texts that are kept under other names than ``Hit.document``.
    afind : is awaited in place of ``find``.
    name : for messages.
    listed : returns the names of texts, some at least, for messages; None if texts need not be those of the documents of hits.
    """

    def __init__(
        self,
        find: Callable[[list[str]], Iterable[Any]],
        naming: Naming | None = None,
        afind: Callable[[list[str]], Awaitable[Iterable[Any]]] | None = None,
        name: str = "texts",
        listed: Callable[[], Iterable[str]] | None = None,
    ) -> None:
        self._find, self._naming, self._afind, self.name, self.listed = find, naming, afind, name, listed

    def read(self, hits: Sequence[Hit], _reach: float, /) -> Neighborhood:
        """Return the texts of the documents of hits, with one call."""
        names = self.names(hits)
        return self._chosen(hits, names, self._find(names))

    async def aread(self, hits: Sequence[Hit], _reach: float, /) -> Neighborhood:
        """Await `read`."""
        names = self.names(hits)
        values = await asyncio.to_thread(self._find, names) if self._afind is None else await self._afind(names)
        return self._chosen(hits, names, values)

    def _names_of(self, hit: Hit) -> Iterable[str]:
        return (hit.document,) if self._naming is None else self._naming(hit)

    def names(self, hits: Iterable[Hit]) -> list[str]:
        """Return the names under which the texts of hits are looked up."""
        return list(dict.fromkeys(name for hit in hits for name in self._names_of(hit)))

    def _chosen(self, hits: Iterable[Hit], names: Sequence[str], values: Iterable[Any]) -> Neighborhood:
        """Return for each document the text under the first of its names that has one."""
        by_name = {name: value for name, value in zip(names, values, strict=True) if value is not None}
        texts = {
            hit.document: by_name[name] for hit in hits for name in [*self._names_of(hit)][::-1] if name in by_name
        }
        return Neighborhood(texts=texts)


def find_text(texts: Texts, document: str) -> str | None:
    """Return the text of a document, None if it is not known."""
    return texts(document) if callable(texts) else texts.get(document)


def _names_in(texts: Texts) -> Callable[[], Iterable[str]] | None:
    """Return a function that returns the names of texts; None for no texts."""
    if isinstance(texts, Mapping):
        return functools.partial(iter, texts) if texts else None
    return texts.names if isinstance(texts, FolderTexts) else tuple


def _find_each(texts: Texts, names: list[str]) -> list[str | None]:
    """Look names up one by one, and name the one at which it fails."""
    values = list[str | None]()
    for name in names:
        try:
            values.append(find_text(texts, name))
        except Exception as error:
            failure = unavailable("texts", [name], error)
            raise failure from error
    return values


class FolderTexts:
    """The texts of the files in a folder, by their paths below it, as `advchunk.read_file` reads them.

    A name that is not a file, or leads out of the folder, is not known. A file is read when it is asked for, and again after it
    has changed; the latest are remembered, up to 64 million characters. Any number of threads may ask.

    Parameters
    ----------
    path : of the folder.
    encoding : of the files (`advchunk.readers.files.read_file`).

    Raises
    ------
    ConfigurationError : there is no such folder.
    """

    def __init__(self, path: str | Path, *, encoding: str | None = None) -> None:
        require(isinstance(path, (str, Path)), "path must be that of a folder", path)
        self._folder, self._encoding = Path(path).resolve(), encoding
        require(self._folder.is_dir(), "texts must be a folder that exists, if it is a path", str(path))
        self._kept, self._lock = OrderedDict[Path, tuple[tuple[int, int], str]](), Lock()

    def names(self) -> Iterator[str]:
        """Yield the names of files."""
        return (path.relative_to(self._folder).as_posix() for path in self._folder.rglob("*") if path.is_file())

    def __reduce__(self) -> tuple[Any, ...]:
        return functools.partial(type(self), encoding=self._encoding), (self._folder,)

    def __call__(self, name: str) -> str | None:
        """Return the text of the file with a name, None if there is none."""
        try:
            path = (self._folder / name).resolve()
            is_inside = path.is_relative_to(self._folder) and path.is_file()
        except (OSError, ValueError):  # a name that no file can have
            return None
        if not is_inside:
            return None
        status = path.stat()
        state = status.st_mtime_ns, status.st_size
        with self._lock:
            if path in self._kept and self._kept[path][0] == state:
                self._kept.move_to_end(path)
                return self._kept[path][1]
        text = read_file(path, encoding=self._encoding).text
        with self._lock:
            self._kept[path] = state, text
            self._kept.move_to_end(path)
            size = sum(len(kept) for _, kept in self._kept.values())
            while size > _MAX_KEPT and len(self._kept) > 1:
                size -= len(self._kept.popitem(last=False)[1][1])
        return text


def ranges_around(places: Iterable[tuple[_Name, Sequence[Span]]], reach: float) -> list[tuple[_Name, Span]]:
    """Return the ranges of documents that reach so many characters beyond spans, each part of a document once.

    >>> ranges_around([("a", [Span(90, 100)]), ("b", [Span(5, 8)]), ("a", [Span(120, 150)])], 10)
    [('a', Span(start=80, end=160)), ('b', Span(start=0, end=18))]
    """
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
