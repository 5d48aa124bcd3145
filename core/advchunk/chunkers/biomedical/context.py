"""The sections of an abstract, and the context of its chunks."""

from bisect import bisect_left, bisect_right
from collections.abc import Sequence
from functools import cache

from advchunk.chunkers.biomedical.params import BiomedicalAbstractParams
from advchunk.readers.pubmed.labels import UNSTRUCTURED, section_name
from advchunk.records import Document
from advchunk.text.counters import Counter


class AbstractSections:
    """The sections of an abstract by offset; text before the first label is a section without a name."""

    def __init__(self, document: Document) -> None:
        headings = [block for block in document.blocks or () if block.kind == "heading"]
        self.text_start = document.text_start
        self.labels = frozenset(block.span.start for block in headings)
        self._starts = sorted(self.labels)
        titles = [block.title or document.text[slice(*block.span)].strip() for block in headings]
        self._names = [section_name(title) or title for title in titles]
        if not headings or self._starts[0] > self.text_start:
            self._starts.insert(0, 0)
            self._names.insert(0, UNSTRUCTURED)
        self._starts[0] = 0

    def first_units(self, edges: Sequence[int]) -> list[int]:
        """Return the first unit of each section."""
        return sorted({bisect_right(edges, start) - 1 for start in self._starts})

    def names(self, start: int, end: int) -> tuple[str, ...]:
        """Return the distinct names of the sections between two offsets."""
        first, last = bisect_right(self._starts, start) - 1, bisect_left(self._starts, end)
        return tuple(dict.fromkeys(self._names[first : max(last, first + 1)]))


class ContextBuilder:
    """Builds the context of chunks from their sections; lines that would exceed half of a chunk are left out."""

    def __init__(self, params: BiomedicalAbstractParams, document: Document, counter: Counter) -> None:
        self.sections = AbstractSections(document)
        self._count, self._is_wanted = counter, params.include_context
        is_short = (params.title_chunk or params.mesh) and counter(document.text) < params.short_tokens
        self.with_title = is_short or not params.title_chunk
        self._title = title_lines(document) if self.with_title else []
        self._mesh = mesh_lines(document) if is_short and params.mesh else []
        self._max_tokens = (params.max_tokens - params.size("overlap_tokens")) // 2
        self.of = cache(self._build)

    def at(self, offset: int) -> tuple[str, int]:
        """Return the context of a chunk that starts at an offset, and its tokens."""
        return self.of(offset <= self.sections.text_start, self.sections.names(offset, offset + 1))

    def _build(self, is_first: bool, names: tuple[str, ...]) -> tuple[str, int]:
        """Return the context of a chunk of sections with these names, and its tokens."""
        section = [f"[Section] {', '.join(names)}", "[Text]"]
        title, mesh = (self._title, self._mesh) if is_first else ([], [])
        for lines in ([*title, *mesh, *section], [*title, *section], section) if self._is_wanted else ():
            context = "\n".join(lines)
            if (tokens := self._count(f"{context}\n\n")) <= self._max_tokens:
                return context, tokens
        return "", 0


def title_lines(document: Document) -> list[str]:
    """Return the line of a document's title, if it has one."""
    title, pmid = document.metadata.get("title"), document.metadata.get("pmid")
    return [f"[Title] {title}" + (f" (pmid:{pmid})" if pmid else "")] if title else []


def mesh_lines(document: Document) -> list[str]:
    """Return the line of a document's MeSH terms, if it has any."""
    terms = document.metadata.get("mesh")
    return [f"[MeSH] {'; '.join(map(str, terms)) if isinstance(terms, list) else terms}"] if terms else []
