r"""Tables and formulas as text: their rows, cells and heads, in Markdown, HTML, LaTeX, and drawn with lines.

A table has one `Form`. Its tilers cut between rows, then between cells; what is left is prose. Tags, braces and
environments that are not closed count for nothing, so half a table has rows, too. All work is linear in the text.
"""

import html
import re
from collections import Counter
from collections.abc import Iterator, Sequence
from functools import partial
from itertools import accumulate, pairwise
from typing import Literal, NamedTuple, TypeAlias

from advchunk.records import Units
from advchunk.text import asciidoc, separated
from advchunk.text.tiling import RowTiler, Tiler, from_ends, leading_space, lines, owning_space

Form: TypeAlias = Literal[
    "pipes", "html", "latex", "asciidoc", "grid", "dashes", "commas", "semicolons", "tabs", "bars", "carets", "tildes", "lines"  # noqa: E501
]  # fmt: skip
"""How a table is written; "grid" and "dashes" are those of Pandoc, "lines" has no mark of rows but line ends."""

_NESTED = 3  # tables in each other that are cut between rows
_KEY = 8  # words of the key of a row
_MAX_COLUMNS = 100  # that one cell of a head may span
_MAX_HEAD = 5  # rows of a LaTeX head without \midrule

# Pipes and lines.
_CELL_END = re.compile(r"(?<!\\)\|")
_RULE = re.compile(r"[>\s]*\|?(?:\s*:?-+:?\s*[|+])+(?:\s*:?-+:?\s*\|?)?")  # in Org with "+" between columns
_BORDER = re.compile(r"[ \t>]*\+(?:[-=:]++\+)++[ \t]*")
_DASHES = re.compile(r"[ \t>]*(?:-{2,}(?:[ \t]++-{2,})*+|=++(?:[ \t]++=++)*+)[ \t]*")  # in reStructuredText "="
_DASH_RUN, _BLANK_LINE = re.compile("-{2,}|=+"), re.compile(r"\n[ \t>]*\n")

# HTML. A quoted value may contain ">", but no "<".
_ATTRIBUTES = r"""(?:[^<>"']|"[^"<]*+"|'[^'<]*+'|["'])*+"""
_HTML_TOKEN = re.compile(
    rf"<!--|<!\[CDATA\[|<(?P<close>/?)(?P<name>table|tr|t[dh]|thead|tbody|tfoot|caption|br|p|li|div)(?![\w-])"
    rf"(?P<attributes>{_ATTRIBUTES})>",
    re.IGNORECASE,
)
_HTML_ROW = re.compile(r"</?(?:tr|t[dh])(?![\w-])", re.IGNORECASE)
_NESTED_TABLE = re.compile(r"<table(?![\w-])", re.IGNORECASE)
_SPAN = {kind: re.compile(rf"""\b{kind}\s*=\s*["']?\s*(\d{{1,4}})""", re.IGNORECASE) for kind in ("rowspan", "colspan")}
_ANY_TAG = re.compile(rf"<!--|-->|</?[a-zA-Z]{_ATTRIBUTES}>")
_ROWS_BEGIN = frozenset({"tr", "thead", "tbody", "tfoot", "caption"})

# LaTeX. An unescaped percent sign is a comment only if no cell or row ends after it: parsers do not escape it.
_TABLE_ENVIRONMENTS = (
    r"(?:tabular[xy*]?|tabulary|longtable\*?|long(?:tabu|tblr)|supertabular|array|t(?:abu|blr)|NiceTabular)"
)
TABLE_ENVIRONMENT = rf"(?:{_TABLE_ENVIRONMENTS}|(?:side(?:ways)?|wrap)?table\*?|threeparttable)"
"""Pattern of the names of the environments that are tables or have one."""
_LATEX_TABLE = re.compile(rf"\\begin\{{{TABLE_ENVIRONMENT}\}}")
_LATEX_TOKEN = re.compile(
    r"(?P<row>\\\\\*?(?:\[[^\[\]\n]{0,30}\])?|\\(?:tabularnewline|cr)(?![a-zA-Z]))"
    r"|\\(?P<kind>begin|end)\{(?P<name>[a-zA-Z]+\*?)\}"
    r"|\\[a-zA-Z]+|\\.|(?P<comment>%[^\n&\\]*+(?=\n|\Z))|(?P<mark>[{}&])",
    re.DOTALL,
)
_LATEX_RULE = (
    r"(?:\s*+\\(?P<rule>hline|midrule|toprule|bottomrule|cline|cmidrule|addlinespace|specialrule|morecmidrules|hdashline"
    r"|endfirsthead|endhead|endlastfoot|endfoot|noalign|pagebreak|nopagebreak)(?![a-zA-Z])"
    r"(?:\*|\[[^\[\]\n]*+\]|\([^()\n]*+\)|\{[^{}\n]*+\})*+|\s*+(?<!\\)%[^\n&\\]*+(?=\n|\Z))"
)
_LATEX_RULES, _LATEX_RUN = re.compile(f"{_LATEX_RULE}*+"), re.compile(f"{_LATEX_RULE}++")
_HEAD_RULE = re.compile(r"\\(?:hline|midrule|endhead|endfirsthead)(?![a-zA-Z])")
_TAIL = re.compile(
    r"(?:\s|\\end\{[a-zA-Z]+\*?\}|\\(?:label|caption)(?:\[[^\[\]]*+\])?\{[^{}]*+\}|[${}]|\\[\]a-zA-Z]+)*+"
)
_MULTIROW = re.compile(r"\\multirow(?:\[[^\[\]\n]*+\])?\{\s*(\d{1,4})\s*\}")
_MULTICOLUMN = re.compile(r"\\multicolumn\{\s*(\d{1,4})\s*\}\{[^{}]*+(?:\{[^{}]*+\}[^{}]*+)*+\}")
_MULTI = re.compile(r"\\multirow(?:\[[^\[\]\n]*+\])?\{\s*\d{1,4}\s*\}(?:\[[^\[\]\n]*+\])?\{[^{}]*+\}")
_PREAMBLE = re.compile(
    rf"\\begin\{{{TABLE_ENVIRONMENT}\}}(?:\[[^\[\]]*+\])?(?:\{{(?:[^{{}}]|\{{[^{{}}]*+\}})*+\}}){{0,2}}(?:\{{ \}})?"
    r"|\\(?:centering|small|footnotesize|scriptsize|tiny|normalsize|raggedright|label\{[^{}]*+\})(?![a-zA-Z])"
)
_CAPTION = re.compile(r"\\caption\*?(?:\[[^\[\]]*+\])?\{")
_COMMAND = re.compile(
    r"\\(?:textbf|textit|emph|text|textrm|makecell|thead|mathbf|mathrm|bf|shortstack)(?![a-zA-Z])\s*+"
)


class Head(NamedTuple):
    """The caption of a table, without markup, the texts of each header row, and the offset where its head ends."""

    caption: str = ""
    rows: Sequence[Sequence[str]] = ()
    end: int = 0

    def text(self) -> str:
        """Write the header rows as Markdown."""
        if not self.rows:
            return ""
        return "\n".join(f"| {' | '.join(row)} |" for row in [*self.rows, ["---"] * len(self.rows[-1])])

    def columns(self) -> list[list[str]]:
        """Return the words above each column that has some."""
        columns = zip(*_even([[*row] for row in self.rows]), strict=True)
        return [words for column in columns if (words := " ".join(dict.fromkeys(column)).split())]

    def line(self, words: int, cells: int | None = None) -> str:
        """Write the head in one line, with at most so many words of a column, and so many columns."""
        return f"| {' | '.join(' '.join(column[:words]) for column in self.columns()[:cells])} |"

    def own(self, first: int, most: int) -> "Head":
        """Return the head of the first column, and of at most ``most`` others from ``first`` >= 1 on."""
        return self._replace(rows=[[*row[:1], *row[first : first + most]] for row in self.rows])

    @property
    def most_words(self) -> int:
        """The words above the column that has the most."""
        return max(map(len, self.columns()), default=0)


class _Row(NamedTuple):
    """A row of a table: its span, how many rows its cells span, and whether it is of the head."""

    start: int
    end: int
    span: int = 1
    is_head: bool = False


def form(text: str) -> Form:
    """Return the form in which a table is written."""
    if asciidoc.is_table(text):
        return "asciidoc"
    tag, environment = _HTML_ROW.search(text), _LATEX_TABLE.search(text)
    rule = next((at for at, line in _line_spans(text) if _RULE.fullmatch(line.rstrip())), len(text))
    if environment and environment.start() < min(rule, tag.start() if tag else rule):
        return "latex"
    if tag and tag.start() < rule:
        return "html"
    if rule < len(text):
        return "pipes"
    if _BORDER.fullmatch(text.strip().partition("\n")[0].rstrip()):
        return "grid"
    return "dashes" if any(_is_dashed(line) for _, line in _line_spans(text)) else separated.separation(text) or "lines"


def tilers(kind: Form) -> tuple[Tiler, ...]:
    """Return the tilers of a table, coarsest first: rows that belong together, rows, cells, nested ones."""
    own = tuple(RowTiler(partial(split, kind=kind)) for split in (groups, rows, cells))
    return (*own, RowTiler(cell_parts)) * _NESTED if kind == "html" else own * (_NESTED if kind == "latex" else 1)


def groups(text: str, kind: Form) -> Units:
    """Split between rows, but keep the head with the first row, and rows together that a cell spans."""
    ends, reach = list[int](), 0
    table = _rows(text, kind)
    for number, row in enumerate(table):
        reach = max(reach, number + row.span + row.is_head)
        if reach <= number + 1:
            ends.append(row.end)
    return from_ends(text, ends)


def rows(text: str, kind: Form) -> Units:
    r"""Split between rows; what is between two belongs to the second, but closing tags and rules to the first.

    >>> rows("<table><tr><td>a</td></tr><tr><td>b</td></tr></table>", "html").strings()
    ['<table><tr><td>a</td></tr>', '<tr><td>b</td></tr></table>']
    """
    return from_ends(text, [row.end for row in _rows(text, kind)])


def cells(text: str, kind: Form) -> Units:
    """Split between the cells of rows."""
    if kind == "html":
        tags = [tag for tag in _html_tags(text) if tag.name in {"td", "th"} and not tag.close]
        depth = min((tag.depth for tag in tags), default=0)
        return owning_space(text, [tag.start for tag in tags if tag.depth == depth][1:])
    if kind == "latex":
        marks, depth = _latex_marks(text)
        return from_ends(text, [mark.start for mark in marks if mark.is_cell and mark.depth == depth and mark.start])
    if kind == "asciidoc":
        return from_ends(text, asciidoc.cell_starts(text))
    if kind == "pipes":
        ends = (match.start() for match in _CELL_END.finditer(text))
        starts = {at + len(line) - len(line.lstrip("> \t")) for at, line in _line_spans(text)}
        return from_ends(text, [end for end in ends if end not in starts and text[end + 1 : end + 99].strip()])
    return from_ends(text, separated.cell_ends(text, kind)) if kind in separated.SEPARATORS else lines(text)


def cell_parts(text: str) -> Units:
    """Split the contents of a cell of HTML at its paragraphs, line breaks and nested tables."""
    tags, ends, last = list(_html_tags(text)), list[int](), 0
    first = next((tag for tag in tags if tag.name in {"td", "th"} and not tag.close), None)
    depth = first.depth if first and not _ANY_TAG.sub("", text[: first.start]).strip() else 0
    for tag in tags:
        if tag.depth != depth or tag.name not in {"table", "p", "li", "div", "br"}:
            continue
        end = tag.end if tag.close or tag.name == "br" else tag.start
        if _ANY_TAG.sub("", text[last:end]).strip():
            ends.append(end)
            last = end
    if ends and not _ANY_TAG.sub("", text[ends[-1] :]).strip():
        ends.pop()
    return owning_space(text, ends)


def formula_rows(text: str) -> Units:
    """Split a formula after its line breaks."""
    return from_ends(text, [row.end for row in _latex_rows(text)])


def head(text: str, kind: Form | None = None) -> Head:
    """Return the head of a table: the rows above the rule of a pipe table or the first rule in LaTeX, the leading ones
    in ``thead`` or of ``th`` alone; if there are none, the first row. A table of lines alone has no head.
    """
    kind = form(text) if kind is None else kind
    if kind == "asciidoc":
        caption, names, end = asciidoc.header(text)
        return Head(caption, [names] if names else [], end)
    if kind in {"html", "grid", "dashes"}:
        return {"html": _html_head, "grid": _grid_head, "dashes": _dashed_head}[kind](text)
    caption, _ = _without_caption(text) if kind == "latex" else ("", text)
    heads = [row for row in _rows(text, kind) if row.is_head]
    parts = [_without_caption(text[row.start : row.end])[1] for row in heads]
    lines = ((part, part.rstrip()) for part in parts)
    header = [_values(p, kind) for p, s in lines if not (_RULE.fullmatch(s) or _ANY_TAG.fullmatch(s.lstrip("> \t")))]
    if kind == "latex":
        header = _even(header)
    return Head(caption, header, heads[-1].end) if header else Head(caption)


def row_starts(text: str, kind: Form) -> list[int]:
    """Return the offsets at which the rows of a table begin."""
    return [row.start for row in _rows(text, kind)] or [0]


def keyed_cells(row: str, kind: Form) -> tuple[str, list[int]]:
    """Return the key of a row, the text of its first cell, and the offsets at which its cells begin."""
    key = next(iter(_values(row, kind)), "").split()
    return " ".join(key[:_KEY]), cells(row, kind).edges[:-1].tolist()


def opening(text: str, end: int, kind: Form) -> Head:
    """Return the cells before an offset as a head, for a piece that begins in the head or has none."""
    is_later = kind in separated.SEPARATORS and next(separated.records(text, kind))[1] < end
    row = [cell for cell in _values(text[:end], kind) if cell and not is_later]
    return Head("", [row[:_MAX_COLUMNS]] if row else [])


def _values(text: str, kind: Form) -> list[str]:
    """Return the texts of the cells of a row; one of LaTeX that spans columns is followed by empty ones."""
    if kind == "html":
        return [plain_html(cell) for cell in cells(text, kind).strings()]
    if kind == "latex":
        return _latex_values(text)
    if kind in separated.SEPARATORS:
        return [" ".join(value.split()).replace("|", "\\|") for value in separated.values(text, kind)]
    if kind != "pipes":
        return []
    line = text.lstrip("> \t\r\n").split("\n", 1)[0].rstrip()
    row = [cell.strip() for cell in _CELL_END.split(line.removeprefix("|"))]
    return row if row[-1] or len(row) == 1 else row[:-1]


def _rows(text: str, kind: Form) -> list[_Row]:
    read = {"html": _html_rows, "latex": _latex_rows, "dashes": _dashed_rows}
    if kind in read:
        return read[kind](text)
    if kind in separated.SEPARATORS:
        is_head = separated.has_head(text, kind)
        return [_Row(*span, 1, is_head and not i) for i, span in enumerate(separated.records(text, kind))]
    if kind == "asciidoc":
        return [_Row(*span, 1, not i) for i, span in enumerate(asciidoc.row_spans(text))]
    own = _line_rows(text)
    if kind == "pipes":
        rule = next((i for i, row in enumerate(own) if _RULE.fullmatch(text[row.start : row.end].rstrip())), -1)
        return [row._replace(is_head=i <= rule) for i, row in enumerate(own)]
    return _grid_rows(text) if kind == "grid" else own


def _line_rows(text: str) -> list[_Row]:
    return [_Row(at, at + len(line)) for at, line in _line_spans(text)]


def _line_spans(text: str) -> Iterator[tuple[int, str]]:
    """Yield the offset and the text of each line, with the blank lines after it."""
    edges = lines(text).edges.tolist()
    return ((start, text[start:end]) for start, end in pairwise(edges))


# HTML.


class _Tag(NamedTuple):
    """A tag; ``depth`` is the number of tables around it that begin in the text, less those that only end there."""

    start: int
    end: int
    name: str
    close: bool
    attributes: str
    depth: int


def _html_tags(text: str) -> Iterator[_Tag]:
    """Yield the tags of tables and paragraphs outside of comments; a comment that does not end is none."""
    depth, at, unclosed = 0, 0, set[str]()
    for match in _HTML_TOKEN.finditer(text):
        if match.start() < at:
            continue
        if match["name"] is None:
            closing = "-->" if match[0] == "<!--" else "]]>"
            end = -1 if closing in unclosed else text.find(closing, match.end())
            at = end + 3 if end >= 0 else at
            unclosed |= {closing} if end < 0 else set()
            continue
        name, close = match["name"].lower(), bool(match["close"])
        depth -= name == "table" and close
        yield _Tag(*match.span(), name, close, match["attributes"], depth)
        depth += name == "table" and not close


def _own_tags(text: str) -> list[_Tag]:
    """Return the tags of the outermost rows, and of what is beside them."""
    tags = list(_html_tags(text))
    depth = min((tag.depth for tag in tags if tag.name == "tr" and not tag.close), default=0)
    return [tag for tag in tags if tag.depth == depth]


def _html_rows(text: str) -> list[_Row]:
    tags = _own_tags(text)
    in_head = accumulate(tags, lambda inside, tag: not tag.close if tag.name == "thead" else inside, initial=False)
    heads = [*in_head][1:]
    opens = [i for i, tag in enumerate(tags) if not tag.close and tag.name in _ROWS_BEGIN]
    table = list[_Row]()
    for i, j in pairwise([*opens, len(tags)]):
        if tags[i].name == "tr":
            own = [tag for tag in tags[i + 1 : j] if tag.name in {"td", "th"} and not tag.close]
            closed = [tag.end for tag in tags[i + 1 : j] if tag.close and tag.name in _ROWS_BEGIN]
            end = closed[-1] if closed else tags[j].start if j < len(tags) else len(text)
            is_head = bool(own) and (heads[i] or all(tag.name == "th" for tag in own))
            span = max((_span(tag.attributes, "rowspan") for tag in own), default=1)
            table.append(_Row(0, end, span, is_head and (not table or table[-1].is_head)))
    if len(table) > 1 and table[-1].is_head:  # header cells alone
        table = [row._replace(is_head=not i) for i, row in enumerate(table)]
    ends = owning_space(text, [row.end for row in table[:-1]]).edges[1:].tolist() if table else []
    starts = [0, *ends][: len(ends)]
    # Ends in the same white space are one, so that the rows do not match; this takes rows without any text.
    rows_match = len(ends) == len(table)
    return [row._replace(start=a, end=b) for row, a, b in zip(table, starts, ends, strict=True)] if rows_match else []


def _span(attributes: str, kind: str) -> int:
    match = _SPAN[kind].search(attributes) if attributes else None
    return max(int(match[1]), 1) if match else 1


def _html_head(text: str) -> Head:
    table = _html_rows(text)
    if not table:
        return Head()
    last = max(sum(row.is_head for row in table), 1)
    end = table[last - 1].end
    caption, below = "", dict[int, int]()  # the rows that a cell above still spans, by column
    header, part = list[list[str]](), text[:end]
    tags = [tag for tag in _own_tags(part) if tag.name in {"tr", "td", "th", "caption", "thead", "tbody"}]
    for tag, after in zip(tags, [*tags[1:], None], strict=True):
        inner = plain_html(part[tag.end : after.start if after else end])
        if tag.name == "caption" and not tag.close:
            caption = inner
        elif tag.name == "tr" and not tag.close:
            header.append([])
        elif tag.name in {"td", "th"} and not tag.close and header:
            row = header[-1]
            while below.get(len(row), 0) >= len(header):
                row.append("")
            column, width = len(row), min(_span(tag.attributes, "colspan"), _MAX_COLUMNS)
            row += [inner, *[""] * (width - 1)]
            for i in range(column, column + width):
                below[i] = len(header) - 1 + _span(tag.attributes, "rowspan")
    return Head(caption, _even([row for row in header if row]), end)


def plain_html(text: str) -> str:
    """Return the text of HTML before the first table in it, in one line, as it is written in the cell of a pipe table.

    >>> plain_html("<b>a</b><br>b &amp; c")
    'a b & c'
    """
    own = _NESTED_TABLE.split(text, 1)[0]
    return " ".join(html.unescape(_ANY_TAG.sub(" ", own)).split()).replace("|", "\\|")


def _even(header: list[list[str]]) -> list[list[str]]:
    width = max(map(len, header), default=0)
    return [row + [""] * (width - len(row)) for row in header]


# LaTeX.


class _Mark(NamedTuple):
    """The end of a row, or the sign between two cells, within so many braces and environments."""

    start: int
    end: int
    is_cell: bool
    depth: int


def _latex_marks(text: str) -> tuple[list[_Mark], int]:
    """Return the ends of rows and cells, and the least depth of cells after the first character, else of rows."""
    tokens = list(_LATEX_TOKEN.finditer(text))
    opened, closed, stack, names = set[int](), set[int](), list[tuple[int, str]](), Counter[str]()
    for i, token in enumerate(tokens):
        name = token["name"] if token["kind"] else "{" if token["mark"] in {"{", "}"} else ""
        if token["kind"] == "begin" or token["mark"] == "{":
            stack.append((i, name))
            names[name] += 1
        elif name and names[name] and (name != "{" or stack[-1][1] == "{"):
            while True:
                start, last = stack.pop()
                names[last] -= 1
                if last == name:
                    break
            opened.add(start)
            closed.add(i)
    marks, depth = list[_Mark](), 0
    for i, token in enumerate(tokens):
        depth += (i in opened) - (i in closed)
        if token["row"] or token["mark"] == "&":
            marks.append(_Mark(*token.span(), not token["row"], depth))
    first = leading_space(text)
    depths = [mark.depth for mark in marks if mark.is_cell and mark.start > first]
    return marks, min(depths or [mark.depth for mark in marks if not mark.is_cell], default=0)


def _latex_rows(text: str) -> list[_Row]:
    marks, depth = _latex_marks(text)
    ends = list[int]()
    for mark in marks:
        if not mark.is_cell and mark.depth == depth:
            ends.append(_LATEX_RULES.match(text, mark.end).end())  # type: ignore[union-attr]  # it always matches
    if ends and _TAIL.fullmatch(text, ends[-1]):
        ends.pop()
    ends = owning_space(text, ends).edges[1:].tolist()
    starts = [0, *ends][: len(ends)]
    spans = ([int(m[1]) for m in _MULTIROW.finditer(text, *edges)] for edges in zip(starts, ends, strict=True))
    table = [_Row(start, end, max(own, default=1)) for start, end, own in zip(starts, ends, spans, strict=True)]
    heads = _latex_heads(text, table)
    return [row._replace(is_head=i < heads) for i, row in enumerate(table)]


def _latex_heads(text: str, table: Sequence[_Row]) -> int:
    """Return the number of header rows: those above the first rule below a row, else what the first spans."""
    if len(table) < 2 or not _LATEX_TABLE.search(text, 0, table[0].end):
        return 0
    for number, row in enumerate(table[: min(_MAX_HEAD, len(table) - 1)], 1):
        body = text[row.start : row.end].rpartition("\\\\")[2]
        if _HEAD_RULE.search(body):
            return number
    return min(table[0].span, len(table) - 1)


def _latex_values(text: str) -> list[str]:
    marks, depth = _latex_marks(text)
    edges = [0, *(mark.start for mark in marks if mark.is_cell and mark.depth == depth), len(text)]
    row = list[str]()
    for start, end in pairwise(edges):
        cell = text[start:end].lstrip("& \t\n")
        width = _MULTICOLUMN.search(cell)
        row += [plain_latex(cell), *[""] * (min(int(width[1]), _MAX_COLUMNS) - 1 if width else 0)]
    return row


def _without_caption(text: str) -> tuple[str, str]:
    """Return the caption in LaTeX, and the text without it."""
    if not (match := _CAPTION.search(text)):
        return "", text
    end = _past_brace(text, match.end())
    return plain_latex(text[match.end() : end - 1]), text[: match.start()] + text[end:]


def _past_brace(text: str, at: int) -> int:
    depth = 1
    while at < len(text) and depth:
        depth += {"{": 1, "}": -1}.get(text[at], 0) if text[at - 1] != "\\" else 0
        at += 1
    return at


def plain_latex(text: str) -> str:
    r"""Return the text of a cell of LaTeX in one line, without the commands of tables.

    >>> plain_latex(r"\multicolumn{2}{|c|}{\textbf{Cost \& risk}} \\ \hline")
    'Cost & risk'
    """
    text = _PREAMBLE.sub(" ", text)
    text = re.sub(r"\\\\\*?(?:\[[^\[\]\n]{0,30}\])?|\\tabularnewline(?![a-zA-Z])", " ", text)
    text = _LATEX_RUN.sub(" ", text)
    text = _MULTI.sub("", _MULTICOLUMN.sub("", text))
    text = re.sub(r"(?<!\\)[{}]", "", _COMMAND.sub("", text)) if "$" not in text else text
    text = re.sub(r"\\([&%$#_{}])", r"\1", text)
    return " ".join(re.sub(r"\\(?:begin|end)\{[a-zA-Z*]+\}", " ", text).split()).replace("|", "\\|")


# Drawn with lines.


def _grid_rows(text: str) -> list[_Row]:
    """Return the rows between borders; the border below a row is part of it."""
    own = _line_rows(text)
    borders = [i for i, row in enumerate(own) if _BORDER.fullmatch(text[row.start : row.end].rstrip())]
    thick = next((i for i in borders[1:] if "=" in text[own[i].start : own[i].end]), -1)
    ends = [own[i].end for i in borders[1:]]
    if not ends:
        return own
    ends[-1] = len(text)
    return [_Row(a, b, 1, i <= thick) for (a, b), i in zip(pairwise([0, *ends]), borders[1:], strict=True)]


def _grid_head(text: str) -> Head:
    table = _grid_rows(text)
    if not table:
        return Head()
    last = max(sum(row.is_head for row in table), 1)
    own = [line.strip("> \t\r\n") for _, line in _line_spans(text[: table[last - 1].end])]
    edges = [i for i, char in enumerate(own[0]) if char == "+"] if own else []
    header, row = list[list[str]](), [""] * (len(edges) - 1)
    for line in own[1:]:
        if line.startswith("+"):
            header.append([cell.strip() for cell in row])
            row = [""] * len(row)
        else:
            parts = (line[a + 1 : b].strip() for a, b in pairwise(edges))
            row = [f"{cell} {part}".strip() for cell, part in zip(row, parts, strict=True)]
    return Head("", header, table[last - 1].end) if len(edges) > 1 else Head()


def _is_dashed(line: str) -> bool:
    return _DASHES.fullmatch(line.rstrip()) is not None and len(_DASH_RUN.findall(line)) > 1


def _dash_rule(own: Sequence[str]) -> int:
    """Return the number of the line of dashes below the head, which is not the first or last; else 0."""
    dashed = [i for i, line in enumerate(own) if _is_dashed(line)]
    return next(iter(dashed if dashed[:1] != [0] else dashed[1:-1]), 0)


def _dashed_rows(text: str) -> list[_Row]:
    """Return the rows under dashes: lines, or paragraphs if blank lines are between rows."""
    own = _line_rows(text)
    rule = _dash_rule([text[row.start : row.end] for row in own])
    if not rule:
        return own
    is_spaced = any(_BLANK_LINE.search(text, row.start, row.end) for row in own[rule + 1 : -1])
    table = [_Row(0, own[rule].end, 1, True)]
    for row in own[rule + 1 :]:
        goes_on = is_spaced and len(table) > 1 and not _BLANK_LINE.search(text, table[-1].start, row.start)
        if goes_on or _DASHES.fullmatch(text[row.start : row.end].rstrip()):
            table[-1] = table[-1]._replace(end=row.end)
        else:
            table.append(_Row(row.start, row.end))
    return table


def _dashed_head(text: str) -> Head:
    own = list(_line_spans(text))
    rule = _dash_rule([line for _, line in own])
    if not rule:
        return Head()
    edges = [m.start() for m in _DASH_RUN.finditer(own[rule][1])]
    above = [line for _, line in own[:rule] if not _DASHES.fullmatch(line.rstrip())]
    spans = [*pairwise([0, *edges[1:]]), (edges[-1], None)]
    row = [" ".join(" ".join(line[a:b].split()) for line in above).strip() for a, b in spans]
    return Head("", [row], own[rule][0] + len(own[rule][1])) if above else Head()
