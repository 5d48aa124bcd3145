"""Read Jupyter notebooks as Markdown: their texts, their code, and what the code printed."""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping
from typing import Any

from advchunk.readers import markdown
from advchunk.readers.json import Object, parse_json
from advchunk.records import Block, Document

_MAX_OUTPUT = 1000  # characters of an output
_ANSI = re.compile(r"\x1b\[[0-9;?]*[A-Za-z]")


def read(text: str, *, id: str = "", metadata: Mapping[str, Any] | None = None) -> Document:
    """Read a notebook (nbformat 3 to 5): Markdown cells as they are, code in fences of its language, outputs below it,
    cut at 1,000 characters. Pictures, HTML, and places in the file are left out.
    """
    root = parse_json(text)
    about = root.object("metadata") or Object({})
    kernel, own = about.object("kernelspec") or Object({}), about.object("language_info") or Object({})
    language = kernel.text("language") or own.text("name") or "python"
    sheets = root.objects("worksheets") or [root]  # nbformat 3
    parts = [part for sheet in sheets for cell in sheet.objects("cells") for part in _cell(cell, language)]
    parts, blocks, start = [*filter(str.strip, parts)], list[Block](), 0
    for part in parts:  # each by itself, so that a fence that one leaves open ends with it
        blocks += [block.moved(start) for block in markdown.blocks(part, is_start=not start)]
        start += len(part) + 2
    properties = {"code_language": language, **(metadata or {})}
    return Document("\n\n".join(parts), id, tuple(blocks), properties, markup="ipynb")


def _cell(cell: Object, language: str) -> Iterator[str]:
    kind, source = cell.text("cell_type"), cell.lines("source") or cell.lines("input")
    if kind == "code":
        if source.strip():
            yield _fenced(source, cell.text("language") or language)
        for output in cell.objects("outputs"):
            if words := _output(output).strip("\n"):
                yield _fenced(words if len(words) <= _MAX_OUTPUT else f"{words[:_MAX_OUTPUT]}...", "text")
    elif kind == "heading":
        yield f"{'#' * (min(max(cell.integer('level'), 1), 6))} {source}"
    else:
        yield source


def _output(output: Object) -> str:
    """Return an output as text; "" if it has none."""
    if output.text("output_type") in {"pyerr", "error"}:
        return f"{output.text('ename')}: {output.text('evalue')}"
    words = output.lines("text") or (output.object("data") or Object({})).lines("text/plain")
    return _ANSI.sub("", words)


def _fenced(text: str, language: str) -> str:
    longest = max((len(run) for run in re.findall(r"^ {0,3}(`{3,})", text, re.MULTILINE)), default=2)
    fence = "`" * max(longest + 1, 3)
    return f"{fence}{language}\n{text.strip(chr(10))}\n{fence}"
