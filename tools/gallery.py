"""The gallery: pages of `advchunk view` that the site shows live, of texts of the repository."""

from __future__ import annotations

from typing import NamedTuple

from draw_picture import LAW, ROOT, TABLE, TRANSCRIPT, Picture, before_and_after, click, press

from advchunk import Document, RecursiveChunker, create

SIX = ("sliding-window", "recursive", "semantic-threshold", "mst-semantic", "universal-semantic", "optimal-semantic")
SAMPLE = ROOT / "tests" / "data" / "harbour_town.md"
CODE = ROOT / "core" / "advchunk" / "cli" / "viewer" / "page.py"
HEAD = """---
hide: [navigation, toc]
---

# Gallery

These are pages of [`advchunk view`](../guides/command-line.md#view), as the command writes them. Point at a chunk for its facts; click it to keep them. Chunks of other
columns that share text with it are darker, too. A red bar is a boundary that no other column has. Every figure is of the text that you see.
"""  # noqa: E501


class Exhibit(NamedTuple):
    """A page of the gallery, with what to see in it."""

    heading: str
    text: str
    picture: Picture


def exhibits() -> list[Exhibit]:
    """Return all pages of the gallery."""
    sample, code = (Document(path.read_text(encoding="utf-8"), path.name) for path in (SAMPLE, CODE))
    methods = {name: create(name, max_tokens=300).explain(sample) for name in SIX}
    answered = {name: methods[name] for name in ("recursive", "optimal-semantic")}
    markups = {name: RecursiveChunker(max_tokens=400, markup=name).explain(code) for name in ("plain", "code")}
    return [
        Exhibit(
            "One text, six chunkers",
            "All have `max_tokens=300`. Under each name is what the cuts come from. The bars are the sizes of the "
            "chunks; the curve is what the algorithm measures between sentences. Scroll to the right for the others.",
            Picture("six", methods, SAMPLE.name, press("jjjj"), 700),
        ),
        Exhibit(
            "A table",
            "Before, as plain text, a chunk ends in the middle of a row. After, the table is cut between rows, and "
            "each part has its caption and header as context.",
            before_and_after("table", "A table", TABLE, 120, 2, 560),
        ),
        Exhibit(
            "Code",
            'With `markup="code"`, functions and classes stay whole while they fit, and their names are in the '
            "metadata.",
            Picture("code", markups, CODE.name, click(1, 1) + "; " + press("kj"), 620),
        ),
        Exhibit(
            "A transcript",
            "Before, the question and its answer are in two chunks. After, they are in one, and the metadata has the "
            "speakers and the times.",
            before_and_after("transcript", "A transcript", TRANSCRIPT, 64, 1, 560),
        ),
        Exhibit(
            "A law",
            "Before, a chunk runs from Article 5 into Article 6. After, articles and paragraphs count as headings, "
            "and each chunk knows its clause.",
            before_and_after("law", "A law", LAW, 44, 1, 600),
        ),
        Exhibit(
            "A question",
            "The curve is the score of each sentence; the passages are cut for this question. Under it are the whole "
            "chunks that a search would return instead.",
            Picture("question", answered, SAMPLE.name, "", 760, "What is the miller's pay?"),
        ),
    ]


def gallery() -> dict[str, str]:
    """Return the files of the gallery by name: its page, and those that it shows."""
    shown = exhibits()
    parts = [HEAD]
    for heading, text, picture in shown:
        file = f"{picture.name}.html"
        frame = (
            f'<iframe class="view" src="{file}" title="{heading}" height="{picture.height}" loading="lazy"></iframe>'
        )
        parts += [f"## {heading}", f"{text} [Open it alone]({file}).", frame]
    pages = {f"{exhibit.picture.name}.html": exhibit.picture.page for exhibit in shown}
    return {"index.md": "\n\n".join(parts) + "\n", **pages}
