"""The time of every reader and chunker grows in proportion to the length of a text, whatever it repeats."""

from itertools import count, takewhile

import pytest

from advchunk import Document, create, describe
from advchunk.readers import formats
from advchunk.readers.pubmed import records as pubmed
from chats import every_fourth_line
from front_ends import every_chunker
from growing import check_growth, repeated
from stand_ins import STAND_INS

# Words, characters and clauses without the end of a sentence, for chunkers whose time grows with the square of the
# sentences.
UNBROKEN = ["x", "🇯🇵"]
# Many units of few words, or many words in a unit: what is compared pair by pair takes time with the square.
UNITS = ["A b.\f", "| a | b |\n", "a,b\n", "&amp;", "*a* "]
# Repetitions that are blocks each: only for chunkers whose time does not depend on the number of sentences.
BLOCKS = ["- a\n", "# a\n\n", "A b.\f"]
BY_LAYOUT = ["recursive", "auto", "layout-aware"]

# Of each kind of construct of Markdown, HTML and abstracts, those that a parser may look far ahead or behind for.
MARKS = [
    *"`'\"*_~[(<>&|#$\\-=:.!\n ", "**", "![", "[a]: b\n", "[a](", "<!--", "<!--x", "<?", "<![CDATA[", "<a b='", "&amp;",
]  # fmt: skip
LINES = [
    "> ", "- ", "- a\n", "1. ", "# a\n", "a\n---\n", "```\n", "~~~\n", "$$\n", "\\[\n", "| a |\n", "|-|\n", "+++\n", "    a\n",
]  # fmt: skip
TAGS = [
    "<p>", "<div>", "<div></span>", "<ul><li>", "<dl><dt>a", "<table><tr><td>", "<font>", "<rt>", "<pre>", "<script>", "</p>",
]  # fmt: skip
ABSTRACT = ["(a. ", "AIM: a\n\n", "a-\n", "<b>", "<!--x", "¹", "ﬁ", "AB  - a\n      "]


def growing(mark):
    """Return runs of a mark, each longer than the one before, with spaces between them."""
    return lambda length: " ".join(takewhile(lambda run: len(run) ** 2 < 2 * length, (mark * n for n in count(1))))


@every_chunker
@pytest.mark.parametrize("token", UNBROKEN)
def test_every_chunker_takes_time_in_proportion_to_a_repeated_text(name, token):
    params = {"llm": every_fourth_line, "support": 100.0} if name == "llm-chaptering" else STAND_INS.get(name, {})
    chunker = create(name, experimental=True, fallback=None, **params)
    check_growth(chunker.chunk, repeated(token))


@pytest.mark.slow
@every_chunker
@pytest.mark.parametrize("token", UNITS)
def test_every_chunker_takes_time_in_proportion_to_many_small_units(name, token):
    windows = {"max_units": 100} if "max_units" in describe(name)["parameters"] else {}
    own = {"llm": every_fourth_line} if name == "llm-chaptering" else STAND_INS.get(name, {})
    check_growth(create(name, experimental=True, fallback=None, **own, **windows).chunk, repeated(token), 10_000)


@pytest.mark.slow
@pytest.mark.parametrize("token", BLOCKS)
@pytest.mark.parametrize("name", BY_LAYOUT)
def test_chunkers_by_layout_take_time_in_proportion_to_the_blocks(name, token):
    chunker = create(name, experimental=True, markup="markdown")
    check_growth(chunker.chunk, repeated(token), 2000)  # blocks take much longer than characters


@pytest.mark.slow
@pytest.mark.parametrize("name", ["bayesseg", "c99", "lda-topic", "graph-partition", "semantic-cluster"])
def test_windows_take_time_in_proportion_to_the_sentences(name):
    params = {"method": "hdbscan"} if name == "semantic-cluster" else {}
    chunker = create(name, experimental=True, fallback=None, max_units=100, **params)
    check_growth(chunker.chunk, repeated("Cats purr, nap and purr. Judges sit in court. "), 16_000)


@pytest.mark.slow
@pytest.mark.parametrize("element", ["<p>A b.</p>", "<div><head>A</head><p>B c.</p></div>"])
def test_chunking_tei_takes_time_in_proportion_to_the_elements(element):
    def text(length):
        return f'<TEI xmlns="http://www.tei-c.org/ns/1.0"><text><body>{repeated(element)(length)}</body></text></TEI>'

    check_growth(create("grobid-section", experimental=True).chunk, text)


@pytest.mark.slow
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


@pytest.mark.slow
@pytest.mark.parametrize("token", ABSTRACT)
def test_reading_abstracts_takes_time_in_proportion_to_a_repeated_text(token):
    check_growth(lambda text: formats.read(Document(text), "pubmed"), repeated(token))


def test_reading_records_takes_time_in_proportion_to_their_number():
    record = "PMID- 1\nAB  - AIM: To see what tea does. RESULTS: It does something to those who drink it.\n\n"
    check_growth(pubmed.read_records, repeated(record))
