"""Read e-books (EPUB 3): the pages of their spine, by the reader of HTML."""

from posixpath import dirname, join, normpath
from urllib.parse import unquote

from advchunk.errors import ConfigurationError
from advchunk.readers import formats
from advchunk.readers.encodings import decode
from advchunk.readers.office.flow import Flow
from advchunk.readers.office.package import Package, child_at, every, fields, value

_FIELDS = ("title", "authors", "language", "description")
_PAGES = frozenset({"application/xhtml+xml", "text/html", "application/x-dtbook+xml"})


def read_book(package: Package, flow: Flow) -> bool:
    """Read the pages of a book in the order of its spine, and return True if there are any."""
    root = package.xml("META-INF/container.xml")
    files = () if root is None else root.iter("{*}rootfile")
    declared = next((value(file, key="full-path") for file in files), "")
    main = declared or next((name for name in package.names if name.endswith(".opf")), "")
    book, reader = package.xml(main), formats.find_reader("html")
    flow.fields = fields(child_at(book, "opf:metadata"), _FIELDS)
    items = {value(item, key="id"): item for item in every(child_at(book, "opf:manifest"), "opf:item")}
    spine = [items.get(value(own, key="idref")) for own in every(child_at(book, "opf:spine"), "opf:itemref")]
    has_spine = any(own is not None for own in spine)
    pages = {  # a page has one place, however often it is named
        normpath(join(dirname(main), unquote(value(item, key="href")))): value(item, key="media-type")
        for item in (spine if has_spine else items.values())
    }
    for name, kind in pages.items():
        page = package.read(name) if kind in _PAGES else None
        if page is not None:
            try:
                text = decode(page, name).text
            except ConfigurationError:
                package.damaged.add(name)
                text = page.decode(errors="replace")
            title = {"title": flow.fields.get("title", "")}
            flow.add_document(reader.read(text, metadata=title, links=flow.links))
        elif kind in {"", *_PAGES}:
            flow.left_out["missing pages"] += 1
        else:
            flow.left_out["pages in other formats"] += has_spine
    return bool(flow.blocks)
