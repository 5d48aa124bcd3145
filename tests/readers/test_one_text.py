"""One text in many formats is read as the same blocks."""

import re

import pytest

import one_text
from advchunk import read_file


def contents(document):
    """Return the kind, the level, and the text of each block."""
    return [
        (block.kind, block.level, (document.text[slice(*block.span)] if block.title is None else block.title).strip())
        for block in document.blocks
    ]


def as_read(blocks, suffix):
    """Yield the blocks as a format has them.

    Pages have no signs before notes; slides have one level of headings, and no notes; Markdown has no items with
    letters, and one row of heads.
    """
    for kind, level, text in blocks:
        if suffix == ".md" and text.startswith(("a. ", "b. ")):
            yield "paragraph", 0, text
        elif suffix == ".md" and kind == "table":
            yield kind, level, one_text.with_one_head(text)
        elif suffix in {".html", ".epub"} and kind == "footnote":
            yield kind, level, text.partition(": ")[2]
        elif suffix == ".pptx":
            below = kind == "heading" and level > 1
            plain = ("paragraph", 0) if below else (kind, level)
            yield from [] if kind == "footnote" else [(*plain, re.sub(r"\[\^\d+\]", "", text))]
        else:
            yield kind, level, text


@pytest.mark.parametrize("seed", range(8))
@pytest.mark.parametrize("suffix", one_text.WRITERS)
def test_one_text_is_read_alike_in_every_format(suffix, seed, tmp_path):
    parts, path = one_text.document(seed), tmp_path / f"text{suffix}"
    path.write_bytes(one_text.WRITERS[suffix](parts))
    document = read_file(path)
    assert contents(document) == [*as_read(one_text.expected(parts), suffix)]
    if suffix in {".docx", ".odt", ".rtf"}:
        assert "hidden texts: " in document.metadata["left_out"]
