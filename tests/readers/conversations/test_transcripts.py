"""Transcripts: which texts are read as one, and their turns."""

import json
import re

import pytest
from hypothesis import given
from hypothesis import strategies as st

from advchunk import Document, read_file
from advchunk.readers import formats, markdown
from advchunk.readers.conversations import BEGINS, HAS_COLON, SIGN, heads, transcripts
from conversation_texts import OTHERS, TRANSCRIPTS
from growing import check_growth


def turns(document):
    return [block for block in document.blocks if block.kind == "turn"]


def expected(speakers):
    return speakers.split("|" if "|" in speakers else None)


@pytest.mark.parametrize("name", TRANSCRIPTS)
def test_a_transcript_is_recognized_and_has_its_speakers(name):
    text, speakers = TRANSCRIPTS[name]
    document = formats.read(Document(text), "auto")
    assert formats.detect_format(text) == document.markup == "transcript"
    assert [turn.title for turn in turns(document)] == expected(speakers)
    assert [turn.metadata["speakers"] for turn in turns(document)] == [[name] for name in expected(speakers)]
    assert ":" not in "".join(document.text[slice(*turn.span)].partition(":")[2] for turn in turns(document))  # no time


@pytest.mark.parametrize(
    "name", [name for name in TRANSCRIPTS if name not in ("court, numbered and indented", "chevrons")]
)
def test_markdown_that_is_a_transcript_has_turns_and_its_text(name):
    text, speakers = TRANSCRIPTS[name]
    document = formats.read(Document(text), "markdown")
    assert document.text == text
    assert [turn.title for turn in turns(document)] == expected(speakers)


@pytest.mark.parametrize("name", OTHERS)
def test_other_texts_have_no_turns(name):
    text = OTHERS[name]
    assert formats.detect_format(text) == "markdown"
    assert formats.detect_file_format("a.txt", text) == "plain"
    assert formats.read(Document(text), "markdown").blocks == markdown.blocks(text)


def test_plain_text_has_none_where_it_is_named():
    text, _ = TRANSCRIPTS["paragraphs"]
    assert formats.read(Document(text), "plain").blocks == ()


def test_a_file_of_text_may_be_a_transcript(tmp_path):
    for suffix, markup in ((".txt", "transcript"), (".md", "")):
        path = tmp_path / f"a{suffix}"
        path.write_text(TRANSCRIPTS["Otter"][0])
        document = read_file(path)
        assert document.markup == markup
        assert [(turn.title, turn.metadata["start_time"]) for turn in turns(document)][:2] == [
            ("Ann Lee", 2),
            ("Bob", 5),
        ]
    assert read_file(tmp_path / "a.txt").text.startswith("Ann Lee: Is there tea?\n\nBob: Yes")


@pytest.mark.parametrize(
    ("text", "times"),
    [
        ("[00:00:02] Ann: Tea?\n[00:01:05.5] Bob: Yes.", [(2, 65.5), (65.5, None)]),
        ("[1:00:02 - 1:00:03] Ann: Tea?\n[1:00:05 --> 1:00:06,250] Bob: Yes.", [(3602, 3603), (3605, 3606.25)]),
        ("Ann  0:03\nTea?\nCy | 100:00\nNo.", [(3, 6000), (6000, None)]),
        ("Ann: Tea?\n\nBob: Yes.", [(None, None), (None, None)]),
    ],
)
def test_times_are_seconds_and_end_where_the_next_begins(text, times):
    document = transcripts.read(text)
    assert [(turn.metadata.get("start_time"), turn.metadata.get("end_time")) for turn in turns(document)] == times


def test_a_transcript_within_markdown_keeps_its_headings_and_lists():
    text = (
        "# Tea\n\nUser: What do I need?\n\nAssistant: This:\n\n- water\n- leaves\n\n```\nboil: now\n```\n\nUser: "
        "And then?\n\nAssistant: Wait.\n\n## Notes\n\nIt was hot.\n"
    )
    document = formats.read(Document(text), "markdown")
    blocks = [(block.kind, block.title, (block.metadata or {}).get("speakers")) for block in document.blocks]
    assistant = ["Assistant"]
    assert blocks == [
        ("heading", "Tea", None), ("turn", "User", ["User"]), ("turn", "Assistant", assistant), ("item", None, assistant),
        ("item", None, assistant), ("code", None, assistant), ("turn", "User", ["User"]), ("turn", "Assistant", assistant),
        ("heading", "Notes", None), ("paragraph", None, None),
    ]  # fmt: skip


def test_a_line_of_a_turn_that_looks_like_a_speaker_is_none():
    text = "Ann: I need:\nSugar: two spoons.\n\nBob: Yes?\n\nAnn: Note: it is hot.\n\nBob: Fine.\n"
    assert [turn.title for turn in turns(formats.read(Document(text), "markdown"))] == ["Ann", "Bob", "Ann", "Bob"]


names = st.sampled_from(["Ann", "Bob Lee", "THE CHAIR", "Speaker 2", "Dr. Ödön van Au", "王芳"])
words = st.lists(
    st.sampled_from(["tea", "milk", "is", "hot,", "and", "green.", "Where?", "12", "§3", "é「茶」"]),
    min_size=1,
    max_size=12,
).map(" ".join)
conversations = st.lists(st.tuples(names, words, st.integers(0, 40_000)), min_size=1, max_size=12)
FORMS = {
    "label": lambda name, speech, _: f"{name}: {speech}",
    "bold": lambda name, speech, _: f"**{name}:** {speech}",
    "stamp": lambda name, speech, clock: f"[{clock}] {name}: {speech}",
    "after": lambda name, speech, clock: f"{name} ({clock}): {speech}",
    "above": lambda name, speech, clock: f"{name}  {clock}\n{speech}",
    "below": lambda name, speech, clock: f"{clock} {name}\n{speech}",
}


@pytest.mark.parametrize("form", FORMS)
@given(conversation=conversations, gap=st.sampled_from(["\n\n", "\n", "\r\n\r\n", "\n \n"]))
def test_what_is_written_is_read(form, conversation, gap):
    clocks = [f"{time // 3600}:{time // 60 % 60:02}:{time % 60:02}" for _, _, time in conversation]
    text = gap.join(
        FORMS[form](name, speech, clock) for (name, speech, _), clock in zip(conversation, clocks, strict=True)
    )
    document = transcripts.read(text)
    has_times = form not in ("label", "bold")
    assert [turn.title for turn in turns(document)] == [name for name, _, _ in conversation]
    for turn, (name, speech, time) in zip(turns(document), conversation, strict=True):
        whole = document.text[slice(*turn.span)]
        assert whole.replace("*", "") == f"{name}: {speech}"
        assert turn.metadata.get("start_time") == (time if has_times else None)
    check_offsets(document, text)


def check_offsets(document, original):
    """Fail unless each character is in the original where the offsets say, but for colons and white space."""
    if document.offsets is None:
        assert document.text == original
        return
    assert len(document.offsets) == len(document.text) + 1
    for character, offset in zip(document.text, document.offsets.tolist(), strict=False):
        assert character in ": \n" or original[offset] == character


@given(st.text("Ann: Bob\n\t0123[]()*-.?茶>QA", max_size=200))
def test_any_text_is_read_with_all_its_letters(text):
    document = transcripts.read(text)
    check_offsets(document, text)
    spans = [block.span for block in formats.read(Document(text), "markdown").blocks]
    assert [block.span for block in markdown.blocks(text)] == spans or spans
    slow = BEGINS.removeprefix(SIGN).replace(HAS_COLON, "")  # what is told at once is left out
    assert bool(re.match(BEGINS, text)) == bool(re.match(slow, text))


HOSTILE = [
    "Ann: ", "Ann: a\n", "[00:01] ", "(", "Ann (", " ", "**", "Q. ", "\t", "00:01 A\n", ":", "Ann\n\n", "1  ", ">>",
    "Ann: a?\n\nBob: b.\n\n", "A B ",
]  # fmt: skip


@pytest.mark.parametrize("token", HOSTILE, ids=json.dumps)
@pytest.mark.parametrize(
    "read", [lambda text: formats.read(Document(text), "auto"), transcripts.read], ids=["auto", "chat"]
)
def test_time_grows_with_the_length(token, read):
    def read_again(text):
        transcripts._heads_in.cache_clear()  # it keeps what was read of the last text
        read(text)

    check_growth(read_again, lambda length: token * (length // len(token)), 20_000)


LINES = [
    "Ann:", "Bob Lee (Chair): Tea?", "Q. Why", "A.", "[00:01] Cy:", "Di  1:03", "0:05 Eve", "x" * 600 + ":",
    "no sign", "一：", " ", "",
]  # fmt: skip


@given(st.lists(st.sampled_from(LINES)), st.data())
def test_no_line_without_a_sign_has_a_head(lines, data):
    text = "\n".join(lines)
    edges = sorted(data.draw(st.sets(st.integers(0, len(text)), max_size=6)))
    spans = [*zip(edges[::2], edges[1::2], strict=False)]
    starts = [(at, end) for start, end in spans for at in range(start, end) if at == start or text[at - 1] == "\n"]
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(heads, "_lines", lambda *_: starts)
        slowly = heads.find_heads(text, spans)
    assert heads.find_heads(text, spans) == slowly
