"""Read the layout of Markdown: CommonMark with tables, display formulas and front matter, and what parsers of PDFs add.

That is HTML and LaTeX (`readers.embedded`), tables drawn with lines, footnotes, admonitions, captions, and the marks of
pages. markdown-it parses the blocks, but no links or emphasis, of the ranges in which a line has the pattern of a row
of `RULES`; other text is paragraphs. A row is all that a new kind of block needs. Two deviations: link definitions stay
paragraphs (a chunker must not lose them), and so do markers nested deeper than `_DEEPEST`, not to lose what follows.

Only thematic breaks, a byte order mark, and bare markers of quotes and items are in no block.
"""

from __future__ import annotations

import html
import re
from bisect import bisect_left, bisect_right
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from functools import cache, partial
from itertools import chain, groupby, pairwise
from typing import TYPE_CHECKING, Any, Literal, TypeAlias, get_args

from advchunk.readers import embedded
from advchunk.readers.embedded import MARKS, Inset
from advchunk.readers.front_matter import front_matter_metadata
from advchunk.records import Block, BlockKind, Document, Span
from advchunk.text.sentences import LEADER_SIGNS, LEADERS
from advchunk.text.tiling import flatten, has_one

if TYPE_CHECKING:
    from markdown_it import MarkdownIt
    from markdown_it.parser_block import RuleFuncBlockType
    from markdown_it.rules_block import StateBlock

# The tokens of markdown-it that are blocks here, and those of `push_block`.
_LEAVES: Mapping[str, BlockKind] = {
    "heading_open": "heading", "paragraph_open": "paragraph", "html_block": "paragraph", "code_block": "code",
    "fence": "code", **{kind: kind for kind in get_args(BlockKind)},
}  # fmt: skip

# An open quote counts 1, an open list 2. The parser recurses, three stack frames per level.
_DEEPEST = 40

# YAML as in Pandoc and Jekyll, whose first line is a key or a comment (else --- is a thematic break). TOML as in Hugo.
_YAML, _TOML = r"---[ \t]*\n(?=#|[^\n:]+:)", r"\+\+\+[ \t]*\n"
_FRONT_MATTER = re.compile(rf"(?:{_YAML}(?:[^\n]*\n)+?(?:---|\.\.\.)|{_TOML}(?:[^\n]*\n)+?\+\+\+)(?=[ \t]*(?:\n|\Z))")

# Display mathematics opens at the start of a line; the environments are those of amsmath and LaTeX.
FORMULA_ENVIRONMENT = (
    r"(?:equation|displaymath|math|multline|gather|gathered|align|aligned|alignat"
    r"|alignedat|flalign|eqnarray|subequations|split|cases|dmath|IEEEeqnarray|(?:small|[pbBvV])?matrix)\*?"
)
"""Pattern of the names of the environments that are display formulas."""
_FORMULA = rf"\$\$(?!\$)|\\\[|\\begin\{{(?P<environment>{FORMULA_ENVIRONMENT})\}}"
_FORMULA_OPENS = re.compile(_FORMULA)
_FORMULA_TAIL = re.compile(r"[ \t]*+[.,;]?[ \t]*+(?:\([^()]*\))?[ \t]*+")  # a comma, the number of the equation

_BLANK = re.compile(r"\n(?:[ \t]*\n)+")
_TITLE = 3  # most lines of an underlined heading

# The block of a heading includes the markers of enclosing quotes and items. A plain heading of another reader
# ("1. Introduction") must keep its number, so markers are only stripped before # or above an underline.
_ATX = re.compile(MARKS + r"#{1,6}(?=\s|\Z)")
_SETEXT = re.compile(MARKS + r"(?P<title>.*\S)\s*[\r\n][ \t>]*(?:=+|-+)[ \t]*", re.DOTALL)
_PLAIN_HEADING = re.compile(r"#{1,6}(?=[ \t\n]|\Z)[^\n]*+\n?")  # a line at the margin
_RangeKind: TypeAlias = Literal["paragraph", "heading", "parsed"]
_QUOTE_MARKS = re.compile(r"[\r\n][ \t>]*")

_MARKS, _INDENT = re.compile(MARKS), re.compile(r"[ \t]*")
# Headings of LaTeX and HTML.
_APOSTROPHE = re.compile(r"\\textquotesingle(?:\{\}|[ ]|(?![a-zA-Z]))")
_LATEX_HEADING = re.compile(
    MARKS + r"\\[a-z]+\*?[ ]?(?:\[[^\[\]\n]*+\])?"
    r"\{(?P<title>(?:[^{}]|\{(?:[^{}]|\{[^{}]*+\})*+\})++)\}(?:[ \t]*\\label\{[^{}\n]*+\})?"
)
_HTML_HEADING = re.compile(MARKS + r"<[hH][1-6](?![\w-])[^<>]*+>(?P<title>.*)</[hH][1-6] ?>", re.DOTALL)
_COMMAND = re.compile(r"\\(?:text(?:bf|it|tt|rm|sc)|emph|mbox|label\{[^{}]*+\})(?![a-zA-Z])|(?<!\\)[{}]")

# A caption has a label and a number, and no verb after them: "Table 3 shows" is prose.
_LABELS = (
    "Table|Tab\\.|Figure|Fig\\.?|Exhibit|Chart|Listing|Algorithm|Scheme|Box|Plate|TABLE|FIGURE|FIG\\.?|EXHIBIT|Tabelle|Abbildung|Abb\\."
    "|Tableau|Graphique|Tabla|Figura|Tabela|Tabella|Tabel|Taulukko|Tabell|Таблица|Рисунок|Рис\\.|Rysunek|表|图|圖|図|그림|표"
)
_CAPTION = re.compile(
    rf"[ \t]*(?:\*{{1,2}}|_{{1,2}}|<(?:b|strong|em|i|p|center|div|figcaption)\b[^<>\n]{{0,200}}>|\s)*+(?:{_LABELS})[ \xa0]*"  # noqa: E501
    r"(?:[A-Z]{0,2}\d+(?:[.–-]\d+)*+[a-z]?|[IVXLC]+(?!\w)|[A-Z](?!\w))(?:[ \t]*(?:[.:：。、—–|)*_]|(?=[\n\r]|\Z))|[ "
    r"\t]+(?=[^\Wa-z]|[(“\"]))"
)
# An entry of a table of contents ends with dots and a page number, or is a link to a heading.
_ENTRY = re.compile(rf"{LEADERS.pattern}|^{MARKS}\**\[[^\[\]\n]++\]\(\#[^()\n]*+\)\**[ \t]*+(?=\n|\Z)", re.MULTILINE)
_ENTRY_SIGNS = (*LEADER_SIGNS, "](#")
_FEW_ENTRIES = 3
_EMBEDS = "<", "\\", "\f", "}-", "![", *_ENTRY_SIGNS  # in an inset, a picture, a mark of a page, or an entry
_MAX_CAPTION = 600  # characters
_CAPTIONED: frozenset[BlockKind] = frozenset({"table", "figure", "code"})
_IMAGE_TAG = re.compile(r"<img\b", re.IGNORECASE)
_PICTURE = re.compile(r"(?:\s*+(?:!\[[^\[\]]*+\]\([^()\n]*+\)|<img\b[^<>]*+>))++\s*+", re.IGNORECASE)

# Inline Markdown in headings, a subset of CommonMark: titles are often code or plain text, so snake_case, 2*3*4,
# a[i][j], List<T> and \\(x\\) are left alone.
_BRACKETED = r"(?:[^\[\]]++|\[[^\[\]]*+\])*+"
_TARGET = r"""\(\s*+(?:<[^<>]*+>|(?:[^()\s<]++|\([^()\s]*+\))*+)(?:\s++(?:"[^"]*+"|'[^']*+'))?\s*+\)"""
_TAGS = "abbr|a|big|br|b|center|code|del|div|em|font|h[1-6]|hr|img|ins|i|kbd|mark|picture|p|small|source|span|strong|"
_MAX_TITLE = 2000  # characters; finding pairs of backticks takes quadratic time
_INLINE = re.compile(
    rf"""
    (?<!`)(?P<ticks>`++)(?P<code>.+?)(?<!`)(?P=ticks)(?!`)
  | \\(?P<escaped>[*_`<>\#])
  | !\[{_BRACKETED}\](?:{_TARGET}|\[[^\[\]]*+\])
  | (?<!\\)\[(?P<link>{_BRACKETED})\]{_TARGET}
  | (?<![\\\w])\[(?P<reference>{_BRACKETED})\]\[[^\[\]]*+\]
  | </?(?:{_TAGS}sub|sup|s|tt|u)(?:\s[^<>]*+)?/?> | <!--[^<>]*+(?<=--)>
  | (?<![\w*])(?P<stars>\*{{1,3}})(?P<starred>[^\s*][^*]*+)(?<=\S)(?P=stars)(?![\w*])
  | (?<!\w)(?P<bars>_{{1,3}})(?P<barred>[^\s_](?:[^_]|(?<=[^\W_])_(?=[^\W_]))*+)(?<=\S)(?P=bars)(?!\w)
    """,
    re.VERBOSE,
)


def blocks(text: str, *, is_start: bool = True, page: int | None = None) -> tuple[Block, ...]:
    """Return the blocks of a Markdown text, disjoint and in reading order; those of plain prose are its paragraphs.

    A block is whole lines, with its indentation and all markers, but without the last line end. A nested item is its
    own block. Only the start of a document can have front matter; a part of one may begin on a ``page``.
    """
    flat = flatten(text) if "\r" in text else text
    begin = int(is_start and flat.startswith("\ufeff"))
    layout = list[Block]()
    if is_start and flat.startswith(("---", "+++", "\ufeff")) and (front_end := front_matter_end(text)):
        layout.append(Block("code", Span(begin, front_end)))
        begin = front_end
    is_plain = page is None and not has_one(flat, _EMBEDS)
    insets = [] if is_plain else embedded.insets(flat)
    for start, end, kind in _ranges(flat, begin, insets):
        if kind == "parsed":
            is_plain = False
            layout += parse_blocks(flat, start, end, insets)
        elif kind == "heading":  # a line that begins with # signs
            line = flat[start:end].rstrip()
            level = len(line) - len(line.lstrip("#"))
            layout.append(Block(kind, Span(start, start + len(line)), level, heading_text(line)))
        elif span := trim(flat, start, end):
            layout.append(Block(kind, span))
    return tuple(layout) if is_plain else settle(flat, layout, insets, page)


def front_matter_end(text: str) -> int:
    """Return the end of the front matter of a text; 0 if it has none."""
    flat = flatten(text)
    front = _FRONT_MATTER.match(flat, int(flat.startswith("\ufeff")))
    return front.end() if front else 0


def read_metadata(text: str) -> dict[str, str]:
    """Return the metadata in the front matter of a text (`front_matter.front_matter_metadata`)."""
    return front_matter_metadata(text[: front_matter_end(text)])


def read(text: str, *, id: str = "", metadata: Mapping[str, Any] | None = None) -> Document:
    """Read a Markdown text with its layout."""
    return Document(text, id=id, blocks=blocks(text), metadata={**read_metadata(text), **(metadata or {})})


def parse_blocks(flat: str, start: int, end: int, insets: Sequence[Inset] | None = None) -> Iterator[Block]:
    """Yield the blocks of ``flat[start:end]`` according to the parser, given the insets of the whole text."""
    insets = embedded.insets(flat) if insets is None else insets
    source = flat[start:end]
    parser = _parser(RULES, _absent_rules(source))
    state = _state(parser, source, insets, start)
    lines = [*(start + line for line in state.env["lines"]), end]
    parser.block.tokenize(state, 0, state.lineMax)
    containers: list[str] = []  # open quotes and items, innermost last
    marker: int | None = None  # line of an item whose text has not begun
    for token in state.tokens:
        if token.type in {"blockquote_open", "list_item_open"}:
            containers.append(token.type)
            marker = token.map[0] if token.map and token.type == "list_item_open" else None
        elif token.type in {"blockquote_close", "list_item_close"}:
            containers.pop()
            marker = None
        elif (kind := _LEAVES.get(token.type)) and token.map:
            first, last = token.map
            if token.markup in {"=", "-"} and last - first > _TITLE + 1:
                kind = "paragraph"  # prose above a rule, which CommonMark parses as a heading
            level = int(token.tag[1:]) if kind == "heading" else 0
            if kind == "paragraph" and marker is not None:
                kind, level, first = "item", containers.count("list_item_open"), marker
            elif kind == "paragraph" and containers[-1:] == ["blockquote_open"]:
                kind = "quote"
            marker = None
            if span := trim(flat, lines[first], lines[last]):
                own = flat[slice(*span)]
                title = own if kind == "heading" else embedded.details_summary(own) if kind == "quote" else None
                yield Block(kind, span, level, title=None if title is None else heading_text(title))


def _state(parser: MarkdownIt, source: str, insets: Sequence[Inset], offset: int) -> StateBlock:
    """Return the state before the first line; insets of the whole text that begin or end in a line have their own."""
    from markdown_it.rules_block import StateBlock

    state, stop = StateBlock(source, parser, {}, []), offset + len(source)
    first, last = (bisect_left(insets, at, key=lambda inset: inset.start) for at in (offset, stop))
    local = [part._replace(start=part.start - offset, end=min(part.end, stop) - offset) for part in insets[first:last]]
    if inner := embedded.breaks(source, local):
        _break_lines(state, inner)
    lines = state.bMarks[: state.lineMax]
    numbers = [bisect_right(lines, inset.start) - 1 for inset in local]
    for line, inset in zip(numbers, local, strict=True):
        if inset.kind == "table" and line and state.sCount[line] > 3 and not state.isEmpty(line - 1):
            state.sCount[line] = 3  # else a paragraph continues with it
    state.env.update(lines=lines, insets={inset.start: inset for inset in local}, numbers=numbers)
    return state


def _break_lines(state: StateBlock, inner: Sequence[int]) -> None:
    """Begin a line at each of ascending offsets within lines, as indented as the text of the whole line."""
    rows = [*zip(state.bMarks, state.eMarks, state.tShift, state.sCount, state.bsCount, strict=True)]
    places = [bisect_right(state.bMarks, at, 0, state.lineMax) for at in inner]
    broken = list[tuple[int, int, int, int, int]]()
    for number, (start, end, *indents) in enumerate(rows, 1):
        first, last = bisect_left(places, number), bisect_right(places, number)
        cuts = inner[first:last] if number <= state.lineMax else []
        broken.append((start, cuts[0] if cuts else end, *indents))  # type: ignore[arg-type]  # three numbers
        mark = _MARKS.match(state.src, start, cuts[0]) if cuts else None
        column = len(mark[0].expandtabs(4)) if mark and mark[0].strip() else indents[1]
        for at, after in pairwise([*cuts, end] if cuts else []):
            begin = _INDENT.match(state.src, at, after).end()  # type: ignore[union-attr]  # it always matches
            broken.append((begin, after, 0, column, 0))
    state.bMarks, state.eMarks, state.tShift, state.sCount, state.bsCount = map(list, zip(*broken, strict=True))
    state.lineMax += len(inner)


def settle(flat: str, layout: Sequence[Block], insets: Sequence[Inset], page: int | None = None) -> tuple[Block, ...]:
    """Return the blocks of a text with their pages, and with captions, pictures and contents told from paragraphs."""
    layout = _with_contents(flat, layout)
    if "![" in flat or _IMAGE_TAG.search(flat):
        layout = [_as_picture(flat, block) for block in layout]
    if not _CAPTIONED.isdisjoint([block.kind for block in layout]):
        layout = [*_with_captions(flat, layout)]
    marks = embedded.page_marks(flat, insets)
    if marks or page is not None:
        layout = [*embedded.with_pages(flat, marks, layout, page)]
    return tuple(layout)


def _with_contents(flat: str, layout: Sequence[Block]) -> Sequence[Block]:
    """Return blocks, of which the entries of a table of contents are one, kept whole by its title."""
    if not has_one(flat, _ENTRY_SIGNS):
        return layout
    folded = list[Block]()
    for are_entries, run in groupby(layout, partial(_are_entries, flat)):
        blocks = [*run]
        span = Span(blocks[0].span.start, blocks[-1].span.end)
        if are_entries and len(_ENTRY.findall(flat, *span)) >= _FEW_ENTRIES:
            blocks = [Block("quote", span, title="")]
        folded += blocks
    return folded


def _are_entries(flat: str, block: Block) -> bool:
    """Return True for a paragraph or an item that ends with an entry of contents, as do half of its lines."""
    start, end = block.span
    last = flat.rfind("\n", start, end) + 1 or start
    if block.kind not in {"paragraph", "item"} or not _ENTRY.search(flat, last, end):
        return False
    return last == start or 2 * len(_ENTRY.findall(flat, start, end)) > flat.count("\n", start, end)


def _with_captions(flat: str, layout: Sequence[Block]) -> Iterator[Block]:
    """Yield blocks, of which paragraphs beside a table or figure may be captions."""
    for above, block, below in zip([None, *layout], layout, [*layout[1:], None], strict=False):
        at = None
        if block.kind == "paragraph" and below and below.kind in _CAPTIONED:
            at = _caption_above(flat, block)
        if block.kind == "paragraph" and at is None and above and above.kind in _CAPTIONED:
            at = block.span.start if _CAPTION.match(flat, *block.span) else None
        if at is None or block.span.end - at > _MAX_CAPTION:
            yield block
            continue
        if above_it := trim(flat, block.span.start, at):
            yield replace(block, span=above_it)
        yield replace(block, kind="caption", span=Span(at, block.span.end))


def _as_picture(flat: str, block: Block) -> Block:
    """Return a paragraph that is a picture as a figure, and any other block as it is."""
    is_picture = block.kind == "paragraph" and flat[block.span.start : block.span.start + 9].lstrip()[:1] in {"!", "<"}
    return replace(block, kind="figure") if is_picture and _PICTURE.fullmatch(flat, *block.span) else block


def _caption_above(flat: str, block: Block) -> int | None:
    """Return the offset of the caption that a paragraph ends with, in its last three lines; None if there is none."""
    start, end = block.span
    for _ in range(3):
        line = flat.rfind("\n", start, max(end, start)) + 1 or start
        if _CAPTION.match(flat, line, block.span.end):
            return line
        end = line - 1
    return None


def trim(flat: str, start: int, end: int) -> Span | None:
    """Return a range without blank lines around it, and without white space at its end; None if it is blank."""
    piece = flat[start:end].rstrip()
    if not piece:
        return None
    space = len(piece) - len(piece.lstrip())
    indented = piece.rfind("\n", 0, space) + 1 if space else 0
    return Span(start + indented, start + len(piece))


def _ranges(flat: str, begin: int, insets: Sequence[Inset]) -> list[tuple[int, int, _RangeKind]]:
    """Return start, end, and kind of plain paragraphs, of headings alone, and of the ranges between, for the parser."""
    # After a blank line only a list item, whose contents are indented by two columns or more, a fence or HTML can be
    # open; these may contain all that follows.
    text = "\n" + flat[begin:]
    opens, lasts = _patterns(RULES)
    lasting, opening = lasts.search(text), opens.search(text)
    limit = lasting.start() if lasting else len(text)
    ends = [inset.end - begin + 1 for inset in insets] if insets else []
    edges = [1, *chain.from_iterable(map(re.Match.span, _BLANK.finditer(text, 1))), len(text)]
    shift, ranges = begin - 1, list[tuple[int, int, _RangeKind]]()
    for start, end in zip(edges[::2], edges[1::2], strict=True):
        kind: _RangeKind = "paragraph"
        place = bisect_right(ends, start) if ends else 0
        is_embedded = place < len(ends) and insets[place].start - shift < end
        if text.startswith(("  ", "\t", " \t"), start) or end > limit or is_embedded:
            kind = "parsed"
        else:
            if opening and opening.start() < start - 1:
                opening = opens.search(text, start - 1)
            if opening and opening.start() < end:
                kind = "heading" if _PLAIN_HEADING.fullmatch(text, start, end) else "parsed"
        if kind == "parsed" and ranges and ranges[-1][2] == "parsed":
            ranges[-1] = ranges[-1][0], end + shift, kind
        else:
            ranges.append((start + shift, end + shift, kind))
    return ranges


def _match(pattern: re.Pattern[str], state: StateBlock, line: int) -> re.Match[str] | None:
    return pattern.match(state.src, state.bMarks[line] + state.tShift[line], state.eMarks[line])


def _parse_opening(opens: re.Pattern[str], rule: Rule, state: StateBlock, start: int, end: int, silent: bool) -> bool:
    """Apply a rule where a line opens its block and is not indented code."""
    is_open = _match(opens, state, start) is not None and (rule.indented or not state.is_code_block(start))
    return is_open and rule.parse is not None and rule.parse(state, start, end, silent)


def _parse_embedded(state: StateBlock, start: int, end: int, silent: bool) -> bool:
    """Parse an inset that `embedded.insets` has told; it ends the containers that it is not indented for."""
    inset = state.env["insets"].get(state.bMarks[start] + state.tShift[start])
    if inset is None or (state.is_code_block(start) and inset.kind != "table"):
        return False
    last = min(bisect_left(state.env["lines"], inset.end), end)
    return silent or push_block(state, inset.kind, start, last, f"h{inset.level}" if inset.level else "")


def _parse_html(state: StateBlock, start: int, end: int, silent: bool) -> bool:
    """Parse HTML up to a blank line or to the next inset."""
    from markdown_it.rules_block import html_block

    at = state.bMarks[start] + state.tShift[start]
    if not _KEEPS_ALL.match(state.src, at):
        numbers = state.env["numbers"]
        place = bisect_right(numbers, start)
        end = min(end, numbers[place]) if place < len(numbers) else end
    return html_block(state, start, end, silent)


def _parse_grid(state: StateBlock, start: int, end: int, silent: bool) -> bool:
    """Parse a table whose cells are drawn: lines that begin with "+" or "|", the last one a border."""
    line, last = start + 1, start
    while line < end and _match(_GRID, state, line) and state.sCount[line] >= state.blkIndent:
        last = line if _match(_BORDER, state, line) else last
        line += 1
    return last > start + 1 and (silent or push_block(state, "table", start, last + 1))


def _parse_dashes(state: StateBlock, start: int, end: int, silent: bool) -> bool:
    """Parse a table of Pandoc: a line of dashes in groups under its head, which may be between lines of dashes."""
    is_framed, rule = bool(_match(_DASHES, state, start)), start + 1
    last = min(start + _MAX_HEAD, end - 2) if is_framed else rule
    while rule < last and not state.isEmpty(rule) and not _match(_DASHES_OR_GROUPS, state, rule):
        rule += 1
    is_head = rule + 1 < end and rule > start + is_framed and _match(_DASH_GROUPS, state, rule)
    if not is_head or state.isEmpty(rule + 1):
        return False
    line = rule + 1
    while line < end and not _match(_DASHES, state, line) and (is_framed or not state.isEmpty(line)):
        is_outside = state.sCount[line] < state.blkIndent and not state.isEmpty(line)
        if is_outside or state.src.startswith("#", state.bMarks[line]):
            return False
        line += 1
    is_closed = line < end and _match(_DASHES, state, line) is not None
    return (is_closed or not is_framed) and (silent or push_block(state, "table", start, line + is_closed))


def _parse_footnote(state: StateBlock, start: int, end: int, silent: bool) -> bool:
    if silent:
        return True
    line = _past_lines(state, start + 1, end)
    while (after := state.skipEmptyLines(line)) < end and state.sCount[after] - state.blkIndent >= 2:
        line = _past_lines(state, after + 1, end)
    return push_block(state, "footnote", start, line)


def _parse_admonition(state: StateBlock, start: int, end: int, silent: bool) -> bool:
    """Parse an admonition of Material or docutils whose indented text is one paragraph; else its first line."""
    if silent:
        return True
    line = start + 1
    while line < end and not state.isEmpty(line) and state.sCount[line] - state.blkIndent >= 4:
        line += 1
    after = state.skipEmptyLines(line)
    if after >= end or state.sCount[after] - state.blkIndent < 4:
        return push_block(state, "quote", start, line)
    push_block(state, "quote", start, start + 1)
    while (after := state.skipEmptyLines(line)) < end and state.sCount[after] - state.blkIndent >= 4:
        line = after + 1
    indent, state.blkIndent = state.blkIndent, state.blkIndent + 4
    state.md.block.tokenize(state, start + 1, line)
    state.blkIndent = indent
    state.line = line
    return True


def _parse_div(state: StateBlock, start: int, end: int, silent: bool) -> bool:
    """Parse a fenced div of Pandoc whose text is one paragraph; else the fence alone."""
    if silent:
        return True
    line = start + 1
    while line < end and not state.isEmpty(line) and state.sCount[line] >= state.blkIndent:
        if _match(_DIV_CLOSES, state, line):
            return push_block(state, "quote", start, line + 1)
        if _match(_DIV_MEANS, state, line):
            break
        line += 1
    return push_block(state, "paragraph", start, start + 1)


def _past_lines(state: StateBlock, line: int, end: int, kind: Literal["paragraph", "table"] = "paragraph") -> int:
    """Return the line at which a paragraph or a table ends."""
    ends = state.md.block.ruler.getRules("blockquote" if kind == "table" else kind)
    parent, state.parentType = state.parentType, kind  # else a list ends it only if no paragraph is before
    while line < end and not state.isEmpty(line):
        is_outside = kind == "table" and (state.sCount[line] < state.blkIndent or state.is_code_block(line))
        if is_outside or any(rule(state, line, end, True) for rule in ends):
            break
        line += 1
    state.parentType = parent
    return line


def _limit_depth(rule: RuleFuncBlockType, state: StateBlock, start: int, end: int, silent: bool) -> bool:
    """Apply the rule of a container unless it is nested `_DEEPEST` deep."""
    return (silent or state.level < _DEEPEST) and rule(state, start, end, silent)


def _parse_table(state: StateBlock, start: int, end: int, silent: bool) -> bool:
    """Parse the rows of a table, not its cells: markdown-it's tokens for cells take ten times as long."""
    from markdown_it.rules_block import table

    head = table(state, start, end, True)
    if silent or not head:
        return head
    return push_block(state, "table", start, _past_lines(state, start + 2, end, "table"))


def _parse_formula(state: StateBlock, start: int, end: int, silent: bool) -> bool:
    """Parse a display formula, which must close before a blank line, and at the end of a line."""
    opening = _match(_FORMULA_OPENS, state, start)
    if opening is None:
        return False
    name = opening["environment"]
    closing = f"\\end{{{name}}}" if name else {"$$": "$$", "\\[": "\\]"}[opening[0]]
    indent = min(state.blkIndent, state.sCount[start])  # less than that of the item if the formula ends the item
    # Where one search failed, lines within its range are not searched again, which would take quadratic time.
    search = f"{closing} {indent} {end}"
    since, until = state.env.get(search, (0, 0))
    if since <= start < until:
        return False
    at, line = opening.end(), start
    while (close := state.src.find(closing, at, state.eMarks[line])) < 0:
        line += 1
        if line >= end or state.isEmpty(line) or state.sCount[line] < indent:
            break
        at = state.bMarks[line] + state.tShift[line]
    if close < 0 or not _FORMULA_TAIL.fullmatch(state.src, close + len(closing), state.eMarks[line]):
        state.env[search] = start, line
        return False
    return silent or push_block(state, "formula", start, line + 1)


def push_block(state: StateBlock, kind: BlockKind, start: int, end: int, tag: str = "") -> bool:
    """Make the lines from ``start`` to ``end`` a block, at the end of a rule; ``tag`` is h1 to h6 for a heading."""
    state.line = end
    state.push(kind, tag, 0).map = [start, end]
    return True


@dataclass(frozen=True, eq=False)
class Rule:
    """A kind of block, and how the parser finds it; patterns are for a line after three spaces or less, perhaps ">"."""

    name: str  # that of markdown-it's rule if ``parse`` is None
    opens: str  # pattern of the lines at which the rule is applied; any group is named
    interrupts: tuple[Literal["paragraph", "blockquote", "list"], ...] = ()  # ended without a blank line between
    parse: RuleFuncBlockType | None = None  # as markdown-it calls it; `push_block` ends it
    lasts: str = ""  # pattern of the lines that begin a block which may contain blank lines
    nests: bool = False  # contains others, at most `_DEEPEST` deep
    second_line: bool = False  # ``opens`` matches the second line of the block or a later one, such as an underline
    indented: bool = False  # is tried in lines that are indented like code, too
    signs: tuple[str, ...] = ()  # strings one of which is in every block


# In the order in which they are tried; what no rule accepts is a paragraph.
_END, _SPACE = r"[ \t]*(?=\n|\Z)", r"(?=[ \t\n]|\Z)"
_FENCE, _RAW_HTML = "```|~~~", "<(?:[!?]|(?i:script|pre|style|textarea))"
_EVERY: tuple[Literal["paragraph", "blockquote", "list"], ...] = ("paragraph", "blockquote", "list")
_NO_LIST = _EVERY[:2]
_GRID, _BORDER = re.compile(r"[+|]"), re.compile(rf"\+(?:[-=:]++\+)++{_END}")
_DASHES, _DASH_GROUPS = (
    re.compile(rf"{least}(?:[ \t]++-{{2,}}){more}[ \t]*+\Z") for least, more in (("-{3,}", "*+"), ("-{2,}", "++"))
)
_DASHES_OR_GROUPS, _MAX_HEAD = re.compile(f"{_DASHES.pattern}|{_DASH_GROUPS.pattern}"), 8
_KEEPS_ALL = re.compile(_RAW_HTML)
_DIV = r":{3,}(?:[ \t]*\{[^\n]*|[ \t]*[a-zA-Z][^\n]*|[ \t]*(?=\n|\Z))"
_DIV_CLOSES, _DIV_MEANS = re.compile(r":{3,}[ \t]*(?=\n|\Z)"), re.compile(r"[#>|:`~<]|[-+*][ \t]|[0-9]{1,9}[.)][ \t]")
RULES: tuple[Rule, ...] = (
    Rule(
        "embedded", r"<[a-zA-Z/!]|\\[a-zA-Z]|\{\d+\}-", _EVERY, _parse_embedded, indented=True, signs=("<", "\\", "}-")
    ),
    Rule("grid", rf"\+(?:[-=:]+\+)+{_END}", _EVERY, _parse_grid, signs=("+-", "+=", "+:")),
    Rule("dashes", rf"-{{2,}}(?:[ \t]+-{{2,}})+{_END}", _EVERY, _parse_dashes, second_line=True),
    Rule("footnote", r"\[\^[^\]\s]+\]:", _EVERY, _parse_footnote, signs=("[^",)),
    Rule("admonition", r"(?:!!!|\?\?\?\+?)[ \t]+[a-zA-Z]", _EVERY, _parse_admonition, signs=("!!!", "???")),
    Rule("div", _DIV, _EVERY, _parse_div, signs=(":::",)),
    Rule("table", rf"[-|:][-|: \t]*{_END}", ("paragraph",), _parse_table, second_line=True),
    Rule("code", r"[ \t]++[^\n]"),
    Rule("formula", _FORMULA, _EVERY, _parse_formula, signs=("$$", "\\[", "\\begin")),
    Rule("fence", _FENCE, _EVERY, lasts=_FENCE, signs=("```", "~~~")),
    Rule("blockquote", ">", _EVERY, nests=True, signs=(">",)),
    Rule("hr", rf"[-*_][-*_ \t]*{_END}", _EVERY),
    Rule("list_block", rf"(?:[-+*]|[0-9]{{1,9}}[.)]){_SPACE}", _NO_LIST, nests=True),
    Rule("html_block", f"<[a-zA-Z/]|{_RAW_HTML}", _NO_LIST, _parse_html, lasts=_RAW_HTML, signs=("<",)),
    Rule("heading", rf"#{{1,6}}{_SPACE}", _NO_LIST, signs=("#",)),
    Rule("lheading", f"(?:=+|-+){_END}", second_line=True),
)


@cache
def _second_line(opens: str) -> re.Pattern[str]:
    """Return the pattern of a line that is not the first one of a text."""
    return re.compile(rf"\n[ \t>]*+(?:{opens})")


def _absent_rules(source: str) -> tuple[Rule, ...]:
    """Return the rules whose blocks are not in a text, as far as searches tell that are much faster than the parser."""
    by_signs = [rule for rule in RULES if rule.signs and not has_one(source, rule.signs)]
    others = [rule for rule in RULES if rule.second_line and not rule.signs]
    return (*by_signs, *(rule for rule in others if not _second_line(rule.opens).search(source)))


@cache
def _patterns(rules: tuple[Rule, ...]) -> tuple[re.Pattern[str], re.Pattern[str]]:
    """Return patterns of the lines in whose range the parser is needed, and of those from which on it is needed."""
    opens, lasts = "|".join(rule.opens for rule in rules), "|".join(rule.lasts for rule in rules if rule.lasts)
    return re.compile(rf"\n {{0,3}}+(?:{opens})"), re.compile(rf"\n {{0,3}}+(?:{lasts})")


@cache
def _parser(rules: tuple[Rule, ...], absent: tuple[Rule, ...]) -> MarkdownIt:
    """Return a parser that applies the rules except for the absent ones, which no line of its text needs."""
    from markdown_it import MarkdownIt, rules_block
    from markdown_it.ruler import Ruler

    parser = MarkdownIt("commonmark", {"maxNesting": 2 * _DEEPEST})
    parser.core.ruler.enableOnly(["normalize", "block"])
    ruler: Ruler[RuleFuncBlockType] = Ruler()
    parser.block.ruler = ruler
    for rule in rules:
        if rule not in absent:
            parse = rule.parse or getattr(rules_block, rule.name)
            if rule.parse and not rule.second_line:
                parse = partial(_parse_opening, re.compile(rule.opens), rule)
            if rule.nests:
                parse = partial(_limit_depth, parse)
            ruler.push(rule.name, parse, {"alt": [*rule.interrupts]})
    ruler.push("paragraph", rules_block.paragraph)
    return parser


def heading_text(source: str) -> str:
    """Return the text of a heading without its Markdown; its source if nothing is left, or if it is very long."""
    title = source
    if atx := _ATX.match(source):
        title = source[atx.end() :].rstrip()
        bare = title.rstrip("#")
        title = title if bare[-1:].strip() else bare  # closing #'s must follow white space
    elif setext := _SETEXT.fullmatch(source):
        title = _QUOTE_MARKS.sub(" ", setext["title"])
    elif latex := _LATEX_HEADING.fullmatch(source):
        title = _APOSTROPHE.sub("'", latex["title"])
        title = re.sub(r"\\([&%#_$])", r"\1", _COMMAND.sub("", title))
    elif tagged := _HTML_HEADING.fullmatch(source):
        title = html.unescape(tagged["title"])
    title = " ".join(title.split())
    if len(title) > _MAX_TITLE:
        return title
    return " ".join(_INLINE.sub(_inner_text, title).split()) or title


def _inner_text(match: re.Match[str]) -> str:
    kind = match.lastgroup
    inner = match[kind] if kind else ""  # "" for an image or a tag
    return inner if kind in {"code", "escaped"} else _INLINE.sub(_inner_text, inner)
