"""Immutable records that the stages exchange, and the array conventions they share.

Four array shapes carry all the work between a text and its chunks:

``edges``   (n + 1,) int64, strictly increasing from 0 to ``len(text)``: character offsets of
            n units that tile the text. A unit owns the white space after it; indentation
            stays with its line.
``cuts``    (k + 1,) int64, strictly increasing from 0 to n: the *unit* indices where k
            segments meet. ``edges[cuts]`` are their characters.
``gaps``    (n - 1,) float: how strongly the text breaks between unit i and i + 1. Higher
            always means a likelier boundary.
``labels``  (n,) int64: units with equal labels belong together, wherever they stand.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from itertools import accumulate, pairwise
from typing import Any, Literal, NamedTuple, TypeAlias

import numpy as np
from numpy.typing import NDArray

from advchunk.errors import ConfigurationError, require

Ints: TypeAlias = NDArray[np.int64]
Floats: TypeAlias = NDArray[np.floating[Any]]

HARD_BREAK = 100
"""The strength of an edge that no chunk crosses, nor repeats text from beyond."""

BlockKind: TypeAlias = Literal[
    "heading", "paragraph", "item", "quote", "code", "table", "formula", "figure",
    "caption", "footnote", "reference", "furniture",
]  # fmt: skip


class Span(NamedTuple):
    """Half-open range ``[start, end)`` of character offsets into ``Document.text``."""

    start: int
    end: int


class Place(NamedTuple):
    """Where something stands on paper.

    Parameters
    ----------
    page : from 1.
    box : left, top, right, bottom in points, origin top left, if known.
    """

    page: int
    box: tuple[float, float, float, float] | None = None


@dataclass(frozen=True, slots=True)
class Block:
    """A piece of a document's layout: a heading, a paragraph, a table ...

    Parameters
    ----------
    kind : what it is (`BlockKind`); "furniture" is what pages repeat, such as running headers.
    span : where it stands in ``Document.text``.
    level : depth of a heading, 1 the highest; nesting of a list item, 1 the outermost; else 0.
    title : what a heading says without its markup; None for its text as it is.
    places : where it stands on paper, if known; several if it runs over columns or pages.
    """

    kind: BlockKind
    span: Span
    level: int = 0
    title: str | None = None
    places: tuple[Place, ...] = ()


@dataclass(frozen=True, slots=True, eq=False)
class Document:
    """A text, what is known of its layout, and the name its chunks' ids are made with.

    Parameters
    ----------
    text : what is chunked; every span indexes it.
    id : names the document; else ``metadata["source"]`` does.
    blocks : its layout, ascending and disjoint; () for a text without one, None to have it
        read as the chunker's ``markup`` says.
    metadata : JSON-able; ``title``, when given, is context for every chunk.
    markup : what the text was derived from, if a reader derived it: "tei", "html", "pages" ...
    offsets : (len(text) + 1,) non-decreasing, when ``text`` was derived from an original:
        the original offset of each character, and of the end.

    Raises
    ------
    ConfigurationError : blocks or offsets that do not fit the text.
    """

    text: str
    id: str = ""
    blocks: tuple[Block, ...] | None = None
    metadata: Mapping[str, Any] = field(default_factory=dict)
    offsets: Ints | None = None
    markup: str = ""

    def __post_init__(self) -> None:
        require(isinstance(self.text, str), "Document.text must be a str", type(self.text).__name__)
        require(isinstance(self.metadata, Mapping), "Document.metadata must be a mapping", self.metadata)
        rule = "Document.blocks must be Blocks"
        require(all(isinstance(block, Block) for block in self.blocks or ()), rule, self.blocks)
        last = 0
        for block in self.blocks or ():
            start, end = block.span
            require(last <= start < end <= len(self.text), "blocks must ascend, apart, inside the text", block)
            last = end
        if self.offsets is not None:
            right = len(self.offsets) == len(self.text) + 1 and not np.any(np.diff(self.offsets) < 0)
            require(right, "offsets must be len(text) + 1 numbers that never fall", self.offsets)

    @property
    def source(self) -> str:
        """The name that chunk ids are made with: the id, else ``metadata["source"]``, else nothing."""
        return self.id or str(self.metadata.get("source") or "")

    def source_spans(self, spans: Iterable[Span]) -> tuple[Span, ...]:
        """Return where ``spans`` of the text stand in the original; nothing without ``offsets``."""
        if self.offsets is None:
            return ()
        return tuple(Span(int(self.offsets[start]), int(self.offsets[end])) for start, end in spans)


@dataclass(frozen=True, slots=True, eq=False)
class Units:
    """A text and the tiling of it that an algorithm reasons about (usually sentences).

    Parameters
    ----------
    sizes : (n,) tokens of each unit, once `sizes.fit` has counted them.
    strength : (n + 1,) how good a place each edge is to end a chunk, if known: 0 within a sentence,
        1 between sentences, 2 between blocks, more before a heading; -1 between it and its text; from `HARD_BREAK` on, one
        that no chunk crosses.
    """

    text: str
    edges: Ints
    sizes: Ints | None = None
    strength: Ints | None = None

    def __post_init__(self) -> None:
        ends = self.edges[[0, -1]].tolist() if len(self.edges) else []
        right = ends == [0, len(self.text)] and not np.any(np.diff(self.edges) <= 0)
        require(right, f"edges must rise strictly from 0 to {len(self.text)}", self.edges)
        require(self.sizes is None or len(self.sizes) == len(self), f"sizes must be {len(self)} numbers", self.sizes)

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


@dataclass(frozen=True, slots=True)
class Chunk:
    """A piece of a document: always ``text == "".join(document.text[s:e] for s, e in spans)``.

    Parameters
    ----------
    spans : ascending; one for a contiguous chunk, several when distant passages are grouped.
    tokens : size of ``embed_text``, by the counter that kept it within ``max_tokens``.
    index : place among the chunks of its document, from 0.
    id : the same for the same source, level and text, wherever the text stands (see `ids`).
    context : titles, headings or a summary that is embedded with the text but is no part of it.
    level, parent : depth in a hierarchy, and the index of the chunk above; 0 and None if flat.
    metadata : what else the algorithm knows; JSON-able.
    source_spans : the spans in the original, if ``Document.offsets`` leads there; else empty.
    vector : (d,) its unit vector, if the chunker was asked for it (``vectors=``).
    rows, row_spans, row_texts : (m, d) a unit vector for each of its sentences, if asked for; where each of these stands,
        and what it says.
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

    @property
    def start(self) -> int:
        """First character offset; 0 for a chunk that is all context."""
        return self.spans[0].start if self.spans else 0

    @property
    def end(self) -> int:
        """Offset just past the last character; 0 for a chunk that is all context."""
        return self.spans[-1].end if self.spans else 0

    @property
    def passages(self) -> list[str]:
        """The text of each span."""
        ends = accumulate((end - start for start, end in self.spans), initial=0)
        return [self.text[a:b] for a, b in pairwise(ends)]

    def spans_in(self, text: str) -> tuple[Span, ...]:
        """Return where the chunk stands in a text: the document's, or the original it was derived from; nothing if it does not.

        >>> Chunk("ab", (Span(0, 2),), 1).spans_in("ab"), Chunk("ab", (Span(0, 2),), 1).spans_in("<p>ab</p>")
        ((Span(start=0, end=2),), ())
        """
        if self.source_spans:
            return self.source_spans
        verbatim = "".join(text[start:end] for start, end in self.spans) == self.text
        return self.spans if verbatim else ()

    @property
    def embed_text(self) -> str:
        """What should be embedded: the context, a blank line, the text."""
        return with_context(self.context, self.text)


def with_context(context: str, text: str) -> str:
    r"""Put a context before a text.

    >>> with_context("Guide > Install", "Run make.")
    'Guide > Install\n\nRun make.'
    """
    return f"{context}\n\n{text}" if context and text else context or text


def flat_spans(spans: Iterable[Span], shift: int = 0) -> str:
    """Write spans for stores whose metadata must be flat.

    >>> flat_spans([Span(0, 2), Span(7, 9)], shift=100)
    '100-102 107-109'
    """
    return " ".join(f"{start + shift}-{end + shift}" for start, end in spans)


def flat_places(metadata: Mapping[str, Any]) -> dict[str, Any]:
    """Write ``pages`` and ``boxes`` for such stores: each as text, a box as its page, a colon, and its edges.

    >>> flat_places({"page": 3, "pages": [3, 4], "boxes": [[3, 72.0, 90.5, 540.0, 700.0], [4, 72.0, 90.0, 540.0, 120.0]]})
    {'page': 3, 'pages': '3 4', 'boxes': '3:72,90.5,540,700 4:72,90,540,120'}
    """
    flat = dict(metadata)
    if isinstance(pages := flat.get("pages"), list):
        flat["pages"] = " ".join(map(str, pages))
    if isinstance(boxes := flat.get("boxes"), list):
        flat["boxes"] = " ".join(f"{page}:{','.join(f'{edge:.10g}' for edge in box)}" for page, *box in boxes)
    return flat


# What chunkers and adapters say of a chunk, and is not true of a piece of it; headings above it still are.
_OF_A_CHUNK = frozenset(
    [
        "token_count",
        "level",
        "chunk_index",
        "start_index",
        "end_index",
        "spans",
        "pages",
        "boxes",
        "parent_id",
        "oversize",
        "cut",
        "cut_score",
        "chunker",
        "fallback_from",
        "chunk_id",
        "summary",
        "summary_status",
        "rewritten",
        "rewritten_status",
        "original_text",
        "chunk_idx",
        "uuid",
        "tokens",
        "n_sentences",
        "word_count",
        "strategy",
        "context",
    ]
)


def inherited(metadata: Mapping[str, Any]) -> Mapping[str, Any]:
    """Return the metadata that the pieces of a document inherit, which may be a chunk itself.

    >>> inherited({"source": "s", "token_count": 9, "spans": "0-5 9-12"})
    {'source': 's'}
    """
    if "token_count" not in metadata:
        return metadata
    return {key: value for key, value in metadata.items() if key not in _OF_A_CHUNK}


@dataclass(frozen=True, slots=True, eq=False)
class Segmentation:
    """Where an algorithm cuts the units, or which it puts together, and why.

    Parameters
    ----------
    cuts : (k + 1,) see `records`.
    labels : (n,) if distant units with one label make one chunk; then ``cuts`` is where labels change.
    reason : in a word, why it cuts; or one word for each inner cut.
    gaps : (n - 1,) its score of every gap, if it has one; nan where it looked at none.
    rows : (n, d) unit rows, if it has any, by which a short piece joins the more similar neighbor.
    figures : whatever else it computed on the way: thresholds, weights, totals, by name. What is
        costly and seldom wanted is a function that computes it.
    """

    cuts: Ints
    labels: Ints | None = None
    reason: str | Sequence[str] = "score"
    gaps: Floats | None = None
    figures: Mapping[str, Any] = field(default_factory=dict)
    rows: Floats | None = None


class _Figures(Mapping[str, Any]):
    """Figures, of which the costly ones are computed when they are asked for."""

    def __init__(self, given: Mapping[str, Any]) -> None:
        self._given = given

    def __getitem__(self, name: str) -> Any:
        figure = self._given[name]
        return figure() if callable(figure) else figure

    def __iter__(self) -> Iterator[str]:
        return iter(self._given)

    def __len__(self) -> int:
        return len(self._given)

    def __repr__(self) -> str:
        return f"{{{', '.join(f'{name!r}: ...' if callable(it) else f'{name!r}: {it!r}' for name, it in self._given.items())}}}"


class Cut(NamedTuple):
    """A boundary between chunks.

    ``reason`` is the algorithm's, or "size" where only the token budget forced it; ``score``
    is the algorithm's for that gap, if it has one.
    """

    offset: int
    reason: str
    score: float | None


@dataclass(frozen=True, slots=True, eq=False)
class Explanation:
    """The chunks of a document, and how they came about.

    Parameters
    ----------
    chunks : what `Chunker.chunk` returns.
    units, segmentation : what the algorithm saw and decided; None if there was nothing to decide.
    """

    document: Document
    chunks: list[Chunk]
    units: Units | None = None
    segmentation: Segmentation | None = None

    @property
    def figures(self) -> Mapping[str, Any]:
        """Whatever the algorithm computed on the way, by name."""
        return _Figures(self.segmentation.figures if self.segmentation else {})

    @property
    def cuts(self) -> list[Cut]:
        """The boundaries between chunks, in reading order, each with its reason."""
        ends = {span.end for chunk in self.chunks for span in chunk.spans}
        return [self.cut_at(offset) for offset in sorted(ends - {len(self.document.text)})]

    def cut_at(self, offset: int) -> Cut:
        """Say why there is a boundary at ``offset``."""
        if self.units is None or self.segmentation is None:
            return Cut(offset, "size", None)
        found = self.segmentation
        unit = int(np.searchsorted(self.units.edges, offset))
        known = found.gaps is not None and 0 < unit <= len(found.gaps) and bool(np.isfinite(found.gaps[unit - 1]))
        score = float(found.gaps[unit - 1]) if found.gaps is not None and known else None
        place = int(np.searchsorted(found.cuts, unit))
        if unit >= len(self.units) or self.units.edges[unit] != offset or found.cuts[place] != unit:
            return Cut(offset, "size", score)
        return Cut(offset, found.reason if isinstance(found.reason, str) else found.reason[place - 1], score)
