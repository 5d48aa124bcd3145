"""Read the numbers of units, such as articles and clauses, at the beginnings of lines; `outline` tells the units."""
# ruff: noqa: RUF001 - numbers and punctuation of many scripts

import json
import re
from bisect import bisect_left
from collections.abc import Iterator, Sequence
from importlib.resources import files
from typing import Any, Final, NamedTuple, TypeAlias

from advchunk.readers.counting import format_count
from advchunk.records import Block, BlockKind
from advchunk.text.tiling import end_of_line, has_one

Value: TypeAlias = tuple[int, ...]

_DATA: Final[dict[str, Any]] = json.loads(files("advchunk.readers").joinpath("numbering.json").read_text("utf-8"))
# The words before a number, by kind, from the widest to the narrowest.
_KINDS: Final = {word: kind for kind, words in _DATA["words"].items() for word in words.split("|")}
RANKS: Final = {kind: rank for rank, kind in enumerate(_DATA["words"])}
WIDE: Final = frozenset({"part", "annex", "act", "title", "chapter", "scene"})
_HAN_KINDS: Final = {sign: kind for kind, signs in _DATA["han"].items() for sign in signs}
_HAN: Final = {sign: value for value, signs in enumerate(("〇零", "一", "二两", *"三四五六七八九")) for sign in signs}
_HAN_TENS: Final = {"十": 10, "百": 100, "千": 1000}
_HAN_DIGITS: Final = "".join([*_HAN, *_HAN_TENS])
_ROMAN: Final = {format_count(number, "upperRoman"): number for number in range(1, 400)}
_NUMBER_WORDS: Final = {
    form: value
    for value, words in enumerate(_DATA["numbers"], 1)
    for word in words.split("|")
    for form in (word, word.upper(), *([word.lower()] if word.startswith("Premi") else ()))
}

_WORD_NUMBER = "|".join(sorted(map(re.escape, _NUMBER_WORDS), key=len, reverse=True))
_COUNT = rf"(?:(?:{_WORD_NUMBER})|[0-9]{{1,4}}+(?:\.[0-9]{{1,3}}+){{0,5}}+[a-z]?|[IVXLC]{{1,7}}+[a-z]?|[A-Z])"
# The next word of a reference, as in "Article 5 of the Act", "Artikel 5 Absatz 2", "Section 3(b)", "Article 6 is".
_PROSE = r"(?![^\S\n]*+(?:[(,;)]|[a-zà-ÿ]|Abs\b|Absatz\b|Satz\b|Nr\b|Nummer\b|Buchst|und\b|and\b))"
_PROSE_HAN = r"(?![规規定所的第及和与、，,；)）之至到])"
_SECOND_LETTERS = {
    first: sorted({word[1] for word in _KINDS if word[0] == first != "§"}) for first in {word[0] for word in _KINDS}
}
_WORD_STARTS = "|".join(f"{first}[{''.join(second)}]" for first, second in _SECOND_LETTERS.items() if second)
_SPACE = r"[ \t\u3000\xa0]"
_LABEL = re.compile(
    rf"""
    \n{_SPACE}*+(?P<hash>\#{{1,6}}{_SPACE}++)?(?:\*\*\*?|__)?+
    (?P<label>
      (?P<word>§|(?:{_WORD_STARTS})[A-Za-zÀ-ÿЀ-я]{{0,18}}+\.?+(?:[ ][Ii]tem|[ ]ITEM)?+){_SPACE}*+(?P<count>{_COUNT})(?!\w)[.)]?+{_PROSE}
    | (?=[第제0-9(（一二三四五六七八九十])(?:
        [第제]{_SPACE}*+(?P<ordinal>[0-9]{{1,4}}+|[{_HAN_DIGITS}]{{1,9}}+){_SPACE}*+(?P<han>[{"".join(_HAN_KINDS)}]){_PROSE_HAN}
      | (?P<item>[(（][一二三四五六七八九十]{{1,3}}+[)）]|[一二三四五六七八九十]{{1,3}}+(?=、))、?+
      | (?P<decimal>[0-9]{{1,4}}+(?:\.[0-9]{{1,3}}+){{1,6}}+)\.?+(?=[\s*_])
      | (?P<number>[0-9]{{1,3}}+[.)]|\([0-9]{{1,3}}+\)|[0-9]{{1,2}}+(?={_SPACE}++[A-Z]))(?=[\s*_])
      )
    | (?P<letter>\(?+[A-Za-z]{{1,7}}+[.)])(?=[\s*_])
    )
    """,  # noqa: E501
    re.VERBOSE,
)
# Of a table of contents, or a form.
_LEADERS = re.compile(r"\.{4,}|(?:\. ){3}|…{2}|·{4,}|_{4,}|\.{2}[\s.]*+[0-9]{1,4}\s*+\Z")
_DOTS: Final = ("..", ". .", "…", "··", "__")  # one of them is in each
# Words at the end of a line, with the number in the next.
_REFERENCES: Final = {"§§", "paragraph", "paragraphs", "Paragraph", "Absatz", "No.", "Nr."} | {
    form + plural for word in _KINDS for form in (word, word.lower()) for plural in ("", "s")
}
EDGES = " \t\u3000\xa0*_.:–—-"
TITLE_LENGTH: Final = 100  # most characters of a title
_TITLE_WORDS: Final = 14
RUN_IN_WORDS: Final = 8
_HAN_TITLE: Final = 25  # characters
FEWEST: Final = 3  # units of an outline
_SCANNED: frozenset[BlockKind] = frozenset({"paragraph", "item", "heading"})


class Mark(NamedTuple):
    """The beginning of a line that may begin a unit: offsets of the line, and of the start and the end of its label."""

    line: int
    start: int
    end: int
    readings: tuple[tuple[str, Value], ...]  # style and value of each: "(i)" is a letter or a Roman number
    number: str  # as it is written, without punctuation
    in_heading: bool  # the line is a heading of the text's format


def find_marks(flat: str, blocks: Sequence[Block]) -> list[Mark]:
    """Return the marks of a text in reading order, those of code, tables and the like left out."""
    labels = _LABEL.finditer("\n" + flat)  # offsets are those in the text plus 1
    matches = [match for match in labels if match["word"] is None or match["word"] in _KINDS]
    if len(matches) < FEWEST:
        return []
    ends, marks = [block.span.end for block in blocks], list[Mark]()
    for match in matches:
        line, start, end = match.start(), match.start("label") - 1, match.end("label") - 1
        place = bisect_left(ends, start + 1)
        inside = place < len(blocks) and blocks[place].span.start <= start
        kind: BlockKind = "paragraph" if not blocks else blocks[place].kind if inside else "code"
        in_heading = kind == "heading"
        if kind not in _SCANNED or (match["hash"] and not in_heading):
            continue
        rest = flat[end : end_of_line(flat, end)]
        before = flat[max(line - 24, 0) : max(line - 1, 0)].rsplit(None, 1)[-1:]  # "Section" of "under Section / 5."
        if (has_one(rest[-200:], _DOTS) and _LEADERS.search(rest[-200:])) or not _REFERENCES.isdisjoint(before):
            continue
        if readings := tuple(_read_label(match, rest, in_heading)):
            number = match["count"] if match["word"] else match["label"].strip("().、")
            if match["han"] or match["item"] or number in _NUMBER_WORDS:
                number = str(readings[0][1][0])
            marks.append(Mark(line, start, end, readings, number, in_heading))
    return marks


def _read_label(match: re.Match[str], rest: str, in_heading: bool) -> Iterator[tuple[str, Value]]:
    label = match["label"]
    if match["han"]:
        yield _HAN_KINDS[match["han"]], (_han_value(match["ordinal"]), 0)
    elif match["item"]:
        style = "（一）" if label[0] in "(（" else "一、"
        yield style, (_han_value(match["item"].strip("()（）")),)
    elif match["word"]:
        kind, count = _KINDS[match["word"]], match["count"]
        if "." in count:
            yield f"{kind} 1.1", _decimal(count.rstrip("abcdefghijklmnopqrstuvwxyz"))
        else:
            yield from ((kind, value) for value in _counts(count))
    elif match["decimal"]:
        yield "1.1", _decimal(match["decimal"])
    elif match["number"]:
        digits = label.strip("().")
        if label == digits and not (in_heading or is_title(rest)):
            return
        style = label.replace(digits, "1")
        yield ("1.1" if style in {"1", "1."} else style), (int(digits),)
    else:
        yield from _read_letters(label)


def _read_letters(label: str) -> Iterator[tuple[str, Value]]:
    """Yield each style and value of letters: a letter, a repeated one, a Roman number."""
    letters = label.strip("().")
    if (label[0] == "(" and label[-1] == ".") or not (letters.islower() or letters.isupper()):
        return  # "(a." and "Ia)"
    if len(letters) == 1 or (len(letters) == 2 and letters[0] == letters[1] and letters[0].upper() not in "CILVX"):
        style = label.replace(letters, "a" if letters.islower() else "A")
        yield style, (ord(letters[0].lower()) - 96 + 26 * (len(letters) - 1),)
    if value := _ROMAN.get(letters.upper()):
        yield label.replace(letters, "i" if letters.islower() else "I"), (value,)


def _decimal(number: str) -> Value:
    """Return the parts of a number; "1.0" is that of "1"."""
    parts = tuple(map(int, number.split(".")))
    return parts[:-1] if len(parts) == 2 and parts[-1] == 0 else parts


def _counts(count: str) -> Iterator[Value]:
    """Yield each value of the number after a word, with that of a letter after it: "5a" is (5, 1)."""
    if count in _NUMBER_WORDS:
        yield _NUMBER_WORDS[count], 0
        return
    suffix = ord(count[-1]) - 96 if count[-1].islower() and len(count) > 1 else 0
    stem = count[:-1] if suffix else count
    if stem.isdecimal():
        yield int(stem), suffix
    elif value := _ROMAN.get(stem.upper()):
        yield value, suffix
    if len(count) == 1 and count.isupper():
        yield ord(count) - 64, 0


def _han_value(digits: str) -> int:
    """Return the value of a Chinese number, 103 for "一百零三", or of one in digits."""
    if digits.isascii():
        return int(digits)
    if _HAN_TENS.keys().isdisjoint(digits):
        return int("".join(str(_HAN[digit]) for digit in digits))
    total, digit = 0, None
    for letter in digits:
        if letter in _HAN_TENS:
            total += (1 if digit is None else digit) * _HAN_TENS[letter]
            digit = None
        else:
            digit = _HAN[letter] or None
    return total + (digit or 0)


def is_title(rest: str) -> bool:
    """Return True if the rest of a line behind a label looks like a title.

    >>> is_title(" Scope"), is_title(". Term and Termination."), is_title(" The seller pays the buyer."), is_title("")
    (True, True, False, False)
    """
    title = rest.strip(" \t\u3000*_")
    if len(title) > TITLE_LENGTH:
        return False
    words = title.split()
    first = title.lstrip(EDGES + "([\"“„«'’‘【（《")[:1]
    if not first or first.islower() or len(words) > _TITLE_WORDS or title[-1] in ";,；，、。!?！？":
        return False
    if not first.isascii() and len(words) < 3 and len(title) > _HAN_TITLE and first >= "\u2e80":
        return False
    return title[-1] not in ".:：" or (len(words) <= RUN_IN_WORDS and is_capitalized(title))


def is_capitalized(title: str) -> bool:
    """Return True if most longer words of a title begin with a capital."""
    words = [word for word in (word.lstrip("\"“„«'’‘([") for word in title.split()) if word[:1].isalpha()]
    long = [word for word in words if len(word) > 3] or words
    is_first = bool(words) and not words[0][0].islower()
    return is_first and 5 * sum(not word[0].islower() for word in long) >= 3 * len(long)
