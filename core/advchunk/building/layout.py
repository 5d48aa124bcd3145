"""The layout of a document: where its chunks may end, which headings they are under, and on which pages they are."""

import re
from bisect import bisect_left, bisect_right
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import replace
from functools import partial
from itertools import chain, pairwise
from os.path import commonprefix
from typing import Any, Final

import numpy as np

from advchunk import registry
from advchunk.building.sizes import CODE, VERBATIM, WITHIN_SENTENCE, Levels, Limits, RunSizes
from advchunk.records import (
    Block,
    BlockKind,
    Document,
    Floats,
    Ints,
    Place,
    Segmentation,
    Span,
    SpanSet,
    Strength,
    Units,
    evolve,
    remove_written,
    written_keys,
    written_metadata,
)
from advchunk.text.atoms import SIGNS, AtomKeeper, has_atoms
from advchunk.text.detection import AUTO
from advchunk.text.patterns import lazy_pattern
from advchunk.text.sentences import sentences
from advchunk.text.tiling import (
    Tiler,
    from_ends,
    graphemes,
    has_one,
    leading_space,
    next_non_space,
    paragraphs,
    unit_end,
)

_PROTECTED: frozenset[BlockKind] = frozenset({"code", "table", "formula", "figure"})
_CAPTIONED = _PROTECTED | {"caption"}
_UNCUT = _PROTECTED | {"turn"}
# The kinds of blocks that may begin a section.
_TITLED: frozenset[BlockKind] = frozenset({"heading", "code", "paragraph", "caption"})
SPLIT_APART: frozenset[BlockKind] = frozenset({"table", "formula", "turn"})
"""The kinds of blocks that are split at levels of their own, or whose later pieces need a context (see `contexts`)."""
_PROSE: frozenset[BlockKind] = frozenset({"paragraph", "item", "quote", "turn"})
# Tags alone: those that open what is below, with its summary, and those that close what is above.
_OPENING_TAGS = lazy_pattern(
    r"<(?:details|div|section|center|p)\b[^<>]*+>\s*+(?:<summary\b[^<>]*+>(?:[^<]|<(?!/summary))*+</summary\s*+>\s*+)?"
)
_CLOSING_TAGS = lazy_pattern(r"(?:</[a-zA-Z]++\s*+>\s*+)++")
_COMMENT = lazy_pattern(r"<!--(?:[^-]|-(?!->))*+-->\s*+")
# The marks of list items that formats do not define.
_ITEM = lazy_pattern(r"\s*+(?:[\u00b7\u2022\u2023\u25aa-\u25ff\u2013\u2014]\s|\\?\*|\((?:\d{1,3}|\w{1,5})\)\s)")
# The start of a block that continues the one above: a letter in lower case, or a pronoun.
_CONTINUES = lazy_pattern(
    r"\s*+[\"'(\u201c\u2018\u00ab]?(?:[a-z\u00df-\u00ff]|(?:He|She|It|They|This|That|These|Those|His|Her|Its|Their|Such"
    r"|Er|Sie|Es|Dies|Dieser|Diese|Dieses|Ihr|Ihre|Sein|Seine|Il|Elle|Ils|Elles|Ce|Cela|Ceci|Cette|Ces|Cet|Leur|Leurs|Son|Sa|Ses)\b)"
)
_LABEL = 200  # most characters of a label
_COLONS, _UNFINISHED, _STOPS = ":\uff1a", ",;-:\uff0c\uff1b\uff1a\u3001", ".!?\u2026\u3002\uff01\uff1f"
_CLOSERS, _CLOSING = "\"')]\u201d\u2019\u00bb*_0123456789", 8
_QUOTES, _QUESTIONS = " \"'”’»)]*_", ("?", "？", "؟")
_REACH = 16.0  # mean units that a cut moves for a cost of 1; chosen with the limit of 1 in benchmarks/STRUCTURE.md
_NEAR = 64  # edges from the first allowed by a minimum among which a cut looks for a place
_NO_SPANS = SpanSet()
LINES: Final = frozenset({"start_line", "end_line"})
"""Metadata that change where lines are added above."""
_LINE_END, _UNIX_LINE_END = lazy_pattern(r"\r\n?|\n"), lazy_pattern(r"\n")  # a search for one character is fast
_UNCHANGED: Final = frozenset({"", "code"})  # markup of documents whose text no reader derived from another
# Metadata of a chunk that is also true of its parts.
_INHERITED: Final = frozenset({"section", "title_path", "page", "pages"})


def protected(document: Document, kinds: Iterable[BlockKind] = _PROTECTED) -> SpanSet:
    """Return the spans of blocks that are cut only if they are over the limits: code, tables, formulas and figures."""
    blocks = [block for block in document.blocks or () if block.kind in kinds]
    return block_spans(document, blocks) if blocks else _NO_SPANS


def block_spans(document: Document, blocks: Sequence[Block]) -> SpanSet:
    """Return the spans of blocks; as with units, the first owns the white space at the start of the text."""
    spans = [block.span for block in blocks]
    if spans and spans[0].start <= document.text_start:
        spans[0] = Span(0, spans[0].end)
    return SpanSet(spans)


def tile_prose(document: Document, tiler: Tiler) -> Units:
    """Tile prose: headings, items and quotes alone, protected blocks and turns whole; no edge is in inline Markdown."""
    text, blocks, keeps_atoms = document.text, document.blocks or (), may_have_atoms(document)
    edges, whole = list[int](), {b.span.start for b in blocks if _is_whole(b)}
    starts = [b.span.start for a, b in pairwise(blocks) if b.title is not None or not a.kind == b.kind == "paragraph"]
    inner = list[int]()  # starts of lines, at which the splitter of sentences ends one if it is told them
    is_told = getattr(tiler, "func", None) is sentences and getattr(tiler, "keywords", {}).get("language", AUTO) != AUTO
    if is_told:
        pairs = pairwise([0, *starts])
        inner = [b for a, b in pairs if a not in whole and b not in whole and text[b - 1] == "\n"]
    for start, end in pairwise(sorted({0, *starts, len(text)}.difference(inner))):
        if start in whole:
            edges.append(end)
            continue
        lines = [at - start for at in inner[bisect_left(inner, start) : bisect_left(inner, end)]]
        split: Callable[..., Units] = tiler
        split = partial(split, starts=lines) if lines else split
        units = AtomKeeper(split, lines)(text[start:end]) if keeps_atoms else split(text[start:end])
        if end - start == len(text):
            return units
        edges += [start + edge for edge in units.edges.tolist()]
    return from_ends(text, edges)


def fit_to_blocks(units: Units, document: Document) -> Units:
    """Return units, with the ``strength`` of their edges, that also end where blocks end, but not inside protected
    blocks, turns, or white space.

    A heading stays with the block below it, a caption with what it is above or below, the end of the lead-in of a list
    with the first item, and a table with the end of the prose above it, along with labels such as "Three months ended
    June 30". The edge before an answer, or before what the same speaker says on, is weaker than others between turns.
    """
    text, blocks, lead = document.text, document.blocks or (), document.text_start
    # From a first to a last offset, only a block begins: in the white space before it, and inside one that is kept
    # whole.
    spans, starts, ends, strength_at = [(0, lead)], [0], list[int](), dict[int, int]()
    for block, strength_before in zip(blocks, _strengths(text, blocks), strict=True):
        start, end = block.span
        last = _last_inside(text, block)
        spans.append((starts[-1] + len(text[starts[-1] : start].rstrip()), last))
        starts.append(start)
        strength_at[start] = strength_before
        if block.kind in _PROTECTED:
            after = max(end, unit_end(text, _text_end(text, start, end)))
            ends.append(after)
            strength_at.setdefault(after, Strength.BLOCK)
    before = units.edges.tolist()
    candidates = sorted({*before, *ends}) if ends else before
    places = [*[bisect_left(candidates, first) for first, _ in spans], len(candidates)]
    edges = list[int]()
    for start, (_, last), (i, j) in zip(starts, spans, pairwise(places), strict=True):
        if start > lead or not edges:
            edges.append(start)
        edges += candidates[bisect_right(candidates, last, i) : j]
    if edges[-1] < len(text):
        edges.append(len(text))
    strength = [Strength.SENTENCE] * len(edges)
    for offset, value in strength_at.items():
        if edges[place := bisect_left(edges, offset)] == offset:
            strength[place] = value
    _weaken(text, blocks, edges, strength)
    _mark_lines(text, blocks, edges, strength)
    if edges != before:
        units = from_ends(text, edges)
    return evolve(units, strength=np.array(strength, dtype=np.int64))


def _weaken(text: str, blocks: Sequence[Block], edges: Sequence[int], strength: list[int]) -> None:
    """Weaken edges below headings, captions and questions, above tables, and between words of one speaker."""
    for place, (block, below) in enumerate(pairwise(blocks), 1):
        if block.kind == "heading" or (block.kind == "caption" and below.kind in _CAPTIONED):
            i, j = bisect_right(edges, block.span.start), bisect_right(edges, below.span.start)
            strength[i:j] = [Strength.KEEP_WITH_NEXT] * (j - i)
        elif block.kind == below.kind == "turn":
            last = text[max(block.span.end - 8, block.span.start) : block.span.end].rstrip(_QUOTES)
            if block.title == below.title or last.endswith(_QUESTIONS):
                strength[bisect_left(edges, below.span.start)] = Strength.ITEM
        elif below.kind == "table" or (below.kind == "code" and _last_mark(text, *block.span) in _COLONS):
            for start in _led_in(text, blocks, place):
                strength[bisect_left(edges, start)] = Strength.LEAD_IN


def _led_in(text: str, blocks: Sequence[Block], place: int) -> Iterator[int]:
    """Yield the start of a table or code below prose, and the starts of its labels, such as "June 30, 2023"."""
    while place and blocks[place - 1].kind in _PROSE and not _is_furniture(text, above := blocks[place - 1]):
        mark = _last_mark(text, *above.span)
        if mark in _STOPS and blocks[place].kind != "table":
            return
        yield blocks[place].span.start
        if mark in _STOPS + _COLONS or above.span.end - above.span.start > _LABEL:
            return
        place -= 1


def _last_mark(text: str, start: int, end: int) -> str:
    """Return the last character of a block besides brackets, quotation marks, and digits, else ""."""
    end = _text_end(text, start, end)
    return text[max(end - _CLOSING, start) : end].rstrip(_CLOSERS)[-1:]


def _is_whole(block: Block) -> bool:
    return block.kind in _UNCUT or (block.kind == "quote" and block.title is not None)


def _last_inside(text: str, block: Block) -> int:
    """Return the last offset that only the block's own edges may have: in its first character, label, or all of it."""
    start, end = block.span
    if block.kind == "heading" or _is_whole(block):  # such as "## 2. Methods"
        return end - 1
    first = start if not text[start].isspace() else next_non_space(text, start)
    is_unit = block.kind == "paragraph" and block.title is not None  # its title begins its text
    return min(first + len(block.title or ""), end - 1) if is_unit else first


def _strengths(text: str, blocks: Sequence[Block]) -> list[int]:
    """Return the strength of the edge before each block; what is on each page stays with the page before."""
    above: Block | None = None
    is_paged, strengths, has_tags = False, list[int](), "<" in text
    for place, block in enumerate(blocks):
        if block.kind == "furniture" or (has_tags and _is_furniture(text, block)):
            is_paged = True
            strengths.append(Strength.KEEP_WITH_NEXT if above and above.kind == "heading" else Strength.ITEM)
            continue
        if has_tags and above and (_is_tags(_OPENING_TAGS, text, above) or _is_tags(_CLOSING_TAGS, text, block)):
            strengths.append(Strength.KEEP_WITH_NEXT)
        elif block.kind == "heading" or (block.title is not None and block.kind in {"code", "caption"}):
            strengths.append(Strength.HEADING + max(6 - block.level, 0))
        elif above is None:
            strengths.append(Strength.BLOCK)
        elif above.kind == "heading" or (
            # The caption of the figure or table above it, unless another is below.
            block.kind == "caption"
            and blocks[place - 1].kind in _PROTECTED
            and (place + 1 == len(blocks) or blocks[place + 1].kind not in _CAPTIONED)
        ):
            strengths.append(Strength.KEEP_WITH_NEXT)
        else:
            is_next_page = is_paged or (bool(block.places) and _page(block, 0) > _page(above, -1))
            strengths.append(_between(text, above, block, is_next_page=is_next_page))
        above, is_paged = block, False
    return strengths


def _is_furniture(text: str, block: Block) -> bool:
    """Return True for what is on each page, and for comments."""
    may_be_comment = block.kind == "paragraph" and text.startswith("<!--", block.span.start)
    return block.kind == "furniture" or (may_be_comment and _COMMENT.fullmatch(text, *block.span) is not None)


def _is_tags(tags: re.Pattern[str], text: str, block: Block) -> bool:
    start, end = block.span
    return text.startswith("<", start) and block.kind == "paragraph" and tags.fullmatch(text, start, end) is not None


def _page(block: Block, place: int) -> int:
    return block.places[place].page if block.places else 0


def _between(text: str, above: Block, below: Block, *, is_next_page: bool) -> int:
    """Return the strength of the edge between two blocks, neither of which is a heading."""
    start, end = below.span.start, _text_end(text, *above.span)
    if _is_indented(text, below) and (above.kind == "item" or _is_indented(text, above)):
        return Strength.LINE
    is_name = text[end - 1] not in _STOPS and "\n" not in text[above.span.start : end]
    if below.kind == "quote" and below.title == "" and is_name:
        return Strength.KEEP_WITH_NEXT
    if below.kind not in _PROSE or above.kind not in _PROSE:
        return Strength.BLOCK
    is_item = below.kind == "item" or _ITEM.match(text, start) is not None
    if is_item and text[end - 1] in _COLONS:
        return Strength.KEEP_WITH_NEXT
    if is_item or text[end - 1] in _UNFINISHED or _CONTINUES.match(text, start):
        return Strength.ITEM
    return Strength.PAGE if is_next_page and _last_mark(text, *above.span) in _STOPS else Strength.BLOCK


def _is_indented(text: str, block: Block) -> bool:
    return text.startswith(("  ", "\t"), block.span.start) and block.kind != "item"


def _mark_lines(text: str, blocks: Sequence[Block], edges: Sequence[int], strength: list[int]) -> None:
    """Mark the edges at ends of lines inside a block most of whose lines end a unit, unless all units end a line."""
    ends = _line_ends(text)
    at_lines = [end for end in ends if edges[i := bisect_left(edges, end)] == end and strength[i] == Strength.SENTENCE]
    if not at_lines:
        return
    marked, inner = list[int](), 0
    for start, end in [block.span for block in blocks if block.kind in _PROSE] if blocks else [(0, len(text))]:
        inner += strength[bisect_right(edges, start) : bisect_left(edges, end)].count(Strength.SENTENCE)
        inside = at_lines[bisect_right(at_lines, start) : bisect_left(at_lines, end)]
        if inside and 2 * len(inside) > text.count("\n", start, _text_end(text, start, end)):
            marked += inside
    if len(marked) < inner:
        for edge in marked:
            strength[bisect_left(edges, edge)] = Strength.LINE


def prefer_layout(units: Units, segmentation: Segmentation, weight: float) -> Segmentation:
    """Move each cut to the edge that is best by its layout and its distance; cuts that meet become one.

    An edge at a distance of d tokens from the cut costs ``weight`` * c + d / (16 m), where m is the mean size of a
    unit. For the strongest edges c is 0, and for each weaker kind it is higher by ln(k / j), at most 1, if j edges are
    stronger and k at least as strong: a kind of which there are many says little about where a topic ends. Edges before
    headings are one kind, so no cut moves across one; those within sentences are one with those of sentences. If all
    edges are alike, no cut moves. A segment that would be below the minimum of the algorithm (``least``) ends later.
    Else cuts that were forced by size are left to `building.sizes.pack`, which takes the strongest edge near.
    """
    costs = layout_costs(units.strength[1:-1])
    if not weight or len(segmentation.cuts) < 3 or not np.any(costs):
        return segmentation
    total = np.cumsum(units.token_counts())
    costs, at = weight * costs, total[:-1] * len(units) / (max(int(total[-1]), 1) * _REACH)
    every, last = np.arange(len(costs)), len(costs) - 1
    # The best edge up to each edge, and from each edge on; the nearest of equals.
    below, above = costs - at, (costs + at)[::-1]
    before = np.maximum.accumulate(np.where(below == np.minimum.accumulate(below), every, 0))
    after = last - np.maximum.accumulate(np.where(above == np.minimum.accumulate(above), every, 0))[::-1]
    best = np.where(costs[before] + at - at[before] <= costs[after] + at[after] - at, before, after)
    reason = segmentation.reason
    if not isinstance(reason, str) and "forced" in reason:
        segmentation = segmentation.keep(np.flatnonzero([True, *(word != "forced" for word in reason), True]))
    cuts = segmentation.cuts.copy()
    cuts[1:-1] = best[cuts[1:-1] - 1] + 1
    if segmentation.least is not None:
        cuts[1:-1] = _keep_minimum(units, segmentation, cuts, costs, at)
    return _with_cuts(segmentation, cuts)


def _keep_minimum(units: Units, segmentation: Segmentation, moved: Ints, costs: Floats, at: Floats) -> list[int]:
    """Return the inner cuts as moved, but later where a segment would be below the minimum of the algorithm."""
    sizes, least = segmentation.least or (moved, 0)
    before, kept = np.r_[0, np.cumsum(sizes)], [0]
    for cut, target in zip(segmentation.cuts[1:-1].tolist(), moved[1:-1].tolist(), strict=True):
        place, first = target, int(np.searchsorted(before, before[kept[-1]] + least))
        if kept[-1] < place < first and units.strength[place] < Strength.HARD_BREAK:
            start = max(cut, first) - 1
            near = costs[start : start + _NEAR] + at[start : start + _NEAR]
            place = start + int(near.argmin()) + 1 if len(near) and np.isfinite(near).any() else kept[-1]
        kept.append(max(place, kept[-1]))
    return kept[1:]


def layout_costs(strength: Ints) -> Floats:
    """Return the cost of a cut at each edge (see `prefer_layout`); infinite at edges where none may be."""
    alike = np.where(strength < 0, strength, np.clip(strength, Strength.SENTENCE, Strength.HEADING))
    kinds, kind = np.unique(-alike, return_inverse=True)
    number = np.cumsum(np.bincount(kind))
    costs = np.cumsum(np.minimum(np.diff(np.log(number), prepend=np.log(number[:1])), 1.0))
    if len(kinds) > 1:
        costs[kinds > 0] = np.inf
    return np.asarray(costs[kind])


def _with_cuts(segmentation: Segmentation, moved: Ints) -> Segmentation:
    """Return a segmentation whose cuts have moved, in order; those that meet are one."""
    if (moved == segmentation.cuts).all():
        return segmentation
    cuts, first = np.unique(moved, return_index=True)
    last = np.r_[first[1:], len(moved)] - 1
    labels, old = segmentation.labels, ["", *segmentation.reasons, ""]
    stays = (segmentation.cuts == moved).tolist()
    groups = zip(first[1:-1].tolist(), last[1:-1].tolist(), strict=True)
    reasons = [next((old[k] for k in range(i, j + 1) if stays[k]), "layout") for i, j in groups]
    if labels is not None:
        labels = np.repeat(labels[segmentation.cuts[last[:-1]]], np.diff(cuts))
    return segmentation.keep(first, cuts=cuts, labels=labels, reason=reasons)


def keep_headings(units: Units, segmentation: Segmentation) -> Segmentation:
    """Move each cut between a heading or caption and what is below before the heading, except cuts that were forced."""
    edges = np.flatnonzero(units.strength < 0)[::-1].tolist()  # from the end: stacked headings move together
    if not edges:
        return segmentation
    cuts, labels, reason = segmentation.cuts.copy(), segmentation.labels, segmentation.reason
    forced = np.zeros(len(cuts), dtype=bool)
    if not isinstance(reason, str):
        forced[1:-1] = np.array(reason) == "forced"
    for edge in edges:
        cuts[(cuts == edge) & ~forced] = edge - 1
    if labels is not None:
        labels = labels.copy()
        for edge in edges:
            labels[edge - 1] = labels[edge]
    cuts, kept = np.unique(cuts, return_index=True)
    return segmentation.keep(kept, cuts=cuts, labels=labels)


def may_have_atoms(document: Document) -> bool:
    """Return True if a document is Markdown, as far as its reader says, with inline code, links, tags or formulas."""
    if document.blocks is None or document.markup not in {"", "markdown"}:
        return False
    return has_one(document.text, SIGNS) and has_atoms(document.text)


def plain_levels(document: Document, tiler: Tiler) -> dict[str, Any]:
    """Return the levels of prose as arguments of `Limits`; in Markdown, code, links, tags and formulas are cut last."""
    prose: Levels = (paragraphs, tiler, *WITHIN_SENTENCE)
    if may_have_atoms(document):
        clauses, words, *finer = WITHIN_SENTENCE
        kept = map(AtomKeeper, (tiler, clauses, words, graphemes))
        prose = (paragraphs, *kept, words, *finer)
    verbatim_levels = CODE if document.markup == "code" else VERBATIM
    return {"prose": prose, "verbatim": protected(document), "verbatim_levels": verbatim_levels}


def join_definitions(document: Document, limits: Limits) -> Document:
    """Return source code with each definition that fits in a chunk, and the comment above it, as one block."""
    blocks = document.blocks or ()
    units = from_ends(document.text, [block.span.start for block in blocks[1:]])
    runs = RunSizes(units, limits.counter, limits.more)
    joined, i = list[Block](), 0
    while i < len(blocks):
        first, start, end = i, blocks[i].span.start, i + 1
        if blocks[i].kind == "heading" and not blocks[i].title and end < len(blocks):
            first, end = i + 1, i + 2
        while blocks[first].kind == "heading" and end < len(blocks) and blocks[end].level > blocks[first].level:
            end += 1
        if runs.fits(i, end, limits.room(start)):
            span = Span(start, blocks[end - 1].span.end)
            joined.append(replace(blocks[first], kind="code", span=span))
        else:
            joined.append(blocks[i])
            end = i + 1
        i = end
    return replace(document, blocks=tuple(joined))


def section_path(document: Document, path: Sequence[str]) -> tuple[str, ...]:
    """Return a path of headings as it is written: in source code as one qualified name."""
    return (".".join(path),) if document.markup == "code" and path else tuple(path)


class OpenHeadings:
    """The headings that a place in a text is under, as level and title, while its blocks are read in order."""

    def __init__(self, text: str, above: Iterable[tuple[int, str]] = ()) -> None:
        self._text, self.open = text, tuple(above)

    def enter(self, block: Block) -> bool:
        """Read the next block, and return True if it begins a section."""
        if block.kind != "heading" and (block.title is None or block.kind not in _TITLED):
            return False
        kept = [(level, title) for level, title in self.open if level < block.level]
        self.open = (*kept, _heading(self._text, block))
        return True

    def path(self) -> tuple[str, ...]:
        """Return the titles, outermost first."""
        return tuple([title for _, title in self.open if title])


class Headings:
    """The headings of a document, and the definitions of source code, searched by offset. ``blocks`` are ascending;
    ``above`` has level and title of each heading that the text is under.
    """

    def __init__(self, text: str, blocks: Iterable[Block], above: Iterable[tuple[int, str]] = ()) -> None:
        self._lead = leading_space(text)
        headings = OpenHeadings(text, above)
        self._starts: list[int] = []
        self._paths: list[tuple[str, ...]] = [headings.path()]
        self._above: list[tuple[str, ...]] = []
        for block in blocks:
            if headings.enter(block):
                path = headings.path()
                self._above.append(path[:-1] if headings.open[-1][1] else path)
                self._starts.append(block.span.start)
                self._paths.append(path)

    def path(self, offset: int) -> tuple[str, ...]:
        """Return the headings that a character is under, innermost last; a heading is under itself."""
        return self._paths[bisect_right(self._starts, max(offset, self._lead))]

    def inside(self, span: Span) -> list[tuple[int, tuple[str, ...]]]:
        """Return the offset of each heading that starts in a span, but after its beginning, with the headings there."""
        first = bisect_right(self._starts, max(span.start, self._lead))
        last = bisect_left(self._starts, span.end)
        return list(zip(self._starts[first:last], self._paths[first + 1 : last + 1], strict=True))

    def above(self, offset: int) -> tuple[str, ...]:
        """Return the headings that a text starting at a character is under, without the one it starts with."""
        offset = max(offset, self._lead)
        place = bisect_right(self._starts, offset)
        return self._above[place - 1] if place and self._starts[place - 1] == offset else self._paths[place]


def with_inherited_headings(document: Document) -> Document:
    """Return a chunk that is chunked again under the headings that its ``title_path`` names."""
    path = written_metadata(document.metadata).get("title_path")
    if document.above or not isinstance(path, str) or document.markup == "code":
        return document
    titles, first = path.split(" > "), next(iter(document.blocks or ()), None)
    last = len(titles)
    if first is not None and first.kind in _TITLED and titles[-1] == _heading(document.text, first)[1]:
        titles, last = titles[:-1], first.level - 1
    levels = range(max(last - len(titles) + 1, 1), max(last, len(titles)) + 1)
    return replace(document, above=tuple(zip(levels, titles, strict=False)))


def _heading(text: str, block: Block) -> tuple[int, str]:
    """Return the level and the title of a heading."""
    return block.level, " ".join(text[slice(*block.span)].split()) if block.title is None else block.title


class Locator:
    """Locates spans in a document: headings above them, lines, places on pages, and what blocks say of themselves."""

    def __init__(self, document: Document) -> None:
        blocks, may_have_headings = document.blocks or (), bool(document.above)
        self._starts, self._ends = list[int](), list[int]()
        self._placed = list[tuple[BlockKind, tuple[Place, ...], Mapping[str, Any] | None]]()
        for block in blocks:
            may_have_headings = may_have_headings or block.kind == "heading" or block.title is not None
            if block.places or block.metadata or block.kind == "figure":
                for part in block.parts or (block,):
                    about = {**(block.metadata or {}), **(part.metadata or {})} if block.parts else block.metadata
                    self._placed.append((block.kind, part.places or block.places, about))
                    self._starts.append(part.span.start)
                    self._ends.append(part.span.end)
        self._headings = Headings(document.text, blocks, document.above) if may_have_headings else None
        self._plain = _plain_headings(document) if may_have_headings else frozenset()
        self._document = document
        has_lines = document.offsets is None and document.markup in _UNCHANGED
        self._line_starts = [0, *_line_ends(document.text)] if has_lines else []

    def __call__(self, spans: Sequence[Span]) -> dict[str, Any]:
        """Return metadata of spans.

        ``section`` and ``title_path`` are the headings that all spans start under, in source code the qualified name of
        the definition; ``start_line`` and ``end_line``, from 1, leave white space out, and are absent if a reader
        derived the text, with ``start_column`` and ``end_column`` in source code; ``page`` is the first, ``pages`` all,
        if several; ``boxes`` are [page, left, top, right, bottom]. Of the metadata of blocks, lists are united, and of
        other values the first is taken, or the last if the key begins with "end".
        """
        metadata: dict[str, Any] = {}
        if self._headings is not None and spans:
            paths = list(map(self._headings.path, [next_non_space(self._document.text, start) for start, _ in spans]))
            common = paths[0] if len(paths) == 1 else commonprefix(paths)  # noqa: RUF071 - it also works on tuples
            path = section_path(self._document, common)
            metadata |= {"section": path[-1], "title_path": " > ".join(path)} if path else {}
            metadata |= self._inner_headings(spans[0]) if len(spans) == 1 else {}
        if (starts := self._line_starts) and spans:
            text, (first, first_end), (last, last_end) = self._document.text, spans[0], spans[-1]
            start = min(first_end - len(text[first:first_end].lstrip()), first_end - 1)
            end = max(last + len(text[last:last_end].rstrip()) - 1, start)
            lines = bisect_right(starts, start), bisect_right(starts, end)
            metadata["start_line"], metadata["end_line"] = lines
            if self._document.markup == "code":
                columns = (offset - starts[line - 1] + 1 for offset, line in zip((start, end), lines, strict=True))
                metadata["start_column"], metadata["end_column"] = columns
        if not self._placed:
            return metadata
        places = ((bisect_right(self._ends, start), bisect_left(self._starts, end)) for start, end in spans)
        parts = [part for first, last in places for part in self._placed[first:last]]
        if figures := sum(kind == "figure" for kind, *_ in parts):
            metadata["figures"] = figures
        return metadata | _on_pages(places for _, places, _ in parts) | _united(about for *_, about in parts if about)

    def _inner_headings(self, span: Span) -> dict[str, str]:
        """Return the headings inside a chunk that its text alone does not show, as those of Markdown do."""
        inside = self._headings.inside(span) if self._headings and self._plain else []
        lines = [f"{start - span.start} {' > '.join(path)}" for start, path in inside if start in self._plain]
        return {"headings": "\n".join(lines)} if lines else {}


def _plain_headings(document: Document) -> frozenset[int]:
    """Return the starts of the headings of which a part of the text does not show that they are headings."""
    row = registry.find("reader", document.markup) if document.markup else None
    if document.markup == "code" or (row and hasattr(row.load(), "blocks")):
        return frozenset()
    kinds = ("heading", "paragraph") if not document.markup or document.outline else ("heading",)
    blocks = [block for block in document.blocks or () if block.kind in kinds]
    starts = (block.span.start for block in blocks if block.kind == "heading" or block.title is not None)
    return frozenset(start for start in starts if document.text[start] != "#")


def with_stated_headings(document: Document, headings: Iterable[tuple[int, tuple[str, ...]]]) -> Document:
    """Return the text of a chunk with a block for each heading in it, by offset, with the headings there."""
    blocks = list(document.blocks or ())
    for offset, path in headings:
        place = next((i for i, block in enumerate(blocks) if block.span.start <= offset < block.span.end), None)
        if place is None or blocks[place].kind not in ("paragraph", "heading", "item", "quote"):
            continue
        block, own = blocks[place], r"\s+".join(map(re.escape, path[-1].split()))
        line = re.compile(rf"{own}[ \t]*(?=[\r\n]|\Z)").match(document.text, offset, block.span.end)
        end = line.end() if line else block.span.end
        parts = [replace(block, span=Span(block.span.start, offset))] if block.span.start < offset else []
        parts.append(Block("heading" if line else "paragraph", Span(offset, end), len(path), path[-1]))
        parts += [replace(block, span=Span(end, block.span.end))] if document.text[end : block.span.end].strip() else []
        blocks[place : place + 1] = parts
    return replace(document, blocks=tuple(blocks))


def _on_pages(parts: Iterable[tuple[Place, ...]]) -> dict[str, Any]:
    """Return the pages of parts, given their places, and these."""
    places = dict.fromkeys(chain.from_iterable(parts))
    if not places:
        return {}
    pages = sorted({place.page for place in places})
    boxes = [[place.page, *place.box] for place in places if place.box]
    return {"page": pages[0]} | ({"pages": pages} if len(pages) > 1 else {}) | ({"boxes": boxes} if boxes else {})


def _united(parts: Iterable[Mapping[str, Any]]) -> dict[str, Any]:
    """Return the metadata of several blocks as one."""
    united = dict[str, Any]()
    for part in parts:
        for key, value in part.items():
            if isinstance(value, list):
                united[key] = united.get(key, []) + [item for item in value if item not in united.get(key, [])]
            elif key not in united or key.startswith("end"):
                united[key] = value
    return united


def inherited_metadata(metadata: Mapping[str, Any]) -> Mapping[str, Any]:
    """Return the metadata that parts of a chunk inherit: the user's, and the headings and the pages."""
    own = written_keys(metadata).keys() - _INHERITED
    return remove_written(metadata, own) if own else metadata


def _line_ends(text: str) -> list[int]:
    return [*map(re.Match.end, (_LINE_END if "\r" in text else _UNIX_LINE_END).finditer(text))]


def _text_end(text: str, start: int, end: int) -> int:
    """Return the end of ``text[start:end]`` without the white space after it."""
    return start + len(text[start:end].rstrip())
