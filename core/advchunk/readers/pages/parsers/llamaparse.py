"""Read LlamaParse's results: the JSON of both versions of its API, or the objects of its clients.

A page is its items, or, if it has none, its Markdown or text. Boxes are in points.
"""

import logging

from advchunk.readers.json import Object
from advchunk.readers.pages.parsers.elements import ElementReader, ElementWriter, check_keys, points_place
from advchunk.records import Document, Place

_log = logging.getLogger("advchunk")


def _write(root: Object, writer: ElementWriter) -> Document:
    count, failed, name = 0, list[int](), ""
    for result in root.objects("results") if "results" in root else [root]:
        inner = result.object("items") or result.object("markdown") or result  # the second version of the API has both
        pages = check_keys(inner, "pages").objects("pages")
        name = name or result.text("file_name")
        for page in pages:
            number = check_keys(page, "page", "page_number").integer("page" if "page" in page else "page_number")
            failed += [number] if page.text("error") else []
            _write_page(page, number, writer)
        count += len(pages)
    if failed:
        _log.warning("LlamaParse failed on pages %s of %r", ", ".join(map(str, failed)), name)
    return writer.document(metadata={"page_count": count, "source": name, "filename": name})


def _write_page(page: Object, number: int, writer: ElementWriter) -> None:
    items = page.objects("items")
    if not items:
        whole = page.text("md") or page.text("markdown") or page.text("text")
        writer.add_markdown(whole, [Place(number)])
    for item in items:
        places = _places(item, number)
        text = item.text("md") or item.text("value")
        match check_keys(item, "type").text("type"):
            case "heading":
                level = item.integer("level" if "level" in item else "lvl")
                writer.add_element("heading", item.text("value") or text.lstrip("# "), level, places=places)
            case "header" | "footer":
                writer.add_element("furniture", text, places=places)
            case "image":
                writer.add_element("figure", item.text("caption") or text, places=places)
            case "code":
                writer.add_element("code", text, places=places)
            case _:
                writer.add_markdown(text, places)


def _places(item: Object, page: int) -> list[Place]:
    places = list[Place]()
    for box in item.objects("bbox") or [item.object("bBox") or Object({})]:
        left, top, width, height = (box.number(side) for side in "xywh")
        places.append(points_place(page, [left, top, left + width, top + height] if "x" in box else []))
    return places


read = document = ElementReader("llamaparse", _write, key="results").read
