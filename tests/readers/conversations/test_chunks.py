"""Chunks of conversations: whole turns, the speaker of a later piece, and metadata in every front end."""

import json
from itertools import pairwise

import pytest
from click.testing import CliRunner

from advchunk import Document, RecursiveChunker, create
from advchunk.chunkers.frameworks import flatten_places
from advchunk.cli import main
from advchunk.readers import formats
from advchunk.records import Strength
from advchunk.retrieval import Retriever
from conversation_texts import DISCORD, SRT, TRANSCRIPTS, VTT
from langchain_advchunk import RecursiveSplitter
from llamaindex_advchunk import RecursiveNodeParser

LONG = (
    "Ann: "
    + "Tea is good when it is hot and green. " * 30
    + "\n\nBob: Is it?\n\nAnn: "
    + "Yes, it is. " * 12
    + "\n\nBob: Fine.\n"
)
FILES = {
    "a.vtt": (VTT, {"speakers": ["Ann Lee", "Bob"], "start_time": 1.0, "end_time": 5.25}),
    "a.srt": (SRT, {"start_time": 1.0, "end_time": 10.0}),
    "a.txt": (TRANSCRIPTS["Otter"][0], {"speakers": ["Ann Lee", "Bob"], "start_time": 2.0, "end_time": 11.0}),
    "a.json": (DISCORD, {"speakers": ["Ann", "bob"], "start_time": "2024-03-12T10:15:33.5+00:00", "end_time": "2024-03-12T10:16:00+00:00", "title": "Drinks #tea"}),
    "a.md": (TRANSCRIPTS["bold, colon inside"][0], {"speakers": ["Ann", "Bob"]}),
}  # fmt: skip


@pytest.fixture(params=FILES)
def file(request, tmp_path):
    text, metadata = FILES[request.param]
    path = tmp_path / request.param
    path.write_text(text, encoding="utf-8")
    return path, metadata


def test_metadata_is_in_every_front_end(file):
    path, expected = file
    (chunk,) = RecursiveChunker().chunk(RecursiveChunker().read_file(path))
    (piece,) = RecursiveSplitter().split_files([str(path)])
    (node,) = RecursiveNodeParser().get_nodes_from_files([str(path)])
    run = CliRunner().invoke(main, ["chunk", str(path), "-m", "recursive", "--format", "jsonl"])
    record = json.loads(run.stdout)
    flat = flatten_places(expected)  # in the frameworks
    for metadata, own in (
        (chunk.metadata, expected), (record["metadata"], expected), (piece.metadata, flat), (node.metadata, flat),
    ):  # fmt: skip
        assert {key: metadata.get(key) for key in own} == own
    assert piece.page_content.strip() == node.get_content().strip() == record["text"].strip() == chunk.text.strip()


@pytest.mark.parametrize("overlap", [0, 8, 20, 30])
def test_the_context_is_the_speaker_of_the_first_words_also_of_an_overlap(overlap):
    text = LONG + "\n\nAnn: " + "Milk is cold. " * 30 + "\n\nBob: " + "Water is wet and clear. " * 30
    document = formats.read(Document(text), "auto")
    turns = {block.span: block.title for block in document.blocks}
    chunks = RecursiveChunker(max_tokens=70, overlap_tokens=overlap).chunk(text)
    for chunk in chunks:
        speaker = next(title for (start, end), title in turns.items() if start <= chunk.start < end)
        assert (chunk.context or chunk.text[:4]) == f"{speaker}:"
    repeats = [b.start < a.end for a, b in pairwise(chunks)]
    assert any(repeats) == (overlap > 0)
    assert all(chunk.tokens <= 70 for chunk in chunks)


def test_source_spans_are_those_of_the_file():
    document = formats.read(Document(VTT), "vtt")
    (chunk,) = RecursiveChunker().chunk(document)
    ((start, end),) = chunk.source_spans
    assert VTT[start:].startswith("Ann Lee>")
    assert VTT[:end].endswith("is.")


@pytest.mark.parametrize(
    "method", ["recursive", "optimal-semantic", "semantic-threshold", "mst-semantic", "universal-semantic"]
)
def test_turns_that_fit_are_whole_and_later_pieces_say_who_speaks(method):
    chunker = create(method, max_tokens=100)
    document = formats.read(Document(LONG), "markdown")
    chunks = chunker.chunk(LONG)
    assert sorted("".join(chunk.text for chunk in chunks)) == sorted(LONG)
    assert max(chunk.tokens for chunk in chunks) <= 100
    for turn in document.blocks[1:]:
        assert any(start <= turn.span.start and turn.span.end <= end for chunk in chunks for start, end in chunk.spans)
    first = document.blocks[0].span.end
    contexts = [chunk.context for chunk in chunks if chunk.start < first]
    assert contexts == ["", *["Ann:"] * (len(contexts) - 1)]
    assert len(contexts) > 2
    assert {chunk.context for chunk in chunks if chunk.start >= first} == {""}
    assert all(chunk.metadata["speakers"][:1] == ["Ann"] for chunk in chunks if chunk.start < first)


def test_the_speaker_is_below_the_headings():
    chunker = RecursiveChunker(max_tokens=100, include_context=True)
    chunks = chunker.chunk(f"# Meeting\n\n## Tea\n\n{LONG}")
    assert chunks[1].context == "Meeting > Tea\n\nAnn:"


def test_an_answer_stays_with_its_question_if_it_fits():
    turns = [
        "Ann: Tea is good, I think.",
        "Bob: Is it?",
        "Ann: Yes, it is.",
        "Bob: That is fine with me.",
        "Ann: Is there any milk?",
        "Bob: No.",
    ]
    text = "\n\n".join(turns * 6)
    chunker = RecursiveChunker(max_tokens=40)
    units = chunker.tile(formats.read(Document(text), "markdown"), chunker.limits(Document(text)))
    weak = [
        text[edge:].partition("\n")[0]
        for edge, value in zip(units.edges, units.strength, strict=True)
        if value == Strength.ITEM
    ]
    assert set(weak) - {turns[0], ""} == {"Ann: Yes, it is.", "Bob: No."}
    assert not any(chunk.text.rstrip().endswith("?") for chunk in chunker.chunk(text))


@pytest.mark.parametrize("with_texts", [True, False])
def test_a_passage_says_who_speaks(with_texts):
    speech = "".join(f"Leaf number {i} is green and hangs on the bush. " for i in range(60))
    text = f"Ann: {speech}The secret is fresh water. {speech}\n\nBob: Is it?\n\nAnn: Yes, it is.\n\nBob: Fine.\n"
    chunks = RecursiveChunker(max_tokens=100).chunk(Document(text, "a"))
    retriever = Retriever({"a": chunks}, **({"texts": {"a": text}} if with_texts else {}))
    passage = next(p for p in retriever.passages("What is the secret of fresh water?", 40) if "secret" in p.text)
    assert passage.context == "Ann:"
