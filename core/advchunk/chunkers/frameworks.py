"""Chunks of files, and metadata in the document models of frameworks, for the adapters."""

from collections.abc import Iterable, Mapping
from dataclasses import replace
from os import PathLike
from pathlib import Path
from typing import Any

from advchunk.chunkers.base import Chunker
from advchunk.engine.runner import Failure, OnError, Progress, error_handler
from advchunk.errors import ConfigurationError, MissingExtra, require
from advchunk.layout import Locator
from advchunk.records import Chunk, Document, Span

WRITTEN_KEYS = "advchunk_keys"
"""The metadata key of the space-separated list of keys that an adapter wrote about the chunk itself."""


def chunk_files(
    chunker: Chunker, paths: Iterable[str | Path], key: str, *, on_error: OnError = "raise", progress: Progress = None
) -> tuple[list[Document], list[list[Chunk]]]:
    """Return the documents of the files that can be read (`Chunker.read_file`), and the chunks of each.

    A file that cannot be read is reported as a `Failure`.

    Parameters
    ----------
    key : metadata key for the path of a file.
    on_error : see `Chunker.chunk_many`; the index of a `Failure` is that of the file in ``paths``.
    """
    require(not isinstance(paths, (str, bytes, PathLike)), "paths must be a collection, such as [path]", paths)
    handle, documents = error_handler(on_error), dict[int, Document]()
    for i, path in enumerate(paths):
        try:
            documents[i] = chunker.read_file(path, metadata={key: str(path)})
        except (OSError, ConfigurationError, MissingExtra) as error:
            handle(Failure(i, str(path), error))
    indexes, read = list(documents), list(documents.values())
    return read, chunker.chunk_many(
        read, on_error=lambda failure: handle(replace(failure, index=indexes[failure.index])), progress=progress
    )


def mark_written(metadata: dict[str, Any], user: Mapping[str, Any]) -> dict[str, Any]:
    """Return metadata of a chunk with `WRITTEN_KEYS`: the keys that the user's metadata does not have.

    Headings and pages are left out, because they also apply to parts of the chunk.

    >>> mark_written({"source": "s", "token_count": 9, "section": "Tea"}, {"source": "s"})
    {'source': 's', 'token_count': 9, 'section': 'Tea', 'advchunk_keys': 'token_count'}
    """
    earlier = str(user.get(WRITTEN_KEYS, "")).split()
    keys = [key for key in metadata if key not in user and key not in Locator.shared_keys and key != WRITTEN_KEYS]
    return {**metadata, WRITTEN_KEYS: " ".join(dict.fromkeys([*earlier, *keys]))}


def user_metadata(metadata: Mapping[str, Any]) -> Mapping[str, Any]:
    """Return metadata without the keys that an adapter wrote: parts of a chunk do not inherit those.

    >>> user_metadata({"source": "s", "token_count": 9, "advchunk_keys": "token_count"})
    {'source': 's'}
    """
    if WRITTEN_KEYS not in metadata:
        return metadata
    written = {*str(metadata[WRITTEN_KEYS]).split(), WRITTEN_KEYS}
    return {key: value for key, value in metadata.items() if key not in written}


def flatten_spans(spans: Iterable[Span], shift: int = 0) -> str:
    """Return spans as text, for stores whose metadata must be flat.

    >>> flatten_spans([Span(0, 2), Span(7, 9)], shift=100)
    '100-102 107-109'
    """
    return " ".join(f"{start + shift}-{end + shift}" for start, end in spans)


def flatten_places(metadata: Mapping[str, Any]) -> dict[str, Any]:
    """Return metadata with ``pages`` and ``boxes`` as text; a box is its page, a colon, and its edges.

    >>> flatten_places({"page": 3, "pages": [3, 4], "boxes": [[3, 72.0, 90.5, 540.0, 700.0], [4, 72.0, 90.0, 540.0, 120.0]]})
    {'page': 3, 'pages': '3 4', 'boxes': '3:72,90.5,540,700 4:72,90,540,120'}
    """
    flat = dict(metadata)
    if isinstance(pages := flat.get("pages"), list):
        flat["pages"] = " ".join(map(str, pages))
    if isinstance(boxes := flat.get("boxes"), list):
        flat["boxes"] = " ".join(f"{page}:{','.join(f'{edge:.10g}' for edge in box)}" for page, *box in boxes)
    return flat
