"""Put lines of a page together: to paragraphs, to list items, to tables."""

from __future__ import annotations

import re
from collections.abc import Collection, Iterable, Iterator, Sequence
from unicodedata import bidirectional, east_asian_width

from advchunk.readers.hyphens import HYPHENATED, keeps_hyphen
from advchunk.readers.regions.shapes import Box, Line, bounding_box, interval_overlap
from advchunk.readers.writing import pipe_table, squeezed
from advchunk.records import BlockKind

_DIVIDED = re.compile(r"(?<!\w)(?P<left>\w++)(?P<hyphen>-) ?\n(?=(?P<right>\w++))")
_UNSPACED = frozenset("WF")  # east Asian characters: where a line of theirs has a space, it ends with it
_BULLET = re.compile(r"[•‣◦▪■□●○∙]")
_MARKER = re.compile(r"\s*(?:[•‣◦▪■□●○∙–—*-]|\(?(?:\d{1,3}|[A-Za-z]|[ivx]{1,4})[.)])\s")
_NUMBER = re.compile(r"\d{1,2}(?:\.\d{1,2})*")
_TOUCHING = 0.12  # of its height, between pieces of a line: no space
_OPENERS, _CLOSERS = "\"'“«([", "\"'”’»)]}"
_ENDS = frozenset(".!?…:;。！？؟।")


def join_lines(lines: Iterable[str], known: Collection[str] = ()) -> str:
    r"""Return lines as one paragraph, words that were divided at the end of a line put together again.

    Parameters
    ----------
    lines : of one paragraph, in their order.
    known : words with a hyphen, in lower case, that the document has elsewhere: their hyphen stays. So does that of a
        number or a name, and of first halves such as "well".

    >>> join_lines(["Weight in the pla-", "cebo group, a double-", "blind trial"], {"double-blind"})
    'Weight in the placebo group, a double-blind trial'
    """
    text = "\n".join(squeezed(line) + " " * line[-1:].isspace() for line in lines if line.strip())
    written = frozenset([*known, *HYPHENATED.findall(text.lower())])
    text = _DIVIDED.sub(lambda match: match["left"] + "-" * keeps_hyphen(match, written), text)
    return re.sub(r"(.)\n(?=(.))", _spaced, text).rstrip()


def hyphenated_words(texts: Iterable[str]) -> set[str]:
    """Return the words of texts that have a hyphen, in lower case.

    >>> hyphenated_words(["A double-blind trial."])
    {'double-blind'}
    """
    return set(HYPHENATED.findall("\n".join(texts).lower()))


def _spaced(match: re.Match[str]) -> str:
    both = {east_asian_width(match[1]), east_asian_width(match[2])}
    return match[1] if match[1] == " " or both <= _UNSPACED else f"{match[1]} "


def continues_sentence(above: str, below: str) -> bool:
    """Whether one paragraph may be in two parts: the first does not end a sentence, the second begins in lower case.

    >>> continues_sentence("the court of", "appeal ruled"), goes_on("the court.", "appeal"), goes_on("the court", "Appeal")
    (True, False, False)
    """
    end = above.rstrip().rstrip(_CLOSERS)[-1:]
    return bool(end) and end not in _ENDS and below.lstrip(_OPENERS)[:1].islower()


def is_right_to_left(texts: Iterable[str]) -> bool:
    """Whether most letters are of a script that is written from right to left.

    >>> is_right_to_left(["שלום", "ok"]), right_to_left(["hello"])
    (True, False)
    """
    counted = {True: 0, False: 0}
    for text in texts:
        for character in text:
            if character.isalpha():
                counted[bidirectional(character) in {"R", "AL"}] += 1
    return counted[True] > counted[False]


def group_rows(lines: Iterable[Line], *, leftwards: bool = False) -> list[list[Line]]:
    """Return lines by their rows, from the top, each row in the order in which it is read."""
    found, band = list[list[Line]](), (0.0, 0.0)
    for line in sorted(lines, key=lambda line: (line.box[1] + line.box[3], line.box[0])):
        top, bottom = line.box[1], line.box[3]
        if found and interval_overlap((top, bottom), band) >= min(bottom - top, band[1] - band[0]) / 2:
            found[-1].append(line)
            band = min(band[0], top), max(band[1], bottom)
        else:
            found.append([line])
            band = top, bottom
    sign = -1 if leftwards else 1
    return [sorted(row, key=lambda line: sign * (line.box[0] + line.box[2])) for row in found]


def region_text(kind: BlockKind, lines: Sequence[Line], known: Collection[str], *, leftwards: bool = False) -> str:
    """Return what the lines of a region say: a table as a pipe table, code and formulas line by line."""
    by_row = group_rows(lines, leftwards=leftwards)
    if kind == "table":
        return _table(by_row)
    texts = ["".join(_pieces(row)) for row in by_row]
    return "\n".join(map(squeezed, texts)) if kind in {"code", "formula"} else join_lines(texts, known)


def _pieces(row: Sequence[Line]) -> Iterator[str]:
    """Yield the texts of a row, with a space where there is one to be seen: a raised digit is a piece of its own."""
    for i, line in enumerate(row):
        near = i and abs(interval_overlap(row[i - 1].box[::2], line.box[::2])) < _TOUCHING * line.height
        yield line.text if not i or near else f" {line.text}"


def is_marker(text: str) -> bool:
    """Whether a text is nothing but a bullet or a number.

    >>> is_marker("•"), is_marker("2.1"), is_marker("tea")
    (True, True, False)
    """
    return (_MARKER.fullmatch(text.strip() + " ") or _NUMBER.fullmatch(text.strip())) is not None


def is_list(lines: Sequence[Line]) -> bool:
    """Whether lines begin with a bullet, or several of them with a number, the first too."""
    starts = [row[0].text for row in group_rows(lines)] if lines else [""]
    if _BULLET.match(starts[0]):
        return True
    return bool(_MARKER.match(starts[0] + " ")) and sum(bool(_MARKER.match(start + " ")) for start in starts) > 1


def split_items(lines: Sequence[Line], *, leftwards: bool = False) -> list[list[Line]]:
    """Return the lines of a list by its items, each of which begins with a bullet or a number."""
    found = list[list[Line]]()
    for row in group_rows(lines, leftwards=leftwards):
        if not found or _MARKER.match(row[0].text + " "):
            found.append([])
        found[-1] += row
    return found


def _table(by_row: Sequence[Sequence[Line]]) -> str:
    """Write rows as a table whose columns are those of its fullest rows; what has one column is written line by line."""
    most = max(map(len, by_row), default=0)
    if most < 2:
        return "\n".join(squeezed(line.text) for row in by_row for line in row)
    columns = list[Box]()
    for row in by_row:
        if len(row) == most:
            boxes = [line.box for line in row]
            columns = [bounding_box(pair) for pair in zip(columns, boxes, strict=True)] if columns else boxes
    cells = list[list[str]]()
    for row in by_row:
        cells.append([""] * most)
        for line in row:
            column = max(range(most), key=lambda i: interval_overlap(line.box[::2], columns[i][::2]))
            cells[-1][column] = squeezed(f"{cells[-1][column]} {line.text}")
    return pipe_table(cells)
