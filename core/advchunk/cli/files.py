"""The files that commands read and write."""

import glob
import hashlib
import json
import shlex
import sys
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from os.path import realpath
from pathlib import Path
from typing import IO, Any

import click

from advchunk.chunkers.base import Chunker
from advchunk.chunkers.sources import read_source
from advchunk.cli.options import exit_on_termination, report_errors
from advchunk.models.atomic import open_atomic
from advchunk.readers.sources import FileSource, Inventory, find_files
from advchunk.records import Document
from advchunk.retrieval.index_file import is_index


@report_errors()
def list_inputs(files: Sequence[str], inventory: Inventory, out: str = "-", index: str = "-") -> list[str]:
    """Return the files that arguments stand for (`readers.sources.find_files`), or "-" for standard input without any.

    The index, and the output in folders, are passed over; the output must not be named as a file.
    """
    written = {realpath(path): path for path in (out, index) if path != "-"}
    indexes = [name for name in files if realpath(name) not in written and is_index(Path(name))]
    if indexes:
        by = f"advchunk ask --index {shlex.quote(indexes[0])} QUESTION"
        msg = f"{indexes[0]} is an index, not a document: search it by {by}"
        raise click.UsageError(msg)
    names = list(find_files(files or ["-"], inventory, written))
    same = [name for name in names if name != "-" and realpath(name) in written]
    if any(written[realpath(name)] == out for name in same):
        msg = f"--out must not be a file that is read, got {out}"
        raise click.UsageError(msg)
    names = [name for name in names if name not in same]
    if "-" in names and sys.stdin.isatty():
        click.echo("advchunk: reading standard input", err=True)
    if not names:
        click.echo(f"advchunk: {', '.join(files)}: no file that can be read", err=True)
    return names


def report_inventory(inventory: Inventory) -> None:
    """Print the inventory, unless all files were read by readers for their suffixes."""
    if not inventory.is_complete:
        click.echo(f"advchunk: {inventory}", err=True)


def read_input(chunker: Chunker, source: FileSource, *, by_name: bool, **options: Any) -> list[Document]:
    """Return the documents of a source (`chunkers.sources.read_source`), or of standard input."""
    if source.name == "-" and not source.is_line:
        source, by_name = source._replace(name="stdin"), False
    return read_source(chunker, source, by_name=by_name, **options)


@contextmanager
def open_output(path: str) -> Iterator[IO[str]]:
    """Open an output that gets its name once complete, or standard output; bytes not in UTF-8 are escaped."""
    if path == "-":
        yield sys.stdout
        return
    with _writing(path), open_atomic(path, encoding="utf-8", errors="backslashreplace", newline="\n") as file:
        yield file


@contextmanager
def _writing(path: str) -> Iterator[None]:
    """Report an output that cannot be written; a process that is ended removes it, or leaves what can be continued."""
    try:
        with exit_on_termination():
            yield
    except OSError as error:
        msg = f"{path}: {error.strerror or error}"
        raise click.ClickException(msg) from error


@contextmanager
def open_resumable(path: str, done: set[int], *settings: str) -> Iterator[IO[str]]:
    """Open JSON lines to continue; until complete, named ``path``, a digest of ``settings`` and ".partial".

    The last document may be cut off, and is written again; ``done`` gains the hashes of the names of the others.
    """
    target = Path(realpath(path))
    if target.is_dir():
        msg = f"{path}: Is a directory"
        raise click.ClickException(msg)
    digest = hashlib.sha256("|".join(settings).encode()).hexdigest()
    partial = target.with_name(f"{target.name}.{digest[:8]}.partial")
    others = [file for file in target.parent.glob(f"{glob.escape(target.name)}.????????.partial") if file != partial]
    if others:
        msg = f"{others[0]} was begun with other settings: continue with those, or delete it"
        raise click.UsageError(msg)
    with _writing(path):
        done.update(_drop_last_document(partial) if partial.exists() else ())
        with partial.open("a", encoding="utf-8", errors="backslashreplace", newline="\n") as file:
            yield file
        partial.replace(target)


def _drop_last_document(path: Path) -> set[int]:
    """Remove the last document of a file of chunks, with its attachments; return the hashes of the others' names."""
    done, last, parts, start, at = set[int](), "", set[int](), 0, 0
    with path.open("r+b") as file:
        for line in file:
            if not line.endswith(b"\n"):
                break
            name = json.loads(line)["document"]
            if not last or not f"{name}/".startswith(f"{last}/"):
                done |= parts
                last, parts, start = name, set(), at
            parts.add(hash(name))
            at += len(line)
        file.truncate(start)
    return done
