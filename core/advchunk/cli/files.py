"""The files that commands read and write."""

import glob
import io
import json
import os
import sys
from collections.abc import Iterator
from contextlib import contextmanager, nullcontext
from pathlib import Path, PurePath
from typing import IO, NamedTuple

import click

from advchunk.chunkers.base import Chunker
from advchunk.cli.common import exit_on_termination
from advchunk.errors import ConfigurationError, require
from advchunk.models.atomic import open_atomic
from advchunk.readers import formats
from advchunk.readers.files import decode_text, read_bytes
from advchunk.records import Document


def expand_folder(name: str, *, jsonl: bool = False) -> Iterator[str]:
    """Yield the files in a folder that can be read by their suffix, in order, without hidden ones; the name if there are none.

    With ``jsonl``, those that hold a document a line are among them.
    """

    def is_input(item: str) -> bool:
        return item[0] != "." and (formats.is_supported(item) or (jsonl and is_jsonl(item)))

    paths = list[str]()
    for folder, folders, names in os.walk(name):
        folders[:] = sorted(item for item in folders if not item.startswith("."))
        paths += [str(Path(folder, item)) for item in sorted(names) if is_input(item)]
    yield from paths or [name]


class FileInput(NamedTuple):
    """A file that is still to be read, standard input, or a line of a file of documents."""

    name: str  # of a line with its number
    data: bytes | None = None

    @property
    def size(self) -> int:
        """Number of bytes; 0 if the file cannot be read."""
        if self.data is not None:
            return len(self.data)
        try:
            return Path(self.name).stat().st_size
        except OSError:
            return 0


def is_jsonl(name: str) -> bool:
    """Return True if a file holds a document a line."""
    return PurePath(name).suffix.lower() == ".jsonl"


def iterate_sources(name: str, of_lines: bool) -> Iterator[FileInput]:
    """Yield the file, or each of its lines that is not blank; "-" is standard input."""
    if not of_lines:
        yield FileInput(name, _stdin_bytes() if name == "-" else None)
        return
    with nullcontext(sys.stdin.buffer) if name == "-" else Path(name).open("rb") as file:
        for number, line in enumerate(file, 1):
            if line.strip():
                yield FileInput(f"{name}:{number}", line)


def read_source(chunker: Chunker, by_name: bool, encoding: str | None, source: FileInput) -> list[Document]:
    """Read a file as `read_input` does, or the data of a source."""
    if source.data is None:
        return read_input(chunker, by_name, encoding, source.name)
    if source.name == "-":
        return [_read_stdin(chunker, source.data, encoding)]
    return [read_record(source.data, encoding)]


def read_record(line: bytes, encoding: str | None = None) -> Document:
    """Return the document of a line: its ``id`` and ``text``; all else is its metadata, in which NaN is null."""
    text = decode_text(line, encoding=encoding)
    try:
        record = json.loads(text, parse_constant=lambda _: None)
    except (ValueError, RecursionError) as error:
        msg = f"a line must be JSON ({error})"
        raise ConfigurationError(msg) from None
    rule = 'a line must be an object with "text"'
    require(isinstance(record, dict) and isinstance(record.get("text"), str), rule, record)
    name = record.pop("id", "")
    valid = isinstance(name, str | int) and not isinstance(name, bool) and name != ""
    require(valid, 'a line must have an "id", text or a whole number', name)
    return Document(record.pop("text"), str(name), metadata=record)


def read_input(chunker: Chunker, by_name: bool, encoding: str | None, name: str) -> list[Document]:
    """Read a file, or standard input for "-"; ``by_name`` takes the format of a file from its name."""
    if name == "-":
        return [_read_stdin(chunker, _stdin_bytes(), encoding)]
    return chunker.read_documents(name, by_name=by_name, encoding=encoding)


def _stdin_bytes() -> bytes:
    """Return standard input, with a notice if it is a terminal."""
    if sys.stdin.isatty():
        click.echo("advchunk: reading standard input", err=True)
    return sys.stdin.buffer.read()


def _read_stdin(chunker: Chunker, data: bytes, encoding: str | None) -> Document:
    if formats.is_binary(chunker.markup):
        return read_bytes(data, chunker.markup, id="stdin", options=chunker.reader_options)
    return Document(decode_text(data, encoding=encoding), "stdin")


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


@contextmanager
def open_resumable(path: str, settings: str) -> Iterator[tuple[IO[str], set[int]]]:
    """Open a file of JSON lines to continue it where an earlier call was interrupted.

    Until it is complete its name is ``path``, a digest of the ``settings`` and ".partial". The last document in it may be
    cut off, and is written again.

    Returns
    -------
    The file, and the hashes of the names of the documents that are in it.
    """
    target = Path(path).resolve()
    if target.is_dir():
        msg = f"{path}: Is a directory"
        raise click.ClickException(msg)
    partial = target.with_name(f"{target.name}.{settings[:8]}.partial")
    others = [file for file in target.parent.glob(f"{glob.escape(target.name)}.????????.partial") if file != partial]
    if others:
        msg = f"{others[0]} was begun with other settings: continue with those, or delete it"
        raise click.UsageError(msg)
    try:
        done = _drop_last_document(partial) if partial.exists() else set[int]()
        with (
            exit_on_termination(),
            partial.open("a", encoding="utf-8", errors="backslashreplace", newline="\n") as file,
        ):
            yield file, done
        partial.replace(target)
    except OSError as error:
        msg = f"{path}: {error.strerror or error}"
        raise click.ClickException(msg) from error


def _drop_last_document(path: Path) -> set[int]:
    """Remove the last document of a file of chunks, and return the hashes of the names of the others."""
    done, last, start, at = set[int](), "", 0, 0
    with path.open("r+b") as file:
        for line in file:
            if not line.endswith(b"\n"):
                break
            name = json.loads(line)["document"]
            if name != last:
                done.add(hash(last))
                last, start = name, at
            at += len(line)
        file.truncate(start)
    return done - {hash("")}
