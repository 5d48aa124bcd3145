"""Read the elements of unstructured: JSON, objects, or documents of LangChain's loader.

Titles are headings, whose depth is ``category_depth``; a table is read from its HTML, where there is some. Boxes are in
unstructured's unit, pixels of the page's image or points, from the top. See unstructured 0.27, ``elements_to_json``.
"""

from advchunk.readers.json import Object
from advchunk.readers.pages.parsers.elements import ElementReader, ElementWriter, check_keys, kinds_of, points_place
from advchunk.records import Document, Place

_KINDS = kinds_of("unstructured")
_KEPT = {"page_number": int, "category_depth": int, "text_as_html": str, "coordinates": dict}  # in metadata of loaders
_FROM_BELOW = frozenset({"PointSpace", "RelativeCoordinateSystem"})  # whose y grows upward


def restore_layout(element: Document) -> Document | None:
    """Return a loaded element with its layout, a table as its HTML has it; None for any other document."""
    metadata = element.metadata
    about = {key: metadata[key] for key, kind in _KEPT.items() if isinstance(metadata.get(key), kind)}
    category = metadata.get("category") if "element_id" in metadata else None
    if not isinstance(category, str):  # the reader of LlamaIndex drops it
        category = "Table" if "text_as_html" in about else ""
    plain = [{"type": category, "text": element.text, "metadata": about}]
    restored = document(plain, id=element.id, metadata=metadata, furniture="keep") if category else None
    return restored if restored and restored.blocks else None


def _write(root: Object, writer: ElementWriter) -> Document:
    first = Object({})
    for element in check_keys(root, "elements").objects("elements"):
        kind = _KINDS.get(check_keys(element, "type").text("type"), "paragraph")
        about = element.object("metadata") or Object({})
        places, text = _places(about), element.text("text")
        depth = about.integer("category_depth") + 1 if kind in {"heading", "item"} else 0
        if kind == "table" and about.text("text_as_html"):
            writer.add_html(about.text("text_as_html"), kind, places)
        elif "checked" in element:
            writer.add_element("item", f"[{'x' if element.flag('checked') else ' '}] {text}", 1, places=places)
        else:
            writer.add_element(kind, text, max(depth, 0), places=places)
        first = first if "filename" in first else about
    name = first.text("filename")
    own = {"source": first.text("url") or name, "filename": name, "mimetype": first.text("filetype")}
    return writer.document(metadata=own)


def _places(about: Object) -> list[Place]:
    page, where = about.integer("page_number"), about.object("coordinates")
    if page < 1:
        return []
    points = where.numbers("points") if where else []
    if where and where.text("system") in _FROM_BELOW:
        height = where.number("layout_height")
        points = [height - side if i % 2 else side for i, side in enumerate(points)] if height else []
    return [points_place(page, points)]


read = document = ElementReader("unstructured", _write, key="elements").read
