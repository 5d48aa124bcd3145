"""The comparison of what chunkers keep counts what it says."""

import features as script
import pytest
from features import Piece

TEXT = "Tea is hot.\n\n| a | b |\n|---|---|\n| 1 | 2 |\n\n```python\nboil()\n```\n"


def test_counts_of_chunks():
    pieces = [Piece(TEXT[:30], (0, 30), "x"), Piece(TEXT[30:], (31, len(TEXT)), "y")]
    row = script.measure(lambda _: pieces, {"a": TEXT}, 34)
    assert (row.chunks, row.exact, row.over, row.errors) == (2, 1, 1, 0)
    assert row.kept == row.letters == len("".join(TEXT.split()))
    assert (row.blocks, row.whole) == (2, 1)  # the table is in two chunks
    assert (row.named, row.same) == (2, 2)


def test_counts_of_losses():
    numbers = iter(range(100))
    row = script.measure(lambda _: [Piece("Tea", None, str(next(numbers)))], {"a": "Tea is hot."}, 35)
    assert (row.exact, row.kept, row.letters) == (0, 3, 9)
    assert (row.named, row.same) == (1, 0)


def test_an_error_is_counted():
    texts = {"a": "Tea", "b": ""}
    row = script.measure(lambda text: [Piece(text[0] and text, (0, 3))], texts, 35)
    assert (row.chunks, row.errors) == (1, 1)


@pytest.mark.filterwarnings("ignore:.*is being sunset:DeprecationWarning")
def test_all_chunkers_are_measured():
    texts = {"a": "Tea is hot. Milk is white. Courts rule on law. Judges sit in court. Cats nap all day.\n" * 3}
    _, _, *rows = script.table(60, texts).splitlines()
    assert len(rows) == len(script.CHUNKERS)
    for row in rows[:2]:
        cells = [cell.strip() for cell in row.split("|")]
        assert cells[3:6] == ["100%", "100.00%", "0"]
        assert cells[7:9] == ["100%", "0"]
