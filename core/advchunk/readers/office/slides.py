"""Read slides from their XML (ECMA-376, part 1)."""

from collections.abc import Iterator
from typing import Any

from advchunk.readers.office.drawings import add_paragraphs, description, drawn_text, read_drawing
from advchunk.readers.office.flow import Flow, TableRows
from advchunk.readers.office.package import Package, child_at, children, every, holders, is_on, number, short, value
from advchunk.readers.table_layout import TableCell
from advchunk.readers.writing import TextBlock, squeeze
from advchunk.records import Place

_TITLES, _LISTS = frozenset({"title", "ctrTitle"}), frozenset({"body", "obj"})  # types of placeholders
_FOOTERS = {"dt": "footers", "ftr": "footers", "sldNum": "footers", "hdr": "headers"}


def read_slides(package: Package, flow: Flow) -> bool:
    """Read slides, each a page with its notes, and return True if there are any."""
    relations = package.relations(package.main)
    ids = every(child_at(package.xml(package.main), "p:sldIdLst"), "p:sldId")
    parts = [relations.get(value(id, key="r:id"), ("", "a slide"))[1] for id in ids]
    parts = parts or [target for kind, target in relations.values() if kind == "slide"]
    for page, part in enumerate(parts, 1):
        if (root := package.xml(part)) is None:
            package.damaged.add(part)
        elif not flow.hides("slides", not is_on(root, key="show")):
            flow.places, flow.targets = (Place(page),), package.targets(part)
            _Slide(package, part, flow).read(root)
    return bool(parts)


class _Slide:
    def __init__(self, package: Package, part: str, flow: Flow) -> None:
        self._package, self._part, self._flow = package, part, flow
        layout = package.related(part, "slideLayout")
        self._layout = {_placeholder(shape)[1]: shape for shape in every(layout, "p:sp", deep=True)}

    def read(self, root: Any) -> None:
        """Read the title, the other shapes, and the notes."""
        tree = child_at(root, "p:cSld/p:spTree")
        shapes = _shapes(root if tree is None else tree)
        for shape in sorted(shapes, key=lambda shape: _placeholder(shape)[0] not in _TITLES):
            self._shape(shape)
        notes = every(self._package.related(self._part, "notesSlide"), "p:sp", deep=True)
        bodies = (child_at(shape, "p:txBody") for shape in notes if _placeholder(shape)[0] == "body")
        self._flow.add_talk([own for body in bodies for own in self._texts(body)])
        self._flow.left_out["comments"] += len([*children(self._package.related(self._part, "comments"))])

    def _shape(self, shape: Any) -> None:
        about = next((own for own in shape.iter() if short(own.tag) == "p:cNvPr"), None)
        if self._flow.hides("shapes", bool(is_on(about, key="hidden", default="0"))):
            return
        kind, index = _placeholder(shape)
        body = child_at(shape, "p:txBody")
        lines = [text for own in holders(shape, "a:p", "a:r", "a:t") if (text := squeeze(drawn_text(own)))]
        if kind in _FOOTERS:
            self._flow.left_out[_FOOTERS[kind]] += bool(lines)
        elif kind in _TITLES:
            self._flow.paragraph("paragraph", " ".join(lines), level=1)
        elif body is not None:
            style = child_at(self._layout.get(index), "p:txBody/a:lstStyle")
            plain = {depth for depth in range(9) if child_at(style, f"a:lvl{depth + 1}pPr/a:buNone") is not None}
            add_paragraphs(self._flow, body, plain if kind in _LISTS else None)
        else:
            drawing = [*read_drawing([shape], self._part, self._package, self._flow, {"a:tbl": self._table})]
            for write in drawing:
                write()
            if not drawing and about is not None:
                self._flow.add("figure", description(about))

    def _texts(self, body: Any) -> list[TextBlock]:
        return self._flow.collected(add_paragraphs, self._flow, body, None)

    def _table(self, source: Any) -> None:
        table = TableRows()
        for line in holders(source, "a:tr", "a:tc"):
            table.begin_row()
            for cell in holders(line, "a:tc", "a:txBody"):
                down, across = (number(cell, key=f"{side}Span", default=1) for side in ("row", "grid"))
                if not any(is_on(cell, key=f"{side}Merge", default="0") for side in "hv"):
                    table.add(TableCell(self._texts(cell), down, across))
        table.write(self._flow)


def _shapes(parent: Any) -> Iterator[Any]:
    """Yield the shapes of a slide, also those in groups."""
    for shape in children(parent):
        name = short(shape.tag)
        if name == "p:grpSp":
            yield from _shapes(shape)
        elif name not in {"p:nvGrpSpPr", "p:grpSpPr", "p:extLst"}:
            yield shape


def _placeholder(shape: Any) -> tuple[str, str]:
    """Return the type of a placeholder, and its number; "" and "" of another shape."""
    place = child_at(shape, "p:nvSpPr/p:nvPr/p:ph")
    return ("", "") if place is None else (value(place, key="type") or "obj", value(place, key="idx"))
