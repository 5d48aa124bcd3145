"""Conversations: transcripts, captions, and the exports of chats, whose blocks are turns of speakers."""

import re
from collections.abc import Mapping
from typing import Any

from advchunk.readers import row

_STAMP = r"[\[(<]?(?:\d{1,3}:)?\d{1,3}:\d{2}\b"
_ROLE = (
    "user|assistant|human|ai|bot|model|agent|host|guest|interviewer|interviewee|moderator|speaker|spk|caller|operator"
)
_NAME = rf"(?:[^\W\d_a-z][^\n:：\"“|<>{{}}=]{{0,160}}?|(?:{_ROLE})(?:[ _]?\d{{1,3}})?)"
HAS_COLON = r"(?=[^\n:：]{0,180}+[:：])"  # so far ahead, a name or a time stamp has one
_LABEL = (
    rf"[ \t]*+(?:\d{{1,2}}[ \t]{{2,}}+)?(?:>{{2,3}}[ \t]*+)?(?:[QA][.:][ \t]|[*_]{{0,3}}{_STAMP}"
    rf"|{HAS_COLON}[*_]{{0,3}}{_NAME}(?:[*_]{{0,3}}[ \t]?(?::(?=[\s*_])|：)|[ \t|*_]{{1,4}}{_STAMP}))"
)
SIGN = r"(?=[^:]*+:|[^：]*+：|(?:[^\n]*+\n){0,60}?[ \t\d>]*+[QA]\.)"  # most prose has none, and is told so at once
BEGINS = rf"{SIGN}[\ufeff\s]*+(?:[^\n]*+\n){{0,60}}?{_LABEL}"
"""What the first lines of a transcript have, at least: a name with a colon, or with a time stamp."""

# Slack's exports, DiscordChatExporter's, and chat messages of Microsoft Graph.
_SLACK = re.compile(r'[\ufeff\s]*\[\s*\{.*?"ts"\s*:\s*"\d{9,11}\.\d{3,6}"', re.DOTALL)
_DISCORD = re.compile(r'[\ufeff\s]*\{\s*"guild"\s*:.*?"channel"\s*:', re.DOTALL)
_TEAMS = re.compile(
    r'[\ufeff\s]*[\[{].*?(?:"messageType"\s*:.*?"createdDateTime"|"createdDateTime"\s*:.*?"messageType")\s*:', re.DOTALL
)
_HEAD = 20_000  # characters in which a chat is detected


def detect_chat(text: str, name: str = "", metadata: Mapping[str, Any] | None = None) -> str:  # noqa: ARG001
    """Return "chat" if a text is the JSON of a chat, else ""."""
    return "chat" if any(pattern.match(text, 0, _HEAD) for pattern in (_SLACK, _DISCORD, _TEAMS)) else ""


_HEAD_LINE = r"\ufeff?\s*WEBVTT(?=\s|\Z)"
_CLOCK = r"[\ufeff\s]*\d+[ \t]*\r?\n[ \t]*\d+:\d\d:\d\d[,.]\d{1,3}[ \t]*-->"
_DATE = r"[\ufeff\s\u200e\u200f\u202a]*\[?\d{1,4}[./-]\d{1,2}[./-]\d{1,4},?[\s\u202f]"
REGISTRATIONS = (
    row("vtt", "conversations.captions", "captions as WebVTT", begins=_HEAD_LINE, suffixes=(".vtt",)),
    row("srt", "conversations.captions", "captions as SubRip", begins=_CLOCK, suffixes=(".srt",)),
    row(
        "chat", "conversations.chats", "JSON of Slack, Discord and Teams",
        begins=r"[\ufeff\s]*[\[{]", shared_suffixes=(".json",), detect=f"{__name__}:detect_chat",
    ),
    row(
        "whatsapp", "conversations.messages", "chats of WhatsApp, as text",
        begins=_DATE, shared_suffixes=(".txt",), detect=f"{__name__}.messages:detect_whatsapp",
    ),
    row(
        "transcript", "conversations.transcripts", "transcripts of meetings, interviews and hearings",
        begins=BEGINS, shared_suffixes=(".txt",), detect=f"{__name__}.transcripts:detect_transcript",
        refines=("markdown",), metadata_keys=("speakers",),
    ),
)  # fmt: skip
