"""Folders of Parquet and JSON Lines files, on any file system that pyarrow reads."""

import io
import json
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from itertools import islice
from pathlib import Path, PurePosixPath
from secrets import token_hex
from typing import Any, Literal, NamedTuple, TypeAlias

from advchunk.errors import ConfigurationError, import_extra, require
from advchunk.records import Document
from advchunk.tables.batches import Columns, Refused, read_row, read_rows

FileFormat: TypeAlias = Literal["parquet", "jsonl"]

_FORMATS: dict[str, FileFormat] = {".parquet": "parquet", ".jsonl": "jsonl", ".ndjson": "jsonl"}
_ROWS = 1024  # that are read together
_MANIFEST = "_manifest.json"  # readers of folders skip names with "_"


def file_system(path: str | Path) -> tuple[Any, str]:
    """Return the `pyarrow.fs.FileSystem` of a path or URI, and the path in it."""
    fs = import_extra("pyarrow.fs", "arrow")
    if "://" in str(path):
        system, inner = fs.FileSystem.from_uri(str(path))
        return system, inner
    return fs.LocalFileSystem(), str(Path(path).expanduser().absolute())


class ShardCounts(NamedTuple):
    """The shards in all and those of earlier runs, and the chunks and failed documents of this run."""

    shards: int
    resumed: int
    chunks: int
    failures: int


class InputPart(NamedTuple):
    """A row group of a Parquet file, or a file of JSON Lines."""

    path: str  # or URI
    row_group: int | None = None

    @property
    def facts(self) -> list[Any]:
        """The path, size and time of change of the file, and the row group; JSON-able."""
        system, inner = file_system(self.path)
        info = system.get_file_info(inner)
        return [self.path, info.size, info.mtime_ns, self.row_group]

    def ids(self, column: str) -> Iterator[Any]:
        """Yield the ids of the documents."""
        if self.row_group is None:
            yield from (record.get(column) for record in self._records() if not isinstance(record, Refused))
            return
        for batch in self._batches([column]):
            require(column in batch.schema.names, f"there must be a column {column!r}", self.path)
            yield from batch.column(column).to_pylist()

    def documents(self, columns: Columns, used: set[str]) -> Iterator[Document | Refused]:
        """Yield the documents (`batches.read_rows`)."""
        if self.row_group is not None:
            yield from read_rows(self._batches(), columns, used)
            return
        for record in self._records():
            yield record if isinstance(record, Refused) else read_row(record, columns, used)

    def _batches(self, columns: Sequence[str] | None = None) -> Iterator[Any]:
        system, inner = file_system(self.path)
        with system.open_input_file(inner) as file:
            parquet = import_extra("pyarrow.parquet", "arrow").ParquetFile(file)
            yield from parquet.iter_batches(_ROWS, row_groups=[self.row_group], columns=columns)

    def _records(self) -> Iterator[dict[str, Any] | Refused]:
        system, inner = file_system(self.path)
        with system.open_input_stream(inner) as stream, io.BufferedReader(stream) as lines:
            for number, line in enumerate(lines, 1):
                if line.strip():
                    yield _parse(line, f"{self.path}:{number}")


def _parse(line: bytes, place: str) -> dict[str, Any] | Refused:
    try:
        record = json.loads(line)
    except (ValueError, RecursionError) as error:
        return Refused(None, f"{place}: a line must be JSON ({error})")
    return record if isinstance(record, dict) else Refused(None, f"{place}: a line must be an object")


def find_parts(path: str | Path) -> list[InputPart]:
    """Return the parts of a file, or of the files in a folder, except those with a hidden name."""
    return [part for file in find_tables(path) for part in _parts_of(file)]


def find_tables(path: str | Path) -> list[str]:
    """Return the path of a file, or of the files of our formats in a folder, except those with a hidden name."""
    system, inner = file_system(path)
    info = system.get_file_info(inner)
    require(info.type.name != "NotFound", "an input must exist", str(path))
    if info.is_file:
        require(_format(inner) is not None, f"the suffix of an input must be one of {sorted(_FORMATS)}", str(path))
        return [str(path)]
    selector = import_extra("pyarrow.fs", "arrow").FileSelector(inner, recursive=True)
    names = [item.path[len(inner) :].strip("/") for item in system.get_file_info(selector) if item.is_file]
    shown = [name for name in names if not any(part[0] in "._" for part in name.split("/"))]
    return [f"{str(path).rstrip('/')}/{name}" for name in sorted(shown) if _format(name)]


def read_batches(path: str, schema: Any) -> Iterator[Any]:
    """Yield the rows of a file as record batches; those of JSON Lines get a schema."""
    system, inner = file_system(path)
    if _format(inner) == "parquet":
        with system.open_input_file(inner) as file:
            yield from import_extra("pyarrow.parquet", "arrow").ParquetFile(file).iter_batches(_ROWS)
        return
    records = InputPart(path)._records()
    while rows := list(islice(records, _ROWS)):
        refused = [row.reason for row in rows if isinstance(row, Refused)]
        require(not refused, "every line must be an object of JSON", refused[:1])
        yield import_extra("pyarrow", "arrow").RecordBatch.from_pylist(rows, schema=schema)


def _parts_of(path: str) -> list[InputPart]:
    system, inner = file_system(path)
    if _format(inner) != "parquet":
        return [InputPart(path)]
    with system.open_input_file(inner) as file:
        groups = import_extra("pyarrow.parquet", "arrow").ParquetFile(file).num_row_groups
    return [InputPart(path, group) for group in range(groups)]


def _format(name: str) -> FileFormat | None:
    return _FORMATS.get(PurePosixPath(name).suffix.lower())


@dataclass(frozen=True)
class OutputFolder:
    """A folder in which a file appears when it is complete.

    Parameters
    ----------
    uri : path or URI.
    format : of the files.
    """

    uri: str
    format: FileFormat

    def create(self) -> None:
        """Create the folder, if it is absent."""
        system, inner = file_system(self.uri)
        system.create_dir(inner, recursive=True)

    def claim(self, manifest: Mapping[str, Any]) -> None:
        """Create the folder for a task; raise `ConfigurationError` if it is another task's."""
        self.create()
        system, inner = file_system(self.uri)
        path, content = f"{inner}/{_MANIFEST}", json.dumps(manifest, sort_keys=True)
        names = self.names()
        if not names - {_MANIFEST}:  # new, or of a run that wrote nothing
            self._replace(_MANIFEST, lambda file: file.write(content.encode()))
        require(_MANIFEST in self.names(), "the output folder must be empty", self.uri)
        with system.open_input_stream(path) as file:
            before = json.loads(file.read())
        changed = sorted(key for key, value in json.loads(content).items() if before.get(key) != value)
        if changed:
            msg = f"{self.uri} has the chunks of other {' and '.join(changed)}: choose another folder, or delete it"
            raise ConfigurationError(msg)

    def names(self) -> set[str]:
        """Return the names of the files."""
        system, inner = file_system(self.uri)
        infos = system.get_file_info(import_extra("pyarrow.fs", "arrow").FileSelector(inner))
        return {info.base_name for info in infos if not info.base_name.startswith(".")}

    def contains(self, path: str | Path) -> bool:
        """Return True if a path or URI is that of the folder, or of something in it."""
        return f"{file_system(path)[1]}/".startswith(f"{file_system(self.uri)[1].rstrip('/')}/")

    def write(self, name: str, batches: Iterable[Any], schema: Any) -> None:
        """Write record batches to a file."""
        self._replace(name, lambda file: _WRITERS[self.format](file, batches, schema))

    def mark(self, name: str) -> None:
        """Write an empty file."""
        self._replace(name, lambda _: None)

    def _replace(self, name: str, write: Callable[[Any], object]) -> None:
        system, inner = file_system(self.uri)
        partial = f"{inner}/.{name}-{token_hex(8)}"
        try:
            with system.open_output_stream(partial) as file:
                write(file)
            system.move(partial, f"{inner}/{name}")
        except BaseException:
            if system.get_file_info(partial).is_file:
                system.delete_file(partial)
            raise


def _write_parquet(file: Any, batches: Iterable[Any], schema: Any) -> None:
    with import_extra("pyarrow.parquet", "arrow").ParquetWriter(file, schema) as writer:
        for batch in batches:
            writer.write_batch(batch)


def _write_jsonl(file: Any, batches: Iterable[Any], _: Any) -> None:
    for batch in batches:
        file.write("".join(json.dumps(row, ensure_ascii=False) + "\n" for row in batch.to_pylist()).encode())


_WRITERS: dict[FileFormat, Callable[[Any, Iterable[Any], Any], None]] = {
    "parquet": _write_parquet,
    "jsonl": _write_jsonl,
}
