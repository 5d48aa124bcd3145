"""The files that stand for a list of paths: those in folders and archives, and what became of each."""

import bz2
import gzip
import lzma
import os
import re
import stat
import sys
import tarfile
import zipfile
import zlib
from collections import Counter
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from contextlib import nullcontext, suppress
from dataclasses import dataclass, field
from functools import partial
from io import TextIOWrapper
from pathlib import Path, PurePath, PurePosixPath
from typing import IO, Any, NamedTuple

from advchunk.errors import ConfigurationError, Unreadable, first_line, require
from advchunk.readers import encodings, formats
from advchunk.readers.budget import check, most
from advchunk.text.separated import find_table, head_end

MAX_PART = 16 * 2**20
"""Bytes above which a file of separated values is read in parts."""

_BLANK = b" \t\r\n\f\0\xef\xbb\xbf\xff\xfe"
_HEAD = 8192  # bytes that decide whether a file is text
_SAMPLE = 50  # records that tell the header of a table
_PATTERN = re.compile(r"[*?\[]")
_PARTED = (".csv", ".tsv", ".tab")
_TARS = (".tar", ".tgz", ".tbz2", ".txz", ".tar.gz", ".tar.bz2", ".tar.xz")
_OWN_OUTPUT = re.compile(
    rb'\s*(?:\[\s*)?\{"document": .{0,8000}?"(?:spans|chunks)": \[|<!doctype html>.{0,300}name="generator" '
    rb'content="advchunk"',
    re.DOTALL,
)
_OPENERS: Mapping[bytes, Callable[[Any], Any]] = {b"\x1f\x8b": gzip.open, b"BZh": bz2.open, b"\xfd7zXZ": lzma.open}
_DAMAGES = (zipfile.BadZipFile, tarfile.TarError, EOFError, NotImplementedError, RuntimeError, ValueError)


class FileSource(NamedTuple):
    """A file that is to be read, or a part of one: a line of a file of documents, or a member of an archive."""

    name: str  # its path; that of a line has its number, "docs.jsonl:7", a member is in its archive, "docs.zip/tea.md"
    data: bytes | None = None  # None if they are those of the file
    is_line: bool = False

    @property
    def size(self) -> int:
        """Number of bytes; 0 if the file cannot be read."""
        if self.data is not None:
            return len(self.data)
        with suppress(OSError):
            return Path(self.name).stat().st_size
        return 0

    @property
    def is_blank(self) -> bool:
        """True for a file of white space and marks of encodings alone, and for a line, which has no text of its own."""
        return self.is_line or not (Path(self.name).read_bytes() if self.data is None else self.data).strip(_BLANK)


@dataclass
class Inventory:
    """The files in folders and archives, by suffix, or in ``skipped`` by name, each with the reason.

    Those in ``plain`` were read as plain text, since no reader has their suffix; of those in ``failed`` nothing was
    read or chunked. ``encodings`` are those that are not UTF-8; ``chunkers`` are keys such as ".md by
    optimal-semantic".

    >>> print(Inventory(Counter({".md": 2}), Counter({".css": 1}), {"tea.png": "no reader", "all": "a link"}))
    5 files: 2 read (.md 2), 1 read as plain text (.css 1), 2 skipped (no reader: .png 1; a link: all)
    """

    read: Counter[str] = field(default_factory=Counter)
    plain: Counter[str] = field(default_factory=Counter)
    skipped: dict[str, str] = field(default_factory=dict)
    failed: Counter[str] = field(default_factory=Counter)
    encodings: Counter[str] = field(default_factory=Counter)
    chunkers: Counter[str] = field(default_factory=Counter)
    _admitted: set[int] = field(default_factory=set, repr=False)  # hashes of names

    @property
    def total(self) -> int:
        """The number of files."""
        return self.read.total() + self.plain.total() + self.failed.total() + len(self.skipped)

    @property
    def is_complete(self) -> bool:
        """True if all files were read by readers for their suffixes, and in UTF-8."""
        return not (self.plain or self.skipped or self.failed or self.encodings)

    def __str__(self) -> str:
        reasons = dict[str, Counter[str]]()
        for name, reason in self.skipped.items():
            reasons.setdefault(reason, Counter())[_kind(name)] += 1
        skipped = "; ".join(f"{reason}: {_listed(kinds)[2:-1]}" for reason, kinds in reasons.items())
        parts = [
            f"{self.read.total()} read{_listed(self.read)}",
            f"{self.plain.total()} read as plain text{_listed(self.plain)}" if self.plain else "",
            f"{len(self.skipped)} skipped ({skipped})" if self.skipped else "",
            f"{self.failed.total()} failed{_listed(self.failed)}" if self.failed else "",
            f"{self.encodings.total()} not in UTF-8{_listed(self.encodings)}" if self.encodings else "",
            f"chunked{_listed(self.chunkers)}" if self.chunkers else "",
        ]
        return f"{self.total} file{'s' * (self.total != 1)}: {', '.join(filter(None, parts))}"

    def admit(self, name: str, head: bytes) -> bool:
        """Count a file, given its first bytes, and return True if it is to be read."""
        if reason := _refusal(name, head):
            self.skipped[name] = reason
        else:
            self._counter_of(name)[_kind(name)] += 1
            self._admitted.add(hash(name))
        return not reason

    def settle(
        self, name: str, encodings: Iterable[str] = (), chunkers: Iterable[str] = (), *, is_failed: bool = False
    ) -> None:
        """Note the encodings and chunkers of the documents of a file that was counted, or that it failed."""
        if hash(name) not in self._admitted:
            return
        if is_failed:
            self._admitted.remove(hash(name))
            counter = self._counter_of(name)
            counter[_kind(name)] -= 1
            counter += Counter()  # without those at zero
            self.failed[_kind(name)] += 1
        self.encodings.update(encodings)
        self.chunkers.update(f"{_kind(name)} by {chunker}" for chunker in chunkers)

    def _counter_of(self, name: str) -> Counter[str]:
        return self.read if _has_reader(name) else self.plain


def _listed(kinds: Mapping[str, int]) -> str:
    """Return the most frequent kinds with their counts, in parentheses."""
    first = sorted(kinds.items(), key=lambda kind: (-kind[1], kind[0]))
    shown = [f"{kind} {count}" if kind[:1] == "." or count > 1 else kind for kind, count in first]
    if len(first) > 10:
        shown[9:] = [f"{len(first) - 9} other kinds {sum(count for _, count in first[9:])}"]
    return f" ({', '.join(shown)})" if kinds else ""


def _kind(name: str) -> str:
    """Return the suffix of a file, or its name if it has none."""
    path = PurePath(name)
    return path.suffix.lower() or path.name


def _refusal(name: str, head: bytes) -> str:
    """Return the reason for which a file in a folder is not read; "" if it is."""
    if _OWN_OUTPUT.match(head):
        return "output of advchunk"
    return "" if _has_reader(name) or encodings.is_text(head) else "no reader"


def _has_reader(name: str) -> bool:
    return formats.is_supported(name) or is_archive(name) or is_jsonl(name)


def is_jsonl(name: str) -> bool:
    """Return True if a file holds a document a line."""
    return PurePath(name).suffix.lower() == ".jsonl"


def is_archive(name: str) -> bool:
    """Return True if a file is an archive of files, by its suffix."""
    return name.lower().endswith((".zip", *_TARS))


def find_files(
    paths: Iterable[str | Path], inventory: Inventory, exclude: str | Path | Iterable[str | Path] = ()
) -> Iterator[str]:
    """Yield the files that paths stand for, each once: a folder stands for those in it and below, in order.

    In folders, hidden files and folders are passed over. What else is not read is in the inventory: links, which may
    lead out of the folder; files that are neither text nor in a format with a reader; and the output of advchunk.
    ``exclude`` are files and folders to pass over, or patterns such as "*.log" or "old/*" (`pathlib.PurePath.match`).
    """
    excluded = [str(item) for item in ([exclude] if isinstance(exclude, (str, os.PathLike)) else exclude)]
    patterns = [item for item in excluded if _PATTERN.search(item)]
    places = {os.path.realpath(item) for item in excluded if item not in patterns}

    def is_excluded(path: Path) -> bool:
        return os.path.realpath(path) in places or any(map(path.match, patterns))

    seen = set[str]()
    for path in map(str, paths):
        require("://" not in path or Path(path).exists(), "a path must name a file or a folder, not a URL", path)
        for name in _walk(path, inventory, is_excluded) if Path(path).is_dir() else [path]:
            place = name if name == "-" else str(Path(name).absolute())
            if place not in seen:
                seen.add(place)
                yield name


def _walk(folder: str, inventory: Inventory, is_excluded: Callable[[Path], bool]) -> Iterator[str]:
    def report(error: OSError) -> None:
        inventory.skipped[str(error.filename)] = "not readable"

    left = [folder]
    while left:
        place, folders, names = next(os.walk(left.pop(), onerror=report), ("", [], []))  # which calls itself to go down
        own = [Path(place, item) for item in sorted(folders) if item[0] != "."]
        inventory.skipped |= {str(path): "a link" for path in own if path.is_symlink()}
        left += [str(path) for path in reversed(own) if not path.is_symlink() and not is_excluded(path)]
        for path in (Path(place, item) for item in sorted(names) if item[0] != "."):
            if path.is_symlink() or not path.is_file():
                inventory.skipped[str(path)] = "a link" if path.is_symlink() else "not a regular file"
            elif not is_excluded(path) and inventory.admit(str(path), _head_of(path)):
                yield str(path)


def _head_of(path: Path) -> bytes:
    with suppress(OSError), path.open("rb") as file:  # reading it says why
        return file.read(_HEAD)
    return b""


def read_sources(name: str, inventory: Inventory, *, of_lines: bool | None = None) -> Iterator[FileSource]:
    """Yield the sources in a file: itself, the members of an archive, or the lines with text of a file of documents.

    A large file of separated values (`MAX_PART`) is read in parts, with their numbers in their names. Members are read
    in memory, one at a time, and never written. Those that are encrypted, links, too large (`readers.budget`), archives
    themselves, or that have a path out of the archive are skipped, as are those that `find_files` skips in folders.

    The file "-" is standard input; ``of_lines`` says that it holds a document a line, None decides by its suffix. An
    archive that is damaged, or unpacks to too much, is `Unreadable`.
    """
    if is_jsonl(name) if of_lines is None else of_lines:
        with nullcontext(sys.stdin.buffer) if name == "-" else Path(name).open("rb") as file:
            for number, line in enumerate(file if name == "-" else _lines(file), 1):
                if line.strip():
                    yield FileSource(f"{name}:{number}", line, is_line=True)
    elif is_archive(name):
        yield from _read_archive(name, inventory)
    elif PurePath(name).suffix.lower() in _PARTED and Path(name).stat().st_size > MAX_PART:
        yield from _read_parts(name)
    else:
        yield FileSource(name, sys.stdin.buffer.read() if name == "-" else None)


def _lines(file: IO[bytes]) -> Iterator[bytes]:
    """Yield the lines of a text; one in UTF-16 or UTF-32, whose line ends are several bytes, is given in UTF-8."""
    encoding = encodings.find_unicode(file.read(_HEAD))
    file.seek(0)
    if encoding:
        yield from (line.removeprefix("\ufeff").encode() for line in TextIOWrapper(file, encoding, newline="\n"))
    else:
        yield from file


def _read_parts(name: str) -> Iterator[FileSource]:
    """Yield the parts of a file of separated values, each of whole records and with the first if that is the header."""
    with Path(name).open("rb") as file:
        head, number, first, size, part = b"", 0, 1, 0, list[bytes]()
        for record in _read_records(_lines(file)):
            number += 1
            if size + len(record) > MAX_PART and part:
                yield FileSource(_part_name(name, first, number - 1), b"".join(part))
                head = (head or _head_of_table(part)) if first == 1 else head
                first, size, part = number, len(head), [head]
            part.append(record)
            size += len(record)
        yield FileSource(_part_name(name, first, number), b"".join(part))


def _head_of_table(part: Sequence[bytes]) -> bytes:
    """Return the records above the first row of values, which name the columns and the separator; b"" for none."""
    sample = b"".join(part[:_SAMPLE])
    text = sample.decode("latin-1")
    start, kind = find_table(text)
    return sample[: start + head_end(text[start:], kind)] if kind else part[0]


def _part_name(name: str, first: int, last: int) -> str:
    """Return the name of a part, "tea (records 2-9).csv", whose suffix still says the format."""
    path = PurePath(name)
    return str(path.with_name(f"{path.stem} (records {first}-{last}){path.suffix}"))


def _read_records(file: Iterable[bytes]) -> Iterator[bytes]:
    """Yield the records of a file; line ends in quotes are in them, unless a quote is not closed soon."""
    lines, size, is_open = list[bytes](), 0, False
    for line in file:
        lines.append(line)
        size += len(line)
        is_open ^= line.count(b'"') % 2 == 1
        if not is_open or size > MAX_PART // 16:
            yield b"".join(lines)
            lines, size, is_open = [], 0, False
    if lines:
        yield b"".join(lines)


class _Member(NamedTuple):
    """A file in an archive: its path there, its size as declared, a function that opens it, and why it is not read."""

    path: str
    size: int
    open: Callable[[], IO[bytes] | None]
    refusal: str


def _read_archive(name: str, inventory: Inventory) -> Iterator[FileSource]:
    total, largest = 0, most("bytes")
    try:
        members = _zip_members(name) if name.lower().endswith(".zip") else _tar_members(name)
        for number, member in enumerate(members, 1):
            total += member.size
            check("members", number, "an archive must have")
            check("total", total, "an archive must unpack to")
            own, path = f"{name}/{member.path}", PurePosixPath(member.path.replace("\\", "/"))
            if any(part[0] == "." and part != ".." for part in path.parts) or "__MACOSX" in path.parts:
                continue  # hidden
            refusal = _member_refusal(member, path)
            file = None if refusal else member.open()
            if refusal or file is None:
                inventory.skipped[own] = refusal or "not a regular file"
                continue
            with file:
                data = file.read(largest + 1)
            if len(data) > largest:  # in spite of its declared size
                inventory.skipped[own] = "too large"
            elif inventory.admit(own, data[:_HEAD]):
                yield FileSource(own, data)
    except (*_DAMAGES, zlib.error, lzma.LZMAError) as error:
        if isinstance(error, ConfigurationError):
            raise
        msg = f"an archive must not be damaged, got {type(error).__name__}: {first_line(error)}"
        raise Unreadable(msg) from error


def _member_refusal(member: _Member, path: PurePosixPath) -> str:
    if not path.parts or path.is_absolute() or ".." in path.parts or ":" in path.parts[0]:
        return "a path out of the archive"
    if is_archive(path.name):
        return "an archive in an archive"
    return member.refusal or ("too large" if member.size > most("bytes") else "")


class _Unpacked:
    """A file that is unpacked as it is read, but not beyond the budget, whatever the headers in it say."""

    def __init__(self, file: IO[bytes]) -> None:
        start = file.read(6)
        file.seek(0)
        openers = (opener for sign, opener in _OPENERS.items() if start.startswith(sign))
        self._file: IO[bytes] = next(openers, lambda file: file)(file)
        self.tell = self._file.tell

    def seek(self, offset: int) -> int:
        check("total", offset, "an archive must unpack to")
        return self._file.seek(offset)

    def read(self, size: int) -> bytes:
        check("bytes", size - 1, "a header in an archive must have")
        check("total", self.tell() + size, "an archive must unpack to")
        return self._file.read(size)


def _zip_members(name: str) -> Iterator[_Member]:
    with zipfile.ZipFile(name) as archive:
        for info in archive.infolist():
            if not info.is_dir():
                is_link = stat.S_ISLNK(info.external_attr >> 16)
                refusal = "a link" if is_link else "encrypted" if info.flag_bits & 1 else ""
                yield _Member(info.filename, info.file_size, partial(archive.open, info), refusal)


def _tar_members(name: str) -> Iterator[_Member]:
    with Path(name).open("rb") as file, tarfile.open(fileobj=_Unpacked(file), mode="r:") as archive:  # type: ignore[call-overload]  # all that it needs
        for info in archive:
            if not info.isdir():
                refusal = "a link" if info.issym() or info.islnk() else "" if info.isfile() else "not a regular file"
                yield _Member(info.name, info.size, partial(archive.extractfile, info), refusal)
