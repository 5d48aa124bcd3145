"""Read TEI: papers as GROBID writes them, and other texts in the TEI's markup.

References
----------
TEI Consortium, "TEI P5: Guidelines for Electronic Text Encoding and Interchange". GROBID's customisation of it, and its
coordinates: https://grobid.readthedocs.io.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Collection, Iterable, Iterator, Mapping
from itertools import chain
from typing import TYPE_CHECKING, Any

from advchunk.errors import ConfigurationError, require
from advchunk.readers import xml
from advchunk.readers.inline import scripted
from advchunk.readers.mathml import readable
from advchunk.readers.papers import Head, head
from advchunk.readers.tables import Cell, span, spanned_table
from advchunk.readers.writing import Writer, squeezed
from advchunk.records import BlockKind, Document, Place

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
_TAKEN = frozenset({"author", "biblScope", "date", "editor", "idno", "ptr", "title"})  # of references, as it is
_BOX = re.compile(r"(?P<page>[0-9]{1,6})(?P<box>(?:,-?[0-9]{1,9}(?:\.[0-9]{1,9})?){4})")
_NUMBER = re.compile(r"(?:[0-9]{1,3}|[IVX]{1,5}|[A-Z])(?:\.[0-9]{1,3})*")
_ISO = re.compile(r"[0-9]{4}(?:-[0-9]{2}(?:-[0-9]{2})?)?")
_MARKED = re.compile(r"[-*•·–◦▪‣]|\(?(?:\d{1,3}|[a-z]|[ivx]{1,5})[.)]", re.IGNORECASE)  # fmt: skip


def read(text: str, *, id: str = "", metadata: Mapping[str, Any] | None = None) -> Document:
    """Read one TEI document, such as GROBID's ``processFulltextDocument`` returns.

    All that ``<text>`` says is in some block: headings with their number, paragraphs, list items, quotes, formulae, code,
    captions, tables (as pipe tables), footnotes, references. The abstract comes first. Of the header, title, authors,
    DOI, date, journal and keywords become metadata; affiliations, addresses, licence and notes of submission do not.

    What GROBID collects at the end of the body is put back: figures, tables and footnotes stand after the paragraph that
    first refers to them. Those that none refers to are headed "Figures and tables", or "Notes". Other headings that no
    TEI has: "Abstract", "References", the type of a division of the back matter without head, and "Main text" where an
    abstract is followed by text without head.

    A heading's level is the depth of its number ("2.1" has 2, if there was a "2") or of its division, whichever is more.
    GROBID's divisions are all side by side; there a head without number stands under the numbered one before it, or under
    Methods, Results or Discussion, unless it heads a section of papers itself (`readers.papers`).

    Of two readings (``<choice>``, ``<app>``) the one that is corrected, regular, written out or the editor's is read. Powers
    are raised where they would make another number.

    A reference is one line: as it was printed, if GROBID says so, else put together from its parts, without ISSN and short
    names of journals. Where a block or its sentences have ``coords``, it has ``places``: a box for each column.

    Parameters
    ----------
    id : names the document; "" for its DOI ("doi:10.1/x") or the checksum of its PDF ("md5:..."), if it has one.
    metadata : overrides what the header says: ``title``, ``authors``, ``doi``, ``published_at``, ``journal``, ``keywords``.

    Raises
    ------
    ConfigurationError : no TEI, several texts (a ``teiCorpus``), or XML that cannot be read (see `readers.xml.parse`).

    Examples
    --------
    >>> document = read('<TEI><text><body><div><head n="2">Results</head><p>Weight fell.</p></div></body></text></TEI>')
    >>> [(block.kind, block.level, document.text[slice(*block.span)]) for block in document.blocks]
    [('heading', 1, '2 Results'), ('paragraph', 0, 'Weight fell.')]
    """
    rule = "a text must be TEI, such as GROBID makes of a PDF"
    require(text.lstrip("\ufeff \t\r\n").startswith("<"), rule, text[:60])
    root = xml.parse(text)
    if _name(root) == "teiCorpus":
        several = [child for child in root if _name(child) == "TEI"]
        require(len(several) == 1, "a document must be one TEI text, not a teiCorpus of several", len(several))
        root = several[0]
    if _name(root) not in {"TEI", "TEI.2"}:
        msg = f"{rule}, got <{_name(root)}>"
        raise ConfigurationError(msg)
    known, own = _header(root)
    return _Paper(root).writer.document(id or own, {**known, **(metadata or {})})


class _Line:
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
        return _places(self.own or ";".join(self.coords))


class _Paper:
    """What is written of a TEI, element by element."""

    def __init__(self, root: Element) -> None:
        self.writer = Writer("tei")
        bodies = list(_every(root, "body"))
        heads = [each for body in bodies for each in _heads(body)]
        self._roman = any(_number(each) in {"II", "III", "IV"} for each in heads)
        self._numbered = 2 * sum(bool(_number(each)) for each in heads) > len(heads)
        self._flat = all(len(_heads(child)) < 2 for body in bodies for child in body)
        self._in_body = False
        self._level, self._section = 0, head("")  # of the last heading of the body, and the last outermost one
        self._numbers = set[str]()  # of headings so far
        self._title = ""  # the last heading
        self._floats = dict[str, "Element"]()  # what GROBID has collected, by its id
        self._nesting, self._label = 0, ""  # of lists
        for abstract in _every(root, "abstract"):
            self._headed(abstract, "Abstract")
            self._contents(abstract, 1)
        for text in (child for child in root if _name(child) == "text"):
            self._contents(text, 1)

    def _contents(
        self, element: Element, depth: int, *, without: Collection[Element] = (), kind: BlockKind = "paragraph"
    ) -> None:
        """Write what stands in an element: its blocks, and its loose text as blocks of a kind.

        ``depth`` is that of its head; what stands below that is one deeper.
        """
        name, passed = _name(element), frozenset(without)
        has_head = name in _SECTIONS and any(_name(child) == "head" for child in element)
        line = _Line(kind, depth + has_head)
        line.say(element.text)
        for child in element:
            if (inside := _name(child)) in _INLINE:
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
        name = _name(element)
        if name in _WRITERS:
            _WRITERS[name](self, element, depth)
        elif name in _BOXES:
            self._contents(element, depth)
        else:
            self._line(element, depth)

    def _body(self, element: Element, depth: int) -> None:
        outer = self._in_body, self._floats
        collected = any(_name(child).startswith("div") for child in element)
        floats = [child for child in element if collected and _name(child) in _WAITS]
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
                if each in left and _name(each) == kind and _first_ink(each):
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
        line = _Line("heading", depth, element.get("coords"))
        self._inline(element, line)
        text, number = str(line), squeezed(element.get("n") or "")
        said = text if text.startswith(number) else f"{number} {text}".strip()
        if said:
            level = self._level_of(_number(element), head(text), depth)
            if self._in_body:
                self._level = level
                self._section = head(text) if level == 1 else self._section
            self._titled(said, level, line.places)
        line.parts.clear()
        self._end(line)

    def _level_of(self, number: str, said: Head, depth: int) -> int:
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
        kind = _KINDS.get(_name(element), "paragraph")
        line = _Line(kind, depth, element.get("coords"), self._nesting if kind == "item" else 0)
        number = squeezed(element.get("n") or "") if kind == "footnote" else ""
        if number and not (text := squeezed("".join(element.itertext()))).startswith(number) and text:
            line.say(f"{number} ")
        if kind == "item":
            line.say(f"{self._label} " if self._label else None)
            self._label = ""
        self._inline(element, line)
        self._end(line)

    def _inline(self, element: Element, line: _Line) -> None:
        name = _name(element)
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
            inside = _name(child)
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

    def _special(self, element: Element, line: _Line) -> bool:
        """Write what is not said as it stands, and return whether an element is such: readings, formulae, powers."""
        name = _name(element)
        if name in _ALTERNATIVES and len(element):
            chosen = next((each for each in element if _name(each) in _CHOSEN), element[0])
            self._inline(chosen, line)
        elif name == "math":
            line.say(readable(element))
        elif name == "hi" and not len(element) and (script := _SCRIPT.search(element.get("rend") or "")):
            line.say(scripted(script[0], element.text or "", line.last, (element.tail or "")[:1]))
        else:
            return False
        return True

    def _end(self, line: _Line) -> None:
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
            self._label = _said(element)
        else:
            self._line(element, depth)

    def _verbatim(self, element: Element, _: int) -> None:
        self.writer.add("code", "".join(element.itertext()), places=_places(element.get("coords")))

    def _source(self, element: Element, _: int) -> None:
        self.writer.add("reference", _reference(element), places=_places(element.get("coords")))

    def _figure(self, element: Element, depth: int) -> None:
        """Write a caption, and then whatever else a figure has."""
        said = [child for child in element if _name(child) in {"head", "label", "figDesc"}]
        heading = " ".join("".join(child.itertext()) for child in said if _name(child) == "head")
        line = _Line("caption", depth)
        for child in said:
            if _name(child) != "label" or not _repeats("".join(child.itertext()), heading):
                line.say(" ")
                self._inline(child, line)
                line.own = line.own or child.get("coords")
        line.own = line.own or (None if line.coords else element.get("coords"))
        waiting, line.waiting = line.waiting, []
        self._end(line)
        for child in element:
            if _name(child) == "table" and element.get("coords"):
                child.attrib.setdefault("coords", element.get("coords", ""))
        self._contents(element, depth, without=said, kind="figure")
        for each in waiting:
            self._block(each, depth)

    def _table(self, element: Element, depth: int) -> None:
        line = _Line("caption", depth)
        for child in element:
            if _name(child) == "head":
                self._inline(child, line)
        self._end(line)
        rows = [child for child in element if _name(child) == "row"]
        cells, loose = _Line("table", depth), _Line("paragraph", depth)
        grid = [[self._cell(cell, cells) for cell in row] for row in rows]
        labels = next((i for i, row in enumerate(rows) if row.get("role") != "label"), len(rows))
        self.writer.add("table", spanned_table([grid], labels or 1), places=_places(element.get("coords")))
        loose.parts = [element.text or "", *(child.tail or "" for child in element)]
        loose.parts += [said or "" for row in rows for said in (row.text, *(cell.tail for cell in row))]
        self._end(loose)
        for child in element:
            if _name(child) not in {"head", "row"}:
                self._block(child, depth)
        cells.parts.clear()
        self._end(cells)

    def _cell(self, element: Element, line: _Line) -> Cell:
        line.parts.clear()
        self._inline(element, line)
        return Cell(str(line), span(element.get("cols")), span(element.get("rows")))


_WRITERS: Mapping[str, Callable[[_Paper, Element, int], None]] = {
    "biblStruct": _Paper._source,
    "body": _Paper._body,
    "code": _Paper._verbatim,
    "div": _Paper._division,
    "div1": _Paper._division,
    "eg": _Paper._verbatim,
    "figure": _Paper._figure,
    "label": _Paper._list_label,
    "list": _Paper._list,
    "table": _Paper._table,
}


# Parts of it.


def _name(element: Element) -> str:
    return element.tag.rpartition("}")[2]


def _every(element: Element, name: str) -> Iterator[Element]:
    return (each for each in element.iter() if _name(each) == name)


def _said(element: Element) -> str:
    return squeezed("".join(element.itertext()))


def _heads(element: Element) -> list[Element]:
    """Return the heads of sections."""
    return [child for each in element.iter() if _name(each) in _SECTIONS for child in each if _name(child) == "head"]


def _number(element: Element) -> str:
    """Return the number of a head: what GROBID has found, or what its text begins with."""
    given = (element.get("n") or "").strip(" .):")
    return given if _NUMBER.fullmatch(given) else head(_said(element)).number


def _first_ink(element: Element) -> str:
    """Return the name of the element in which the first text stands, "head" for anything in one; "" without any."""
    if (element.text or "").strip():
        return _name(element)
    for child in element:
        if found := _first_ink(child):
            return "head" if _name(child) == "head" else found
        if (child.tail or "").strip():
            return _name(element)
    return ""


def _repeats(label: str, heading: str) -> bool:
    """Whether a label only says what the heading does: of "Fig. 3 Fig. 4" GROBID makes "34"."""
    label = squeezed(label)
    return label in heading or (label.isdigit() and label in "".join(filter(str.isdigit, heading)))


def _places(coords: str | None) -> tuple[Place, ...]:
    """Read GROBID's coordinates ("page,x,y,width,height;..."): boxes of lines become one for each column."""
    boxes = list[tuple[int, float, float, float, float]]()
    for said in (coords or "").split(";"):
        if not (match := _BOX.fullmatch(said.strip())):
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
    """Whether two boxes stand in one column: one below the other, or in one line."""
    share = min(above[2], below[2]) > max(above[0], below[0])
    gap = below[1] - above[3]
    height = below[3] - below[1]
    return (share and below[3] >= above[1] and gap <= 2 * height) or (above[1] <= (below[1] + below[3]) / 2 <= above[3])


# References and the header.


def _reference(source: Element) -> str:
    """Return a reference in one line."""
    printed = next((_said(note) for note in _every(source, "note") if note.get("type") == "raw_reference"), "")
    ids = list(dict.fromkeys(filter(None, map(_identifier, _every(source, "idno")))))
    if printed:
        return " ".join([printed, *(each for each in ids if each.startswith("doi:") and each[4:] not in printed)])
    people = [[_person(each) for each in _every(source, role)] for role in ("author", "editor")]
    authors, editors = (", ".join(filter(None, each)) for each in people)
    date = next(filter(None, map(_date, _every(source, "date"))), "")
    titles = dict.fromkeys(_said(each) for each in _every(source, "title") if each.get("type") != "abbrev")
    *others, last = [*titles] or [""]
    scopes = {each.get("unit", ""): _said(each) or _range(each) for each in _every(source, "biblScope")}
    issue = scopes.pop("volume", "") + (f"({scopes.pop('issue')})" if scopes.get("issue") else "")
    issue = ": ".join(filter(None, [issue, scopes.pop("page", "")]))
    links = [each.get("target", "") for each in _every(source, "ptr")]
    pieces = [
        f"{authors} ({date})" if authors and date else authors or date,
        *others,
        f"{last} {issue}",
        f"Edited by {editors}" if editors else "",
        *(f"{unit} {said}" for unit, said in scopes.items()),
        *_rest(source),
        *ids,
        *links,
    ]
    return " ".join(piece if piece[-1] in ".?!" else f"{piece}." for piece in map(squeezed, pieces) if piece)


def _rest(element: Element) -> Iterator[str]:
    """Yield what a reference says besides."""
    for each in element:
        if _name(each) not in _TAKEN:
            yield (each.text or "") if len(each) else _said(each)
            yield from _rest(each)
        yield each.tail or ""


def _identifier(element: Element) -> str:
    kind, said = element.get("type", ""), _said(element)
    if not said or "ISSN" in kind.upper():
        return ""
    kind = "doi" if kind.upper() == "DOI" else kind
    return f"{kind}:{said}" if kind and not said.casefold().startswith(f"{kind}:".casefold()) else said


def _range(scope: Element) -> str:
    """Return the pages of a reference, whose element has no text if they are several."""
    return "–".join(dict.fromkeys(filter(None, [scope.get("from"), scope.get("to")])))


def _date(element: Element) -> str:
    """Return a date in ISO 8601, as far as it goes, or as it is printed."""
    return element.get("when") or _said(element)


def _person(element: Element) -> str:
    """Return a name with its parts in the order in which they are said."""
    named = next(_every(element, "persName"), element)
    parts = {
        part: [_said(each) for each in _every(named, part)] for part in ("forename", "nameLink", "surname", "genName")
    }
    if any(parts.values()):
        return " ".join(chain.from_iterable(parts.values()))
    return _said(named) if _name(named) == "persName" or not len(named) else squeezed(named.text or "")


def _header(root: Element) -> tuple[dict[str, str], str]:
    """Return what the header says, and the name that the document has by it."""
    header = next(_every(root, "teiHeader"), None)
    if header is None:
        return {}, ""

    def within(*path: str) -> list[Element]:
        found = [header]
        for name in path:
            found = [each for above in found for each in _every(above, name)]
        return found

    def first(said: Iterable[str]) -> str:
        return next(filter(None, said), "")

    papers = within("titleStmt") + within("sourceDesc", "analytic") + within("sourceDesc", "monogr")
    title = first(_main(each) for each in papers)
    authors = first(
        "; ".join(filter(None, map(_person, _every(each, "author"))))
        for each in [*within("sourceDesc", "analytic"), *within("titleStmt"), *within("sourceDesc", "monogr")]
    )
    ids = {each.get("type", "").upper(): _said(each) for each in within("idno")}
    dates = [*within("publicationStmt", "date"), *within("sourceDesc", "imprint", "date")]
    journals = [each for each in within("sourceDesc", "monogr", "title") if each.get("level") == "j"]
    terms = [_said(each) for each in within("keywords", "term")] or [_said(each) for each in within("keywords")]
    published = (_ISO.search(_date(each)) for each in dates)
    known = {
        "title": title,
        "authors": authors,
        "doi": ids.get("DOI", ""),
        "published_at": first(match[0] for match in published if match),
        "journal": first(_said(each) for each in journals if each.get("type") != "abbrev"),
        "keywords": "; ".join(filter(None, terms)),
    }
    own = f"doi:{ids['DOI']}" if ids.get("DOI") else f"md5:{ids['MD5']}" if ids.get("MD5") else ""
    return {key: said for key, said in known.items() if said}, own


def _main(paper: Element) -> str:
    """Return the main title of a paper, and what stands under it."""
    titles = [each for each in paper if _name(each) == "title" and each.get("type") != "abbrev" and _said(each)]
    main = next((each for each in titles if each.get("type") == "main"), next(iter(titles), None))
    return ": ".join(_said(each) for each in titles if each is main or each.get("type") == "sub")
