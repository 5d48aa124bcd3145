"""Read slides from their XML (ECMA-376, part 1)."""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from typing import Any

from advchunk.readers.office.drawings import add_paragraphs, description, drawn_text, read_drawing
from advchunk.readers.office.flow import Flow, TableRows
from advchunk.readers.office.package import Package, child_at, choice, every, number, short, value
from advchunk.readers.table_layout import TableCell
from advchunk.readers.writing import squeeze
from advchunk.records import Place

_OFF = frozenset({"0", "false"})
_TITLES, _LISTS = frozenset({"title", "ctrTitle"}), frozenset({"body", "obj"})  # types of placeholders
_FOOTERS = {"dt": "footers", "ftr": "footers", "sldNum": "footers", "hdr": "headers"}


def read_slides(data: bytes, flow: Flow) -> None:
    """Read slides, each a page with its notes."""
    package = Package(data, "ppt/presentation.xml")
    flow.fields = package.properties()
    relations = package.relations(package.main)
    ids = every(child_at(package.xml(package.main), "p:sldIdLst"), "p:sldId")
    parts = [target for id in ids if (target := relations.get(value(id, key="r:id"), ("", ""))[1])]
    parts = parts or [target for kind, target in relations.values() if kind == "slide"]
    for page, part in enumerate(parts, 1):
        if (root := package.xml(part)) is None:
            package.damaged.add(part)
            continue
        if not flow.hides("slides", (value(root, key="show") or "1") in _OFF):
            flow.places = (Place(page),)
            _Slide(package, part, flow).read(root)
    flow.left_out["damaged parts"] = len(package.damaged) or not parts


class _Slide:
    def __init__(self, package: Package, part: str, flow: Flow) -> None:
        self._package, self._part, self._flow = package, part, flow
        layout = package.related(part, "slideLayout")
        self._layout = {_placeholder(shape)[1]: shape for shape in every(layout, "p:sp", deep=True)}

    def read(self, root: Any) -> None:
        """Read the title, the other shapes, and the notes."""
        shapes = [*_shapes(child_at(root, "p:cSld/p:spTree"))]
        for shape in sorted(shapes, key=lambda shape: _placeholder(shape)[0] not in _TITLES):
            self._shape(shape)
        notes = self._package.related(self._part, "notesSlide")
        bodies = [shape for shape in every(notes, "p:sp", deep=True) if _placeholder(shape)[0] == "body"]
        with self._flow.collect() as blocks:
            for shape in bodies:
                add_paragraphs(self._flow, child_at(shape, "p:txBody"), None)
        self._flow.add_talk(blocks)
        comments = self._package.related(self._part, "comments")
        self._flow.left_out["comments"] += 0 if comments is None else len(comments)

    def _shape(self, shape: Any) -> None:
        about = next((own for own in shape.iter() if short(own.tag) == "p:cNvPr"), None)
        if self._flow.hides("shapes", (value(about, key="hidden") or "0") not in _OFF):
            return
        kind, index = _placeholder(shape)
        body = child_at(shape, "p:txBody")
        if kind in _FOOTERS:
            self._flow.left_out[_FOOTERS[kind]] += bool(squeeze("".join(map(drawn_text, every(body, "a:p")))))
        elif kind in _TITLES:
            lines = (squeeze(drawn_text(own)) for own in every(body, "a:p"))
            self._flow.paragraph("paragraph", " ".join(filter(None, lines)), level=1)
        elif body is not None:
            add_paragraphs(self._flow, body, self._plain_levels(index) if kind in _LISTS else None)
        else:
            self._drawing(shape, about)

    def _plain_levels(self, index: str) -> set[int]:
        """Return the levels whose paragraphs have no bullets, by the layout of the slide."""
        style = child_at(self._layout.get(index), "p:txBody/a:lstStyle")
        return {depth for depth in range(9) if child_at(style, f"a:lvl{depth + 1}pPr/a:buNone") is not None}

    def _drawing(self, shape: Any, about: Any) -> None:
        drawing, has_text = read_drawing([shape], self._part, self._package, self._flow, {"a:tbl": self._table}), False
        for write in drawing:
            write()
            has_text = True
        if not has_text and about is not None:
            self._flow.add("figure", description(about))

    def _table(self, source: Any) -> None:
        table = TableRows()
        for line in every(source, "a:tr"):
            table.begin_row()
            for cell in every(line, "a:tc"):
                if {value(cell, key="hMerge"), value(cell, key="vMerge")} & {"1", "true"}:
                    continue
                with self._flow.collect() as blocks:
                    add_paragraphs(self._flow, child_at(cell, "a:txBody"), None)
                down, across = (number(cell, key=f"{side}Span", default=1) for side in ("row", "grid"))
                table.add(TableCell(blocks, down, across))
        table.write(self._flow)


def _shapes(parent: Iterable[Any]) -> Iterator[Any]:
    """Yield the shapes of a slide, also those in groups."""
    for shape in () if parent is None else parent:
        name = short(shape.tag)
        if name == "p:grpSp":
            yield from _shapes(shape)
        elif name == "mc:AlternateContent":
            yield from _shapes(choice(shape))
        elif name not in {"p:nvGrpSpPr", "p:grpSpPr", "p:extLst"}:
            yield shape


def _placeholder(shape: Any) -> tuple[str, str]:
    """Return the type of a placeholder, and its number; "" and "" of another shape."""
    place = child_at(shape, "p:nvSpPr/p:nvPr/p:ph")
    return ("", "") if place is None else (value(place, key="type") or "obj", value(place, key="idx"))
