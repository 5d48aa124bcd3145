"""Read chats as JSON: the days of Slack's exports, DiscordChatExporter's files, messages of Teams from Microsoft Graph.

Each message is a turn. Replies follow what they answer, so that they may be in one chunk. Offsets in the JSON are not
kept: its strings are escaped, and mentions are written as names.
"""

import html
import re
from collections.abc import Iterator, Mapping
from datetime import UTC, datetime
from itertools import chain
from typing import Any, NamedTuple

from advchunk.errors import ConfigurationError, require
from advchunk.readers.conversations.derivation import times
from advchunk.readers.json import Object, parse_json
from advchunk.readers.writing import Writer, squeeze
from advchunk.records import Document

_SLACK_MARK = re.compile(r"<(?P<sign>[@#!]?)(?P<target>[^<>|\n]{1,2000})(?:\|(?P<label>[^<>\n]{0,2000}))?>")
_DISCORD_MENTION = re.compile(r"<@!?(\d{1,25})>")
_LINES = re.compile(r"<(?:br|/p|/div|/li|/h\d|/tr)\b[^<>]{0,200}>", re.IGNORECASE)
_TAG = re.compile(r"</?[a-zA-Z][^<>]{0,2000}>")
_SYSTEM = ("channel_", "group_", "bot_add", "bot_remove", "pinned_item")  # Slack's notices of who joined, and the like


class _Message(NamedTuple):
    """A message; without a speaker, a notice of the program. ``thread`` is the key of what it answers, or its own."""

    speaker: str
    time: str
    text: str
    key: str = ""
    thread: str = ""


def read(text: str, *, id: str = "", metadata: Mapping[str, Any] | None = None) -> Document:
    """Read the JSON of a chat: each message is "Name: text", with ``speakers`` and times in ISO 8601."""
    root = parse_json(text, key="messages")
    properties = dict[str, Any]()
    if "guild" in root or "channel" in root:
        messages = [*_discord(root)]
        names = [(root.object(key) or Object({})).text("name") for key in ("guild", "channel")]
        properties["title"] = " #".join(filter(None, names))
    elif "value" in root or any("messageType" in item for item in root.objects("messages")):
        messages = sorted(_teams(root, "value" if "value" in root else "messages"), key=lambda message: message.time)
    else:
        of = 'messages of Slack or Teams, or an object with "channel" (Discord) or "value" (Teams)'
        require("messages" in root, f"a chat must be a list of {of}", sorted(root)[:5])
        messages = [*_slack(root)]
    threads, writer = dict[str, list[_Message]](), Writer("chat")
    for number, message in enumerate(message for message in messages if message.text):
        threads.setdefault(message.thread or message.key or f"#{number}", []).append(message)
    for speaker, time, words, *_ in chain.from_iterable(threads.values()):  # each thread where it begins
        writer.metadata = ({"speakers": [speaker]} if speaker else {}) | times(time or None, time or None)
        shown = f"{speaker}: {words}" if speaker else words
        writer.add("turn" if speaker else "paragraph", shown, title=speaker or None)
    return writer.document(id, {key: value for key, value in properties.items() if value} | {**(metadata or {})})


def _slack(root: Object) -> Iterator[_Message]:
    items = root.objects("messages")
    names = dict[str, str]()
    for item in items:
        profile = item.object("user_profile") or Object({})
        if name := profile.text("real_name") or profile.text("display_name") or profile.text("name"):
            names[item.text("user")] = squeeze(name)

    def mention(match: re.Match[str]) -> str:
        sign, target, label = match["sign"], match["target"], match["label"]
        if sign == "@":
            return f"@{names.get(target) or label or target}"
        if sign:
            return f"{'#' if sign == '#' else '@'}{label or target.partition('^')[0]}"
        return f"{label} ({target})" if label and label not in target else target

    for item in items:
        attached = (part.text("text") or part.text("fallback") for part in item.objects("attachments"))
        words = item.text("text") or "\n".join(attached)
        files = [file.text("title") or file.text("name") for file in item.objects("files")]
        words = "\n".join(filter(None, [words, *(f"[{file}]" for file in files if file)]))
        user, time = item.text("user"), item.text("ts")
        is_notice = item.text("subtype").startswith(_SYSTEM)
        speaker = names.get(user) or item.text("username") or user or item.text("bot_id")
        clean = html.unescape(_SLACK_MARK.sub(mention, words)).strip()
        yield _Message("" if is_notice else speaker, _iso(item, "ts"), clean, time, item.text("thread_ts"))


def _discord(root: Object) -> Iterator[_Message]:
    for item in root.objects("messages"):
        author = item.object("author") or Object({})
        people = {user.name("id"): user.text("nickname") or user.text("name") for user in item.objects("mentions")}
        words = _DISCORD_MENTION.sub(lambda match: f"@{people.get(match[1]) or match[1]}", item.text("content"))  # noqa: B023
        files = [file.text("fileName") for file in item.objects("attachments")]
        words = "\n".join(filter(None, [words.strip(), *(f"[{file}]" for file in files if file)]))
        is_notice = item.text("type") not in {"", "Default", "Reply"}
        speaker = squeeze(author.text("nickname") or author.text("name"))
        answered = (item.object("reference") or Object({})).name("messageId")
        yield _Message("" if is_notice else speaker, _iso(item, "timestamp"), words, item.name("id"), answered)


def _teams(root: Object, key: str, thread: str = "") -> Iterator[_Message]:
    for item in root.objects(key):
        sender = item.object("from") or Object({})
        people = (sender.object(kind) for kind in ("user", "application", "device"))
        speaker = next((name for person in people if person and (name := squeeze(person.text("displayName")))), "")
        body = item.object("body") or Object({})
        words = body.text("content")
        if body.text("contentType").lower() == "html":
            words = html.unescape(_TAG.sub("", _LINES.sub("\n", words)))
        words = "\n".join(filter(None, (squeeze(line) for line in words.splitlines())))
        is_notice = item.text("messageType") not in {"", "message"}
        answered = thread or item.name("replyToId") or item.name("id")
        yield _Message("" if is_notice else speaker, _iso(item, "createdDateTime"), words, item.name("id"), answered)
        yield from _teams(item, "replies", answered)


def _iso(item: Object, key: str) -> str:
    """Return a time in ISO 8601, in which it must be, except for the ``ts`` of Slack, which are seconds."""
    time, is_epoch = item.text(key), key == "ts"
    try:
        if time and is_epoch:
            return datetime.fromtimestamp(int(float(time)), UTC).isoformat().replace("+00:00", "Z")
        if time:
            datetime.fromisoformat(time)
    except (ValueError, OverflowError, OSError):
        form = "the seconds of a time" if is_epoch else "a time in ISO 8601"
        msg = f"{item.at(key)} must be {form}, got {time[:40]!r}"
        raise ConfigurationError(msg) from None
    return time
