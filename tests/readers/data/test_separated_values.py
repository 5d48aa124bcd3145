"""Tables of separated values: rows whole, header there, places exact, whatever is in the cells."""

import csv
import io

import pytest
from hypothesis import given
from hypothesis import strategies as st

from advchunk import MSTSemanticChunker, RecursiveChunker, chunk_files, read_file
from advchunk.readers import sources
from advchunk.readers.data import separated_values
from advchunk.text import separated
from advchunk.text.separated import SEPARATORS

CELLS = st.text(st.sampled_from('ab1 ",;\t\n\r|é<'), max_size=6)
TABLES = st.integers(2, 4).flatmap(lambda n: st.lists(st.lists(CELLS, min_size=n, max_size=n), min_size=2, max_size=8))


def write(rows, kind="commas", **options):
    buffer = io.StringIO(newline="")
    csv.writer(buffer, delimiter=SEPARATORS[kind], **options).writerows(rows)
    return buffer.getvalue()


@given(TABLES, st.sampled_from([*SEPARATORS]), st.sampled_from(["\n", "\r\n"]))
def test_records_and_cells_are_those_of_the_csv_module(rows, kind, end):
    text = write(rows, kind, lineterminator=end, quoting=csv.QUOTE_ALL)
    spans = list(separated.records(text, kind))
    assert [separated.values(text[slice(*span)], kind) for span in spans] == rows
    assert "".join(text[slice(*span)] for span in spans) == text
    if not any(sign in text for own, sign in SEPARATORS.items() if own != kind):
        assert separated.separation(text) == kind


@given(st.text(st.sampled_from('ab",\n\r'), max_size=40), st.sampled_from([*SEPARATORS]))
def test_records_of_any_text_are_all_of_it(text, kind):
    assert "".join(text[slice(*span)] for span in separated.records(text, kind)) == text


@pytest.mark.parametrize(
    ("text", "kind"),
    [
        ("a,b\n1,2\n", "commas"), ("a;b\n1,5;2,5\n", "semicolons"), ("a\tb, c\n1\t2, 3\n", "tabs"), ("Tea.\nRum.\n", None),
        ("Boil it, then wait.\nPour.\n", None), ("a,b\n1,2,3\n", None), ("", None), ("a,b", None), ('a,"b\n1,2\n', "commas"),
    ],
)  # fmt: skip
def test_the_separator_is_that_which_makes_columns(text, kind):
    assert separated.separation(text) == kind


ROWS = [
    ["id", "name", "note"],
    *([str(i), f"Tea {i}", "steamed, then\ndried" if i % 3 else "plain"] for i in range(40)),
]


@pytest.mark.parametrize("chunker", [RecursiveChunker(max_tokens=60), MSTSemanticChunker(max_tokens=60)])
@pytest.mark.parametrize("kind", [*SEPARATORS])
def test_chunks_have_whole_records_and_the_later_ones_the_header(tmp_path, chunker, kind):
    path = tmp_path / "tea.csv"
    path.write_text(write(ROWS, kind), encoding="utf-8", newline="")
    document = read_file(path)
    chunks = chunker.chunk(document)
    ends = {end for _, end in separated.records(document.text, kind)}
    assert len(chunks) > 5
    assert "".join(chunk.text for chunk in chunks) == document.text
    assert {chunk.end for chunk in chunks} <= ends
    assert all(chunk.context == "| id | name | note |\n| --- | --- | --- |" for chunk in chunks[1:])
    assert all(chunk.tokens <= 60 for chunk in chunks)
    assert chunks[1].metadata["start_line"] == document.text.count("\n", 0, chunks[1].start) + 1


def test_a_record_over_the_limit_is_cut_between_cells(tmp_path):
    path = tmp_path / "wide.tsv"
    path.write_text("\n".join("\t".join(f"cell {i} {j}" for j in range(30)) for i in range(3)), encoding="utf-8")
    chunks = RecursiveChunker(max_tokens=20).chunk(read_file(path))
    assert all(chunk.text.endswith(("\t", "\n")) for chunk in chunks[:-1])


def test_numbers_are_no_header():
    assert RecursiveChunker(max_tokens=8, markup="csv").chunk("1,2\n3,4\n5,6\n7,8\n")[-1].context == ""


def test_a_large_file_is_read_in_parts_of_whole_records(tmp_path, monkeypatch):
    monkeypatch.setattr(sources, "MAX_PART", 800)
    path, rows = tmp_path / "tea.csv", [*ROWS, *ROWS[1:] * 3]
    path.write_text(write(rows), encoding="utf-8", newline="")
    documents = [document for document, _ in chunk_files(path, RecursiveChunker())]
    parts = [list(csv.reader(io.StringIO(document.text, newline=""))) for document in documents]
    assert len(parts) > 3
    assert all(part[0] == ROWS[0] for part in parts)
    assert [row for part in parts for row in part[1:]] == rows[1:]
    assert all(document.blocks[0].kind == "table" for document in documents)
    assert "(records 1-" in documents[0].id
    assert documents[-1].id.endswith(f"-{len(rows)}).csv")


def test_a_quote_that_is_not_closed_does_not_swallow_a_large_file(tmp_path, monkeypatch):
    monkeypatch.setattr(sources, "MAX_PART", 320)
    path = tmp_path / "tea.csv"
    path.write_text('size,name\n5",pipe\n' + "1,tea\n" * 200, encoding="utf-8")
    documents = [document for document, _ in chunk_files(path, RecursiveChunker())]
    assert len(documents) > 3
    assert sum(document.text.count("1,tea") for document in documents) == 200


@pytest.mark.parametrize("line", ["sep=;\n", '"sep=;"\r\n', "\ufeffsep=;\n"])
def test_a_line_that_declares_the_separator_is_no_record(tmp_path, line, monkeypatch):
    path, rows = tmp_path / "tea.csv", "".join(f"{i};Tea {i}\n" for i in range(60))
    path.write_text(f"{line}id;name\n{rows}", encoding="utf-8", newline="")
    chunks = RecursiveChunker(max_tokens=60).chunk(read_file(path))
    assert all(chunk.context.startswith("| id | name |") for chunk in chunks[2:])
    monkeypatch.setattr(sources, "MAX_PART", 200)
    documents = [document for document, _ in chunk_files(path, RecursiveChunker())]
    assert all("id;name\n" in document.text for document in documents)
    assert "".join(document.text.rpartition("id;name\n")[2] for document in documents) == rows


@pytest.mark.parametrize("sign", [",", ";", "\t", "|", "^", "~"])
@pytest.mark.parametrize("above", ["Report of 2024\n\n", "Company: Tea{0}{0}\nPeriod: 2024{0}{0}\n{0}{0}\n"])
def test_lines_above_the_header_are_a_paragraph(sign, above):
    above = above.format(sign)
    table = sign.join(("Id", "Name", "Note")) + "\n" + "".join(f"{i}{sign}Ann {i}{sign}note {i}\n" for i in range(40))
    first, second = separated_values.blocks(above + table)
    assert (first.kind, second.kind) == ("paragraph", "table")
    assert (above + table)[slice(*second.span)] == table
    chunks = RecursiveChunker(max_tokens=60, markup="csv").chunk(above + table)
    assert all("| Id | Name | Note |" in chunk.context for chunk in chunks[2:])
