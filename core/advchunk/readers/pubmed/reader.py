"""Read biomedical abstracts: plain ones, and PubMed records."""

from collections.abc import Mapping
from dataclasses import replace
from typing import Any

from advchunk.errors import require
from advchunk.readers.formats import detect_format
from advchunk.readers.pubmed.labels import find_labels, section_blocks
from advchunk.readers.pubmed.normalization import normalize_abstract
from advchunk.readers.pubmed.records import read_records
from advchunk.records import Document


def read(text: str, *, id: str = "", metadata: Mapping[str, Any] | None = None) -> Document:
    """Read one abstract: plain text, with or without labels; a MEDLINE record; or a PubmedArticle in XML.

    The text is normalized (`normalize_abstract`), its ``offsets`` map it to the input, and its labels are headings.
    Records have metadata, their uid as id by default, and an empty text if there is no abstract
    (`readers.pubmed.records`). Several, or XML that cannot be read, raise `ConfigurationError`.
    """
    if detect_format(text) != "pubmed":
        flat, offsets = normalize_abstract(text)
        return Document(flat, id, section_blocks(flat, find_labels(flat)), dict(metadata or {}), offsets, "pubmed")
    records = read_records(text)
    require(len(records) == 1, "a document must be one abstract; read_records reads several", len(records))
    return replace(records[0], id=id or records[0].id, metadata={**records[0].metadata, **(metadata or {})})
