"""The units of passages: the sentences, table rows and definitions of retrieved chunks, and of the texts around them."""

from __future__ import annotations

import re
from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass, replace
from functools import lru_cache, partial
from typing import NamedTuple, TypeAlias

import numpy as np

from advchunk import sizes
from advchunk.contexts import Contexts, with_own_levels
from advchunk.layout import Headings, fit_to_blocks, join_definitions, plain_levels, tile_prose
from advchunk.readers import formats
from advchunk.records import (
    Block,
    Chunk,
    Document,
    Floats,
    Ints,
    Span,
    Strength,
    Units,
    with_context,
    write_metadata,
    written_metadata,
)  # fmt: skip
from advchunk.retrieval.evidence import PAIR, Postings
from advchunk.sizes import Limits
from advchunk.text import tables
from advchunk.text.counters import Counter
from advchunk.text.sentences import sentences
from advchunk.text.terms import Vocabulary, Wording

_MAX_SENTENCE = 80  # tokens from which a sentence is split at clauses and words
_MAX_WHOLE = (300, 150, _MAX_SENTENCE)  # from which a table row, a code block or a definition is split
_SHARE = 0.3  # of a budget that one of these may take
_MAX_CONTEXT = 100  # tokens of headings and the head of a table
_MAX_GAP = (
    2  # characters between chunks of one run, such as the white space that splitters strip, which no passage crosses
)
# A piece of a table ends with its tag or environment, else at a blank line. Its head is written as a Markdown table.
_TABLE_END = re.compile(r"(?<=</table>)|(?<=</TABLE>)|(?<=\\end\{tabular\})|\n[ \t>]*\n|\Z")
_HEAD_LINE = re.compile(r"(?:\A|\n)\| ")
_PIECE = "piece"  # the title of a table whose head is in another chunk
_REMEMBERED = 4096  # texts
_MAX_TERMS = 2**20  # remembered


@dataclass(frozen=True, slots=True, eq=False)
class Reading:
    """A text in n units.

    Parameters
    ----------
    starts, ends, tokens, words : (n,) of each unit; words without stop words.
    terms : those of all units, in reading order.
    context : returns the headings above an offset, with the head of the table that it is in, and their tokens.
    path : returns the headings that an offset is under, outermost first.
    """

    text: str
    starts: Ints
    ends: Ints
    tokens: Ints
    words: Ints
    terms: Ints
    context: Callable[[int], tuple[str, int]]
    path: Callable[[int], tuple[str, ...]]

    def __len__(self) -> int:
        return len(self.starts)

    def part(self, first: int, last: int) -> Reading:
        """Return units ``first`` to ``last - 1``, at their offsets in the text."""
        if first == 0 and last == len(self):
            return self
        start, end = int(self.words[:first].sum()), int(self.words[:last].sum())
        return replace(
            self,
            starts=self.starts[first:last],
            ends=self.ends[first:last],
            tokens=self.tokens[first:last],
            words=self.words[first:last],
            terms=self.terms[start:end],
        )


class UnitReader:
    """Reads texts as units, and remembers the latest.

    Parameters
    ----------
    counter : counts tokens.
    language : of sentences, stems and stop words.
    """

    def __init__(self, counter: Counter, language: str = "en") -> None:
        self.counter, self.language = counter, language
        self.vocabulary = Vocabulary(Wording(language=language))
        self._remembered = lru_cache(_REMEMBERED)(self._read)

    @property
    def is_full(self) -> bool:
        """True if it knows so many words that a new one should take its place."""
        return len(self.vocabulary) > _MAX_TERMS

    def read(
        self,
        text: str,
        budget: int = 0,
        source: str = "",
        path: tuple[str, ...] = (),
        head: str = "",
        speakers: tuple[str, ...] = (),
    ) -> Reading:
        """Return the units of a text.

        Parameters
        ----------
        budget : tokens of the passages that are wanted, of which a table row or a block may take a third.
        source : the name of its file, whose suffix may say that it is source code.
        path : the headings that its start is under, or is itself.
        head : the head of the table that its start is in.
        speakers : of its turns, the one in whose turn it begins first, if they are known.
        """
        most = next((size for size in _MAX_WHOLE if size <= budget * _SHARE), _MAX_SENTENCE)
        return self._remembered(text, source, path, head, speakers, most)

    def _read(
        self, text: str, source: str, path: tuple[str, ...], head: str, speakers: tuple[str, ...], most: int
    ) -> Reading:
        metadata = write_metadata({}, {"speakers": [*speakers]} if speakers else {})
        document = _with_layout(Document(text, source, metadata=metadata))
        inside = _TABLE_END.search(text).start() if head else 0  # type: ignore[union-attr]  # it always matches
        # A turn is kept whole in chunks, but a passage may be a sentence of it.
        blocks = [replace(b, kind="paragraph", title=None) if b.kind == "turn" else b for b in document.blocks or ()]
        rest = [block for block in blocks if block.span.start >= inside]
        first_block = [Block("table", Span(0, inside), title=_PIECE)] if inside else []
        document = replace(document, blocks=(*first_block, *rest))
        first = Headings(text, document.blocks or ()).path(0)
        above = path[: len(path) - len(first)] if path[-len(first) :] == first else path
        document = replace(document, above=tuple(enumerate(above, 1)))
        headings = Headings(text, document.blocks or (), document.above)
        tiler = partial(sentences, language=self.language)
        limits = with_own_levels(Limits(most, 0, 0, self.counter, **plain_levels(document, tiler)), document)
        if document.markup == "code":
            document = join_definitions(document, limits)
        units = _keep_headings(fit_to_blocks(tile_prose(document, tiler), document))
        units = sizes.fit(units, replace(limits, max_tokens=_MAX_SENTENCE, atomic=limits.verbatim))
        units = sizes.fit(_divide_tables(units, document), limits)
        context: Callable[[int], tuple[str, int]] = Contexts(
            replace(document, blocks=tuple(rest)), replace(limits, max_tokens=2 * _MAX_CONTEXT)
        )
        if inside:
            context = partial(_context_inside, context, inside, head, self.counter)
        terms, edges, tokens = self.vocabulary.encode(units.strings()), units.edges, units.token_counts()
        return Reading(text, edges[:-1], edges[1:], tokens, np.diff(terms.edges), terms.ids, context, headings.path)


def _context_inside(
    context: Callable[[int], tuple[str, int]], inside: int, head: str, counter: Counter, offset: int
) -> tuple[str, int]:
    """Return the context of an offset, with the head of a table if it is before ``inside``, where that ends."""
    if offset >= inside:
        return context(offset)
    whole = with_context(context(offset)[0], head)
    return whole, counter(f"{whole}\n\n")


def _head_of(chunk: Chunk) -> str:
    """Return the head of the table that a chunk starts in, by its context."""
    head = chunk.context.rpartition("\n\n")[2]
    return head if _HEAD_LINE.search(head) else ""


def _with_layout(document: Document) -> Document:
    """Return a text with its layout, read by a format that does not change it."""
    markup = formats.detect_document_format(document)
    if markup != "code" and not hasattr(formats.find_reader(markup), "blocks"):
        markup = "markdown"
    return replace(formats.read(document, markup), markup=markup)


def _keep_headings(units: Units) -> Units:
    """Join a heading with the sentence below it, and a caption with what it is above; the lead-in of a table stays apart."""
    strength = np.where(units.strength == Strength.LEAD_IN, Strength.BLOCK, units.strength)
    kept = strength >= 0
    return Units(units.text, units.edges[kept], units.sizes if kept.all() else None, strength[kept])


def _divide_tables(units: Units, document: Document) -> Units:
    """Return units in which each row of a table is one, and its head is one with the first row."""
    ends = [
        offset
        for block in document.blocks or ()
        if block.kind == "table"
        for offset in (
            _row_edges(document.text[slice(*block.span)], headed=block.title == _PIECE) + block.span.start
        ).tolist()
    ]
    if not ends:
        return units
    edges = np.union1d(units.edges, ends)
    strength = np.full(len(edges), Strength.BLOCK)
    strength[np.searchsorted(edges, units.edges)] = units.strength
    return Units(units.text, edges, None, strength)


def _row_edges(table: str, headed: bool) -> Ints:
    """Return the edges between the rows of a table, after its head and first row, unless its head is elsewhere."""
    kind = tables.form(table)
    edges = tables.rows(table, kind).edges[1:-1]
    return edges if headed else edges[edges > tables.head(table, kind).end]


class Piece(NamedTuple):
    """A reading of a part of a document, and its offset there."""

    read: Reading
    offset: int


Run: TypeAlias = list[Piece]
"""Pieces of one text without a gap, or with gaps of at most two characters, which windows cross and passages do not."""


class UnitTable:
    """The units of retrieved texts, on which a question is scored.

    Parameters
    ----------
    runs : each with the number of its document, ascending.

    Attributes
    ----------
    starts, ends : (n,) of the units, in their document.
    documents, regions : (n,) ascending numbers of the document and of the run of each unit.
    tokens, words : (n,) of each unit.
    """

    def __init__(self, runs: Sequence[tuple[int, Run]]) -> None:
        pieces = [(number, region, piece) for region, (number, run) in enumerate(runs) for piece in run]
        self._pieces = [piece for _, _, piece in pieces]
        reads = [piece.read for piece in self._pieces]
        numbers, regions, offsets, counts = (
            np.array(
                [(number, region, piece.offset, len(piece.read)) for number, region, piece in pieces], dtype=np.int64
            )
            .reshape(-1, 4)
            .T
        )
        self._firsts = np.cumsum(counts) - counts  # the first unit of each piece
        self.documents, self.regions = np.repeat(numbers, counts), np.repeat(regions, counts)
        self.starts = _joined([read.starts for read in reads]) + np.repeat(offsets, counts)
        self.ends = _joined([read.ends for read in reads]) + np.repeat(offsets, counts)
        self.tokens, self.words = _joined([read.tokens for read in reads]), _joined([read.words for read in reads])
        self._terms = _joined([read.terms for read in reads])

    def __len__(self) -> int:
        return len(self.starts)

    @property
    def middles(self) -> Floats:
        """Tokens of the document before the middle of each unit, at the mean tokens per character."""
        density = int(self.tokens.sum()) / max(int((self.ends - self.starts).sum()), 1)
        middles: Floats = (self.starts + self.ends) * (density / 2)
        return middles

    def postings(self, question: Sequence[int]) -> Postings:
        """Return the places of the words of a question, and of pairs of words that follow each other in it."""
        asked = np.array(question, dtype=np.int64)
        terms, first, repeats = np.unique(asked, return_index=True, return_counts=True)
        places = np.flatnonzero(np.isin(self._terms, terms))
        words, units = self._terms[places], np.searchsorted(np.cumsum(self.words), places, "right")
        follows = np.flatnonzero((np.diff(places) == 1) & (np.diff(units) == 0))
        size = int(asked.max(initial=0)) + 1
        pairs, first_pair = np.unique(_pairs(asked, size), return_index=True)
        pairs_here = _pairs(words, size)[follows]
        is_asked = np.isin(pairs_here, pairs)
        # The order is that of the question, which does not depend on what has been read before.
        order = np.argsort(np.concatenate([first, len(asked) + first_pair]))
        codes = np.concatenate([words, pairs_here[is_asked]])
        ranks = np.argsort(order)[np.concatenate([terms, pairs]).searchsorted(codes)]
        by_rank = np.argsort(ranks, kind="stable")
        present, numbers = np.unique(ranks[by_rank], return_inverse=True)
        weights = np.concatenate([repeats, np.full(len(pairs), PAIR)])[order]
        return Postings(numbers, np.concatenate([units, units[follows[is_asked]]])[by_rank], weights[present])

    def overlapping(self, document: int, span: Span) -> slice:
        """Return the units of a document that overlap a span."""
        low, high = self.documents.searchsorted([document, document + 1]).tolist()
        first = low + int(self.ends[low:high].searchsorted(span.start, "right"))
        return slice(first, max(low + int(self.starts[low:high].searchsorted(span.end)), first))

    def context(self, unit: int) -> tuple[str, int]:
        """Return the headings above a unit and the head of the table that it is in, and their tokens."""
        piece, at = self._piece_of(unit)
        return piece.read.context(int(piece.read.starts[at]))

    def path(self, unit: int) -> tuple[str, ...]:
        """Return the headings that a unit is under."""
        piece, at = self._piece_of(unit)
        return piece.read.path(int(piece.read.starts[at]))

    def touch(self, unit: int) -> bool:
        """Return True if a unit starts where the one before ends, so that they may be in one passage."""
        return bool(self.regions[unit - 1] == self.regions[unit] and self.ends[unit - 1] == self.starts[unit])

    def text(self, start: int, end: int) -> tuple[str, Span]:
        """Return the text of units ``start`` to ``end``, which touch, without the white space at its end, and its span."""
        parts, unit = list[str](), start
        while unit < end:
            piece, first = self._piece_of(unit)
            last = min(first + end - unit, len(piece.read))
            parts.append(piece.read.text[int(piece.read.starts[first]) : int(piece.read.ends[last - 1])])
            unit += last - first
        text = "".join(parts).rstrip()
        return text, Span(int(self.starts[start]), int(self.starts[start]) + len(text))

    def _piece_of(self, unit: int) -> tuple[Piece, int]:
        """Return the piece that a unit is in, and the number of the unit in it."""
        number = int(self._firsts.searchsorted(unit, "right")) - 1
        return self._pieces[number], unit - int(self._firsts[number])


def _pairs(terms: Ints, size: int) -> Ints:
    """Return a number for each term with the next, of its own if all terms are less than ``size``."""
    pairs: Ints = size + terms[:-1] * size + terms[1:]
    return pairs


def _joined(arrays: Sequence[Ints]) -> Ints:
    return np.concatenate(arrays) if arrays else np.zeros(0, dtype=np.int64)


def runs_of_chunks(chunks: Sequence[Chunk], read: Callable[..., Reading]) -> list[Run]:
    """Return the text of chunks of one document, as far as they have it, in runs; text that several have is there once.

    Chunks that contradict each other where they overlap, as those of two versions of a text, are in runs of their own.

    Parameters
    ----------
    read : `UnitReader.read`, with what it must know of the document.
    """
    pieces = [(*span, text, chunk) for chunk in chunks for span, text in zip(chunk.spans, chunk.passages, strict=True)]
    pieces.sort(key=lambda piece: (piece[0], -piece[1]))
    runs, first, last, before = list[Run](), 0, -_MAX_GAP - 1, ""  # the span and the text of the last piece
    for start, end, text, chunk in pieces:
        overlap = max(last - start, 0)
        agrees = not overlap or before[start - first :][: len(text)] == text[:overlap]
        if agrees and end <= last:
            continue
        at = start + overlap if agrees else start
        head = _head_of(chunk) if at == chunk.start else ""
        speakers = _speakers(chunk, at > start)
        piece = Piece(read(text[at - start :], path=_title_path(chunk), head=head, speakers=speakers), at)
        if agrees and start - last <= _MAX_GAP:
            runs[-1].append(piece)
        else:
            runs.append([piece])
        first, last, before = start, end, text
    return runs


def runs_in_text(text: str, spans: Iterable[Span], around: float, read: Callable[..., Reading]) -> list[Run]:
    """Return the runs of a text that spans are in, with so many tokens on either side of each."""
    whole = read(text)
    before = np.concatenate([[0], np.cumsum(whole.tokens)])
    first, last = np.array(list(spans), dtype=np.int64).T
    first, last = whole.ends.searchsorted(first, "right"), whole.starts.searchsorted(last)
    steps = np.zeros(len(whole) + 1, dtype=np.int64)
    np.add.at(steps, before.searchsorted(before[first] - around), 1)
    np.add.at(steps, before.searchsorted(before[last] + around, "right") - 1, -1)
    changes = np.flatnonzero(np.diff(np.cumsum(steps) > 0, prepend=False)).reshape(-1, 2)
    return [[Piece(whole.part(a, b), 0)] for a, b in changes.tolist()]


def _speakers(chunk: Chunk, is_cut: bool) -> tuple[str, ...]:
    """Return the speakers in a chunk, by its metadata; if its start is cut off, only one that speaks alone."""
    speakers = written_metadata(chunk.metadata).get("speakers") or []
    return tuple(speakers) if isinstance(speakers, list) and (len(speakers) == 1 or not is_cut) else ()


def _title_path(chunk: Chunk) -> tuple[str, ...]:
    """Return the headings that the start of a chunk is under, by its metadata."""
    path = chunk.metadata.get("title_path")
    return tuple(path.split(" > ")) if isinstance(path, str) and path else ()
