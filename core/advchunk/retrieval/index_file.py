"""The file of an index: chunks, their places, words and vectors, and the texts of documents, in SQLite.

Every change is one transaction: a process that is killed, or a full disk, leaves the file as it was before. One process
writes at a time, others wait for it, and readers never wait. The words are a full-text index (FTS5) of the terms of
`lexical_index.LexicalIndex`, from which scores are computed by its formula; other numbers of chunks are arrays by
document. The index has no places of terms, which takes least room: a term that a chunk has twice has a second entry,
such as "tea^2".
"""

from __future__ import annotations

import json
import sqlite3
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from contextlib import closing, contextmanager
from dataclasses import dataclass
from functools import wraps
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import Any, Concatenate, Final, NamedTuple, ParamSpec, TypeAlias, TypeVar
from zlib import crc32

import numpy as np

from advchunk.errors import ConfigurationError, require
from advchunk.records import Chunk, Floats, Ints, chunk_from_dict, chunk_to_dict
from advchunk.text.search_terms import term_counts

_FORMAT: Final = 2
_TIMEOUT = 60.0  # seconds to wait for another process that writes
_APPLICATION: Final = 0x61647663  # "advc", in the header of the file
_BLOCK = 1 << 24  # bytes of vectors that are read at once
_NO_FOLDER = "path must be that of a file; an index that an earlier version saved in a folder must be made again"
_DAMAGED = ("SQLITE_CORRUPT", "SQLITE_NOTADB", "SQLITE_ERROR")

# The terms of a chunk are separated by spaces. They have letters, digits, the marks below, and other characters beyond
# ASCII. Names, texts and chunks are bytes in UTF-8, because strings of Python may have surrogates.
_SCHEMA = f"""
PRAGMA application_id = {_APPLICATION};
PRAGMA user_version = {_FORMAT};
CREATE TABLE settings (value BLOB NOT NULL, checksum INTEGER NOT NULL);
CREATE TABLE changes (number INTEGER NOT NULL);
INSERT INTO changes VALUES (0);
CREATE TABLE documents (
    number INTEGER PRIMARY KEY, name BLOB NOT NULL UNIQUE, first INTEGER NOT NULL, length INTEGER NOT NULL,
    tokens INTEGER NOT NULL, characters INTEGER NOT NULL, middles BLOB NOT NULL, words BLOB NOT NULL
);
CREATE TABLE notes (name BLOB PRIMARY KEY, value BLOB NOT NULL) WITHOUT ROWID;
CREATE TABLE languages (document INTEGER NOT NULL, code TEXT NOT NULL);
CREATE TABLE texts (document INTEGER PRIMARY KEY, text BLOB NOT NULL);
CREATE TABLE vectors (document INTEGER PRIMARY KEY, counts BLOB NOT NULL, rows BLOB NOT NULL);
CREATE TABLE chunks (number INTEGER PRIMARY KEY, value BLOB NOT NULL, checksum INTEGER NOT NULL);
CREATE VIRTUAL TABLE words USING fts5 (
    terms, content='', columnsize=0, detail=none, tokenize="ascii tokenchars '''+#._~^'"
);
"""

Connection: TypeAlias = sqlite3.Connection
_P = ParamSpec("_P")
_R = TypeVar("_R")


class StoredDocument(NamedTuple):
    """A document of an index: its chunks without vectors, and the (m, d) rows of each, if it has any.

    ``languages`` are the codes of those of the chunks, if an embedder may not know them all.
    """

    name: str
    chunks: Sequence[Chunk]
    rows: Sequence[Floats]
    text: str | None = None
    languages: tuple[str, ...] = ()


@dataclass(frozen=True, slots=True, eq=False)
class Places:
    """The places of all n chunks.

    Parameters
    ----------
    changes : the number of changes of the file.
    names : of the documents.
    documents : (n,) the number of each chunk's document in ``names``, ascending.
    numbers : (n,) the number of each chunk in the file, ascending.
    middles : (n,) the middle of each chunk in its document, in tokens.
    words : (n,) the words of each chunk without stop words.
    """

    changes: int
    names: list[str]
    documents: Ints
    numbers: Ints
    middles: Floats
    words: Ints


def _reports_damage(
    method: Callable[Concatenate[IndexFile, _P], _R],
) -> Callable[Concatenate[IndexFile, _P], _R]:
    """Return a method that reads, and raises `ConfigurationError` where a value is not what was written."""

    @wraps(method)
    def read(self: IndexFile, /, *args: _P.args, **kwargs: _P.kwargs) -> _R:
        try:
            return method(self, *args, **kwargs)
        except (TypeError, ValueError, LookupError, AttributeError, OverflowError, RecursionError) as error:
            raise self.damage(str(error)) from error

    return read


def is_index(path: Path) -> bool:
    """Return True if a file is an index, by its header."""
    try:
        with path.open("rb") as file:
            header = file.read(100)
    except OSError:
        return False
    return header.startswith(b"SQLite format 3\0") and header[68:72] == _APPLICATION.to_bytes(4, "big")


@dataclass(frozen=True, slots=True)
class IndexFile:
    """The file of an index.

    Parameters
    ----------
    path : of the file. SQLite keeps what was written last in a file beside it, whose name ends in "-wal".
    """

    path: Path

    def create(self, settings: Mapping[str, Any], documents: Iterable[StoredDocument] = ()) -> None:
        """Make the file, which must be absent or empty, with its first documents."""
        require(not self.path.is_dir(), _NO_FOLDER, str(self.path))
        self.path.parent.mkdir(parents=True, exist_ok=True)
        with self._opened("rwc") as file:
            file.execute("PRAGMA journal_mode = WAL")
            file.execute("BEGIN IMMEDIATE")
            if not file.execute("SELECT 1 FROM sqlite_master").fetchone():  # else another process has made it
                for statement in _SCHEMA.split(";\n"):
                    file.execute(statement)
                value = _bytes(json.dumps(dict(settings)))
                file.execute("INSERT INTO settings VALUES (?, ?)", (value, crc32(value)))
                _add(file, documents)
            file.execute("COMMIT")

    def replace(self, settings: Mapping[str, Any], documents: Iterable[StoredDocument]) -> None:
        """Make the file again in place of one that is there, when it is complete."""
        with TemporaryDirectory(prefix=".advchunk-", dir=self.path.absolute().parent) as folder:
            new = IndexFile(Path(folder, "index"))
            new.create(settings, documents)
            with new._opened("rw") as file:
                file.execute("PRAGMA journal_mode = DELETE")  # all in one file
            require(not self.path.is_dir(), _NO_FOLDER, str(self.path))
            new.path.replace(self.path)

    @property
    def exists(self) -> bool:
        """True if there is a file that is not empty."""
        return self.path.is_file() and self.path.stat().st_size > 0

    @contextmanager
    def reading(self) -> Iterator[Connection]:
        """Return the file as it is now, whatever others write meanwhile."""
        with self._opened("rw") as file:
            file.execute("BEGIN")
            self._check_header(file)
            yield file
            file.execute("COMMIT")

    @contextmanager
    def writing(self) -> Iterator[Connection]:
        """Return the file to change it: all is written when the block ends, and nothing if it raises."""
        with self._opened("rw") as file:
            file.execute("BEGIN IMMEDIATE")
            self._check_header(file)
            yield file
            file.execute("UPDATE changes SET number = number + 1")
            file.execute("COMMIT")

    @contextmanager
    def _opened(self, mode: str) -> Iterator[Connection]:
        try:
            address = f"{self.path.absolute().as_uri()}?mode={mode}"
            file = sqlite3.connect(address, timeout=_TIMEOUT, isolation_level=None, uri=True)
            with closing(file):
                file.execute("PRAGMA synchronous = NORMAL")
                yield file
        except (sqlite3.Error, UnicodeDecodeError) as error:
            raise self._translated(error) from error

    def _translated(self, error: Exception) -> Exception:
        """Return the error that tells whether the file is no index, is damaged, or cannot be used now."""
        name = getattr(error, "sqlite_errorname", "SQLITE_CORRUPT")
        if name.startswith(_DAMAGED) or not self.path.exists():
            return self.damage(str(error))
        return OSError(f"the index {str(self.path)!r} cannot be used: {error}")

    def check(self, is_sound: bool, reason: str) -> None:
        """Raise `ConfigurationError` with the reason unless what was read is sound."""
        if not is_sound:
            raise self.damage(reason)

    def damage(self, reason: str) -> ConfigurationError:
        """Return the error of a file that is not an index, or is damaged."""
        return ConfigurationError(
            f"path must be an index that a retriever has saved, got {str(self.path)!r} ({reason})"
        )

    def _check_header(self, file: Connection) -> None:
        header = [file.execute(f"PRAGMA {name}").fetchone()[0] for name in ("application_id", "user_version")]
        rule = f"path must be an index of this version; {str(self.path)!r} is of another, so index its documents again"
        require(header[0] != _APPLICATION or header[1] == _FORMAT, rule, f"format {header[1]}")
        self.check(header[0] == _APPLICATION, "it was not made by advchunk")

    # Within a transaction.

    @_reports_damage
    def settings(self, file: Connection) -> dict[str, Any]:
        """Return the settings."""
        value, checksum = file.execute("SELECT value, checksum FROM settings").fetchone()
        self.check(crc32(value) == checksum, "its settings are damaged")
        settings: dict[str, Any] = json.loads(value)
        return settings

    @_reports_damage
    def notes(self, file: Connection) -> dict[str, Any]:
        """Return the notes of `change`."""
        return {_text(name): json.loads(value) for name, value in file.execute("SELECT name, value FROM notes")}

    @_reports_damage
    def languages(self, file: Connection) -> list[str]:
        """Return the codes of the languages of the chunks, in alphabetical order."""
        return [code for (code,) in file.execute("SELECT DISTINCT code FROM languages ORDER BY code")]

    @_reports_damage
    def places(self, file: Connection) -> Places:
        """Return the places of all chunks."""
        query = "SELECT name, first, length, tokens, characters, middles, words FROM documents ORDER BY number"
        rows = file.execute(query).fetchall()
        names, firsts, lengths, tokens, characters, middles, words = zip(*rows, strict=True) if rows else [()] * 7
        owners: Ints = np.repeat(np.arange(len(rows)), np.array(lengths, np.int64))
        in_document = np.arange(len(owners)) - np.repeat(np.cumsum([0, *lengths])[:-1], np.array(lengths, np.int64))
        numbers = np.array(firsts, np.int64)[owners] + in_document
        places = np.frombuffer(b"".join(middles), np.float64) * (sum(tokens) / max(sum(characters), 1))
        counts = np.frombuffer(b"".join(words), np.int32).astype(np.int64)
        is_sound = len(places) == len(counts) == len(owners) and bool((counts >= 0).all() and np.isfinite(places).all())
        self.check(is_sound and bool((np.diff(numbers) > 0).all()), "the places of its chunks are damaged")
        return Places(self.changes(file), list(map(_text, names)), owners, numbers, places, counts)

    @_reports_damage
    def changes(self, file: Connection) -> int:
        """Return the number of changes of the file since it was made."""
        return int(file.execute("SELECT number FROM changes").fetchone()[0])

    @_reports_damage
    def chunk(self, file: Connection, number: int) -> Chunk:
        """Return a chunk."""
        row = file.execute("SELECT value, checksum FROM chunks WHERE number = ?", (number,)).fetchone()
        self.check(row is not None and crc32(row[0]) == row[1], f"chunk {number} is damaged")
        return chunk_from_dict(json.loads(row[0]))

    @_reports_damage
    def text(self, file: Connection, name: str) -> str | None:
        """Return the text of a document, if it is kept."""
        query = "SELECT text FROM texts JOIN documents ON number = document WHERE name = ?"
        row = file.execute(query, (_bytes(name),)).fetchone()
        return None if row is None else _text(row[0])

    @_reports_damage
    def occurrences(self, file: Connection, term: str, most: int) -> tuple[Ints, Ints]:
        """Return the numbers of the chunks that have a term, ascending, and how often each has it; none if more than
        ``most`` have it.
        """
        chunks = more = self._chunks_with(file, term, most + 1)
        if len(chunks) > most:
            chunks = more = chunks[:0]
        counts = np.ones(len(chunks), np.int64)
        while len(more):
            more = self._chunks_with(file, f"{term}^{int(counts.max()) + 1}", most)
            counts[np.searchsorted(chunks, more)] += 1
        return chunks, counts

    def _chunks_with(self, file: Connection, entry: str, most: int) -> Ints:
        first = "SELECT rowid FROM words WHERE words MATCH ? LIMIT ?"
        query = f"SELECT group_concat(rowid) FROM ({first})"  # in a fifth of the time of a row each
        (numbers,) = file.execute(query, (f'"{entry}"', most)).fetchone()
        return np.fromstring(numbers or "", np.int64, sep=",")

    def vectors(self, file: Connection) -> Iterator[tuple[Ints, Floats]]:
        """Yield the number of rows of each chunk, and the rows, in blocks of whole documents, in the order of the
        chunks.
        """
        query = "SELECT counts, rows FROM vectors ORDER BY document"
        counts, rows, width = list[bytes](), list[bytes](), 0
        for own_counts, own_rows in file.execute(query):
            counts.append(own_counts)
            rows.append(own_rows)
            width += len(own_rows)
            if width >= _BLOCK:
                yield self._block(counts, rows)
                counts, rows, width = [], [], 0
        if counts:
            yield self._block(counts, rows)

    @_reports_damage
    def _block(self, counts: Iterable[bytes], rows: Iterable[bytes]) -> tuple[Ints, Floats]:
        number = np.frombuffer(b"".join(counts), np.int32).astype(np.int64)
        flat = np.frombuffer(b"".join(rows), np.float32)
        total = int(number.sum())
        self.check(len(flat) % max(total, 1) == 0, "its vectors are damaged")
        return number, flat.reshape(total, -1) if total else np.zeros((0, 0), np.float32)

    def documents(self, file: Connection) -> Iterator[StoredDocument]:
        """Yield all documents."""
        rows = (own for counts, flat in self.vectors(file) for own in np.split(flat, np.cumsum(counts)[:-1]))
        query = "SELECT name, first, length FROM documents ORDER BY number"
        has_vectors = file.execute("SELECT 1 FROM vectors LIMIT 1").fetchone() is not None
        for name, first, length in file.execute(query).fetchall():
            numbers = range(first, first + length)
            own = [next(rows) for _ in numbers] if has_vectors else []
            document = _text(name)
            yield StoredDocument(document, [self.chunk(file, n) for n in numbers], own, self.text(file, document))

    @_reports_damage
    def width(self, file: Connection) -> int:
        """Return the dimensions of the vectors; 0 if there are none."""
        row = file.execute("SELECT counts, rows FROM vectors WHERE length(rows) > 0 LIMIT 1").fetchone()
        return self._block([row[0]], [row[1]])[1].shape[1] if row else 0


def change(
    file: Connection,
    added: Iterable[StoredDocument],
    removed: Iterable[str],
    notes: Mapping[str, Any],
) -> None:
    """Remove documents from a file that is being written, add others in place of those of their names, and write notes.

    Notes are JSON by name; None removes one.
    """
    for name in removed:
        _remove(file, name)
    _add(file, added)
    for name, value in notes.items():
        file.execute("DELETE FROM notes WHERE name = ?", (_bytes(name),))
        if value is not None:
            file.execute("INSERT INTO notes VALUES (?, ?)", (_bytes(name), _bytes(json.dumps(value))))


def _remove(file: Connection, name: str) -> None:
    row = file.execute("SELECT number, first, length FROM documents WHERE name = ?", (_bytes(name),)).fetchone()
    if row is None:
        return
    number, first, length = row
    if _has_words(file):
        numbers = range(first, first + length)
        values = file.execute(
            "SELECT value FROM chunks WHERE number BETWEEN ? AND ? ORDER BY number", (first, first + length - 1)
        )
        texts = [chunk_from_dict(json.loads(value)).embed_text for (value,) in values]
        entries = (_entries(term_counts(text)[0]) for text in texts)
        rows = zip(numbers, entries, strict=True)
        file.executemany("INSERT INTO words (words, rowid, terms) VALUES ('delete', ?, ?)", rows)
    file.execute("DELETE FROM chunks WHERE number BETWEEN ? AND ?", (first, first + length - 1))
    file.execute("DELETE FROM texts WHERE document = ?", (number,))
    file.execute("DELETE FROM languages WHERE document = ?", (number,))
    file.execute("DELETE FROM vectors WHERE document = ?", (number,))
    file.execute("DELETE FROM documents WHERE number = ?", (number,))


def _add(file: Connection, documents: Iterable[StoredDocument]) -> None:
    (free,) = file.execute("SELECT coalesce(max(first + length), 1) FROM documents").fetchone()
    has_words = _has_words(file)
    for name, chunks, rows, text, languages in documents:
        _remove(file, name)
        terms = [term_counts(chunk.embed_text if has_words else "") for chunk in chunks]
        values = [_bytes(json.dumps(chunk_to_dict(chunk), ensure_ascii=False)) for chunk in chunks]
        numbers = range(free, free + len(chunks))
        free += len(chunks)
        file.executemany("INSERT INTO chunks VALUES (?, ?, ?)", zip(numbers, values, map(crc32, values), strict=True))
        entries = zip(numbers, (_entries(counts) for counts, _ in terms), strict=True)
        file.executemany("INSERT INTO words (rowid, terms) VALUES (?, ?)", entries)
        sums = sum(chunk.tokens for chunk in chunks), sum(len(chunk.text) for chunk in chunks)
        middles = np.array([chunk.middle for chunk in chunks], np.float64).tobytes()
        lengths = np.array([length for _, length in terms], np.int32).tobytes()
        record = (_bytes(name), numbers.start, len(chunks), *sums, middles, lengths)
        number = file.execute("INSERT INTO documents VALUES (NULL, ?, ?, ?, ?, ?, ?, ?)", record).lastrowid
        file.executemany("INSERT INTO languages VALUES (?, ?)", [(number, code) for code in languages])
        if text is not None:
            file.execute("INSERT INTO texts VALUES (?, ?)", (number, _bytes(text)))
        if rows:
            counts = np.array([len(own) for own in rows], np.int32).tobytes()
            flat = np.concatenate(rows).astype(np.float32).tobytes()
            file.execute("INSERT INTO vectors VALUES (?, ?, ?)", (number, counts, flat))


def _has_words(file: Connection) -> bool:
    """Return True unless the index is of vectors alone."""
    (settings,) = file.execute("SELECT value FROM settings").fetchone()
    return bool(json.loads(settings).get("mode") != "dense")


def _entries(counts: Mapping[str, int]) -> str:
    """Return the entries of the terms of a chunk: as many as it has each, the second and later ones with their
    numbers.
    """
    later = (f"{term}^{number}" for term, count in counts.items() for number in range(2, count + 1))
    return " ".join([*counts, *later])


def _bytes(text: str) -> bytes:
    return text.encode("utf-8", "surrogatepass")


def _text(value: bytes) -> str:
    return value.decode("utf-8", "surrogatepass")
