"""One text in PDFs of several writers is read as the same blocks."""

import pytest

import one_text
import pdf_text
from advchunk.readers.pages import pdf


@pytest.mark.parametrize("seed", range(8))
@pytest.mark.parametrize("writer", ["raw", "platypus"])
def test_one_text_is_read_alike_in_pdfs(writer, seed):
    check(writer, seed)


@pytest.mark.slow
@pytest.mark.parametrize("seed", range(8))
def test_one_text_is_read_alike_in_the_print_of_a_browser(seed):
    check("printed", seed)


def check(writer, seed):
    """Fail unless a text of a writer has the expected blocks."""
    parts = one_text.document(seed)
    document = pdf.read(pdf_text.WRITERS[writer](parts), detector=None)
    blocks = [(block.kind, block.level, document.text[slice(*block.span)]) for block in document.blocks]
    assert blocks == [*pdf_text.expected(parts)]
