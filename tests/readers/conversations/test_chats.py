"""Chats of Slack, Discord, Teams and WhatsApp."""

import json
import re

import pytest
from hypothesis import given
from hypothesis import strategies as st

from advchunk import ConfigurationError, read_file
from advchunk.readers import formats
from advchunk.readers.conversations import chats, messages
from conversation_texts import DISCORD, SLACK, TEAMS, WHATSAPP
from growing import check_growth


def blocks(document):
    return [
        (block.kind, block.title, document.text[slice(*block.span)], block.metadata.get("start_time"))
        for block in document.blocks
    ]


def test_slack_has_names_links_threads_and_files():
    assert blocks(chats.read(SLACK)) == [
        ("turn", "Ann Lee", "Ann Lee: Is there tea, @bob?", "2024-03-12T10:15:33Z"),
        ("turn", "bob", "bob: Yes.", "2024-03-12T10:18:20Z"),
        ("paragraph", None, "@U3 has joined the channel", "2024-03-12T10:15:40Z"),
        ("turn", "bob", "bob: See the list (https://tea.example) in #drinks & ask @here", "2024-03-12T10:16:40Z"),
        ("turn", "bob", "bob: [tea.png]", "2024-03-12T10:20:00Z"),
    ]


def test_discord_has_mentions_replies_and_a_title():
    document = chats.read(DISCORD)
    assert blocks(document) == [
        ("turn", "Ann", "Ann: Is there tea, @bob?", "2024-03-12T10:15:33.5+00:00"),
        ("turn", "bob", "bob: Yes.\n[tea.png]", "2024-03-12T10:17:00+00:00"),
        ("paragraph", None, "Joined the server.", "2024-03-12T10:16:00+00:00"),
    ]
    assert document.metadata == {"title": "Drinks #tea"}


def test_teams_is_sorted_by_time_and_without_tags():
    expected = [
        ("turn", "Ann Lee", "Ann Lee: Is there tea?", "2024-03-12T10:15:00Z"),
        ("turn", "Bob", "Bob: Yes, there is.\nGreen.", "2024-03-12T10:16:00Z"),
        ("paragraph", None, "Cy joined.", "2024-03-12T10:17:00Z"),
    ]
    assert blocks(chats.read(TEAMS)) == expected
    assert blocks(chats.read(json.dumps(json.loads(TEAMS)["value"]))) == expected


def test_whatsapp_has_no_marks_and_no_pictures():
    document = messages.read(WHATSAPP)
    assert blocks(document) == [
        ("turn", "Ann", "Ann: Messages are encrypted.", "2024-03-12T10:15:00"),
        ("turn", "Ann Lee", "Ann Lee: Is there tea?\nOr milk?", "2024-03-12T10:15:33"),
        ("turn", "Bob", "Bob: Yes.", "2024-03-12T10:17:00"),
    ]


@pytest.mark.parametrize(
    ("heads", "times"),
    [
        (["[12.03.24, 10:15:33]", "[13.03.24, 10:15:34]"], ["2024-03-12T10:15:33", "2024-03-13T10:15:34"]),
        (["12/03/24, 10:15 -", "12/03/24, 10:16 -"], ["2024-03-12T10:15:00", "2024-03-12T10:16:00"]),
        (["3/12/24, 10:15 PM -", "3/12/24, 10:16\u202fPM -"], ["2024-03-12T22:15:00", "2024-03-12T22:16:00"]),
        (["3/12/24, 12:15 AM -", "3/13/24, 12:16 PM -"], ["2024-03-12T00:15:00", "2024-03-13T12:16:00"]),
        (["3/31/24, 10:15 -", "4/1/24, 10:16 -"], ["2024-03-31T10:15:00", "2024-04-01T10:16:00"]),
        (["01/02/24, 10:15 -", "02/01/24, 10:16 -"], ["2024-01-02T10:15:00", "2024-02-01T10:16:00"]),
        (["2024-03-12, 10:15 -", "2024-03-12, 10:16 -"], ["2024-03-12T10:15:00", "2024-03-12T10:16:00"]),
        (["[2024/03/12, 10:15:33]", "[2024/03/12, 10:15:34]"], ["2024-03-12T10:15:33", "2024-03-12T10:15:34"]),
        (["99/99/24, 10:15 -", "12/03/24, 10:16 -"], [None, "2024-03-12T10:16:00"]),
    ],
)
def test_dates_are_told_from_all_of_them(heads, times):
    text = f"{heads[0]} Ann: Is there tea?\n{heads[1]} Bob: Yes.\n"
    assert formats.detect_format(text) == formats.detect_file_format("a.txt", text) == "whatsapp"
    assert [block.metadata.get("start_time") for block in messages.read(text).blocks] == times


def test_what_the_program_says_is_a_paragraph():
    text = "12/03/24, 10:14 - Ann added Bob\n12/03/24, 10:15 - Ann: Tea?\n12/03/24, 10:16 - Bob: <Media omitted>\n"
    assert [row[:3] for row in blocks(messages.read(text))] == [
        ("paragraph", None, "Ann added Bob"),
        ("turn", "Ann", "Ann: Tea?"),
    ]


@pytest.mark.parametrize("text", [SLACK, DISCORD, TEAMS])
def test_json_of_chats_is_detected(text, tmp_path):
    (tmp_path / "a.json").write_text(text)
    assert read_file(tmp_path / "a.json").markup == formats.detect_format(text) == "chat"


OTHERS = [
    "{}", "[]", "[1, 2]", '[{"a": 1}]', '{"messages": []}', '[{"ts": 1}]', '{"guild": 1}', '[{"role": "user", '
                                                                                           '"content": "Tea?"}]',
    "12.03.24 was a Tuesday.\nTea: it "
    "is good.\n", "12/03/24, 10:15 it rained.\n", "2024-03-12 10:15:33 INFO: start\n2024-03-12 10:15:34 INFO: stop\n",
]  # fmt: skip


@pytest.mark.parametrize("text", OTHERS)
def test_other_texts_are_no_chats(text):
    assert formats.detect_format(text) == "markdown"
    assert formats.detect_file_format("a.json", text) in ("json", "plain")


@pytest.mark.parametrize(
    ("text", "message"),
    [
        ('[{"ts": "1"', "JSON must be well-formed: Expecting ',' delimiter, at line 1, column 12"),
        ("7", "the root must be an object, got 7"),
        ('{"a": 1}', 'a chat must be a list of messages of Slack or Teams, or an object with "channel" (Discord) or '
                     '"value" (Teams), got [\'a\']'),
        ("[7]", "messages[0] must be an object, got 7"),
        ('[{"ts": "1", "text": 7}]', "messages[0].text must be a string, got 7"),
        ('[{"ts": "tea", "text": "a"}]', "messages[0].ts must be the seconds of a time, got 'tea'"),
        ('[{"ts": "1e300", "text": "a"}]', "messages[0].ts must be the seconds of a time, got '1e300'"),
        ('{"channel": {}, "messages": [{"timestamp": '
         '"tea"}]}', "messages[0].timestamp must be a time in ISO 8601, got 'tea'"),
        ('{"channel": 7}', "channel must be an object, got 7"),
        ('{"value": [{"createdDateTime": "tea"}]}', "value[0].createdDateTime must be a time in ISO 8601, got 'tea'"),
        ("[" * 5000, "JSON must "),
    ],
)  # fmt: skip
def test_damaged_json_says_what_is_wrong(text, message):
    with pytest.raises(ConfigurationError, match=re.escape(message)):
        chats.read(text)


def test_a_text_without_messages_is_no_chat_of_whatsapp():
    with pytest.raises(ConfigurationError, match=r"a WhatsApp chat must have messages .* got 'Tea is good.'"):
        messages.read("Tea is good.")
    assert messages.read(" ").text == ""


values = st.recursive(
    st.none() | st.booleans() | st.integers() | st.text(max_size=5) | st.sampled_from(["message", "html", "2024-03-12", "1.5"]),
    lambda inner: st.lists(inner, max_size=3)
    | st.dictionaries(st.sampled_from(["value", "channel", "messages", "ts", "text", "user", "from", "body", "id", "content", "messageType", "replies"]), inner, max_size=4),
    max_leaves=12,
)  # fmt: skip


@given(values)
def test_any_json_is_read_or_refused(value):
    try:
        document = chats.read(json.dumps(value))
    except ConfigurationError:
        return
    assert all(block.span.start < block.span.end for block in document.blocks)


speech = st.lists(
    st.tuples(st.sampled_from(["Ann", "Bob Lee", "茶"]), st.text("tea ?.\n<>&é茶", min_size=1, max_size=20).filter(str.strip), st.integers(0, 10**6)),
    min_size=1, max_size=8,
)  # fmt: skip


@given(speech)
def test_what_is_written_in_slack_is_read(speech):
    items = [
        {"user": name, "user_profile": {"real_name": name}, "ts": f"{1700000000 + at}.{i:06}", "text": text.replace("&", "&amp;").replace("<", "&lt;").replace(">", "&gt;")}
        for i, (name, text, at) in enumerate(speech)
    ]  # fmt: skip
    document = chats.read(json.dumps(items))
    assert [row[1:3] for row in blocks(document)] == [(name, f"{name}: {text.strip()}") for name, text, _ in speech]


@given(speech, st.sampled_from(["\n", "\r\n"]))
def test_what_is_written_in_whatsapp_is_read(speech, end):
    text = "".join(f"[12.03.24, 10:15:{i:02}] {name}: {text.strip()}{end}" for i, (name, text, _) in enumerate(speech))
    document = messages.read(text)
    assert [row[1:3] for row in blocks(document)] == [(name, f"{name}: {text.strip()}") for name, text, _ in speech]
    for character, offset in zip(document.text, document.offsets.tolist(), strict=False):
        assert character in ": \n" or text[offset] == character


@given(st.text("0123456789.,/[]: -APM\u200eAnn\n", max_size=200))
def test_any_text_is_read_as_whatsapp_or_refused(text):
    try:
        document = messages.read(text)
    except ConfigurationError:
        return
    assert len(document.offsets) == len(document.text) + 1


@pytest.mark.parametrize(
    "token",
    ["[12.03.24, 10:15:33] Ann: a\n", "12/03/24, 10:15 - ", "\u200e", "[", "1", "a\n", "12.03.24, "],
    ids=json.dumps,
)
def test_time_of_whatsapp_grows_with_the_length(token):
    check_growth(
        lambda text: messages.read("[12.03.24, 10:15:33] Ann: a\n" + text),
        lambda length: token * (length // len(token)),
        20_000,
    )


@pytest.mark.parametrize("speech", ["<", "<@", "<@U1>", "&amp;", "<a|", "<br>", "</"])
def test_time_of_json_grows_with_the_length(speech):
    def make(length):
        return speech * (length // len(speech))

    check_growth(chats.read, lambda length: json.dumps([{"ts": "1.5", "text": make(length)}]), 20_000)
    check_growth(
        chats.read,
        lambda length: json.dumps({"value": [{"body": {"contentType": "html", "content": make(length)}}]}),
        20_000,
    )
    check_growth(chats.read, lambda length: json.dumps([{"ts": "1.5", "text": speech}] * (length // 30)), 20_000)
