"""The benchmark of abstracts runs on synthetic abstracts, and its counts are correct."""

import json
from itertools import pairwise

import biomedical as script
import figures
import pytest

from advchunk import Chunk, Span
from advchunk.readers.pubmed import reader as abstracts
from scripts import run

RESULTS = (
    "In group {} weight fell by {}.5 kg (95% CI {} to 9; p = 0.03). This was more than on placebo. "
    "Nobody knew why (see page 3). "
)


@pytest.fixture
def data(tmp_path):
    folder = tmp_path / "pubmedqa"
    folder.mkdir()
    articles = {
        str(i): {
            "QUESTION": f"Does tea {i} lower weight?",
            "LABELS": ["AIM", "METHODS", "RESULTS"],
            "CONTEXTS": [f"To see whether tea {i} works.", "We asked. " * 20, RESULTS.format(i, i, i) * 5],
        }
        for i in range(4)
    }
    (folder / "half.json").write_text(json.dumps(articles), "utf-8")
    return tmp_path


def test_output_has_every_figure(data, monkeypatch):
    monkeypatch.setattr(script, "SAMPLE", 20)
    tables = {
        table.heading: table.text.splitlines()
        for table in figures.tables(run("biomedical", "--data", data).splitlines())
    }
    assert tables["Sections and speed"][2].startswith("| 100.0% | 100.0% |")
    head, _, *rows = ([cell.strip() for cell in row.strip("|").split("|")] for row in tables["Numbers"])
    broken = head.index("biomedical-abstract, broken")
    assert {row[broken] for row in rows} == {"0"}
    assert {"fixed windows", "recursive", "fixed windows, broken", "recursive, broken"} < {*head}
    head, _, *rows = ([cell.strip() for cell in row.strip("|").split("|")] for row in tables["Sizes and reranking"])
    settings = {row[0]: dict(zip(head, row, strict=True)) for row in rows}
    assert {f"target {size}, overlap {overlap}" for size in (325, 350, 500) for overlap in (0, 50)} < settings.keys()
    for row in settings.values():
        assert float(row["@10"]) >= float(row["@1"])
        assert float(row["@10"]) > 0


def test_whole_claims_and_parentheses_are_counted():
    document = abstracts.read("It rained. Weight fell by 4 kg (p = 0.03). Controls gained (a lot). So it is.")
    text = document.text
    assert [text[slice(*span)] for span in script.comparison_spans(document)] == [
        "Weight fell by 4 kg (p = 0.03). Controls gained (a lot)."
    ]

    def measure(*edges):
        spans = [Span(a, b) for a, b in pairwise(edges)]
        chunks = [Chunk(text[slice(*span)], (span,), 5) for span in spans]
        counts = script.count_whole([document], [chunks])
        return counts["with_comparator"], counts["parentheses"], counts["broken"]

    end, inside, controls = len(text), text.index("= 0.03"), text.index("Controls")
    assert measure(0, end) == (1, 1, 0)
    assert measure(0, controls, end) == (0, 1, 0)
    assert measure(0, inside, end) == (0, 1, 1)
    assert measure(0, text.index("(p"), end) == (0, 1, 0)  # after "kg": only a number belongs to the parenthesis
    assert script._without_labels(abstracts.read("AIM: To see. RESULTS: Seen.")).text == "To see. Seen."
