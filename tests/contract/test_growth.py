"""The time of every reader and chunker grows in proportion to the length of a text, whatever it repeats."""

import gc
from itertools import count, takewhile

import pytest
from growth import least_seconds

from advchunk import Document, create, names
from advchunk.readers import formats, pubmed
from stand_ins import STAND_INS

SMALL, LARGE = 8_000, 32_000  # characters
MOST = 6  # ratio of processor times; proportional growth is 4, growth with the square 16
FLOOR = 0.1  # seconds within which a large text is fast enough
TRIES = 5

# Words, characters and clauses without the end of a sentence, for chunkers whose time grows with the square of the sentences.
UNBROKEN = ["x", "🇯🇵"]
# Repetitions that are blocks each: only for chunkers whose time does not depend on the number of sentences.
BLOCKS = ["- a\n", "# a\n\n"]
BY_LAYOUT = ["recursive", "auto", "layout-aware"]

# Of each kind of construct of Markdown, HTML and abstracts, those that a parser may look far ahead or behind for.
MARKS = [
    *"`'\"*_~[(<>&|#$\\-=:.!\n ",
    "**",
    "![",
    "[a]: b\n",
    "[a](",
    "<!--",
    "<!--x",
    "<?",
    "<![CDATA[",
    "<a b='",
    "&amp;",
]
LINES = [
    "> ",
    "- ",
    "- a\n",
    "1. ",
    "# a\n",
    "a\n---\n",
    "```\n",
    "~~~\n",
    "$$\n",
    "\\[\n",
    "| a |\n",
    "|-|\n",
    "+++\n",
    "    a\n",
]
TAGS = [
    "<p>",
    "<div>",
    "<div></span>",
    "<ul><li>",
    "<dl><dt>a",
    "<table><tr><td>",
    "<font>",
    "<rt>",
    "<pre>",
    "<script>",
    "</p>",
]
ABSTRACT = ["(a. ", "AIM: a\n\n", "a-\n", "<b>", "<!--x", "¹", "ﬁ", "AB  - a\n      "]


def growing(mark):
    """Return runs of a mark, each longer than the one before, with spaces between them."""
    return lambda length: " ".join(takewhile(lambda run: len(run) ** 2 < 2 * length, (mark * n for n in count(1))))


def repeated(token):
    return lambda length: token * (length // len(token))


def check_growth(process, text):
    """Fail unless a text of four times the length takes less than six times as long; the machine may be busy."""
    gc.collect()
    gc.disable()  # its passes over all objects of the test session are not the reader's
    try:
        large = least_seconds(lambda: process(text(LARGE)), 1)
        small = float("inf")
        for _ in range(TRIES):
            if large <= FLOOR:
                return
            small = min(small, least_seconds(lambda: process(text(SMALL)), 2))
            if large < MOST * small:
                return
            large = min(large, least_seconds(lambda: process(text(LARGE)), 1))
        pytest.fail(f"{LARGE} characters take {large:.2f} s, {SMALL} take {small:.2f} s")
    finally:
        gc.enable()


@pytest.mark.parametrize("token", UNBROKEN)
def test_every_chunker_takes_time_in_proportion_to_a_repeated_text(name, token):
    chunker = create(name, experimental=True, fallback=None, **STAND_INS.get(name, {}))
    check_growth(chunker.chunk, repeated(token))


@pytest.mark.parametrize("token", BLOCKS)
@pytest.mark.parametrize("name", BY_LAYOUT)
def test_chunkers_by_layout_take_time_in_proportion_to_the_blocks(name, token):
    chunker = create(name, experimental=True, markup="markdown")
    check_growth(chunker.chunk, lambda length: repeated(token)(length // 4))  # blocks take much longer than characters


@pytest.mark.parametrize("element", ["<p>A b.</p>", "<div><head>A</head><p>B c.</p></div>"])
def test_chunking_tei_takes_time_in_proportion_to_the_elements(element):
    def text(length):
        return f'<TEI xmlns="http://www.tei-c.org/ns/1.0"><text><body>{repeated(element)(length)}</body></text></TEI>'

    check_growth(create("grobid-section", experimental=True).chunk, text)


@pytest.mark.parametrize("token", [*MARKS, *LINES])
def test_reading_markdown_takes_time_in_proportion_to_a_repeated_text(token):
    check_growth(lambda text: formats.read(Document(text), "auto"), repeated(token))


@pytest.mark.parametrize("mark", ["`", "*", "[", "$", "#", "> "])
@pytest.mark.parametrize("prefix", ["", "# "])
def test_reading_growing_runs_takes_time_in_proportion(prefix, mark):
    check_growth(lambda text: formats.read(Document(prefix + text), "markdown"), growing(mark))


@pytest.mark.parametrize("token", [*TAGS, *MARKS])
def test_reading_html_takes_time_in_proportion_to_a_repeated_text(token):
    check_growth(lambda text: formats.read(Document(text), "html"), repeated(token))


@pytest.mark.parametrize("token", ABSTRACT)
def test_reading_abstracts_takes_time_in_proportion_to_a_repeated_text(token):
    check_growth(lambda text: formats.read(Document(text), "pubmed"), repeated(token))


def test_reading_records_takes_time_in_proportion_to_their_number():
    record = "PMID- 1\nAB  - AIM: To see what tea does. RESULTS: It does something to those who drink it.\n\n"
    check_growth(pubmed.read_records, repeated(record))


def test_the_names_are_those_of_chunkers():
    assert set(BY_LAYOUT) <= set(names())
