"""JSON, JSON Lines, YAML and notebooks: nothing is lost, records are whole, paths are said, hostile data are
refused."""

import json
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

from advchunk import ConfigurationError, Document, RecursiveChunker, chunk_files, read_file
from advchunk.readers.data import notebooks, objects, yaml
from advchunk.records import write_metadata
from advchunk.retrieval import Retriever

SCALARS = st.none() | st.booleans() | st.integers(-99, 99) | st.text(st.sampled_from("abc é\n"), max_size=9)
VALUES = st.recursive(
    SCALARS,
    lambda inner: st.lists(inner, max_size=4) | st.dictionaries(st.sampled_from("klmno"), inner, max_size=4),
    max_leaves=25,
)


def words_of(value):
    if isinstance(value, dict):
        named = {key: item for key, item in value.items() if not isinstance(item, list) or words_of(item)}
        return [word for key, item in named.items() for word in [key, *words_of(item)]]
    if isinstance(value, list):
        return [word for item in value for word in words_of(item)]
    if isinstance(value, str):
        return value.split()
    return [] if value is None else [json.dumps(value)]


@given(VALUES)
def test_every_key_and_value_is_in_the_text_and_blocks_cover_it(value):
    document = objects.read(json.dumps(value))
    for word in words_of(value):
        assert word in document.text
    covered = "".join(document.text[slice(*block.span)] for block in document.blocks)
    assert covered.replace("\n", "") == document.text.replace("\n", "")


@given(VALUES.filter(lambda value: "null" not in json.dumps(value)))
def test_yaml_is_read_as_json(value):
    assert yaml.read(json.dumps(value)).text == objects.read(json.dumps(value)).text


ORDERS = {
    "title": "Orders",
    "orders": [
        {"id": i, "customer": {"name": f"Ann {i}"}, "items": [{"tea": "green", "n": i}, {"tea": "black", "n": 2}], "note": "Line one.\nLine two."}
        for i in range(12)
    ],
    "prices": [{"tea": f"kind {i}", "price": i / 2} for i in range(40)],
}  # fmt: skip


def test_records_are_whole_with_their_path_and_flat_records_are_a_table(tmp_path):
    path = tmp_path / "orders.json"
    path.write_text(json.dumps(ORDERS), encoding="utf-8")
    document = read_file(path)
    assert (document.markup, document.metadata["title"]) == ("json", "Orders")
    chunks = RecursiveChunker(max_tokens=90).chunk(document)
    for i in range(12):
        (record,) = [chunk for chunk in chunks if f"Ann {i}\n" in chunk.text]
        assert f"orders[{i}]\nid: {i}\n" in record.text
        assert "- tea: black\n    n: 2" in record.text
    (first,) = [chunk for chunk in chunks if "kind 30 |" in chunk.text]
    assert first.context.endswith("prices\n| tea | price |\n| --- | --- |")
    assert first.metadata["json_path"] == first.metadata["section"] == "prices"
    titled = RecursiveChunker(max_tokens=90, include_context=True).chunk(document)
    (first,) = [chunk for chunk in titled if "kind 30 |" in chunk.text]
    assert first.context.count("prices") == 1


def test_a_record_over_the_limit_is_cut_between_its_members():
    record = {"a": {"b": "x " * 20, "c": "y " * 20}, "d": {"e": "z " * 20}}
    first, second = RecursiveChunker(max_tokens=60, markup="json").chunk(json.dumps([record, {"f": [{}]}]))
    assert first.text.endswith("\n")
    assert first.text.startswith("[0]\na:\n")
    assert "[1]" in second.text


@pytest.mark.parametrize("text", ["[]", "{}", "null", '""', "[[], {}]"])
def test_nothing_is_an_empty_document(text):
    assert RecursiveChunker(markup="json").chunk(text) == []


def bomb():
    lines = ["a0: &a0 [x, x, x, x, x, x, x, x, x, x]"]
    return "\n".join([*lines, *(f"a{i}: &a{i} [{', '.join([f'*a{i - 1}'] * 10)}]" for i in range(1, 9))])


@pytest.mark.parametrize(
    ("read", "text", "rule"),
    [
        (objects.read, "[1", "well-formed"), (objects.read, "[" * 5000 + "]" * 5000, "deep"), (objects.read, '{"a":' * 250 + "1" + "}" * 250, "deep"),
        (yaml.read, "a: [", "well-formed"), (yaml.read, "a: \ud800", "well-formed"), (yaml.read, bomb(), "values"),
        (notebooks.read, "[]", "an object"), (notebooks.read, '{"cells": 3}', "cells must be a list"),
    ],
)  # fmt: skip
def test_hostile_data_give_one_clear_error(read, text, rule):
    with pytest.raises(ConfigurationError, match=rule):
        read(text)


def test_lines_without_text_are_records(tmp_path):
    path = tmp_path / "rows.jsonl"
    path.write_text('{"id": "a", "text": "Tea."}\n{"tea": "green", "price": 2}\n[1]\n', encoding="utf-8")
    files = chunk_files(path, RecursiveChunker())
    assert [(document.id, document.text) for document, _ in files] == [
        ("a", "Tea."),
        (f"{path}:2", "tea: green\nprice: 2"),
    ]
    assert [failure.source for failure in files.failures] == [f"{path}:3"]


def test_a_notebook_is_its_texts_its_code_and_its_short_outputs(tmp_path):
    cells = [
        {"cell_type": "markdown", "source": ["# Tea\n", "\n", "Green tea."]},
        {"cell_type": "code", "source": "print('```')\nbrew()", "outputs": [
            {"output_type": "stream", "text": ["0 %\r50 %\r", "\x1b[31mready\x1b[0m\n"]}, {"output_type": "display_data", "data": {"image/png": "iVBO"}},
            {"output_type": "execute_result", "data": {"text/plain": "x" * 5000}}, {"output_type": "error", "ename": "ValueError", "evalue": "cold"},
        ]},
        {"cell_type": "code", "source": "", "outputs": [
            {"output_type": "display_data", "data": {"text/markdown": ["## Hot\n"], "text/plain": "<Markdown object>"}},
            {"output_type": "display_data", "data": {"image/png": "iVBO", "text/plain": "<Figure size 9x9 with 1 Axes>"}},
            {"output_type": "display_data", "data": {"text/html": "<b>hot</b>"}},
        ]},
    ]  # fmt: skip
    path = tmp_path / "tea.ipynb"
    path.write_text(json.dumps({"cells": cells, "metadata": {"kernelspec": {"language": "julia"}}}), encoding="utf-8")
    document = read_file(path)
    assert [block.kind for block in document.blocks] == ["heading", "paragraph", *["code"] * 4, "heading"]
    assert document.text.endswith("```\n\n## Hot")
    assert document.metadata["left_out"] == "pictures: 2; HTML: 1"
    assert "```julia\nprint('```')\nbrew()\n```" in document.text.replace("````", "```")
    assert "```text\nready\n" in document.text
    assert "%" not in document.text
    assert "\x1b" not in document.text
    assert "ValueError: cold" in document.text
    assert "iVBO" not in document.text
    assert 1000 < document.text.count("x") < 1010
    assert all(chunk.metadata["section"] == "Tea" for chunk in RecursiveChunker(max_tokens=50).chunk(document))


def test_the_notebooks_of_this_repository_are_read():
    for path in sorted((Path(__file__).parents[3] / "notebooks").glob("*.ipynb")):
        document = read_file(path)
        assert document.blocks[0].kind == "heading"


def test_values_of_yaml_stay_as_written_and_nothing_is_run():
    text = "on: push\nversion: 1.10\nat: 12:30:45\nmode: 0644\nrun: !!python/object/apply:os.system [ls]\n"
    assert yaml.read(text).text == "on: push\nversion: 1.10\nat: 12:30:45\nmode: 0644\nrun: ls"


PUMPS = [
    {
        "id": i,
        "name": f"Pump {i}",
        "note": f"Stands in hall {i}. Oil it weekly.\n\nIts valve is number {7 * i}.\n",
        "owner": {"mail": f"a{i}@b.org", "keys": ["brass", "steel"]},
    }
    for i in range(40)
]


def write_pumps(folder, form):
    path = folder / f"pumps.{form}"
    written = {
        "jsonl": lambda: "\n".join(map(json.dumps, PUMPS)),
        "json": lambda: json.dumps(PUMPS),
        "yaml": lambda: pytest.importorskip("yaml").safe_dump(PUMPS, sort_keys=False),
        "csv": lambda: "id,name,note\n" + "".join(f'{p["id"]},{p["name"]},"{p["note"]}"\n' for p in PUMPS),
    }
    path.write_text(written[form](), encoding="utf-8")
    return path


@pytest.mark.parametrize("is_known", [True, False], ids=["with-texts", "chunks-alone"])
@pytest.mark.parametrize("form", ["jsonl", "json", "yaml", "csv"])
def test_a_record_or_row_is_in_a_passage_whole_or_not_at_all(tmp_path, form, is_known):
    documents = list(chunk_files(write_pumps(tmp_path, form), RecursiveChunker(max_tokens=200), on_error="raise"))
    chunks = {document.id: chunks for document, chunks in documents}
    texts = {document.id: document.text for document, _ in documents} if is_known else None
    passages = Retriever(chunks, texts=texts).passages("What number has the valve of pump 17?", 150)
    text = "\n".join(passage.text for passage in passages)
    assert "Its valve is number 119." in text
    for pump in PUMPS:
        ends = [
            f"hall {pump['id']}.",
            f"number {7 * pump['id']}.",
            *([] if form == "csv" else [f"a{pump['id']}@b.org"]),
        ]
        assert len({end in text for end in ends}) == 1
    sections = {passage.section for passage in passages}
    assert sections <= ({""} if form in {"jsonl", "csv"} else {f"[{i}]" for i in range(40)})


def test_a_record_over_the_budget_is_cut_between_its_members():
    record = {f"key {i}": "green tea " * 4 for i in range(20)} | {"leaf": "It is oolong."}
    chunks = RecursiveChunker(markup="json").chunk(json.dumps([record, {"tea": ["black"]}]))
    passages = Retriever({"a.json": chunks}).passages("Which leaf is oolong?", 100)
    (passage,) = [passage for passage in passages if "leaf: It is oolong." in passage.text]
    assert passage.text.startswith("key ")
    assert passage.section == "[0]"


@given(st.lists(st.dictionaries(st.sampled_from("klmno"), VALUES, min_size=1, max_size=4), min_size=1, max_size=5))
def test_the_layout_of_records_is_restored_from_their_text(records):
    document = objects.read(json.dumps(records))
    metadata = write_metadata({}, {"json_path": ""})
    restored = objects.restore_layout(Document(document.text, metadata=metadata))
    assert [(b.kind, b.span) for b in restored.blocks] == [(b.kind, b.span) for b in document.blocks]
