"""The parts of an Office file (ECMA-376, part 2), and their XML, by names such as "w:p"."""

import json
import posixpath
import re
from collections.abc import Collection, Iterator, Mapping
from functools import cache
from importlib.resources import files
from io import BytesIO
from typing import Any
from urllib.parse import unquote
from zipfile import ZipFile

from advchunk.errors import import_extra, require
from advchunk.readers.budget import check
from advchunk.readers.writing import squeeze

_SPACES: Mapping[str, str] = json.loads(files(__package__).joinpath("namespaces.json").read_text("utf-8"))
_XML = (".xml", ".rels", ".opf", ".xhtml", ".html", ".htm", ".ncx")
_ENTITY = re.compile(rb"<!ENTITY", re.IGNORECASE)
_PREFIXES = {space: prefix for prefix, space in _SPACES.items()}
_STRICT = re.compile(rb'(?<=")http://purl\.oclc\.org/ooxml/(\w+)/(\w+)(?=")')  # of the strict form of the standard
_STRICT_SIGN = b"//purl.oclc.org/ooxml/"
_PARSER = {"resolve_entities": False, "no_network": True, "recover": True, "remove_comments": True, "remove_pis": True}
_OFF = frozenset({"0", "false", "off"})
_FIELDS = {"title": "title", "creator": "authors", "language": "language", "description": "description"}  # Dublin Core
_NO_TITLE = re.compile(
    r"(?i)\s*|untitled.*|powerpoint presentation|(?:word )?(?:document|presentation|book|workbook)\s?\d*"
)


class Package:
    """The parts of an archive, whose names are compared without case. They fit the budget, and define no entities.

    ``main`` is the name of the part that refers to the others, ``damaged`` those of parts that are not well-formed.
    """

    def __init__(self, data: bytes) -> None:
        self._archive, self.main, self.damaged = ZipFile(BytesIO(data)), "", set[str]()
        members = self._archive.infolist()
        require(not any(member.flag_bits & 1 for member in members), "must not be encrypted", "an encrypted archive")
        texts = [member for member in members if member.filename.endswith(_XML)]
        total, largest = sum(own.file_size for own in members), max((own.file_size for own in texts), default=0)
        # A part is never read beyond its declared size.
        for unit, taken in ("bytes", total), ("characters", largest), ("parts", len(members)):
            check(unit, taken, "an archive must unpack to")
        for member in texts:  # no Office file needs entities
            part = self._archive.read(member)
            part = part.replace(b"\0", b"") if b"\0" in part[:4] else part  # in any encoding of Unicode
            require(not _ENTITY.search(part), "must not define entities", member.filename)
        self.names = {name.replace("\\", "/").strip("/").lower(): name for name in self._archive.namelist()}

    def xml(self, name: str) -> Any:
        """Return the root of a part, or None if it is missing or beyond repair."""
        if (key := name.lower()) not in self.names:
            return None
        etree, root = import_extra("lxml.etree", "office"), None
        parser = etree.XMLParser(**_PARSER)
        try:
            root = etree.fromstring(self.read(key), parser)
        except Exception:  # noqa: BLE001  # of zipfile, zlib, or lxml
            self.damaged.add(key)
        self._check(key, parser)
        return root

    def stream(self, name: str, *tags: str) -> Iterator[Any]:
        """Yield the elements of these names in a part, and forget each, to read large sheets in little memory."""
        if (key := name.lower()) not in self.names:
            self.damaged |= {key} if key else set()
            return
        etree = import_extra("lxml.etree", "office")
        parser = etree.iterparse(BytesIO(self.read(key) or b""), tag=[*map(full, tags)], **_PARSER)
        for _, element in parser:
            yield element
            element.clear()
            while element.getprevious() is not None:
                del element.getparent()[0]
        self._check(key, parser)

    def _check(self, name: str, parser: Any) -> None:
        """Note that a part is damaged if the parser may have lost text; a prefix without a namespace loses none."""
        if any(error.domain_name != "NAMESPACE" for error in parser.error_log):
            self.damaged.add(name)

    def read(self, name: str) -> bytes | None:
        """Return the bytes of a part, with the usual names of namespaces, or None if it is missing."""
        if (member := self.names.get(name.lower())) is None:
            return None
        data = self._archive.read(member)
        return _STRICT.sub(rb"http://schemas.openxmlformats.org/\1/2006/\2", data) if _STRICT_SIGN in data else data

    def relations(self, part: str) -> dict[str, tuple[str, str]]:
        """Return the kind and the target of each relationship of a part that does not lead outside the file."""
        relations, folder = dict[str, tuple[str, str]](), posixpath.dirname(part)
        for relation in self._relations(part):
            if relation.get("TargetMode") != "External":
                target = posixpath.normpath(posixpath.join("/", folder, unquote(relation.get("Target", ""))))
                relations[relation.get("Id", "")] = posixpath.basename(relation.get("Type", "")), target.strip("/")
        return relations

    def targets(self, part: str) -> dict[str, str]:
        """Return the addresses outside the file to which a part leads, by id."""
        outside = (own for own in self._relations(part) if own.get("TargetMode") == "External")
        return {own.get("Id", ""): own.get("Target", "") for own in outside}

    def _relations(self, part: str) -> Iterator[Any]:
        folder, name = posixpath.split(part)
        return children(self.xml(posixpath.join(folder, "_rels", f"{name}.rels")))

    def target(self, part: str, kind: str) -> str:
        """Return the name of the first part of a kind to which a part refers, or ""."""
        return next((target for own, target in self.relations(part).values() if own == kind), "")

    def related(self, part: str, kind: str) -> Any:
        """Return the root of the first part of a kind to which a part refers."""
        return self.xml(self.target(part, kind))

    def properties(self) -> dict[str, str]:
        """Return the title and the authors that a file declares."""
        own = fields(self.xml(self.target("", "core-properties") or "docProps/core.xml"), ("title", "authors"))
        if _NO_TITLE.fullmatch(own.get("title", "")):
            own.pop("title", None)
        return {key: "; ".join(map(squeeze, text.split(";"))) for key, text in own.items()}


def fields(elements: Any, names: Collection[str]) -> dict[str, str]:
    """Return the metadata of these names among elements of the Dublin Core: all authors, else the first value."""
    values = dict[str, str]()
    for element in children(elements):
        name, text = _FIELDS.get(str(element.tag).rpartition("}")[2], ""), squeeze(element.text or "")
        if text and name in names:
            values[name] = f"{values[name]}; {text}" if name == "authors" and name in values else values.get(name, text)
    return values


@cache
def short(tag: Any) -> str:
    """Return a name with the prefix of its namespace, as "w:p"; "" of an entity."""
    if not isinstance(tag, str):
        return ""
    space, _, local = tag[1:].rpartition("}") if tag[:1] == "{" else ("", "", tag)
    return f"{_PREFIXES.get(space, '')}:{local}"


@cache
def full(name: str) -> str:
    """Return a name such as "w:p" in Clark notation."""
    prefix, _, local = name.rpartition(":")
    return f"{{{_SPACES[prefix]}}}{local}" if prefix else local


def children(element: Any) -> Iterator[Any]:
    """Yield the children of an element, none of None; of alternatives the first with text, or else the first."""
    for child in () if element is None else element:
        if short(child.tag) == "mc:AlternateContent":
            texts = full("w:t"), full("a:t")
            with_text = (branch for branch in child if next(branch.iter(*texts), None) is not None)
            yield from children(next(with_text, next(iter(child), None)))
        else:
            yield child


def every(element: Any, name: str, *, deep: bool = False) -> Iterator[Any]:
    """Return the children of a name, or if ``deep`` all elements of that name in an element."""
    if element is not None:
        yield from element.iter(full(name)) if deep else element.iterchildren(full(name))


def holders(element: Any, name: str, *contents: str, skip: Collection[str] = ()) -> Iterator[Any]:
    """Yield the elements of a name, and others that hold some of the names ``contents``, whatever is around them."""
    for child in children(element):
        own = short(child.tag)
        if own == name or (own not in skip and any(short(inner.tag) in contents for inner in child)):
            yield child
        elif own not in skip:
            yield from holders(child, name, *contents, skip=skip)


def child_at(element: Any, path: str) -> Any:
    """Return the first child of the first child ... of these names, or None; far faster than the method of lxml."""
    for name in path.split("/"):
        element = next(every(element, name), None)
    return element


def value(element: Any, path: str = "", key: str = "w:val", default: str = "") -> str:
    """Return an attribute of an element, or of one below it, or the default."""
    element = child_at(element, path) if path else element
    text: str = default if element is None else element.get(full(key), default)
    return text


def number(element: Any, path: str = "", default: int = 0, key: str = "w:val") -> int:
    """Return an attribute that is a number."""
    text = value(element, path, key)
    return int(text) if re.fullmatch(r"-?\d{1,9}", text) else default


def is_on(element: Any, path: str = "", key: str = "w:val", default: str = "1") -> bool | None:
    """Return True if a property is set, False if it is unset, and None if it is not there."""
    element = child_at(element, path) if path else element
    return None if element is None else (value(element, key=key) or default) not in _OFF
