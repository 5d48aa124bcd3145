"""The blocks of documents, as tests compare them."""

import json
import random
import tomllib
import zipfile
from io import BytesIO
from pathlib import Path

import pytest

from one_text import zipped

_DATA = Path(__file__).parent / "data"
CASES = tomllib.loads((_DATA / "cases.toml").read_text("utf-8"))
"""Tables of texts, and of what is read of them, by name."""
PAPERS = json.loads((_DATA / "papers.json").read_text("utf-8"))
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


def damaged(data, seed, count=60):
    """Yield a file with some bytes changed, and some of these cut short, so many times."""
    generator = random.Random(seed)
    for _ in range(count):
        changed = bytearray(data)
        for _ in range(generator.randint(1, 8)):
            changed[generator.randrange(len(changed))] = generator.randrange(256)
        if generator.random() < 0.3:
            del changed[generator.randrange(len(changed)) :]
        yield bytes(changed)


def part(data, name):
    """Return one part of an archive."""
    with zipfile.ZipFile(BytesIO(data)) as archive:
        return archive.read(name).decode()


def replaced(data, name, content):
    """Return an archive with one part replaced."""
    with zipfile.ZipFile(BytesIO(data)) as archive:
        parts = {member: archive.read(member) for member in archive.namelist()}
    return zipped({**parts, name: content})


def check_unknown_elements(xml, read, count=40):
    """Raise AssertionError if a text is lost because an element is in one that no format knows, or is one itself.

    ``read`` returns the document of an XML.
    """
    etree = pytest.importorskip("lxml.etree")

    def texts(root):
        return {"".join(text.split()) for text in root.itertext() if text.strip()}

    def lost(root):
        text = "".join(read(etree.tostring(root, encoding="unicode")).text.split()).replace("\\|", "|")
        return {own for own in texts(root) if own not in text}

    whole = etree.fromstring(xml.encode())
    not_text = lost(whole)
    for seed in range(count):
        root, generator = etree.fromstring(xml.encode()), random.Random(seed)
        element = generator.choice(
            [own for own in root.iter() if own.getparent() is not None and texts(own) - not_text]
        )
        if generator.random() < 0.5 and len(element):
            element.tag = "{urn:x}new"
        else:
            outer = etree.Element("{urn:x}new")
            outer.tail, element.tail = element.tail, None
            element.getparent().replace(element, outer)
            outer.append(element)
        assert lost(root) <= not_text, etree.tostring(element)[:200]
