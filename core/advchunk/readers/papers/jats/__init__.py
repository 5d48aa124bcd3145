"""Read articles in JATS, the format of PubMed Central and publishers, and in the NLM DTD before it.

Front matter becomes metadata; addresses, histories and counts are dropped. The text has everything visible in the
abstracts, the body and the back matter, in its order, except that figures, tables and footnotes within a paragraph
follow it; then the notes of the front matter: author notes, funding, and statements such as on data availability.
"""

from collections.abc import Callable, Iterable, Mapping
from itertools import chain, groupby
from typing import Any
from xml.etree.ElementTree import Element

from advchunk.errors import require
from advchunk.readers.counting import format_count
from advchunk.readers.papers.jats import lines
from advchunk.readers.papers.jats.front import article_metadata
from advchunk.readers.table_layout import Cell, count_heads, parse_span, spanned_table
from advchunk.readers.writing import Writer, squeeze
from advchunk.readers.xml import parse_xml
from advchunk.records import BlockKind, Document

# Headings of parts without a title, which would otherwise fall under the previous heading.
_TITLES: Mapping[str, str] = lines.ELEMENTS["titles"]
_PARTS = ("body", "floats-group", "floats-wrap", "back", "front", "front-stub", "sub-article", "response")
_CELLS = frozenset({"td", "th", "entry"})
_FLOATS = frozenset(lines.ELEMENTS["floats"])


def read(text: str, *, id: str = "", metadata: Mapping[str, Any] | None = None) -> Document:
    """Read one article: its abstracts, body, back matter, and the letters published with it.

    The metadata has ``title``, ``authors``, ``journal``, ``doi``, ``pmid``, ``pmcid``, ``published_at``, ``keywords``,
    ``license``, ``language`` and ``article_type``, where the article has them. Exponents are superscript where digits
    would change a number, formulas are in TeX if the article has it, and tables are in Markdown. The id is by default
    its DOI, else its PMC id, else "pubmed:<pmid>". Raise `ConfigurationError` if there is no article, or several (use
    `read_articles`), or the XML is invalid (`parse_xml`).
    """
    articles = _parse_articles(text)
    require(len(articles) == 1, "JATS must have one article; jats.read_articles reads several", len(articles))
    return _document(articles[0], id, metadata or {})


def read_articles(text: str) -> list[Document]:
    """Read every article of a text, such as a response of PubMed Central's EFetch."""
    return [_document(article, "", {}) for article in _parse_articles(text)]


def _parse_articles(text: str) -> list[Element]:
    root = parse_xml(text, namespaces=False)  # responses of OAI-PMH have one
    articles = list(root.iter("article"))
    require(bool(articles), "JATS must have an <article>", f"<{root.tag}> without one")
    return articles


def _document(article: Element, id: str, metadata: Mapping[str, Any]) -> Document:
    own = article_metadata(article)
    name = own.get("doi") or own.get("pmcid") or (f"pubmed:{own['pmid']}" if "pmid" in own else "")
    reader = _Reader()
    reader.article(article, 1)
    return reader.writer.document(id or name, {**own, **metadata})


class _Reader:
    """Writes an article. Levels are those of the headings below; at level 0 there are none."""

    def __init__(self) -> None:
        self.writer = Writer("jats")
        self._kind: BlockKind = "paragraph"  # of paragraphs here
        self._nesting = 0  # of lists
        self._readers: Mapping[str, Callable[[Element, int], None]] = {
            tag: getattr(self, f"_{name}") for name, tags in lines.ELEMENTS["rules"].items() for tag in tags
        }

    def article(self, article: Element, level: int) -> None:
        for front in chain(article.findall("front"), article.findall("front-stub")):
            for abstract in chain(front.iter("abstract"), front.iter("trans-abstract")):
                kind = abstract.get("abstract-type", "")
                title = lines.ELEMENTS["abstracts"].get(kind) or kind.replace("-", " ").capitalize() or "Abstract"
                self._section(abstract, level, title)
        others = [part for part in article if part.tag not in {*_PARTS, "processing-meta"}]
        for part in (*(part for tag in _PARTS for part in article.findall(tag)), *others):
            if part.tag in {"floats-group", "floats-wrap"}:
                self._section(part, level, _TITLES[part.tag])
            elif part.tag in {"front", "front-stub"}:
                self._front_notes(part, level)
            else:
                self._readers.get(part.tag, self._flow)(part, level)

    def _front_notes(self, front: Element, level: int) -> None:
        for notes in chain(front.iter("author-notes"), front.iter("notes"), front.iter("funding-statement")):
            self._section(notes, level, _TITLES[notes.tag])
        for custom in front.iter("custom-meta"):
            content = custom.find("meta-value")
            if content is not None and not lines.label_text([content]).isdigit():  # others are for machines
                self._heading(lines.label_text(custom.findall("meta-name")[:1]), level)
                self._flow(content, level + 1)

    def _letter(self, letter: Element, level: int) -> None:
        paths = ("front-stub/title-group/article-title", "front/article-meta/title-group/article-title")
        title = next((lines.label_text([title]) for path in paths for title in letter.iterfind(path)), "")
        self._heading(title or _TITLES[letter.tag], level)
        self.article(letter, level + 1)

    def _section(self, section: Element, level: int, default_title: str = "") -> None:
        heads = [head for tag in ("label", "title") if (head := section.find(tag)) is not None]
        self._heading(lines.label_text(heads) or default_title, level)
        self._flow(section, level + bool(level), heads)

    def _heading(self, text: str, level: int) -> None:
        """Write a heading, or a caption in a box, since text after the box does not belong under it."""
        self.writer.add("heading" if level else "caption", text, level)

    def _flow(self, element: Element, level: int, skip: Iterable[Element] = ()) -> None:
        """Read the content of an element: text, blocks, or both."""
        skipped, floats, in_paragraph = {id(child) for child in skip}, list[Element](), element.tag == "p"
        line, touching = element.text or "", False
        for child in element:
            tag = child.tag
            if in_paragraph and tag in _FLOATS and child.get("position") != "anchor":
                floats.append(child)
            elif id(child) not in skipped:
                if tag in self._readers and not (in_paragraph and _is_inline(child)):
                    self._paragraph(line)
                    line = ""
                    if element.tag == "back" and tag in _TITLES:
                        self._section(child, level, _TITLES[tag])
                    else:
                        self._readers[tag](child, level)
                else:
                    line += lines.child_text(child, line, touching)
            tail = child.tail or ""
            line, touching = line + tail, not tail.strip()
        self._paragraph(line)
        for child in floats:
            self._readers[child.tag](child, level)

    def _paragraph(self, text: str) -> None:
        self.writer.add_paragraph(self._kind, squeeze(text))

    def _nested(self, element: Element, kind: BlockKind, skip: Iterable[Element] = ()) -> None:
        """Read the content of an element as blocks of a kind, without headings."""
        outer, self._kind = self._kind, kind
        self._flow(element, 0, skip)
        self.writer.finish()
        self._kind = outer

    def _captioned(self, element: Element, _: int) -> None:
        heads = [child for child in element if child.tag in {"label", "title", "caption"}]
        titles = [title for head in heads for title in (head.findall("title") if head.tag == "caption" else [head])]
        starts, is_statement = (lines.label_text([title]) for title in titles), element.tag == "statement"
        self.writer.begin(lines.punctuated(starts, ".:;!?—–"), self._kind if is_statement else "caption")
        for head in heads:
            if head.tag == "caption":
                self._nested(head, "caption", titles)
        if not is_statement:
            self.writer.finish()
        self._nested(element, self._kind if is_statement or element.tag == "boxed-text" else "caption", heads)
        for child in element:
            if child.tag in {"alt-text", "long-desc"}:
                self.writer.add("figure", lines.label_text([child]))

    def _alternatives(self, element: Element, level: int) -> None:
        form = next((form for tag in ("table", "tex-math", "math") for form in element.findall(tag)), None)
        tag = "p" if form is None else "table" if form.tag == "table" else "disp-formula"
        self._readers[tag](element if form is None else form, level)

    def _table(self, table: Element, _: int) -> None:
        children = [part for child in table for part in (child if child.tag == "tgroup" else [child])]
        parts = list[list[Element]]()  # rows directly in the table are one
        for is_row, run in groupby(children, lambda child: child.tag == "tr"):
            elements = list(run)
            parts += [elements] if is_row else map(_rows, elements)
        columns = {spec.get("colname"): i for i, spec in enumerate(table.iter("colspec"))}
        groups = [[[_cell(cell, columns) for cell in row] for row in part] for part in parts]
        heads = sum(len(_rows(child)) for child in children if child.tag == "thead")
        self.writer.add("table", spanned_table(groups, heads or count_heads(list(chain.from_iterable(groups)))))

    def _footnote(self, note: Element, _: int) -> None:
        heads = [child for child in note if child.tag in {"label", "title"}]
        self.writer.begin(lines.label_text(heads), "footnote")
        self._nested(note, "footnote", heads)

    def _quote(self, quote: Element, _: int) -> None:
        self.writer.finish()
        self._nested(quote, "quote" if quote.tag == "disp-quote" else "footnote")

    def _verse(self, verse: Element, _: int) -> None:
        self.writer.add("quote", "\n".join(lines.label_text([line]) for line in verse))

    def _speech(self, speech: Element, _: int) -> None:
        speakers = speech.findall("speaker")
        self.writer.begin(lines.label_text(speakers).removesuffix(":") + ":" if speakers else "", self._kind)
        self._nested(speech, self._kind, speakers)

    def _code(self, code: Element, _: int) -> None:
        self.writer.add("code", lines.line_text(code))

    def _formula(self, formula: Element, _: int) -> None:
        self.writer.add("formula", squeeze(lines.formula_line(formula)))

    def _list(self, element: Element, level: int) -> None:
        self._nesting += 1
        kind, count = element.get("list-type", "bullet"), 0
        form = lines.ELEMENTS["markers"].get(kind)  # of the numbers of items without labels
        for child in element:
            if child.tag in {"list-item", "def-item"}:
                count += 1
                self._item(child, f"{format_count(count, form)}." if form else "" if kind == "simple" else "-")
            elif child.tag in self._readers:
                self._readers[child.tag](child, level)
            else:
                self._paragraph(lines.child_text(child, ""))
        self._nesting -= 1

    def _item(self, item: Element, marker: str) -> None:
        heads = [child for child in item if child.tag in {"label", "term"}]
        label = lines.label_text(heads)
        label += ":" if item.tag == "def-item" and label else ""
        self.writer.begin(label or marker, "item", self._nesting, keep=bool(label))
        self._nested(item, self._kind, heads)

    def _reference(self, reference: Element, _: int) -> None:
        text = reference.text or ""
        for child in reference if reference.tag == "ref" else ():
            label = lines.label_text([child]) if child.tag == "label" else ""
            text += (f"{label}." if label.isdigit() else label or lines.citation_text(child)) + f" {child.tail or ''}"
        self.writer.add("reference", squeeze(text if reference.tag == "ref" else lines.citation_text(reference)))


def _is_inline(element: Element) -> bool:
    """Return True if an element in a paragraph is part of its line, as code and formulas with alternatives may be."""
    if element.tag == "code":
        return "\n" not in lines.line_text(element).strip()
    return element.tag == "alternatives" and element.find("table") is None


def _rows(part: Element) -> list[Element]:
    """Return the rows of a part, also those in elements that are not known, which may be rows themselves."""
    rows = list[Element]()
    for child in part:
        is_row = child.tag in {"tr", "row"} or any(cell.tag in _CELLS for cell in child)
        rows += [child] if is_row else _rows(child)
    return rows


def _cell(cell: Element, names: Mapping[str | None, int]) -> Cell:
    """Return a cell of HTML's or CALS's table model."""
    first, last = cell.get("namest"), cell.get("nameend")
    columns = parse_span(cell.get("colspan"))
    if first in names and last in names:
        columns = max(names[last] - names[first] + 1, 1)
    rows = max(parse_span(cell.get("rowspan")), parse_span(cell.get("morerows"), 0) + 1)
    return Cell(lines.line_text(cell), rows=rows, columns=columns, is_head=cell.tag == "th")
