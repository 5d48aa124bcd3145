"""The benchmark of tables runs on a small folder, and its own scanner and counts are correct."""

import importlib.util
import json
import sys
from pathlib import Path

import pytest

SCRIPT = Path(__file__).parents[2] / "benchmarks" / "tables.py"
ROWS = "".join(rf"kettle {i} & {i * 37} euro \\ \hline" + "\n" for i in range(30))
TABLE = "\\begin{tabular}{|l|l|}\n\\hline name & price \\\\ \\hline\n" + ROWS + "\\end{tabular}"
TEXT = f"# Tea\n\nKettles and their prices.\n\n{TABLE}\n\n$$a = b$$\n\nMilk is white. {'It is cold. ' * 40}\n"


@pytest.fixture(scope="module")
def script():
    spec = importlib.util.spec_from_file_location("benchmark_tables", SCRIPT)
    sys.modules[spec.name] = module = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(module)
    return module


@pytest.fixture
def data(tmp_path):
    folder = tmp_path / "finance"
    (folder / "mineru").mkdir(parents=True)
    (folder / "tea.md").write_text(TEXT, "utf-8")
    (folder / "mineru" / "tea.md").write_text(TEXT.replace("Milk is white.", "Milk 1s wh1te."), "utf-8")
    return tmp_path


def figures(script, data, monkeypatch, capsys, *options):
    monkeypatch.setattr(sys, "argv", [str(SCRIPT), "--data", str(data), *options])
    script.main()
    return json.loads(capsys.readouterr().out)


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        ("<table><tr><td>a</td></tr></table>", [("table", 1)]),
        ("<TABLE border=1>\n<tr><td><table><tr><td>b</td></tr></table></td></tr>\n<tr></tr></TABLE>", [("table", 2)]),
        (TABLE, [("table", 31)]),
        ("| a | b |\n|---|---|\n| 1 | 2 |\n| 3 | 4 |\n", [("table", 3)]),
        ("Tea $$x$$ and \\[y\\] and \\begin{align*}z\\end{align*}.", [("formula", 0)] * 3),
        ("<table>", []),
        ("\\end{tabular} $$", []),
    ],
)
def test_scanner(script, text, expected):
    pieces = script.scan(text)
    assert [(piece.kind, len(piece.rows)) for piece in pieces] == expected
    assert all(piece.span.start <= row.start < row.end <= piece.span.end for piece in pieces for row in piece.rows)


def test_a_splitter_that_cuts_nothing_or_everywhere(script):
    whole = script.measure_whole({"a": TEXT}, lambda text: [("", text)], len(TEXT))
    assert (
        whole["tables that fit"] == whole["whole tables"] == whole["formulas that fit"] == whole["whole formulas"] == 1
    )
    assert (whole["rows that fit"], whole["cut rows"], whole["chunks over"]) == (31, 0, 0)
    cut = script.measure_whole({"a": TEXT}, lambda text: [("", text[i : i + 5]) for i in range(0, len(text), 5)], 5000)
    assert (cut["whole tables"], cut["whole formulas"]) == (0, 0)
    assert cut["cut rows"] >= 30
    pieces = TEXT.splitlines(keepends=True)
    rows = script.measure_whole({"a": TEXT}, lambda _: [("", piece) for piece in pieces], 200)
    assert (rows["rows that fit"], rows["cut rows"]) == (31, 0)
    headed = script.measure_whole({"a": TEXT}, lambda _: [("name | price", piece * 2) for piece in pieces], 200)
    assert headed["pieces"] == headed["pieces with head"]


def test_every_chunker_has_a_row_and_an_error_is_one(script, data, monkeypatch, capsys):
    names = ["recursive", "LangChain RecursiveCharacterTextSplitter"]
    monkeypatch.setitem(script.PEERS, "broken", lambda _: 1 / 0)
    rows = figures(script, data, monkeypatch, capsys, "--chunkers", *names, "broken", "--folders", "finance")
    assert len(rows) == 2 * 3 * 3
    assert all(("error" in row) == (row["chunker"] == "broken") for row in rows)
    assert all("ZeroDivisionError" in row["error"] for row in rows if row["chunker"] == "broken")
    assert all(row["tables that fit"] <= 1 for row in rows if row["chunker"] != "broken")
