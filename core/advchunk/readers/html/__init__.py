"""Read HTML pages and fragments by the HTML standard, as a browser does, even if they are malformed."""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass, field
from itertools import groupby
from typing import TYPE_CHECKING, Any

from advchunk.errors import ConfigurationError, import_extra, require
from advchunk.readers.counting import format_count
from advchunk.readers.html.guard import ELEMENTS, make_safe, restore_tags
from advchunk.readers.html.head import page_metadata
from advchunk.readers.html.main_content import main_blocks
from advchunk.readers.inline import format_script
from advchunk.readers.mathml import formula_text
from advchunk.readers.table_layout import TableCell, add_table
from advchunk.readers.writing import Content, Furniture, Writer, check_content, left_out, squeeze
from advchunk.readers.xml import parse_xml
from advchunk.records import BlockKind, Document

if TYPE_CHECKING:
    from selectolax.lexbor import LexborHTMLParser, LexborNode

_BLOCKS = frozenset(ELEMENTS["blocks"])
_INVISIBLE = frozenset(ELEMENTS["invisible"])  # not displayed, or instead of media
_KINDS: Mapping[str, tuple[BlockKind, int]] = ELEMENTS["kinds"]  # with levels
_ROLES: Mapping[str, str] = ELEMENTS["roles"]
_PARAGRAPHS = frozenset(["figure", "paragraph", "quote"])  # kinds that may follow a list marker
_HIDDEN = re.compile(r"display\s*:\s*none|visibility\s*:\s*hidden", re.IGNORECASE)
_FURNITURE = {"nav": "menus", "header": "headers", "footer": "footers", "aside": "asides"}  # others are banners
_PLURALS = {"code": "code blocks", "furniture": "menus and the like"}
_MAX_SPANS = (("row", 65534), ("col", 1000))
_FORMS: Mapping[str, str] = ELEMENTS["forms"]  # of the numbers of lists, by their types and styles
_LIST_STYLE = re.compile(r"list-style(?:-type)?\s*:\s*([\w-]+)")
_MAX_TERMS = 200  # characters of terms that share a definition
_SPACE = re.compile(r"[\t\n\f\r ]+")
# Classes of what KaTeX repeats, of numbers of lines, and of the links of Wikis by which a section is edited.
_UNREAD = frozenset({"katex-html", "linenos", "lineno", "mw-editsection"})
_SELF_LINK = re.compile(r"[¶§#^↑↩⏎🔗⚓\s\u200b\ufe0e\ufe0f]+")  # signs of links to the place where they are, and back
_BANNERS = frozenset({"aside", "dialog", "div", "form", "section"})  # elements that may ask for consent to cookies
# Ids and classes of the consent managers, and plain names such as "cookie-banner", but not "cookie-recipe".
_BANNER = re.compile(
    r"onetrust-(?:consent-sdk|banner-sdk)|CybotCookiebotDialog|usercentrics-root|didomi-host|truste-consent-track"
    r"|cky-consent-container|qc-cmp2-container|iubenda-cs-banner|cmplz-cookiebanner|cc-window|cookies?[-_]?consent"
    r"|(?:js-)?(?:gdpr-)?(?:cookies?|consent|gdpr)[-_]?(?:law[-_]?info|consent|policy)?[-_]?(?:banner|notice|bar|popup|overlay|dialog|modal)",
    re.IGNORECASE,
)


def read(
    text: str,
    *,
    id: str = "",
    metadata: Mapping[str, Any] | None = None,
    furniture: Furniture = "drop",
    links: bool = False,
    content: Content = "all",
) -> Document:
    r"""Read a page or a fragment: headings, paragraphs, lists, quotes, code, tables, captions and formulas.

    The metadata has ``title``, ``authors``, ``description``, ``keywords``, ``published_at``, ``language`` and ``url``
    (the canonical one), where the page has them, and ``left_out`` with the number of menus and the like that were. A
    heading that repeats the title is not repeated in the context of chunks. Tables for layout are running text
    (`table_layout.add_table`).

    Parameters
    ----------
    metadata : values that override those of the page.
    furniture : "drop" leaves out navigation, banners about cookies, and the page's own header (unless it has headings),
        footer and asides, except if nothing else would be left; "keep" makes them blocks of this kind.
    links : write links as in Markdown, with their targets, outside headings and code; else just their text.
    content : "main" keeps only what the page is about (`main_content`), without teasers, forms, and unmarked menus.

    >>> document = read("<title>Tea</title><h1>Tea</h1><nav>Home</nav><ul><li>green<li>black</ul>")
    >>> [(block.kind, block.level, document.text[slice(*block.span)]) for block in document.blocks]
    [('heading', 1, 'Tea'), ('item', 1, '- green'), ('item', 1, '- black')]
    >>> document.metadata
    {'left_out': 'menus: 1', 'title': 'Tea'}
    """
    require(furniture in {"drop", "keep"}, 'furniture must be "drop" or "keep"', furniture)
    check_content(content)
    tree: LexborHTMLParser = import_extra("selectolax.lexbor", "html").LexborHTMLParser(make_safe(text))
    about = {**page_metadata(tree), **(metadata or {})}
    writer = Writer("html")
    reader = _Reader(writer, squeeze(str(about.get("title", ""))), links)
    if tree.root:
        reader.read(tree.root)
    counts = reader.left_out
    visible = [block for block in writer.blocks if block.kind != "furniture"]
    if visible and furniture == "drop":
        writer.blocks = visible
    else:
        counts = Counter({"pictures": counts["pictures"]})
    if content == "main":
        everything, writer.blocks = writer.blocks, main_blocks(writer.blocks, text)
        kinds = Counter(block.kind for block in everything) - Counter(block.kind for block in writer.blocks)
        counts += Counter({_PLURALS.get(kind, f"{kind}s"): count for kind, count in kinds.items()})
    return writer.document(id, {**left_out(counts), **about})


@dataclass
class _List:
    """A list that is being read: the next number, None without numbers, how it is written, and the step to the next."""

    number: int | None = None
    form: str = "decimal"
    step: int = 1


@dataclass
class _Table:
    """A table that is being read."""

    rows: list[list[TableCell]] = field(default_factory=list)
    groups: dict[int, list[list[TableCell]]] = field(default_factory=dict)  # of each <thead>, <tbody>, and <tfoot>
    heads: int = 0


class _Reader:
    """Walks a tree without recursion, because pages may be nested deeper than Python's stack.

    Methods for elements are generators, which run up to ``yield`` when the element starts, and resume when it ends.
    """

    def __init__(self, writer: Writer, title: str, links: bool) -> None:
        self._writer, self._title, self._links = writer, title, links
        self._line, self._only_pictures = list[str](), True  # the open block, and whether it has only texts of pictures
        self._kinds: list[tuple[BlockKind, int]] = [("paragraph", 0)]  # of the open elements, with their levels
        self._lists, self._tables = list[_List](), list[_Table]()
        self._sections = self._verbatim = 0
        self.left_out = Counter[str]()  # pictures without a description, and elements of furniture
        self._elements: Mapping[str, Callable[[LexborNode], Iterator[None]]] = {
            **dict.fromkeys(_KINDS, self._block),
            **{tag: getattr(self, f"_{name}") for name, tags in ELEMENTS["rules"].items() for tag in tags},
        }

    def read(self, root: LexborNode) -> None:
        node: LexborNode | None = root
        open_nodes: list[tuple[LexborNode, Iterator[None]]] = []
        while node is not None:
            tag = node.tag or ""
            if tag == "-text":
                self._text(node.text_content or "")
            elif tag == "script":
                if (kind := node.attributes.get("type") or "").startswith("math/tex"):  # for MathJax
                    self._formula(squeeze(node.text()), "mode=display" in kind)
            elif not tag.startswith("-") and not (tag in _INVISIBLE or _is_hidden(tag, node) or self._leaf(tag, node)):
                steps = self._element(tag, node)
                next(steps)
                if (child := node.first_child) is not None:
                    open_nodes.append((node, steps))
                    node = child
                    continue
                next(steps, None)
            while (following := node.next) is None and open_nodes:
                node, steps = open_nodes.pop()
                next(steps, None)
            node = following
        self._finish()

    def _text(self, text: str) -> None:
        text = restore_tags(text).replace("\u00ad", "")
        self._only_pictures &= not text.strip()
        self._line.append(text if self._verbatim else _SPACE.sub(" ", text))

    def _leaf(self, tag: str, node: LexborNode) -> bool:
        """Read an element whose children are not walked, and return True; return False for other elements."""
        if tag == "br":
            self._line.append("\n")
        elif tag == "img":
            alt = node.attributes.get("alt") or node.attributes.get("title") or ""
            if alt := squeeze(restore_tags(alt)):
                self._line.append(f" {alt} ")
            self.left_out["pictures"] += not alt and "alt" not in node.attributes  # with an empty one, it is decoration
        elif tag == "math":
            self._formula(_read_formula(node), node.attributes.get("display") == "block")
        elif tag == "ruby":
            self._ruby(node)
        elif tag == "input":
            is_box = node.attributes.get("type") == "checkbox" and self._writer.prefix is not None
            if is_box and not "".join(self._line).strip():  # at the start of an item
                self._line.append("☒ " if "checked" in node.attributes else "☐ ")
        else:
            return tag in {"sup", "sub"} and self._script(tag, node)
        return True

    def _formula(self, text: str, is_block: bool) -> None:
        if is_block:
            self._flush()
            self._add("formula", text)
        else:
            self._only_pictures &= not text
            self._line.append(text)

    def _ruby(self, node: LexborNode) -> None:
        """Read a word with its reading, which follows in parentheses."""
        reading = "".join(part.text() for part in node.css("rt"))
        for part in node.css("rt, rp, rtc"):
            part.decompose()
        self._text(squeeze(node.text()) + (f" ({squeeze(reading)})" if reading.strip() else ""))

    def _script(self, tag: str, node: LexborNode) -> bool:
        """Read a superscript or subscript if it has only text or is the linked number of a note, and return True."""
        child = node.first_child
        if child is None or (child.attributes or {}).get("role") == "doc-noteref":
            return False
        if child.tag == "-text" and child.next is None:
            before = next((text for text in reversed(self._line) if text), "")
            after = node.next.text_content or "" if node.next is not None else ""
            self._text(format_script(tag, child.text_content or "", before, after[:1]))
            return True
        number = node.text().strip()
        if number.isdigit():
            self._text(f"[{number}]")
        return number.isdigit()

    def _element(self, tag: str, node: LexborNode) -> Iterator[None]:
        role = _role(node)
        tag = _ROLES.get(role, tag)
        if role.endswith("noteref"):
            yield from self._sign(node)
        elif tag == "a-plain" and self._links:
            yield from self._link(node)
        elif tag == "q":
            self._line.append("“")
            yield
            self._line.append("”")
        elif tag not in _BLOCKS:
            yield
        elif self._verbatim and tag not in self._elements:
            yield
            self._line.append("\n")
        else:
            self._flush()
            is_banner = tag in _BANNERS and _is_banner(node)
            yield from (self._furniture if is_banner else self._elements.get(tag, self._division))(node)

    def _sign(self, _: LexborNode) -> Iterator[None]:
        start = len(self._line)
        yield
        self._line[start:] = [f"[^{''.join(self._line[start:]).strip(' []()')}]"]

    def _link(self, node: LexborNode) -> Iterator[None]:
        line, start, target = self._line, len(self._line), (node.attributes.get("href") or "").strip()
        yield
        is_written = target and not target.startswith("#") and self._kinds[-1][0] not in {"heading", "code"}
        target = f"<{target}>" if re.search(r"[\s()]", target) else target
        if is_written and self._line is not line:  # has blocks
            self._line.append(f" <{target.strip('<>')}> ")
        elif is_written and "".join(line[start:]).strip():
            line.insert(start, "[")
            line.append(f"]({target})")

    def _division(self, _: LexborNode) -> Iterator[None]:
        yield
        self._flush()

    def _flush(self) -> None:
        """End the open block. Two line breaks separate paragraphs, as on old pages."""
        if not self._line:
            return
        text, kind, level = "".join(self._line), *self._kinds[-1]
        is_picture, self._line, self._only_pictures = self._only_pictures, [], True
        if kind == "code":
            self._add(kind, text)
        elif kind == "heading":
            self._add(kind, squeeze(text), level)
        else:
            for has_text, lines in groupby(map(squeeze, text.split("\n")), bool):
                self._add("figure" if is_picture else kind, "\n".join(lines) if has_text else "")

    def _add(self, kind: BlockKind, text: str, level: int = 0) -> None:
        if kind in _PARAGRAPHS:
            self._writer.add_paragraph(kind, text)
        elif text.strip():
            self._writer.add(kind, text, level, title="" if kind == "heading" and text == self._title else None)

    def _finish(self) -> None:
        self._flush()
        self._writer.finish()

    def _block(self, node: LexborNode) -> Iterator[None]:
        self._kinds.append(_KINDS[_ROLES.get(_role(node), node.tag or "")])
        is_code = self._kinds[-1][0] == "code"
        self._verbatim += is_code
        yield
        self._flush()
        self._kinds.pop()
        self._verbatim -= is_code

    def _section(self, _: LexborNode) -> Iterator[None]:
        self._sections += 1
        yield
        self._flush()
        self._sections -= 1

    def _furniture(self, node: LexborNode) -> Iterator[None]:
        tag = _ROLES.get(node.attributes.get("role") or "", node.tag or "")
        if tag != "nav" and self._sections and not _is_banner(node):
            yield from self._section(node)
            return
        self._finish()
        with self._writer.collect() as blocks:
            yield from self._section(node)
            self._finish()
        if tag == "header" and any(block.kind == "heading" for block in blocks):
            self._writer.blocks += blocks
        else:
            self.left_out[_FURNITURE.get(tag, "banners")] += bool(blocks)
            for block in blocks:
                self._writer.add("furniture", block.text)

    def _list(self, node: LexborNode) -> Iterator[None]:
        own, attributes = _List(), node.attributes
        if node.tag == "ol":
            style = _LIST_STYLE.search(attributes.get("style") or "")
            own.form = _FORMS.get(style[1] if style else attributes.get("type") or "", "decimal")
            own.step = -1 if "reversed" in attributes else 1
            first = 1 if own.step > 0 else sum(child.tag == "li" for child in node.iter())
            own.number = _parse_int(attributes.get("start"), first)
        self._lists.append(own)
        yield
        self._finish()
        self._lists.pop()

    def _item(self, node: LexborNode) -> Iterator[None]:
        own, label = self._lists[-1] if self._lists else _List(), "-"
        if own.number is not None:
            number = _parse_int(node.attributes.get("value"), own.number)
            own.number, label = number + own.step, f"{format_count(number, own.form)}."
        self._finish()
        self._writer.begin(label, "item", max(len(self._lists), 1), keep=False)
        yield
        self._finish()

    def _term(self, _: LexborNode) -> Iterator[None]:
        level, terms, prefix = max(len(self._lists), 1), "", self._writer.prefix
        if prefix and prefix.keep and len(prefix.text) < _MAX_TERMS:
            terms, self._writer.prefix = prefix.text.removesuffix(":") + ", ", None
        self._finish()
        with self._writer.collect() as blocks:
            yield
            self._finish()
        terms += squeeze(" ".join(block.text for block in blocks))
        if terms:
            self._writer.begin(terms.rstrip(" ,:") + ":", "item", level)

    def _table(self, node: LexborNode) -> Iterator[None]:
        self._tables.append(_Table())
        yield
        self._finish()
        table, is_layout = self._tables.pop(), node.attributes.get("role") in {"none", "presentation"}
        add_table(self._writer, [*table.groups.values()], table.heads, 0, is_layout=is_layout)

    def _row(self, node: LexborNode) -> Iterator[None]:
        if self._tables and node.parent is not None and node.parent.tag in {"table", "thead", "tbody", "tfoot"}:
            table = self._tables[-1]
            table.heads += node.parent.tag == "thead" and table.heads == len(table.rows)
            table.rows.append([])
            table.groups.setdefault(node.parent.mem_id, []).append(table.rows[-1])
        return self._division(node)

    def _cell(self, node: LexborNode) -> Iterator[None]:
        if not self._tables or node.parent is None or node.parent.tag != "tr" or not self._tables[-1].rows:
            yield from self._division(node)
            return
        self._finish()
        rows, columns = (_parse_span(node.attributes.get(f"{side}span"), most) for side, most in _MAX_SPANS)
        with self._writer.collect() as blocks:
            self._tables[-1].rows[-1].append(TableCell(blocks, rows, columns, is_head=node.tag == "th"))
            yield
            self._finish()


def _parse_span(text: str | None, most: int) -> int:
    """Return the number of rows or columns that a cell spans; 0 means all that follow."""
    count = _parse_int(text, 1)
    return min(count, most) if count > 0 else most


def _parse_int(text: str | None, default: int) -> int:
    match = re.match(r"\s*(-?\d{1,9})(?!\d)", text or "", re.ASCII)
    return int(match[1]) if match else default


def _role(node: LexborNode) -> str:
    return node.attributes.get("role") or node.attributes.get("epub:type") or ""


def _is_banner(node: LexborNode) -> bool:
    """Return True for a banner about cookies: its id or a class says so, and it has none of the page's main content."""
    attributes = node.attributes
    names = [attributes.get("id") or "", *(attributes.get("class") or "").split()]
    return any(map(_BANNER.fullmatch, names)) and node.css_first("h1, main, article") is None


def _is_hidden(tag: str, node: LexborNode) -> bool:
    attributes = node.attributes
    if attributes.get("role") == "tabpanel":  # which a click shows
        return False
    if attributes.get("hidden", "until-found") != "until-found" or attributes.get("role") == "doc-backlink":
        return True
    if _HIDDEN.search(attributes.get("style") or "") or (tag == "dialog" and "open" not in attributes):
        return True
    if tag == "a-plain" and (attributes.get("href") or "").startswith("#"):
        return _SELF_LINK.fullmatch(node.text()) is not None
    return tag != "dialog" and not _UNREAD.isdisjoint((attributes.get("class") or "").split())


def _read_formula(node: LexborNode) -> str:
    node.strip_tags(["script", "style"], recursive=True)
    try:
        return formula_text(parse_xml(node.html or "", namespaces=False))
    except ConfigurationError:  # HTML within a formula need not be XML
        return squeeze(node.text())
