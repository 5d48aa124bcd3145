"""Tables, formulas and other ugly structure: what is made of each case, and properties of generated ones in every
form."""

import tomllib
from pathlib import Path

import pytest
from hypothesis import example, given, settings
from hypothesis import strategies as st

from advchunk import RecursiveChunker
from advchunk.readers.markdown import blocks
from advchunk.records import with_context
from advchunk.text import tables
from growing import check_growth

CASES = tomllib.loads((Path(__file__).parents[1] / "data" / "ugly_structure.toml").read_text(encoding="utf-8"))["case"]


def chunked(text, top, **params):
    return RecursiveChunker(max_tokens=top, min_tokens=0, overlap_tokens=0, tokenizer=len, **params).chunk(text)


@pytest.mark.parametrize("case", CASES, ids=lambda case: case["name"])
def test_ugly_structure(case):
    text = case["text"].replace("¦", "")
    layout = blocks(text)
    kinds = [block.kind + (str(block.level) if block.kind == "heading" else "") for block in layout]
    chunks = chunked(text, case["top"])
    assert " ".join(kinds) == case["kinds"]
    assert [[place.page for place in block.places] for block in layout] == case.get("pages", [[]] * len(layout))
    assert [block.title for block in layout if block.title is not None] == case.get("titles", [])
    assert "¦".join(chunk.text for chunk in chunks) == case["text"]
    assert [*dict.fromkeys(chunk.context for chunk in chunks if chunk.context)] == case.get("contexts", [])
    assert all(chunk.tokens == len(chunk.embed_text) <= case["top"] for chunk in chunks)


# Generated tables. Each form writes a row, and the table around its rows; no cell has a sign of a form.

HEAD = ("Name of it", "Size")


def write_html(rows):
    return [
        "<table><tr><th>{}</th><th>{}</th></tr>".format(*HEAD),
        *(f"<tr><td>{a}</td><td>{b}</td></tr>" for a, b in rows),
    ], "</table>"


def write_html_lines(rows):
    own = [f"  <tr>\n    <td>{a}</td>\n    <td>{b}</td>\n  </tr>\n" for a, b in rows]
    return [
        "<table class='x'>\n<thead><tr><th>{}</th><th>{}</th></tr></thead>\n<tbody>\n".format(*HEAD),
        *own,
    ], "</tbody></table>"


def write_latex(rows):
    own = [f"{a} & {b} \\\\\n" for a, b in rows]
    return ["\\begin{{tabular}}{{ll}}\n\\hline\n{} & {} \\\\ \\hline\n".format(*HEAD), *own], "\\hline\n\\end{tabular}"


def write_pipes(rows):
    return ["| {} | {} |\n|---|---|\n".format(*HEAD), *(f"| {a} | {b} |\n" for a, b in rows)], ""


def write_grid(rows):
    border = f"+{'-' * 40}+{'-' * 10}+\n"
    own = [f"|{a:40.40}|{b:10.10}|\n{border}" for a, b in rows]
    return [f"{border}|{HEAD[0]:40}|{HEAD[1]:10}|\n{border.replace('-', '=')}", *own], ""


FORMS = {"html": write_html, "lines": write_html_lines, "latex": write_latex, "pipes": write_pipes, "grid": write_grid}
every_form = pytest.mark.parametrize("write", FORMS.values(), ids=FORMS)

words = st.sampled_from(
    ["tea", "green tea", "42", "1.5 mg", "A. B. C", "שם", "绿茶", "e\u0301", "x" * 30, "one; three"]
)
cell = st.lists(words, min_size=1, max_size=4).map(" ".join)
body = st.lists(st.tuples(cell, cell), min_size=2, max_size=30)


def as_text(write, rows):
    parts, tail = write(rows)
    return parts, "".join(parts).rstrip("\n") + "\n" * (not tail) + tail if not tail else "".join(parts) + tail


@every_form
@settings(max_examples=40)
@given(rows=body, top=st.integers(140, 900), around=st.booleans())
@example(
    rows=[("tea", f"{word}one, two; three") for word in ("tea ", "", "green tea ", "tea 42 ")], top=156, around=False
)
def test_tables_are_cut_between_rows_and_have_their_head(write, rows, top, around):
    parts, table = as_text(write, rows)
    before = "Some words before it.\n\n" * around
    text = before + table + "\n\nSome words after it." * around
    chunks = chunked(text, top)
    start, end = len(before), len(before) + len(table.rstrip())
    assert "".join(chunk.text for chunk in chunks) == text
    assert all(chunk.tokens == len(chunk.embed_text) <= top for chunk in chunks)
    if (end if around else len(text)) - start <= top:  # the last unit owns the white space at the end
        assert any(chunk.start <= start and end <= chunk.end for chunk in chunks)
    edges, at = [], start + len(parts[0])
    for part in parts[1:]:
        edges.append((at, at + len(part.rstrip())))
        at += len(part)
    room = top - max(len(chunk.context) for chunk in chunks) - 2
    for first, last in edges:
        if last - first + len("</tbody></table>") + 20 <= room:
            assert any(chunk.start <= first and last <= chunk.end for chunk in chunks)
    firsts = {first for first, _ in edges}
    for chunk in chunks:
        if chunk.start in firsts:
            assert all(name in chunk.context for name in HEAD)
        elif start + len(parts[0]) <= chunk.start < edges[-1][1]:  # the key of the row, and of the head what fits
            assert chunk.context


@given(rows=body, top=st.integers(100, 600), write=st.sampled_from([*FORMS.values()]))
@settings(max_examples=40)
def test_half_a_table_is_exact_and_bounded(rows, top, write):
    _, table = as_text(write, rows)
    for text in (table[: len(table) * 2 // 3], table[len(table) // 3 :], table[5:-5]):
        chunks = chunked(text, top)
        assert "".join(chunk.text for chunk in chunks) == (text if text.strip() else "")
        assert all(chunk.tokens == len(chunk.embed_text) <= top for chunk in chunks)


pieces = st.sampled_from(
    ["<table>", "</table>", "<tr>", "</tr>", "<td>", "</td>", "<th rowspan=2>", "<thead>", "</thead>", "a ", "&", " \\\\ ", "{", "}",
     "\\hline", "\\begin{tabular}", "\\end{tabular}", "\\multirow{2}{*}{", "|", "|---|", "\n", "\n\n", "+--+", "<!--", "-->", "<br>", "%",
     "|===\n", '[cols="2*,1"]\n', "2+|", ".2+|", "a|"]
)  # fmt: skip


@given(st.lists(pieces, max_size=40).map("".join))
@settings(max_examples=300)
def test_any_text_is_tiled_at_every_level(text):
    for kind in ("pipes", "html", "latex", "asciidoc", "grid", "dashes", "lines"):
        assert all("".join(tiler(text).strings()) == text for tiler in tables.tilers(kind))
        assert 0 <= tables.head(text, kind).end <= len(text)
    assert "".join(tables.formula_rows(text).strings()) == text
    assert isinstance(tables.opening(text, 20, kind), tables.Head)


# What is never cut while it can be cut elsewhere.

ATOMS = ["`a b, c`", "[tea, m](http://a/c_(d))", "$a + b$", "\\(a + b\\)", "<b x='y, z'>", "&amp;", "<http://a.b/c,d>"]


@given(
    st.lists(
        st.sampled_from([*ATOMS, "tea", "milk,", "It is. So", "a < b", "5 > 4", "$5", "[x]"]), min_size=1, max_size=30
    ),
    st.integers(34, 90),
)
@settings(max_examples=200)
def test_inline_markup_that_fits_is_not_cut(parts, top):
    text = " ".join(parts)
    edges = {chunk.start for chunk in chunked(text, top)}
    at = 0
    for part in parts:
        if part in ATOMS:
            assert not edges & set(range(at + 1, at + len(part))), part
        at += len(part) + 1


# Sizes.


@pytest.mark.parametrize("word", ["tea ", "x", "One sentence. ", "绿茶"])
def test_a_cell_of_50_000_characters_is_cut_as_prose(word):
    long = (word * 50_000)[:50_000].strip()
    parts, table = as_text(write_html, [("a", "1"), (long, "2"), ("b", "3")])
    chunks = chunked(table, 1000)
    assert "".join(chunk.text for chunk in chunks) == table
    assert all(HEAD[0] in with_context(chunk.context, chunk.text) for chunk in chunks)
    assert parts[1] in chunks[0].text
    assert parts[3] in chunks[-1].text
    assert len(chunks) < 60


@pytest.mark.slow
@every_form
def test_long_tables_take_linear_time(write):
    check_growth(
        lambda text: chunked(text, 500),
        lambda rows: as_text(write, [("green tea", str(i)) for i in range(rows)])[1],
        500,
    )


HOSTILE = [
    "<table><tr><td>x\n", "<table><tr><td>x\n\n", "<tr><td>x</td></tr>\n\ntext\n\n", "a <table><tr><td>x</td></tr></table> ",
    "\\begin{tabular}{l}\n", "\\begin{tabular} & { \\\\\n", "<table><!--", "<table><tr><td a=\"", "+--+\n|a |\n", "-----\na  b\n-- --\nx\n\n",
    "<!-- page 3 -->\ntext\n\n", "\\section{a\n", "Table 1. A\n\n| a "
                                                  "|\n|---|\n| b |\n\n", "`a [b](c <d &e; $f ", "\\begin{verbatim}\n", "![a](b) ",
    "<details>\n", "<details><summary>a</summary>\nb\n</details>\n\n", "Tea ..... 3\n\n", "- [a](#b)\n", "- a\n\n  b\n\n",
]  # fmt: skip


@pytest.mark.slow
@pytest.mark.parametrize("piece", HOSTILE)
def test_repeated_pieces_take_linear_time(piece):
    check_growth(lambda text: chunked(text, 500), lambda count: piece * count, 500)


def test_headings_then_the_caption_give_way_to_the_head():
    rows = "".join(f"| tea {i} | {i} |\n" for i in range(30))
    text = "# A rather long title\n\n## A part\n\nTable 1: Teas of all countries\n\n| Name | Size |\n|---|---|\n" + rows
    head = "| Name | Size |\n| --- | --- |"
    contexts = [chunked(text, top, include_context=True)[-1].context for top in (300, 180, 136, 90, 50)]
    assert contexts == [
        f"A rather long title > A part\n\nTable 1: Teas of all countries\n{head}",
        f"A part\n\nTable 1: Teas of all countries\n{head}",
        f"Table 1: Teas of all countries\n{head}",
        head,
        "| Name | Size |",
    ]


@pytest.mark.parametrize(("columns", "top"), [(4, 140), (12, 200)])
def test_each_piece_of_a_row_gives_back_rows_columns_and_values(columns, top):
    def cell(row, column):
        return f"key{row}" if not column else " ".join(f"r{row}c{column}w{i}" for i in range(6))

    heads = [f"c{i}" for i in range(columns)]
    lines = [heads, ["---"] * columns, *([cell(row, i) for i in range(columns)] for row in range(5))]
    triples = set()
    for chunk in chunked("".join(f"| {' | '.join(line)} |\n" for line in lines), top):
        context = [_cells(line) for line in chunk.context.splitlines() if "---" not in line]
        names = context[0] if context else heads
        before = context[1] if len(context) > 1 else []
        for line in chunk.text.splitlines():
            values, before = [*before, *_cells(line)], []
            if values and values[0].startswith("key"):
                pairs = zip(names, values, strict=False)
                triples |= {
                    (values[0], name, word) for name, value in pairs for word in value.split() if word[0] == "r"
                }
    expected = {
        (f"key{row}", f"c{i}", word) for row in range(5) for i in range(1, columns) for word in cell(row, i).split()
    }
    assert triples == expected


def _cells(line):
    return [cell.strip() for cell in line.removeprefix("| ").removesuffix(" ").removesuffix("|").split("|")]
