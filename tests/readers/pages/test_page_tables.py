"""Tables of PDFs without a detector: drawn with lines, with columns that are apart, across pages; and what is none."""

import logging
import time

import pytest

from advchunk.readers.pages import pdf, pdfium
from advchunk.readers.pages.regions.grids import aligned_tables, read_grid
from advchunk.readers.pages.regions.prose import join_rows
from advchunk.readers.pages.regions.shapes import Line
from growing import check_growth
from pdfs import Paper

TEAS = [
    ("Tea", "Degrees", "Minutes"),
    ("Green", "80", "2"),
    ("Black", "95", "4"),
    ("White", "75", "5"),
    ("Oolong", "90", "3"),
]
TABLE = (
    "| Tea | Degrees | Minutes |\n| --- | --- | --- |\n| Green | 80 | 2 |\n| Black | 95 | 4 |\n| White | 75 | 5 "
    "|\n| Oolong | 90 | 3 |"
)
PROSE = (
    "The kettle is filled with fresh water and heated slowly,",
    "because water that has boiled before tastes of nothing at",
    "all. The leaves are put into a warm pot, and the water is",
    "poured over them in a thin stream until they float in it.",
    "After some minutes the tea is poured through a fine sieve",
    "into cups of thin porcelain, and is drunk while it is hot.",
)


def rows_on(paper, rows, top=100, lefts=(80, 180, 280), pitch=14):
    for i, row in enumerate(rows):
        for x, cell in zip(lefts, row, strict=True):
            paper.text(x, top + pitch * i, cell)
    return paper


def grid_on(paper, rows, top=88, edges=(70, 170, 270, 370), pitch=14):
    low = [842 - top - pitch * i for i in range(rows + 1)]
    across = "".join(f"{edges[0]} {y} m {edges[-1]} {y} l S " for y in low)
    return paper.raw(across + "".join(f"{x} {low[0]} m {x} {low[-1]} l S " for x in edges))


def blocks(paper, **options):
    document = pdf.read(paper.data(), detector=None, **options)
    return [(block.kind, document.text[slice(*block.span)]) for block in document.blocks]


@pytest.mark.parametrize("is_drawn", [True, False])
def test_rows_are_read_across_with_and_without_lines(is_drawn):
    paper = rows_on(Paper().page().text(80, 60, "Teas and their temperatures", 16, bold=True), TEAS)
    paper = grid_on(paper, len(TEAS)) if is_drawn else paper
    assert blocks(paper.lines(80, 200, PROSE)) == [
        ("heading", "Teas and their temperatures"),
        ("table", TABLE),
        ("paragraph", " ".join(PROSE)),
    ]


@pytest.mark.parametrize("is_drawn", [True, False])
def test_a_table_that_goes_on_is_one_with_its_header_once(is_drawn):
    paper = Paper()
    for rows in (TEAS[:3], [TEAS[0], *TEAS[3:]]):
        rows_on(paper.page(), rows)
        if is_drawn:
            grid_on(paper, len(rows))
    document = pdf.read(paper.data(), detector=None)
    (table,) = document.blocks
    assert (table.kind, document.text) == ("table", TABLE)
    assert [place.page for place in table.places] == [1, 2]


def test_a_table_of_other_columns_is_another():
    paper = rows_on(Paper().page(), TEAS)
    rows_on(paper.page(), [row[:2] for row in TEAS], lefts=(80, 180))
    assert [kind for kind, _ in blocks(paper)] == ["table", "table"]


def test_the_lines_of_a_cell_are_joined():
    paper, cells = Paper().page(), {"Green": ("steamed", "of the first harvest"), "Black": ("withered", "and rolled")}
    for i, (name, lines) in enumerate([*cells.items(), ("White", ("buds,", "dried"))]):
        paper.text(80, 100 + 30 * i, name).lines(180, 100 + 30 * i, lines, leading=10)
    expected = ["| Green | steamed of the first harvest |", "| --- | --- |", "| Black | withered and rolled |"]
    assert blocks(paper)[0][1].splitlines() == [*expected, "| White | buds, dried |"]


def test_a_cell_with_several_lines_of_a_drawn_table():
    paper = Paper().page().text(80, 98, "Tea").text(180, 98, "How").text(80, 112, "Green")
    paper.lines(180, 112, ["steamed,", "then dried"], leading=12)
    paper.raw("".join(f"70 {y} m 270 {y} l S " for y in (754, 740, 710)))
    paper.raw("".join(f"{x} 754 m {x} 710 l S " for x in (70, 170, 270)))
    assert blocks(paper) == [("table", "| Tea | How |\n| --- | --- |\n| Green | steamed, then dried |")]


def test_columns_of_prose_lists_and_authors_are_no_table():
    two = Paper().page().lines(60, 100, PROSE, size=9).lines(330, 100, PROSE, size=9)
    listed = Paper().page()
    for i, text in enumerate(PROSE):
        listed.text(60, 100 + 12 * i, f"{i + 1}.").text(80, 100 + 12 * i, text)
    authors = Paper().page()
    for i, row in enumerate(
        [("Ann Lee", "Bob"), ("University of Tea", "Kettle Ltd."), ("ann@a.org", "bob.the.builder@b.org")]
    ):
        for center, text in zip((150, 400), row, strict=True):
            authors.text(center - 2.5 * len(text), 100 + 12 * i, text)
    for paper in (two, listed, authors):
        assert "table" not in {kind for kind, _ in blocks(paper)}


def test_a_table_in_one_column_of_a_page_leaves_the_other():
    paper = rows_on(Paper(width=700).page().lines(40, 100, PROSE * 2, size=9), TEAS, lefts=(400, 480, 560))
    assert ("table", TABLE) in blocks(paper.lines(400, 200, PROSE, size=9))
    assert ("paragraph", " ".join(PROSE * 2)) in blocks(paper)


def test_code_is_no_table():
    code = ["a   = 1   # one", "bb  = 22  # two", "ccc = 333 # three", "d   = 4   # four"]
    paper = Paper().page().lines(60, 60, PROSE).lines(60, 200, code, font="mono")
    assert ("code", "\n".join(code)) in blocks(paper)


def test_what_is_drawn_around_paragraphs_or_nothing_is_no_table():
    frame = grid_on(Paper().page().lines(80, 100, PROSE[:4]), 1, pitch=60, edges=(70, 400))
    empty = grid_on(Paper().page().lines(80, 300, PROSE), 5)
    chart = grid_on(Paper().page().lines(80, 300, PROSE).text(80, 100, "12"), 6)
    for paper in (frame, empty, chart):
        assert {kind for kind, _ in blocks(paper)} == {"paragraph"}


def test_a_page_that_pdfplumber_cannot_read_is_read_without_tables(monkeypatch, caplog):
    import pdfplumber

    def fail(*_):
        raise ValueError

    monkeypatch.setattr(pdfplumber.page.Page, "find_tables", fail)
    paper = grid_on(Paper().page().lines(80, 300, PROSE), 5)
    with caplog.at_level(logging.WARNING, "advchunk"):
        assert blocks(paper) == [("paragraph", " ".join(PROSE))]
    assert "tables that are drawn with lines are not recognized on pages 1: ValueError" in caplog.text


def test_cells_are_where_a_cropped_or_turned_page_shows_them():
    cropped, turned = (
        Paper(crop=(50, 100, 500, 800)).page(),
        Paper(rotate=90).page().raw("0 1 -1 0 595 0 cm"),
    )  # upright
    for paper, top in ((cropped, 100), (turned, -100)):
        assert blocks(grid_on(rows_on(paper, TEAS, top=top), len(TEAS), top=top - 12)) == [("table", TABLE)]


def test_no_line_is_lost_or_twice():
    paper = grid_on(rows_on(Paper().page().lines(80, 300, PROSE), TEAS), len(TEAS))
    words = " ".join(text for _, text in blocks(paper)).replace("|", " ").replace("---", " ").split()
    assert sorted(words) == sorted([*" ".join(PROSE).split(), *(cell for row in TEAS for cell in row)])


def test_grids_with_missing_lines_are_left():
    cells = [
        Line(text, (x, y, x + 20, y + 10)) for text, x, y in (("a", 0, 0), ("b", 100, 0), ("c", 0, 20), ("d", 100, 20))
    ]
    whole = [[(0, 0, 50, 15), (90, 0, 150, 15)], [(0, 15, 50, 35), (90, 15, 150, 35)]]
    assert read_grid(whole, join_rows(cells)).text == "| a | b |\n| --- | --- |\n| c | d |"
    assert read_grid([whole[0], [(0, 15, 50, 35), (145, 15, 150, 35)]], join_rows(cells)) is None


def test_lines_that_are_drawn_tear_no_row_of_the_text():
    names = ["Bulgaria", "Cyprus", "Estonia", "Hungary"]
    rows = [(name, str(i), str(10 * i)) for i, name in enumerate(names)]
    between_groups = rows_on(Paper().page(), [("Country", "2025", "2026"), *rows])
    for y in (754, 740, 684):
        between_groups.raw(f"70 {y} m 370 {y} l S ")
    for x in (70, 170, 270, 370):
        between_groups.raw(f"{x} 754 m {x} 684 l S ")
    without_labels = grid_on(rows_on(Paper().page(), TEAS), len(TEAS), edges=(170, 225, 270, 370))
    for paper, texts in ((between_groups, rows), (without_labels, TEAS)):
        ((kind, table),) = blocks(paper)
        assert kind == "table"
        assert [f"| {' | '.join(row)} |" in table.splitlines() for row in texts] == [True] * len(texts)


def test_three_rows_are_fewest():
    rows = [[Line(f"t{i}{j}", (100 * j, 14 * i, 100 * j + 20, 14 * i + 10)) for j in range(3)] for i in range(3)]
    assert len(aligned_tables(rows)) == 1
    assert aligned_tables(rows[:2]) == []


def test_time_grows_with_the_text_of_a_grid_and_of_columns():
    def lines(length):
        return [
            Line(f"t{i}", (100 * (i % 5), 14 * (i // 5), 100 * (i % 5) + 20, 14 * (i // 5) + 10)) for i in range(length)
        ]

    check_growth(aligned_tables, lambda length: join_rows(lines(length)), 4_000)

    def read(own):
        boxes = [(line.box[0] - 5, line.box[1] - 2, line.box[0] + 95, line.box[1] + 12) for line in own]
        return read_grid([boxes[i : i + 5] for i in range(0, len(boxes), 5)], join_rows(own))

    start = time.process_time()
    assert read(lines(pdfium.MOST_LINES)).text.count("\n") == 1_000
    assert time.process_time() - start < 10
