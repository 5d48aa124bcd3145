"""Immutable records that the stages exchange, and the array conventions they share.

Four arrays carry the work between a text and its chunks:

``edges``   (n + 1,) int64, strictly increasing from 0 to ``len(text)``: character offsets of
            n units that tile the text. A unit owns the white space after it; indentation
            stays with its line.
``cuts``    (k + 1,) int64, strictly increasing from 0 to n: the *unit* indices where k
            segments meet. ``edges[cuts]`` are their characters.
``gaps``    (n - 1,) float: how strongly the text breaks between unit i and i + 1. Higher
            always means a likelier boundary.
``labels``  (n,) int64: units with equal labels belong together, wherever they are.

A key of ours that the metadata of the user has, too, gets the prefix ``advchunk_``; `written_metadata` reads our values
by their names, and `write_metadata` writes them.
"""

from __future__ import annotations

import copy
import re
from bisect import bisect_left, bisect_right
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field, fields, replace
from functools import cache
from itertools import accumulate, pairwise
from operator import attrgetter
from typing import Any, Final, Literal, NamedTuple, TypeAlias, TypeVar

import numpy as np
from numpy.typing import NDArray

from advchunk.errors import ConfigurationError, check_fields, require

Ints: TypeAlias = NDArray[np.int64]
Floats: TypeAlias = NDArray[np.floating[Any]]

Origin: TypeAlias = Literal["algorithm", "first", "size", "structure"]
"""The origin of a cut: the algorithm; the algorithm, at the first place that its minimum size allows ("first"); the
limits, because the chunk is full ("size"); or the structure, which no chunk crosses: sections, headings and the user's
boundaries."""

STRUCTURE: Final = frozenset({"section", "boundary", "heading", "sentence"})
"""Reasons of cuts that are the structure's."""
FORCED: Final = frozenset({"size", "forced"})
"""Reasons of cuts by the limits, or by an algorithm's own maximum."""

WRITTEN_KEYS: Final = "advchunk_keys"
"""The metadata key of the space-separated list of the keys that advchunk wrote, so that a chunk that is split again
does not pass them on. The list is text, for stores whose metadata must be flat."""

_PREFIX: Final = "advchunk_"  # of a key that the user's metadata has, too
# `check_fields` is slow, and most values are of the very types that are meant, or None.
_STRINGS, _NUMBERS, _TUPLES, _MAPPINGS = ((kind, type(None)) for kind in (str, int, tuple, dict))
_PLAIN: Final = frozenset({str, int, float, bool, type(None)})  # need no copy
_LEVELS: Final = 200  # in which metadata is nested
_BITS: Final = 13_280  # of a whole number of 4,000 digits; Python writes and reads at most 4,300


class Strength:
    """Strength of the edge between two units: the higher, the better a place to end a chunk.

    Edges before headings have `HEADING` for the lowest level (6 and more), up to `HEADING` + 5 for level 1. These are
    plain numbers, because numpy converts the members of an enumeration slowly.
    """

    KEEP_WITH_NEXT: Final = -2
    """Between a heading and its text, a caption and its table, or the lead-in of a list and its first item."""
    LEAD_IN: Final = -1
    """Between a table and the prose above it."""
    WITHIN_SENTENCE: Final = 0
    SENTENCE: Final = 1
    LINE: Final = 2
    """The end of a line inside a block, if lines end where sentences do."""
    ITEM: Final = 3
    """Between items of a list, and before a block that continues what is above, such as one that begins with a
    pronoun."""
    BLOCK: Final = 4
    PAGE: Final = 5
    """Between blocks, and pages."""
    HEADING: Final = 6
    HARD_BREAK: Final = 100
    """No chunk crosses it or repeats text from before it."""


BlockKind: TypeAlias = Literal[
    "heading", "paragraph", "item", "quote", "code", "table", "formula", "figure",
    "caption", "footnote", "reference", "furniture", "turn",
]  # fmt: skip


class Span(NamedTuple):
    """Half-open range ``[start, end)`` of character offsets into ``Document.text``."""

    start: int
    end: int


class Place(NamedTuple):
    """A place on a page.

    Parameters
    ----------
    page : page number, from 1.
    box : left, top, right and bottom in points from the top left corner, or None.
    """

    page: int
    box: tuple[float, float, float, float] | None = None


@dataclass(frozen=True, slots=True)
class Block:
    """A piece of a document's layout: a heading, a paragraph, a table ...

    Parameters
    ----------
    kind : a `BlockKind`; "furniture" is repeated on pages, such as running headers; a "turn" is what one speaker says.
    span : its span in ``Document.text``.
    level : depth of a heading or a definition in source code, 1 the highest; nesting of a list item, 1 the outermost;
        else 0.
    title : the text of a heading without markup; None if that is the text of the block. The speaker of a turn. The
        summary of a quote that is kept whole, "" for a table of contents. In source code the name of a definition, ""
        for other statements, None for a block that continues the one before; in data the path of a record or caption.
    places : its places on pages; several if it continues in another column or page.
    metadata : metadata of the chunks that have text of it, JSON-able (see `building.layout.Locator`): ``speakers``,
        ``start_time``, ``clause`` ...
    parts : ascending pieces that cover it and have places or metadata of their own, such as cues and pages.
    """

    kind: BlockKind
    span: Span
    level: int = 0
    title: str | None = None
    places: tuple[Place, ...] = ()
    metadata: Mapping[str, Any] | None = None
    parts: tuple[Block, ...] = field(default=(), repr=False)

    def cut(self, span: Span, **changes: Any) -> Block:
        """Return the piece of the block in a span, with changes."""
        first = bisect_right(self.parts, span.start, key=lambda part: part.span.end)
        last = bisect_left(self.parts, span.end, first, key=lambda part: part.span.start)
        return replace(self, span=span, parts=self.parts[first:last], **changes)

    def moved(self, by: int) -> Block:
        """Return the block at another place of a text."""
        span = Span(self.span.start + by, self.span.end + by)
        return replace(self, span=span, parts=tuple(part.moved(by) for part in self.parts))


@dataclass(frozen=True, slots=True, eq=False)
class Document:
    """A text with its layout and metadata, and the name from which ids of its chunks are made.

    Parameters
    ----------
    text : the text to chunk; every span indexes it.
    id : name of the document; by default ``metadata["source"]``.
    blocks : its layout, ascending and disjoint; () for a text without layout, None to let the chunker read the layout
        according to its ``markup``.
    metadata : JSON-able; ``title`` is context for every chunk.
    markup : the format from which a reader derived the text: "tei", "html", "pages" ...
    offsets : (len(text) + 1,) non-decreasing offsets of each character, and of the end, in the original of ``text``.
    above : level and title of each heading that the text is under, outermost first, if it is a part of a document.
    outline : number of numbered units in the blocks, by kind (`readers.outline`): articles, paragraphs "(1)" ...

    Raises
    ------
    ConfigurationError : blocks or offsets do not fit the text.
    """

    text: str
    id: str = ""
    blocks: tuple[Block, ...] | None = None
    metadata: Mapping[str, Any] = field(default_factory=dict)
    offsets: Ints | None = None
    markup: str = ""
    above: tuple[tuple[int, str], ...] = ()
    outline: Mapping[str, int] = field(default_factory=dict)

    def __post_init__(self) -> None:
        is_plain = type(self.text) is type(self.id) is type(self.markup) is str and type(self.metadata) is dict
        is_plain = is_plain and type(self.above) is tuple and not self.above and type(self.blocks) in _TUPLES
        if not (is_plain and (self.offsets is None or type(self.offsets) is np.ndarray)):
            check_fields(self)
        if self.metadata:
            check_metadata(self.metadata)
        last, length = 0, len(self.text)
        for block in self.blocks or ():
            is_plain = type(block) is Block and type(block.span) is Span and type(block.level) is int
            is_plain = is_plain and type(block.places) is tuple and type(block.parts) is tuple
            if not (is_plain and type(block.title) in _STRINGS and type(block.metadata) in _MAPPINGS):
                require(isinstance(block, Block), "blocks must be Blocks", block)
                check_fields(block)
            start, end = block.span
            if not last <= start < end <= length:
                require(False, "blocks must be ascending, disjoint, inside the text", block)
            last = end
        if self.offsets is not None:
            valid = self.offsets.shape == (len(self.text) + 1,) and not np.any(np.diff(self.offsets) < 0)
            require(valid, "offsets must be len(text) + 1 non-decreasing numbers", self.offsets)

    @property
    def source(self) -> str:
        """The name from which chunk ids are made: the id, else ``metadata["source"]``, else ""."""
        return self.id or str(self.metadata.get("source") or "")

    @property
    def text_start(self) -> int:
        """Offset of the first character that is not white space; the first unit owns the white space before it."""
        return len(self.text) - len(self.text.lstrip())

    def source_spans(self, spans: Iterable[Span]) -> tuple[Span, ...]:
        """Map ``spans`` of the text to spans of the original; () without ``offsets``."""
        if self.offsets is None:
            return ()
        return tuple(Span(int(self.offsets[start]), int(self.offsets[end])) for start, end in spans)


class SpanSet:
    """Ascending, disjoint spans that are searched by offset."""

    def __init__(self, spans: Iterable[Span] = ()) -> None:
        self.spans = tuple(spans)
        self._starts = [start for start, _ in self.spans]

    def __contains__(self, offset: int) -> bool:
        place = bisect_right(self._starts, offset) - 1
        return place >= 0 and offset < self.spans[place].end


@dataclass(frozen=True, slots=True, eq=False)
class Units:
    """A text and the tiling of it that an algorithm works on (usually sentences).

    Parameters
    ----------
    sizes : (n,) tokens of each unit, once they are counted.
    strength : (n + 1,) `Strength` of each edge; by default all edges are alike.
    """

    text: str
    edges: Ints
    sizes: Ints | None = None
    strength: Ints = field(default=None)  # type: ignore[arg-type]  # filled in below

    def __post_init__(self) -> None:
        edges, n = self.edges, len(self.edges) - 1
        ends_fit = n >= 0 and edges[0] == 0 and edges[-1] == len(self.text)
        if not (ends_fit and np.logical_and.reduce(edges[1:] > edges[:-1])):
            require(False, f"edges must be strictly increasing from 0 to {len(self.text)}", edges)
        if self.strength is None:
            object.__setattr__(self, "strength", np.array([Strength.SENTENCE] * (n + 1)))
        elif len(self.strength) != n + 1:
            require(False, "strength must have a number for each edge", self.strength)
        if self.sizes is not None and len(self.sizes) != n:
            require(False, "sizes must have a number for each unit", self.sizes)

    def __len__(self) -> int:
        return len(self.edges) - 1

    def strings(self) -> list[str]:
        """Return the n unit texts; joined, they are the source text."""
        text = self.text
        return [text[a:b] for a, b in pairwise(self.edges.tolist())]

    def token_counts(self) -> Ints:
        """Return ``sizes``; raise if they have not been counted."""
        if self.sizes is None:
            msg = "these units have no sizes: count them with sizes.fit first"
            raise ConfigurationError(msg)
        return self.sizes

    def hard_breaks(self) -> Ints:
        """Return the edges that no chunk crosses, including the first edge."""
        is_break = self.strength >= Strength.HARD_BREAK
        is_break[0] = True
        return np.flatnonzero(is_break)

    def part(self, start: int, end: int) -> Units:
        """Return units ``start`` to ``end`` as units of their own text."""
        edges, sizes = self.edges[start : end + 1], None if self.sizes is None else self.sizes[start:end]
        return Units(self.text[edges[0] : edges[-1]], edges - edges[0], sizes, self.strength[start : end + 1])


@dataclass(frozen=True, slots=True)
class Chunk:
    """A piece of a document: always ``text == "".join(document.text[s:e] for s, e in spans)``.

    Parameters
    ----------
    spans : ascending; one for a contiguous chunk, several if distant passages are grouped.
    tokens : size of ``embed_text``, by the counter that kept it within ``max_tokens``.
    index : position among the chunks of its document, from 0.
    id : the same for the same source, level and text to embed, wherever the text is (see `engine.runner.IdGenerator`).
    context : titles, headings or a summary, embedded with the text but not part of it.
    level, parent : depth in a hierarchy, and the index of the parent chunk; 0 and None if flat.
    metadata : what the document, its layout and the algorithm say; JSON-able. ``advchunk_keys`` lists the keys that are
        not the document's; one that the document has too is preceded by ``advchunk_``.
    source_spans : the spans in the original, if the document has ``offsets``; else empty.
    vector : (d,) unit vector, if the chunker has ``vectors=``.
    rows, row_spans, row_texts : (m, d) unit vectors, spans, and texts of its m sentences, if ``vectors="units"``;
        an index keeps the vectors beside the chunk.
    """

    text: str
    spans: tuple[Span, ...]
    tokens: int
    index: int = 0
    id: str = ""
    context: str = ""
    level: int = 0
    parent: int | None = None
    metadata: dict[str, Any] = field(default_factory=dict)
    source_spans: tuple[Span, ...] = ()
    vector: Floats | None = field(default=None, compare=False, repr=False)
    rows: Floats | None = field(default=None, compare=False, repr=False)
    row_spans: tuple[Span, ...] = field(default=(), compare=False, repr=False)
    row_texts: tuple[str, ...] = field(default=(), compare=False, repr=False)

    def __reduce__(self) -> tuple[Any, ...]:
        # A third of the time that the method of dataclasses takes.
        kind: Any = type(self)  # mypy takes a class for not hashable
        return kind, _values_of(kind)(self)

    @property
    def start(self) -> int:
        """Offset of the first character; 0 for a chunk of context alone."""
        return self.spans[0].start if self.spans else 0

    @property
    def end(self) -> int:
        """Offset just past the last character; 0 for a chunk of context alone."""
        return self.spans[-1].end if self.spans else 0

    @property
    def middle(self) -> float:
        """Mean offset of the characters; 0 for a chunk of context alone."""
        if len(self.spans) == 1:
            return sum(self.spans[0]) / 2
        total = sum((start + end) / 2 * (end - start) for start, end in self.spans)
        return total / max(sum(end - start for start, end in self.spans), 1)

    @property
    def passages(self) -> list[str]:
        """The text of each span."""
        if len(self.spans) == 1:  # most often
            return [self.text[: self.spans[0].end - self.spans[0].start]]
        ends = accumulate((end - start for start, end in self.spans), initial=0)
        return [self.text[a:b] for a, b in pairwise(ends)]

    def spans_in(self, text: str) -> tuple[Span, ...]:
        """Return the spans of the chunk in a text, either the document's or its original; none if they do not match."""
        verbatim = "".join([text[start:end] for start, end in self.spans]) == self.text
        return self.spans if verbatim else self.source_spans

    @property
    def embed_text(self) -> str:
        """The text to embed: the context, a blank line, the text."""
        return with_context(self.context, self.text) if self.context else self.text


def check_chunk(chunk: Chunk) -> None:
    """Raise `ConfigurationError` for a chunk with a value of a wrong type."""
    is_plain = type(chunk.text) is type(chunk.id) is type(chunk.context) is str and type(chunk.metadata) is dict
    is_plain = is_plain and type(chunk.tokens) is type(chunk.index) is type(chunk.level) is int
    is_plain = is_plain and chunk.tokens < 2**63
    is_plain = is_plain and type(chunk.source_spans) is type(chunk.spans) is type(chunk.row_spans) is tuple
    is_plain = is_plain and type(chunk.parent) in _NUMBERS
    if not (is_plain and all(type(span) is Span for span in (*chunk.spans, *chunk.row_spans))):
        check_fields(chunk)


@cache
def _values_of(kind: type[Any]) -> Callable[[Any], tuple[Any, ...]]:
    """Return a function that returns the values of the fields of a record."""
    return attrgetter(*[field.name for field in fields(kind)])


_Record = TypeVar("_Record", Chunk, Units)
_SETTERS = {kind: [getattr(kind, field.name).__set__ for field in fields(kind)] for kind in (Chunk, Units)}


def evolve(record: _Record, **values: Any) -> _Record:
    """Return a copy of a record with other values, as `dataclasses.replace` does, but faster and without checks."""
    kind: Any = type(record)
    if kind not in _SETTERS:
        return replace(record, **values)
    copied: _Record = object.__new__(kind)
    for put, value in zip(_SETTERS[kind], _values_of(kind)(record), strict=True):
        put(copied, value)
    for name, value in values.items():
        object.__setattr__(copied, name, value)
    return copied


def with_context(context: str, text: str) -> str:
    r"""Prepend a context to a text.

    >>> with_context("Guide > Install", "Run make.")
    'Guide > Install\n\nRun make.'
    """
    return f"{context}\n\n{text}" if context and text else context or text


def written_keys(metadata: Mapping[str, Any]) -> dict[str, str]:
    """Return the keys that advchunk wrote, by their names without prefix."""
    return _written(metadata)[1]


def written_metadata(metadata: Mapping[str, Any]) -> dict[str, Any]:
    """Return the metadata that advchunk wrote, by its names without prefix.

    >>> written_metadata({"level": "A1", "advchunk_level": 0, "advchunk_keys": "advchunk_level"})
    {'level': 0}
    """
    return {name: metadata[key] for name, key in _written(metadata)[1].items()}


def write_metadata(metadata: Mapping[str, Any], values: Mapping[str, Any]) -> dict[str, Any]:
    """Return a deep copy of metadata with values of ours, which replace our own but none of the user's.

    >>> write_metadata({"level": "A1"}, {"level": 0, "token_count": 9})
    {'level': 'A1', 'advchunk_level': 0, 'token_count': 9, 'advchunk_keys': 'advchunk_level token_count'}
    """
    return MetadataWriter(metadata).write(values)


class MetadataWriter:
    """Writes values of ours into copies of the same metadata, read once; ``keys`` are ours in them."""

    def __init__(self, metadata: Mapping[str, Any]) -> None:
        self._metadata, (self._at, self.keys) = metadata, _written(metadata) if metadata else (WRITTEN_KEYS, {})

    def write(self, values: Mapping[str, Any]) -> dict[str, Any]:
        """Return a deep copy of the metadata with values, which replace ours of the same names."""
        keys, metadata, result = self.keys.copy(), self._metadata, dict[str, Any]()
        for key, value in metadata.items():
            result[key] = value if type(value) in _PLAIN else _copy(value)
        for name, value in values.items():
            if name not in keys:
                _check_key(key := name)
                while key in metadata:
                    key = _PREFIX + key
                keys[name] = key
            result[keys[name]] = value if type(value) in _PLAIN else _copy(value)
        result.pop(self._at, None)
        if keys:
            result[self._at] = " ".join(keys.values())
        return result


@cache
def _check_key(name: str) -> None:
    rule = "metadata keys of chunks must be strings without white space"
    require(isinstance(name, str) and name.split() == [name], rule, name)


def remove_written(metadata: Mapping[str, Any], names: Iterable[str]) -> dict[str, Any]:
    """Return metadata without those of our values that have these names.

    >>> remove_written({"source": "s", "level": 0, "section": "Tea", "advchunk_keys": "level section"}, ["level", "source"])
    {'source': 's', 'section': 'Tea', 'advchunk_keys': 'section'}
    """  # noqa: E501
    at, keys = _written(metadata)
    removed = {at, *(keys.pop(name) for name in names if name in keys)}
    kept = {key: value for key, value in metadata.items() if key not in removed}
    return kept | ({at: " ".join(keys.values())} if keys else {})


def _written(metadata: Mapping[str, Any]) -> tuple[str, dict[str, str]]:
    """Return the key of the list of our keys, and these by name; a list without our keys is the user's."""
    at = WRITTEN_KEYS
    while _PREFIX + at in metadata:
        at = _PREFIX + at
    if at not in metadata:
        return at, {}
    keys = dict[str, str]()
    for key in str(metadata[at]).split():
        if key in metadata:
            keys[re.sub(f"^(?:{_PREFIX})+", "", key) if key.startswith(_PREFIX) else key] = key
    return (at, keys) if keys else (_PREFIX + at, {})


def _copy(value: Any) -> Any:
    """Copy a value deeply; much faster than `copy.deepcopy` if it is JSON."""
    if isinstance(value, (str, int, float, type(None))):
        return value
    if type(value) is dict or isinstance(value, Mapping):  # most often the first, which is faster
        return {key: item if type(item) in _PLAIN else _copy(item) for key, item in value.items()}
    return [_copy(item) for item in value] if type(value) is list else copy.deepcopy(value)


@dataclass(frozen=True, slots=True, eq=False)
class Segmentation:
    """The decision of an algorithm: where it cuts the units, or how it groups them, and why.

    Parameters
    ----------
    cuts : (k + 1,) unit indices; see the module docstring.
    labels : (n,) labels, if distant units with the same label form one chunk; ``cuts`` are then edges of their runs.
    reason : one word for why it cuts, or one word for each inner cut.
    gaps : (n - 1,) scores, nan where a gap has none.
    threshold : score of a gap above which the algorithm cuts; None if it has no such score.
    figures : intermediate results by name: thresholds, weights, totals. A costly one may be a function.
    rows : (n, d) unit rows, used to join a short piece to the more similar neighbor.
    origins : the `Origin` of each inner cut, or one for all; None if it follows from sizes and reasons
        (`with_origins`).
    least : (n,) sizes of the units, and the size that a segment must have for the algorithm to end it, in a unit of its
        own; None for ``min_tokens``.
    unknown : (n,) True for units of which the algorithm knows nothing; None for those whose row is 0.
    """

    cuts: Ints
    labels: Ints | None = None
    reason: str | Sequence[str] = "score"
    gaps: Floats | None = None
    threshold: float | None = None
    figures: Mapping[str, Any] = field(default_factory=dict)
    rows: Floats | None = None
    origins: Origin | Sequence[Origin] | None = None
    least: tuple[Ints, int] | None = None
    unknown: NDArray[np.bool_] | None = None

    @property
    def reasons(self) -> list[str]:
        """The reason of each inner cut."""
        reason = self.reason
        return [reason] * (len(self.cuts) - 2) if isinstance(reason, str) else list(reason)

    @property
    def blank(self) -> NDArray[np.bool_] | None:
        """``unknown``, or True for units whose row is 0; None if that is not known."""
        if self.unknown is not None or self.rows is None:
            return self.unknown
        return np.asarray(~self.rows.any(axis=1))

    def with_origins(self, units: Units, least: int) -> Segmentation:
        """Return the segmentation with the origin of each inner cut, before the layout moves any.

        A cut stands at the first place allowed if one unit before, its segment would be below the minimum, which is
        ``least`` tokens unless the algorithm has its own.
        """
        if isinstance(self.origins, str):
            return replace(self, origins=[self.origins] * (len(self.cuts) - 2))
        if self.origins is not None:
            return self
        sizes, least = self.least or (units.token_counts(), least)
        before = np.r_[0, np.cumsum(sizes)]
        is_first = before[self.cuts[1:-1] - 1] - before[self.cuts[:-2]] < least
        origins = [origin_of(reason, first) for reason, first in zip(self.reasons, is_first.tolist(), strict=True)]
        return replace(self, origins=origins)

    def keep(self, places: Ints, **values: Any) -> Segmentation:
        """Return a segmentation with only these of its cuts, given by their places in ``cuts``, the ends included."""
        inner = [place - 1 for place in places[1:-1].tolist()]
        reason, origins = self.reason, self.origins
        values.setdefault("cuts", self.cuts[places])
        values.setdefault("reason", reason if isinstance(reason, str) else [reason[i] for i in inner])
        if not (origins is None or isinstance(origins, str)):
            origins = [origins[place] for place in inner]
        return replace(self, origins=origins, **values)


def origin_of(reason: str, first: bool) -> Origin:
    """Return the origin of a cut with a reason, which may stand at the first place allowed."""
    if reason in STRUCTURE:
        return "structure"
    return "size" if reason in FORCED else "first" if first else "algorithm"


class Figures(Mapping[str, Any]):
    """Figures by name; costly ones are computed on access."""

    def __init__(self, figures: Mapping[str, Any]) -> None:
        self._figures = figures

    def __getitem__(self, name: str) -> Any:
        figure = self._figures[name]
        return figure() if callable(figure) else figure

    def __iter__(self) -> Iterator[str]:
        return iter(self._figures)

    def __len__(self) -> int:
        return len(self._figures)

    def __repr__(self) -> str:
        items = (f"{name!r}: {'...' if callable(value) else repr(value)}" for name, value in self._figures.items())
        return f"{{{', '.join(items)}}}"


_NOT_KEPT = {"vector", "rows", "row_texts"}


def check_metadata(value: Any, levels: int = _LEVELS) -> None:
    """Raise `ConfigurationError` for metadata that is too deep to be copied, or has a number too long to be written."""
    if isinstance(value, int):
        require(value.bit_length() <= _BITS, "whole numbers of metadata must have at most 4,000 digits", "more")
    elif isinstance(value, (Mapping, list, tuple)):
        require(levels > 0, f"metadata must be nested at most {_LEVELS} levels deep", "more")
        for item in value.values() if isinstance(value, Mapping) else value:
            check_metadata(item, levels - 1)


def chunk_to_dict(chunk: Chunk) -> dict[str, Any]:
    """Return the fields of a chunk without its vectors; raise `ConfigurationError` if JSON would change them."""
    check_metadata(chunk.metadata)
    _check_json(chunk.metadata)
    return {field.name: getattr(chunk, field.name) for field in fields(chunk) if field.name not in _NOT_KEPT}


def chunk_from_dict(values: dict[str, Any]) -> Chunk:
    """Return the chunk of `chunk_to_dict`, also if it was JSON."""
    names = "spans", "source_spans", "row_spans"
    spans = {name: tuple(Span(*span) for span in values.get(name, ())) for name in names}
    return Chunk(**{**values, **spans})


def _check_json(value: Any) -> None:
    """Raise `ConfigurationError` for a value that comes out of JSON as another one, or not at all."""
    if isinstance(value, dict):
        wrong = next((key for key in value if not isinstance(key, str)), None)
        require(wrong is None, "metadata must be JSON to be saved: its keys must be strings", wrong)
    if isinstance(value, (dict, list)):
        for item in value.values() if isinstance(value, dict) else value:
            _check_json(item)
    else:
        is_plain = value is None or type(value) in (str, int, float, bool)
        require(is_plain, "metadata must be JSON to be saved: strings, numbers, lists, mappings and None", value)
