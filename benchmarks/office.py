"""Compare converters of Office files: what of 18 small files each keeps. See STRUCTURE.md.

python benchmarks/office.py [ours markitdown pandoc unstructured]...

A heading, an item of a list, a header row, and a note count if they are a block of that kind that has its text. All
Markdown is read by the same reader. Times are processor seconds with everything loaded. Prints JSON.
"""

from __future__ import annotations

import json
import os
import subprocess
import tempfile
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from functools import cache
from importlib import import_module
from io import BytesIO
from pathlib import Path
from typing import Any, TypeAlias

import office_files as made
from runner import argument_parser

from advchunk.readers import markdown
from advchunk.readers.files import read_documents
from advchunk.records import Block
from advchunk.text import tables

Blocks: TypeAlias = list[tuple[str, str]]
KINDS = ("headings", "items", "headers", "notes")
ITEMS = ("Sencha", "from Uji", "Gyokuro")
TEA = (("Kinds", "Steamed", "Temperatures"), ITEMS, ("Kind",), (made.NOTE,))
# For each file: its bytes, and the headings, items, first cells of headers, and notes in it.
FILES: Mapping[str, tuple[bytes, Sequence[Sequence[str]]]] = {
    "report.docx": (made.report(), (("Tea report", *TEA[0]), (*ITEMS, "Heat", "Pour"), *TEA[2:])),
    "unmarked.docx": (made.report(marks_head=False), TEA),
    "long.docx": (made.report(sections=60), ([f"Kinds {i}" for i in range(1, 61)], ITEMS, *TEA[2:])),
    "list.docx": (
        made.word("".join(made.paragraph(f"Tea {i}", list_id=1, level=i % 3) for i in range(12))),
        ((), [f"Tea {i}" for i in range(12)], (), ()),
    ),
    "notes.docx": (
        made.word(
            "".join(made.paragraph(f"Tea {i}.", note=i) for i in range(2, 9)), notes=[f"Note {i}." for i in range(2, 9)]
        ),
        ((), (), (), [f"Note {i}." for i in range(2, 9)]),
    ),
    "talk.pptx": (made.slides(), (("Kinds 1", "Kinds 2", "Temperatures"), ("Green 1", "Sencha", "Black"), *TEA[2:])),
    "long.pptx": (made.slides(40), ([f"Kinds {i}" for i in range(1, 41)], ("Sencha",), *TEA[2:])),
    "bare.pptx": (made.slides(3, table=False, notes=False), (("Kinds 1", "Kinds 3"), ("Sencha",), (), ())),
    "tea.xlsx": (made.workbook(), (("Tea", "Shops"), (), ("Kind", "City"), ())),
    "long.xlsx": (
        made.workbook({"Sales": [("City", "Tea", "Sold"), *((f"C{i}", "Green", i) for i in range(2000))]}),
        (("Sales",), (), ("City",), ()),
    ),
    "gaps.xlsx": (
        made.workbook(
            {"Gaps": [("Prices",), (), ("Kind", "Price", "Note"), ("Green", 8, None), ("Black", None, "out")]}
        ),
        (("Gaps",), (), ("Kind",), ()),
    ),
    "book.epub": (made.ebook(), (*TEA[:3], ())),
    "long.epub": (made.ebook([made.BODY] * 40), (*TEA[:3], ())),
    "two.epub": (made.ebook(["<h1>One</h1><p>Text.</p>", "<h1>Two</h1><p>More.</p>"]), (("One", "Two"), (), (), ())),
    "tea.odt": (made.open_text(), TEA),
    "tea.rtf": (made.rich_text(), (TEA[0], ("Sencha", "Gyokuro"), *TEA[2:])),
    "tea.msg": (made.outlook(), ((), (), (), ("Green tea?",))),
    "long.msg": (made.outlook(body="Tea is hot.\r\n\r\n" * 300), ((), (), (), ("Tea is hot.",))),
}


def read_markdown(text: str) -> Blocks:
    """Return the kinds and the texts of the blocks of Markdown; of a table, its header too."""
    return read_blocks(text, markdown.blocks(text))


def read_blocks(text: str, blocks: Iterable[Block]) -> Blocks:
    """Return the kinds and the texts of blocks; of a table, its header too."""
    kept = Blocks()
    for block in blocks:
        own = text[slice(*block.span)]
        kept.append((block.kind, block.title or own))
        if block.kind == "table":
            kept.append(("header", " ".join(cell for row in tables.head(own).rows for cell in row)))
    return kept


def ours(name: str, data: bytes) -> Blocks:
    """Read a file by advchunk."""
    document = read_documents(name, data=data)[0]
    return read_blocks(document.text, document.blocks or ())


@cache
def _markitdown() -> Any:
    return import_module("markitdown").MarkItDown()


def markitdown(name: str, data: bytes) -> Blocks:
    """Convert a file by markitdown alone."""
    about = import_module("markitdown").StreamInfo(extension=Path(name).suffix)
    return read_markdown(_markitdown().convert_stream(BytesIO(data), stream_info=about).markdown)


def pandoc(name: str, data: bytes) -> Blocks:
    """Convert a file by Pandoc, from pypandoc_binary."""
    command = [import_module("pypandoc").get_pandoc_path(), "--sandbox", "--wrap=none", "-f", Path(name).suffix[1:]]
    form = "markdown-simple_tables-multiline_tables"
    return read_markdown(
        subprocess.run([*command, "-t", form], input=data, capture_output=True, check=True).stdout.decode()
    )


def unstructured(name: str, data: bytes) -> Blocks:
    """Read a file by unstructured, which needs models of NLTK; its elements are the blocks."""
    kinds = {"Title": "heading", "ListItem": "item", "Table": "table"}
    with tempfile.TemporaryDirectory() as folder:
        (path := Path(folder, name)).write_bytes(data)
        elements = import_module("unstructured.partition.auto").partition(filename=str(path))
    blocks = [(kinds.get(element.category, "paragraph"), element.text) for element in elements]
    rows = [(element.metadata.text_as_html or "").split("</tr>")[0] for element in elements]
    names = [("heading", element.metadata.page_name or "") for element in elements]
    return [*blocks, *(("header", row) for row in rows if "<th" in row), *names]


def processor_seconds() -> float:
    """Return the processor time of this process and of those that it waited for."""
    return sum(os.times()[:4])


def counts(blocks: Blocks, expected: Sequence[Sequence[str]]) -> Iterator[int]:
    """Yield how many of the expected headings, items, headers and notes are there."""
    for kind, texts in zip(("heading", "item", "header", ""), expected, strict=True):
        yield sum(any(own.startswith(kind) and text in words for own, words in blocks) for text in texts)


def measure(convert: Callable[[str, bytes], Blocks]) -> dict[str, Any]:
    """Return what a converter keeps of all files, those that it cannot read, and its time."""
    kept, refused, seconds = [0] * 4, dict[str, str](), 0.0
    convert("report.docx", FILES["report.docx"][0])
    for name, (data, expected) in FILES.items():
        start = processor_seconds()
        try:
            blocks = convert(name, data)
        except Exception as error:  # noqa: BLE001 - whatever a library raises, its name is a result
            refused[name] = type(error).__name__
            continue
        seconds += processor_seconds() - start
        kept = [total + count for total, count in zip(kept, counts(blocks, expected), strict=True)]
    return {**dict(zip(KINDS, kept, strict=True)), "refused": refused, "seconds": round(seconds, 2)}


def main(arguments: Sequence[str] | None = None) -> None:
    """Print what each converter keeps, and what there is."""
    parser = argument_parser(__doc__, data=None)
    converters = ("ours", "markitdown", "pandoc", "unstructured")
    parser.add_argument("names", nargs="*", metavar="NAME", help=f"converters: {', '.join(converters)}")
    names = parser.parse_args(arguments).names or ["ours", "markitdown"]
    if unknown := [name for name in names if name not in converters]:
        parser.error(f"a converter must be one of {', '.join(converters)}, got {unknown[0]!r}")
    there = [sum(len(expected[i]) for _, expected in FILES.values()) for i in range(4)]
    results = {name: measure(globals()[name]) for name in names}
    print(json.dumps({"there": dict(zip(KINDS, there, strict=True)), **results}, indent=2))


if __name__ == "__main__":
    main()
