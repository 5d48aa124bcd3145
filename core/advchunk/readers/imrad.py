"""Classify section headings of scientific papers as Introduction, Methods, Results or Discussion."""

import json
import re
from collections.abc import Mapping
from functools import cache, lru_cache
from importlib.resources import files
from typing import Any, Literal, NamedTuple, TypeAlias

IMRAD = ("Introduction", "Methods", "Results", "Discussion")

Role: TypeAlias = Literal["section", "part", "matter", ""]

_QUALIFIERS = frozenset(
    """a an the our main key major general overall further additional possible potential proposed study present primary
    secondary""".split()  # noqa: SIM905
)
_NUMBER = re.compile(  # "E. coli" does not begin with a number
    r"""(?:(?i:section|chapter)\s+)?
        (?P<number> \d{1,2}(?:\.\d{1,2})* | [IVX]{1,5}(?=\.) | [A-Z](?:\.\d{1,2})+ | [A-Z](?=\.\s+[^a-z]) ) [.):]? \s+""",  # noqa: E501
    re.VERBOSE,
)
_ANNEX = re.compile(r"(?:appendix|annex|supplementary|additional file)\b")
_SPLIT = re.compile(r"\s*(?:[,;/&+]|\band\b)\s*")
_CONTINUATION = re.compile(r"\s*(?:[:–—]|\b(?:of|on|for|in|with|to|from|by|at|under|across|about)\b).*", re.DOTALL)


class SectionHeading(NamedTuple):
    """A parsed section heading."""

    number: str  # as printed, such as "2.1" or "IV"; "" for none
    title: str  # without the number
    names: tuple[str, ...]  # of `IMRAD`, in that order; () if the heading names none of them
    role: Role  # a "section", a "part" of one or by itself, "matter" outside the argument; "" if unknown

    @property
    def depth(self) -> int:
        """Components of the number; 0 without a number."""
        return len(self.number.split(".")) if self.number else 0


class NumberedHeadings:
    """Levels of headings by their numbers, in the order of the document.

    >>> headings = NumberedHeadings()
    >>> [headings.level(text, 1) for text in ("4 Results", "4.1 Weight", "4.1.2 Of leaves", "7.1 Notes", "Outlook")]
    [1, 2, 3, 1, 1]
    """

    def __init__(self) -> None:
        self._numbers = set[str]()

    def level(self, text: str, least: int) -> int:
        """Return the level of the next heading: 1 and the parts of its number that were headings, or ``least``."""
        return self.level_of(parse_heading(text).number, least)

    def level_of(self, number: str, least: int) -> int:
        """Return the level of the next heading, given its number, "" for none."""
        parts = number.split(".")
        above = sum(".".join(parts[:count]) in self._numbers for count in range(1, len(parts)))
        self._numbers |= {number} if number else set()
        return max(least, 1 + above)


@lru_cache(maxsize=4096)
def parse_heading(text: str) -> SectionHeading:
    """Parse a section heading.

    The title must be known names, joined by "and" or commas; a qualifier such as "proposed" may precede one, and a
    phrase after "of" or a colon may follow it.

    >>> parse_heading("2.1. Materials & Methods")
    SectionHeading(number='2.1', title='Materials & Methods', names=('Methods',), role='section')
    >>> [parse_heading(text).names for text in ("Results and Discussion", "Background: graphs", "Deep sea vents")]
    [('Results', 'Discussion'), ('Introduction',), ()]
    """
    text = " ".join(text.split())
    match = _NUMBER.match(text)
    number, title = (match["number"], text[match.end() :]) if match else ("", text)
    flat = title.casefold().replace("’", "'").strip(" .:")
    entries = [_look_up(flat)]
    if entries[0] is None and not _CONTINUATION.match(flat):
        entries = [_look_up(part) for part in _SPLIT.split(flat) if part]
    matches = [entry for entry in entries if entry is not None]
    if not matches or len(matches) < len(entries):
        return SectionHeading(number, title, (), "")
    names = {name for _, entry in matches for name in entry}
    role = max((role for role, _ in matches), key=("matter", "part", "section").index)
    return SectionHeading(number, title, tuple(name for name in IMRAD if name in names), role)


def _look_up(part: str) -> tuple[Role, tuple[str, ...]] | None:
    if _ANNEX.match(part):
        return "matter", ()
    for phrase in (part, _CONTINUATION.sub("", part)):
        words = phrase.split()
        while words:
            if (entry := _titles().get(" ".join(words))) is not None:
                return entry
            words = words[1:] if words[0] in _QUALIFIERS else []
    return None


@cache
def _titles() -> Mapping[str, tuple[Role, tuple[str, ...]]]:
    """Return the role and the `IMRAD` names of each known title."""
    roles: Mapping[Role, Any] = json.loads(files("advchunk.readers").joinpath("imrad.json").read_text(encoding="utf-8"))
    rows = ((role, tuple(names.split()), titles) for role, row in roles.items() for names, titles in row.items())
    return {title: (role, names) for role, names, titles in rows for title in titles}
