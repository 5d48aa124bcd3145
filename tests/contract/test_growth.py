"""The time of every reader and chunker, of an index and of the cut, grows in proportion to a text, whatever its shape.

For readers, `recursive`, an index, and the cut, a text of 64 kB takes less than 12 times as long as one of 8 kB, an
exponent of 1.2, unless it takes less than 0.1 s, 1.6 s a megabyte. For other chunkers, of which some look back over
windows of sentences, a text of 12 kB takes less than 8 times as long as one of 3 kB, an exponent of 1.5.
"""

import contextlib

import pytest

from advchunk import Chunk, ConfigurationError, Document, Span, create, describe, registry
from advchunk.errors import BadModelOutput
from advchunk.readers import formats
from advchunk.readers.pubmed import records as pubmed
from advchunk.retrieval import Hit, LexicalIndex, PassageCutter
from chats import every_fourth_line
from front_ends import every_chunker
from growing import STRICT, check_growth, check_shapes, repeated
from shapes import SAMPLE, SHAPES, around
from stand_ins import STAND_INS

READERS = [row.name for row in registry.rows_of("reader") if not formats.is_binary(row.name)]


def build(name, **params):
    own = {"llm": every_fourth_line, "support": 100.0} if name == "llm-chaptering" else STAND_INS.get(name, {})
    windows = {"max_units": 100} if "max_units" in describe(name)["parameters"] else {}
    return create(name, experimental=True, fallback=None, **own, **windows, **params)


@pytest.mark.slow
def test_recursive_takes_time_in_proportion_to_every_shape():
    check_shapes(build("recursive").chunk, SHAPES, **STRICT)


@pytest.mark.long
@every_chunker
def test_every_chunker_takes_time_in_proportion_to_some_shapes(name):
    chunker = build(name)

    def chunk(text):
        with contextlib.suppress(ConfigurationError, BadModelOutput):
            chunker.chunk(text)

    check_shapes(chunk, SAMPLE, 3_000)


@pytest.mark.long
@pytest.mark.parametrize("name", READERS)
def test_every_reader_takes_time_in_proportion_to_every_shape(name):
    def read(text):
        with contextlib.suppress(ConfigurationError):
            formats.read(Document(text), name)

    check_shapes(read, SHAPES, **STRICT)


@pytest.mark.long
def test_an_index_and_the_cut_take_time_in_proportion_to_every_shape():
    def ask(text):
        LexicalIndex(text[i : i + 500] for i in range(0, len(text), 500)).search("a word")
        PassageCutter().cut("a word", [Hit(Chunk(text[:40], (Span(0, 40),), 10), "a", 1.0)], 500, texts={"a": text})

    check_shapes(ask, SHAPES, **STRICT)


TEI = '<TEI xmlns="http://www.tei-c.org/ns/1.0"><text><body>'


@pytest.mark.slow
def test_records_and_elements_take_time_in_proportion_to_their_number():
    record = "PMID- 1\nAB  - AIM: To see what tea does. RESULTS: It does something to those who drink it.\n\n"
    check_growth(pubmed.read_records, repeated(record))
    for element in ("<p>A b.</p>", "<div><head>A</head><p>B c.</p></div>"):
        check_growth(build("grobid-section").chunk, around(TEI, element, "</body></text></TEI>"))
