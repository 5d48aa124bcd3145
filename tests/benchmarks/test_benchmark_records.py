"""The benchmark of records runs on a small folder, and its questions and counts are correct."""

import json
import sys

import pytest
import records

NAMES = [f"{word} {city}" for word in ("Old", "New", "Green") for city in ("Ayr", "Wick", "Oban", "Leith", "Perth")]


@pytest.fixture
def data(tmp_path):
    for number, kind in enumerate(("Harbor", "Garden")):
        rows = [f'"{name} {kind}",{i * 37 + number},{i}\n' for i, name in enumerate(2 * NAMES) if i not in (3, 18)]
        rows = [row.replace(kind, f"{kind} {'East' if i < 15 else 'West'}") for i, row in enumerate(rows)]
        rows += [f'"{kind} number {i} of all",{i},{i}\n' for i in range(2)]
        (tmp_path / f"{kind}.csv").write_text("name,visitors,boats\n" + "".join(rows), "utf-8")
    (tmp_path / "numbers.csv").write_text("a,b,c\n" + "1,2,3\n" * 40, "utf-8")
    return tmp_path


def test_questions_are_of_all_tables_with_names(data):
    tables = list(records.read_tables(data))
    assert [table.path.name for table in tables] == ["Garden.csv", "Harbor.csv"]
    questions = records.ask(tables, 7)
    assert len(questions) == 7 == len({question.text for question in questions})
    for question in questions:
        kind = "Garden" if "Garden" in question.text else "Harbor"
        assert ",".join(question.values[1:]) in (data / f"{kind}.csv").read_text("utf-8")
        assert question.column in ("visitors", "boats")


def test_a_splitter_that_cuts_nothing_or_everywhere(data):
    tables = list(records.read_tables(data))
    paths, questions = [table.path for table in tables], records.ask(tables, 6)

    def rows(path):
        return path.read_text("utf-8").splitlines()

    cut = records.measure(paths, tables, questions, records.plain(rows))
    assert (cut["whole"], cut["found"], cut["with column"]) == (cut["rows"], 6, 0)
    named = records.plain(lambda path: [f"name, visitors, boats: {row}" for row in rows(path)])
    assert records.measure(paths, tables, questions, named)["with column"] == 6
    letters = records.measure(paths, tables, questions, records.plain(lambda path: path.read_text("utf-8").split()))
    assert letters["whole"] == letters["found"] == 0
    broken = records.measure(paths, tables, questions, records.plain(lambda path: [path.read_bytes()]))
    assert len(broken["errors"]) == 2
    assert broken["found"] == 0


def test_it_prints_a_line_for_each_form_and_chunker(data, monkeypatch, capsys):
    monkeypatch.setattr(
        sys, "argv", ["records.py", "--data", str(data), "--questions", "6", "--only", "recursive", "Llama", "lost"]
    )
    records.main()
    lines = [json.loads(line) for line in capsys.readouterr().out.splitlines()]
    assert {line["form"] for line in lines} == {"csv", "json", "jsonl"}
    ours = [line for line in lines if line["chunker"].startswith("recursive")]
    assert len(ours) == 6
    assert all(line["whole"] == line["rows"] and min(line["found"], line["with column"]) >= 5 for line in ours)
    assert all("error" in line or line["errors"] or line["chunks"] for line in lines)
