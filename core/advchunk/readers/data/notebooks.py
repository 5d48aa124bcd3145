"""Read Jupyter notebooks as Markdown: their texts, their code, and what the code printed."""

import re
from collections import Counter
from collections.abc import Iterator, Mapping
from typing import Any

from advchunk.readers import markdown
from advchunk.readers.json import Object, parse_json
from advchunk.readers.writing import left_out
from advchunk.records import Block, Document

_MAX_OUTPUT = 1000  # characters of an output
_NAME = re.compile(r"<[\w.]+(?: [^<>]*)?>")  # such as "<Figure size 640x480 with 1 Axes>"
_OVERWRITTEN = re.compile(r"[^\n]*\r(?!\n|\Z)")  # as a bar of progress is
_ANSI = re.compile(r"\x1b\[[0-9;?]*[A-Za-z]")


def read(text: str, *, id: str = "", metadata: Mapping[str, Any] | None = None) -> Document:
    """Read a notebook (nbformat 3 to 5), outputs cut at 1,000 characters; ``left_out`` counts pictures and HTML."""
    root = parse_json(text)
    about = root.object("metadata") or Object({})
    kernel, own = about.object("kernelspec") or Object({}), about.object("language_info") or Object({})
    language = kernel.text("language") or own.text("name") or "python"
    sheets = root.objects("worksheets") or [root]  # nbformat 3
    counts = Counter[str]()
    parts = [part for sheet in sheets for cell in sheet.objects("cells") for part in _cell(cell, language, counts)]
    parts, blocks, start = [*filter(str.strip, parts)], list[Block](), 0
    for part in parts:  # each by itself, so that a fence that one leaves open ends with it
        blocks += [block.moved(start) for block in markdown.blocks(part, is_start=not start)]
        start += len(part) + 2
    properties = {"code_language": language, **left_out(counts), **(metadata or {})}
    return Document("\n\n".join(parts), id, tuple(blocks), properties, markup="ipynb")


def _cell(cell: Object, language: str, counts: Counter[str]) -> Iterator[str]:
    kind, source = cell.text("cell_type"), cell.lines("source") or cell.lines("input")
    if kind == "code":
        if source.strip():
            yield _fenced(source, cell.text("language") or language)
        for output in cell.objects("outputs"):
            words = _output(output, counts).strip("\n")
            words = words if len(words) <= _MAX_OUTPUT else f"{words[:_MAX_OUTPUT]}..."
            if words:
                yield words if "text/markdown" in (output.object("data") or ()) else _fenced(words, "text")
    elif kind == "heading":
        yield f"{'#' * (min(max(cell.integer('level'), 1), 6))} {source}"
    else:
        yield source


def _output(output: Object, counts: Counter[str]) -> str:
    """Return an output as text; "" if it has none, or only the name of an object that is shown in another form."""
    if output.text("output_type") in {"pyerr", "error"}:
        return f"{output.text('ename')}: {output.text('evalue')}"
    data = output.object("data") or Object({})
    words = _OVERWRITTEN.sub("", output.lines("text"))
    words = _ANSI.sub("", words or data.lines("text/markdown") or data.lines("text/plain"))
    kinds = {"HTML" if kind == "text/html" else "pictures" if kind.startswith("image/") else "" for kind in data} - {""}
    is_name = _NAME.fullmatch(words.strip()) is not None
    for kind in kinds if is_name or not words else ():
        counts[kind] += 1
    return "" if is_name and kinds else words


def _fenced(text: str, language: str) -> str:
    longest = max((len(run) for run in re.findall(r"^ {0,3}(`{3,})", text, re.MULTILINE)), default=2)
    fence = "`" * max(longest + 1, 3)
    return f"{fence}{language}\n{text.strip(chr(10))}\n{fence}"
