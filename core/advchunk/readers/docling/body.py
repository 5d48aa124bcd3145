"""Write the body of a Docling document: each of its items once, in its own order."""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Iterable, Iterator, Mapping, Sequence
from typing import Any, NamedTuple

from advchunk.errors import ConfigurationError, require
from advchunk.readers.grids import Cell, laid_out, length
from advchunk.readers.inline import scripted
from advchunk.readers.json import Object
from advchunk.readers.writing import Writer, pipe_table, squeezed
from advchunk.records import BlockKind, Document, Place

# Together they keep what is made of any JSON under some 400 MB.
LONGEST = 25_000_000
"""Characters of all tables of a document, their spans written out."""
MOST = 250_000
"""Items of a document."""

_ITEMS = "groups texts pictures tables key_value_items form_items field_regions field_items".split()  # noqa: SIM905
_KINDS: Mapping[str, BlockKind] = {
    "title": "heading",
    "section_header": "heading",
    "field_heading": "heading",
    "list_item": "item",
    "checkbox_selected": "item",
    "checkbox_unselected": "item",
    "code": "code",
    "formula": "formula",
    "caption": "caption",
    "footnote": "footnote",
    "reference": "reference",
    "page_header": "furniture",
    "page_footer": "furniture",
}
_PROSE = frozenset({"text", "paragraph", "caption", "footnote"})  # what may be the caption or the footnote of an item
_BOXES = {"checkbox_selected": "[x] ", "checkbox_unselected": "[ ] "}
_SCRIPTS = {"super": "sup", "sub": "sub"}
_OPENING, _CLOSING = frozenset("([{“‘"), frozenset(".,;:!?)]}%’”/")  # noqa: RUF001 - no space after, none before


class Run(NamedTuple):
    """What inline items say together, where they stand, which layer they are of, and what there is beside texts."""

    text: str
    places: list[Place]
    layer: str
    others: list[str]


class Body:
    """The tree of a document's items.

    Parameters
    ----------
    root : a document of schema 1.x.
    keeps_furniture : whether page headers and footers are written too.

    Raises
    ------
    ConfigurationError : by both methods: a value of another type, a reference to nothing, an item below itself; too
        many items, or tables too large.
    """

    def __init__(self, root: Object, *, keeps_furniture: bool) -> None:
        self._root, self._keeps = root, keeps_furniture
        self._items = {f"#/{name}/{i}": item for name in _ITEMS for i, item in enumerate(root.objects(name))}
        require(len(self._items) <= MOST, f"a Docling document must have at most {MOST:,} items", len(self._items))
        self._trees = {f"#/{name}": tree for name in ("body", "furniture") if (tree := root.object(name))}
        self._items |= self._trees
        self._below, captions, footnotes = (self._refs(key) for key in ("children", "captions", "footnotes"))
        self._notes = {ref: captions.get(ref, []) + footnotes.get(ref, []) for ref in captions | footnotes}
        self._roles: dict[str, BlockKind] = {ref: "footnote" for refs in footnotes.values() for ref in refs}
        self._roles |= {ref: "caption" for refs in captions.values() for ref in refs}
        self._placed = {ref for refs in self._below.values() for ref in refs}
        pages = root.object("pages")
        self._heights = {str(page): _height(pages, page) for page in pages} if pages else {}
        # Several titles are of slides or chapters, and none of them is the document's.
        titles = [ref for tree in self._trees for ref in self._tree(tree) if self._is_title(ref)]
        self._only_title, self._under_titles = titles[0] if len(titles) == 1 else "", len(titles) > 1
        self._writer, self._title, self._is_furniture = Writer("docling"), "", False
        self._done, self._numbers, self._length = set[str](), Counter[str](), 0

    def document(self, id: str, metadata: Mapping[str, Any]) -> Document:
        """Write all items; metadata overrides what the document says of itself."""
        for tree in self._trees:
            self._is_furniture = tree == "#/furniture"  # of schema 1.0; later ones have all in the body, with its layer
            self._walk(tree)
        said: dict[str, Any] = {"title": self._title, "page_count": len(self._heights)}
        if origin := self._root.object("origin"):
            said |= {key: origin.name(key) for key in ("filename", "mimetype", "binary_hash")}
            said["source"] = origin.text("uri") or origin.text("filename")
        return self._writer.document(id, {key: value for key, value in said.items() if value} | dict(metadata))

    def _refs(self, key: str) -> dict[str, list[str]]:
        """Return what items refer to; those that refer to nothing are left out."""
        found = ((ref, [self._ref(pointer) for pointer in item.objects(key)]) for ref, item in self._items.items())
        return {ref: refs for ref, refs in found if refs}

    def _ref(self, pointer: Object) -> str:
        ref = pointer.text("$ref") or pointer.text("cref")
        if ref not in self._items:
            require(False, f"{pointer.path} must refer to an item of the document", ref)
        return ref

    def _tree(self, root: str) -> Iterable[str]:
        """Return a root and what is below it; refuse what is below itself."""
        above, seen = set[str](), dict[str, None]()
        stack = [(root, True)]
        while stack:
            ref, enters = stack.pop()
            if not enters:
                above.remove(ref)
            elif ref in above:
                msg = f"the tree of a document must not have an item below itself, as it has {ref!r}"
                raise ConfigurationError(msg)
            elif ref not in seen:
                seen[ref] = None
                above.add(ref)
                stack += [(ref, False), *((child, True) for child in self._below.get(ref, []))]
        return seen

    def _walk(self, root: str) -> None:
        stack = [(root, 0, root)]
        while stack:
            ref, lists, parent = stack.pop()
            if ref not in self._done:
                self._done.add(ref)
                rest = self._write(ref, lists, parent)
                lists += self._label(ref) in {"list", "ordered_list"}
                stack += [(child, lists, ref) for child in reversed(rest)]

    def _write(self, ref: str, lists: int, parent: str) -> list[str]:
        """Write an item, and return what is still to be written of those below it."""
        item, below = self._items[ref], self._below.get(ref, [])
        notes = [note for note in self._notes.get(ref, []) if note not in self._placed]
        match ref.split("/")[1]:
            case "texts":
                below = self._text(ref, lists, parent)
            case "tables":
                if data := item.object("data"):
                    self._add(item, "table", self._table(data))
            case "pictures":
                self._picture(item)
                own = set(self._notes.get(ref, []))
                below = [child for child in below if child in own]
            case "key_value_items" | "form_items":
                self._add(item, "paragraph", "\n".join(self._pairs(item)))
            case "field_items":
                keys = self._run([child for child in below if self._label(child) == "field_key"])
                values = self._run([child for child in below if self._label(child) != "field_key"])
                said = _pair(keys.text, [values.text]) if keys.text else values.text
                self._add(item, "paragraph", said, places=keys.places + values.places)
                below = keys.others + values.others
            case "groups" if self._label(ref) == "inline":
                run = self._run(below)
                self._add(item, "paragraph", run.text, places=run.places, layer=run.layer)
                below = run.others
            case "groups" if self._label(ref) == "sheet":
                self._add(item, "heading", squeezed(item.text("name").removeprefix("sheet:")), 1)
        return notes + below

    def _text(self, ref: str, lists: int, parent: str) -> list[str]:
        item, label, below = self._items[ref], self._label(ref), self._below.get(ref, [])
        text, places = item.text("text"), self._places(item)
        if not text.strip() and self._has_run(ref):
            run = self._run(below)
            text, places, below = run.text, places + run.places, run.others
        if ref == self._only_title:
            self._title = squeezed(text)
            return below
        kind, level = _KINDS.get(label, "paragraph"), 0
        if label in _PROSE:
            kind = self._roles.get(ref, kind)
        elif kind == "heading":
            level = 1 if label == "title" else max(item.whole("level"), 1) + self._under_titles
            text = squeezed(text)
        elif kind == "item" and text.strip():
            level = max(lists, 1)
            text = _BOXES[label] + text if label in _BOXES else self._marked(item, text, parent)
        elif kind == "code":
            text = _fenced(text, item.text("code_language"))
        elif kind == "formula":
            text = f"$${text.strip()}$$" if text.strip() else item.text("orig")
        self._add(item, kind, text, level, places)
        return below

    def _marked(self, item: Object, text: str, parent: str) -> str:
        marker = item.text("marker").strip()
        numbered = item.flag("enumerated") or self._label(parent) == "ordered_list"
        self._numbers[parent] += numbered
        if not any(map(str.isalnum, marker)):
            marker = f"{self._numbers[parent]}." if numbered else "-"
        return text if text.startswith(f"{marker} ") else f"{marker} {text}"

    def _run(self, refs: Sequence[str]) -> Run:
        """Take together the texts of inline items; those of the body, if some are of it."""
        found, others, stack = list[tuple[str, Object]](), list[str](), list(reversed(refs))
        while stack:
            ref = stack.pop()
            if ref in self._done:
                continue
            if ref.startswith("#/texts/") or self._label(ref) == "inline":
                self._done.add(ref)
                stack += reversed(self._below.get(ref, []))
                found += [(_layer(self._items[ref]), self._items[ref])] if ref.startswith("#/texts/") else []
            else:
                others.append(ref)
        layers = [layer for layer, _ in found]
        layer = "body" if "body" in layers or not layers else layers[0]
        items = [item for each, item in found if each == layer]
        return Run(
            _joined(map(_inline, items)), [place for item in items for place in self._places(item)], layer, others
        )

    def _table(self, data: Object) -> str:
        cells = [self._cell(cell) for cell in data.objects("table_cells")]
        self._length += length(cells)
        require(
            self._length <= LONGEST, f"tables must have at most {LONGEST:,} characters, at {data.path}", self._length
        )
        rows, heads = laid_out(cells)
        return pipe_table(rows, heads)

    def _cell(self, cell: Object) -> Cell:
        text = cell.text("text")
        if rich := cell.object("ref"):
            within = self._within(self._ref(rich))
            text = text if text.strip() else within
        row, column = cell.whole("start_row_offset_idx"), cell.whole("start_col_offset_idx")
        rows = max(cell.whole("end_row_offset_idx") - row, 1)
        columns = max(cell.whole("end_col_offset_idx") - column, 1)
        require(min(row, column) >= 0, f"{cell.path} must start at a row and a column >= 0", (row, column))
        return Cell(text, row, column, rows, columns, cell.flag("column_header"))

    def _within(self, ref: str) -> str:
        """Return what all texts below an item say, which are not written again."""
        items, stack = list[Object](), [ref]
        while stack:
            ref = stack.pop()
            if ref not in self._done:
                self._done.add(ref)
                stack += reversed(self._below.get(ref, []))
                items += [self._items[ref]] if ref.startswith("#/texts/") else []
        return _joined(map(_inline, items))

    def _picture(self, item: Object) -> None:
        meta, notes = item.object("meta"), item.objects("annotations")  # the older way to say the same
        described = [found for found in [meta and meta.object("description")] if found]
        described = described or [note for note in notes if note.text("kind") == "description"]
        self._add(item, "figure", "\n".join(each.text("text").strip() for each in described))
        charts = [found for found in [meta and meta.object("tabular_chart")] if found]
        charts = charts or [note for note in notes if note.text("kind") == "tabular_chart_data"]
        for data in filter(None, (chart.object("chart_data") for chart in charts)):
            self._add(item, "table", self._table(data))

    def _pairs(self, item: Object) -> Iterator[str]:
        """Yield "key: value" of a form, but not of items that are written themselves."""
        graph = item.object("graph")
        if graph is None:
            return
        texts = {cell.whole("cell_id"): cell.text("text").strip() for cell in graph.objects("cells") if self._own(cell)}
        values, found = dict[int, list[int]](), set[int]()
        for link in graph.objects("links"):
            key, value = link.whole("source_cell_id"), link.whole("target_cell_id")
            if link.text("label") == "to_key":
                key, value = value, key
            if link.text("label") in {"to_value", "to_key"} and key in texts and value in texts and value not in found:
                values.setdefault(key, []).append(value)
                found.add(value)
        for cell, text in texts.items():
            if cell in values:
                yield _pair(text, [texts[value] for value in values[cell]])
            elif cell not in found and text:
                yield text

    def _own(self, cell: Object) -> bool:
        pointer = cell.object("item_ref")
        return pointer is None or self._ref(pointer) not in self._placed

    def _add(
        self,
        item: Object,
        kind: BlockKind,
        text: str,
        level: int = 0,
        places: Iterable[Place] | None = None,
        layer: str = "",
    ) -> None:
        layer = "furniture" if self._is_furniture else layer or _layer(item)
        if layer == "furniture" and self._keeps:
            kind, level = "furniture", 0
        elif layer != "body":
            return
        where = self._places(item) if places is None else places
        self._writer.add(kind, text, level, places=dict.fromkeys(where))

    def _label(self, ref: str) -> str:
        return self._items[ref].text("label")

    def _has_run(self, ref: str) -> bool:
        below = self._below.get(ref, [])
        return any(child.startswith("#/groups/") and self._label(child) == "inline" for child in below)

    def _is_title(self, ref: str) -> bool:
        item = self._items[ref]
        is_one = item.text("label") == "title" and _layer(item) == "body"
        return is_one and (bool(item.text("text").strip()) or self._has_run(ref))

    def _places(self, item: Object) -> list[Place]:
        return list(places(item, self._heights))


def _layer(item: Object) -> str:
    """Return the layer of an item; page headers of schema 1.0 do not say theirs."""
    running = _KINDS.get(item.text("label")) == "furniture"
    return "furniture" if running else item.text("content_layer") or "body"


def _height(pages: Object, page: str) -> float:
    found = pages.object(page)
    size = found.object("size") if found else None
    return size.number("height") if size else 0.0


def places(item: Object, heights: Mapping[str, float]) -> Iterator[Place]:
    """Yield where an item stands, measured from the top left; without a box where the height of the page is missing."""
    for prov in item.objects("prov"):
        page, box = prov.whole("page_no"), prov.object("bbox")
        if box is None:
            yield Place(page)
            continue
        left, top, right, bottom = (box.number(side) for side in "ltrb")
        if box.text("coord_origin") == "BOTTOMLEFT":
            height = heights.get(str(page), 0.0)
            top, bottom = height - top, height - bottom
            if not height:
                yield Place(page)
                continue
        yield Place(page, (round(left, 2), round(top, 2), round(right, 2), round(bottom, 2)))


def _inline(item: Object) -> tuple[str, str]:
    """Return what an item says within a paragraph, and whether that is raised or lowered."""
    text, label, style = item.text("text"), item.text("label"), item.object("formatting")
    if label == "formula":
        text = f"${text.strip()}$" if text.strip() else item.text("orig")
    elif label == "code" and text.strip():
        text = f"`{text}`" if "`" not in text else f"`` {text} ``"
    return _BOXES.get(label, "") + text, _SCRIPTS.get(style.text("script"), "") if style else ""


def _joined(pieces: Iterable[tuple[str, str]]) -> str:
    """Put the pieces of a paragraph together, with spaces where there should be some."""
    said, last = list[str](), " "
    for text, script in pieces:
        if text:
            apart = not (script or last.isspace() or last in _OPENING or text[0].isspace() or text[0] in _CLOSING)
            said.append(f" {text}" if apart else scripted(script, text, last, ""))
            last = text[-1]
    return "".join(said)


def _pair(key: str, values: Iterable[str]) -> str:
    said = ", ".join(value for value in values if value)
    return f"{key.rstrip(': ')}: {said}" if said else key


def _fenced(code: str, language: str) -> str:
    if not code.strip():
        return ""
    fence = "`" * max(3, *(len(run) + 1 for run in re.findall("`+", code)), 0)
    body = code.strip("\n")
    return f"{fence}{language.lower() if language != 'unknown' else ''}\n{body}\n{fence}"
