"""Write the text of TEI, element by element."""

import json
import re
from collections.abc import Callable, Collection, Iterable, Mapping
from importlib.resources import files
from xml.etree.ElementTree import Element

from advchunk.readers.imrad import NumberedHeadings, SectionHeading, parse_heading
from advchunk.readers.inline import format_script
from advchunk.readers.mathml import formula_text
from advchunk.readers.papers.tei.bibliography import format_reference, plain_text
from advchunk.readers.table_layout import Cell, parse_span, spanned_table
from advchunk.readers.writing import Writer, squeeze
from advchunk.records import BlockKind, Place

_ID = "{http://www.w3.org/XML/1998/namespace}id"
_ELEMENTS = json.loads(files(__package__).joinpath("elements.json").read_text("utf-8"))
_SECTIONS, _INLINE = frozenset(_ELEMENTS["sections"]), frozenset(_ELEMENTS["inline"])
_CONTAINERS = _SECTIONS | frozenset(_ELEMENTS["containers"])
_SPLITTING = frozenset(_ELEMENTS["splitting"])  # elements that split the paragraph around them
_AROUND = {**dict.fromkeys(_ELEMENTS["spaced"], (" ", " ")), "rt": (" (", ")")}  # on both sides of elements in a line
_KINDS: Mapping[str, BlockKind] = _ELEMENTS["kinds"]
_DEFERRED = frozenset({"figure", "note"})  # elements written after that paragraph
_BESIDE = frozenset({"teiHeader", "facsimile", "fsdDecl", "sourceDoc", "standOff"})  # parts that are not the text
_BREAKS = frozenset({"cb", "lb", "pb"})
_ALTERNATIVES = frozenset({"app", "choice"})
_PREFERRED = frozenset({"corr", "expan", "lem", "reg"})  # of alternatives
_SCRIPT = re.compile(r"\bsu[bp]")  # "superscript", "sup", "vertical-align:super"
_TITLES = {"acknowledgement": "Acknowledgements", "availability": "Data availability"}  # of divisions without head
_UNSPLIT = frozenset({"caption", "heading", "table"})
_ETHICS = re.compile(r"ethic|consent", re.IGNORECASE)  # often a part of Methods, but else not of the paper
_NUMBER = re.compile(r"(?:[0-9]{1,3}|[IVX]{1,5}|[A-Z])(?:\.[0-9]{1,3})*")
_MARKER = re.compile(r"[-*•·–◦▪‣]|\(?(?:\d{1,3}|[a-z]|[ivx]{1,5})[.)]", re.IGNORECASE)  # fmt: skip
_BOX = re.compile(r"(?P<page>[0-9]{1,6})(?P<box>(?:,-?[0-9]{1,9}(?:\.[0-9]{1,9})?){4})")  # of GROBID


class _OpenBlock:
    """A block being read: its text and coordinates so far, and elements to write after it."""

    def __init__(self, kind: BlockKind, depth: int, coords: str | None = None, level: int = 0) -> None:
        self.kind, self.depth, self.own_coords, self.level = kind, depth, coords, level
        self.parts, self.coords, self.deferred = list[str](), list[str](), list[Element]()

    def add(self, text: str | None) -> None:
        self.parts += filter(None, [text])

    @property
    def text(self) -> str:
        return squeeze("".join(self.parts))

    @property
    def places(self) -> tuple[Place, ...]:
        """Places of the block, or else of its sentences."""
        return _places(self.own_coords or ";".join(self.coords))


class Paper:
    """Writes a TEI document, whose tags have no namespace."""

    def __init__(self, root: Element) -> None:
        self.writer = Writer("tei")
        self._writers: Mapping[str, Callable[[Element, int], None]] = {
            tag: getattr(self, f"_{name}") for name, tags in _ELEMENTS["rules"].items() for tag in tags
        }
        bodies = list(root.iter("body"))
        heads = [child for body in bodies for child in _heads(body)]
        self._roman = any(_number(child) in {"II", "III", "IV"} for child in heads)
        self._numbered = 2 * sum(bool(_number(child)) for child in heads) > len(heads)
        self._flat = all(len(_heads(child)) < 2 for body in bodies for child in body)
        self._in_body, self._title = False, ""  # the last heading
        self._level, self._section = 0, parse_heading("")  # of the last heading in the body; its last top-level one
        self._numbers = NumberedHeadings()
        self._floats = dict[str, Element]()  # collected by GROBID, by id
        self._nesting, self._label = 0, ""  # of lists
        for abstract in root.iter("abstract"):
            self._add_heading_for(abstract, "Abstract")
            self._contents(abstract, 1)
        for part in root:
            if part.tag not in _BESIDE:
                self._contents(part, 1)

    def _contents(
        self, element: Element, depth: int, *, skip: Collection[Element] = (), kind: BlockKind = "paragraph"
    ) -> None:
        """Write the blocks in an element, and its loose text as blocks of a kind; ``depth`` is that of its head."""
        has_head, skipped = element.tag in _SECTIONS and element.find("head") is not None, frozenset(skip)
        block = _OpenBlock(kind, depth + has_head)
        block.add(element.text)
        for child in element:
            if child.tag in _INLINE:
                self._inline(child, block)
            elif child not in skipped:
                self._end(block)
                if child.tag == "head" and has_head:
                    self._heading(child, depth)
                else:
                    if child.tag == "listBibl" and not has_head and self._title != "References":
                        self._add_heading_for(child, "References")
                    self._block(child, block.depth)
            block.add(child.tail)
        self._end(block)

    def _block(self, element: Element, depth: int) -> None:
        default = self._contents if element.tag in _CONTAINERS else self._text
        self._writers.get(element.tag, default)(element, depth)

    def _body(self, element: Element, depth: int) -> None:
        outer = self._in_body, self._floats
        is_collection = any(child.tag.startswith("div") for child in element)
        floats = [child for child in element if is_collection and child.tag in _DEFERRED]
        by_id = {child.get(_ID, ""): child for child in floats if child.get(_ID)}
        self._in_body, self._level, self._floats = True, 0, dict(by_id)
        if self._title:
            self._add_heading_for(element, "Main text")
        self._contents(element, depth, skip=floats)
        referred = frozenset(by_id.values()) - frozenset(self._floats.values())
        self._in_body, self._floats = outer
        for tag, title in (("figure", "Figures and tables"), ("note", "Notes")):
            for child in floats:
                if child not in referred and child.tag == tag and plain_text(child):
                    if self._title != title:
                        self._add_heading(title)
                    self._block(child, depth)

    def _division(self, element: Element, depth: int) -> None:
        kind = element.get("type", "")
        if kind and kind != "references" and not self._in_body:
            self._add_heading_for(element, _TITLES.get(kind) or kind.replace("_", " ").capitalize())
        self._contents(element, depth)

    def _add_heading_for(self, element: Element, title: str) -> None:
        """Write a heading for an element with text that does not begin with a head."""
        text, heads = plain_text(element), filter(None, map(plain_text, element.iter("head")))
        if text and not text.startswith(next(heads, f"{text}.")):
            self._add_heading(title)

    def _add_heading(self, title: str, level: int = 1, places: Iterable[Place] = ()) -> None:
        self.writer.add("heading", title, level, places=places)
        self._title = title

    def _heading(self, element: Element, depth: int) -> None:
        block = _OpenBlock("heading", depth, element.get("coords"))
        self._inline(element, block)
        text, number = block.text, squeeze(element.get("n") or "")
        if title := text if text.startswith(number) else f"{number} {text}".strip():
            level = self._heading_level(_number(element), parse_heading(text), depth)
            if self._in_body:
                self._level = level
                self._section = parse_heading(text) if level == 1 else self._section
            self._add_heading(title, level, block.places)
        self._write_deferred(block)

    def _heading_level(self, number: str, heading: SectionHeading, depth: int) -> int:
        if number:
            first = number.partition(".")[0]
            lettered = self._roman and len(first) == 1 and first.isalpha() and first not in "IVX"
            return max(depth, self._numbers.level_of(number, 1) + lettered)
        if not (self._in_body and self._flat and self._level):
            return depth
        names = self._section.names
        below = {
            "part": self._numbered or bool(set(heading.names) & set(names)),
            "": self._numbered or names not in {(), ("Introduction",)},
            "matter": "Methods" in names and bool(_ETHICS.search(heading.title)),
        }
        return max(self._level, 2) if below.get(heading.role) else depth

    def _text(self, element: Element, depth: int) -> None:
        kind = _KINDS.get(element.tag, "paragraph")
        block = _OpenBlock(kind, depth, element.get("coords"), self._nesting if kind == "item" else 0)
        number = squeeze(element.get("n") or "") if kind == "footnote" else ""
        if number and not (text := plain_text(element)).startswith(number) and text:
            block.add(f"{number} ")
        if kind == "item" and self._label:
            block.add(f"{self._label} ")
            self._label = ""
        self._inline(element, block)
        self._end(block)

    def _inline(self, element: Element, block: _OpenBlock) -> None:
        if element.tag in _BREAKS and element.get("break") != "no":
            block.add(" ")
        elif element.tag == "s":
            block.coords += filter(None, [element.get("coords")])
        elif element.tag == "ref" and (target := element.get("target", "")[1:]) in self._floats:
            block.deferred.append(self._floats.pop(target))
        if element.tag in _ALTERNATIVES and len(element):
            self._inline(next((child for child in element if child.tag in _PREFERRED), element[0]), block)
            return
        if element.tag == "hi" and not len(element) and (script := _SCRIPT.search(element.get("rend") or "")):
            before, after = block.parts[-1] if block.parts else "", (element.tail or "")[:1]
            block.add(format_script(script[0], element.text or "", before, after))
            return
        is_formula = element.tag == "math"
        block.add(formula_text(element) if is_formula else element.text)
        for child in () if is_formula else element:
            if child.tag in _DEFERRED:
                block.deferred.append(child)
            elif child.tag in _SPLITTING and block.kind not in _UNSPLIT:
                self._end(block)
                self._block(child, block.depth)
            else:
                before, after = _AROUND.get(child.tag, ("", ""))
                block.add(before)
                self._inline(child, block)
                block.add(after)
            block.add(child.tail)

    def _end(self, block: _OpenBlock) -> None:
        self._write(block)
        self._write_deferred(block)

    def _write(self, block: _OpenBlock) -> None:
        text, is_item = block.text, block.kind == "item"
        if text:
            text = f"- {text}" if is_item and not _MARKER.match(text) else text
            self.writer.add(block.kind, text, block.level, places=block.places)
            if is_item:  # its text after a list within it is a paragraph
                block.kind, block.level = "paragraph", 0
        block.parts.clear()
        block.coords.clear()

    def _write_deferred(self, block: _OpenBlock) -> None:
        deferred, block.deferred = block.deferred, []
        for element in deferred:
            self._block(element, block.depth)

    def _list(self, element: Element, depth: int) -> None:
        self._nesting += 1
        self._contents(element, depth)
        self._end_label()
        self._nesting -= 1

    def _end_label(self) -> None:
        self.writer.add("item", self._label, self._nesting)
        self._label = ""

    def _list_label(self, element: Element, depth: int) -> None:
        if self._nesting:
            self._end_label()
            self._label = plain_text(element)
        else:
            self._text(element, depth)

    def _code(self, element: Element, _: int) -> None:
        self.writer.add("code", "".join(element.itertext()), places=_places(element.get("coords")))

    def _reference(self, element: Element, _: int) -> None:
        self.writer.add("reference", format_reference(element), places=_places(element.get("coords")))

    def _figure(self, element: Element, depth: int) -> None:
        heads = [child for child in element if child.tag in {"head", "label", "figDesc"}]
        title = " ".join("".join(child.itertext()) for child in heads if child.tag == "head")
        caption = _OpenBlock("caption", depth)
        for child in heads:
            label, digits = plain_text(child), "".join(filter(str.isdigit, title))
            # GROBID turns "Fig. 3 Fig. 4" into "34".
            if child.tag != "label" or not (label in title or (label.isdigit() and label in digits)):
                caption.add(" ")
                self._inline(child, caption)
                caption.own_coords = caption.own_coords or child.get("coords")
        coords = element.get("coords")
        caption.own_coords = caption.own_coords or (None if caption.coords else coords)
        self._write(caption)
        for table in element.findall("table") if coords else ():
            table.attrib.setdefault("coords", coords or "")
        self._contents(element, depth, skip=heads, kind="figure")
        self._write_deferred(caption)

    def _table(self, element: Element, depth: int) -> None:
        caption, block, rows = _OpenBlock("caption", depth), _OpenBlock("table", depth), element.findall("row")
        for child in element.findall("head"):
            self._inline(child, caption)
        self._end(caption)
        cells = [[self._cell(cell, block) for cell in row] for row in rows]
        heads = next((i for i, row in enumerate(rows) if row.get("role") != "label"), len(rows))
        self.writer.add("table", spanned_table([cells], heads or 1), places=_places(element.get("coords")))
        loose = [element.text, *(child.tail for child in element)]
        loose += [text for row in rows for text in (row.text, *(cell.tail for cell in row))]
        self.writer.add("paragraph", squeeze("".join(filter(None, loose))))
        for child in element:
            if child.tag not in {"head", "row"}:
                self._block(child, depth)
        self._write_deferred(block)

    def _cell(self, element: Element, block: _OpenBlock) -> Cell:
        block.parts.clear()
        self._inline(element, block)
        return Cell(block.text, rows=parse_span(element.get("rows")), columns=parse_span(element.get("cols")))


def _heads(element: Element) -> list[Element]:
    return [child for part in element.iter() if part.tag in _SECTIONS for child in part.findall("head")]


def _number(element: Element) -> str:
    """Return the number of a head, from GROBID or from the start of its text."""
    number = (element.get("n") or "").strip(" .):")
    return number if _NUMBER.fullmatch(number) else parse_heading(plain_text(element)).number


def _places(coords: str | None) -> tuple[Place, ...]:
    """Parse GROBID's coordinates ("page,x,y,width,height;..."), and join the boxes of lines, one for each column."""
    boxes = list[tuple[int, float, float, float, float]]()
    for text in (coords or "").split(";"):
        if not (match := _BOX.fullmatch(text.strip())):
            continue
        page = int(match["page"])
        left, top, width, height = map(float, match["box"][1:].split(","))
        right, bottom = left + width, top + height
        if boxes and boxes[-1][0] == page and _touch(boxes[-1][1:], (left, top, right, bottom)):
            _, a, b, c, d = boxes.pop()
            left, top, right, bottom = min(a, left), min(b, top), max(c, right), max(d, bottom)
        boxes.append((page, left, top, right, bottom))
    return tuple(Place(page, (round(a, 2), round(b, 2), round(c, 2), round(d, 2))) for page, a, b, c, d in boxes)


def _touch(above: tuple[float, ...], below: tuple[float, ...]) -> bool:
    """Return True if two boxes are in one column: one below the other, or in one line."""
    gap, height = below[1] - above[3], below[3] - below[1]
    is_below = min(above[2], below[2]) > max(above[0], below[0]) and below[3] >= above[1] and gap <= 2 * height
    return is_below or above[1] <= (below[1] + below[3]) / 2 <= above[3]
