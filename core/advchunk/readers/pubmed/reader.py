"""Read biomedical abstracts: plain ones, abstracts with known sections, and PubMed records.

A document's text is normalized (`readers.pubmed.abstracts.normalization`), and its ``offsets`` map it to the input.
Labels (`readers.pubmed.abstracts.labels`) stay in the text, as heading blocks.
"""

from collections.abc import Mapping
from dataclasses import replace
from typing import Any

from advchunk.errors import require
from advchunk.readers.formats import detect_format
from advchunk.readers.pubmed.abstracts.labels import OTHER, UNSTRUCTURED, find_labels, section_name
from advchunk.readers.pubmed.abstracts.normalization import normalize_abstract
from advchunk.readers.pubmed.abstracts.sections import from_sections, section_blocks
from advchunk.readers.pubmed.records import read_records
from advchunk.records import Document

__all__ = [
    "OTHER",
    "UNSTRUCTURED",
    "find_labels",
    "from_sections",
    "normalize_abstract",
    "read_records",
    "section_blocks",
    "section_name",
]


def read(text: str, *, id: str = "", metadata: Mapping[str, Any] | None = None) -> Document:
    """Read one abstract: plain text, with or without labels; a MEDLINE record; or a PubmedArticle in XML.

    The last two have metadata, which ``metadata`` overrides, their uid as id by default, and an empty text if there is
    no abstract (`readers.pubmed.records`). Several records, or XML that cannot be read, raise `ConfigurationError`.

    >>> document = read("Aim: To see.  Results: It was seen.")
    >>> [(block.kind, block.title or document.text[slice(*block.span)]) for block in document.blocks]
    [('heading', 'Objective'), ('paragraph', 'To see.'), ('heading', 'Results'), ('paragraph', 'It was seen.')]
    """
    if detect_format(text) != "pubmed":
        flat, offsets = normalize_abstract(text)
        return Document(flat, id, section_blocks(flat, find_labels(flat)), dict(metadata or {}), offsets, "pubmed")
    records = read_records(text)
    rule = "a document must be one abstract; use biomedical.pubmed.read_records for several"
    require(len(records) == 1, rule, len(records))
    (record,) = records
    return replace(record, id=id or record.id, metadata={**record.metadata, **(metadata or {})})
