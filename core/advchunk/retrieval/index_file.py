"""The file of an index: chunks, their places, words and vectors, and the texts of documents, in SQLite.

Every change is one transaction: a process that is killed, or a full disk, leaves the file as it was before. One process
writes at a time, others wait for it, and readers never wait. The words are a full-text index (FTS5) of the terms of
`lexical_index.LexicalIndex`, from which scores are computed by its formula; other numbers of chunks are arrays by
document. The index has no places of terms, which takes least room: a term that a chunk has twice has a second entry,
such as "tea^2". Every other row ends with its checksum.
"""

from __future__ import annotations

import json
import logging
import os
import sqlite3
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from contextlib import closing, contextmanager
from functools import cached_property, reduce
from itertools import count, pairwise
from pathlib import Path
from tempfile import TemporaryDirectory
from time import monotonic
from typing import Any, Final, NamedTuple, TypeAlias
from zlib import crc32

import numpy as np

from advchunk.building.positions import DocumentPlaces, document_row
from advchunk.errors import ConfigurationError, require
from advchunk.models.signals import unit_rows
from advchunk.records import Chunk, Floats, Ints, chunk_from_dict, chunk_to_dict
from advchunk.retrieval.lexical_index import matches_of, most_texts, rarity, score_matches
from advchunk.retrieval.query_language import languages_of
from advchunk.retrieval.rankings import DEPTH, Ranking
from advchunk.retrieval.vector_index import similarity
from advchunk.text.detection import AUTO
from advchunk.text.search_terms import query_terms, term_counts

_log = logging.getLogger("advchunk")
_FORMAT: Final = 3
_TIMEOUT = 60.0  # seconds to wait for another process that writes
_APPLICATION: Final = 0x61647663  # "advc", in the header of the file
_BLOCK = 1 << 24  # bytes of vectors that are read at once, and of what is remembered
_ENTRY = 1 << 9  # bytes that whatever is remembered takes
_MOST_COSINE = 1.01  # of unit vectors, with rounding
_NO_FOLDER = "path must name a file; an index that an earlier version saved in a folder must be made again"
_DAMAGED = ("SQLITE_CORRUPT", "SQLITE_NOTADB", "SQLITE_ERROR")

# The terms of a chunk are separated by spaces. They have letters, digits, the marks below, and other characters beyond
# ASCII. Names, texts and chunks are bytes in UTF-8, because strings of Python may have surrogates. The first state is
# random, unlike that of any other file. Words wait in 64 MB of memory, so that a change adds few segments to search.
_SCHEMA = f"""
PRAGMA application_id = {_APPLICATION};
PRAGMA user_version = {_FORMAT};
CREATE TABLE settings (value BLOB NOT NULL, checksum INTEGER NOT NULL);
CREATE TABLE changes (number INTEGER NOT NULL);
INSERT INTO changes VALUES (random() / 2);
CREATE TABLE documents (
    number INTEGER PRIMARY KEY, name BLOB NOT NULL UNIQUE, first INTEGER NOT NULL, length INTEGER NOT NULL,
    tokens INTEGER NOT NULL, characters INTEGER NOT NULL, middles BLOB NOT NULL, words BLOB NOT NULL,
    languages TEXT NOT NULL, checksum INTEGER NOT NULL
);
CREATE TABLE notes (name BLOB PRIMARY KEY, value BLOB NOT NULL, checksum INTEGER NOT NULL) WITHOUT ROWID;
CREATE TABLE texts (document INTEGER PRIMARY KEY, text BLOB NOT NULL, checksum INTEGER NOT NULL);
CREATE TABLE vectors (
    document INTEGER PRIMARY KEY, counts BLOB NOT NULL, rows BLOB NOT NULL, checksum INTEGER NOT NULL
);
CREATE TABLE chunks (number INTEGER PRIMARY KEY, value BLOB NOT NULL, checksum INTEGER NOT NULL);
CREATE VIRTUAL TABLE words USING fts5 (
    terms, content='', columnsize=0, detail=none, tokenize="ascii tokenchars '''+#._~^'"
);
INSERT INTO words (words, rank) VALUES ('hashsize', {1 << 26});
"""
# The chunks that have a term, each as often as it has it, or none if more than :most of :n have it: the limit is 0, or
# -1, which is none. They are one text, which takes a fifth of the time of a row each.
_OCCURRENCES: Final = """
SELECT group_concat(chunk) FROM (
    SELECT rowid AS chunk FROM words WHERE words MATCH :entry
    UNION ALL SELECT doc FROM temp.entries WHERE term >= :term || '^' AND term < :term || '_'
    LIMIT (SELECT count(*) - 1 FROM (SELECT 1 FROM words WHERE words MATCH :entry AND :most < :n LIMIT 1 OFFSET :most))
)"""

Connection: TypeAlias = sqlite3.Connection


class IndexedDocument(NamedTuple):
    """A document of an index: its chunks, the (m, d) rows of each, none in a search by words alone, and its text."""

    chunks: Sequence[Chunk]
    rows: Sequence[Floats] = ()
    text: str | None = None


def is_index(path: Path) -> bool:
    """Return True if a file is an index, by its header."""
    try:
        with path.open("rb") as file:
            header = file.read(100)
    except OSError:
        return False
    return header.startswith(b"SQLite format 3\0") and header[68:72] == _APPLICATION.to_bytes(4, "big")


class IndexFile:
    """The SQLite file of an index; what was written last is in a file beside it, whose name ends in "-wal"."""

    def __init__(self, path: Path) -> None:
        self.path = path
        self.latest: tuple[int, DocumentPlaces] | None = None  # the state of the file, and places that were read
        self.remembered, self.remembered_bytes = dict[tuple[Any, ...], Any](), 0  # by the state in which it was read
        self.whole_vectors: int | None = None  # the latest state in which all were read

    def create(self, settings: Mapping[str, Any], documents: Mapping[str, IndexedDocument] | None = None) -> None:
        """Make the file, which must be absent or empty, with its first documents."""
        require(self.path.is_file() or not self.path.exists(), _NO_FOLDER, str(self.path))
        self.path.parent.mkdir(parents=True, exist_ok=True)
        with self._opened("mode=rwc") as file:
            file.execute("PRAGMA journal_mode = WAL")
            file.execute("BEGIN IMMEDIATE")
            if not file.execute("SELECT 1 FROM sqlite_master").fetchone():  # else another process has made it
                for statement in _SCHEMA.split(";\n"):
                    file.execute(statement)
                _insert(file, "settings", _bytes(json.dumps(dict(settings))))
                _add(file, settings, documents or {})
            file.execute("COMMIT")

    def replace(self, settings: Mapping[str, Any], documents: Mapping[str, IndexedDocument]) -> None:
        """Make the file again in place of an index that is there, when it is complete. Processes that have the old one
        open go on with it until they open the index again.
        """
        require(self.path.is_file() or not self.path.exists(), _NO_FOLDER, str(self.path))
        self.check(not self.exists or is_index(self.path), "it is no index, and is not overwritten")
        with TemporaryDirectory(prefix=".advchunk-", dir=self.path.absolute().parent) as folder:
            new = IndexFile(Path(folder, "index"))
            new.create(settings, documents)
            with new._opened() as source:
                source.execute("PRAGMA journal_mode = DELETE")  # all in one file
                if self.exists:
                    try:
                        with self._opened() as file:  # in one transaction, after those of killed processes
                            source.backup(file, progress=_time_limit(), sleep=0.01)
                        return
                    except ConfigurationError:
                        _log.warning("the index %r was damaged, and is replaced", str(self.path))
            for suffix in ("-wal", "-shm", "-journal"):  # of a file that is gone, which would be read into the new one
                Path(f"{self.path}{suffix}").unlink(missing_ok=True)
            new.path.replace(self.path)

    @property
    def exists(self) -> bool:
        """True if there is a file that is not empty."""
        return self.path.is_file() and self.path.stat().st_size > 0

    @contextmanager
    def reading(self) -> Iterator[IndexReader]:
        """Return the file as it is now, whatever others write meanwhile."""
        is_writable = os.access(self.path, os.W_OK) and os.access(self.path.absolute().parent, os.W_OK)
        has_changes = Path(f"{self.path}-wal").exists()
        with self._opened("mode=rw" if is_writable else "mode=ro" if has_changes else "immutable=1") as file:
            file.execute("CREATE VIRTUAL TABLE temp.entries USING fts5vocab(main, words, instance)")
            file.execute("BEGIN")
            self._check_header(file)
            yield IndexReader(self, file)
            file.execute("COMMIT")

    def change(self, added: Mapping[str, IndexedDocument], removed: Iterable[str], notes: Mapping[str, Any]) -> None:
        """Remove documents, add or replace others, write notes (JSON by name; None removes one): all, or nothing."""
        with self._opened() as file:
            file.execute("BEGIN IMMEDIATE")
            self._check_header(file)
            reader = IndexReader(self, file)
            widths = {row.shape[1] for document in added.values() for row in document.rows} | {reader.width} - {0}
            require(len(widths) <= 1, "vectors must have the dimensions of those in the index", sorted(widths))
            are_removed = [reader.remove(name) for name in [*removed, *added]]
            places = DocumentPlaces.of(_add(file, reader.settings, added))
            for name, value in notes.items():
                file.execute("DELETE FROM notes WHERE name = ?", (_bytes(name),))
                if value is not None:
                    _insert(file, "notes", _bytes(name), _bytes(json.dumps(value)))
            file.execute("UPDATE changes SET number = number + 1")
            file.execute("COMMIT")
            if (latest := self.latest) is not None and latest[0] == reader.state and not any(are_removed):
                self.latest = reader.state + 1, latest[1].joined(places)
            if self.whole_vectors == reader.state:
                self.whole_vectors = reader.state + 1

    def remember(self, key: tuple[Any, ...], value: Any, size: int) -> Any:
        """Return a value of so many bytes, which is kept until all are too many."""
        if self.remembered_bytes > _BLOCK:
            self.remembered, self.remembered_bytes = {}, 0
        self.remembered[key], self.remembered_bytes = value, self.remembered_bytes + size + _ENTRY
        return value

    @contextmanager
    def _opened(self, mode: str = "mode=rw") -> Iterator[Connection]:
        try:
            address = f"{self.path.absolute().as_uri()}?{mode}"
            file = sqlite3.connect(address, timeout=_TIMEOUT, isolation_level=None, uri=True)
            with closing(file):
                file.execute("PRAGMA synchronous = NORMAL")
                yield file
        except (sqlite3.Error, UnicodeDecodeError) as error:
            name = getattr(error, "sqlite_errorname", "SQLITE_CORRUPT")
            self.check(self.path.exists() and not name.startswith(_DAMAGED), str(error))
            msg = f"the index {str(self.path)!r} cannot be used: {error}"
            raise OSError(msg) from error

    def check(self, is_sound: bool, reason: str) -> None:
        """Raise `ConfigurationError` with the reason unless the file is an index, and what was read is sound."""
        if not is_sound:
            msg = f"path must be an index that a retriever has saved, got {str(self.path)!r} ({reason})"
            raise ConfigurationError(msg)

    def _check_header(self, file: Connection) -> None:
        header = [file.execute(f"PRAGMA {name}").fetchone()[0] for name in ("application_id", "user_version")]
        rule = f"path must be an index of this version; {str(self.path)!r} is of another, so index its documents again"
        require(header[0] != _APPLICATION or header[1] == _FORMAT, rule, f"format {header[1]}")
        self.check(header[0] == _APPLICATION, "it was not made by advchunk")


class IndexReader(Sequence[Chunk]):
    """An index at one moment: its n chunks, which are read when they are asked for, and their search."""

    def __init__(self, index: IndexFile, file: Connection) -> None:
        self._index, self._file = index, file
        (self.state,) = file.execute("SELECT max(number) FROM changes").fetchone()  # which every change changes

    def _rows(self, table: str, condition: str = "", *values: Any, is_whole: bool = False) -> Iterator[list[Any]]:
        """Yield rows of a table, as they were written; their checksums count unless it is known to be whole."""
        for *row, checksum in self._file.execute(f"SELECT * FROM {table} {condition}", values):
            self._index.check(is_whole or _checksum(row) == checksum, f"its {table} are damaged")
            yield row

    def _row(self, table: str, condition: str = "", *values: Any) -> list[Any]:
        """Return the row of a table, which must be there."""
        rows = [*self._rows(table, condition, *values)]
        self._index.check(len(rows) == 1, f"its {table} are not complete")
        return rows[0]

    def __len__(self) -> int:
        return len(self.places.chunks)

    def __getitem__(self, place: Any) -> Any:
        key = self.state, int(self.places.chunks["number"][place])
        if (chunk := self._index.remembered.get(key)) is None:
            _, value = self._row("chunks", "WHERE number = ?", key[1])
            chunk = self._index.remember(key, chunk_from_dict(json.loads(value)), len(value))
        return chunk

    @cached_property
    def settings(self) -> dict[str, Any]:
        """The settings."""
        settings: dict[str, Any] = json.loads(*self._row("settings"))
        return settings

    @property
    def notes(self) -> dict[str, Any]:
        """The notes of `change`."""
        return {_text(name): json.loads(value) for name, value in self._rows("notes")}

    @cached_property
    def places(self) -> DocumentPlaces:
        """The places of all chunks."""
        if (latest := self._index.latest) is None or latest[0] != self.state:
            rows = self._rows("documents", "ORDER BY number")
            latest = self._index.latest = self.state, DocumentPlaces.of(map(_row_of, rows))
        return latest[1]

    def text(self, name: str) -> str | None:
        """Return the text of a document, if it is kept."""
        condition = "WHERE document = (SELECT number FROM documents WHERE name = ?)"
        return next((_text(text) for _, text in self._rows("texts", condition, _bytes(name))), None)

    def scores(self, query: str) -> Floats:
        """Return the score of each chunk for a query by its words, as `LexicalIndex` does: (n,)."""
        terms, places, n = query_terms(query), self.places.chunks, len(self)
        occurrences = [self._occurrences(term, most_texts(weight, n)) for term, weight in terms.items()] if n else []
        numbers = np.concatenate([np.zeros(0, np.int64), *occurrences])
        edges = np.flatnonzero(np.diff(places["number"], prepend=-1) != 1)  # of few runs of numbers in a row
        firsts = places["number"][edges]
        chunks = numbers - (firsts - edges)[np.searchsorted(firsts, numbers, "right") - 1]
        is_sound = np.array_equal(np.take(places["number"], chunks, mode="clip"), numbers)
        self._index.check(is_sound, "its words are damaged")
        matches = matches_of(np.repeat(np.arange(len(occurrences)), [*map(len, occurrences)]), chunks, n)
        factors = rarity(np.bincount(matches[0], minlength=len(terms)), n) * [*terms.values()]
        return score_matches(matches, factors, places["words"], float(places["words"].mean()) if n else 0.0)

    def _occurrences(self, term: str, most: int) -> Ints:
        """Return the chunks that have a term, each as often as it has it; none if over ``most`` have it."""
        key, values = (self.state, term, most), {"term": term, "entry": f'"{term}"', "most": most, "n": len(self)}
        if (chunks := self._index.remembered.get(key)) is None:
            (text,) = self._file.execute(_OCCURRENCES, values).fetchone()
            chunks = np.fromstring(text or "", np.int64, sep=",")
            self._index.remember(key, chunks, chunks.nbytes)
        return chunks

    def search(self, query: Floats, depth: int | None = DEPTH) -> Ranking:
        """Return the chunks most similar to a (d,) query vector, at most ``depth`` >= 1, as `VectorIndex` does."""
        parts = list[Floats]()
        for counts, rows in self._vectors():
            with np.errstate(over="ignore", invalid="ignore"):
                cosines = similarity(rows, query)
            self._index.check(bool((np.abs(cosines) < _MOST_COSINE).all()), "its vectors are damaged")
            parts.append(np.maximum.reduceat(cosines, np.cumsum([0, *counts[:-1]])))
        scores = np.concatenate(parts) if parts else np.zeros(0)
        self._index.check(len(scores) == len(self), "it lacks vectors of chunks")
        return Ranking.from_scores(scores, depth)

    def rows_of(self, chunks: Ints) -> list[Floats]:
        """Return the (m, d) unit rows of some chunks."""
        documents, read = self.places.positions.documents[chunks], dict[int, tuple[Floats, Ints]]()
        is_whole = self._index.whole_vectors == self.state
        for document in {*documents.tolist()}:
            condition = "WHERE document = (SELECT number FROM documents WHERE name = ?)"
            name = _bytes(self.places.documents["name"][document])
            for _, counts, rows in self._rows("vectors", condition, name, is_whole=is_whole):
                own, flat = _block([counts], [rows])
                read[document] = flat, np.cumsum([0, *own])
        places = self.places.chunks["number"][chunks] - self.places.documents["first"][documents]
        pairs = zip(map(read.__getitem__, documents.tolist()), places.tolist(), strict=True)
        return [flat[edges[place] : edges[place + 1]] for (flat, edges), place in pairs]

    def _vectors(self) -> Iterator[tuple[Ints, Floats]]:
        """Yield the number of rows of each chunk, and the rows, in blocks of whole documents."""
        counts, rows, size = list[bytes](), list[bytes](), 0
        is_whole = self._index.whole_vectors == self.state  # so each process pays for their checksums once
        for _, own_counts, own_rows in self._rows("vectors", "ORDER BY document", is_whole=is_whole):
            counts.append(own_counts)
            rows.append(own_rows)
            size += len(own_rows)
            if size >= _BLOCK:
                yield _block(counts, rows)
                counts, rows, size = [], [], 0
        if counts:
            yield _block(counts, rows)
        self._index.whole_vectors = self.state

    @property
    def width(self) -> int:
        """The dimensions of the vectors; 0 if there are none."""
        row = next(self._rows("vectors", "WHERE length(rows) > 0 LIMIT 1"), None)
        return _block(row[1:2], row[2:])[1].shape[1] if row else 0

    def documents(self) -> dict[str, IndexedDocument]:
        """Return all documents, by name."""
        names, lengths = self.places.documents["name"], self.places.documents["length"]
        edges = np.cumsum([0, *lengths]).tolist()
        rows = [own for counts, flat in self._vectors() for own in np.split(flat, np.cumsum(counts)[:-1])]
        self._index.check(len(rows) in (0, len(self)), "it lacks vectors of chunks")
        return {
            name: IndexedDocument([self[place] for place in range(start, end)], rows[start:end], self.text(name))
            for name, (start, end) in zip(names.tolist(), pairwise(edges), strict=True)
        }

    def damages(self) -> Iterator[tuple[str, str]]:
        """Yield the name of each damaged document, "" for other parts of the file, with what is damaged."""
        for table in ("settings", "notes", "documents"):
            rows = [*self._file.execute(f"SELECT * FROM {table}")]
            if broken := sum(_checksum(row[:-1]) != row[-1] for row in rows):
                yield "", f"{broken} of {len(rows)} rows of its {table} are damaged"
        has_words, has_vectors = self.settings["mode"] != "dense", self.settings["mode"] != "lexical"
        expected, is_whole = 0, True
        for *row, checksum in self._file.execute("SELECT * FROM documents ORDER BY number").fetchall():
            number, name, first, length, *_ = row
            if _checksum(row) != checksum:
                is_whole = False
                continue
            try:
                chunks = [self._row("chunks", "WHERE number = ?", own) for own in range(first, first + length)]
                self.text(_text(name))
                counts = self._row("vectors", "WHERE document = ?", number)[1] if has_vectors and length else b""
                self._index.check(len(counts) == 4 * length * has_vectors, "its vectors are not complete")
            except ConfigurationError:
                is_whole = False
                yield _text(name), "its chunks, text, or vectors are damaged"
            else:
                expected += sum(_sum_of(own, _entries_of(value)) for own, value in chunks if has_words)
        places = self._file.execute("SELECT doc, term FROM temp.entries")
        if is_whole and sum(_sum_of(own, [entry]) for own, entry in places if has_words) != expected:
            yield "", "its words are damaged"

    def remove(self, name: str) -> bool:
        """Remove a document from the file, which must be open to write, and return whether it was there."""
        rows = [*self._rows("documents", "WHERE name = ?", _bytes(name))]
        for number, _, first, length, *_ in rows:
            span = first, first + length - 1
            if self.settings["mode"] != "dense":
                for own, value in self._rows("chunks", "WHERE number BETWEEN ? AND ?", *span):
                    row = own, " ".join(_entries_of(value))
                    self._file.execute("INSERT INTO words (words, rowid, terms) VALUES ('delete', ?, ?)", row)
            self._file.execute("DELETE FROM chunks WHERE number BETWEEN ? AND ?", span)
            for table, key in (("texts", "document"), ("vectors", "document"), ("documents", "number")):
                self._file.execute(f"DELETE FROM {table} WHERE {key} = ?", (number,))
        return bool(rows)


class StoredTexts(Mapping[str, str]):
    """The texts of the documents that have one, read when they are asked for."""

    def __init__(self, index: IndexReader) -> None:
        self._index = index

    def __getitem__(self, name: str) -> str:
        text = self._index.text(name)
        if text is None:
            raise KeyError(name)
        return text

    def __iter__(self) -> Iterator[str]:
        return (name for name in self._index.places.documents["name"].tolist() if name in self)

    def __len__(self) -> int:
        return sum(1 for _ in self)


def _block(counts: Iterable[bytes], rows: Iterable[bytes]) -> tuple[Ints, Floats]:
    """Return the number of rows of each chunk, and the rows: (n,) and (m, d)."""
    number, flat = np.frombuffer(b"".join(counts), np.int32), np.frombuffer(b"".join(rows), np.float32)
    return number.astype(np.int64), flat.reshape(int(number.sum()), -1) if len(flat) else np.zeros((0, 0), np.float32)


def _row_of(values: Sequence[Any]) -> tuple[Any, ...]:
    """Return a row of the file as `document_row` returns it."""
    _, name, *counts, middles, words, languages = values
    return _text(name), *counts, languages, np.frombuffer(middles, np.float64), np.frombuffer(words, np.int32)


def _add(file: Connection, settings: Mapping[str, Any], documents: Mapping[str, IndexedDocument]) -> list[Any]:
    """Write documents whose names are free, and return their rows (`document_row`)."""
    places, has_words = list[Any](), settings["mode"] != "dense"
    has_languages = settings["mode"] == "hybrid" and settings["language"] == AUTO
    last, free = file.execute("SELECT max(number), max(first + length) FROM documents").fetchone()
    free = free or 1
    for number, (name, (chunks, rows, text)) in enumerate(documents.items(), (last or 0) + 1):
        texts = [chunk.embed_text for chunk in chunks]
        terms = [term_counts(own if has_words else "") for own in texts]
        values = [_bytes(json.dumps(chunk_to_dict(chunk), ensure_ascii=False)) for chunk in chunks]
        for own, value, (counts, _) in zip(count(free), values, terms, strict=False):
            _insert(file, "chunks", own, value)
            file.execute("INSERT INTO words (rowid, terms) VALUES (?, ?)", (own, " ".join(_entries(counts))))
        codes = " ".join(languages_of(texts) if has_languages else [])
        places.append(document_row(name, chunks, codes, free, [length for _, length in terms]))
        *sums, _, middles, words = places[-1][1:]
        _insert(file, "documents", number, _bytes(name), *sums, middles.tobytes(), words.tobytes(), codes)
        free += len(chunks)
        if text is not None:
            _insert(file, "texts", number, _bytes(text))
        if rows:
            flat = unit_rows(np.concatenate(rows).astype(np.float32))
            _insert(file, "vectors", number, np.array(list(map(len, rows)), np.int32).tobytes(), flat.tobytes())
    return places


def _insert(file: Connection, table: str, *row: Any) -> None:
    marks = ", ".join("?" * (len(row) + 1))
    file.execute(f"INSERT INTO {table} VALUES ({marks})", (*row, _checksum(row)))


def _checksum(row: Iterable[Any]) -> int:
    """Return the checksum of the values of a row, which are bytes, numbers, and strings."""
    values = (value if isinstance(value, bytes) else str(value).encode("utf-8") for value in row)
    return reduce(lambda checksum, value: crc32(value, crc32(b"|", checksum)), values, 0)


def _time_limit() -> Callable[[int, int, int], None]:
    """Return a function that raises once another process has had the file too long."""
    end = monotonic() + _TIMEOUT

    def check(status: int, *_: int) -> None:
        if status in (sqlite3.SQLITE_BUSY, sqlite3.SQLITE_LOCKED) and monotonic() > end:
            msg = "database is locked"
            raise sqlite3.OperationalError(msg)

    return check


def _entries(counts: Mapping[str, int]) -> list[str]:
    """Return the entries of the terms of a chunk: as many as it has each, the later ones with their numbers."""
    return [*counts, *(f"{term}^{number}" for term, many in counts.items() for number in range(2, many + 1))]


def _entries_of(chunk: bytes) -> list[str]:
    return _entries(term_counts(chunk_from_dict(json.loads(chunk)).embed_text)[0])


def _sum_of(chunk: int, entries: Iterable[str]) -> int:
    """Return a number that tells the entries of a chunk from others, whatever their order."""
    return sum(crc32(f"{entry} {chunk}".encode()) for entry in entries)


def _bytes(text: str) -> bytes:
    return text.encode("utf-8", "surrogatepass")


def _text(value: bytes) -> str:
    return value.decode("utf-8", "surrogatepass")
