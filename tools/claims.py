"""List the figures of the README and of the guides, each with the lines of the benchmark pages that have it.

python tools/claims.py

A figure is a number with a decimal point or a comma for thousands, or "12 of 14". The benchmark pages are those that
the page links. What no benchmark measures, such as the value of a default, is in `DEFAULTS`; a test fails on a figure
that is in neither.
"""

import re
from collections.abc import Iterator
from pathlib import Path
from typing import NamedTuple

ROOT = Path(__file__).parents[1]
PAGES = [ROOT / "README.md", *sorted((ROOT / "docs").glob("*.md")), *sorted((ROOT / "docs" / "guides").glob("*.md"))]
FIGURE = re.compile(r"(?<![\w.,])(?<!\w-)(?:\d{1,3}(?:,\d{3})+|\d*\.\d+|\d+ of \d+)(?![\w.])")  # not Apache-2.0
LINK = re.compile(r"\]\((?!https?:)([^)#\s]*benchmarks/[^)#\s]*\.md)")
CODE = re.compile(r"^```.*?^```$|`[^`\n]*`|<[^>]*>", re.DOTALL | re.MULTILINE)
DEFAULTS = {
    "3.11": "pyproject.toml, requires-python",
    "5,000": "max_units",
    "3.1": "a number of a clause",
}


class Claim(NamedTuple):
    """A figure of a page, and the places that have it: "benchmarks/CUTS.md:12"."""

    page: str
    line: int
    figure: str
    sources: tuple[str, ...]


def claims(page: Path) -> Iterator[Claim]:
    """Yield the figures of a page that are not in its code."""
    text = CODE.sub(lambda match: re.sub(r"[^\n]", " ", match[0]), page.read_text("utf-8"))
    links = sorted({(page.parent / name).resolve() for name in LINK.findall(text)})
    lines = [(path, n, line) for path in links for n, line in enumerate(path.read_text("utf-8").splitlines(), 1)]
    for number, own in enumerate(text.splitlines(), 1):
        for figure in FIGURE.findall(own):
            sources = tuple(f"{path.relative_to(ROOT)}:{n}" for path, n, line in lines if has(line, figure))
            default = (DEFAULTS[figure],) if figure in DEFAULTS else ()
            yield Claim(str(page.relative_to(ROOT)), number, figure, sources or default)


def has(line: str, figure: str) -> bool:
    """Return True if a line has a figure, or both numbers of a share."""
    return set(figure.split(" of ")) <= set(re.findall(r"\d*[.,]?\d[\d,.]*(?<![.,])", line))


def main() -> None:
    """Print all claims."""
    for page in PAGES:
        for claim in claims(page):
            print(f"{claim.page}:{claim.line}: {claim.figure}: {', '.join(claim.sources[:3]) or 'NOTHING'}")


if __name__ == "__main__":
    main()
