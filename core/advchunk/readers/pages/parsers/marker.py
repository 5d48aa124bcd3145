"""Read Marker's JSON (``--output_format json`` or ``chunks``), or its objects, of versions 1 and 2.

A block is read from its HTML. Boxes are those of the blocks, in points.
"""

import re
from collections.abc import Iterator

from advchunk.readers.json import Object
from advchunk.readers.pages.parsers.elements import ElementReader, ElementWriter, check_keys, kinds_of, points_place
from advchunk.records import Document

_KINDS = kinds_of("marker")
_MATH = re.compile(r"<math(?P<attributes>[^<>]*)>(?P<formula>[^<>]*)</math>")
_PAGE = re.compile(r"/page/(\d{1,9})/")


def _write(root: Object, writer: ElementWriter) -> Document:
    pages = 0
    for block in _leaves(check_keys(root, "children", "blocks")):
        match = _PAGE.match(block.text("id"))
        page = int(match[1]) + 1 if match else block.integer("page") + 1
        pages = max(pages, page)
        places = [points_place(page, block.numbers("bbox"))]
        text = _MATH.sub(_delimit, block.text("html"))
        writer.add_html(text, _KINDS.get(block.text("block_type")), places)
    return writer.document(metadata={"page_count": pages})


def _leaves(root: Object) -> Iterator[Object]:
    """Yield the blocks in reading order; a group is what is in it, unless its own HTML has that."""
    stack = [*reversed(root.objects("children") or root.objects("blocks"))]
    while stack:
        block = check_keys(stack.pop(), "block_type")
        children = block.objects("children")
        if children and ("<content-ref" in block.text("html") or not block.text("html").strip()):
            stack += reversed(children)
        else:
            yield block


def _delimit(match: re.Match[str]) -> str:
    """Return the LaTeX in a ``<math>`` between dollar signs."""
    sign = "$$" if "block" in match["attributes"] else "$"
    return f"{sign}{match['formula']}{sign}"


read = document = ElementReader("marker", _write).read
