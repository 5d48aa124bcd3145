"""Read chats that WhatsApp exports as text: each message is a turn, with its time as metadata."""

import re
from collections.abc import Mapping, Sequence
from datetime import datetime
from itertools import pairwise
from typing import Any

from advchunk.errors import require
from advchunk.readers.conversations.derivation import Derivation
from advchunk.records import Document

_MARKS = "\u200e\u200f\u202a\u202c\ufeff"  # that order text from left to right, and the like
_BLANK = r"[ \t\u00a0\u202f]"
_HEAD = re.compile(
    rf"""
    ^[{_MARKS}]*+\[?(?P<date>\d{{1,4}}[./-]\d{{1,2}}[./-]\d{{1,4}}),?{_BLANK}
    (?P<time>\d{{1,2}}[:.]\d{{2}}(?:[:.]\d{{2}})?)(?:{_BLANK}?(?P<half>[aApP])\.?{_BLANK}?[mM]\.?)?
    (?:\]{_BLANK}|{_BLANK}?[-–]{_BLANK})[{_MARKS}]*+
    (?:(?P<name>[^:\n]{{1,60}}?):(?:{_BLANK}|$)[{_MARKS}]*+)?
    """,
    re.VERBOSE | re.MULTILINE,
)
# These stand for a picture that was not exported, in the languages of most users.
_OMITTED = re.compile(
    r"<(?:media omitted|medien ausgeschlossen|médias omis|multimedia omitido|arquivo de mídia oculto|media omessi"
    r"|media weggelaten)>|(?:image|video|audio|sticker|gif|document|contact card) omitted|null",
    re.IGNORECASE,
)
_ORDERS = ("dmy", "mdy", "ymd")
_FEW, _SHARE = 2, 0.5  # messages; of the first lines


def detect_whatsapp(text: str, name: str = "", metadata: Mapping[str, Any] | None = None) -> str:  # noqa: ARG001
    """Return "whatsapp" if most of the first lines are the heads of messages, else ""."""
    head = text[:4096]
    messages = [*_HEAD.finditer(head)]
    is_chat = len(messages) >= _FEW and any(message["name"] for message in messages) and messages[0].start() == 0
    return "whatsapp" if is_chat and len(messages) >= _SHARE * min(len(messages) + 1, head.count("\n") + 1) else ""


def read(text: str, *, id: str = "", metadata: Mapping[str, Any] | None = None) -> Document:
    """Read a chat as "Name: text"; omitted pictures are dropped, and what the program says is a paragraph. Of day and
    month, that comes first which makes all dates exist and ascend; the day, if both do.
    """
    heads = [*_HEAD.finditer(text)]
    rule = "a WhatsApp chat must have messages that begin with a date, a time and a name"
    require(bool(heads) or not text.strip(), rule, text.strip()[:60])
    times, derivation = _times(heads), Derivation(text)
    ends = [*(head.start() for head in heads[1:]), len(text)][: len(heads)]
    derivation.copy(0, len(text[: heads[0].start()].rstrip()) if heads else 0)
    derivation.end_block("paragraph")
    for head, time, last in zip(heads, times, ends, strict=True):
        start, end = head.end(), head.end() + len(text[head.end() : last].rstrip())
        words = text[start:end].strip(_MARKS)
        if _OMITTED.fullmatch(words) or not words:
            continue
        when = {"start_time": time, "end_time": time} if time else {}
        if name := head["name"]:
            derivation.copy(*head.span("name"))
            derivation.write(": ", head.end("name"), start)
        derivation.copy(start, end)
        speakers = {"speakers": [name]} if name else {}
        derivation.end_block("turn" if name else "paragraph", title=name, metadata={**speakers, **when})
    return derivation.document("whatsapp", id, metadata)


def _times(heads: Sequence[re.Match[str]]) -> list[str]:
    """Return the time of each message as ISO 8601; "" for what is no time in the order of most dates."""
    tried = [[_time(head, order) for head in heads] for order in _ORDERS]
    prefers_month = 2 * sum(head["half"] is not None for head in heads) > len(heads)

    def badness(times: list[str]) -> tuple[int, int, bool]:
        valid = [time for time in times if time]
        falls = sum(a > b for a, b in pairwise(valid))
        return len(times) - len(valid), falls, (times is tried[1]) != prefers_month

    return min(tried, key=badness)


def _time(head: re.Match[str], order: str) -> str:
    parts = dict(zip(order, re.split(r"[./-]", head["date"]), strict=True))
    hour, minute, second = (int(part) for part in [*re.split("[:.]", head["time"]), "0"][:3])
    if half := head["half"]:
        hour = hour % 12 + 12 * (half in "pP")
    if order == "ymd" and len(parts["y"]) < 4:
        return ""
    try:
        year = int(parts["y"]) + (2000 if len(parts["y"]) == 2 else 0)
        time = datetime(year, int(parts["m"]), int(parts["d"]), hour, minute, second)
    except ValueError:
        return ""
    return time.isoformat() if year > 1900 else ""
