"""Characters that stand for no text: fonts of symbols, and fonts whose codes cannot be converted to characters."""

import re
from collections.abc import Iterable
from unicodedata import category

from advchunk.readers.pages.regions.shapes import Line

UNMAPPED = "\ufffd"
"""A character whose code has no Unicode character."""

_UNREADABLE = frozenset({"Co", "Cn", "Cc", "Cs"})  # private use, unassigned, control characters, half of a pair
_BULLET = "•"


def clean(lines: Iterable[Line]) -> tuple[list[Line], int]:
    r"""Replace unreadable characters with spaces, and leave out lines that are mostly made of them; count both.

    An unreadable character at the start of a line, followed by a space or nothing, is a bullet: word processors take
    bullets from fonts of symbols.

    >>> box = (0, 0, 9, 9)
    >>> clean([Line("\uf0b7 Green tea", box), Line("Tea \uf0e0 cup", box), Line("\ufffd\ufffd\ufffd a", box)])
    ... # doctest: +NORMALIZE_WHITESPACE
    ([Line(text='• Green tea', ...), Line(text='Tea cup', ...)], 5)
    """
    kept, left_out = list[Line](), 0
    for line in lines:
        text = _BULLET + line.text[1:] if _is_bullet(line.text) else line.text
        readable = "".join(" " if is_unreadable(c) else c for c in text)  # without, words would run together
        visible, lost = sum(not c.isspace() for c in text), sum(map(is_unreadable, text))
        if lost > visible / 2:
            left_out += visible
        else:
            left_out += lost
            whole = re.sub(" {2,}", " ", readable).lstrip() if lost else text
            kept.append(line._replace(text=whole, cells=tuple(clean(line.cells)[0])))
    return kept, left_out


def is_unreadable(character: str) -> bool:
    """Return True if a character has no meaning outside its font."""
    return character == UNMAPPED or (category(character) in _UNREADABLE and not character.isspace())


def _is_bullet(text: str) -> bool:
    return text[0] != UNMAPPED and is_unreadable(text[0]) and not text[1:2].strip()
