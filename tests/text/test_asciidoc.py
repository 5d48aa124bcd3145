"""Tables of AsciiDoc: their rows in one line or several, spans, headers; and simple tables of reStructuredText."""

import pytest
from hypothesis import given
from hypothesis import strategies as st

from advchunk import RecursiveChunker
from advchunk.text import asciidoc, tables

HEAD = "|Name |Degrees\n"
cells = st.text("abc 12.", min_size=1, max_size=20).map(str.strip).filter(bool)
bodies = st.lists(st.tuples(cells, cells), min_size=1, max_size=12)


def rows_of(text):
    return [text[start:end] for start, end in asciidoc.row_spans(text)]


@given(bodies, st.sampled_from(["|{} |{}\n", "|{}\n|{}\n\n", "|{}\n|{}\n"]), st.booleans())
def test_rows_are_found_however_their_cells_are_written(body, form, is_declared):
    written = [form.format(*row) for row in body]
    top = '[cols="1,1",options="header"]\n|===\n' if is_declared else "|===\n"
    text = f"{top}{HEAD}{''.join(written)}|==="
    assert [row.rstrip("=|\n") for row in rows_of(text)[1:]] == [row.rstrip("|\n") for row in written]
    assert asciidoc.header(text)[1] == ["Name", "Degrees"]
    assert tables.form(text) == "asciidoc"


@pytest.mark.parametrize("cols", ['"1,1,1"', "3", '"3*"', '"2*<,1"', "'1,2,3'", None])
def test_the_number_of_columns_is_declared_or_that_of_the_first_line(cols):
    text = f"{cols and f'[cols={cols}]'}\n|===\n|a |b\n|c |d\n|e |f\n|==="
    assert len(rows_of(text)) == (3 if cols is None else 2)


def test_cells_may_span_columns_and_have_a_style():
    text = "|===\n|a |b |c\n2+|wide |c\na|* item |x\n^.>s|y\n|==="
    assert rows_of(text) == ["|===\n|a |b |c\n", "2+|wide |c\n", "a|* item |x\n^.>s|y\n|==="]


def test_bars_within_words_and_rules_are_no_cells():
    assert rows_of("|===\n|x\\|y a|b |c\n|d |e\n|===") == ["|===\n|x\\|y a|b |c\n", "|d |e\n|==="]


def test_pieces_of_a_long_table_have_its_title_and_header():
    body = "".join(f"|Tea number {i}\n|{i} degrees, and then\nsome more\n\n" for i in range(30))
    text = f'= Teas\n\n.All teas\n[cols="1,1",options="header",]\n|===\n{HEAD}{body}|===\n\nThe end.\n'
    chunks = RecursiveChunker(max_tokens=300, tokenizer="characters", markup="asciidoc").chunk(text)
    assert "".join(chunk.text for chunk in chunks) == text
    for i in range(30):
        (chunk,) = [chunk for chunk in chunks if f"|Tea number {i}\n|{i} degrees, and then\nsome more\n" in chunk.text]
        assert {"Name", "Degrees"} <= {*chunk.embed_text.replace("|", " ").split()}


def test_a_table_without_an_end_or_cells():
    assert rows_of("|===\n|a |b\n|c |d") == ["|===\n|a |b\n", "|c |d"]
    assert rows_of("|===\nno cell\n|===") == ["|===\nno cell\n|==="]
    assert asciidoc.header("|===\nno cell\n|===") == ("", [], 0)


def test_numbers_of_any_length_are_read():
    text = f'[cols="{"9" * 5000}*"]\n|===\n{"9" * 5000}+|a |b\n|==='
    assert "".join(rows_of(text)) == text


def test_columns_of_one_character_in_restructuredtext():
    border = "= ===== =======\n"
    body = "".join(f"{i % 9} tea{i:02} {i:7}\n" for i in range(40))
    text = f"{border}n name  degrees\n{border}{body}{border}"
    chunks = RecursiveChunker(max_tokens=200, tokenizer="characters", markup="rst").chunk(text)
    assert len(chunks) > 4
    assert all("| n | name | degrees |" in chunk.context for chunk in chunks[1:])
