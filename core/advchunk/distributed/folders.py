"""Folders of Parquet and JSON Lines files, on any file system that pyarrow reads."""

import json
from collections.abc import Callable, Iterable, Mapping
from dataclasses import dataclass
from pathlib import Path, PurePosixPath
from secrets import token_hex
from typing import Any, Literal, TypeAlias

from advchunk.errors import ConfigurationError, import_extra, require

FileFormat: TypeAlias = Literal["parquet", "jsonl"]

_FORMATS = {".parquet": "parquet", ".jsonl": "json", ".ndjson": "json"}
_MANIFEST = "_manifest.json"  # readers of folders skip names with "_"


def file_system(path: str | Path) -> tuple[Any, str]:
    """Return the `pyarrow.fs.FileSystem` of a path or URI, and the path in it."""
    fs = import_extra("pyarrow.fs", "arrow")
    if "://" in str(path):
        system, inner = fs.FileSystem.from_uri(str(path))
        return system, inner
    return fs.LocalFileSystem(), str(Path(path).absolute())


def open_fragments(path: str | Path) -> list[Any]:
    """Return the row groups of the Parquet files, or the JSON Lines files, at a path or URI, as `pyarrow.dataset.Fragment`."""
    dataset = import_extra("pyarrow.dataset", "arrow")
    system, inner = file_system(path)
    info = system.get_file_info(inner)
    require(info.type.name != "NotFound", "an input must exist", str(path))
    if info.type.name == "Directory":
        selector = import_extra("pyarrow.fs", "arrow").FileSelector(inner, recursive=True)
        names = sorted(item.path for item in system.get_file_info(selector) if _format(item.path) and item.is_file)
    else:
        names = [inner]
    fragments = list[Any]()
    for name in names:
        kind = _format(name)
        require(kind is not None, f"the suffix of an input must be one of {sorted(_FORMATS)}", name)
        for fragment in dataset.dataset(name, format=kind, filesystem=system).get_fragments():
            fragments += fragment.split_by_row_group() if kind == "parquet" else [fragment]
    return fragments


def _format(name: str) -> str | None:
    hidden = PurePosixPath(name).name.startswith(("_", "."))
    return None if hidden else _FORMATS.get(PurePosixPath(name).suffix.lower())


def facts(fragment: Any) -> list[Any]:
    """Return the path, size and time of change of a fragment's file, and its row groups; JSON-able."""
    info = fragment.filesystem.get_file_info(fragment.path)
    groups = [group.id for group in getattr(fragment, "row_groups", None) or ()]
    return [fragment.path, info.size, info.mtime_ns, groups]


@dataclass(frozen=True)
class OutputFolder:
    """A folder in which a file appears when it is complete.

    Parameters
    ----------
    uri : path or URI.
    form : format of the files.
    """

    uri: str
    form: FileFormat

    def claim(self, manifest: Mapping[str, Any]) -> None:
        """Create the folder for a task; raise `ConfigurationError` if it is another task's."""
        system, inner = file_system(self.uri)
        system.create_dir(inner, recursive=True)
        path, content = f"{inner}/{_MANIFEST}", json.dumps(manifest, sort_keys=True)
        if _MANIFEST not in (names := self.names()):
            require(not names, "the output folder must be empty", self.uri)
            self._replace(_MANIFEST, lambda file: file.write(content.encode()))
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

    def write(self, name: str, batches: Iterable[Any], schema: Any) -> None:
        """Write record batches to a file."""
        self._replace(name, lambda file: _WRITERS[self.form](file, batches, schema))

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
