"""What is no prose in a text: files that are written into it as base64, and characters that no database takes."""

import re
from dataclasses import replace

import numpy as np

from advchunk.readers.writing import left_out
from advchunk.records import Document

_DATA = re.compile(r"(?<=data:)([\w.+-]{1,50}/[\w.+-]{1,100})(?:;[\w=.+-]{1,100}){0,5};base64,[A-Za-z0-9+/=_%-]{64,}+", re.IGNORECASE)
_CONTROL = re.compile(r"[\x00-\x08\x0e-\x1f\x7f]")
_REPLACEMENT = "\ufffd"  # of a character that is unknown, by Unicode


def without_noise(document: Document) -> Document:
    r"""Return a document without the bytes of data URIs, and with control characters replaced by U+FFFD.

    ``left_out`` counts both. With data URIs, offsets are those in the text as it was.

    >>> uri = f"data:image/png;base64,{'A' * 400}"
    >>> document = without_noise(Document(f"![chart]({uri}) o\0er"))
    >>> document.text, document.metadata
    ('![chart](data:image/png) o\ufffder', {'left_out': 'data URIs: 1; control characters: 1'})
    """
    is_layout_known = document.blocks is not None
    uris = [] if is_layout_known or ";base64," not in document.text else list(_DATA.finditer(document.text))
    document = _without(document, uris) if uris else document
    controls = len(_CONTROL.findall(document.text))
    if not (uris or controls):
        return document
    text = _CONTROL.sub(_REPLACEMENT, document.text)
    about = left_out({"data URIs": len(uris), "control characters": controls})
    return replace(document, text=text, metadata={**about, **document.metadata})


def _without(document: Document, uris: list[re.Match[str]]) -> Document:
    """Return a document with the types of data URIs alone, and offsets in the text as it was."""
    keeps = np.ones(len(document.text) + 1, dtype=bool)
    for uri in uris:
        keeps[uri.end(1) : uri.end()] = False
    offsets = np.flatnonzero(keeps)
    text = _DATA.sub(r"\1", document.text)
    return replace(document, text=text, offsets=offsets if document.offsets is None else document.offsets[offsets])
