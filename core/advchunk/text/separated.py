r"""Tables with cells separated by commas, semicolons, tabs, or the like (RFC 4180): records and cells at exact places.

A quoted cell may have separators, line ends, and doubled quotes; a quote that is not closed is a plain character.
"""

import re
from collections.abc import Iterator
from functools import cache
from itertools import islice, pairwise
from typing import Final, Literal, TypeAlias

Separation: TypeAlias = Literal["commas", "semicolons", "tabs", "bars", "carets", "tildes"]
"""How the cells of a table are separated."""

SEPARATORS: Final[dict[Separation, str]] = {
    "tabs": "\t", "semicolons": ";", "commas": ",", "bars": "|", "carets": "^", "tildes": "~"
}  # fmt: skip
_DECLARATION = re.compile(
    r"\A(?:\ufeff|\xef\xbb\xbf)?\"?sep=[;,\t|^~]\"?(?:\r\n|\r|\n)", re.IGNORECASE
)  # with its mark, which may be read as Latin-1
_SAMPLE = 20  # records that decide on the separator
_MOST_ABOVE = 10  # lines above a table
_LEAST_BELOW = 3  # records of a table with lines above
_NUMBER = re.compile(r"[-+(]?[^\w\s]{0,2}\d[\d.,:/\s'%-]*[^\w\s]{0,2}\)?")


def separation(text: str) -> Separation | None:
    """Return the separation that gives all first records the same number of cells, two or more; else None."""
    counts = dict[Separation, int]()
    for kind in SEPARATORS:
        if kind == "bars" and text.lstrip().startswith("|"):  # of Markdown
            continue
        sizes = [len(values(text[start:end], kind)) for start, end in islice(records(text, kind), _SAMPLE)]
        if len(sizes) > 1 and len(set(sizes)) == 1 and sizes[0] > 1:
            counts[kind] = sizes[0]
    return max(counts, key=counts.__getitem__, default=None)


def find_table(text: str) -> tuple[int, Separation | None]:
    r"""Return the offset at which a table begins, and its separation, or None. Above it may be a line that declares the
    separator, and up to ten others, if its first record names the columns.

    >>> find_table("Report 2024\n\nid;tea\n1;green\n2;black\n"), find_table("Company;\nid;tea\n1;green\n")
    ((13, 'semicolons'), (9, 'semicolons'))
    """
    start = at = declaration_end(text)
    for above in range(_MOST_ABOVE + 1):
        below = text[at:]
        if kind := separation(below):
            first = list(islice(records(below, kind), _MOST_ABOVE + _LEAST_BELOW))
            ends = [0, *(end for _, end in first)]
            filled = (sum(bool(value.strip()) for value in values(below[a:b], kind)) for a, b in first)
            sparse = next((i for i, number in enumerate(filled) if number > 1), 0)
            if has_head(below[ends[sparse] :], kind) and len(first) - sparse >= _LEAST_BELOW - (not above):
                return at + ends[sparse], kind
            if not above:
                return at, kind
        at = text.find("\n", at) + 1
        if not at:
            break
    return start, None


def declaration_end(text: str) -> int:
    """Return the end of the line with which spreadsheets declare the separator; 0 if there is none."""
    declaration = _DECLARATION.match(text)
    return declaration.end() if declaration else 0


def records(text: str, kind: Separation) -> Iterator[tuple[int, int]]:
    """Yield the start and end of each record, with its line end and the blank lines after it."""
    start, end = 0, 0
    for match in _record(kind).finditer(text):
        if match.start() == match.end():
            break
        is_blank = not match[0].strip("\r\n")
        if not is_blank and text[start:end].strip("\r\n"):
            yield start, end
            start = match.start()
        end = match.end()
    if start < len(text):
        yield start, len(text)


def cell_ends(text: str, kind: Separation) -> list[int]:
    """Return the ends of all cells of a record but the last, separators included.

    >>> cell_ends('a,"b,c",d', "commas")
    [2, 8]
    """
    separator, ends, at = SEPARATORS[kind], list[int](), 0
    cell = _cell(kind)
    while (match := cell.match(text, at)) and text[match.end() : match.end() + 1] == separator:
        at = match.end() + 1
        ends.append(at)
    return ends


def values(text: str, kind: Separation) -> list[str]:
    """Return the texts of the cells of a record, without quotes."""
    edges = [0, *cell_ends(text, kind), len(text)]
    parts = [text[start:end] for start, end in pairwise(edges)]
    parts = [part.removesuffix(SEPARATORS[kind]) for part in parts[:-1]] + [parts[-1].rstrip("\r\n")]
    return [_unquoted(part) for part in parts]


def has_head(text: str, kind: Separation) -> bool:
    """Return True if the first record names the columns: its cells are different words, none of which is a number."""
    first = next(records(text, kind), None)
    names = [name.strip() for name in values(text[slice(*first)], kind)] if first else []
    filled = [name for name in names if name]
    return 2 * len(filled) > len(names) and len({*filled}) == len(filled) and not any(map(_NUMBER.fullmatch, filled))


def head_end(text: str, kind: Separation) -> int:
    """Return the end of the record that names the columns; 0 if there is none."""
    return next(records(text, kind))[1] if has_head(text, kind) else 0


def _unquoted(cell: str) -> str:
    cell = cell.removeprefix("\ufeff")
    is_quoted = len(cell) > 1 and cell[0] == cell[-1] == '"'
    return cell[1:-1].replace('""', '"') if is_quoted else cell


@cache
def _cell(kind: Separation) -> re.Pattern[str]:
    sign = re.escape(SEPARATORS[kind])
    return re.compile(rf'\ufeff?(?:"(?:[^"]++|"")*+"(?=[{sign}\r\n]|\Z)|[^{sign}\r\n]*+)')


@cache
def _record(kind: Separation) -> re.Pattern[str]:
    cell, sign = _cell(kind).pattern, re.escape(SEPARATORS[kind])
    return re.compile(rf"{cell}(?:{sign}{cell})*+(?:[\r\n]++|\Z)")
