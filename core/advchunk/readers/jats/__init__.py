"""Read articles in JATS, as PubMed Central and publishers hand them out, and in the NLM DTD before it.

Front matter is metadata. What a reader of the abstracts, the body and the back would see is in the text, in its order; but
that figures, tables and footnotes within a paragraph follow it.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Mapping
from itertools import chain, groupby, takewhile
from typing import Any
from xml.etree.ElementTree import Element

from advchunk.errors import ConfigurationError, require
from advchunk.readers import xml
from advchunk.readers.jats.front import metadata as front_matter
from advchunk.readers.jats.lines import cited, dotted, formula, piece, said
from advchunk.readers.tables import Cell, span, spanned_table
from advchunk.readers.writing import Writer, squeezed
from advchunk.records import BlockKind, Document

# Headings of what comes without a title: else it stood under the heading before it.
_UNTITLED: Mapping[str, str] = {
    "ack": "Acknowledgments",
    "app": "Appendix",
    "bio": "Biography",
    "floats-group": "Figures and tables",
    "floats-wrap": "Figures and tables",
    "fn-group": "Footnotes",
    "glossary": "Glossary",
    "notes": "Notes",
    "ref-list": "References",
    "response": "Response",
    "sub-article": "Supplementary article",
}
_ABSTRACTS: Mapping[str, str] = {"graphical": "Graphical abstract", "plain-language-summary": "Plain language summary"}
_PARTS = ("body", "floats-group", "floats-wrap", "back", "sub-article", "response")

_FLOATS = frozenset(
    [
        "boxed-text",
        "fig",
        "fig-group",
        "fn",
        "graphic",
        "media",
        "supplementary-material",
        "table-wrap",
        "table-wrap-group",
    ]
)
_ROMAN = ((50, "l"), (40, "xl"), (10, "x"), (9, "ix"), (5, "v"), (4, "iv"), (1, "i"))


def read(text: str, *, id: str = "", metadata: Mapping[str, Any] | None = None) -> Document:
    """Read one article: its abstracts, body, back matter, and the letters that come with it.

    Its metadata has what there is of ``title``, ``authors``, ``journal``, ``doi``, ``pmid``, ``pmcid``, ``published_at``,
    ``keywords``, ``license``, ``language`` and ``article_type``. Powers are raised where they would make another number,
    formulas are in TeX if the article has it, and tables in Markdown.

    Parameters
    ----------
    text : XML with one <article>, by itself or in what PubMed Central wraps it in.
    id : names the document; "" is its DOI, else its PMC id, else "pubmed:<pmid>".
    metadata : overrides what the article says.

    Raises
    ------
    ConfigurationError : no article or several (`articles` reads them all), or XML that cannot be read
        (`readers.xml.parse`).

    Examples
    --------
    >>> body = "<sec><label>1</label><title>Methods</title><p>We drank tea.</p></sec>"
    >>> document = read(f"<article><front/><body>{body}</body></article>")
    >>> [(block.kind, block.level, document.text[slice(*block.span)]) for block in document.blocks]
    [('heading', 1, '1 Methods'), ('paragraph', 0, 'We drank tea.')]
    """
    found = list(_articles(text))
    require(len(found) == 1, "JATS must have one article; several are read by readers.jats.articles", len(found))
    return _document(found[0], id, metadata or {})


def articles(text: str) -> list[Document]:
    """Read every article of a text, such as what PubMed Central's EFetch answers with.

    >>> [document.text for document in articles("<pmc-articleset><article><body><p>Tea.</p></body></article></pmc-articleset>")]
    ['Tea.']
    """
    return [_document(article, "", {}) for article in _articles(text)]


def _articles(text: str) -> Iterator[Element]:
    root = xml.parse(text)
    for element in root.iter():
        element.tag = element.tag.rpartition("}")[2]  # JATS has no namespace, but in what OAI-PMH answers with
    if next(root.iter("article"), None) is None:
        msg = f"JATS must have an <article>, got <{root.tag}> without one"
        raise ConfigurationError(msg)
    return root.iter("article")


def _document(article: Element, id: str, metadata: Mapping[str, Any]) -> Document:
    known = front_matter(article)
    name = known.get("doi") or known.get("pmcid") or (f"pubmed:{known['pmid']}" if "pmid" in known else "")
    reader = _Reader()
    reader.article(article, 1)
    return reader.writer.document(id or name, {**known, **metadata})


class _Reader:
    """Writes the blocks of an article. Levels are those of the headings to come; where they are 0, none come."""

    def __init__(self) -> None:
        self.writer = Writer("jats")
        self._kind: BlockKind = "paragraph"  # of the paragraphs here
        self._lists = 0
        self._before: tuple[BlockKind, int, str, bool] | None = None  # see `_begin`
        self._read: Mapping[str, Callable[[Element, int], None]] = {
            **dict.fromkeys(["sec", *(tag for tag in _UNTITLED if tag not in _PARTS)], self._section),
            **dict.fromkeys(_FLOATS - {"fn"} | {"chem-struct-wrap", "statement"}, self._captioned),
            **dict.fromkeys(("mixed-citation", "element-citation", "citation", "nlm-citation", "ref"), self._reference),
            **dict.fromkeys(("sub-article", "response"), self._letter),
            **dict.fromkeys(("array", "table"), self._table),
            **dict.fromkeys(("code", "preformat"), self._code),
            **dict.fromkeys(("def-list", "list"), self._list),
            **dict.fromkeys(("app-group", "body", "back", "def", "disp-formula-group", "index", "p", "sig-block"), self._flow),
            "alternatives": self._alternatives,
            "disp-formula": self._formula,
            "disp-quote": self._quote,
            "fn": self._footnote,
            "speech": self._speech,
            "table-wrap-foot": self._foot,
            "verse-group": self._verse,
        }  # fmt: skip

    def article(self, article: Element, level: int) -> None:
        for front in (each for tag in ("front", "front-stub") for each in article.findall(tag)):
            for abstract in (each for tag in ("abstract", "trans-abstract") for each in front.iter(tag)):
                kind = abstract.get("abstract-type", "")
                self._section(
                    abstract, level, _ABSTRACTS.get(kind) or kind.replace("-", " ").capitalize() or "Abstract"
                )
        for tag in _PARTS:
            for part in article.findall(tag):
                if tag in {"floats-group", "floats-wrap"}:
                    self._section(part, level, _UNTITLED[tag])
                else:
                    self._read[tag](part, level)

    def _letter(self, letter: Element, level: int) -> None:
        paths = ("front-stub/title-group/article-title", "front/article-meta/title-group/article-title")
        title = next((squeezed(said(each)) for path in paths for each in letter.iterfind(path)), "")
        self._heading(title or _UNTITLED[letter.tag], level)
        self.article(letter, level + 1)

    def _section(self, section: Element, level: int, untitled: str = "") -> None:
        heads = [each for tag in ("label", "title") if (each := section.find(tag)) is not None]
        self._heading(squeezed(" ".join(map(said, heads))) or untitled, level)
        self._flow(section, level + bool(level), heads)

    def _heading(self, line: str, level: int) -> None:
        """Write a heading; in a box it is a caption, for what follows the box does not stand under it."""
        self._finish()
        self.writer.add("heading" if level else "caption", line, level)

    def _flow(self, element: Element, level: int, without: Iterable[Element] = ()) -> None:
        """Read what an element has in it, be that lines, blocks, or both."""
        passed, floats = {id(each) for each in without}, list[Element]()
        line, touching = element.text or "", False
        for child in element:
            tag = child.tag
            if element.tag == "p" and tag in _FLOATS and child.get("position") != "anchor":
                floats.append(child)
            elif tag in self._read and id(child) not in passed and not (element.tag == "p" and _in_line(child)):
                self._paragraph(line)
                line = ""
                if element.tag == "back" and tag in _UNTITLED:
                    self._section(child, level, _UNTITLED[tag])
                else:
                    self._read[tag](child, level)
            elif id(child) not in passed:
                line += piece(child, line, touching)
            tail = child.tail or ""
            line, touching = line + tail, not tail.strip()
        self._paragraph(line)
        for each in floats:
            self._read[each.tag](each, level)

    def _paragraph(self, line: str) -> None:
        line, kind, depth = squeezed(line), self._kind, 0
        if line and self._before:
            kind, depth, start, _ = self._before
            line, self._before = f"{start} {line}", None
        self.writer.add(kind, line, depth)

    def _block(self, kind: BlockKind, line: str) -> None:
        self._finish()
        self.writer.add(kind, line)

    def _begin(self, kind: BlockKind, start: str, level: int = 0, *, written: bool = True) -> None:
        """Have the next paragraph begin with a label, which stands by itself if none comes, and it was ``written``."""
        self._finish()
        self._before = (kind, level, start, written) if start else None

    def _finish(self) -> None:
        if self._before and self._before[3]:
            self.writer.add(self._before[0], self._before[2], self._before[1])
        self._before = None

    def _within(self, element: Element, kind: BlockKind, without: Iterable[Element] = ()) -> None:
        """Read what an element has in it as of a kind, and without headings."""
        outer, self._kind = self._kind, kind
        self._flow(element, 0, without)
        self._finish()
        self._kind = outer

    def _captioned(self, element: Element, _: int) -> None:
        heads = [each for each in element if each.tag in {"label", "title", "caption"}]
        titles = [title for each in heads for title in (each.findall("title") if each.tag == "caption" else [each])]
        kind = self._kind if element.tag in {"boxed-text", "statement"} else "caption"
        self._begin(self._kind if element.tag == "statement" else "caption", dotted(titles))
        for caption in heads:
            if caption.tag == "caption":
                self._within(caption, "caption", titles)
        if element.tag != "statement":
            self._finish()
        self._within(element, kind, heads)
        for each in element:
            if each.tag in {"alt-text", "long-desc"}:
                self.writer.add("figure", squeezed(said(each)))

    def _alternatives(self, element: Element, level: int) -> None:
        """Read one of several forms of the same: one that is text."""
        form = next((each for tag in ("table", "tex-math", "math") for each in element.findall(tag)), None)
        if form is None:
            self._flow(element, level)
        else:
            self._read.get(form.tag, self._formula)(form, level)

    def _table(self, table: Element, _: int) -> None:
        found = [each for child in table for each in (child if child.tag == "tgroup" else [child])]
        parts = list[list[Element]]()  # rows that stand in the table itself are one
        for is_row, run in groupby(found, lambda each: each.tag == "tr"):
            together = list(run)
            parts += [together] if is_row else map(_rows, together)
        marked = sum(len(_rows(each)) for each in found if each.tag == "thead")
        titles = takewhile(lambda row: all(cell.tag == "th" for cell in row), chain.from_iterable(parts))
        columns = {each.get("colname"): i for i, each in enumerate(table.iter("colspec"))}
        cells = [[[_cell(cell, columns) for cell in row] for row in part] for part in parts]
        self._block("table", spanned_table(cells, marked or sum(1 for _ in titles)))

    def _foot(self, foot: Element, _: int) -> None:
        self._within(foot, "footnote")

    def _footnote(self, note: Element, _: int) -> None:
        heads = [each for each in note if each.tag in {"label", "title"}]
        self._begin("footnote", squeezed(" ".join(map(said, heads))))
        self._within(note, "footnote", heads)

    def _quote(self, quote: Element, _: int) -> None:
        self._finish()
        self._within(quote, "quote")

    def _formula(self, element: Element, _: int) -> None:
        self._block("formula", squeezed(formula(element)))

    def _code(self, code: Element, _: int) -> None:
        self._block("code", said(code))

    def _speech(self, speech: Element, level: int) -> None:
        speakers = speech.findall("speaker")
        self._begin(self._kind, squeezed(" ".join(map(said, speakers))).removesuffix(":") + ":" if speakers else "")
        self._flow(speech, level, speakers)
        self._finish()

    def _verse(self, verse: Element, _: int) -> None:
        self._block("quote", "\n".join(squeezed(said(each)) for each in verse))

    def _list(self, found: Element, level: int) -> None:
        self._lists += 1
        count = 0
        for each in found:
            if each.tag in {"list-item", "def-item"}:
                count += 1
                heads = [head for head in each if head.tag in {"label", "term"}]
                line = squeezed(" ".join(map(said, heads)))
                if each.tag == "def-item" and line:
                    line += ":"
                self._begin("item", line or _marker(found, count), self._lists, written=bool(line))
                self._flow(each, 0, heads)
                self._finish()
            elif each.tag in self._read:
                self._read[each.tag](each, level)
            else:
                self._paragraph(piece(each, ""))
        self._lists -= 1

    def _reference(self, reference: Element, _: int) -> None:
        if reference.tag != "ref":
            self._block("reference", squeezed(cited(reference)))
            return
        line = reference.text or ""
        for each in reference:
            name = squeezed(said(each)) if each.tag == "label" else cited(each)
            line += f"{name}{'.' if each.tag == 'label' and name.isdigit() else ''} {each.tail or ''}"
        self._block("reference", squeezed(line))


def _in_line(element: Element) -> bool:
    """Return whether what a paragraph has in it stands in its line: code may, and formulas that have alternatives."""
    if element.tag == "code":
        return "\n" not in said(element).strip()
    return element.tag == "alternatives" and element.find("table") is None


def _rows(part: Element) -> list[Element]:
    return [each for each in part if each.tag in {"tr", "row"}]


def _cell(cell: Element, names: Mapping[str | None, int]) -> Cell:
    """Return a cell of HTML's table model, or of CALS's."""
    first, last = cell.get("namest"), cell.get("nameend")
    columns = span(cell.get("colspan"))
    if first in names and last in names:
        columns = max(names[last] - names[first] + 1, 1)
    return Cell(said(cell), columns, max(span(cell.get("rowspan")), span(cell.get("morerows"), 0) + 1))


def _marker(found: Element, count: int) -> str:
    """Return what an item of a list starts with, if that is left to who sets it.

    >>> _marker(Element("list", {"list-type": "roman-lower"}), 4), _marker(Element("list"), 4)
    ('iv.', '-')
    """
    order, _, case = found.get("list-type", "bullet").partition("-")
    if order not in {"order", "alpha", "roman"}:
        return "" if order == "simple" else "-"
    line = str(count)
    if order == "alpha" and count <= 26:
        line = chr(ord("a") + count - 1)
    elif order == "roman" and count < 90:
        line, rest = "", count
        for value, letters in _ROMAN:
            line, rest = line + letters * (rest // value), rest % value
    return f"{line.upper() if case == 'upper' else line}."
