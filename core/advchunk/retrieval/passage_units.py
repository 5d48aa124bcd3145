"""The units of passages: the sentences, table rows and definitions of retrieved chunks, and of the texts around them."""

from __future__ import annotations

from bisect import bisect_left, bisect_right
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field, replace
from functools import lru_cache, partial
from itertools import pairwise

import numpy as np

from advchunk import sizes
from advchunk.layout import fit_to_blocks, join_definitions, protected, tile_prose
from advchunk.readers import formats
from advchunk.readers.writing import table_head
from advchunk.records import Block, Document, Floats, Ints, Span, SpanSet, Strength, Units
from advchunk.retrieval.evidence import Postings
from advchunk.sizes import CODE, VERBATIM, WITHIN_SENTENCE, Limits
from advchunk.text.counters import Counter
from advchunk.text.sentences import sentences
from advchunk.text.terms import Terms, Vocabulary, Wording
from advchunk.text.tiling import lines, paragraphs

MAX_SENTENCE = 80
"""Tokens of a sentence from which it is split at clauses and words."""
MAX_WHOLE = 300
"""Tokens of a table row, a code block or a definition from which it is split."""


@dataclass(frozen=True, slots=True, eq=False)
class TextUnits:
    """A text in units, with their tokens and terms."""

    units: Units
    terms: Terms


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
        self.read = lru_cache(4096)(self._read)

    def _read(self, text: str, source: str = "") -> TextUnits:
        document = _with_layout(Document(text, source))
        limits = Limits(
            MAX_WHOLE, 0, 0, self.counter,
            verbatim=protected(document), verbatim_levels=CODE if document.markup == "code" else VERBATIM,
        )  # fmt: skip
        if document.markup == "code":
            document = join_definitions(document, limits)
        tiler = partial(sentences, language=self.language)
        units = _keep_headings(fit_to_blocks(tile_prose(document, tiler), document))
        prose = (paragraphs, tiler, *WITHIN_SENTENCE)
        units = sizes.fit(units, replace(limits, max_tokens=MAX_SENTENCE, prose=prose, atomic=protected(document)))
        units = sizes.fit(_divide_tables(units, document), limits)
        return TextUnits(units, self.vocabulary.encode(units.strings()))


def _with_layout(document: Document) -> Document:
    """Return a text with its layout, read by a format that does not change it."""
    markup = formats.detect_document_format(document)
    reads_as_is = hasattr(formats.find_reader(markup), "blocks")
    return replace(formats.read(document, markup if reads_as_is else "markdown"), markup=markup)


def _keep_headings(units: Units) -> Units:
    """Join a heading with the sentence below it, and a caption with what it is above."""
    kept = units.strength >= 0
    return units if kept.all() else Units(units.text, units.edges[kept], None, units.strength[kept])


def _divide_tables(units: Units, document: Document) -> Units:
    """Return units in which each row of a table is one, and its head is one with the first row."""
    ends = [
        offset
        for block in document.blocks or ()
        if block.kind == "table"
        for offset in (lines(document.text[slice(*block.span)]).edges[1:-1] + block.span.start).tolist()
        if offset > table_head(document.text, block)[1]
    ]
    if not ends:
        return units
    edges = np.union1d(units.edges, ends)
    strength = np.full(len(edges), Strength.BLOCK)
    strength[np.searchsorted(edges, units.edges)] = units.strength
    return Units(units.text, edges, None, strength)


@dataclass(frozen=True, slots=True, eq=False)
class UnitTable:
    """The units of retrieved texts, on which a question is scored; those of a document follow each other.

    Parameters
    ----------
    texts : of n units.
    spans : (n, 2) in their document.
    documents, regions : (n,) ascending numbers of the document, and of the run of text without a gap.
    tokens : (n,).
    terms, edges : the terms of unit i are ``terms[edges[i]:edges[i + 1]]``.
    names : of the documents.
    """

    texts: list[str]
    spans: Ints
    documents: Ints
    regions: Ints
    tokens: Ints
    terms: Ints
    edges: Ints
    names: list[str]

    def __len__(self) -> int:
        return len(self.texts)

    @property
    def middles(self) -> Floats:
        """Tokens of the document before the middle of each unit, at the mean tokens per character."""
        length = int((self.spans[:, 1] - self.spans[:, 0]).sum())
        middles: Floats = self.spans.mean(axis=1) * (int(self.tokens.sum()) / max(length, 1))
        return middles

    def postings(self, question: Sequence[int]) -> Postings:
        """Return where the terms of a question occur."""
        asked, repeats = np.unique(np.array(question, dtype=np.int64), return_counts=True)
        found = np.flatnonzero(np.isin(self.terms, asked))
        numbers = np.searchsorted(asked, self.terms[found])
        units = np.searchsorted(self.edges, found, "right") - 1
        order = np.argsort(numbers, kind="stable")
        present, numbers = np.unique(numbers[order], return_inverse=True)
        return Postings(numbers, units[order], repeats[present])
