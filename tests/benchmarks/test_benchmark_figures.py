"""The pages have the tables that benchmarks printed, and say how they were measured."""

import json
import random
import re

import figures
import pytest

REGIONS = [(path, match) for path in figures.PAGES for match in figures.REGION.finditer(path.read_text("utf-8"))]


def test_no_page_has_a_table_that_was_not_printed():
    notes, faults = figures.check()
    assert faults == []
    assert all(name in figures.MANIFEST for name in (note.partition(":")[0] for note in notes))


def test_ten_rows_of_the_pages_were_printed_by_the_benchmark_that_they_name():
    rows = [(match["name"], row) for _, match in REGIONS for row in re.findall(r"^\|.*\d.*\|$", match[0], re.MULTILINE)]
    for name, row in random.Random(0).sample(rows, 10):
        printed = [[cell.strip() for cell in line.strip("|").split("|")] for line in figures.read(name)["output"]]
        assert any(all(cell.strip() in cells for cell in row.strip("|").split("|")) for cells in printed)


def test_what_is_measured_is_there():
    paths = [
        path for row in figures.MANIFEST.values() for path in (f"benchmarks/{row['run'].split()[0]}", *row["code"])
    ]
    assert [path for path in paths if not (figures.ROOT / path).exists()] == []


def test_the_pages_can_be_read():
    pages = (figures.ROOT / "benchmarks").glob("*.md")
    assert sum(len(path.read_text("utf-8").split()) for path in pages) <= 25_000


def test_a_changed_figure_and_a_former_version_are_told(tmp_path, monkeypatch):
    now = figures.circumstances()
    record = figures.read("features") | {"chunkers": now["chunkers"], "embedder": now["embedder"]}
    page, kept = tmp_path / "PAGE.md", tmp_path / "features.json"
    kept.write_text(json.dumps(record), "utf-8")
    monkeypatch.setattr(figures, "PAGES", [page])
    monkeypatch.setattr(figures, "ROOT", tmp_path)
    monkeypatch.setattr(figures, "RECORDS", tmp_path)
    page.write_text(figures.filled("<!-- figures: features -->\n<!-- end -->\n"), "utf-8")
    assert "former versions" not in page.read_text("utf-8")
    assert not [fault for fault in figures.check()[1] if "PAGE.md" in fault]
    page.write_text(page.read_text("utf-8").replace("100.00%", "99.00%", 1), "utf-8")
    assert [fault for fault in figures.check()[1] if "PAGE.md" in fault]
    record["chunkers"]["recursive"] = 1
    kept.write_text(json.dumps(record), "utf-8")
    assert "of former versions: recursive 1)" in figures.filled("<!-- figures: features -->\n<!-- end -->\n")


def test_a_section_is_chosen_by_its_heading(monkeypatch):
    output = ["## Small", "", "| a |", "|---|", "| 1 |", "", "## Large", "", "In kB", "", "| a |", "|---|", "| 2 |"]
    monkeypatch.setattr(
        figures, "read", lambda _: {**figures.circumstances(), "command": "x.py", "seconds": 1, "output": output}
    )
    shown = figures.filled("<!-- figures: features / Large -->\n<!-- end -->\n")
    assert "In kB\n\n| a |\n|---|\n| 2 |\n" in shown
    assert "| 1 |" not in shown
    with pytest.raises(SystemExit, match="no section 'Huge'"):
        figures.filled("<!-- figures: features / Huge -->\n<!-- end -->\n")


def test_the_first_table_of_the_readme_is_of_the_record():
    rows = {
        "the hits as they are": "hits as they are",
        "LangChain `EmbeddingsFilter`": "LangChain EmbeddingsFilter",
        "LlamaIndex `SentenceEmbeddingOptimizer`": "LlamaIndex SentenceEmbeddingOptimizer",
        "trimwise": "trimwise",
        "sentences by BM25": "sentences by BM25",
        "**cut again**": "cut again, nothing around",
        "**cut again, with the texts around the hits**": "**cut again, with the texts**",
    }
    printed = {table.heading: cells_of(table.text) for table in figures.tables(figures.read("hits")["output"])}
    many, few = (printed[f"Hits of a store in {budget} tokens"] for budget in ("1,000", "200"))
    places = [many[""].index(name) for name in ("chroma", "covidqa", "ohr/law", "ohr/manual")]
    readme = cells_of((figures.ROOT / "README.md").read_text("utf-8"))
    for label, row in rows.items():
        assert readme[label] == [f"{many[row][place].split()[0]} ({few[row][place].split()[0]})" for place in places]


def test_the_row_of_files_beside_other_libraries_is_of_the_record():
    printed = {table.heading: cells_of(table.text) for table in figures.tables(figures.read("files")["output"])}
    shares = {name.partition(" (")[0]: cells[3:5] for name, cells in printed["By library"].items()}
    page = cells_of((figures.ROOT / "benchmarks" / "README.md").read_text("utf-8"))
    row = page["200 files in 25 formats: rows of tables whole in a chunk; with their header"]
    libraries = ("advchunk", "LangChain", "LlamaIndex", "markitdown, chonkie")
    assert row[:4] == ["; ".join(f"{share} %" for share in shares[name]) for name in libraries]


def cells_of(text):
    """Return the cells of the rows of tables by the first cell."""
    rows = [[cell.strip() for cell in line[1:-1].split("|")] for line in text.splitlines() if line.startswith("|")]
    return {row[0]: row[1:] for row in reversed(rows)}
