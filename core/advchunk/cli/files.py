"""The files that commands read and write."""

import io
import os
import sys
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import IO

import click

from advchunk.chunkers.base import Chunker
from advchunk.cli.common import exit_on_termination
from advchunk.models.atomic import open_atomic
from advchunk.readers import formats
from advchunk.readers.files import decode_text
from advchunk.records import Document


def expand_folder(name: str) -> Iterator[str]:
    """Yield the files in a folder that can be read by their suffix, in order, without hidden ones; the name if there are none."""
    paths = list[str]()
    for folder, folders, names in os.walk(name):
        folders[:] = sorted(item for item in folders if not item.startswith("."))
        paths += [str(Path(folder, item)) for item in sorted(names) if item[0] != "." and formats.is_supported(item)]
    yield from paths or [name]


def read_input(chunker: Chunker, by_name: bool, encoding: str | None, name: str) -> list[Document]:
    """Read a file, or standard input for "-"; ``by_name`` takes the format of a file from its name."""
    return [read_stdin(encoding)] if name == "-" else chunker.read_documents(name, by_name=by_name, encoding=encoding)


def read_stdin(encoding: str | None = None) -> Document:
    """Read standard input, with a notice if it is a terminal."""
    if sys.stdin.isatty():
        click.echo("advchunk: reading standard input", err=True)
    return Document(decode_text(sys.stdin.buffer.read(), encoding=encoding), "stdin")


@contextmanager
def open_output(path: str) -> Iterator[IO[str]]:
    """Open an output file that appears under its name only when it is complete.

    Bytes of a file name that are not UTF-8 are escaped, which keeps JSON valid.
    """
    if path == "-":
        if isinstance(sys.stdout, io.TextIOWrapper):
            sys.stdout.reconfigure(encoding="utf-8", errors="backslashreplace")
        yield sys.stdout
        return
    try:
        with (
            exit_on_termination(),
            open_atomic(path, encoding="utf-8", errors="backslashreplace", newline="\n") as file,
        ):
            yield file
    except OSError as error:
        msg = f"{path}: {error.strerror or error}"
        raise click.ClickException(msg) from error
