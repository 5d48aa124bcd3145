"""Write the body of a Docling document: each item once, in its own order."""

import re
from collections import Counter
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from graphlib import CycleError, TopologicalSorter
from typing import Any, NamedTuple, TypeAlias

from advchunk.errors import require
from advchunk.readers.imrad import NumberedHeadings
from advchunk.readers.inline import format_script
from advchunk.readers.json import Object
from advchunk.readers.pages.parsers.elements import ElementWriter, kinds_of, points_place
from advchunk.readers.table_layout import Cell
from advchunk.readers.writing import squeeze
from advchunk.records import BlockKind, Document, Place

# With the most characters of tables, this keeps what is built from any JSON under about 400 MB.
MAX_ITEMS = 250_000
"""Items of a document."""

_ITEMS = ("groups", "texts", "pictures", "tables", "key_value_items", "form_items", "field_regions", "field_items")
_KINDS = kinds_of("docling")
_NOTES = frozenset({"text", "paragraph", "caption", "footnote"})  # labels of captions and footnotes of other items
_CHECKBOXES = {"checkbox_selected": "[x] ", "checkbox_unselected": "[ ] "}
_NONE = Object({})
_SCRIPTS = {"super": "sup", "sub": "sub"}
Places: TypeAlias = list[Place] | None
_OPENING, _CLOSING = frozenset("([{“‘"), frozenset(".,;:!?)]}%’”/")  # noqa: RUF001 - no space after, none before


class _Run(NamedTuple):
    """The text of inline items, their places, their layer, and references to items that are not text."""

    text: str
    places: list[Place]
    layer: str
    others: list[str]


class Body:
    """The items of a document; `ConfigurationError` for a dangling reference, an item in itself, or too many."""

    def __init__(self, root: Object, writer: ElementWriter) -> None:
        self._root, self._writer = root, writer
        self._items = {f"#/{name}/{i}": item for name in _ITEMS for i, item in enumerate(root.objects(name))}
        count = len(self._items)
        require(count <= MAX_ITEMS, f"a Docling document must have at most {MAX_ITEMS:,} items", count)
        self._trees = {f"#/{name}": tree for name in ("body", "furniture") if (tree := root.object(name))}
        self._items |= self._trees
        self._children, captions, footnotes = map(self._refs, ("children", "captions", "footnotes"))
        self._notes = {ref: captions.get(ref, []) + footnotes.get(ref, []) for ref in captions | footnotes}
        self._roles: dict[str, BlockKind] = {ref: "footnote" for refs in footnotes.values() for ref in refs}
        self._roles |= {ref: "caption" for refs in captions.values() for ref in refs}
        self._in_tree = {ref for refs in self._children.values() for ref in refs}
        try:
            TopologicalSorter(self._children).prepare()
        except CycleError as error:
            require(False, "an item must not contain itself", error.args[1][0])
        pages = root.object("pages") or _NONE
        sizes = {number: (pages.object(number) or _NONE).object("size") or _NONE for number in pages}
        self._heights = {str(number): size.number("height") for number, size in sizes.items()}
        # Several titles are titles of slides or chapters, not of the document.
        titles = [ref for ref in self._items if ref in self._in_tree and self._is_title(ref)]
        self._only_title, self._has_titles = titles[0] if len(titles) == 1 else "", len(titles) > 1
        self._title, self._is_furniture, self._headings = "", False, NumberedHeadings()
        self._done, self._numbers = set[str](), Counter[str]()

    def document(self) -> Document:
        """Write all items."""
        for tree in self._trees:
            self._is_furniture = tree == "#/furniture"  # of schema 1.0; later ones have layers in the body
            stack = [(tree, 0, tree)]
            while stack:
                ref, nesting, parent = stack.pop()
                if ref not in self._done:
                    self._done.add(ref)
                    children = self._write(ref, nesting, parent)
                    nesting += self._label(ref) in {"list", "ordered_list"}
                    stack += [(child, nesting, ref) for child in reversed(children)]
        own: dict[str, Any] = {"title": self._title, "page_count": len(self._heights)}
        if origin := self._root.object("origin"):
            own |= {key: origin.name(key) for key in ("filename", "mimetype", "binary_hash")}
            own["source"] = origin.text("uri") or origin.text("filename")
        return self._writer.document(metadata=own)

    def _refs(self, key: str) -> dict[str, list[str]]:
        """Return the references of each item under a key, without empty lists."""
        refs = ((ref, [self._ref(pointer) for pointer in item.objects(key)]) for ref, item in self._items.items())
        return {ref: targets for ref, targets in refs if targets}

    def _ref(self, pointer: Object) -> str:
        ref = pointer.text("$ref") or pointer.text("cref")
        if ref not in self._items:  # a path takes time
            require(False, f"{pointer.path} must refer to an item of the document", ref)
        return ref

    def _write(self, ref: str, nesting: int, parent: str) -> list[str]:
        """Write an item, and return the items below it that are still to be written."""
        item, children = self._items[ref], self._children.get(ref, [])
        notes = [note for note in self._notes.get(ref, []) if note not in self._in_tree]
        match ref.split("/")[1]:
            case "texts":
                children = self._text(ref, nesting, parent)
            case "tables":
                self._add_table(item, item.object("data"))
            case "pictures":
                self._picture(item)
                children = [child for child in children if child in self._notes.get(ref, [])]
            case "key_value_items" | "form_items":
                self._add(item, "paragraph", "\n".join(self._pairs(item)))
            case "field_items":
                keys = self._run([child for child in children if self._label(child) == "field_key"])
                values = self._run([child for child in children if self._label(child) != "field_key"])
                text = _pair(keys.text, [values.text]) if keys.text else values.text
                self._add(item, "paragraph", text, places=keys.places + values.places)
                children = keys.others + values.others
            case "groups" if self._label(ref) == "inline":
                run = self._run(children)
                self._add(item, "paragraph", run.text, places=run.places, layer=run.layer)
                children = run.others
            case "groups" if self._label(ref) == "sheet":
                self._add(item, "heading", squeeze(item.text("name").removeprefix("sheet:")), 1)
        return notes + children

    def _text(self, ref: str, nesting: int, parent: str) -> list[str]:
        item, label, children = self._items[ref], self._label(ref), self._children.get(ref, [])
        text, places = item.text("text"), read_places(item, self._heights)
        if not text.strip() and self._has_run(ref):
            run = self._run(children)
            text, places, children = run.text, places + run.places, run.others
        if ref == self._only_title:
            self._title = squeeze(text)
        kind, level = _KINDS.get(label, "paragraph"), int(label == "title")
        if label in _NOTES:
            kind = self._roles.get(ref, kind)
        elif kind == "heading":
            text = squeeze(text)
            level = level or self._headings.level(text, max(item.integer("level"), 1)) + self._has_titles
        elif kind == "item" and text.strip():
            level = max(nesting, 1)
            text = _CHECKBOXES[label] + text if label in _CHECKBOXES else self._mark(item, text, parent)
        elif kind == "code":
            text = _fence(text, item.text("code_language"))
        elif kind == "formula":
            text = f"$${text.strip()}$$" if text.strip() else item.text("orig")
        self._add(item, kind, text, level, places)
        return children

    def _mark(self, item: Object, text: str, parent: str) -> str:
        """Put the marker of a list item before its text."""
        marker = item.text("marker").strip()
        is_numbered = item.flag("enumerated") or self._label(parent) == "ordered_list"
        self._numbers[parent] += is_numbered
        if not any(map(str.isalnum, marker)):
            marker = f"{self._numbers[parent]}." if is_numbered else "-"
        return text if text.startswith(f"{marker} ") else f"{marker} {text}"

    def _run(self, refs: Sequence[str]) -> _Run:
        """Join the texts of inline items; those of the body, if there are any."""
        texts, others = self._collect(refs, lambda ref: self._label(ref) == "inline")
        layers = [_layer(item) for item in texts]
        layer = "body" if "body" in layers or not layers else layers[0]
        items = [item for item in texts if _layer(item) == layer]
        places = [place for item in items for place in read_places(item, self._heights)]
        return _Run(_join_inline(items), places, layer, others)

    def _collect(self, refs: Sequence[str], enters: Callable[[str], bool]) -> tuple[list[Object], list[str]]:
        """Collect the texts in some items, and mark them done; also return the items that are not entered."""
        texts, others, stack = list[Object](), list[str](), list(reversed(refs))
        while stack:
            ref = stack.pop()
            if ref in self._done:
                continue
            if (is_text := ref.startswith("#/texts/")) or enters(ref):
                self._done.add(ref)
                stack += reversed(self._children.get(ref, []))
                texts += [self._items[ref]] if is_text else []
            else:
                others.append(ref)
        return texts, others

    def _add_table(self, item: Object, data: Object | None) -> None:
        if data:
            cells = [self._cell(cell) for cell in data.objects("table_cells")]
            self._add(item, "table", self._writer.table_text(cells, data.at("table_cells")))

    def _cell(self, cell: Object) -> Cell:
        text = cell.text("text")
        if pointer := cell.object("ref"):
            rich = _join_inline(self._collect([self._ref(pointer)], lambda _: True)[0])
            text = text if text.strip() else rich
        row, column = cell.integer("start_row_offset_idx"), cell.integer("start_col_offset_idx")
        rows = max(cell.integer("end_row_offset_idx") - row, 1)
        columns = max(cell.integer("end_col_offset_idx") - column, 1)
        return Cell(text, row, column, rows, columns, cell.flag("column_header"))

    def _picture(self, item: Object) -> None:
        descriptions = _annotations(item, "description", "description")
        self._add(item, "figure", "\n".join(note.text("text").strip() for note in descriptions))
        for chart in _annotations(item, "tabular_chart", "tabular_chart_data"):
            self._add_table(item, chart.object("chart_data"))

    def _pairs(self, item: Object) -> Iterator[str]:
        """Yield "key: value" of a form, except of items that are written themselves."""
        graph = item.object("graph") or _NONE
        pointers = [(cell, cell.object("item_ref")) for cell in graph.objects("cells")]
        cells = [cell for cell, ref in pointers if ref is None or self._ref(ref) not in self._in_tree]
        texts = {cell.integer("cell_id"): cell.text("text").strip() for cell in cells}
        values, seen = dict[int, list[int]](), set[int]()
        for link in graph.objects("links"):
            key, value = link.integer("source_cell_id"), link.integer("target_cell_id")
            if link.text("label") == "to_key":
                key, value = value, key
            if link.text("label") in {"to_value", "to_key"} and key in texts and value in texts and value not in seen:
                values.setdefault(key, []).append(value)
                seen.add(value)
        for key, text in texts.items():
            if key in values:
                yield _pair(text, [texts[value] for value in values[key]])
            elif key not in seen and text:
                yield text

    def _add(
        self, item: Object, kind: BlockKind, text: str, level: int = 0, places: Places = None, layer: str = ""
    ) -> None:
        layer = "furniture" if self._is_furniture else layer or _layer(item)
        if layer == "furniture" and self._writer.keeps_furniture:
            kind, level = "furniture", 0
        elif layer != "body":
            return
        places = read_places(item, self._heights) if places is None else places
        title = "" if kind == "heading" and text == self._title else None
        self._writer.add(kind, text, level, title=title, places=dict.fromkeys(places))

    def _label(self, ref: str) -> str:
        return self._items[ref].text("label")

    def _has_run(self, ref: str) -> bool:
        children = self._children.get(ref, [])
        return any(child.startswith("#/groups/") and self._label(child) == "inline" for child in children)

    def _is_title(self, ref: str) -> bool:
        is_title = self._label(ref) == "title" and _layer(self._items[ref]) == "body"
        return is_title and (bool(self._items[ref].text("text").strip()) or self._has_run(ref))


def _layer(item: Object) -> str:
    """Return the layer of an item; page headers of schema 1.0 do not have it."""
    is_furniture = _KINDS.get(item.text("label")) == "furniture"
    return "furniture" if is_furniture else item.text("content_layer") or "body"


def _annotations(item: Object, key: str, kind: str) -> list[Object]:
    """Return a member of an item's metadata, or else annotations of a kind, as in older schemas."""
    member = (item.object("meta") or _NONE).object(key)
    return [member] if member else [note for note in item.objects("annotations") if note.text("kind") == kind]


def read_places(item: Object, heights: Mapping[str, float]) -> list[Place]:
    """Return the places of an item from the top left, without boxes on pages whose height is not known."""
    places = list[Place]()
    for source in item.objects("prov"):
        page, box = source.integer("page_no"), source.object("bbox")
        points, height = [box.number(side) for side in "ltrb"] if box else [], heights.get(str(page), 0.0)
        if box and box.text("coord_origin") == "BOTTOMLEFT":
            points = [height - side if i % 2 else side for i, side in enumerate(points)] if height else []
        places.append(points_place(page, points))
    return places


def _inline_text(item: Object) -> tuple[str, str]:
    """Return the text of an item within a paragraph, and "sup", "sub" or ""."""
    text, label, style = item.text("text"), item.text("label"), item.object("formatting") or _NONE
    if label == "formula":
        text = f"${text.strip()}$" if text.strip() else item.text("orig")
    elif label == "code" and text.strip():
        text = f"`{text}`" if "`" not in text else f"`` {text} ``"
    return _CHECKBOXES.get(label, "") + text, _SCRIPTS.get(style.text("script"), "")


def _join_inline(items: Iterable[Object]) -> str:
    """Join the parts of a paragraph, with spaces between words."""
    parts, last = list[str](), " "
    for text, script in map(_inline_text, items):
        if text:
            closed = script or last.isspace() or last in _OPENING or text[0].isspace() or text[0] in _CLOSING
            parts.append(format_script(script, text, parts[-1] if parts else "", "") if closed else f" {text}")
            last = text[-1]
    return "".join(parts)


def _pair(key: str, values: Iterable[str]) -> str:
    text = ", ".join(filter(None, values))
    return f"{key.rstrip(': ')}: {text}" if text else key


def _fence(code: str, language: str) -> str:
    if not code.strip():
        return ""
    fence = "`" * max(3, *(len(run) + 1 for run in re.findall("`+", code)), 0)
    body = code.strip("\n")
    return f"{fence}{language.lower() if language != 'unknown' else ''}\n{body}\n{fence}"
