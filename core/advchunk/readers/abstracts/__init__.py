"""Read biomedical abstracts: a plain one, one whose sections are known, or one that PubMed hands out.

A document's text is the normalized one (`readers.abstracts.normalization`), and its ``offsets`` lead back to what was given. Labels
(`readers.abstracts.labels`) stay in the text, and are its heading blocks.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import replace
from typing import Any

from advchunk.errors import require
from advchunk.readers import pubmed
from advchunk.readers.abstracts.labels import OTHER, UNSTRUCTURED, find_labels, section_name
from advchunk.readers.abstracts.normalization import normalize_abstract
from advchunk.readers.abstracts.sections import from_sections, section_blocks
from advchunk.readers.formats import detect_format
from advchunk.records import Document

__all__ = [
    "OTHER",
    "UNSTRUCTURED",
    "find_labels",
    "from_sections",
    "normalize_abstract",
    "read",
    "section_blocks",
    "section_name",
]


def read(text: str, *, id: str = "", metadata: Mapping[str, Any] | None = None) -> Document:
    """Read one abstract: a plain one, with or without labels; a MEDLINE record; or a PubmedArticle in XML.

    The last two have metadata, and a text that is empty where there is no abstract (`readers.pubmed`).

    Parameters
    ----------
    id : names the document; "" is the record's uid, if it has one.
    metadata : overrides what the record says.

    Raises
    ------
    ConfigurationError : several records, or XML that cannot be read.

    >>> document = read("Aim: To see.  Results: It was seen.")
    >>> [(block.kind, block.title or document.text[slice(*block.span)]) for block in document.blocks]
    [('heading', 'Objective'), ('paragraph', 'To see.'), ('heading', 'Results'), ('paragraph', 'It was seen.')]
    """
    if detect_format(text) != "pubmed":
        said = normalize_abstract(text)
        return Document(
            said.text,
            id,
            section_blocks(said.text, find_labels(said.text)),
            dict(metadata or {}),
            said.offsets,
            "pubmed",
        )
    records = pubmed.read_records(text)
    rule = "a document must be one abstract; those of a set are read by readers.pubmed.read_records"
    require(len(records) == 1, rule, len(records))
    (record,) = records
    return replace(record, id=id or record.id, metadata={**record.metadata, **(metadata or {})})
