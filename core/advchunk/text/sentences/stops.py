"""Decide whether a stop ends a sentence, by the words and marks around it.

Punctuation decides; letter case only breaks ties, so text in lower or upper case is split like text in mixed case.
"""
# ruff: noqa: RUF001 - the punctuation of many scripts is the subject here

import re
from collections.abc import Callable
from dataclasses import dataclass
from functools import cache, cached_property
from typing import TypeAlias

import numpy as np

from advchunk.text.patterns import lazy_pattern
from advchunk.text.sentences.brackets import NEAR
from advchunk.text.sentences.words import Words, get_words

MAX_WORD = 32
_MAX_HABITS = 2**14

# Stops that need no space after them, and Unicode's Sentence_Break=STerm of living scripts, which often have none.
# Tibetan has no other than the shad, which also ends clauses.
WIDE_STOPS = "。！？｡﹗﹖︒‼⁇⁈⁉।॥۔؟։።፧፨။។៕᠃᠉܀܁܂߹꓿꛳꛷᱾᱿།༎༏༐༑꧉᭚᭛᭟꯫᪨᪩꘎᥄᥅꩝꩞꩟\u037e"
_ANY = rf"[.!?…{WIDE_STOPS}]"
_ANY_STOP, _ASCII_STOP = lazy_pattern(_ANY), lazy_pattern("[.!?]")  # of which the second takes half the time
_IS_STOP = np.zeros(2**16, dtype=bool)
_IS_STOP[[*map(ord, f".!?…{WIDE_STOPS}")]] = True
_SHORT, _PIECE = 2000, 2**16  # characters of a text in which a search is faster than arrays, and of those in an array
CLOSING_MARKS = r"""["'”’»›)\]}）」』】》〉〕*_]"""
_CLOSERS = rf"""(?:{CLOSING_MARKS}|[“‘«`]++(?![^\W_]))*+"""
_OPENERS = r"""["'“‘„‚«‹»›(\[{¿¡`*_「『（《〈【–—-]*+"""
STOP = lazy_pattern(
    rf"""{_ANY}(?<!{_ANY}{_ANY})(?:
      (?P<mark>(?<=[.!?…])[.!?…]*+(?:\ [.…](?![\w.])){{0,8}}+)
      (?P<closers>{_CLOSERS})
      (?P<trail>(?:(?!\s{{0,3}}[^\W\d⁰¹²³⁴-⁹])(?:  # what else belongs to the sentence; most often a word comes next
          \s{{0,3}}\[(?:\d[\d,;\ –-]{{0,40}}+|\.\.\.|…)\]  # [12], [3, 4], [...]
        | [⁰¹²³⁴-⁹]++
        | [\ \u00a0\u202f][»”’](?=\s|\Z)  # « Non. »
        | (?<=[^\W\d_][.!?])\d{{1,3}}(?:[,–-]\d{{1,3}}){{0,9}}(?=\s)  # cells.12,13 However
        | \s{{0,3}}[:;=]-?[)(DPp](?!\w)
        | \s{{0,3}}[\u2600-\u27bf\U0001f300-\U0001faff]\ufe0f?
        | \s{{1,3}}\((?:see\ |cf\.\ )?[^\W\d_][^\s()]{{0,30}}  # (Smith, 2010)
          (?:\ [^\s()]{{1,30}}){{0,6}}?,?\ (?:1[89]|20)\d\d[a-z]?\)
      )){{0,8}}+)
      (?:
          (?=\s++(?P<opener>{_OPENERS})(?P<following>\w{{0,24}}+))
        | (?<=[.!?…\])"'”’`])(?=[(“„«"`]{{0,2}}(?P<glued>[^\W\d_]{{1,20}}+)(?:[\s,;:!?’'-]|\.?(?:\s|\Z)|\.[)"”]))
        | (?P<tight>)(?=[^\x00-\u2fff])  # "美味!組内"
      )
    | (?P<wide>(?<=[{WIDE_STOPS}]){_ANY}*+){_CLOSERS}(?:\[\d[\d,;\ –-]{{0,40}}+\])*+
    )""",
    re.VERBOSE,
)
# A full stop before white space and a letter or digit, of which `STOP` matches nothing else.
PLAIN_STOP = lazy_pattern(rf"\.(?<!{_ANY}{_ANY})(?=\s{{1,3}}(?P<following>[^\W_]\w{{0,23}}))")
# A number, a letter or both after a label: "Fig. 3", "Tab. S1", "Ch. iv".
_NUMBER = lazy_pattern(
    r"[A-Za-z]{0,2}\d\w*|[A-HJ-Z]|[xv]?i{2,3}|iv|vi{1,3}|ix|xi{0,3}|[XV]?I{2,3}|IV|VI{1,3}|IX|XI{0,3}"
)
_SEPARATOR = lazy_pattern(r"[-–—/(\[,]")
_MARKS_AFTER_WIDE = tuple(",;:、，；：.")
_MARKS_AFTER = "\"'”’»"
_MARKS_BEFORE = "([{\"'“‘„«‹*_`¿¡–—-"
_GLUED = lazy_pattern(r"[.!?](?<=[^\W\d_A-Z]{3}.)[A-Z][a-z]*\s")
_SPACED = lazy_pattern(r"[.!?](?<=[^\W\d_]{3}.)\s++\w")
_ELISION = lazy_pattern(r"\A(?:(?:[cdns]?[aeo]|da|su)ll|l|d|un|qu)['’](?=\w\w)")  # of Romance articles: "dell'art."
_QUOTES = frozenset("\"'”’»›“‘`)]")


def find_stops(text: str) -> list[int]:
    """Return the offsets of all characters at which `STOP` may match, in a third of the time that it would take."""
    if len(text) < _SHORT:
        pattern = _ASCII_STOP if text.isascii() else _ANY_STOP
        return [match.start() for match in pattern.finditer(text)]
    stops = list[int]()
    for start in range(0, len(text), _PIECE):
        codes = np.frombuffer(text[start : start + _PIECE].encode("utf-32-le", "surrogatepass"), dtype="<u4")
        stops += (start + np.flatnonzero(_IS_STOP.take(codes, mode="clip"))).tolist()
    return stops


@dataclass
class Paragraph:
    """The paragraph ``text[start:end]``, the words of its language, and the opening marks in all of the text."""

    text: str
    start: int
    end: int
    words: Words
    marks: list[str]

    @cached_property
    def is_cased(self) -> bool:
        """Return True if letter case says anything: the paragraph is neither all lower nor all upper case."""
        text = self.text[self.start : self.end]
        return not (text.islower() or text.isupper())

    @cached_property
    def has_no_spaces(self) -> bool:
        """Return True if some of its sentences have no white space between them, and none have."""
        text = self.text[self.start : self.end]
        return _GLUED.search(text) is not None and _SPACED.search(text) is None


class Stop:
    """A stop, and the words and marks around it, in a sentence that starts at ``first``."""

    def __init__(self, paragraph: Paragraph, match: re.Match[str], first: int, before: str) -> None:
        self.paragraph, self.match, self.first = paragraph, match, first
        self.text, self.words = paragraph.text, paragraph.words
        self.at, self.end = match.span()
        mark, closers, opener, following, glued = match.group("mark", "closers", "opener", "following", "glued")
        self.mark = f"{self.text[self.at]}{mark or ''}"
        self.closers, self.opener, self.following = closers or "", opener or "", following or glued or ""
        self.before = _last_word(before)
        self.name = _name(self.before)

    @property
    def previous(self) -> str:
        """The character before the stop; "" at the start of the paragraph."""
        return self.text[max(self.at - 1, self.paragraph.start) : self.at]

    @property
    def precedes_lower(self) -> bool:
        """Return True if the next word is in lower case, in text where case says something."""
        return self.paragraph.is_cased and self.following[:1].islower()

    @property
    def precedes_starter(self) -> bool:
        """Return True if the next word opens sentences."""
        return self.following.lower() in self.words.starters

    @property
    def is_ellipsis(self) -> bool:
        """Return True if there are several stops, or the character for three."""
        return len(self.mark) > 1 or self.mark == "…"

    @property
    def is_question(self) -> bool:
        """Return True if there is a question or exclamation mark."""
        return "?" in self.mark or "!" in self.mark

    def ends_sentence(self) -> bool:
        """Return the answer of the first rule that has one."""
        if self.match["wide"] is not None:
            return not self._continues_after_wide()
        if self.match["tight"] is not None:
            return self.is_question
        rules = _RULES if self.match["glued"] is None else _GLUED_RULES
        return next(answer for rule in rules if (answer := rule(self)) is not None)

    def _continues_after_wide(self) -> bool:
        """Return True before a mark or a particle, and after a bracket opened in mid-sentence."""
        inner = self.match.end("wide")
        opening = {"）": "（", ")": "("}.get(self.text[inner : self.end][:1])
        if opening and self.text.rfind(opening, max(self.first + 1, self.at - NEAR), self.at) >= 0:
            return True
        is_continued = self.end > inner and self.text.startswith(self.words.continuing, self.end)
        return is_continued or self.text[self.end : min(self.end + 1, self.match.endpos)] in _MARKS_AFTER_WIDE


def _last_word(text: str) -> str:
    return "" if not text or text[-1].isspace() else text.rsplit(maxsplit=1)[-1]


def _name(word: str) -> str:
    name = word.lstrip(_MARKS_BEFORE).lower()
    return _ELISION.sub("", name) if "'" in name or "’" in name else name


def _is_number(name: str) -> bool:
    return name[0].isdigit() or name.replace(".", "").isdigit()


def _is_marker(name: str) -> bool:
    """Return True for the letter or Roman numeral of an item."""
    return len(name) == 1 or (len(name) <= 4 and not name.strip("ivx"))


def _may_abbreviate(name: str, words: Words) -> bool:
    """Return True for an abbreviation, or a word that looks like one: dotted, or of one letter."""
    last, parts = _SEPARATOR.split(name)[-1], name.split(".")
    is_dotted = len(parts) > 1 and all(len(part) <= 2 for part in parts) and name.replace(".", "").isalpha()
    return is_dotted or not words.abbreviations.isdisjoint({name, last}) or (len(last) == 1 and last.isalpha())


def _ends_before_capital(name: str, words: Words) -> bool:
    """Return True for an abbreviation that may end a sentence before any capital."""
    return not (words.nouns_capital or words.before_capital.isdisjoint({name, _SEPARATOR.split(name)[-1]}))


_Rule: TypeAlias = Callable[[Stop], bool | None]

# Rules for a stop before white space.


def _before_mark(stop: Stop) -> bool | None:
    """Continue before a mark."""
    if stop.following or stop.opener:
        return None
    mark = stop.text[stop.end : min(stop.end + 8, stop.match.endpos)].lstrip()[:1]
    return False if mark and mark in ",;:.!?…" else None


def _question(stop: Stop) -> bool | None:
    """End, but not in '"Really?" he asked' and "Yahoo! is"."""
    if not stop.is_question:
        return None
    if _QUOTES.isdisjoint(stop.closers):
        return not (stop.precedes_lower and stop.name in {"yahoo", "jeopardy"})
    if stop.paragraph.is_cased or ")" in stop.closers:
        return not stop.precedes_lower
    return stop.following.lower() not in stop.words.after_quotation


def _ellipsis(stop: Stop) -> bool | None:
    """End before a capital, a number or a quotation; in text without case, before a word that opens sentences."""
    if not stop.is_ellipsis:
        return None
    if stop.at <= stop.first:
        return False
    if stop.name in stop.words.abbreviations or not stop.paragraph.is_cased:
        return stop.precedes_starter
    opens_quotation = stop.opener != "" and {"(", "["}.isdisjoint(stop.opener)
    return not stop.precedes_lower and (stop.following[:1].isalnum() or opens_quotation)


def _closed(stop: Stop) -> bool | None:
    """Continue in '"No." he said', and end where nothing but marks stands before the stop."""
    if stop.closers and stop.precedes_lower:
        return False
    return None if stop.name else stop.at > stop.first


def _number(stop: Stop) -> bool | None:
    """Continue after the number of an item, "1. Wash", and after ordinals where they have a stop, "3. Oktober"."""
    if not _is_number(stop.name):
        return None
    digits = stop.name.replace(".", "").isdigit()
    start = stop.at - len(stop.before)
    ahead = stop.text[max(stop.first, start - 20) : start].strip()
    if (not ahead or ahead[-1] in ":;") and len(stop.name) <= 3 and stop.name.isdigit():
        return False
    if stop.words.ordinals and digits and len(stop.name.rpartition(".")[2]) <= 2 and stop.before[0] != "(":
        may_open = stop.following[:1].isupper() or not stop.paragraph.is_cased
        return stop.precedes_starter and not stop.opener and may_open
    return not (stop.words.ordinals and stop.precedes_lower)


def _item(stop: Stop) -> bool | None:
    """Continue after the letter of an item: "a. First", "iv. Fourth"."""
    is_first = stop.at - stop.first < MAX_WORD and stop.text[stop.first : stop.at].strip() == stop.before
    return False if _is_marker(stop.name) and is_first else None


def _label(stop: Stop) -> bool | None:
    """Continue between a label and its number: "Fig. 3"."""
    return False if stop.name in stop.words.before_number and _NUMBER.fullmatch(stop.following) else None


def _never_last(stop: Stop) -> bool | None:
    """Continue after a title or the like, and after a label unless a word follows that opens sentences."""
    if stop.name not in stop.words.never_last:
        return None
    is_label = stop.name in stop.words.before_number and len(stop.name) > 2 and stop.paragraph.is_cased
    return None if is_label and stop.precedes_starter else False


def _ordinary(stop: Stop) -> bool | None:
    """End after a word that is not an abbreviation."""
    return None if _may_abbreviate(stop.name, stop.words) else True


def _abbreviation(stop: Stop) -> bool:
    """End after an abbreviation before a word that opens sentences; after some, before most capitals."""
    following = stop.following.lower()
    if stop.opener[:1] in ("(", "["):
        return False
    if not stop.paragraph.is_cased:
        return following in stop.words.strong_starters
    if not _ends_before_capital(stop.name, stop.words):
        return stop.following[:1].isupper() and stop.precedes_starter
    return stop.following[:1].isupper() and following not in stop.words.calendar


_RULES: tuple[_Rule, ...] = (
    _before_mark, _question, _ellipsis, _closed, _number, _item, _label, _never_last, _ordinary, _abbreviation,
)  # fmt: skip

# Rules for a stop before a letter: "home.It was" is two sentences; "example.com", "os.Path" and "Node.js" are one.


def _is_title(stop: Stop) -> bool:
    return stop.following.istitle()


def _before_quotation(stop: Stop) -> bool | None:
    """End before straight quotes that open a quotation: '.."It was'."""
    if stop.closers not in {'"', "``"} or stop.match["trail"]:
        return None
    if stop.text.count(stop.closers, max(stop.first, stop.at - NEAR), stop.at) % 2:
        return None
    stop.end = stop.match.end("mark")
    return not stop.following.islower()


def _after_mark(stop: Stop) -> bool | None:
    """End before a capital after a reference or bracket, "shown.[12]The", or white space, "rained .It"."""
    if stop.match["trail"] or stop.previous in {")", "]"}:
        return _is_title(stop)
    return _is_title(stop) and (stop.precedes_starter or len(stop.following) > 3) if stop.previous.isspace() else None


def _unspaced(stop: Stop) -> bool | None:
    """End before any capital in a paragraph without white space between sentences."""
    is_word = len(stop.before) > 1 or stop.before.isdigit()
    return True if stop.paragraph.has_no_spaces and stop.following[0].isupper() and is_word else None


def _after_number(stop: Stop) -> bool | None:
    """End after a digit only before a word that opens sentences."""
    return _is_title(stop) and stop.precedes_starter if stop.previous.isdigit() else None


def _after_word(stop: Stop) -> bool:
    """End between words, if the stop or case says so."""
    word = stop.before.strip(_MARKS_BEFORE + _MARKS_AFTER).rpartition("-")[2].replace("'", "").replace("’", "")
    if not word.isalpha() or len(word) < 2:
        return False
    if stop.is_ellipsis or stop.is_question:
        return _is_title(stop) or stop.is_question
    if stop.precedes_starter:
        is_uniform = stop.following.islower() or stop.following.isupper()
        return _is_title(stop) or (len(stop.following) > 2 and is_uniform)
    is_lower = word.islower() and (len(word) > 2 or word in stop.words.short)
    return _is_title(stop) and (is_lower or (stop.words.nouns_capital and word[1:].islower()))


_GLUED_RULES: tuple[_Rule, ...] = (_before_quotation, _after_mark, _unspaced, _after_number, _after_word)


class Habits(dict[str, bool | None]):
    """The answer of the rules to a full stop between a word and white space and a next word, if little else matters.

    True if a sentence ends there, False if none ends unless the next word is one of ``words.openers``, None if it
    depends on more. A look-up is faster than the rules, which give the same answer.
    """

    def __init__(self, words: Words) -> None:
        super().__init__()
        self._words = words

    def __missing__(self, before: str) -> bool | None:
        if len(self) >= _MAX_HABITS:
            self.clear()
        self[before] = habit = self._find(before)
        return habit

    def _find(self, before: str) -> bool | None:
        words = self._words
        name = _name(_last_word(before))
        if not name:
            return True  # unless it is the first in its sentence
        if _is_number(name):
            return None if words.ordinals or (len(name) <= 3 and name.isdigit()) else True
        if _may_abbreviate(name, words):
            return None if _ends_before_capital(name, words) else False
        return None if _is_marker(name) or name in words.before_number else True


@cache
def get_habits(code: str) -> Habits:
    """Return the habits of a language by its two- or three-letter code."""
    return Habits(get_words(code))
