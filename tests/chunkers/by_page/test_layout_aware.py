"""Chunks that stay within the regions of a page: columns, tables with their captions, and what is too long."""

import json
from dataclasses import dataclass
from pathlib import Path

import numpy as np
import pytest

from advchunk import ConfigurationError, Document, RecursiveChunker
from advchunk.chunkers.base import LinearChunker
from advchunk.chunkers.by_page.layout_aware import LayoutAwareChunker
from advchunk.models.counters import as_counter
from advchunk.readers.writing import Writer, pipe_table
from advchunk.records import Place, Segmentation
from pdfs import Paper

DATA = Path(__file__).parents[2] / "data"
TABLE = pipe_table([["leaf", "color"], *[[f"leaf {i}", "green and fresh"] for i in range(30)]])


@dataclass(kw_only=True)
class Shredder(LinearChunker):
    """Cuts wherever it may."""

    algorithm = "shredder"

    def segment(self, units, limits):
        return Segmentation(np.arange(len(units) + 1))


def made(*parts):
    """Return a document of (kind, text, page, left, top) parts."""
    writer = Writer()
    for kind, text, page, left, top in parts:
        writer.add(kind, text, 2 if kind == "heading" else 0, places=[Place(page, (left, top, left + 200, top + 90))])
    return writer.document("made")


def chunked(document, **params):
    defaults = {"inner": RecursiveChunker(), "tokenizer": "words", "fallback": None, "min_tokens": 0}
    chunker = LayoutAwareChunker(**{**defaults, **params})
    return chunker.chunk(document)


def texts(document, **params):
    return [chunk.text.strip() for chunk in chunked(document, **params)]


PAGE = made(
    ("heading", "Results", 1, 50, 80),
    ("paragraph", "Cats nap. Cats purr.", 1, 50, 100),
    ("paragraph", "Cats eat.", 1, 50, 200),
    ("item", "- fish", 1, 50, 300),
    ("item", "- mice", 1, 50, 310),
    ("paragraph", "Courts rule.", 1, 300, 100),
    ("heading", "Methods", 2, 50, 100),
    ("paragraph", "Judges sit.", 2, 50, 120),
)


REGIONS = ["Results\n\nCats nap. Cats purr.", "Cats eat.", "- fish\n\n- mice", "Courts rule.", "Methods\n\nJudges sit."]
COLUMNS = ["\n\n".join(REGIONS[:3]), *REGIONS[3:]]


@pytest.mark.parametrize(
    ("stops", "least", "expected"),
    [
        ("region", 0, REGIONS),
        ("region", 3, [REGIONS[0], "\n\n".join(REGIONS[1:3]), *REGIONS[3:]]),  # those under it share a chunk
        ("region", 60, COLUMNS),
        ("column", 60, COLUMNS),
        ("section", 60, ["\n\n".join(REGIONS[:4]), REGIONS[4]]),
    ],
)
def test_no_chunk_crosses_a_hard_stop(stops, least, expected):
    assert texts(PAGE, hard_stops=stops, min_tokens=least, overlap_tokens=20) == expected


def test_short_regions_do_not_share_a_chunk_across_columns_tables_or_figures():
    beside = made(("paragraph", "Cats.", 1, 50, 100), ("paragraph", "Dogs.", 1, 240, 130))  # their boxes touch
    assert texts(beside, min_tokens=60) == ["Cats.", "Dogs."]
    table = made(("paragraph", "Cats.", 1, 50, 100), ("table", "| a |", 1, 50, 200), ("paragraph", "Dogs.", 1, 50, 300))
    assert texts(table, min_tokens=60) == ["Cats.\n\n| a |", "Dogs."]  # what is above a table leads in to it


def test_a_short_region_without_room_in_its_neighbors_stays_alone():
    page = made(("paragraph", "Cats nap. " * 8, 1, 50, 100), ("paragraph", "Dogs bark.", 1, 50, 300))
    assert [len(text.split()) for text in texts(page, min_tokens=5, max_tokens=17)] == [16, 2]
    assert [len(text.split()) for text in texts(page, min_tokens=5, max_tokens=18)] == [18]


def test_the_inner_chunker_cuts_regions():
    long = made(("paragraph", "Cats nap. " * 8, 1, 50, 100), ("paragraph", "Courts rule. " * 8, 1, 50, 300))
    assert [len(text.split()) for text in texts(long, max_tokens=12)] == [12, 4, 12, 4]


def test_a_paragraph_over_two_columns_is_one_region():
    writer = Writer()
    places = [Place(1, (50, 700, 250, 800)), Place(1, (300, 100, 500, 150)), Place(2, (50, 100, 250, 150))]
    writer.add("paragraph", "It begins here and goes on.", places=places)
    writer.add("paragraph", "So does this.", places=[Place(2, (50, 160, 250, 200))])
    assert texts(writer.document(), hard_stops="column") == ["It begins here and goes on.\n\nSo does this."]


def test_the_next_page_is_another_column():
    pages = [("paragraph", "Cats nap.", 1, 50, 100), ("paragraph", "Cats purr.", 2, 50, 300)]
    assert texts(made(*pages), hard_stops="column") == ["Cats nap.", "Cats purr."]
    assert texts(made(*pages), hard_stops="section") == ["Cats nap.\n\nCats purr."]


BESIDE = [("paragraph", "Before it.", 1, 50, 50), ("paragraph", "After it.", 1, 50, 600)]


@pytest.mark.parametrize("kind", ["table", "figure"])
@pytest.mark.parametrize("stops", ["region", "column", "section"])
def test_tables_and_figures_are_never_cut(kind, stops):
    document = made(BESIDE[0], (kind, TABLE, 1, 50, 100), BESIDE[1])
    before, whole, after = chunked(document, hard_stops=stops, max_tokens=40, overlap_tokens=10, min_tokens=30)
    assert (before.text.strip(), whole.text.strip(), after.text.strip()) == ("Before it.", TABLE, "After it.")
    assert whole.metadata["oversize"] is True
    assert "oversize" not in before.metadata | after.metadata


@pytest.mark.parametrize("order", [("caption", "table"), ("table", "caption"), ("caption", "caption", "figure")])
def test_captions_stay_with_their_table_or_figure(order):
    contents = {"caption": "Table 1. Leaves of tea. They are green.", "table": pipe_table([["a", "b"], ["c", "d"]])}
    contents["figure"] = "an axis"
    parts = [(kind, contents[kind], 1, 50, 100 + 50 * i) for i, kind in enumerate(order)]
    chunks = texts(made(BESIDE[0], *parts, BESIDE[1]), inner=Shredder())
    is_led_in = order[0] == "table"  # by what is above it
    assert "\n\n".join(chunks) == "\n\n".join(["Before it.", *(contents[kind] for kind in order), "After it."])
    assert [chunks.index("After it."), "Before it." in chunks] == [1 if is_led_in else 2, not is_led_in]


def test_a_caption_that_does_not_fit_is_a_chunk_before_its_table():
    document = made(("caption", "Table 1. Leaves of tea.", 1, 50, 50), ("table", TABLE, 1, 50, 100))
    assert texts(document, max_tokens=40, overlap_tokens=10) == ["Table 1. Leaves of tea.", TABLE]
    below = made(("table", TABLE, 1, 50, 50), ("caption", "Table 1. Leaves of tea.", 1, 50, 700))
    assert texts(below, max_tokens=40, overlap_tokens=10) == [TABLE, "Table 1. Leaves of tea."]


def test_a_caption_between_two_figures_belongs_to_one():
    table, figure = ("table", pipe_table([["a", "b"], ["c", "d"]]), 1, 50, 200), ("figure", "an axis", 1, 50, 100)
    shown = [("caption", title, 1, 50, 150) for title in ("Figure 1. Axes.", "Table 1. Leaves.")]
    assert [len(text.split("\n\n")) for text in texts(made(figure, shown[0], table))] == [2, 1]
    assert [len(text.split("\n\n")) for text in texts(made(figure, shown[1], table))] == [1, 2]
    assert [len(text.split("\n\n")) for text in texts(made(figure, *shown, table))] == [2, 2]


def test_a_heading_stays_with_the_table_below_it():
    document = made(("heading", "Leaves", 1, 50, 50), ("table", "| a |\n| --- |\n| b |", 1, 50, 100))
    assert texts(document) == ["Leaves\n\n| a |\n| --- |\n| b |"]


@pytest.mark.parametrize("context", [False, True])
def test_a_table_that_is_split_repeats_its_head_as_context(context):
    document = made(("heading", "Leaves", 1, 50, 50), ("table", TABLE, 1, 50, 100), BESIDE[1])
    chunks = chunked(document, split_tables=True, max_tokens=60, include_context=context)
    *pieces, after = chunks
    head = "| leaf | color |\n| --- | --- |"
    assert len(pieces) > 3
    assert "".join(piece.text for piece in pieces).strip() == f"Leaves\n\n{TABLE}"
    assert head not in pieces[0].context
    assert all(piece.context == ("Leaves\n\n" if context else "") + head for piece in pieces[1:])
    assert all(line.endswith("|") for piece in pieces for line in piece.text.strip().splitlines()[2:])
    assert head not in after.context
    counter = as_counter("words")
    assert all(counter(piece.embed_text) == piece.tokens <= 60 for piece in pieces)


# What it is given.


@pytest.mark.parametrize("detector", ["auto", "layoutparser", len])
def test_the_format_of_json_is_given_or_detected(detector):
    text = (DATA / "layoutparser_two_columns.json").read_text(encoding="utf-8")
    chunks = chunked(Document(text, "tea"), detector=detector)
    assert [chunk.text.strip() for chunk in chunks] == [
        "Tea and cats\n\nGreen tea is grown in the hills and dried in the sun.",
        "- green",
        "Table 1. Leaves.\n\nleaf 7\nstem 8",
        "An advertisement of the day.",
    ]
    assert chunks[0].metadata["section"] == "Tea and cats"


def test_doctr_and_docling_json_are_converted():
    text = (DATA / "doctr_two_pages.json").read_text(encoding="utf-8")
    assert texts(text)[:2] == ["The cat naps on the sofa and", "The court rules on the law."]
    entry = {"self_ref": "#/texts/0", "label": "text", "text": "Weight fell."}
    body = {"self_ref": "#/body", "children": [{"$ref": "#/texts/0"}]}
    docling = {"schema_name": "DoclingDocument", "version": "1.10.0", "name": "a", "body": body, "texts": [entry]}
    assert texts(json.dumps(docling)) == ["Weight fell."]


def test_chunks_of_doclings_loaders_have_pages():
    loaded = json.loads((DATA / "docling_loaders.json").read_text(encoding="utf-8"))["doc_chunks"]
    chunks = [chunked(Document(row["page_content"], metadata=row["metadata"]))[0] for row in loaded]
    assert chunks[0].metadata["title_path"] == "Methods"
    assert chunks[0].metadata["pages"] == [1, 2]


def test_json_of_another_detector_is_an_error():
    text = (DATA / "doctr_two_pages.json").read_text(encoding="utf-8")
    with pytest.raises(ConfigurationError, match="must have blocks"):
        texts(text, detector="layoutparser")


@pytest.mark.parametrize("text", ["Cats nap.", "# Cats\n\nThey nap.", '{"tea": 1}', "%PDF-1.4"])
def test_a_text_without_regions_is_an_error_with_a_hint(text):
    with pytest.raises(ConfigurationError, match=r"needs regions: a PDF \(read_file\), the JSON of Docling"):
        texts(text)


def test_a_document_with_an_empty_layout():
    assert texts(Document("Cats nap. Cats purr.", blocks=())) == ["Cats nap. Cats purr."]
    furniture = made(("furniture", "Journal", 1, 50, 20), ("paragraph", "Cats nap.", 1, 50, 100))
    assert texts(furniture) == ["Journal", "Cats nap."]


def test_markup_allows_a_text_without_pages():
    assert texts("# Cats\n\nThey nap.\n\nThey purr.", markup="markdown") == ["# Cats\n\nThey nap.", "They purr."]


@pytest.mark.parametrize("wrong", ["detectron2", 3])
def test_a_detector_is_a_name_or_a_callable(wrong):
    with pytest.raises(ConfigurationError, match="detector must be a callable, None, or one of auto, docling"):
        LayoutAwareChunker(detector=wrong)


def test_another_detector_is_another_fingerprint():
    made = [LayoutAwareChunker(detector=detector).fingerprint() for detector in ("auto", "rapid", len)]
    assert len(set(made)) == 3


def test_a_pdf_is_chunked_column_by_column_with_its_pages(tmp_path):
    paper = Paper(title="Cats").page()
    paper.lines(60, 120, ["The cat naps on the sofa in the", "sun. It purrs."]).lines(
        315, 120, ["A court rules on the law."]
    )
    path = tmp_path / "cats.pdf"
    path.write_bytes(paper.page().text(60, 120, "Judges sit on the second page.").data())

    looked = []

    def look(picture):
        looked.append(picture.shape)
        return [("Text", (100, 200, 580, 280), 0.9), ("Text", (600, 200, 1000, 250), 0.9)]

    chunker = LayoutAwareChunker(detector=look, inner=RecursiveChunker(), hard_stops="column")
    chunks = chunker.chunk(chunker.read_file(path, metadata={"shelf": 3}))
    assert [chunk.text.strip() for chunk in chunks] == [
        "The cat naps on the sofa in the sun. It purrs.",
        "A court rules on the law.",
        "Judges sit on the second page.",
    ]
    assert [chunk.metadata["page"] for chunk in chunks] == [1, 1, 2]
    assert chunks[0].metadata["shelf"] == 3
    assert len(looked) == 2  # pages
    by_lines = LayoutAwareChunker(detector=None, inner=RecursiveChunker())
    assert "Judges" in by_lines.chunk(by_lines.read_file(path))[-1].text
    with pytest.raises(ConfigurationError, match="detector must be"):
        LayoutAwareChunker(detector="doctr").read_file(path)
