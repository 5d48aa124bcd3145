"""Read the contents that MinerU writes as ``content_list.json``, of versions 1 to 4.

Tables keep captions and footnotes beside them; a picture is its description. Boxes are in thousandths of the page.
"""

from advchunk.readers.json import Object
from advchunk.readers.pages.parsers.elements import ElementReader, ElementWriter, check_keys, kinds_of, points_place
from advchunk.records import BlockKind, Document, Place

_KINDS = kinds_of("mineru")
_BODIES = {"table": "table_body", "chart": "content", "code": "code_body", "image": "content"}


def _write(root: Object, writer: ElementWriter) -> Document:
    pages = 0
    for item in check_keys(root, "contents").objects("contents"):
        name = check_keys(item, "type").text("type")
        page = item.integer("page_idx") + 1
        pages = max(pages, page)
        places = [points_place(page, item.numbers("bbox"))]
        before, after = (_notes(item, name, part) for part in ("caption", "footnote"))
        for text in before:
            writer.add_element("caption", text, places=places)
        _write_item(item, name, writer, places)
        for text in after:
            writer.add_element("footnote", text, places=places)
    return writer.document(metadata={"page_count": pages})


def _write_item(item: Object, name: str, writer: ElementWriter, places: list[Place]) -> None:
    kind: BlockKind = _KINDS.get(name, "paragraph")
    text = item.text(_BODIES.get(name, "text"))
    if name in {"list", "index"}:
        own: BlockKind = "reference" if item.text("sub_type") == "ref_text" else "item"
        for entry in item.texts("list_items"):
            depth = (len(entry) - len(entry.lstrip())) // 4 + 1
            writer.add_element(own, entry, depth if own == "item" else 0, places=places)
    elif kind == "table" and "<" in text:
        writer.add_html(text, kind, places)
    elif kind == "paragraph" and (level := item.integer("text_level")) > 0:
        writer.add_element("heading", text, level, places=places)
    elif kind == "formula" and text.strip() and "$$" not in text:
        writer.add_element(kind, f"$$\n{text.strip()}\n$$", places=places)
    else:
        writer.add_element(kind, text, places=places)


def _notes(item: Object, name: str, part: str) -> list[str]:
    """Return the captions or footnotes of a table, picture or listing, also of pictures of MinerU 1."""
    keys = [f"{name}_{part}", *([f"img_{part}"] if name == "image" else [])]
    return [text for key in keys for text in item.texts(key)]


read = document = ElementReader("mineru", _write, key="contents").read
