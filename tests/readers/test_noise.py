"""What is no prose is no text."""

import pytest
from langchain_core.documents import Document

from advchunk import RecursiveChunker
from langchain_advchunk import RecursiveSplitter
from llamaindex_advchunk import RecursiveNodeParser

DATA = f"data:image/png;base64,{'iVBOR' * 3000}"


@pytest.mark.parametrize("picture", [f"![cup]({DATA})", f"![cup][1]\n\n[1]: <{DATA}>", f"<img alt='cup' src='{DATA}'>"])
def test_the_bytes_of_data_uris_are_left_out(picture):
    text = f"# Tea\n\nGreen.\n\n{picture}\n\nBlack.\n"
    (chunk,) = RecursiveChunker(max_tokens=200).chunk(text)
    assert "iVBOR" not in chunk.text
    assert chunk.metadata["left_out"] == "data URIs: 1"
    ((start, end),) = chunk.source_spans
    assert (start, text[end - 7 : end]) == (0, "Black.\n")


def test_control_characters_are_replaced_in_the_front_ends():
    text = "They both o\0er cloud credits. " * 20
    pieces = RecursiveSplitter(max_tokens=40).split_documents([Document(text, metadata={"source": "a.pdf"})])
    assert len(pieces) > 1
    assert all("o\ufffder" in piece.page_content and "\0" not in piece.page_content for piece in pieces)
    assert pieces[0].metadata["left_out"] == "control characters: 20"
    start, end = pieces[1].metadata["start_index"], pieces[1].metadata["end_index"]
    assert text[start:end] == pieces[1].page_content.replace("\ufffd", "\0")
    from llama_index.core import Document as LlamaDocument

    nodes = RecursiveNodeParser(max_tokens=40)([LlamaDocument(text=text)])
    assert not any("\0" in node.text for node in nodes)


def test_a_lead_in_stays_with_the_code_below_it_that_is_cut():
    code = "".join(f"key_{i}: value {i}\n" for i in range(200))
    for size in range(60, 320, 40):
        first, second, *_ = RecursiveChunker(max_tokens=size).chunk(f"# Config\n\nThe file:\n\n```yaml\n{code}```\n")
        assert "key_0" in first.text
        assert first.tokens > size / 2
        assert second.text.startswith("key_")


def test_a_chunk_says_that_it_has_pictures():
    first, second, *_ = RecursiveChunker(max_tokens=20).chunk(
        f"![a cup](a.png)\n\nFigure 1: A cup.\n\n{'Tea is hot. ' * 6}"
    )
    assert first.metadata["figures"] == 1
    assert "figures" not in second.metadata
    (page,) = RecursiveChunker(markup="html").chunk(
        "<figure><img src=a alt='A cup'><figcaption>Tea</figcaption></figure><img src=b>"
    )
    assert (page.text, page.metadata["figures"], page.metadata["left_out"]) == ("A cup\n\nTea", 1, "pictures: 1")
