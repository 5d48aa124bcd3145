"""Regions of pages: their order, the lines they hold, what repeats on pages, and results of layoutparser and docTR."""

import json
from collections import Counter
from pathlib import Path

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from advchunk import ConfigurationError
from advchunk.readers.formats import detect_format
from advchunk.readers.pages.parsers import doctr, layoutparser
from advchunk.readers.pages.regions.document import DetectedPage, build_document, find_regions
from advchunk.readers.pages.regions.order import reading_order
from advchunk.readers.pages.regions.prose import WordList, group_rows, join_lines
from advchunk.readers.pages.regions.shapes import Detected, Font, Line, Region, Sheet
from blocks import CASES, blocks_of
from growing import STRICT, check_growth

DATA = Path(__file__).parents[2] / "data"
SHEET = Sheet(1, 600, 800)
BODY, BOLD = Font("Serif"), Font("Serif-Bold", bold=True)
FULL = "words that fill a line of a page from its left to its right edge"


def line(text, left, top, width=100.0, height=10.0):
    return Line(text, (left, top, left + width, top + height))


def wide(text, top, left=50.0, width=400.0, font=BODY, height=10.0):
    return Line(text, (left, top, left + width, top + height), font)


def prose(count, top=300.0):
    return [wide(f"{FULL}{i}", top + 12 * i) for i in range(count)]


def regions_of(lines, *detections, ordered=False):
    """Return the regions of a page, whose lines have no order."""
    return find_regions([DetectedPage(SHEET, lines, detections, is_ordered=ordered)])[0]


def outlined(lines, *detections):
    return [(region.kind, region.text) for region in regions_of(lines, *detections)]


# The order of a page.


@st.composite
def planted(draw):
    """A page of 1 to 3 columns between lines across it, whose boxes stand in the order in which they are read."""
    boxes, top = [], 40.0
    jitter = st.floats(-2, 2)

    def add(left, top, right, bottom):
        boxes.append((left + draw(jitter), top + draw(jitter), right + draw(jitter), bottom + draw(jitter)))

    for _ in range(draw(st.integers(1, 3))):
        if draw(st.booleans()):  # a title, centered, or a figure as wide as the page
            left = draw(st.sampled_from([50.0, 150.0]))
            add(left, top, 600 - left, top + 30)
            top += 42
        columns = draw(st.integers(1, 3))
        width = (500 - 20 * (columns - 1)) / columns
        bottoms = []
        for column in range(columns):
            left, at = 50 + column * (width + 20), top
            # One paragraph as wide as its column: the first tells where the columns are.
            for i in range(draw(st.integers(1, 4))):
                height = draw(st.floats(12, 90))
                add(left, at, left + (width if not i else draw(st.floats(width * 0.4, width))), at + height)
                at += height + draw(st.floats(7, 20))
            bottoms.append(at)
        top = max(bottoms) + 10
        add(50, top, 550, top + 12)  # what follows stands in other columns
        top += 24
    return boxes


@given(planted(), st.randoms(use_true_random=False), st.floats(0.01, 100), st.floats(-1000, 1000))
def test_columns_are_read_one_by_one_between_boxes_that_span_them(boxes, random, scale, shift):
    order = list(range(len(boxes)))
    random.shuffle(order)
    moved = [tuple(scale * (x + shift) for x in boxes[i]) for i in order]
    assert [order[i] for i in reading_order(moved)] == list(range(len(boxes)))


@given(
    st.lists(st.tuples(*[st.floats(0, 100)] * 4).map(lambda b: (min(b[::2]), min(b[1::2]), max(b[::2]), max(b[1::2]))))
)
def test_every_box_is_read_once(boxes):
    assert sorted(reading_order(boxes)) == list(range(len(boxes)))


@pytest.mark.parametrize(
    ("boxes", "order"),
    [
        # Paragraphs that end side by side are not read row by row; a column that starts lower down is read first.
        ([(0, 0, 40, 20), (0, 25, 40, 50), (50, 0, 90, 20), (50, 25, 90, 50)], [0, 1, 2, 3]),
        ([(0, 30, 40, 90), (50, 0, 90, 10), (50, 15, 90, 25), (50, 30, 90, 90)], [0, 1, 2, 3]),
        ([(0, 12, 40, 14), (0, 20, 40, 60), (50, 0, 90, 10), (50, 15, 90, 60)], [0, 1, 2, 3]),
        # A box that spans two of three columns divides only those.
        ([(64, 25, 92, 90), (32, 25, 60, 90), (32, 0, 92, 20), (0, 0, 28, 90)], [3, 2, 1, 0]),
        # A mark beside a column, and a centered box, are not columns.
        ([*((0, y, 3, y + 8) for y in (0, 20, 40)), *((10, y, 90, y + 8) for y in (0, 20, 40))], [0, 3, 1, 4, 2, 5]),
        ([(0, 15, 20, 25), (0, 30, 20, 40), (40, 0, 60, 10), (0, 45, 100, 55)], [2, 0, 1, 3]),
    ],
)
def test_columns_stand_side_by_side(boxes, order):
    assert reading_order(boxes) == order


@pytest.mark.slow
def test_thousands_of_boxes_without_columns_take_no_time():
    steps = [(float(i), float(i), i + 3.0, i + 3.0) for i in range(5000)]
    assert reading_order(steps) == list(range(5000))
    narrow = [(0.0, 0.0, 100.0, 1.0), *((0.0, 2.0 * i, 50.0, 2.0 * i + 1) for i in range(1, 5000))]
    assert reading_order(narrow) == list(range(5000))


# Which region holds a line.


WORDS = st.text("abcdefg", min_size=1, max_size=5)
BOXES = st.tuples(st.floats(0, 500), st.floats(0, 700), st.floats(1, 300), st.floats(1, 300)).map(
    lambda b: (b[0], b[1], b[0] + b[2], b[1] + b[3])
)
LABELS = st.sampled_from(
    ["Text", "title", "Table", "figure", "table_caption", "List", "Footer", "footnote", "brand new"]
)
FONTS = st.sampled_from([BODY, BODY, BOLD, Font("Type", mono=True), Font()])


@given(
    st.lists(st.builds(wide, WORDS, st.floats(0, 780), st.floats(0, 500), st.floats(5, 300), FONTS), max_size=25),
    st.lists(st.builds(Detected, LABELS, BOXES, st.floats(0, 1)), max_size=8),
    st.booleans(),
)
def test_every_letter_is_in_one_region_and_no_heading_is_long(lines, detections, ordered):
    regions = regions_of(lines, *detections, ordered=ordered)
    letters = Counter(letter for region in regions for letter in region.text if letter.isalpha())
    assert letters == Counter(letter for line in lines for letter in line.text)
    assert all(region.text or region.kind in {"table", "figure"} for region in regions)
    assert all(len(region.text.split()) <= 20 for region in regions if region.kind == "heading")


SHAPES = {
    "side by side": lambda i, _: line(f"w{i}", 4.0 * i, 100, width=2.0),
    "a paragraph": lambda i, _: line(f"words of line {i} go on", 50, 12.0 * i, 300),
    "upward": lambda i, n: line(f"w{i}", 3.0 * i, 12.0 * (n - i), 20),
    "many columns": lambda i, n: line(f"t{i}", 30 * (i // (n // 50)), 14 * (i % (n // 50)), 20),
    "two columns": lambda i, _: line(f"words that fill the line and go on {i}", 50 + 300 * (i % 2), 12 * (i // 2), 250),
    "one place": lambda i, _: line(f"w{i}", 50, 50, 20),
}


@pytest.mark.slow
@pytest.mark.parametrize("ordered", [False, True])
@pytest.mark.parametrize("shape", SHAPES)
def test_time_grows_with_the_number_of_lines(shape, ordered):
    check_growth(
        lambda lines: build_document(regions_of(lines, ordered=ordered)),
        lambda count: [SHAPES[shape](i, count) for i in range(count)],
        1000,
        **STRICT,
    )


def test_a_line_goes_to_the_box_that_has_more_of_it_and_then_to_the_smaller():
    detections = [
        Detected("Footnote", (0, 0, 300, 300)), Detected("Title", (0, 0, 300, 12)), Detected("Text", (0, 305, 300, 400))
    ]  # fmt: skip
    lines = [line("Head", 0, 0), line("body", 0, 40), line("most", 0, 293), line("below", 0, 340)]
    kinds = {region.text: region.kind for region in regions_of(lines, *detections)}
    assert kinds == {"Head": "heading", "body": "footnote", "most": "footnote", "below": "paragraph"}


def test_a_box_that_is_too_short_still_has_the_paragraph_whole():
    lines = [line(f"row{i}", 50, 100 + 12 * i, width=200.0) for i in range(6)]
    (region,) = regions_of(lines, Detected("Text", (50, 112, 230, 150)))
    assert (region.text, region.box) == ("row0 row1 row2 row3 row4 row5", (50, 100, 250, 170))


THREE = range(3)


@pytest.mark.parametrize(
    ("lines", "detections", "expected"),
    [
        (  # a box over two paragraphs is split
            [line(f"{'ab'[j]}{i}", 50, 100 + 41 * j + 11 * i) for j in (0, 1) for i in THREE],
            [Detected("Text", (50, 100, 150, 180))],
            [("paragraph", "a0 a1 a2"), ("paragraph", "b0 b1 b2")],
        ),
        (  # the more confident of two boxes in one place wins
            [line("some", 50, 101)],
            [Detected("Title", (50, 100, 150, 112), 0.6), Detected("Text", (50, 100, 151, 112), 0.9)],
            [("paragraph", "some")],
        ),
        (  # a table absorbs all but its caption
            [line("Table 1", 50, 100), line("tea", 60, 130, 40.0), line("7", 200, 130, 10.0), line("green", 60, 150, 40.0),
             line("8", 200, 150, 10.0)],
            [Detected("table", (50, 100, 350, 200)), Detected("Text", (60, 130, 120, 142)),
             Detected("table_caption", (50, 100, 350, 112))],
            [("caption", "Table 1"), ("table", "| tea | 7 |\n| --- | --- |\n| green | 8 |")],
        ),
        ([], [Detected("figure", (0, 0, 9, 9))], [("figure", "")]),
        (  # a figure that is really a page is read by its columns
            [line(f"{'ab'[j]}{i}", 50 + 150 * j, 100 + 11 * i) for j in (0, 1) for i in THREE],
            [Detected("figure", (40, 90, 400, 400))],
            [("figure", "a0\na1\na2\nb0\nb1\nb2")],
        ),
        ([line(f"w{i}", 50, 100 + 22 * i) for i in range(5)], [], [("paragraph", "w0 w1 w2 w3 w4")]),  # set widely
        ([line("약관은 법률", 50, 100 + 18 * i) for i in range(5)], [], [("paragraph", "약관은 법률" * 5)]),
        (  # pieces of a line have a space only where one is seen
            [line("10", 50, 100, 10.0), line("9", 60.5, 98, 4.0, 7.0), line("cells", 70, 100, 25.0)],
            [Detected("Text", (50, 95, 100, 112))],
            [("paragraph", "109 cells")],
        ),
        (  # number and title in two boxes are one heading
            [line("Overview", 75, 100, 60.0), line("2.1", 50, 100.5, 15.0)],
            [Detected("title", (74, 99, 136, 111), 0.9), Detected("title", (49, 99, 66, 112), 0.8)],
            [("heading", "2.1 Overview")],
        ),
    ],
)  # fmt: skip
def test_lines_make_regions(lines, detections, expected):
    assert outlined(lines, *detections) == expected


@pytest.mark.parametrize("label", ["List", "title", "text"])
def test_list_is_split_into_items_under_any_label(label):
    lines = [
        line("•", 50, 100, 4.0),
        line("green tea", 65, 101),
        line("from far", 65, 112),
        line("• black tea", 50, 124),
    ]
    items = [("item", "• green tea from far"), ("item", "• black tea")]
    assert outlined(lines, Detected(label, (50, 100, 170, 134))) == items


@pytest.mark.parametrize(("number", "title", "left"), [(330, 350, 50), (230, 190, 255)])
def test_heading_number_stays_out_of_the_column_beside_it(number, title, left):
    words = ("Outlook", "tea") if left < number else ("שלום", "מים")
    lines = [line(words[1], left, 100 + 12 * i, width=255.0 if left < number else 200.0) for i in range(4)]
    lines += [line("5", number, 112, 6.0), line(words[0], title, 112, 30.0)]
    assert {region.text for region in regions_of(lines)} >= {" ".join([words[1]] * 4)}


@pytest.mark.parametrize("ordered", [False, True])
def test_a_page_in_hebrew_is_read_from_the_right(ordered):
    right, left = (
        [wide(word, 100 + 12 * i, x, 200.0) for i in range(4)] for word, x in (("שלום", 350.0), ("מים", 50.0))
    )
    lines = [*right, *left] if ordered else [*left, *right]
    regions = regions_of(lines, ordered=ordered)
    assert [(region.text, region.box[0]) for region in regions] == [
        ("שלום " * 3 + "שלום", 350),
        ("מים " * 3 + "מים", 50),
    ]


def test_footnotes_are_read_after_their_page_and_furniture_around_it():
    places = {
        "end": ("Page-footer", 50, 780), "note": ("Footnote", 50, 700), "right": ("Text", 350, 100),
        "left": ("Text", 50, 100), "head": ("Page-header", 300, 10),
    }  # fmt: skip
    lines = [line(text, left, top) for text, (_, left, top) in places.items()]
    detections = [Detected(label, (left, top, left + 100, top + 12)) for label, left, top in places.values()]
    assert [region.text for region in regions_of(lines, *detections)] == ["head", "left", "right", "note", "end"]


# Corrections of detections by the lines in them.


@pytest.mark.parametrize("word", [FULL, "كلمات تملأ سطرا من الصفحة", "一行を埋める言葉"])
@pytest.mark.parametrize("label", ["figure", "table"])
def test_full_lines_are_prose_under_any_label(word, label):
    lines = [wide(word, 100 + 12 * i) for i in range(6)] + [wide(word, 200 + 12 * i) for i in range(6)]
    assert [kind for kind, _ in outlined(lines, Detected(label, (40, 90, 560, 280)))] == ["paragraph"] * 2


def test_labels_of_a_figure_stay_a_figure():
    labels = [line(f"axis {i}", 60 + 90 * i, 100 + 40 * i) for i in range(4)]
    assert [kind for kind, _ in outlined(labels, Detected("figure", (40, 90, 460, 280)))] == ["figure"]


@pytest.mark.parametrize("text", ["word " * 21, "A heading that ends in a hy-", "* * *"])
def test_headings_of_prose_are_prose(text):
    assert outlined([line(text, 50, 100)], Detected("title", (50, 100, 150, 110))) == [("paragraph", text.strip())]


@pytest.mark.parametrize(
    ("text", "font", "kind"),
    [
        ("Consider this:", BODY, "paragraph"),
        ("Consider this", BOLD, "heading"),
        ("We have none", Font("Small"), "heading"),
        ("We have none.", Font("Small"), "paragraph"),
        ("2. Copying", BODY, "heading"),
        ("COPYING", BODY, "heading"),
    ],
)
def test_headings_differ_from_the_text(text, font, kind):
    lines = [line(text, 50, 100)._replace(font=font), *prose(6)]
    assert outlined(lines, Detected("title", (50, 100, 150, 110)))[0] == (kind, text)


def test_list_in_a_bibliography_or_below_its_first_sentence_is_a_list():
    lines = [line("•", 50, 100, 4.0), line("green", 70, 100), line("•", 50, 120, 4.0), line("black", 70, 120)]
    items = [("item", "• green"), ("item", "• black")]
    assert outlined(lines, Detected("reference", (45, 95, 180, 135))) == items
    above = [line("There is:", 50, 88)]
    assert outlined([*above, *lines], Detected("text", (45, 85, 180, 135))) == [("paragraph", "There is:"), *items]


def test_references_have_years_and_are_divided_at_their_numbers():
    texts = ["[1] Smith J. On tea.", "Tea. 2011;1:9.", "[2] Ng A. On cups. 2012."]
    lines = [line(text, 50, 100 + 12 * i) for i, text in enumerate(texts)]
    box = Detected("reference", (45, 95, 180, 140))
    assert outlined(lines, box) == [("reference", " ".join(texts[:2])), ("reference", texts[2])]
    assert outlined([line("Small print.", 50, 100)], box) == [("paragraph", "Small print.")]


@pytest.mark.parametrize("label", ["title", "figure", "reference", "text"])
def test_lines_of_a_table_of_contents_are_items_with_short_leaders(label):
    entries = [line(f"{i} Tea" + " ." * 30 + f" {i}", 50, 100 + 12 * i, 300.0) for i in range(1, 4)]
    expected = [("item", f"{i} Tea … {i}") for i in range(1, 4)]
    assert outlined(entries, Detected(label, (45, 95, 360, 160))) == expected


@pytest.mark.parametrize("label", ["text", "reference"])
def test_heading_right_above_its_paragraph_is_separate(label):
    heading, box = wide("Methods", 288, width=50, font=BOLD), Detected(label, (40, 280, 460, 400))
    assert [kind for kind, _ in outlined([heading, *prose(6)], box)] == ["heading", "paragraph"]


def test_centered_lines_are_not_divided_as_indented():
    centered = [wide("tea", 100 + 12 * i, left=250 - w / 2, width=w) for i, w in enumerate([200, 200, 150, 200, 200])]
    assert len(outlined(centered, Detected("text", (40, 90, 460, 170)))) == 1


# Prose.


@pytest.mark.parametrize(("lines", "text"), CASES["joined lines of pages"])
def test_lines_are_joined(lines, text):
    assert join_lines(lines) == text


def test_a_hyphen_is_left_out_where_the_document_says_so():
    lines, divided = ["Drug-", "free days of place-", "bo, see drug-free"], "the placebo was drug-free"
    assert join_lines(lines, WordList.of(lines)) == "Drug-free days of place-bo, see drug-free"
    assert join_lines(lines, WordList.of([*lines, divided])) == "Drug-free days of placebo, see drug-free"
    other = [*lines[1:2], "bo, a run, a time, a kitt-", "en, a run-", "time of placebo and tea-", "pots, a teapots"]
    assert join_lines(other[2:4], WordList.of(other)) == "en, a run-time of placebo and tea-"
    assert join_lines(["kitt-", "en"], WordList.of(other)) == "kitten"


def test_rows_are_from_the_top_and_from_left_to_right():
    a, b, below = line("a", 0, 0, 10.0), line("b", 50, 1, 10.0), line("c", 0, 20, 10.0)
    assert group_rows([b, below, a]) == [[a, b], [below]]


# Furniture.


def book(pages, header="Journal of Tea", top=lambda _: 20.0, label="Text"):
    """Return a book whose pages have a header, a paragraph, and a number."""
    return [
        DetectedPage(
            Sheet(n, 600, 800),
            [
                line(header.format(n=n), 50, top(n)),
                line(f"Body of page {n}.", 50, 100),
                line(str(n + 11), 290, 780, 20),
            ],
            [Detected(label, (50, top(n), 150, top(n) + 10))],
            is_ordered=False,
        )
        for n in range(1, pages + 1)
    ]


def read(pages, **options):
    return build_document(*find_regions(pages), **options)


@pytest.mark.parametrize("pages", [3, 9])
def test_text_repeated_in_the_margin_is_furniture(pages):
    document = read(book(pages))
    assert document.text == "\n\n".join(f"Body of page {n}." for n in range(1, pages + 1))
    assert document.metadata["left_out"] == f"running heads: {2 * pages}"
    kept = [block.kind for block in read(book(pages), furniture="keep").blocks]
    assert kept == ["furniture", "paragraph", "furniture"] * pages


@pytest.mark.parametrize(
    "pages",
    [
        book(2),
        book(5, top=lambda _: 150.0),
        book(5, "Patient ID 8812{n}"),
        book(5, "Article 1{n}"),
        book(5, "ab{n}cd"),
        book(3, top=lambda n: 10 + 25.0 * n),
    ],
)
def test_text_that_differs_is_elsewhere_or_on_two_pages_is_not_furniture(pages):
    text = read(pages).text
    assert [page.lines[0].text in text for page in pages] == [True] * len(pages)


def test_what_a_parser_calls_a_header_is_furniture_in_the_margin_only():
    assert "Only" not in read(book(1, "Only here", label="Page-header")).text
    kinds = {block.kind for block in read(book(1, "Only here", lambda _: 300.0, "Page-header")).blocks}
    assert kinds == {"paragraph"}


# From regions to a document.


def document(*regions):
    return build_document(regions)


def paragraph(text, page=1, top=100.0, left=50.0, **fields):
    return Region("paragraph", page, (left, top, left + 200, top + 50), text, **fields)


def test_a_paragraph_that_runs_on_is_one_block_with_several_places():
    figure = Region("figure", 1, (320, 100, 500, 200), "axis")
    built = document(
        paragraph("The court of ap-"), figure, paragraph("peal ruled for the", left=320.0), paragraph("cat.", 2)
    )
    assert built.text == "The court of appeal ruled for the cat.\n\naxis"
    assert [place.page for place in built.blocks[0].places] == [1, 1, 2]


@pytest.mark.parametrize(
    "regions",
    [
        (paragraph("It ends."), paragraph("and on", 2)),
        (paragraph("It does not end"), paragraph("Next", 2)),
        (paragraph("It does not end", size=10.0), paragraph("a small print", 2, size=7.0)),
        (
            paragraph("It goes"),
            Region("heading", 1, (50, 200, 90, 210), "Next"),
            paragraph("on, in lower case", top=300.0),
        ),
    ],
)
def test_ended_paragraph_is_not_joined(regions):
    assert len(document(*regions).blocks) == len(regions)


def test_heading_level_follows_number_then_size():
    heads = [("Tea", 20.0, 0), ("1 Leaves", 10.0, 0), ("1.2. Green", 10.0, 0), ("A.1.1 Far", 10.0, 0), ("Notes", 10.0, 0),
             ("Deep", 10.0, 4)]  # fmt: skip
    built = document(*(Region("heading", 1, (50, 0, 90, 10), text, level, size) for text, size, level in heads))
    assert [block.level for block in built.blocks] == [1, 2, 3, 4, 2, 4]


def test_a_picture_is_a_place_of_the_nearest_caption():
    captions = [Region("caption", 1, (50, top, 250, top + 10), f"Figure at {top}") for top in (210, 510)]
    pictures = [Region("figure", 1, (50, top, 250, top + 100)) for top in (105, 405)]
    built = document(*captions, *pictures)
    assert [[place.box[1] for place in block.places] for block in built.blocks] == [[210, 105], [510, 405]]


# What others result.


class Result:
    """An object with one method, as layoutparser's and docTR's are."""

    def __init__(self, method, result):
        setattr(self, method, lambda: result)


LAYOUT, DOCTR = (
    json.loads((DATA / name).read_text("utf-8")) for name in ("layoutparser_two_columns.json", "doctr_two_pages.json")
)
OUTLINE = [
    ("heading", 2, "Tea and cats"),
    ("paragraph", 0, "Green tea is grown in the hills and dried in the sun."),
    ("item", 1, "- green"),
    ("caption", 0, "Table 1. Leaves."),
    ("table", 0, "leaf 7\nstem 8"),
    ("paragraph", 0, "An advertisement of the day."),
]


def test_layoutparser_json_is_read_column_by_column():
    result = layoutparser.read(json.dumps(LAYOUT), id="tea", metadata={"journal": "T"})
    assert blocks_of(result) == OUTLINE
    assert result.blocks[0].places == ((1, (60.0, 40.0, 540.0, 70.0)),)
    assert (result.id, result.metadata) == ("tea", {"left_out": "hyphens: 1", "page_count": 1, "journal": "T"})


def test_layoutparser_objects_pages_and_blocks_are_read_alike():
    texts = (json.dumps([LAYOUT]), json.dumps(LAYOUT["blocks"]))
    objects = (Result("to_dict", LAYOUT), [Result("to_dict", LAYOUT)])
    for same in (LAYOUT, [LAYOUT], LAYOUT["blocks"], *texts, *objects):
        assert blocks_of(layoutparser.read(same)) == OUTLINE
    again = [Result("to_dict", {**LAYOUT, "page_data": {}}) for _ in range(2)]
    assert [block.places[0].page for block in layoutparser.read(again).blocks] == [1] * 6 + [2] * 6


def layout_of(rows):
    names = ("type", "x_1", "y_1", "x_2", "y_2", "text")
    return {"blocks": [{"block_type": "rectangle", **dict(zip(names, row, strict=False))} for row in rows]}


def test_layoutparser_words_are_put_into_the_regions_that_have_no_text():
    rows = [("Title", 0, 0, 100, 30), ("Times", 0, 5, 20, 15, "Green"), ("Times", 23, 5, 43, 15, "tea")]
    assert blocks_of(layoutparser.read(layout_of(rows))) == [("heading", 2, "Green tea")]


TWO_COLUMNS = [  # type, left, top, right, bottom, text
    ("Title", 50, 20, 550, 40, "Tea and cats"),
    ("Text", 50, 60, 290, 200, "Green tea is grown in the hills."),
    ("Table", 50, 220, 290, 300, "leaf 7"),
    ("Text", 310, 60, 550, 200, "Cats sleep all day."),
    ("Own label", 310, 220, 550, 300, "They purr at night."),
]


@pytest.mark.parametrize("kind", ["Figure", "Table", "Text", "Own label", None])
@pytest.mark.parametrize("place", [(50, 320, 290, 500), (310, 320, 550, 500), (0, 0, 9, 9)])
def test_a_block_without_text_changes_no_other_region(kind, place):
    whole = blocks_of(layoutparser.read(layout_of(TWO_COLUMNS)))
    assert [text for _, _, text in whole] == [TWO_COLUMNS[i][-1] for i in (0, 1, 2, 3, 4)]
    for at in range(6):
        empty = (kind, *place, *(["  "] if at % 2 else []))
        assert blocks_of(layoutparser.read(layout_of([*TWO_COLUMNS[:at], empty, *TWO_COLUMNS[at:]]))) == whole


def test_a_text_in_a_figure_leaves_the_other_regions_as_they_are():
    rows = [*TWO_COLUMNS[:4], ("Figure", 310, 220, 550, 300), ("Text", 320, 230, 540, 250, "Stem")]
    regions = blocks_of(layoutparser.read(layout_of(rows)))
    assert regions == [*blocks_of(layoutparser.read(layout_of(TWO_COLUMNS[:4]))), ("figure", 0, "Stem")]


@pytest.mark.parametrize("empty", [{}, {"page_data": {}}, {"blocks": []}])
def test_a_page_without_blocks_is_a_page(empty):
    document = layoutparser.read(json.dumps([LAYOUT, empty, LAYOUT]))
    assert [block.places[0].page for block in document.blocks] == [1] * 6 + [3] * 6
    assert document.metadata["page_count"] == 3


def test_layoutparser_quadrilaterals_have_a_box_and_intervals_none():
    block = {"block_type": "quadrilateral", "points": [1, 2, 9, 2, 9, 8, 1, 8], "text": "tilted"}
    interval = {"block_type": "interval", "start": 1, "end": 2, "axis": "x", "text": "nowhere"}
    assert layoutparser.read([block, interval]).blocks[0].places[0].box == (1, 2, 9, 8)


def test_doctr_json_is_read_column_by_column_with_its_places():
    result = doctr.read(json.dumps(DOCTR))
    assert blocks_of(result) == [
        ("paragraph", 0, "The cat naps on the sofa and"),
        ("paragraph", 0, "The court rules on the law."),
        ("heading", 2, "Findings"),
        ("paragraph", 0, "Weight fell in the pla-cebo group."),
        ("table", 0, "| group | n |\n| --- | --- |\n| tea | 7 |\n| tea | 8 |"),
    ]
    assert result.blocks[0].places == ((1, (60.0, 200.0, 480.0, 248.0)),)
    assert [block.places[0].page for block in result.blocks] == [1, 1, 2, 2, 2]


def test_doctr_objects_are_read_like_their_json():
    def arrays(value, key=""):
        if isinstance(value, dict):
            return {name: arrays(item, name) for name, item in value.items()}
        if key == "geometry":
            return np.array(value, dtype=np.float32)
        return [arrays(item) for item in value] if isinstance(value, list) else value

    assert doctr.document(Result("export", arrays(DOCTR))).text == doctr.document(DOCTR).text


def doctr_table(cell):
    return json.dumps({"pages": [{"tables": [{"cells": [cell]}]}]})


@pytest.mark.parametrize(
    ("read", "wrong", "message"),
    [
        (layoutparser.read, '{"page_data": {}}', "the root must have blocks"),
        (layoutparser.read, '{"blocks": [{"x_1": "a"}]}', r"blocks\[0\]\.x_1 must be a number, got 'a'"),
        (layoutparser.read, '[{"points": [1, {}]}]', r"blocks\[0\]\.points must be a list of numbers"),
        (layoutparser.read, '{"blocks"', "JSON must be well-formed"),
        (layoutparser.read, 7, "the root must be an object, got 7"),
        (layoutparser.read, [LAYOUT, *LAYOUT["blocks"]], "one per page, or blocks, not both"),
        (layoutparser.read, '[{"x_1": 0, "y_1": 0, "x_2": 9, "y_2": 9, "type": "Figure"}]', "must have text"),
        (doctr.read, "{}", "the root must have pages"),
        (doctr.read, '{"pages": [{"blocks": [7]}]}', r"pages\[0\]\.blocks\[0\] must be an object"),
        (doctr.read, object(), "a result must be JSON"),
        (doctr.read, doctr_table({"row_end": 999999, "col_end": 999999}), "at most 25,000,000 characters"),
        (doctr.read, doctr_table({"row_start": 2, "row_end": 1}), "spans >= 1"),
    ],
)
def test_invalid_result_raises_an_error_with_the_path(read, wrong, message):
    with pytest.raises(ConfigurationError, match=message):
        read(wrong)


@pytest.mark.parametrize(
    ("text", "name"),
    [
        (json.dumps(LAYOUT), "layoutparser"),
        (json.dumps([LAYOUT]), "layoutparser"),
        (json.dumps(DOCTR), "doctr"),
        ('Say "page_idx".', "markdown"),
    ],
)
def test_source_is_detected_by_keys(text, name):
    assert detect_format(text) == name
