"""Mark the lists and paragraphs of slides, which markitdown does not."""

from copy import deepcopy
from io import BytesIO
from typing import Any

from advchunk.errors import import_extra
from advchunk.readers.writing import as_prose

_BLANK = '<a:p xmlns:a="http://schemas.openxmlformats.org/drawingml/2006/main"/>'
_LISTS = frozenset({"BODY", "OBJECT"})  # placeholders whose paragraphs have bullets unless they say otherwise


def mark_paragraphs(data: bytes) -> bytes:
    """Return slides whose items of lists begin with a dash, indented by their level, and whose paragraphs are blank lines apart."""
    book, marked = import_extra("pptx", "office").Presentation(BytesIO(data)), BytesIO()
    for slide in book.slides:
        for shape in slide.shapes:
            if shape.has_text_frame and shape != slide.shapes.title:
                _mark(shape)
    book.save(marked)
    return marked.getvalue()


def _mark(shape: Any) -> None:
    kind = shape.placeholder_format.type if shape.is_placeholder else None
    is_list = kind is not None and kind.name in _LISTS
    blank = import_extra("pptx.oxml", "office").parse_xml(_BLANK)
    above: bool | None = None  # whether the paragraph above is an item
    for paragraph in shape.text_frame.paragraphs:
        if not paragraph.runs or not paragraph.text.strip():
            continue
        properties, first = paragraph._p.pPr, paragraph.runs[0]
        bullets = {child.tag.rpartition("}bu")[2] for child in (() if properties is None else properties)}
        is_item = bool(bullets & {"Char", "AutoNum"}) or (is_list and "None" not in bullets)
        for run in paragraph.runs:
            before = run._r.getprevious()
            if before is None or not before.tag.endswith("}r"):  # it begins a line
                run.text = as_prose(run.text)
        if is_item:
            first.text = f"{'  ' * paragraph.level}- {first.text.lstrip()}"
        if above is not None and not (above and is_item):
            paragraph._p.addprevious(deepcopy(blank))
        above = is_item
