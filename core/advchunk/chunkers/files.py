"""Chunk files: what cannot be read is a failure like any other."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import replace
from os import PathLike
from pathlib import Path

from advchunk.chunkers.base import Chunker
from advchunk.engine.runner import Failure, OnError, Progress, error_handler
from advchunk.errors import ConfigurationError, MissingExtra, require
from advchunk.records import Chunk, Document


def chunk_files(
    chunker: Chunker, paths: Iterable[str | Path], named: str, *, on_error: OnError = "raise", progress: Progress = None
) -> tuple[list[Document], list[list[Chunk]]]:
    """Return the files that can be read (`Chunker.read_file`), and the chunks of each.

    Parameters
    ----------
    named : the metadata in which the path of a file stands.
    on_error : what to do about a file that fails; the index of a `Failure` is its place among ``paths``.
    """
    require(not isinstance(paths, (str, bytes, PathLike)), "paths must be several, such as [path]", paths)
    handle, read = error_handler(on_error), dict[int, Document]()
    for place, path in enumerate(paths):
        try:
            read[place] = chunker.read_file(path, metadata={named: str(path)})
        except (OSError, ConfigurationError, MissingExtra) as error:
            handle(Failure(place, str(path), error))
    documents, places = list(read.values()), list(read)

    def placed(failure: Failure) -> None:
        handle(replace(failure, index=places[failure.index]))

    return documents, chunker.chunk_many(documents, on_error=placed, progress=progress)
