"""Read e-books (EPUB 3): the pages of their spine, by the reader of HTML."""

from posixpath import dirname, join, normpath
from urllib.parse import unquote

from advchunk.errors import ConfigurationError
from advchunk.readers import formats
from advchunk.readers.encodings import decode
from advchunk.readers.office.flow import Flow
from advchunk.readers.office.package import Package, child_at, children, every, short, value
from advchunk.readers.writing import squeeze

_FIELDS = {"title": "title", "creator": "authors", "language": "language", "description": "description"}
_PAGES = frozenset({"application/xhtml+xml", "text/html", "application/x-dtbook+xml"})


def read_book(data: bytes, flow: Flow) -> None:
    """Read the pages of a book in the order of its spine."""
    package = Package(data, "")
    root = package.xml("META-INF/container.xml")
    files = () if root is None else root.iter("{*}rootfile")
    main = next((value(file, key="full-path") for file in files), "") or package.find(".opf")
    book, fields, reader = package.xml(main), flow.fields, formats.find_reader("html")
    for element in children(child_at(book, "opf:metadata")):
        name, text = _FIELDS.get(short(element.tag).removeprefix("dc:"), ""), squeeze(element.text or "")
        if name and text:
            fields[name] = f"{fields[name]}; {text}" if name == "authors" and name in fields else fields.get(name, text)
    items = {value(item, key="id"): item for item in every(child_at(book, "opf:manifest"), "opf:item")}
    spine = [items.get(value(own, key="idref")) for own in every(child_at(book, "opf:spine"), "opf:itemref")]
    for item in spine if any(own is not None for own in spine) else items.values():
        if value(item, key="media-type") not in _PAGES:
            continue
        name = normpath(join(dirname(main), unquote(value(item, key="href"))))
        if (page := package.read(name)) is None:
            flow.left_out["missing pages"] += 1
        else:
            flow.add_document(reader.read(_decode(page, package, name), metadata={"title": fields.get("title", "")}))
    flow.left_out["damaged parts"] = len(package.damaged) or not flow.blocks


def _decode(page: bytes, package: Package, name: str) -> str:
    try:
        return decode(page, name).text
    except ConfigurationError:
        package.damaged.add(name)
        return page.decode(errors="replace")
