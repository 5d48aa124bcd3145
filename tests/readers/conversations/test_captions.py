"""WebVTT and SubRip: speakers, times, text, and offsets into the file."""

import json
import re
from contextlib import suppress

import pytest
from hypothesis import given
from hypothesis import strategies as st

from advchunk import ConfigurationError, RecursiveChunker, read_file
from advchunk.readers import formats
from advchunk.readers.conversations import captions
from blocks import CASES
from conversation_texts import ROLLING, SRT, VTT
from growing import check_growth


def blocks(document):
    return [(block.kind, block.title, document.text[slice(*block.span)], *times(block)) for block in document.blocks]


def times(block):
    return block.metadata["start_time"], block.metadata["end_time"]


def test_voices_are_speakers_and_nothing_else_is_text():
    document = captions.read(VTT)
    assert blocks(document) == [
        ("turn", "Ann Lee", "Ann Lee: Is there tea & milk?", 1.0, 2.5),
        ("turn", "Bob", "Bob: Yes, there is.", 3.0, 5.25),
    ]
    assert document.markup == "vtt"


def test_captions_that_roll_are_read_once():
    assert blocks(captions.read(ROLLING)) == [("paragraph", None, "tea is good it is hot and green", 0.0, 6.0)]


def test_captions_that_grow_are_read_once():
    speech = ["tea", "tea is", "tea is good", "it", "it is hot"]
    cues = "\n\n".join(f"00:0{i}.000 --> 00:0{i + 1}.000\n{text}" for i, text in enumerate(speech))
    assert captions.read(f"WEBVTT\n\n{cues}").text == "tea is good it is hot"


def test_what_is_said_twice_is_read_twice():
    speech = ["Tea.", "Tea.", "No.", "Milk.", "It is hot.", "And good.", "Is it?"]
    cues = "\n\n".join(f"00:0{i}.000 --> 00:0{i + 1}.000\n{text}" for i, text in enumerate(speech))
    assert captions.read(f"WEBVTT\n\n{cues}").text == "Tea. Tea. No. Milk. It is hot. And good. Is it?"


def test_subrip_is_joined_up_to_a_pause():
    document = captions.read(SRT)
    assert blocks(document) == [
        ("paragraph", None, "Tea is good. It is hot.", 1.0, 4.0),
        ("paragraph", None, "Milk is white.", 9.0, 10.0),
    ]
    assert document.markup == "srt"


@pytest.mark.parametrize(("speech", "expected"), CASES["cues of captions"])
def test_what_is_said(speech, expected):
    cues = "\n\n".join(f"00:0{i}.000 --> 00:0{i + 1}.000\n{text}" for i, text in enumerate(speech))
    document = captions.read(f"WEBVTT\n\n{cues}")
    assert [document.text[slice(*block.span)] for block in document.blocks] == expected


def test_a_long_speech_is_several_blocks_of_its_speaker_and_its_chunks_say_who_speaks():
    cues = "\n\n".join(
        f"00:{i:02}:00.000 --> 00:{i:02}:59.000\n<v Ann>Tea number {i} is good, and so is its cup of clay."
        for i in range(60)
    )
    document = captions.read(f"WEBVTT\n\n{cues}")
    assert {block.title for block in document.blocks} == {"Ann"}
    assert len(document.blocks) > 4
    assert document.text.count("Ann") == 1
    chunks = RecursiveChunker(max_tokens=100).chunk(document)
    assert [chunk.context for chunk in chunks] == ["", *["Ann:"] * (len(chunks) - 1)]
    starts = [chunk.metadata["start_time"] for chunk in chunks]
    assert starts[0] == 0
    assert starts == sorted(starts)
    assert len(set(starts)) > 4
    assert chunks[-1].metadata["end_time"] == 3599


@pytest.mark.parametrize("form", ["vtt", "srt"])
def test_a_chunk_has_the_times_of_its_own_cues(form):
    mark, voice = (".", "<v Ann>") if form == "vtt" else (",", "")
    cues = (f"{i}\n{stamp(4 * i, mark)} --> {stamp(4 * i + 4, mark)}\n{voice}Word {i} and\n" for i in range(1, 200))
    chunks = RecursiveChunker(markup=form, max_tokens=40).chunk(f"{'WEBVTT' * (form == 'vtt')}\n\n" + "\n".join(cues))
    for chunk in chunks:
        first, *_, last = map(int, re.findall(r"\d+", chunk.text))
        assert abs(chunk.metadata["start_time"] - 4 * first) <= 4
        assert 4 * last + 4 <= chunk.metadata["end_time"] <= 4 * last + 8
    assert len(chunks) > 10


@pytest.mark.parametrize(
    ("text", "message"),
    [
        ("Tea is good.", "captions must have cues: a line hh:mm:ss.mmm --> hh:mm:ss.mmm above each text, got 'Tea "
                         "is good.'"),
        ("1\n00:00:01,000 -> 00:00:02,000\nTea", "captions must have cues"),
        ("1\n00:00:01,000 --> "
         "00:0x:02,000\nTea", "the times of a cue must be hh:mm:ss.mmm --> hh:mm:ss.mmm, at line 2, got '00:00:01,000 "
                              "--> 00:0x"),
        ("WEBVTT\n\n00:01.000 --> \nTea", "the times of a cue must be .* at line 3"),
        ("WEBVTT\n\n--> 00:01.000\nTea", "the times of a cue must be .* at line 3"),
    ],
)  # fmt: skip
def test_damaged_files_say_what_is_wrong(text, message):
    with pytest.raises(ConfigurationError, match=re.escape(message) if ".*" not in message else message):
        captions.read(text)


@pytest.mark.parametrize("text", ["", "WEBVTT", "WEBVTT\n\nNOTE Tea", "\ufeffWEBVTT\n\n00:01.000 --> 00:02.000\n\n"])
def test_no_cues_are_no_text(text):
    document = captions.read(text)
    assert document.text == ""
    assert document.blocks == ()


def test_files_and_texts_are_detected(tmp_path):
    for name, text in (("a.vtt", VTT), ("a.srt", SRT)):
        (tmp_path / name).write_bytes(text.replace("\n", "\r\n").encode("utf-8-sig"))
        assert read_file(tmp_path / name).markup == name[2:] == formats.detect_format(text)
        assert blocks(read_file(tmp_path / name)) == blocks(captions.read(text))


words = st.lists(
    st.sampled_from(["tea", "milk", "is,", "hot.", "Where?", "&", "<", ">", "12", "「茶」"]), min_size=1, max_size=20
).map(" ".join)
turns = st.lists(st.tuples(st.sampled_from(["Ann", "Bob Lee", "茶"]), words), min_size=1, max_size=8)


def stamp(seconds, mark):
    return f"{seconds // 3600:02}:{seconds // 60 % 60:02}:{seconds % 60:02}{mark}000"


@given(turns, st.integers(1, 4), st.sampled_from(["vtt", "srt"]), st.sampled_from(["\n", "\r\n"]))
def test_what_is_written_is_read(speech, width, form, end):
    """Turns that are cut into cues of a few words are read back, with their times and their places."""
    mark, cues, expected, at = (".", [], [], 0) if form == "vtt" else (",", [], [], 0)
    for number, (name, words_of_turn) in enumerate(speech):
        parts = [
            f"{word}{number}-{i}" for i, word in enumerate(words_of_turn.split())
        ]  # else they may be taken to roll
        text = " ".join(parts)
        start = at
        for i in range(0, len(parts), width):
            escaped = " ".join(parts[i : i + width]).replace("&", "&amp;").replace("<", "&lt;").replace(">", "&gt;")
            voice = f"<v {name}>" if form == "vtt" else f"{name}: " * (i == 0)
            cues.append(
                f"{len(cues) + 1}{end}{stamp(at, mark)} --> {stamp(at + 1, mark)}{end}{voice}{escaped}{end}{end}"
            )
            at += 1
        if expected and expected[-1][0] == name:
            expected[-1] = name, f"{expected[-1][1]} {text}", expected[-1][2], at
        else:
            expected.append((name, text, start, at))
    original = ("WEBVTT" + end * 2 if form == "vtt" else "") + "".join(cues)
    document = captions.read(original)
    merged = []
    if form == "srt" and any(block.title is None for block in document.blocks):
        return  # too few names
    for block in document.blocks:
        text = document.text[slice(*block.span)].removeprefix(f"{block.title}: ")
        if merged and merged[-1][0] == block.title:
            merged[-1] = block.title, f"{merged[-1][1]} {text}", merged[-1][2], block.metadata["end_time"]
        else:
            merged.append((block.title, text, *times(block)))
    assert merged == expected
    assert len(document.offsets) == len(document.text) + 1
    for character, offset in zip(document.text, document.offsets.tolist(), strict=False):
        assert character in ": \n" or original[offset] == character or original[offset] == "&"


@given(st.text("WEBVT\n 0123:.,->-<vi>/&;x\\{}an", max_size=300) | st.text(max_size=50))
def test_any_text_is_read_or_refused(text):
    for head in ("", "WEBVTT\n\n", "1\n00:00:01,000 --> 00:00:02,000\n"):
        try:
            document = captions.read(head + text)
        except ConfigurationError:
            continue
        assert len(document.offsets) == len(document.text) + 1


TOKENS = [
    "00:01.000 --> 00:02.000\na\n\n", "00:01.000 --> 00:02.000\na b a b\n\n", "<v A>a", "<", "a", "-->", "\n", " ",
    "&", "1\n", "a ", ">>", "{\\",
]  # fmt: skip


@pytest.mark.parametrize("token", TOKENS, ids=json.dumps)
def test_time_grows_with_the_length(token):
    def read(text):
        with suppress(ConfigurationError):
            captions.read("WEBVTT\n\n00:01.000 --> 00:02.000\n" + text)

    check_growth(read, lambda length: token * (length // len(token)), 20_000)
