"""Measure what readers of PDFs keep of tables and of words: the figures of "Rows of tables in PDFs" in STRUCTURE.md.

    python benchmarks/pdf_rows.py FOLDER

``FOLDER`` has PDFs and, for each, ``NAME.json``: a list of tables, each with ``rows`` of cells, as the gold of the
table competition of ICDAR 2013 is written. A row is whole if its letters and digits follow each other in the text.
Words are lost if PDFium's plain text has them and the reader's text has not; our reader keeps the running heads here.
"""

import argparse
import json
import re
import time
from collections import Counter
from collections.abc import Callable, Iterator, Mapping
from importlib import import_module
from importlib.util import find_spec
from itertools import pairwise
from pathlib import Path

from advchunk.readers.pages import pdf

_PLAIN = str.maketrans("⁰¹²³⁴⁵⁶⁷⁸⁹⁺⁻₀₁₂₃₄₅₆₇₈₉₊₋", "0123456789+-" * 2)
_WORD, _RULE = re.compile(r"[^\W_]+"), re.compile(r"(?m)^\|(?: --- \|)+$")


def ours(path: Path, detector: str | None) -> str:
    """Return the text of our reader, with numbers of notes and powers as plain text has them."""
    text = pdf.read(path, detector=detector, furniture="keep").text
    return re.sub(r"\[(\d[\d,;–-]*)\]", r"\1", text.translate(_PLAIN))


def plain(path: Path) -> str:
    """Return PDFium's plain text."""
    with import_module("pypdfium2").PdfDocument(path) as document:
        pages = [page.get_textpage().get_text_range() for page in document]
    return re.sub("[\ufffe\x02]\r?\n?", "-", "\n".join(pages))


def with_pypdf(path: Path) -> str:
    """Return the text of pypdf."""
    return "\n".join(page.extract_text() for page in import_module("pypdf").PdfReader(path).pages)


def with_pdfplumber(path: Path) -> str:
    """Return the text of pdfplumber."""
    with import_module("pdfplumber").open(path) as document:
        return "\n".join(page.extract_text() for page in document.pages)


def with_markitdown(path: Path) -> str:
    """Return the text of markitdown."""
    return str(import_module("markitdown").MarkItDown().convert(path).markdown)


READERS: Mapping[str, Callable[[Path], str]] = {
    "advchunk, lines": lambda path: ours(path, None),
    "advchunk, rapid-layout": lambda path: ours(path, "rapid"),
    "PDFium": plain,
    "pypdf": with_pypdf,
    "pdfplumber": with_pdfplumber,
    "markitdown": with_markitdown,
}
_PACKAGES = {"PDFium": "pypdfium2", "advchunk, lines": "advchunk", "advchunk, rapid-layout": "rapid_layout"}


def letters(text: str) -> str:
    """Return the letters and digits of a text in lower case: gold has words run together."""
    return "".join(_WORD.findall(text)).lower()


def gold_rows(path: Path) -> Iterator[str]:
    """Yield the rows of the tables of a PDF that have two words or more."""
    for table in json.loads(path.with_suffix(".json").read_text(encoding="utf-8")):
        yield from (text for row in table["rows"] if len(_WORD.findall(text := " ".join(row))) > 1)


def lost_words(plain: str, text: str) -> int:
    """Return the number of words of a plain text that another lacks, not counting the halves of words that it joins."""
    words, others = _WORD.findall(plain), _WORD.findall(text)
    lost, more = Counter(words) - Counter(others), Counter(others) - Counter(words)
    for left, right in pairwise(words):
        if lost[left] > 0 and lost[right] > 0 and more[left + right] > 0:
            lost.subtract([left, right])
            more[left + right] -= 1
    return sum(count for count in lost.values() if count > 0)


def main() -> None:
    """Print a Markdown table with a row for each reader that is installed."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("folder", type=Path)
    paths = sorted(parser.parse_args().folder.glob("*.pdf"))
    pages = sum(len(import_module("pypdfium2").PdfDocument(path)) for path in paths)
    print(
        f"{len(paths)} files, {pages} pages\n\n| | rows whole, % | words lost | ms a page |\n| --- | --- | --- | --- |"
    )
    for name, read in READERS.items():
        if not find_spec(_PACKAGES.get(name, name)):
            continue
        whole, rows, lost, seconds = 0, 0, 0, 0.0
        for path in paths:
            start = time.process_time()
            text = _RULE.sub("", read(path))
            seconds += time.process_time() - start
            has = letters(text)
            are_whole = [letters(row) in has for row in gold_rows(path)]
            whole, rows = whole + sum(are_whole), rows + len(are_whole)
            lost += lost_words(plain(path), text)
        print(f"| {name} | {100 * whole / rows:.1f} | {lost} | {1000 * seconds / pages:.0f} |", flush=True)


if __name__ == "__main__":
    main()
