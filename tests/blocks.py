"""The blocks of documents, as tests compare them."""

import json
from pathlib import Path

PAPERS = json.loads((Path(__file__).parent / "data" / "papers.json").read_text("utf-8"))
"""How the papers of ``tests/data`` are read: by name the id, the metadata, and kind, level, text, and places of blocks."""


def blocks_of(document, *kinds):
    """Return kind, level, and text of each block, or of those of some kinds."""
    blocks = [block for block in document.blocks if not kinds or block.kind in kinds]
    return [(block.kind, block.level, document.text[slice(*block.span)]) for block in blocks]


def texts_of(document, *kinds):
    """Return the texts of the blocks, or of those of some kinds."""
    return [text for _, _, text in blocks_of(document, *kinds)]


def outline(document):
    """Return level and text of each heading."""
    return [(level, text) for _, level, text in blocks_of(document, "heading")]


def check_paper(document, name):
    """Raise AssertionError unless a document is one of `PAPERS`."""
    blocks = [[*block, places_of(own)] for block, own in zip(blocks_of(document), document.blocks, strict=True)]
    assert {"id": document.id, "metadata": document.metadata, "blocks": blocks} == PAPERS[name]
    assert "\n\n".join(texts_of(document)) == document.text


def places_of(block):
    """Return page, left, top, right, and bottom of each place of a block."""
    return [[place.page, *place.box] for place in block.places]
