"""Passages for a prompt: hits within a token budget, each text once, with citations."""

import logging
from bisect import bisect_right
from collections import defaultdict
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass, field, replace
from datetime import timedelta
from math import inf
from typing import Any, Literal, Self, TypeAlias, get_args
from uuid import NAMESPACE_OID, uuid5

from advchunk.chunkers.frameworks import flatten_spans
from advchunk.errors import checked, is_integer, is_many, require
from advchunk.records import Chunk, Span, check_chunk, with_context, written_metadata
from advchunk.retrieval.line_numbers import LineRanges, line_ranges
from advchunk.text.counters import Counter

PassageOrder: TypeAlias = Literal["rank", "document"]

_log = logging.getLogger("advchunk")
_MAX_REFUSED = 20  # hits in a row that do not fit
_MAX_GAP = 2  # characters between chunks that join, such as the white space that splitters strip


@dataclass(frozen=True, slots=True)
class Hit:
    """A chunk that was retrieved.

    Parameters
    ----------
    document : name of its document.
    score : by which it was ranked; comparable within one search only.
    highlights : spans of the sentences that matter most for the question, if they were asked for.
    row_scores : in passages that were cut, the cosine of the question and each sentence of the chunk whose vector the
        index has (`Chunk.row_spans`).
    """

    chunk: Chunk
    document: str
    score: float
    highlights: tuple[Span, ...] = ()
    row_scores: tuple[float, ...] = field(default=(), compare=False, repr=False)


@dataclass(frozen=True, slots=True)
class Passage:
    """A text for a prompt: sentences that follow each other, or chunks that touch or overlap.

    Parameters
    ----------
    text : the text of ``spans``, separated by white space if there are several.
    document : name of the document.
    spans : ascending and disjoint, in the document; () if its place is not known.
    hits : the hits from which its text is, in reading order; the nearest hit if its text is beside one.
    score : score of its best sentence, or of its chunk.
    tokens : number of tokens of ``prompt_text``.
    context : the headings above it, and the header of the table in which it starts.
    section, last_section : headings above its first sentence and its last; None are those of its first and last hit.
    lines : the first and the last line of each span; () if they are not known.
    coverage : the share of the question's words that ``prompt_text`` has, weighted by their rarity in the texts that
        were searched, 0..1; 0 for a chunk of a search.
    """

    text: str
    document: str
    spans: tuple[Span, ...]
    hits: tuple[Hit, ...]
    score: float
    tokens: int
    context: str = ""
    section: str | None = None
    last_section: str | None = None
    lines: LineRanges = ()
    coverage: float = 0.0

    @classmethod
    def of(cls, hit: Hit) -> Self:
        """Return a hit as a passage of its own.

        >>> print(Passage.of(Hit(Chunk("One two.", (Span(4, 12),), 2), "a.txt", 1.0)).citation)
        a.txt, characters 4-12
        """
        chunk = hit.chunk
        (lines,) = line_ranges([(chunk.spans, [chunk])], None)
        return cls(chunk.text, hit.document, chunk.spans, (hit,), hit.score, chunk.tokens, lines=lines)

    @property
    def id(self) -> str:
        """The same for the same text, place and chunks."""
        ids = [hit.chunk.id for hit in self.hits]
        return str(uuid5(NAMESPACE_OID, repr((ids, self.citation, self.text))))

    @property
    def prompt_text(self) -> str:
        """The text for a prompt: the context, a blank line, the text."""
        return with_context(self.context, self.text)

    @property
    def page(self) -> Any:
        """The page where the passage starts; None if the documents have no pages."""
        metadata = self.hits[0].chunk.metadata
        return written_metadata(metadata).get("page", metadata.get("page_label", metadata.get("page")))

    @property
    def heading(self) -> str:
        """The path of headings above the passage, such as "Guide > Install"; "" without headings."""
        return _path_of(self.hits[0]) if self.section is None else self.section

    @property
    def citation(self) -> str:
        """The place in one line: document, headings, clause, speakers, times, sheet, lines, pages, and offsets.

        An example is "terms.md, Article 5, clause 5(1), lines 40-52, page 3, characters 1200-1480"; a passage that goes
        on in another section has the headings of both, "Article 5 to Article 6". What chunks state of themselves is
        left out if it is not certain for this part of them.
        """
        first, last = self.heading, _path_of(self.hits[-1]) if self.last_section is None else self.last_section
        is_within = not (first and last) or f"{last} > ".startswith(f"{first} > ")
        own = [written_metadata(hit.chunk.metadata) for hit in self.hits]
        covered = _covers([span for hit in self.hits for span in hit.chunk.spans], self.spans)
        is_whole = covered and all(_covers(self.spans, hit.chunk.spans) for hit in self.hits)
        # The clause of a chunk may be the first in it, after a title without headings above.
        has_clause = is_whole or (covered and first and self.hits[0].chunk.start >= self.spans[0].start)
        speakers = [*dict.fromkeys(name for written in own for name in _items(written.get("speakers")))]
        sheets = [*dict.fromkeys(written.get("sheet") for written in own)]
        pages = sorted({page for written in own for page in _items(written.get("pages"), int)})
        parts = [
            self.document,
            first if is_within else f"{first} to {last}",
            f"clause {own[0]['clause']}" if has_clause and own[0].get("clause") else "",
            ", ".join(speakers) if is_whole or (covered and len(speakers) == 1) else "",
            _times(own) if covered else "",
            f"sheet {sheets[0]}" if len(sheets) == 1 and sheets[0] else "",
            _numbered("line", self.lines) if self.page is None or "page" in own[0] else "",  # else of a text of a page
            "" if self.page is None else _numbered("page", [(pages[0], pages[-1])]) if pages else f"page {self.page}",
            f"characters {', '.join(f'{start}-{end}' for start, end in self.spans)}" if self.spans else "",
        ]
        return ", ".join(filter(None, parts))

    @property
    def values(self) -> dict[str, Any]:
        """The flat metadata of the passage in a framework."""
        values: dict[str, Any] = {"citation": self.citation, "token_count": self.tokens}
        if self.lines:
            values |= {"start_line": self.lines[0][0], "end_line": self.lines[-1][1]}
        if len(self.spans) > 1:
            values["spans"] = flatten_spans(self.spans)
        if self.section:
            values |= {"section": self.section.rpartition(" > ")[2], "title_path": self.section}
        return values


def _path_of(hit: Hit) -> str:
    """Return the headings above a chunk, such as "Guide > Install"."""
    path = written_metadata(hit.chunk.metadata).get("title_path", hit.chunk.metadata.get("title_path"))
    return " > ".join(path) if isinstance(path, (list, tuple)) else str(path or "")


def _covers(spans: Sequence[Span], parts: Sequence[Span]) -> bool:
    """Return True if each of some parts lies in spans that touch or overlap."""
    joined = list[Span]()
    for start, end in sorted(spans):
        if joined and start <= joined[-1].end:
            joined[-1] = Span(joined[-1].start, max(joined[-1].end, end))
        else:
            joined.append(Span(start, end))
    places = [(bisect_right(joined, (start, inf)) - 1, end) for start, end in parts]
    return bool(parts) and all(place >= 0 and end <= joined[place].end for place, end in places)


def _items(values: Any, kind: type[Any] = str) -> list[Any]:
    """Return a list of metadata, which is text where metadata must be flat (`chunkers.frameworks.flatten_places`)."""
    if isinstance(values, str):
        values = values.split() if kind is int else values.split("; ")
    return list(map(kind, values or ()))


def _times(own: Sequence[Mapping[str, Any]]) -> str:
    """Return the time from the start of hits to their end, in which a passage is: "0:00:05-0:01:09", or dates."""
    spans = [
        (written["start_time"], written["end_time"]) for written in own if {"start_time", "end_time"} <= {*written}
    ]
    kinds = {type(time) for span in spans for time in span}
    if len(spans) < len(own) or len(kinds) != 1 or not kinds <= {int, float, str}:
        return ""
    ends = min(start for start, _ in spans), max(end for _, end in spans)
    first, last = (end if isinstance(end, str) else str(timedelta(seconds=int(end))) for end in ends)
    return first if first == last else f"{first}-{last}"


def _numbered(name: str, ranges: Sequence[tuple[int, int]]) -> str:
    """Return ranges as text, such as "lines 3, 7-9"; "" for none."""
    plural = "s" if len(ranges) > 1 or any(first < last for first, last in ranges) else ""
    places = ", ".join(f"{first}-{last}" if first < last else str(first) for first, last in ranges)
    return f"{name}{plural} {places}" if places else ""


def with_lines(passages: Iterable[Passage], find: Callable[[str], str | None]) -> list[Passage]:
    """Return passages with their lines (`line_numbers.line_ranges`); ``find`` returns a document's text, or None."""
    passages, groups = list(passages), defaultdict[str, list[int]](list)
    for i, passage in enumerate(passages):
        groups[passage.document].append(i)
    for document, members in groups.items():
        places = [(passages[i].spans, [hit.chunk for hit in passages[i].hits]) for i in members]
        for i, lines in zip(members, line_ranges(places, find(document)), strict=True):
            passages[i] = replace(passages[i], lines=lines)
    return passages


@checked
def assemble_passages(
    hits: Iterable[Hit],
    budget: int,
    counter: Counter,
    *,
    order: PassageOrder = "rank",
    texts: Mapping[str, str] | None = None,
) -> list[Passage]:
    """Merge hits, best first, to passages of at most ``budget`` tokens in all.

    Hits are taken in order while they fit; one that does not fit is skipped, so that later, smaller ones fill the
    budget, until twenty in a row do not fit; if none fits, a warning is logged. Hits of a document that overlap, touch,
    or have only white space between them, become one passage, in which no text occurs twice; those that contradict each
    other where they overlap, as parts of two texts of one name, stay apart. Without the text of a document, a gap of up
    to two characters, which splitters strip, becomes white space between two spans. Context, such as headings, is not
    part of a passage. Raises `ConfigurationError` for a budget under 1 or another order.

    Parameters
    ----------
    budget : tokens of all passages, by ``counter``, >= 1.
    order : "rank" sorts passages by their best hit; "document" by document, in the order of its best hit, and place.
    texts : by document, the text that the spans refer to, from which gaps are filled.

    >>> from advchunk import RecursiveChunker
    >>> chunks = RecursiveChunker(max_tokens=4).chunk("One two. Three four. Five six. Seven eight.")
    >>> hits = [Hit(chunks[i], "a.txt", 1 / (i + 1)) for i in (0, 3, 1)]
    >>> for passage in assemble_passages(hits, 12, RecursiveChunker().counter):
    ...     print(passage.text, "|", passage.citation)
    One two. Three four.  | a.txt, line 1, characters 0-21
    Seven eight. | a.txt, line 1, characters 31-43
    """
    require(budget >= 1, "budget must be >= 1", budget)
    texts = {} if texts is None else texts
    passages, refused, seen = list[Passage](), list[Passage](), set[tuple[str, tuple[Span, ...], str]]()
    for hit in hits:
        if len(refused) == _MAX_REFUSED:
            break
        key = hit.document, hit.chunk.spans, hit.chunk.text
        if key in seen or not hit.chunk.text.strip():
            continue
        seen.add(key)
        text = texts.get(hit.document)
        beside = [passage for passage in passages if passage.document == hit.document and _touch(passage, hit, text)]
        merged = _merge([hit, *(old for passage in beside for old in passage.hits)], text, counter)
        candidates = [*(passage for passage in passages if passage not in beside), merged]
        if sum(passage.tokens for passage in candidates) <= budget:
            passages, refused = candidates, []
        else:
            refused.append(merged)
    if refused and not passages:
        _log.warning("no chunk fits into a budget of %d tokens; the best has %d", budget, refused[0].tokens)
    return with_lines(sort_passages(passages, order), texts.get)


def check_hits(hits: Iterable[Hit], name: str) -> list[Hit]:
    """Return hits as a list; raise `ConfigurationError` for anything else."""
    rule = f"{name} must be a list of hits: Hit(chunk, document, score)"
    require(is_many(hits), rule, hits)
    hits = list(hits)
    for hit in hits:
        require(isinstance(hit, Hit) and isinstance(hit.chunk, Chunk) and isinstance(hit.document, str), rule, hit)
        check_chunk(hit.chunk)
        rule = "a hit must have a score for each of its chunk's row_spans, or none"
        require(len(hit.row_scores) in (0, len(hit.chunk.row_spans)), rule, hit.row_scores)
    return hits


def check_order(order: PassageOrder) -> None:
    """Raise `ConfigurationError` for another order of passages."""
    require(order in get_args(PassageOrder), f"order must be one of {get_args(PassageOrder)}", order)


def check_sizes(**sizes: int | None) -> None:
    """Raise `ConfigurationError` unless sizes, by the names of parameters, are whole numbers >= 1, or None."""
    for name, size in sizes.items():
        require(size is None or is_integer(size, 1), f"{name} must be a whole number >= 1", size)


def sort_passages(passages: Iterable[Passage], order: PassageOrder) -> list[Passage]:
    """Return passages by their scores, or by their documents, in the order of the best passage of each, and places."""
    ranked = sorted(passages, key=lambda passage: -passage.score)
    if order == "rank":
        return ranked
    documents = [*dict.fromkeys(passage.document for passage in ranked)]
    return sorted(ranked, key=lambda passage: (documents.index(passage.document), passage.spans))


def _touch(passage: Passage, hit: Hit, text: str | None) -> bool:
    """Return True if a hit overlaps a passage and agrees with it, or only white space is between them."""
    is_beside = any(
        _gap(first.end, second.start, text) is not None
        for span in hit.chunk.spans
        for own in passage.spans
        for first, second in [sorted((span, own))]
    )
    return is_beside and all(_agree(hit.chunk, other.chunk) for other in passage.hits)


def _agree(chunk: Chunk, other: Chunk) -> bool:
    """Return True if two chunks have the same text where they overlap."""
    for (start, end), piece in zip(chunk.spans, chunk.passages, strict=True):
        for (first, last), own in zip(other.spans, other.passages, strict=True):
            low, high = max(start, first), min(end, last)
            if low < high and piece[low - start : high - start] != own[low - first : high - first]:
                return False
    return True


def _gap(end: int, start: int, text: str | None) -> str | None:
    """Return the white space between two spans, "" if they overlap; None if they do not join."""
    if start <= end:
        return ""
    if text is not None:
        return None if text[end:start].strip() else text[end:start]
    return ("", " ", "\n\n")[start - end] if start - end <= _MAX_GAP else None


def _merge(hits: Sequence[Hit], text: str | None, counter: Counter) -> Passage:
    """Return the passage of hits in one document."""
    pieces = sorted(
        (span, piece) for hit in hits for span, piece in zip(hit.chunk.spans, hit.chunk.passages, strict=True)
    )
    spans, parts = list[Span](), list[str]()
    for (start, end), piece in pieces:
        gap = _gap(spans[-1].end, start, text) if spans else ""
        if not spans:
            parts.append(piece)
            spans.append(Span(start, end))
        elif gap is None or (gap and text is None):  # the text between them is unknown, or not white space
            parts += [gap or "\n\n", piece]
            spans.append(Span(start, end))
        elif end > spans[-1].end:
            parts.append(gap + piece[max(spans[-1].end - start, 0) :])
            spans[-1] = Span(spans[-1].start, end)
    whole = "".join(parts) if spans else hits[0].chunk.text  # a chunk without a place is a passage of its own
    ordered = tuple(sorted(hits, key=lambda hit: hit.chunk.spans))
    return Passage(whole, hits[0].document, tuple(spans), ordered, max(hit.score for hit in hits), counter(whole))
