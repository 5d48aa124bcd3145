"""Find where speakers begin to speak in a transcript, and tell whether a text is one."""

import json
import re
from collections import Counter
from collections.abc import Iterable, Sequence
from functools import lru_cache
from importlib.resources import files
from typing import NamedTuple

from advchunk.text.tiling import has_one, next_non_space

_CLOCK = r"(?:(?:\d{1,3}:)?\d{1,3}:\d{2}(?:[.,]\d{1,3})?)"
_SPAN = rf"{_CLOCK}(?:[ \t]{{0,2}}(?:-->|[-–—])[ \t]{{0,2}}{_CLOCK})?"
_STAMP = rf"(?:\[{_SPAN}\]|\({_SPAN}\)|<{_SPAN}>|{_SPAN})"
_NAME = r"""(?P<name>[^\W_](?:[^\s:：()\[\]<>{}*|"“”«»/\\=;,!?]|[ \t](?=\S)){0,59}?)"""
_ROLE = r"(?:[ \t]*+(?:\((?!\d+:\d)(?:[^()\n]|\([^()\n]{0,80}\)){1,160}\)|\[(?!\d)[^\[\]\n]{1,80}\]))?"
_NEXT = r"(?=[ \t]*+(?:[^\w\s]|[\d_]|to[ \t]|$))"  # the end of a name, which rejects most words at once
_MARK = r"(?:\*{1,3}|__)?"
_SEPARATOR = r"[ \t]*+[-–—|·•,]?[ \t]*+"
# the number of a line in a court's transcript; captions' chevrons
_LEAD = r"^[ \t]*+(?:\d{1,2}[ \t]{2,}+)?(?:>{2,3}[ \t]*+)?"
_HEAD = re.compile(
    rf"""
    {_LEAD}(?:
      (?P<asked>[QA])[.:][ \t]++(?=\S)
    | (?P<first>{_STAMP})?{_SEPARATOR}(?:From[ \t]++)?{_MARK}{_NAME}{_NEXT}{_ROLE}(?:[ \t]++to[ \t]++[^:\n]{{1,60}}?)?{_MARK}
      (?:{_SEPARATOR}(?P<after>{_STAMP}))?[ \t]*+{_MARK}(?::(?=[\s*_]|\Z)|：){_MARK}[ \t]*+
    | {_MARK}(?P<above>{_NAME.replace("<name>", "<named>")}){_NEXT}{_ROLE}{_MARK}{_SEPARATOR}(?P<time>{_STAMP}){_MARK}[ \t]*+$
    | {_MARK}(?P<stamp>{_STAMP}){_MARK}{_SEPARATOR}{_MARK}(?P<below>{_NAME.replace("<name>", "<timed>")}){_NEXT}{_ROLE}{_MARK}[ \t]*+$
    )
    """,  # noqa: E501
    re.VERBOSE | re.MULTILINE,
)
_TIMES, _ROLE_AFTER = re.compile(_CLOCK), re.compile(_ROLE)

_DATA = json.loads(files(__package__).joinpath("names.json").read_text("utf-8"))
_WORDS = {key: frozenset(" ".join(lines).split()) for key, lines in _DATA.items()}
_FIELDS = _WORDS["fields"]  # words that stand before a colon for another reason than that somebody speaks
_ROLES, _PARTICLES = _WORDS["roles"], _WORDS["particles"]
_NUMBER = re.compile(r"[ _#-]*\d+\w?$")
_ENDS_SENTENCE = re.compile(r"""[.?!…。？！—–-]["”'’»)\]*_]*$|(?<=[^\W\d_])(?: ?,|\})$""")
_PLAIN_WORD = re.compile(r"(?<!\S)[^\W\d_]+(?:['’-][^\W\d_]+)*[.,;:?!]?(?!\S)")
_NEAR = 600  # characters of a line up to the colon or the time after a name, at most
SIGNS = ":", "：", "Q.", "A."  # one of them is in every head
_LONG = 8  # plain words in the first line of what is more than a value
_MAX_WORDS = 7
FEW = 4  # turns, at least
_SHARE, _SHARE_STAMPED = 0.5, 0.3  # of the paragraphs, or of the lines, that begin with a turn


class TurnHead(NamedTuple):
    """The beginning of a turn, up to its first word."""

    start: int
    end: int  # with white space
    name: str  # of the speaker
    name_start: int
    label_end: int  # of the name with a role in parentheses
    stamps: tuple[float, ...] = ()  # seconds of its time stamps, none, one, or two
    has_label: bool = True  # has the form "Name: ...", and no time stamps


def find_heads(text: str, spans: Sequence[tuple[int, int]] | None = None) -> list[TurnHead]:
    """Return the possible heads of turns in ascending, disjoint spans of a text (`tiling.flatten`), or in all of it."""
    heads, lines = list[TurnHead](), _lines(text, [(0, len(text))] if spans is None else spans)
    for match in filter(None, (_HEAD.match(text, line, end) for line, end in lines)):
        group = next(name for name in ("asked", "name", "named", "timed") if match[name])
        name, stamp = match[group], match["first"] or match["after"] or match["time"] or match["stamp"]
        if group == "asked" or is_name(name):
            stamps = tuple(seconds(clock) for clock in _TIMES.findall(stamp or ""))
            first = match.start() + len(match[0]) - len(match[0].lstrip())
            role = _ROLE_AFTER.match(text, match.end(group), match.end())
            label_end = match.end(group) if role is None or _TIMES.search(role[0]) else role.end()
            heads.append(TurnHead(first, match.end(), name, match.start(group), label_end, stamps, not stamps))
    return heads


def _lines(text: str, spans: Sequence[tuple[int, int]]) -> list[tuple[int, int]]:
    """Return the starts of the lines with a sign of a head near, and the ends of their spans, without slow patterns."""
    lines = list[tuple[int, int]]()
    for start, end in spans:
        line = start
        while line < end:
            if has_one(text[line : min(line + _NEAR, end)].partition("\n")[0], SIGNS):
                lines.append((line, end))
            after = text.find("\n", line, end)
            line = after + 1 if after >= 0 else end
    return lines


def seconds(clock: str) -> float:
    """Return the seconds of a time stamp."""
    total = 0.0
    for part in clock.replace(",", ".").split(":"):
        total = total * 60 + float(part)
    return round(total, 3)


@lru_cache(4096)
def is_name(name: str) -> bool:
    """Return True for a possible name of a speaker: few words, capitalized if their script has capitals.

    >>> [is_name(name) for name in ("Ann van Dyk", "speaker 2", "THE COURT", "Step 2", "He speeches", "Note")]
    [True, True, True, False, False, False]
    """
    bare, words = _NUMBER.sub("", name).strip().lower(), name.split()
    if bare in _ROLES:
        return True
    if len(words) > _MAX_WORDS or words[0].islower() or words[-1] in _PARTICLES or name.startswith("BY "):
        return False
    is_field = not set(bare.split()) - _FIELDS - _PARTICLES
    return not is_field and not any(word[0].islower() and word not in _PARTICLES for word in words)


def is_conversation(heads: Sequence[TurnHead], text: str, paragraphs: Iterable[tuple[int, int]]) -> bool:
    """Return True if several speakers recur and begin most paragraphs. Unlike fields and records, without time stamps
    most speeches must end like a sentence or be long, and speakers in one strict order must ask questions.
    """
    names = [head.name for head in heads]
    counts = Counter(names)
    singles = sum(count == 1 for count in counts.values())
    stamped = sum(bool(head.stamps) for head in heads) > len(heads) * _SHARE
    if len(names) < FEW or len(counts) - singles < (1 if stamped else 2) or singles > len(names) / 3:
        return False
    spans, least = list(paragraphs), _SHARE_STAMPED if stamped else _SHARE
    if len(heads) / max(len(spans), 1) < least:  # neither of the shares below can be higher
        return False
    starts = {head.start for head in heads}
    first = sum(next_non_space(text, start) in starts for start, _ in spans)
    lines = sum(bool(line.strip()) for start, end in spans for line in text[start:end].splitlines())
    if max(first / max(len(spans), 1), len(heads) / max(lines, 1)) < least:
        return False
    ends = [*(head.start for head in heads[1:]), len(text)]
    speeches = [text[head.end : end].strip() for head, end in zip(heads, ends, strict=True)]
    spoken = sum(bool(_ENDS_SENTENCE.search(s[-12:])) or len(_PLAIN_WORD.findall(s[:200])) > _LONG for s in speeches)
    if spoken < len(speeches) * least:
        return False
    period = len(counts)
    is_cyclic = all(a == b for a, b in zip(names, names[period:], strict=False)) and len(names) >= 2 * period
    questions = sum("?" in words or "？" in words for words in speeches)
    return stamped or not is_cyclic or 10 * questions >= len(speeches)
