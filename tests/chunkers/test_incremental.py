"""Texts in pieces, and edited texts, have the chunks of the whole text chunked at once: the twin of both is `chunk`."""

from __future__ import annotations

from dataclasses import replace
from unittest.mock import patch

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from advchunk import ConfigurationError, Document, MSTSemanticChunker, RecursiveChunker, SlidingWindowChunker
from advchunk.chunkers import incremental
from advchunk.readers import markdown
from advchunk.records import Span
from memory import peaks

BLOCKS = [
    "# Tea", "## Green", "### Leaves", "Title\n---", "One two three. Four five six seven! Eight?", "A short one.", "x",
    "- an item\n- another one here\n  with a line", "- loose\n\n- list\n\n  inside it", "1. first\n2. second",
    "> a quote of words\n> in two lines", "```\ncode here\n\nmore code\n\n# no heading\n```", "```\nopen fence", "---",
    "| a | b |\n|---|---|\n| 1 | 2 |\n| 3 | 4 |", "$$\nx = y\n$$", "    indented code\n\n    of two", "<div>\nhtml text\n</div>",
    "<!-- a comment\n\nof several -->", "key: value", "+++\na = 1\n+++", "Lower case continues. and so on, with commas, here.",
    "---\nkey: value\n\nmore: values", "```py\nx\n\ny\n~~~", "<pre>\npre\n\nformatted", "\u3000|a|b|\n|-|-|\n|1|2|\n3. third",
    "<table><tr><td>a</td></tr>\n\n<tr><td>b</td></tr>", "</table>", "<table>", "\\begin{tabular}{l}\na \\\\", "\\end{tabular}",
    "Table 1: Tea", "<!-- page 2 -->", "-----\na  b\n-- --\n1  2", "[^1]: a\n\n    b", "\\begin{verbatim}", "\\end{verbatim}",
    "Dr. Smith (see Fig. 3. or not) left. \"Why?\" he said.", "Ein Satz。日本語の文です。もう一つ。", "word " * 30,
    "<details>\n<summary>More</summary>\n\nGreen tea. Black tea.", "</details>", "<details>", "Tea ..... 3\n\nMilk ..... 12",
    "Water ..... ix", "- [Tea](#tea)\n- [Milk](#milk)", "- [Water](#water)", "Contents",
]  # fmt: skip
gaps = st.sampled_from(["\n\n", "\n", "\n\n\n", "\r\n\r\n", " \n \n", "\n\n  ", "\r\r", "\n\x0c\n", "\n\n\u3000"])
texts = st.builds(
    lambda start, pairs: start + "".join(block + gap for block, gap in pairs),
    st.sampled_from(["", "", "", "\ufeff", "\n \n", "---\nkey: value\n\n", "+++\na = 1\n\n"]),
    st.lists(st.tuples(st.sampled_from(BLOCKS), gaps), max_size=25),
)
chunkers = st.builds(
    lambda kind, **params: kind(language="en", **params),  # "auto" is told by the first window alone
    st.sampled_from([RecursiveChunker, SlidingWindowChunker]),
    max_tokens=st.sampled_from([6, 12, 25]),
    overlap_tokens=st.sampled_from([0, 0, 3, 5]),
    min_tokens=st.sampled_from([0, 0, 4]),
    include_context=st.booleans(),
    add_scores=st.booleans(),
    markup=st.sampled_from(["markdown", "plain"]),
    tokenizer=st.sampled_from([None, "words", "characters"]),
)


def unpaged(chunks):
    """Return chunks without the pages that only the whole text tells: those before the first mark."""
    keys = {"page", "pages", "advchunk_keys"}
    return [replace(c, metadata={k: v for k, v in c.metadata.items() if k not in keys}) for c in chunks]


@settings(max_examples=60, deadline=None)
@given(chunkers, texts, st.integers(1, 40), st.sampled_from([30, 100, 400]))
def test_a_stream_has_the_chunks_of_the_whole_text(chunker, text, length, target):
    pieces = [text[i : i + length] for i in range(0, len(text), length)]
    document = Document(text, "d", metadata={"title": "T", "k": 1})
    parts = incremental._Parts(chunker, pieces, document, 10**6, target=target)
    assert unpaged(incremental._number(parts, document)) == unpaged(chunker.chunk(document))


@pytest.mark.slow
@settings(max_examples=80, deadline=None)
@given(chunkers, texts, texts, st.data())
def test_an_edited_text_has_the_chunks_of_chunking_anew(chunker, text, new, data):
    start = data.draw(st.integers(0, len(text)))
    end = data.draw(st.integers(start, min(len(text), start + 60)))
    edited = Document(text[:start] + new[:60] + text[end:], "d", metadata={"k": 2})
    old = chunker.chunk(Document(text, "d", metadata={"k": 1}))
    with patch.object(incremental, "_NEAR", 2):
        result = chunker.rechunk(old, edited)
    anew = chunker.chunk(edited)
    assert result.chunks == anew
    ids, before = [chunk.id for chunk in anew], [chunk.id for chunk in old]
    assert result.kept == tuple(name for name in ids if name in set(before))
    assert result.added == tuple(name for name in ids if name not in set(before))
    assert result.removed == tuple(name for name in before if name not in set(ids))


@settings(max_examples=60, deadline=None)
@given(chunkers, texts, st.integers(1, 40), st.sampled_from([1, 2, 20, 100, 1000]))
def test_no_window_loses_text(chunker, text, length, window):
    pieces = [text[i : i + length] for i in range(0, len(text), length)]
    with patch.object(incremental._log, "warning") as warning:
        chunks = list(chunker.chunk_stream(pieces, id="d", window=window))
    if not warning.called:
        assert unpaged(chunks) == unpaged(chunker.chunk(Document(text, "d")))
    end = 0
    for chunk in chunks:
        assert chunk.text == text[chunk.start : chunk.end]
        assert chunk.start <= end < chunk.end
        end = chunk.end
    assert end == len(text) or not text.strip()
    assert len({chunk.id for chunk in chunks}) == len(chunks)


@settings(max_examples=60, deadline=None)
@given(texts, st.integers(0, 400))
def test_a_layout_can_be_read_from_any_paragraph(text, place):
    whole = markdown.blocks(text)
    part = incremental._Part(RecursiveChunker(), text, (), is_first=True)
    anchor = part.anchor(min(place, len(text)))
    unplaced = (replace(block, places=()) for block in markdown.blocks(text[anchor:], is_start=anchor == 0))
    assert tuple(unplaced) == tuple(
        replace(block, span=Span(block.span.start - anchor, block.span.end - anchor), places=())
        for block in whole
        if block.span.start >= anchor
    )


@pytest.mark.parametrize("chunker", [RecursiveChunker(max_tokens=6), SlidingWindowChunker(max_tokens=6, min_tokens=3)])
@pytest.mark.parametrize(
    ("before", "after"),
    [
        ("One two.\n\nThree four.\n\n---\n\nFive.", "---\nkey: value\n\nOne two.\n\nThree four.\n\n---\n\nFive."),
        ("A b\n\nc `` d e f g h\n```\ni j k l m n", "A b\n\n<!-- c `` d e f g h\n```\ni j k l m n"),
    ],
)
def test_an_edit_may_change_the_layout_of_what_follows(chunker, before, after):
    with patch.object(incremental, "_NEAR", 1):
        assert chunker.rechunk(chunker.chunk(before), after).chunks == chunker.chunk(after)


PROSE = "One two three. Four five six seven!\n\n# Head\n\nEight nine ten.\n\n"


def test_a_long_block_is_cut_with_a_warning(caplog):
    text = "One two three. Four five six. " * 400
    chunks = list(RecursiveChunker(max_tokens=20).chunk_stream([text], window=2000))
    assert "".join(chunk.text for chunk in chunks) == text
    assert all(text[chunk.start : chunk.end] == chunk.text for chunk in chunks)
    assert "no chunk ends with a paragraph in the window of 2000 characters" in caplog.text


def test_memory_does_not_grow_with_a_stream():
    def stream(times):
        chunks = f"RecursiveChunker(max_tokens=20).chunk_stream(({PROSE!r} for _ in range({times})), window=4000)"
        return f"for _ in {chunks}: pass"

    short, long = peaks("from advchunk import RecursiveChunker", stream(150), stream(600))
    assert long - short < 450 * 2 * 200  # digests of ids


def test_only_the_text_around_an_edit_is_chunked(monkeypatch):
    chunker, text, asked = RecursiveChunker(max_tokens=20), "\n\n".join(f"{PROSE}{i}" for i in range(300)), []
    old = chunker.chunk(text)
    jobs = RecursiveChunker.jobs
    monkeypatch.setattr(
        RecursiveChunker,
        "jobs",
        lambda self, documents, *args: jobs(self, [asked.extend(documents) or asked[-1]], *args),
    )
    edited = text.replace("150\n\nOne", "150\n\nTwo")
    result = chunker.rechunk(old, edited)
    assert len(result.added) == len(result.removed) == 1
    assert sum(len(document.text) for document in asked) < len(text) / 5
    monkeypatch.undo()
    assert result.chunks == chunker.chunk(edited)


def test_other_algorithms_chunk_anew():
    chunker = MSTSemanticChunker(max_tokens=20)
    text = "Cats purr.\n\nJudges sit in court.\n\nBoats sail."
    result = chunker.rechunk(chunker.chunk(text), text + "\n\nTea is hot.")
    assert result.chunks == chunker.chunk(text + "\n\nTea is hot.")
    assert chunker.rechunk(result.chunks, "").removed == tuple(chunk.id for chunk in result.chunks)
    assert chunker.rechunk([], "Cats.").added == tuple(chunk.id for chunk in chunker.chunk("Cats."))


@pytest.mark.parametrize(
    ("chunker", "pieces", "options", "says"),
    [
        (MSTSemanticChunker(), ["x"], {}, "chunk_stream needs recursive or sliding-window.* got 'mst-semantic'"),
        (RecursiveChunker(markup="html"), ["x"], {}, "markup must be one of .* for chunk_stream, got 'html'"),
        (RecursiveChunker(vectors="context"), ["x"], {}, "vectors must be one of"),
        (RecursiveChunker(), "text", {}, "pieces must be an iterable of text"),
        (RecursiveChunker(), ["x"], {"window": 0}, "window must be a whole number >= 1"),
    ],
)
def test_what_cannot_be_streamed(chunker, pieces, options, says):
    with pytest.raises(ConfigurationError, match=says):
        chunker.chunk_stream(pieces, **options)


def test_a_stream_says_that_it_recognizes_no_numbered_units(caplog):
    law = "".join(f"Article {i}\n\nThe buyer pays the price of part {i} at once.\n\n" for i in range(1, 9))
    assert RecursiveChunker(max_tokens=20).chunk(law)[0].metadata["clause"] == "1"
    for text, warns in (law, True), ("Tea is hot. Milk is cold.\n\n" * 20, False):
        caplog.clear()
        list(RecursiveChunker(max_tokens=20).chunk_stream([text], id="a"))
        assert ("finds numbered units" in caplog.text) == warns
