"""Read HTML, whole pages and pieces of them, as a browser would: by the HTML standard, however broken they are.

What is seen is kept, in its order. Links are their text. Where content ends and furniture begins, the page says so itself:
no guess is made at what matters, neither <main> nor <article> is preferred.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Mapping
from itertools import groupby
from typing import TYPE_CHECKING, Any, TypeAlias

from advchunk.errors import ConfigurationError, import_extra, require
from advchunk.readers import xml
from advchunk.readers.html import guard
from advchunk.readers.html.head import metadata as head
from advchunk.readers.html.tables import Piece, Table, TableCell
from advchunk.readers.inline import scripted
from advchunk.readers.mathml import readable
from advchunk.readers.writing import Furniture, Writer, squeezed
from advchunk.records import BlockKind, Document

if TYPE_CHECKING:
    from selectolax.lexbor import LexborHTMLParser, LexborNode

_BLOCKS = frozenset(
    """address article aside blockquote body button caption center col colgroup dd details dialog dir div dl dt fieldset
    figcaption figure footer form frameset h1 h2 h3 h4 h5 h6 header hgroup hr html legend li listing main menu nav ol
    optgroup option p plaintext pre search section select summary table tbody td textarea tfoot th thead tr ul xmp""".split()  # noqa: SIM905
)
# What is not displayed, or stands in for what cannot be.
_UNSEEN = frozenset(
    """area audio base canvas datalist defs desc embed head iframe input link meta metadata noembed noframes noscript object
    param script source style symbol template title track video""".split()  # noqa: SIM905
)
_HIDDEN = re.compile(r"display\s*:\s*none|visibility\s*:\s*hidden", re.IGNORECASE)
_ROLES: Mapping[str, str] = {
    "article": "article",
    "banner": "header",
    "complementary": "aside",
    "contentinfo": "footer",
    "main": "main",
    "navigation": "nav",
}
_TERMS = 200  # characters of terms that share a definition
_SPACE = re.compile(r"[\t\n\f\r ]+")

_Close: TypeAlias = Callable[[], None]


def read(
    text: str,
    *,
    id: str = "",
    metadata: Mapping[str, Any] | None = None,
    furniture: Furniture = "drop",
) -> Document:
    r"""Read a page or a piece of one: headings, paragraphs, lists, quotes, code, tables, captions and formulas.

    Its metadata has what there is of ``title``, ``authors``, ``description``, ``keywords``, ``published_at``, ``language``
    and ``url`` (the canonical one). A heading that says what the title says is not put above chunks a second time. A table
    that holds headings or other tables is one of layout, and read as if it were none.

    Parameters
    ----------
    text : HTML; any string.
    id : names the document.
    metadata : overrides what the page says.
    furniture : "drop" leaves out what a site repeats on its pages, for it matches every question about the site: navigation,
        and the page's own header, footer and asides, though not a header with headings in it, and nothing if no more
        were left. "keep" has it as blocks of the kind "furniture".

    Raises
    ------
    ConfigurationError : elements nested too deep, or with too many attributes, for any page.
    MissingExtra : selectolax is not installed.

    Examples
    --------
    >>> document = read("<title>Tea</title><h1>Tea</h1><nav>Home</nav><ul><li>green<li>black</ul>")
    >>> [(block.kind, block.level, document.text[slice(*block.span)]) for block in document.blocks]
    [('heading', 1, 'Tea'), ('item', 1, '- green'), ('item', 1, '- black')]
    >>> document.metadata
    {'title': 'Tea'}
    """
    require(furniture in {"drop", "keep"}, 'furniture must be "drop" or "keep"', furniture)
    tree: LexborHTMLParser = import_extra("selectolax.lexbor", "html").LexborHTMLParser(guard.harmless(text))
    known = {**head(tree), **(metadata or {})}
    pieces = _Reader().read(tree.root) if tree.root else []
    content = [piece for piece in pieces if piece.kind != "furniture"]
    title, writer = squeezed(str(known.get("title", ""))), Writer("html")
    for kind, said, level in content if content and furniture == "drop" else pieces:
        writer.add(kind, said, level, title="" if kind == "heading" and said == title else None)
    return writer.document(id, known)


class _Reader:
    """Walks a tree without recursion, for pages may be nested deeper than Python may."""

    def __init__(self) -> None:
        self._line = list[str]()  # of the block that is open
        self._is_picture = True  # whether that has but what stands for pictures
        self._into = [list[Piece]()]  # the document's pieces; within them those of a cell, of furniture ...
        self._kinds: list[tuple[BlockKind, int]] = [("paragraph", 0)]  # of blocks here, and their levels
        self._lists, self._tables, self._around = list[int | None](), list[Table](), list[str]()
        self._verbatim = 0
        self._before: tuple[int, str, bool] | None = None  # see `_begin`
        self._openers: Mapping[str, Callable[[LexborNode], _Close | None]] = {
            **dict.fromkeys(("h1", "h2", "h3", "h4", "h5", "h6"), self._heading),
            **dict.fromkeys(("pre", "listing", "xmp", "plaintext"), self._code),
            **dict.fromkeys(("figcaption", "caption"), self._caption),
            **dict.fromkeys(("ul", "ol", "dl", "menu", "dir"), self._list),
            **dict.fromkeys(("article", "section", "main"), self._section),
            **dict.fromkeys(("header", "footer", "nav", "aside"), self._furniture),
            "blockquote": self._quote,
            "dt": self._term,
            "li": self._item,
            "table": self._table,
            "td": self._cell,
            "th": self._cell,
            "tr": self._row,
        }  # fmt: skip

    def read(self, root: LexborNode) -> list[Piece]:
        """Return the pieces of a page."""
        node: LexborNode | None = root
        above: list[tuple[LexborNode, _Close | None]] = []
        while node is not None:
            tag = node.tag or ""
            if tag == "-text":
                self._text(node.text_content or "")
            elif tag == "script":
                self._tex(node)
            elif not tag.startswith("-") and not (tag in _UNSEEN or _is_hidden(tag, node) or self._leaf(tag, node)):
                close = self._open(tag, node)
                if (child := node.first_child) is not None:
                    above.append((node, close))
                    node = child
                    continue
                if close:
                    close()
            while (following := node.next) is None and above:
                node, close = above.pop()
                if close:
                    close()
            node = following
        self._finish()
        return self._into[0]

    def _text(self, said: str) -> None:
        said = guard.as_written(said).replace("\u00ad", "")
        if self._is_picture and said.strip():
            self._is_picture = False
        self._line.append(said if self._verbatim else _SPACE.sub(" ", said))

    def _leaf(self, tag: str, node: LexborNode) -> bool:
        """Read an element that is not gone into; return whether it is one."""
        if tag == "br":
            self._line.append("\n")
        elif tag == "img":
            if alt := squeezed(guard.as_written(node.attributes.get("alt") or "")):
                self._line.append(f" {alt} ")
        elif tag == "math":
            self._formula(_formula(node), node.attributes.get("display") == "block")
        else:
            return tag in {"sup", "sub"} and self._scripted(tag, node)
        return True

    def _formula(self, said: str, is_block: bool) -> None:
        if is_block:
            self._flush()
            self._add("formula", said)
        else:
            self._is_picture &= not said
            self._line.append(said)

    def _tex(self, script: LexborNode) -> None:
        """Read what MathJax would."""
        kind = script.attributes.get("type") or ""
        if kind.startswith("math/tex"):
            self._formula(squeezed(script.text()), "mode=display" in kind)

    def _scripted(self, tag: str, node: LexborNode) -> bool:
        """Read a number above or below the line."""
        only = node.first_child
        if only is None or only.tag != "-text" or only.next is not None:
            return False
        before = next((piece for piece in reversed(self._line) if piece), "")
        after = node.next.text_content or "" if node.next is not None else ""
        self._text(scripted(tag, only.text_content or "", before[-1:], after[:1]))
        return True

    def _open(self, tag: str, node: LexborNode) -> _Close | None:
        tag = _ROLES.get(node.attributes.get("role") or "", tag)
        if tag not in _BLOCKS:
            return None
        opener = self._openers.get(tag)
        if self._verbatim and not opener:
            return lambda: self._line.append("\n")
        self._flush()
        return opener(node) if opener else self._flush

    def _flush(self) -> None:
        """End the block that is open. Two line breaks part paragraphs, as they do on old pages."""
        if not self._line:
            return
        line, is_picture = "".join(self._line), self._is_picture
        self._line, self._is_picture = [], True
        kind, level = self._kinds[-1]
        if kind == "code":
            self._add(kind, line.strip("\n"))
        elif kind == "heading":
            self._add(kind, squeezed(line), level)
        else:
            lines = [squeezed(each) for each in line.split("\n")]
            for filled, paragraph in groupby(lines, bool):
                self._add("figure" if is_picture else kind, "\n".join(paragraph) if filled else "")

    def _add(self, kind: BlockKind, said: str, level: int = 0) -> None:
        if not said.strip():
            return
        if self._before and kind in {"paragraph", "quote", "figure"}:
            level, mark, _ = self._before
            kind, said, self._before = "item", f"{mark} {said}", None
        self._finish()
        self._into[-1].append(Piece(kind, said, level))

    def _begin(self, level: int, mark: str) -> None:
        """Have the next paragraph be an item with a mark, which is not the page's own."""
        self._finish()
        self._before = (level, mark, False)

    def _finish(self) -> None:
        """Write the mark of an item that has no text of its own, if the page has it."""
        self._flush()
        if self._before and self._before[2]:
            self._into[-1].append(Piece("item", self._before[1], self._before[0]))
        self._before = None

    def _of(self, kind: BlockKind, level: int = 0) -> _Close:
        self._kinds.append((kind, level))

        def close() -> None:
            self._flush()
            self._kinds.pop()

        return close

    def _heading(self, node: LexborNode) -> _Close:
        return self._of("heading", int((node.tag or "h6")[1:]))

    def _caption(self, _: LexborNode) -> _Close:
        return self._of("caption")

    def _quote(self, _: LexborNode) -> _Close:
        return self._of("quote")

    def _code(self, _: LexborNode) -> _Close:
        self._verbatim += 1
        end = self._of("code")

        def close() -> None:
            end()
            self._verbatim -= 1

        return close

    def _section(self, node: LexborNode) -> _Close:
        self._around.append(node.tag or "")

        def close() -> None:
            self._flush()
            self._around.pop()

        return close

    def _furniture(self, node: LexborNode) -> _Close:
        tag = _ROLES.get(node.attributes.get("role") or "", node.tag or "")
        if tag != "nav" and self._around:
            return self._section(node)
        self._finish()
        self._into.append([])
        close_section = self._section(node)

        def close() -> None:
            close_section()
            self._finish()
            pieces = self._into.pop()
            if tag == "header" and any(piece.kind == "heading" for piece in pieces):
                self._into[-1] += pieces
            else:
                self._into[-1] += [Piece("furniture", piece.text) for piece in pieces]

        return close

    def _list(self, node: LexborNode) -> _Close:
        self._lists.append(_signed(node.attributes.get("start"), 1) if node.tag == "ol" else None)

        def close() -> None:
            self._finish()
            self._lists.pop()

        return close

    def _item(self, node: LexborNode) -> _Close:
        number = self._lists[-1] if self._lists else None
        if number is not None:
            number = _signed(node.attributes.get("value"), number)
            self._lists[-1] = number + 1
        self._begin(max(len(self._lists), 1), "-" if number is None else f"{number}.")
        return self._finish

    def _term(self, _: LexborNode) -> _Close:
        level = max(len(self._lists), 1)
        earlier = ""
        if self._before and self._before[2] and len(self._before[1]) < _TERMS:
            earlier, self._before = self._before[1].removesuffix(":") + ", ", None
        self._finish()
        self._into.append([])

        def close() -> None:
            self._finish()
            said = squeezed(" ".join(piece.text for piece in self._into.pop()))
            if earlier or said:
                self._before = (level, f"{earlier}{said}".rstrip(" ,:") + ":", True)

        return close

    def _table(self, node: LexborNode) -> _Close:
        table = Table(node.attributes.get("role") in {"none", "presentation"})
        self._tables.append(table)

        def close() -> None:
            self._finish()
            self._tables.pop()
            self._into[-1] += table.pieces()

        return close

    def _row(self, node: LexborNode) -> _Close:
        if self._tables and node.parent is not None and node.parent.tag in {"table", "thead", "tbody", "tfoot"}:
            table = self._tables[-1]
            table.heads += node.parent.tag == "thead" and table.heads == len(table.rows)
            table.add_row(node.parent.mem_id)
        return self._flush

    def _cell(self, node: LexborNode) -> _Close:
        if not self._tables or node.parent is None or node.parent.tag != "tr" or not self._tables[-1].rows:
            return self._flush
        self._finish()
        attributes = node.attributes
        columns, rows = _spanned(attributes.get("colspan"), 1000), _spanned(attributes.get("rowspan"), 65534)
        cell = TableCell([], columns, rows, node.tag == "th")
        self._tables[-1].rows[-1].append(cell)
        self._into.append(cell.pieces)

        def close() -> None:
            self._finish()
            self._into.pop()

        return close


def _spanned(given: str | None, most: int) -> int:
    """Return how many columns or rows a cell takes; 0 is all that follow."""
    count = 1 if given is None else _signed(given, 1)
    return min(count, most) if count > 0 else most


def _signed(given: str | None, else_: int) -> int:
    found = re.match(r"\s*(-?\d{1,9})(?!\d)", given or "", re.ASCII)
    return int(found[1]) if found else else_


def _is_hidden(tag: str, node: LexborNode) -> bool:
    attributes = node.attributes
    if "hidden" in attributes and attributes["hidden"] != "until-found":
        return True
    if (style := attributes.get("style")) and _HIDDEN.search(style):
        return True
    if tag == "dialog":
        return "open" not in attributes
    return "katex-html" in (attributes.get("class") or "").split()  # says again what MathML said before it


def _formula(node: LexborNode) -> str:
    node.strip_tags(["script", "style"], recursive=True)  # what else HTML does not show is unknown there, and shown
    try:
        return readable(xml.parse(node.html or ""))
    except ConfigurationError:  # HTML within a formula need not be XML
        return squeezed(node.text())
