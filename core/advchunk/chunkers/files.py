"""Chunk files; one that cannot be read is a failure like any other."""

from collections.abc import Iterable
from dataclasses import replace
from os import PathLike
from pathlib import Path

from advchunk.chunkers.base import Chunker
from advchunk.engine.runner import Failure, OnError, Progress, error_handler
from advchunk.errors import ConfigurationError, MissingExtra, require
from advchunk.records import Chunk, Document


def chunk_files(
    chunker: Chunker, paths: Iterable[str | Path], key: str, *, on_error: OnError = "raise", progress: Progress = None
) -> tuple[list[Document], list[list[Chunk]]]:
    """Return the documents of the files that can be read (`Chunker.read_file`), and the chunks of each.

    Parameters
    ----------
    key : metadata key for the path of a file.
    on_error : see `Chunker.chunk_many`; the index of a `Failure` is that of the file in ``paths``.
    """
    require(not isinstance(paths, (str, bytes, PathLike)), "paths must be several, such as [path]", paths)
    handle, documents = error_handler(on_error), dict[int, Document]()
    for i, path in enumerate(paths):
        try:
            documents[i] = chunker.read_file(path, metadata={key: str(path)})
        except (OSError, ConfigurationError, MissingExtra) as error:
            handle(Failure(i, str(path), error))
    indexes = list(documents)

    def handle_document(failure: Failure) -> None:
        handle(replace(failure, index=indexes[failure.index]))

    read = list(documents.values())
    return read, chunker.chunk_many(read, on_error=handle_document, progress=progress)
