"""One text in many formats is read as the same blocks."""

import re

import one_text
import pytest

from advchunk import read_file


def told(document):
    """Return the kind, the level, and the text of each block."""
    return [
        (block.kind, block.level, (document.text[slice(*block.span)] if block.title is None else block.title).strip())
        for block in document.blocks
    ]


def as_read(blocks, suffix):
    """Return the blocks as a format has them.

    Pages have no signs before notes; slides have one level of headings, and no notes; Markdown has no items with letters, and one row of heads.
    """
    made = []
    for kind, level, text in blocks:
        if suffix == ".md" and text.startswith(("a. ", "b. ")):
            kind, level = "paragraph", 0
        if suffix == ".md" and kind == "table":
            text = one_text.with_one_head(text)
        if suffix in {".html", ".epub"} and kind == "footnote":
            text = text.partition(": ")[2]
        if suffix == ".pptx" and kind == "heading" and level > 1:
            kind, level = "paragraph", 0
        if suffix == ".pptx":
            text = re.sub(r"\[\^\d+\]", "", text)
        if suffix != ".pptx" or kind != "footnote":
            made.append((kind, level, text))
    return made


@pytest.mark.parametrize("seed", range(8))
@pytest.mark.parametrize("suffix", one_text.WRITERS)
def test_one_text_is_read_alike_in_every_format(suffix, seed, tmp_path):
    parts, path = one_text.document(seed), tmp_path / f"text{suffix}"
    path.write_bytes(one_text.WRITERS[suffix](parts))
    document = read_file(path)
    assert told(document) == as_read(one_text.expected(parts), suffix)
    if suffix in {".docx", ".odt", ".rtf"}:
        assert "hidden texts: " in document.metadata["left_out"]
