"""Write RTF as Markdown, by striprtf."""

import re

from advchunk.errors import import_extra

_OUTLINE = re.compile(r"\\outlinelevel([0-5])(?!\d)")
_LEFT_OUT = {"note": re.compile(r"\\footnote\b"), "picture": re.compile(r"\\pict\b")}
_ROWS = re.compile(r"(?:^[^\n]*\|\n?)+", re.MULTILINE)
_BULLET = re.compile(r"^[•·][ \t]*", re.MULTILINE)


def read_rich_text(data: bytes) -> tuple[str, dict[str, list[str]]]:
    """Return the Markdown of a file of RTF, and what is left out.

    Paragraphs with a level of the outline are headings, rows of cells tables, of which the first is the header, and bullets
    lists. Notes and pictures are left out.
    """
    source = data.decode("latin-1")
    marked = _OUTLINE.sub(lambda level: f"{level[0]}{{{'#' * (int(level[1]) + 1)} }}", source)
    text: str = import_extra("striprtf.striprtf", "office").rtf_to_text(marked, errors="replace")
    text = _BULLET.sub("- ", _ROWS.sub(_table, text.replace("\r\n", "\n")))
    counts = {kind: len(sign.findall(source)) for kind, sign in _LEFT_OUT.items()}
    left_out = [f"{number} {kind}{'s' * (number > 1)}" for kind, number in counts.items() if number]
    # A paragraph is a line, but items of lists and rows of tables stay together.
    text = re.sub(r"(?<!\n)\n(?=[^\n])(?!(?:- |\|))|(?<=[^|\n])\n(?=\|)|\n(?=- )(?<!^)", "\n\n", text)
    return text.strip("\n"), {"left_out": left_out} if left_out else {}


def _table(rows: re.Match[str]) -> str:
    lines = [f"| {' | '.join(line.removesuffix('|').split('|'))} |" for line in rows[0].splitlines()]
    return "\n".join([lines[0], f"|{' --- |' * (lines[0].count('|') - 1)}", *lines[1:]]) + "\n"
