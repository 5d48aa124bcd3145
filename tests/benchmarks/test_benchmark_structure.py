"""The benchmark of structured documents runs on small files, and its own parsers and counts are correct."""

from __future__ import annotations

import importlib.util
import json
import shutil
import sys
from pathlib import Path

import pytest

from advchunk import Block, Chunk, Document, Span
from pdfs import Paper

SCRIPT = Path(__file__).parents[2] / "benchmarks" / "structure.py"
DATA = Path(__file__).parents[1] / "data"
FILES = {"tei": ("seals.tei.xml", "xml"), "jats": ("tea_jats.xml", "nxml"), "docling": ("docling_report.json", "json")}
LINES = ["The cat naps on the sofa in the sun, and the", "kitten purrs. A cat chases a mouse."]


@pytest.fixture(scope="module")
def script():
    spec = importlib.util.spec_from_file_location("benchmark_structure", SCRIPT)
    sys.modules[spec.name] = module = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(module)
    return module


@pytest.fixture
def data(tmp_path):
    for kind, (name, suffix) in FILES.items():
        (tmp_path / kind).mkdir()
        shutil.copy(DATA / name, tmp_path / kind / f"paper.{suffix}")
    record = {"QUESTION": "Does tea help?", "LABELS": ["AIM", "NOTHING KNOWN"], "CONTEXTS": ["To see.", "So it is."]}
    (tmp_path / "pubmedqa").mkdir()
    (tmp_path / "pubmedqa" / "half.json").write_text(json.dumps({"1": record, "2": record}), "utf-8")
    return tmp_path


def figures(script, data, monkeypatch, capsys, *only):
    monkeypatch.setattr(sys, "argv", [str(SCRIPT), "--data", str(data), "--only", *only])
    monkeypatch.setattr(script, "LARGE", 20_000)
    monkeypatch.setattr(script, "ABSTRACTS", 3)
    script.main()
    return json.loads(capsys.readouterr().out)


def test_output_has_every_figure(script, data, monkeypatch, capsys):
    results = figures(script, data, monkeypatch, capsys, *FILES, "pubmedqa")
    tei, large = results["tei"].values()
    (jats,), (docling,) = (results[kind].values() for kind in ("jats", "docling"))
    assert 20_000 <= large["bytes"] < 40_000
    assert large["blocks"] > tei["blocks"]
    assert [row["chunker"] for row in (tei, jats, docling)] == ["grobid-section", "optimal-semantic", "layout-aware"]
    for row in (tei, large, jats, docling):
        assert row["exact"]
        assert row["text covered"] == 1
        assert row["chunks"] > (row is not jats)  # whose text fits into one
        assert min(row["read, s"], row["chunk, s"]) > 0
    for row in (tei, docling):
        assert row["sections"]["found"] == row["sections"]["expected"] > 3
        assert row["sections"]["in order"]
    assert jats["sections"]["missed"] == ["mugs"]  # the title of a box, which the reader makes a caption
    assert results["pubmedqa"]["sections"] == {"expected": 4, "found": 2, "in order": 0, "headings": 2}
    assert results["pubmedqa"]["3: read and chunk, s"] > 0


def test_pdfs_are_read_with_a_detector_and_without(script, data, monkeypatch, capsys):
    pytest.importorskip("pypdfium2")
    pytest.importorskip("rapid_layout")
    (data / "docling" / "paper.pdf").write_bytes(Paper().page().lines(60, 120, LINES).data())
    results = figures(script, data, monkeypatch, capsys, "pdf")["pdf"]
    assert results.keys() == {"paper.pdf, rapid", "paper.pdf, lines"}
    for row in results.values():
        assert row["words"] == 18
        assert row["reference words"] > 50
        assert row["pages"] == 1
        assert row["ratio"] < 0.2


def test_words_are_compared_in_order(script, tmp_path):
    body = "<abstract><p>Of <hi>cats</hi>.</p></abstract><body><div><head>A</head><p>b c, d</p></div></body>"
    (tmp_path / "paper.tei.xml").write_text(f"<TEI>{body}</TEI>", "utf-8")
    result = script.compare_words(["Of", "cats", "A", "d", "b", "c", "[1]"], tmp_path / "paper.tei.xml")
    assert (result["words"], result["reference words"], result["ratio"], result["share of reference"]) == (
        7,
        6,
        0.7692,
        0.8333,
    )
    assert script.words("| 猫猫 | b-c |\n|---|---|\n- 10⁹") == ["猫", "猫", "b", "c", "109"]


def test_walk_skips_pictures_and_furniture(script):
    def item(label, text, *below, **more):
        return {"label": label, "text": text, "children": [{"$ref": ref} for ref in below], **more}

    texts = [
        item("section_header", "Fig. 9"),
        item("caption", "A kettle."),
        item("page_header", "Tea weekly", content_layer="furniture"),
        item("section_header", "Kettles", "#/texts/4"),
        item("text", "They whistle."),
    ]
    picture = item("picture", "", "#/texts/0", "#/texts/1", captions=[{"$ref": "#/texts/1"}])
    body = item("unspecified", "", "#/pictures/0", "#/texts/2", "#/texts/3")
    tree = {"body": body, "texts": texts, "pictures": [picture]}
    assert [node["text"] for node in script.walk(tree)] == ["", "A kettle.", "Kettles", "They whistle."]
    assert script.docling_headings(json.dumps(tree)) == ["Kettles"]


def test_headings_out_of_order_are_detected(script):
    text = "Aim\n\nTo see.\n\nEnd"
    blocks = (Block("heading", Span(0, 3), 1), Block("paragraph", Span(5, 12)), Block("heading", Span(14, 17), 1))
    document = Document(text, blocks=blocks, metadata={"title": "Of tea"})
    assert script.sections(document, ["Of tea", "AIM", "End."])["in order"]
    assert not script.sections(document, ["End", "Aim"])["in order"]
    assert script.sections(document, ["Aim", "Aim"])["missed"] == ["aim"]


def test_text_outside_blocks_is_detected(script):
    assert script.coverage(Document("Tea \n ten", blocks=(Block("paragraph", Span(0, 3)),))) == 0.5


def test_inexact_chunks_are_detected(script):
    document = Document("Tea", blocks=())
    assert script.figures(document, [Chunk("Tea", (Span(0, 3),), 1)])["exact"]
    assert not script.figures(document, [Chunk("tea", (Span(0, 3),), 1)])["exact"]
