"""Join the pages or elements of a document, which loaders return one by one."""

import re
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import replace
from itertools import groupby
from typing import Any

from advchunk.errors import is_integer
from advchunk.readers import formats
from advchunk.records import Block, Document, Place

_SOURCES = ("source", "file_path", "filename", "file_name")  # keys of loaders and readers
_PAGES = ("page_number", "page", "page_label")


def join_parts(parts: Iterable[Document]) -> Iterator[Document]:
    """Yield a document for each run of parts of the same source, in order, with a blank line between parts.

    A part is a page or an element of LangChain or LlamaIndex; its metadata has its source (``source``, ``file_path``,
    ``filename``, ``file_name``) and page: ``page_number``, ``page``, which may begin with 0, or ``page_label``. Parts
    are read as Markdown, or with the layout that their metadata describe, without page headers and footers. Blank parts
    are left out; metadata that all parts have in common stay.
    """
    for source, group in groupby((part for part in parts if part.text.strip()), key=_source_of):
        yield _join(source, list(group))


def _source_of(part: Document) -> str:
    return next((str(part.metadata[key]) for key in _SOURCES if part.metadata.get(key)), "")


def _join(source: str, parts: Sequence[Document]) -> Document:
    from_zero = any("total_pages" in part.metadata or part.metadata.get("page") == 0 for part in parts)
    read = [formats.read(part, "markdown") for part in parts]
    texts, blocks, start = list[str](), list[Block](), 0
    for part in read:
        layout, page = part.blocks or (), _page_of(part.metadata, from_zero=from_zero)
        if all(block.kind == "furniture" for block in layout):
            continue
        for block in layout:
            is_placed = page is None or any(place.box for place in block.places)
            moved = block.moved(start)
            blocks.append(moved if is_placed else replace(moved, places=(Place(page or 1),), parts=()))
        texts.append(part.text)
        start += len(part.text) + 2
    shared = [key for key in read[0].metadata if key not in _PAGES and all(key in part.metadata for part in read)]
    values = {key: [part.metadata[key] for part in read] for key in shared}
    metadata = {key: first for key, (first, *rest) in values.items() if all(value == first for value in rest)}
    id, markup = (read[0].id, read[0].markup) if len(read) == 1 else (source or read[0].id, "parts")
    return Document("\n\n".join(texts), id, tuple(blocks), metadata, markup=markup)


def _page_of(metadata: Mapping[str, Any], *, from_zero: bool) -> int | None:
    """Return the page of a part, from 1; None if it is unknown."""
    for key in _PAGES:
        value = metadata.get(key)
        number = int(value) if isinstance(value, str) and re.fullmatch("[0-9]{1,9}", value) else value
        if is_integer(number, 0):
            return number + (key == "page" and from_zero) or None
    return None
