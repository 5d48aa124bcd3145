"""Write the documents of `one_text` as PDFs, which have what a page shows.

What is read differs from other formats in this: numbered headings are a level lower, because a title may be above them;
items have no levels; notes are raised numbers, and their texts paragraphs; merged cells have their text once, and tables
one row of heads.
"""

import subprocess
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from io import BytesIO
from pathlib import Path
from tempfile import TemporaryDirectory
from xml.sax.saxutils import escape

import pytest

import one_text
from advchunk.readers.inline import format_script
from advchunk.readers.writing import pipe_table
from browser import BROWSER
from one_text import Part, Run
from pdfs import Paper

LEFT, BOTTOM, WIDTH = 60, 780, 48  # points; characters of a line
EDGES = (LEFT, 340, 420, 500)  # of the columns of a table


def shown(text: str) -> str:
    """Return a text without the characters that the fonts do not have."""
    return " ".join(text.replace("茶", "").split())


def runs_of(parts: Sequence[Part]) -> Iterator[tuple[Part, list[Run]]]:
    """Yield the parts that pages show, with their runs; notes are raised numbers, and texts below the rest.

    Paragraphs are sentences, because others may go on in the next one.
    """
    count = 0
    for part in parts:
        runs = list[Run]()
        for text, mark in part.runs:
            count += mark == "note"
            runs += [] if mark == "deleted" else [(str(count), "sup")] if mark == "note" else [(text, mark)]
        if part.kind in {"paragraph", "box"}:
            runs = [("It is ", ""), *runs, (".", "")]
        if part.kind != "hidden":
            yield part, runs
    for i, note in enumerate(one_text.notes(parts), 1):
        yield Part("note"), [(str(i), "sup"), (f" See {note}.", "")]


def expected(parts: Sequence[Part]) -> Iterator[tuple[str, int, str]]:
    """Yield the blocks of a PDF."""
    for part, runs in runs_of(parts):
        text = f"{part.label} ".replace("-", "•") * bool(part.label)
        for own, mark in runs:
            text += format_script(mark, own, text, "") if mark == "sup" else own
        kind = part.kind if part.kind in {"heading", "item", "table"} else "paragraph"
        level = {"item": 1, "heading": part.level + 1}.get(kind, 0)
        yield kind, level, table(part.rows) if part.rows else shown(text)


def table(rows: Sequence[one_text.Row]) -> str:
    """Return a table with one row of heads, in which merged cells have their text once."""
    cells = [[shown(text) for text, _, across in row for text in [text, *[""] * (across - 1)]] for row in rows]
    cells[1].insert(0, "")
    return pipe_table(cells)


def lines(runs: Iterable[Run]) -> Iterator[list[Run]]:
    """Yield the lines of runs, of about as many characters."""
    line, length = list[Run](), 0
    for text, mark in runs:
        words = text.split(" ") if mark != "sup" else [text]
        for i, word in enumerate(words):
            space = " " * (i > 0)
            if length + len(word) > WIDTH and space:
                yield line
                line, length, space = [], 0, ""
            line.append((space + word, mark))
            length += len(space + word)
    yield line


def raw(parts: Sequence[Part]) -> bytes:
    """Write a PDF by hand: each line is shown at its place, and tables have lines."""
    paper, top = Paper(title="A page").page(), 60.0

    def show(x: float, y: float, runs: Iterable[Run], size: float, font: int = 1) -> None:
        pieces = ""
        for text, mark in runs:
            up, own = (0.35 * size, 0.65 * size) if mark == "sup" else (0, size)
            plain = text.replace("茶", "").encode("cp1252").hex()
            pieces += f"{up} Ts /F{font} {own} Tf <{plain}> Tj "
        paper.raw(f"BT {x} {paper.height - y} Td {pieces} ET")

    for part, runs in runs_of(parts):
        if top > BOTTOM - 80:
            paper.page()
            top = 60
        if part.rows:
            heights = [top + 16 * i for i in range(len(part.rows) + 1)]
            for i, row in enumerate(part.rows):
                for (text, _, _), x in zip(row, EDGES[len(EDGES) - 1 - sum(cell[2] for cell in row) :], strict=False):
                    show(x + 4, heights[i] + 12, [(text, "")], 10)
            low = [paper.height - y for y in heights]
            starts = [EDGES[1] if i == 1 else EDGES[0] for i in range(len(low))]
            across = (f"{start} {y} m {EDGES[-1]} {y} l S" for start, y in zip(starts, low, strict=True))
            down = (f"{x} {low[1 if x == EDGES[2] else 0]} m {x} {low[-1]} l S" for x in EDGES)
            paper.raw(" ".join([*across, *down]))
            top = heights[-1] + 20
            continue
        size, font = {1: (16, 2), 2: (13, 2)}.get(part.level if part.kind == "heading" else 0, (10, 1))
        x = LEFT + 18 * part.level if part.kind == "item" else LEFT
        label = "•" if part.label == "-" else part.label
        own = [(f"{label} ", ""), *runs] if label else runs
        for line in lines(own):
            show(x, top + size, line, size, font)
            top += 1.2 * size
        top += 10
    return paper.data()


def platypus(parts: Sequence[Part]) -> bytes:
    """Write a PDF with ReportLab's Platypus."""
    flow = pytest.importorskip("reportlab.platypus")
    styles = pytest.importorskip("reportlab.lib.styles").getSampleStyleSheet()
    story, file = list[object](), BytesIO()
    for part, runs in runs_of(parts):
        text = "".join(
            f"<super>{own}</super>" if mark == "sup" else escape(own.replace("茶", "")) for own, mark in runs
        )
        if part.rows:
            cells = [[own.replace("茶", "") for own, _, across in row for _ in range(across)] for row in part.rows]
            cells[1].insert(0, "")
            spans = [("SPAN", (0, 0), (0, 1)), ("SPAN", (1, 0), (2, 0)), ("GRID", (0, 0), (-1, -1), 0.5, "black")]
            story.append(flow.Table(cells, style=spans))
        elif part.kind == "item":
            label = "•" if part.label == "-" else part.label
            style = styles["BodyText"].clone("item", leftIndent=18 * part.level, bulletIndent=18 * part.level - 14)
            story.append(flow.Paragraph(text, style, bulletText=label))
        else:
            style = styles[f"Heading{part.level}" if part.kind == "heading" else "BodyText"]
            story.append(flow.Paragraph(f"{part.label} {text}", style))
    flow.SimpleDocTemplate(file, title="A page").build(story)
    return file.getvalue()


def printed(parts: Sequence[Part]) -> bytes:
    """Print a page with a browser, whose bullets are characters, not drawn, and whose cells have lines."""
    if BROWSER is None:
        pytest.skip("needs a browser: chromium or google-chrome")
    with TemporaryDirectory() as folder:
        page, out = Path(folder) / "page.html", Path(folder) / "page.pdf"
        style = "ul { list-style-type: '• ' } table { border-collapse: collapse } td, th { border: 1px solid }"
        own = one_text.html([part._replace(runs=runs) for part, runs in runs_of(parts)]).replace("茶".encode(), b"")
        page.write_bytes(own.replace(b"<body>", f"<style>{style}</style><body>".encode()))
        flags = ["--headless", "--no-sandbox", "--disable-gpu", "--no-pdf-header-footer", f"--print-to-pdf={out}"]
        subprocess.run([BROWSER, *flags, page.as_uri()], capture_output=True, check=True, timeout=300)
        return out.read_bytes()


WRITERS: Mapping[str, Callable[[Sequence[Part]], bytes]] = {"raw": raw, "platypus": platypus, "printed": printed}
