"""Units of passages: sentences, table rows, records, and definitions of retrieved chunks and texts around them."""

from __future__ import annotations

import re
from collections import defaultdict
from collections.abc import Callable, Hashable, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from functools import cached_property, partial
from itertools import count, pairwise
from sys import getsizeof
from typing import Any, NamedTuple, Self, TypeAlias

import numpy as np
from numpy.typing import NDArray

from advchunk.building import sizes
from advchunk.building.contexts import Contexts, with_own_levels
from advchunk.building.layout import (
    Headings,
    fit_to_blocks,
    join_definitions,
    plain_levels,
    tile_prose,
    with_stated_headings,
)
from advchunk.building.sizes import Limits
from advchunk.readers import formats
from advchunk.records import (
    Block,
    Chunk,
    Document,
    Floats,
    Ints,
    Span,
    SpanSet,
    Strength,
    Units,
    with_context,
    write_metadata,
    written_metadata,
)  # fmt: skip
from advchunk.retrieval.evidence import LACKING, PAIR, PIECE, Postings
from advchunk.retrieval.lexical_index import rarity
from advchunk.text import tables
from advchunk.text.counters import Counter, count_units
from advchunk.text.search_terms import SearchVocabulary, WordTerms, query_words, split_words, word_terms
from advchunk.text.sentences import sentences
from advchunk.text.tiling import leading_space

_MAX_SENTENCE = 80  # tokens from which a sentence is split at clauses and words
_MAX_WHOLE = 300  # from which a block is split
_SHARE = 0.3  # of a budget that a block may take whole
_MAX_CONTEXT = 100  # tokens of headings and the head of a table
_MAX_HEAD = 2000  # characters of the head of a table whose words each row has: those of a longer one are read once
_MAX_GAP = 2  # characters between chunks of one run, such as white space that splitters strip; no passage crosses it
# A piece of a table ends with its tag or environment, else at a blank line. Its head is written as a Markdown table.
_TABLE_END = re.compile(r"(?<=</table>)|(?<=</TABLE>)|(?<=\\end\{tabular\})|\n[ \t>]*\n|\Z")
_PIPES = re.compile(r"(?:\|[^\n]*\|[ \t]*\n?)+")
_HEAD_LINE = re.compile(r"(?:\A|\n)\| ")
_PIECE = "piece"  # the title of a table whose head is in another chunk
_REMEMBERED = 2**26  # bytes of texts and their units
_TOKENS, _WORDS, _WHOLES = 2, 3, 6  # rows of `Reading.columns`
_LAYOUT_BYTES = 4096  # of a reading beside its text and its arrays
_MAX_WORDS = 2**18  # remembered


@dataclass(frozen=True, slots=True, eq=False)
class Reading:
    """A text in n units, which tile it: ``edges`` (n + 1,).

    ``columns`` (7, n) are the start and the end of each unit, its tokens, its words, its own words, 1 for a row of a
    table or a record, and its whole. The words of a table's row include those of its head; its own words do not, nor
    stop words. The whole is the number of the first unit of the block, row, or record that a unit is in, of a sentence
    its own. ``numbers`` are those of the words of all units, in reading order (`SearchVocabulary`). ``context`` returns
    the headings above an offset, with the head of the table that it is in, and their tokens; ``path`` the headings that
    an offset is under, outermost first.
    """

    text: str
    edges: Ints
    columns: Ints
    numbers: Ints
    context: Callable[[int], tuple[str, int]]
    path: Callable[[int], tuple[str, ...]]

    def __len__(self) -> int:
        return len(self.edges) - 1

    def part(self, first: int, last: int) -> Reading:
        """Return units ``first`` to ``last - 1``, at their offsets in the text."""
        if first == 0 and last == len(self):
            return self
        start, end = np.concatenate([[0], np.cumsum(self.columns[_WORDS])])[[first, last]].tolist()
        columns = self.columns[:, first:last].copy()
        columns[_WHOLES] -= first
        return replace(self, edges=self.edges[first : last + 1], columns=columns, numbers=self.numbers[start:end])


class Excerpt(NamedTuple):
    """A text to be read, and what its document says of it.

    ``source`` is a file name, whose suffix may tell the format; ``path`` the headings that the start is under, or is
    itself; ``head`` that of the table at the start; ``speakers`` those of the turns, the one in whose turn it begins
    first, if known; ``record`` the path of the record that it begins in, "" for the root, None if it is no text of
    records; ``headings`` the offset of each heading in it that the text does not show, with the path there; ``offset``
    that of the text in its document: the units depend only on whether it is 0.
    """

    text: str
    source: str = ""
    path: tuple[str, ...] = ()
    head: str = ""
    speakers: tuple[str, ...] = ()
    record: str | None = None
    offset: int = 0
    headings: tuple[tuple[int, tuple[str, ...]], ...] = ()

    @classmethod
    def of(cls, chunk: Chunk, text: str, span: Span, start: int, source: str) -> Self:
        """Return a text of a span of a chunk from ``start`` on; of what the chunk says, that which holds there."""
        written = written_metadata(chunk.metadata)
        record, speakers = written.get("json_path"), written.get("speakers")
        above, headings = headings_of(chunk, start, written)
        speakers = speakers if isinstance(speakers, list) else []
        head = chunk.context.rpartition("\n\n")[2] if start == chunk.start else ""
        return cls(
            text[start - span.start :],
            source,
            above,
            head if _HEAD_LINE.search(head) else "",
            tuple(speakers) if start == span.start or len(speakers) == 1 else (),
            None if not isinstance(record, str) else record if start == chunk.start else "",
            start,
            tuple((at - start, path) for at, path in headings if at < span.end),
        )


def headings_of(
    chunk: Chunk, offset: int, written: Mapping[str, Any]
) -> tuple[tuple[str, ...], list[tuple[int, tuple[str, ...]]]]:
    """Return the headings that an offset in a chunk is under, and the offsets of those after it, by its metadata."""
    title_path, stated = chunk.metadata.get("title_path"), written.get("headings")
    path = tuple(title_path.split(" > ")) if isinstance(title_path, str) and title_path else ()
    after = list[tuple[int, tuple[str, ...]]]()
    for line in stated.split("\n") if isinstance(stated, str) else ():
        place, _, titles = line.partition(" ")
        at, own = chunk.start + int(place) if place.isdecimal() else -1, tuple(titles.split(" > "))
        path, after = (own, after) if at <= offset else (path, [*after, (at, own)])
    return path, after


class UnitReader:
    """Reads texts as units, and remembers the latest."""

    def __init__(self, counter: Counter, language: str = "en") -> None:
        self.counter, self.language = counter, language
        self.vocabulary = SearchVocabulary()
        self._tiler = partial(sentences, language=language)
        self._latest, self._older, self._bytes = dict[Any, tuple[Any, Reading]](), dict[Any, tuple[Any, Reading]](), 0

    @property
    def is_full(self) -> bool:
        """True if it knows so many words that a new one should take its place."""
        return len(self.vocabulary) > _MAX_WORDS

    def read(self, excerpt: Excerpt) -> Reading:
        """Return the units of a text, wherever it is in its document."""
        excerpt = excerpt._replace(offset=min(excerpt.offset, 1))
        return self._remembered(excerpt, None, lambda: self._read(excerpt))

    def read_chunk(self, chunk: Chunk, text: str, span: Span, start: int, source: str) -> Reading:
        """Return the units of the text of a span of a chunk from ``start`` on (`Excerpt.of`). Of a chunk that was read
        before, metadata is only compared.
        """
        key, own = (id(chunk), start, source), (chunk, dict(chunk.metadata))
        return self._remembered(key, own, lambda: self.read(Excerpt.of(chunk, text, span, start, source)))

    def _remembered(self, key: Hashable, own: Any, read: Callable[[], Reading]) -> Reading:
        """Return the units under a key, of the same chunk and metadata (``own``), or read them now."""
        kept = self._latest.get(key) or self._older.get(key)
        if kept is None or kept[0] != own:
            kept = own, read()
        if key not in self._latest:
            self._bytes += getsizeof(kept[1].text) + kept[1].columns.nbytes + kept[1].numbers.nbytes + _LAYOUT_BYTES
        self._latest[key] = kept
        if self._bytes > _REMEMBERED // 2:
            self._latest, self._older, self._bytes = {}, self._latest, 0
        return kept[1]

    def _read(self, excerpt: Excerpt) -> Reading:
        layout = _Layout.of(excerpt, self.counter)
        edges, tokens, wholes = self._tile(layout.document)
        encode, none = self.vocabulary.encode, np.zeros(0, np.int64)
        words = [(encode(head) if head else none, encode(text)) for head, text in layout.strings(edges.tolist())]
        counted = self.vocabulary.counted
        columns = (
            edges[:-1],
            edges[1:],
            tokens,
            [len(head) + len(text) for head, text in words],
            [np.count_nonzero(counted[text]) for _, text in words],
            _in_tables(layout.document, edges),
            wholes,
        )
        numbers = _joined([part for pair in words for part in pair])
        return Reading(excerpt.text, edges, np.array(columns, np.int64), numbers, layout.context, layout.path)

    def _tile(self, document: Document) -> tuple[Ints, Ints, Ints]:
        """Return the edges, the tokens, and the wholes of the units of a document."""
        limits = Limits(_MAX_WHOLE, 0, 0, self.counter, **plain_levels(document, self._tiler))
        limits = with_own_levels(limits, document)
        if document.markup == "code":
            document = join_definitions(document, limits)
        units = _keep_headings(fit_to_blocks(tile_prose(document, self._tiler), document))
        units = count_units(_divide_tables(units, document), self.counter)
        rows = _rows_and_records(units, document)
        whole = SpanSet(sorted({*limits.verbatim.spans, *rows.spans}))
        units = sizes.fit(units, replace(limits, max_tokens=_MAX_SENTENCE, atomic=whole))
        wholes = sizes.fit(units, replace(limits, atomic=rows))
        units = sizes.fit(wholes, replace(limits, max_tokens=_MAX_SENTENCE))
        firsts = units.edges.searchsorted(wholes.edges)
        return units.edges, units.token_counts(), np.repeat(firsts[:-1], np.diff(firsts))


@dataclass(frozen=True, eq=False)
class _Layout:
    """A text with its layout, and the contexts of its offsets. ``inside`` is the end of the table that the text starts
    in, whose head is ``excerpt.head``; 0 if it starts in none.
    """

    document: Document
    inside: int
    excerpt: Excerpt
    counter: Counter

    @classmethod
    def of(cls, excerpt: Excerpt, counter: Counter) -> Self:
        """Return the layout of a text."""
        text, source, speakers = excerpt.text, excerpt.source, [*excerpt.speakers]
        of_records = {} if excerpt.record is None else {"json_path": excerpt.record}
        metadata = write_metadata({}, ({"speakers": speakers} if speakers else {}) | of_records)
        document = _with_layout(Document(text, source, metadata=metadata), excerpt.offset == 0)
        headings = excerpt.headings
        if excerpt.path and _begins_with(text, excerpt.path[-1]):
            headings = (leading_space(text), excerpt.path), *headings
        document = with_stated_headings(document, headings) if headings else document
        inside = _table_end(text, source) if excerpt.head else 0
        blocks = _with_upper_heads(text, document.blocks or ())
        if any(block.kind == "turn" for block in blocks):  # kept whole in chunks, but a passage may be a sentence of it
            blocks = tuple(replace(b, kind="paragraph", title=None) if b.kind == "turn" else b for b in blocks)
        if inside:
            first = Block("table", Span(0, inside), title=_PIECE)
            blocks = (first, *(block for block in blocks if block.span.start >= inside))
        document = document if blocks is document.blocks else replace(document, blocks=blocks)
        return cls(document, inside, excerpt, counter)

    def strings(self, edges: Sequence[int]) -> Iterator[tuple[str, str]]:
        """Yield the texts of units, each after the head of the table of which it is a row, or after ""."""
        text, heads = self.document.text, [head for head in self._heads if len(head[2]) <= _MAX_HEAD]
        for start, end in pairwise(edges):
            while heads and heads[0][1] <= start:
                heads.pop(0)
            yield heads[0][2] if heads and heads[0][0] <= start else "", text[start:end]

    @property
    def _heads(self) -> Iterator[tuple[int, int, str]]:
        """The start and the end of the rows of each table, and its head."""
        for block in self.document.blocks or ():
            if block.kind == "table" and block.title == _PIECE:
                yield *block.span, self.excerpt.head
            elif block.kind == "table":
                head = tables.head(self.document.text[slice(*block.span)])
                yield block.span.start + head.end, block.span.end, head.text()

    def context(self, offset: int) -> tuple[str, int]:
        """Return the headings above an offset, with the head of the table that it is in, and their tokens."""
        context, tokens = self._contexts(offset)
        if offset >= self.inside:
            return context, tokens
        whole = with_context(context, self.excerpt.head)
        return whole, self.counter(f"{whole}\n\n")

    def path(self, offset: int) -> tuple[str, ...]:
        """Return the headings that an offset is under, outermost first."""
        return self._headings.path(offset)

    # Both are made for the few texts that passages are of.
    @cached_property
    def _headings(self) -> Headings:
        return Headings(self.document.text, self.document.blocks or (), self._above)

    @cached_property
    def _contexts(self) -> Contexts:
        blocks = (self.document.blocks or ())[bool(self.inside) :]
        return Contexts(
            replace(self.document, blocks=blocks, above=self._above), Limits(2 * _MAX_CONTEXT, 0, 0, self.counter)
        )

    @property
    def _above(self) -> tuple[tuple[int, str], ...]:
        path, first = self.excerpt.path, Headings(self.document.text, self.document.blocks or ()).path(0)
        return tuple(enumerate(path[: len(path) - len(first)] if path[-len(first) :] == first else path, 1))


def _with_upper_heads(text: str, blocks: tuple[Block, ...]) -> tuple[Block, ...]:
    """Return blocks in which a table has all rows of its head, where Markdown takes those above the last for prose."""
    joined = list[Block]()
    for block in blocks:
        above = joined[-1].span if joined and block.kind == "table" and joined[-1].kind == "paragraph" else None
        if above and text[above.end : block.span.start] in ("", "\n") and _PIPES.fullmatch(text, *above):
            joined[-1] = replace(block, span=Span(above.start, block.span.end))
        else:
            joined.append(block)
    return blocks if len(joined) == len(blocks) else tuple(joined)


def _begins_with(text: str, title: str) -> bool:
    """Return True if a text begins with a line, or lines, of a title."""
    own = r"\s+".join(map(re.escape, title.split()))
    return re.match(rf"\s*{own}[ \t]*(?=[\r\n]|\Z)", text) is not None


def _table_end(text: str, source: str) -> int:
    """Return the end of the table that a text starts in, which in a file of separated values is all of the text."""
    if formats.unchanged_format(source) == "csv":  # its cells may have blank lines
        return len(text)
    return _TABLE_END.search(text).start()  # type: ignore[union-attr]  # it always matches


def _with_layout(document: Document, is_first: bool) -> Document:
    """Return a text with its layout, read by a format that does not change it. Only a text that begins its document
    (``is_first``) has the head of separated values.
    """
    own = formats.unchanged_format(document.source)
    if own not in ("", "markdown", "plain") and (is_first or own != "csv"):
        return formats.read(document, own)
    markup = formats.detect_document_format(document)
    if markup != "code" and not hasattr(formats.find_reader(markup), "blocks"):
        markup = "markdown"
    read = formats.read(document, markup)
    return replace(read, markup=read.markup or markup)


def _keep_headings(units: Units) -> Units:
    """Join a heading with the sentence below it, and a caption with what it is above, but no lead-in with its table."""
    strength = np.where(units.strength == Strength.LEAD_IN, Strength.BLOCK, units.strength)
    strength[[0, -1]] = np.maximum(strength[[0, -1]], 0)
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


def _rows_and_records(units: Units, document: Document) -> SpanSet:
    """Return the spans of the rows of tables, and of the records of data."""
    rows = np.flatnonzero(_in_tables(document, units.edges))
    return SpanSet(map(Span, units.edges[rows].tolist(), units.edges[rows + 1].tolist()))


def _in_tables(document: Document, edges: Ints) -> NDArray[np.bool_]:
    """Return True for each unit that is in a table, or in the records of data: (n,)."""
    kinds = {"table", "code"} if document.markup == "json" else {"table"}
    blocks = np.array([block.span for block in document.blocks or () if block.kind in kinds]).reshape(-1, 2)
    inside: NDArray[np.bool_] = blocks[:, 0].searchsorted(edges[1:]) > blocks[:, 1].searchsorted(edges[:-1], "right")
    return inside


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


@dataclass(frozen=True, slots=True, eq=False)
class AskedTerms:
    """The t terms of a question among the words of texts.

    Word i of the texts has the ``terms`` from ``edges[i]`` to ``edges[i + 1]``. ``repeats`` (t,) tells how often a term
    is the stem of a word of the question; ``owners`` and ``pieces`` (p,) are the stem of each word of the question, -1
    for a compound beside its words, and a piece of it. For each word of the texts, ``stems`` is the stem of a word of
    the question that is its stem, or -1, and ``counted`` is False for a stop word. ``pairs`` are stem * t + stem of
    adjacent words of the question, each once. ``numbers`` are those of its stems that are not stop words, by word.
    """

    edges: Ints
    terms: Ints
    repeats: Ints
    owners: Ints
    pieces: Ints
    stems: Ints
    counted: NDArray[np.bool_]
    pairs: Ints
    numbers: dict[WordTerms, int]

    @classmethod
    def of(cls, text: str, vocabulary: SearchVocabulary) -> Self:
        """Return the terms of a question that the words of a vocabulary have."""
        asked = [*map(word_terms, query_words(text))]
        numbers = defaultdict[str, int](count().__next__)
        owned = [(numbers[word.stem] if word.stem else -1, numbers[piece]) for word in asked for piece in word.pieces]
        owners, pieces = np.array(owned, np.int64).reshape(-1, 2).T
        own = {word: numbers[word.stem] for word in asked if word.stem}
        asked_stems = [own[word] for word in asked if word.stem]
        words, terms = vocabulary.words_with(numbers)
        counted = vocabulary.counted  # of these and of those that others learn meanwhile
        stems = np.full(len(counted), -1)
        by_stem = {word.stem: number for word, number in own.items()}
        for word in np.unique(words[np.isin(terms, [*by_stem.values()])]).tolist():
            stems[word] = by_stem.get(vocabulary.stem(word), -1)
        order = np.argsort(words, kind="stable")
        edges = np.searchsorted(words[order], np.arange(len(counted) + 1))
        repeats = np.bincount(np.array(asked_stems, np.int64), minlength=len(numbers))
        pairs = np.array([*dict.fromkeys(a * len(numbers) + b for a, b in pairwise(asked_stems))], np.int64)
        return cls(edges, terms[order], repeats, owners, pieces, stems, counted, pairs, own)

    def weights(self, stems: Ints) -> Floats:
        """Return the weight of each term, given the stems of the words of texts: (t,)."""
        is_present = np.zeros(len(self.repeats) + 1, bool)  # the last is of other words
        is_present[stems] = True
        pieces = np.bincount(self.pieces, np.where(is_present[self.owners], PIECE, LACKING), len(self.repeats))
        return (self.repeats + pieces).astype(np.float64)


class UnitTable:
    """The units of retrieved texts, on which a question is scored.

    ``runs`` have document numbers, ascending. The attributes are (n,): ``starts`` and ``ends`` in the document,
    ``documents`` and ``regions`` the ascending numbers of document and run, the others as in a `Reading`.
    """

    def __init__(self, runs: Sequence[tuple[int, Run]]) -> None:
        pieces = [(number, region, piece) for region, (number, run) in enumerate(runs) for piece in run]
        self._pieces = [piece for _, _, piece in pieces]
        reads = [piece.read for piece in self._pieces]
        places = [(number, region, piece.offset, len(piece.read)) for number, region, piece in pieces]
        numbers, regions, offsets, counts = np.array(places, dtype=np.int64).reshape(-1, 4).T
        self._firsts = np.cumsum(counts) - counts  # the first unit of each piece
        self.documents, self.regions = np.repeat(numbers, counts), np.repeat(regions, counts)
        columns: Ints = np.concatenate([np.zeros((7, 0), np.int64), *(read.columns for read in reads)], axis=1)
        self.starts, self.ends, self.tokens, words, self.own_words, rows, self._wholes = columns
        columns[:2] += np.repeat(offsets, counts)
        self._wholes += np.repeat(self._firsts, counts)
        self.rows, self._words_before = rows > 0, np.cumsum(words)
        self._numbers = _joined([read.numbers for read in reads])

    def __len__(self) -> int:
        return len(self.starts)

    @property
    def middles(self) -> Floats:
        """Tokens of the document before the middle of each unit, at the mean tokens per character."""
        density = int(self.tokens.sum()) / max(int((self.ends - self.starts).sum()), 1)
        middles: Floats = (self.starts + self.ends) * (density / 2)
        return middles

    def taken_together(self, budget: int) -> tuple[Ints, Ints]:
        """Return the first unit, and the one after the last, of those that each is taken with: (n,) each.

        A row or a record is whole if it has at most ``budget`` tokens, a block if it has a third of them.
        """
        own = np.arange(len(self))
        sizes = np.bincount(self._wholes, self.tokens, len(self))[self._wholes]
        is_whole = sizes <= np.where(self.rows, budget, budget * _SHARE)
        ends = self._wholes.searchsorted(self._wholes, "right")
        return np.where(is_whole, self._wholes, own), np.where(is_whole, ends, own + 1)

    def postings(self, question: AskedTerms) -> Postings:
        """Return the places of the terms of a question, and of pairs of words that follow each other in it."""
        terms_of_words = np.diff(question.edges)
        places = np.flatnonzero(terms_of_words[self._numbers])
        words, units = self._numbers[places], self._words_before.searchsorted(places, "right")
        many = terms_of_words[words]
        firsts = np.repeat(question.edges[words] - np.cumsum(many) + many, many)
        terms = question.terms[firsts + np.arange(len(firsts))]
        pairs, units_of_pairs = self._pairs(question)
        codes = np.concatenate([terms, len(question.repeats) + pairs])
        order = np.argsort(codes, kind="stable")
        is_new = np.diff(codes[order], prepend=-1) > 0
        weights = np.append(question.weights(question.stems[self._numbers]), np.full(len(question.pairs), PAIR))
        sentences = np.concatenate([np.repeat(units, many), units_of_pairs])[order]
        return Postings(np.cumsum(is_new) - 1, sentences, weights[codes[order][is_new]])

    def word_weights(self, question: AskedTerms) -> dict[WordTerms, float]:
        """Return the weight of each word of a question, the rarer among the units the higher."""
        stems = question.stems[self._numbers]
        units = np.searchsorted(self._words_before, np.flatnonzero(stems >= 0), "right")
        places = np.unique(stems[stems >= 0] * len(self) + units)
        weights = rarity(np.bincount(places // max(len(self), 1), minlength=len(question.repeats)), len(self))
        return {word: float(weights[number]) for word, number in question.numbers.items()}

    def _pairs(self, question: AskedTerms) -> tuple[Ints, Ints]:
        """Return the number in the question, and the unit, of each pair of words with only stop words between."""
        places = np.flatnonzero(question.counted[self._numbers])
        stems = question.stems[self._numbers[places]]
        follows = np.flatnonzero((stems[:-1] >= 0) & (stems[1:] >= 0))
        units = np.searchsorted(self._words_before, places[np.stack([follows, follows + 1])], "right")
        codes = stems[follows] * len(question.repeats) + stems[follows + 1]
        is_asked = (units[0] == units[1]) & np.isin(codes, question.pairs)
        order = np.argsort(question.pairs)
        return order[question.pairs[order].searchsorted(codes[is_asked])], units[0][is_asked]

    def overlapping(self, document: int, starts: Floats, ends: Floats) -> tuple[Ints, Ints]:
        """Return the units of a document that overlap each of some spans, and their number for each."""
        low, high = self.documents.searchsorted([document, document + 1]).tolist()
        firsts = self.ends[low:high].searchsorted(starts, "right")
        many = np.maximum(self.starts[low:high].searchsorted(ends) - firsts, 0)
        return np.repeat(low + firsts - np.cumsum(many) + many, many) + np.arange(int(many.sum())), many

    def context(self, unit: int) -> tuple[str, int]:
        """Return the headings above a unit and the head of the table that it is in, and their tokens."""
        piece, at = self._piece_of(unit)
        return piece.read.context(int(piece.read.edges[at]))

    def path(self, unit: int) -> tuple[str, ...]:
        """Return the headings that a unit is under."""
        piece, at = self._piece_of(unit)
        return piece.read.path(int(piece.read.edges[at]))

    def touch(self, unit: int) -> bool:
        """Return True if a unit starts where the one before ends, so that they may be in one passage."""
        return bool(self.regions[unit - 1] == self.regions[unit] and self.ends[unit - 1] == self.starts[unit])

    def text(self, start: int, end: int) -> tuple[str, Span]:
        """Return the text and the span of touching units ``start`` to ``end``, without white space at the end."""
        parts, unit = list[str](), start
        while unit < end:
            piece, first = self._piece_of(unit)
            last = min(first + end - unit, len(piece.read))
            parts.append(piece.read.text[int(piece.read.edges[first]) : int(piece.read.edges[last])])
            unit += last - first
        text = "".join(parts).rstrip()
        return text, Span(int(self.starts[start]), int(self.starts[start]) + len(text))

    def _piece_of(self, unit: int) -> tuple[Piece, int]:
        """Return the piece that a unit is in, and the number of the unit in it."""
        number = int(self._firsts.searchsorted(unit, "right")) - 1
        return self._pieces[number], unit - int(self._firsts[number])


def share_of_words(text: str, weights: Mapping[WordTerms, float]) -> float:
    """Return the share, 0..1, of the weight of a question's words that a text has; of a word it lacks, pieces count."""
    own, total = [*map(word_terms, {*split_words(text)})], 0.0
    terms = {word.stem for word in own}
    if any(word.stem not in terms for word in weights):
        terms.update(*(word.pieces for word in own))
    for word, weight in weights.items():
        of_pieces = sum(piece in terms for piece in word.pieces) / max(len(word.pieces), 1)
        total += weight * (1.0 if word.stem in terms else of_pieces)
    return total / max(sum(weights.values()), 1e-9)


def _joined(arrays: Sequence[Ints]) -> Ints:
    return np.concatenate(arrays) if arrays else np.zeros(0, dtype=np.int64)


def runs_of_chunks(chunks: Sequence[Chunk], reader: UnitReader, source: str = "") -> list[Run]:
    """Return the text that chunks of one document have, in runs; text that several have is there once. Chunks that
    contradict each other where they overlap, as those of two versions, are in runs of their own.
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
        if not (agrees and start - last <= _MAX_GAP):
            runs.append([])
        runs[-1].append(Piece(reader.read_chunk(chunk, text, Span(start, end), at, source), at))
        first, last, before = start, end, text
    return runs


def runs_in_text(whole: Reading, spans: Iterable[Span], around: float) -> list[Run]:
    """Return the runs of a text that spans are in, with so many tokens on either side of each, and whole rows."""
    tokens, wholes = whole.columns[[_TOKENS, _WHOLES]]
    before = np.concatenate([[0], np.cumsum(tokens)])
    first, last = np.array(list(spans), dtype=np.int64).T
    first, last = whole.edges[1:].searchsorted(first, "right"), whole.edges[:-1].searchsorted(last)
    starts = np.append(wholes, len(whole))
    ends = np.append(0, wholes.searchsorted(wholes, "right"))
    steps = np.zeros(len(whole) + 1, dtype=np.int64)
    np.add.at(steps, starts[before.searchsorted(before[first] - around)], 1)
    np.add.at(steps, ends[before.searchsorted(before[last] + around, "right") - 1], -1)
    changes = np.flatnonzero(np.diff(np.cumsum(steps) > 0, prepend=False)).reshape(-1, 2)
    return [[Piece(whole.part(a, b), 0)] for a, b in changes.tolist()]
