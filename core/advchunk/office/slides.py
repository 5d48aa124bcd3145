"""Mark the lists of slides, which markitdown does not."""

from collections.abc import Iterator
from io import BytesIO
from typing import Any

from advchunk.errors import import_extra

_LISTS = frozenset({"BODY", "OBJECT"})  # placeholders whose paragraphs have bullets unless they say otherwise


def mark_lists(data: bytes) -> bytes:
    """Return slides whose items of lists begin with a dash, indented by their level."""
    book, marked = import_extra("pptx", "office").Presentation(BytesIO(data)), BytesIO()
    for slide in book.slides:
        for shape in slide.shapes:
            for item in _items(shape):
                item.runs[0].text = f"{'  ' * item.level}- {item.runs[0].text.lstrip()}"
    book.save(marked)
    return marked.getvalue()


def _items(shape: Any) -> Iterator[Any]:
    """Yield the paragraphs of a shape that have bullets or numbers."""
    kind = shape.placeholder_format.type if shape.is_placeholder else None
    is_list = kind is not None and kind.name in _LISTS
    for item in shape.text_frame.paragraphs if shape.has_text_frame else ():
        properties = item._p.pPr
        bullets = {child.tag.rpartition("}bu")[2] for child in (() if properties is None else properties)}
        is_item = bullets & {"Char", "AutoNum"} or (is_list and "None" not in bullets)
        if is_item and item.runs and item.text.strip():
            yield item
