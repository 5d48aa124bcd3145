"""Compare readers of web pages: what of the main text of real pages they keep, and what beside it. See STRUCTURE.md.

python benchmarks/web_pages.py --data DIR [--pages 30]

DIR has a folder of pages for each generator of `MAIN`, whose pages mark their main text in a way of their own. Pages
are also read without the elements and roles that mark it for browsers (main, nav, aside, header, footer, article,
section), which many pages do not have. Prints a table.
"""

from __future__ import annotations

import random
import re
import time
from collections import Counter
from collections.abc import Callable, Mapping
from importlib import import_module
from typing import NamedTuple

from runner import argument_parser
from selectolax.lexbor import LexborHTMLParser

from advchunk.readers import html

# By generator, the element that is the main text, and what in it is not.
MAIN: Mapping[str, tuple[str, str]] = {
    "mdbook": ("main", ""),
    "rustdoc": ("#main-content", ""),
    "npm": ("#content", ""),
    "node": ("#apicontent", ""),
    "valgrind": (
        "body",
        "table[summary='Navigation header'], table[summary='Navigation footer'], .navheader, .navfooter",
    ),
    "libffi": ("body", ".header, .nav-panel"),
}
SMALLEST, FEWEST = 5000, 100  # bytes of a page, and words of its main text
MARKS = re.compile(r"<(/?)(?:main|nav|aside|header|footer|article|section)\b", re.IGNORECASE)
ROLE = re.compile(r"\srole\s*=\s*(?:\"[^\"]*\"|'[^']*'|\w+)", re.IGNORECASE)
WORD = re.compile(r"\w+")


class Page(NamedTuple):
    """A page with the words of its main text, and the headings in it."""

    source: str
    words: Counter[str]
    headings: list[str]


def words(text: str) -> list[str]:
    """Return the words of a text in lower case."""
    return WORD.findall(text.casefold())


def read_page(source: str, generator: str) -> Page | None:
    """Return a page; None if it has hardly any main text."""
    main, beside = MAIN[generator]
    tree = LexborHTMLParser(source)
    element = tree.css_first(main)
    if element is None:
        return None
    for node in element.css(", ".join(filter(None, ("script, style, noscript, template", beside)))):
        node.decompose()
    content = Counter(words(element.text(separator=" ")))
    headings = ["".join(words(heading.text())) for heading in element.css("h1, h2, h3, h4")]
    return Page(source, content, [heading for heading in headings if heading]) if content.total() >= FEWEST else None


def without_marks(source: str) -> str:
    """Return a page whose parts are not marked.

    >>> without_marks('<nav role="navigation"><a>Home</a></nav>')
    '<div><a>Home</a></div>'
    """
    return ROLE.sub("", MARKS.sub(r"<\1div", source))


def trafilatura(*, favor_recall: bool) -> Callable[[str], str]:
    """Return trafilatura's extraction to Markdown, with tables and without comments."""
    extract = import_module("trafilatura").extract

    def read(source: str) -> str:
        options = {"include_comments": False, "include_tables": True, "favor_recall": favor_recall}
        return extract(source, output_format="markdown", **options) or ""

    return read


READERS: Mapping[str, Callable[[], Callable[[str], str]]] = {
    "advchunk": lambda: lambda source: html.read(source).text,
    "trafilatura": lambda: trafilatura(favor_recall=False),
    "trafilatura, favor_recall": lambda: trafilatura(favor_recall=True),
}


def measure(read: Callable[[str], str], pages: list[Page], *, is_marked: bool) -> tuple[float, ...]:
    """Return the mean precision and recall of words, the share of headings, and seconds of a page."""
    precision, recall, headings, seconds = 0.0, 0.0, 0, 0.0
    for page in pages:
        source = page.source if is_marked else without_marks(page.source)
        start = time.process_time()
        text = words(read(source))
        seconds += time.process_time() - start
        common = (Counter(text) & page.words).total()
        precision += common / max(len(text), 1)
        recall += common / page.words.total()
        headings += sum(heading in "".join(text) for heading in page.headings)  # parts of a word may be marked
    number = len(pages)
    there = max(sum(len(page.headings) for page in pages), 1)
    return 100 * precision / number, 100 * recall / number, 100 * headings / there, seconds / number


def main() -> None:
    """Read, measure, and print."""
    parser = argument_parser(__doc__)
    parser.add_argument("--pages", type=int, default=30, help="of a generator, drawn at random")
    args = parser.parse_args()
    readers = {name: make() for name, make in READERS.items()}
    print(
        "| pages of | number | marked | reader | precision | recall | headings, % | ms "
        "|\n|---|---|---|---|---|---|---|---|"
    )
    for generator in MAIN:
        paths = [path for path in sorted((args.data / generator).rglob("*.html")) if path.stat().st_size >= SMALLEST]
        chosen = random.Random(0).sample(paths, min(args.pages, len(paths)))
        read_pages = (read_page(path.read_text("utf-8", "replace"), generator) for path in chosen)
        pages = [page for page in read_pages if page]
        for is_marked in (True, False) if pages else ():
            for name, read in readers.items():
                *shares, seconds = measure(read, pages, is_marked=is_marked)
                cells = [f"{share:.1f}" for share in shares]
                marked = "yes" if is_marked else "no"
                print(
                    f"| {generator} | {len(pages)} | {marked} | {name} | {' | '.join(cells)} | {1000 * seconds:.0f} |",
                    flush=True,
                )


if __name__ == "__main__":
    main()
