"""The pages and boxes of chunks."""

from itertools import pairwise

import pytest
from hypothesis import given
from hypothesis import strategies as st
from langchain_core.documents import Document as LangChainDocument

from advchunk import Document, RecursiveChunker, SlidingWindowChunker, Span
from advchunk.building.layout import LINES, Locator
from advchunk.chunkers.frameworks import flatten_places
from advchunk.records import Block, Place, written_metadata
from langchain_advchunk import RecursiveSplitter

TEXT = "One two three.\n\nFour five six.\n\nSeven eight nine."
BLOCKS = (
    Block("paragraph", Span(0, 14), places=(Place(2, (10.0, 20.0, 90.0, 30.0)),)),
    Block("paragraph", Span(16, 30), places=(Place(2, (10.0, 700.0, 90.0, 720.0)), Place(3, (10.0, 20.0, 90.0, 30.0)))),
    Block("paragraph", Span(32, 49), places=(Place(3),)),
)


def remove_lines(chunk):
    """Return what advchunk wrote, without lines."""
    return {name: value for name, value in written_metadata(chunk.metadata).items() if name not in LINES}


def test_a_chunk_says_its_page_and_all_of_them_if_they_are_several():
    first, second, third = RecursiveChunker(max_tokens=5).chunk(Document(TEXT, blocks=BLOCKS))
    assert remove_lines(first) == {"page": 2, "boxes": [[2, 10.0, 20.0, 90.0, 30.0]]}
    assert remove_lines(second) == {
        "page": 2,
        "pages": [2, 3],
        "boxes": [[2, 10.0, 700.0, 90.0, 720.0], [3, 10.0, 20.0, 90.0, 30.0]],
    }
    assert remove_lines(third) == {"page": 3}


def test_page_of_a_loader_stays_beside_that_of_the_layout():
    [chunk] = RecursiveChunker().chunk(Document(TEXT, metadata={"page": 7}))
    assert chunk.metadata["page"] == 7
    [chunk] = RecursiveChunker().chunk(Document(TEXT, blocks=BLOCKS, metadata={"page": 7}))
    assert (chunk.metadata["page"], chunk.metadata["advchunk_page"]) == (7, 2)


@given(edges=st.lists(st.integers(0, 60), min_size=4, max_size=30, unique=True).map(sorted), data=st.data())
def test_chunk_has_the_places_of_its_blocks(edges, data):
    blocks = [
        Block(
            "paragraph", Span(a, b), places=tuple(Place(p) for p in data.draw(st.lists(st.integers(1, 5), max_size=2)))
        )
        for a, b in list(pairwise(edges))[::2]
    ]
    start = data.draw(st.integers(0, 59))
    spans = [Span(start, data.draw(st.integers(start + 1, 60)))]
    slow = sorted(
        {p.page for b in blocks for p in b.places for s in spans if max(b.span[0], s[0]) < min(b.span[1], s[1])}
    )
    metadata = Locator(Document("x" * 60, blocks=tuple(blocks)))(spans)
    assert metadata.get("pages", [metadata["page"]] if "page" in metadata else []) == slow


def test_frameworks_get_them_flat():
    metadata = {"page": 2, "pages": [2, 3], "boxes": [[2, 10.0, 700.25, 90.0, 720.0]], "k": [1]}
    assert flatten_places(metadata) == {"page": 2, "pages": "2 3", "boxes": "2:10,700.25,90,720", "k": [1]}
    assert flatten_places({"pages": "i-iv"}) == {"pages": "i-iv"}
    own = {"token_count": 9, "pages": "2 3", "page": 2}
    (piece,) = RecursiveSplitter().split_documents(
        [LangChainDocument(TEXT, metadata=own | {"advchunk_keys": "token_count pages"})]
    )
    assert piece.metadata["page"] == 2
    assert piece.metadata["pages"] == "2 3"  # a piece is on some of the pages of its chunk
    (piece,) = RecursiveSplitter().split_documents([LangChainDocument(TEXT, metadata=own)])
    assert piece.metadata["pages"] == "2 3"  # the user's


@pytest.mark.parametrize("overlap", [0, 3])
def test_repeated_text_counts(overlap):
    _, second, *_ = SlidingWindowChunker(max_tokens=6, overlap_tokens=overlap).chunk(Document(TEXT, blocks=BLOCKS))
    assert second.metadata["page"] == 2
