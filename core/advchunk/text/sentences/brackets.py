"""Find out whether a place in a sentence is between brackets or quotes."""
# ruff: noqa: RUF001 - the punctuation of many scripts is the subject here

from collections.abc import Iterable

from advchunk.text.patterns import lazy_pattern

NEAR = 300  # maximum characters between a bracket or quote and its match

# Quotes open after white space; German ones open with the mark that closes French ones. ":(" is no bracket.
_OPENING = lazy_pattern(
    r"""(?<![^\s(\[{–—\-：，。\u3040-\u9fff])(?:[“„«]|["»](?=[^\s"])|``(?=\w))|(?<![:;=-])\(|[（「『《【]"""
)
_CLOSING = {"``": "''", **dict(zip('"“„«»(（「『《【', '"”“»«)）」』》】', strict=True))}
_OPENING_MARKS = ["`", *(mark for mark in _CLOSING if len(mark) == 1)]  # the first character of each


def opening_marks(text: str, start: int, end: int, among: Iterable[str] = _OPENING_MARKS) -> list[str]:
    """Return those of some marks with which brackets and quotes open that are in a part of a text."""
    return [mark for mark in among if text.find(mark, start, end) >= 0]


def is_enclosed(text: str, marks: Iterable[str], first: int, at: int, end: int) -> bool:
    """Return True if ``at`` is between brackets or quotes, opened in the sentence from ``first`` on and closed soon.

    Parameters
    ----------
    marks : the `opening_marks` of the sentence, or of more text.
    end : where to stop looking for the closing mark.
    """
    low = max(first, at - NEAR)
    if not _may_be_open(text, marks, low, at):
        return False
    last = {match[0]: match.end() for match in _OPENING.finditer(text, low, at)}
    for opening, opened in last.items():
        closing = _CLOSING[opening]
        closed = text.find(closing, opened, min(end, at + NEAR))
        is_nested = opening != closing and text.find(opening, at, closed) >= 0
        if closed >= at and not is_nested:
            return True
    return False


def _may_be_open(text: str, marks: Iterable[str], low: int, at: int) -> bool:
    """Return False if each mark is not in ``text[low:at]`` or the last is closed there; much faster than `_OPENING`."""
    for mark in marks:
        last = text.rfind(mark, low, at)
        if last >= 0 and (mark in '"`' or text.find(_CLOSING[mark], last, at) < 0):
            return True
    return False
