"""Remove what is no prose from a text: files in base64, and control characters, which databases refuse."""

import re
from dataclasses import replace

import numpy as np

from advchunk.readers.writing import left_out
from advchunk.records import Document, Ints
from advchunk.text.patterns import lazy_pattern

_DATA = lazy_pattern(
    r"(?<=data:)([\w.+-]{1,50}/[\w.+-]{1,100})(?:;[\w=.+-]{1,100}){0,5};base64,[A-Za-z0-9+/=_%-]{64,}+", re.IGNORECASE
)
MARK = ";base64,"
"""What a text with data URIs has."""
_CONTROL = lazy_pattern(r"[\x00-\x08\x0e-\x1f\x7f]")
_UNKNOWN = "\ufffd"


def without_data(document: Document) -> Document:
    """Return a document with the types of data URIs alone, and offsets in the text as it was."""
    uris = list(_DATA.finditer(document.text))
    if not uris:
        return document
    keeps = np.ones(len(document.text) + 1, dtype=bool)
    for uri in uris:
        keeps[uri.end(1) : uri.end()] = False
    return _changed(document, _DATA.sub(r"\1", document.text), np.flatnonzero(keeps), {"data URIs": len(uris)})


def without_controls(document: Document) -> Document:
    """Return a document with U+FFFD for control characters, such as NUL, which PDFs have for ligatures."""
    text, count = _CONTROL.subn(_UNKNOWN, document.text)
    return _changed(document, text, np.arange(len(text) + 1), {"control characters": count}) if count else document


def _changed(document: Document, text: str, offsets: Ints, counts: dict[str, int]) -> Document:
    metadata = {**left_out(counts), **document.metadata}
    if document.blocks is not None:  # a text of its own, whose spans stay
        return replace(document, text=text, metadata=metadata)
    own = offsets if document.offsets is None else document.offsets[offsets]
    return replace(document, text=text, offsets=own, metadata=metadata)
