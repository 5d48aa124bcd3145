"""Write the text of TEI, element by element."""

from __future__ import annotations

import re
from collections.abc import Callable, Collection, Iterable, Mapping
from typing import TYPE_CHECKING

from advchunk.readers.inline import scripted
from advchunk.readers.mathml import readable
from advchunk.readers.papers import SectionHeading, parse_heading
from advchunk.readers.tables import Cell, span, spanned_table
from advchunk.readers.tei.elements import every, tag_of, text_of
from advchunk.readers.tei.places import places_at
from advchunk.readers.tei.references import reference_of
from advchunk.readers.writing import Writer, squeezed
from advchunk.records import BlockKind, Place

if TYPE_CHECKING:
    from xml.etree.ElementTree import Element

_ID = "{http://www.w3.org/XML/1998/namespace}id"

_BOXES = frozenset(
    """abstract argument back body div div1 div2 div3 div4 div5 div6 div7 epigraph floatingText front group list listBibl
    postscript sp text titlePage""".split()  # noqa: SIM905
)
_SECTIONS = frozenset("abstract back body div div1 div2 div3 div4 div5 div6 div7 front listBibl".split())  # noqa: SIM905
_INLINE = frozenset(
    """abbr add anchor c cb choice corr date del emph expan foreign g gap gi gloss graphic hi ident idno lb measure
    mentioned milestone name num orgName orig pb pc persName placeName ptr ref reg rs s seg sic soCalled sup sub supplied
    surname term time title unclear w""".split()  # noqa: SIM905
)
_DIVIDES = frozenset({"eg", "floatingText", "list", "listBibl", "table"})  # the paragraph that they stand in
_WAITS = frozenset({"figure", "note"})  # until that paragraph has ended
_APART = frozenset(  # from the words around them
    "ab addrLine bibl cell div forename head item l label lg p row s surname".split()  # noqa: SIM905
)
_BREAKS = frozenset({"cb", "lb", "pb"})
_ALTERNATIVES = frozenset({"app", "choice"})  # of which one is read
_CHOSEN = frozenset({"corr", "expan", "lem", "reg"})
_SCRIPT = re.compile(r"\bsu[bp]")  # "superscript", "sup", "vertical-align:super"
_KINDS: Mapping[str, BlockKind] = {
    "bibl": "reference",
    "cit": "quote",
    "formula": "formula",
    "item": "item",
    "note": "footnote",
    "quote": "quote",
}
_TYPES = {"acknowledgement": "Acknowledgements", "availability": "Data availability"}  # of divisions that have no head
_WHOLE = frozenset({"caption", "heading", "table"})  # what nothing divides
_NUMBER = re.compile(r"(?:[0-9]{1,3}|[IVX]{1,5}|[A-Z])(?:\.[0-9]{1,3})*")
_MARKED = re.compile(r"[-*•·–◦▪‣]|\(?(?:\d{1,3}|[a-z]|[ivx]{1,5})[.)]", re.IGNORECASE)  # fmt: skip


class Line:
    """The text of a block, as it grows, where it stands on paper, and what waits for its end."""

    def __init__(self, kind: BlockKind, depth: int, coords: str | None = None, level: int = 0) -> None:
        self.kind, self.depth, self.own, self.level = kind, depth, coords, level
        self.parts, self.coords, self.waiting = list[str](), list[str](), list["Element"]()

    def say(self, text: str | None) -> None:
        """Add text."""
        if text:
            self.parts.append(text)

    @property
    def last(self) -> str:
        """The last character."""
        return self.parts[-1][-1] if self.parts else ""

    def __str__(self) -> str:
        return squeezed("".join(self.parts))

    @property
    def places(self) -> tuple[Place, ...]:
        """Those of the block, else of its sentences."""
        return places_at(self.own or ";".join(self.coords))


class Paper:
    """What is written of a TEI, element by element."""

    def __init__(self, root: Element) -> None:
        self.writer = Writer("tei")
        bodies = list(every(root, "body"))
        heads = [each for body in bodies for each in _heads(body)]
        self._roman = any(_number(each) in {"II", "III", "IV"} for each in heads)
        self._numbered = 2 * sum(bool(_number(each)) for each in heads) > len(heads)
        self._flat = all(len(_heads(child)) < 2 for body in bodies for child in body)
        self._in_body = False
        self._level, self._section = 0, parse_heading("")  # of the last heading of the body, and the last outermost one
        self._numbers = set[str]()  # of headings so far
        self._title = ""  # the last heading
        self._floats = dict[str, "Element"]()  # what GROBID has collected, by its id
        self._nesting, self._label = 0, ""  # of lists
        for abstract in every(root, "abstract"):
            self._headed(abstract, "Abstract")
            self._contents(abstract, 1)
        for text in (child for child in root if tag_of(child) == "text"):
            self._contents(text, 1)

    def _contents(
        self, element: Element, depth: int, *, without: Collection[Element] = (), kind: BlockKind = "paragraph"
    ) -> None:
        """Write what stands in an element: its blocks, and its loose text as blocks of a kind.

        ``depth`` is that of its head; what stands below that is one deeper.
        """
        name, passed = tag_of(element), frozenset(without)
        has_head = name in _SECTIONS and any(tag_of(child) == "head" for child in element)
        line = Line(kind, depth + has_head)
        line.say(element.text)
        for child in element:
            if (inside := tag_of(child)) in _INLINE:
                self._inline(child, line)
            elif child not in passed:
                self._end(line)
                if inside == "head" and has_head:
                    self._heading(child, depth)
                else:
                    if inside == "listBibl" and not has_head and self._title != "References":
                        self._headed(child, "References")
                    self._block(child, line.depth)
            line.say(child.tail)
        self._end(line)

    def _block(self, element: Element, depth: int) -> None:
        name = tag_of(element)
        if name in _WRITERS:
            _WRITERS[name](self, element, depth)
        elif name in _BOXES:
            self._contents(element, depth)
        else:
            self._line(element, depth)

    def _body(self, element: Element, depth: int) -> None:
        outer = self._in_body, self._floats
        collected = any(tag_of(child).startswith("div") for child in element)
        floats = [child for child in element if collected and tag_of(child) in _WAITS]
        self._in_body, self._level, self._floats = True, 0, {child.get(_ID, ""): child for child in floats}
        self._floats.pop("", None)
        if self._title:
            self._headed(element, "Main text")
        named = set(self._floats.values())
        self._contents(element, depth, without=floats)
        left = set(self._floats.values()) | set(floats) - named
        self._in_body, self._floats = outer
        for kind, title in (("figure", "Figures and tables"), ("note", "Notes")):
            for each in floats:
                if each in left and tag_of(each) == kind and _first_ink(each):
                    if self._title != title:
                        self._titled(title)
                    self._block(each, depth)

    def _division(self, element: Element, depth: int) -> None:
        kind = element.get("type", "")
        if kind and kind != "references" and not self._in_body:
            self._headed(element, _TYPES.get(kind) or kind.replace("_", " ").capitalize())
        self._contents(element, depth)

    def _headed(self, element: Element, title: str) -> None:
        """Write a heading for what says something, and has no head before it does."""
        if _first_ink(element) not in {"", "head"}:
            self._titled(title)

    def _titled(self, title: str, level: int = 1, places: Iterable[Place] = ()) -> None:
        self.writer.add("heading", title, level, places=places)
        self._title = title

    def _heading(self, element: Element, depth: int) -> None:
        line = Line("heading", depth, element.get("coords"))
        self._inline(element, line)
        text, number = str(line), squeezed(element.get("n") or "")
        said = text if text.startswith(number) else f"{number} {text}".strip()
        if said:
            level = self._level_of(_number(element), parse_heading(text), depth)
            if self._in_body:
                self._level = level
                self._section = parse_heading(text) if level == 1 else self._section
            self._titled(said, level, line.places)
        line.parts.clear()
        self._end(line)

    def _level_of(self, number: str, said: SectionHeading, depth: int) -> int:
        if number:
            parts = number.split(".")
            above = sum(".".join(parts[:count]) in self._numbers for count in range(1, len(parts)))
            lettered = self._roman and len(parts[0]) == 1 and parts[0].isalpha() and parts[0] not in "IVX"
            self._numbers.add(number)
            return max(depth, 1 + above + lettered)
        if not (self._in_body and self._flat and self._level):
            return depth
        names = self._section.names
        below = {
            "part": self._numbered or bool(set(said.names) & set(names)),
            "": self._numbered or names not in {(), ("Introduction",)},
        }
        return max(self._level, 2) if below.get(said.rank) else depth

    def _line(self, element: Element, depth: int) -> None:
        """Write a block of text, and what it is divided by or waits for its end."""
        kind = _KINDS.get(tag_of(element), "paragraph")
        line = Line(kind, depth, element.get("coords"), self._nesting if kind == "item" else 0)
        number = squeezed(element.get("n") or "") if kind == "footnote" else ""
        if number and not (text := squeezed("".join(element.itertext()))).startswith(number) and text:
            line.say(f"{number} ")
        if kind == "item":
            line.say(f"{self._label} " if self._label else None)
            self._label = ""
        self._inline(element, line)
        self._end(line)

    def _inline(self, element: Element, line: Line) -> None:
        name = tag_of(element)
        if name in _BREAKS and element.get("break") != "no":
            line.say(" ")
        elif name == "s":
            line.coords += filter(None, [element.get("coords")])
        elif name == "ref" and (found := self._floats.pop(element.get("target", "")[1:], None)) is not None:
            line.waiting.append(found)
        if self._special(element, line):
            return
        line.say(element.text)
        for child in element:
            inside = tag_of(child)
            if inside in _WAITS:
                line.waiting.append(child)
            elif inside in _DIVIDES and line.kind not in _WHOLE:
                self._end(line)
                self._block(child, line.depth)
            else:
                line.say(" " if inside in _APART else None)
                self._inline(child, line)
                line.say(" " if inside in _APART else None)
            line.say(child.tail)

    def _special(self, element: Element, line: Line) -> bool:
        """Write what is not said as it stands, and return whether an element is such: readings, formulas, powers."""
        name = tag_of(element)
        if name in _ALTERNATIVES and len(element):
            chosen = next((each for each in element if tag_of(each) in _CHOSEN), element[0])
            self._inline(chosen, line)
        elif name == "math":
            line.say(readable(element))
        elif name == "hi" and not len(element) and (script := _SCRIPT.search(element.get("rend") or "")):
            line.say(scripted(script[0], element.text or "", line.last, (element.tail or "")[:1]))
        else:
            return False
        return True

    def _end(self, line: Line) -> None:
        if text := str(line):
            marked = line.kind != "item" or _MARKED.match(text)
            self.writer.add(line.kind, text if marked else f"- {text}", line.level, places=line.places)
            if line.kind == "item":
                line.kind, line.level = "paragraph", 0  # what follows a list in it
        waiting, line.waiting = line.waiting, []
        line.parts.clear()
        line.coords.clear()
        for each in waiting:
            self._block(each, line.depth)

    def _list(self, element: Element, depth: int) -> None:
        self._nesting += 1
        self._contents(element, depth)
        self._end_label()
        self._nesting -= 1

    def _end_label(self) -> None:
        """Write a label that no item has followed."""
        self.writer.add("item", self._label, self._nesting)
        self._label = ""

    def _list_label(self, element: Element, depth: int) -> None:
        if self._nesting:
            self._end_label()
            self._label = text_of(element)
        else:
            self._line(element, depth)

    def _verbatim(self, element: Element, _: int) -> None:
        self.writer.add("code", "".join(element.itertext()), places=places_at(element.get("coords")))

    def _source(self, element: Element, _: int) -> None:
        self.writer.add("reference", reference_of(element), places=places_at(element.get("coords")))

    def _figure(self, element: Element, depth: int) -> None:
        """Write a caption, and then whatever else a figure has."""
        said = [child for child in element if tag_of(child) in {"head", "label", "figDesc"}]
        heading = " ".join("".join(child.itertext()) for child in said if tag_of(child) == "head")
        line = Line("caption", depth)
        for child in said:
            if tag_of(child) != "label" or not _repeats("".join(child.itertext()), heading):
                line.say(" ")
                self._inline(child, line)
                line.own = line.own or child.get("coords")
        line.own = line.own or (None if line.coords else element.get("coords"))
        waiting, line.waiting = line.waiting, []
        self._end(line)
        for child in element:
            if tag_of(child) == "table" and element.get("coords"):
                child.attrib.setdefault("coords", element.get("coords", ""))
        self._contents(element, depth, without=said, kind="figure")
        for each in waiting:
            self._block(each, depth)

    def _table(self, element: Element, depth: int) -> None:
        line = Line("caption", depth)
        for child in element:
            if tag_of(child) == "head":
                self._inline(child, line)
        self._end(line)
        rows = [child for child in element if tag_of(child) == "row"]
        cells, loose = Line("table", depth), Line("paragraph", depth)
        grid = [[self._cell(cell, cells) for cell in row] for row in rows]
        labels = next((i for i, row in enumerate(rows) if row.get("role") != "label"), len(rows))
        self.writer.add("table", spanned_table([grid], labels or 1), places=places_at(element.get("coords")))
        loose.parts = [element.text or "", *(child.tail or "" for child in element)]
        loose.parts += [said or "" for row in rows for said in (row.text, *(cell.tail for cell in row))]
        self._end(loose)
        for child in element:
            if tag_of(child) not in {"head", "row"}:
                self._block(child, depth)
        cells.parts.clear()
        self._end(cells)

    def _cell(self, element: Element, line: Line) -> Cell:
        line.parts.clear()
        self._inline(element, line)
        return Cell(str(line), span(element.get("cols")), span(element.get("rows")))


_WRITERS: Mapping[str, Callable[[Paper, Element, int], None]] = {
    "biblStruct": Paper._source,
    "body": Paper._body,
    "code": Paper._verbatim,
    "div": Paper._division,
    "div1": Paper._division,
    "eg": Paper._verbatim,
    "figure": Paper._figure,
    "label": Paper._list_label,
    "list": Paper._list,
    "table": Paper._table,
}


def _heads(element: Element) -> list[Element]:
    """Return the heads of sections."""
    return [child for each in element.iter() if tag_of(each) in _SECTIONS for child in each if tag_of(child) == "head"]


def _number(element: Element) -> str:
    """Return the number of a head: what GROBID has found, or what its text begins with."""
    given = (element.get("n") or "").strip(" .):")
    return given if _NUMBER.fullmatch(given) else parse_heading(text_of(element)).number


def _first_ink(element: Element) -> str:
    """Return the name of the element in which the first text stands, "head" for anything in one; "" without any."""
    if (element.text or "").strip():
        return tag_of(element)
    for child in element:
        if found := _first_ink(child):
            return "head" if tag_of(child) == "head" else found
        if (child.tail or "").strip():
            return tag_of(element)
    return ""


def _repeats(label: str, heading: str) -> bool:
    """Whether a label only says what the heading does: of "Fig. 3 Fig. 4" GROBID makes "34"."""
    label = squeezed(label)
    return label in heading or (label.isdigit() and label in "".join(filter(str.isdigit, heading)))
