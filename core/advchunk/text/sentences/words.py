"""The words of a language that say whether a stop ends a sentence."""

import re
from functools import cache
from importlib.resources import files
from typing import NamedTuple

# Languages that write ordinals with a stop: "3. Oktober".
_ORDINALS = {
    *("bs", "cs", "da", "de", "et", "fi", "hr", "hu", "is", "lb"),
    *("lt", "lv", "nb", "nn", "no", "sk", "sl", "sr", "tr"),
}
_KIN = {"bs": "hr", "sr": "hr", "nb": "no", "nn": "no", "gl": "pt", "mk": "bg", "be": "ru", "lb": "de", "af": "nl"}
_LISTS = (
    "never_last", "before_number", "starters", "strong_starters", "before_capital", "calendar", "after_quotation",
    "short",
)  # fmt: skip
_CONTINUING = {"ja": ("と", "って", "という")}  # particles after a quotation


class Words(NamedTuple):
    """The words of a language that decide whether a stop after or before them ends a sentence."""

    never_last: frozenset[str]
    abbreviations: frozenset[str]
    before_number: frozenset[str]
    starters: frozenset[str]
    strong_starters: frozenset[str]
    before_capital: frozenset[str]
    calendar: frozenset[str]
    after_quotation: frozenset[str]
    short: frozenset[str]
    openers: frozenset[str]  # words before which an abbreviation may end a sentence
    spoken_openers: re.Pattern[str]
    ordinals: bool
    nouns_capital: bool
    continuing: tuple[str, ...]


@cache
def get_words(code: str) -> Words:
    """Return the words of a language by its two- or three-letter code; those of English if there are none."""
    import json

    table = json.loads(files("advchunk.text.sentences").joinpath("words.json").read_text(encoding="utf-8"))
    shared: dict[str, str] = table["any"]
    own: dict[str, str] = table.get(_KIN.get(code, code), table["en"])

    def words(name: str) -> frozenset[str]:
        return frozenset(f"{shared.get(name, '')} {own.get(name, '')}".split())

    openers = "|".join(sorted(words("spoken_openers") or words("starters")))
    return Words(
        **{name: words(name) for name in _LISTS},
        openers=words("starters") | words("strong_starters"),
        abbreviations=words("never_last") | words("may_be_last"),
        spoken_openers=re.compile(rf"\s(?=(?:{openers})\s)", re.IGNORECASE),
        ordinals=code in _ORDINALS,
        nouns_capital=code in {"de", "lb"},
        continuing=_CONTINUING.get(code, ()),
    )
