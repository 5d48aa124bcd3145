"""Draw docs/images: pages of `advchunk view` in a headless browser, of a sample text, and of structure before and after
it is read.
"""

from __future__ import annotations

import base64
import hashlib
import shutil
import subprocess
import tempfile
from collections.abc import Mapping
from pathlib import Path
from typing import NamedTuple

from advchunk import Document, Explanation, RecursiveChunker, create, read_file
from advchunk.cli.viewer import View

ROOT = Path(__file__).parents[1]
METHODS = ("mst-semantic", "semantic-threshold")
BROWSERS = ("chromium", "google-chrome", "chromium-browser")
PRESS = "for (const key of 'KEYS') document.body.dispatchEvent(new KeyboardEvent('keydown', {key, bubbles: true}))"
CLICK = "document.querySelectorAll('.column')[COLUMN].querySelector('[data-chunk=\"CHUNK\"]').click()"


class Picture(NamedTuple):
    """A picture of a page.

    Parameters
    ----------
    script : run when the page is open.
    height : in pixels; the picture is 1,200 wide.
    question : that the page answers, in passages of ``budget`` tokens together.
    """

    name: str
    explanations: Mapping[str, Explanation]
    title: str
    script: str
    height: int
    question: str = ""
    budget: int = 150

    @property
    def page(self) -> str:
        """The page, which runs the script."""
        html = View(self.explanations, title=self.title, question=self.question, budget=self.budget).html
        # The page allows only scripts with a known hash: add that of this one.
        digest = base64.b64encode(hashlib.sha256(self.script.encode()).digest()).decode()
        html = html.replace("script-src '", f"script-src 'sha256-{digest}' '", 1)
        return html.replace("</body>", f"<script>{self.script}</script></body>")


TABLE = """The prices below are per 100 g, and hold until the end of the year.

Table 1. Teas in stock

<table><tr><th>Tea</th><th>Origin</th><th>Price</th></tr><tr><td>Sencha</td><td>Japan</td><td>9.80</td></tr><tr><td>Gyokuro</td><td>Japan</td><td>24.50</td></tr><tr><td>Assam</td><td>India</td><td>6.20</td></tr><tr><td>Darjeeling</td><td>India</td><td>11.90</td></tr><tr><td>Oolong</td><td>Taiwan</td><td>14.00</td></tr><tr><td>Keemun</td><td>China</td><td>8.70</td></tr></table>

All teas are sold in tins."""
LAW = """Article 5

Delivery

(1) The seller delivers the goods on:
(a) the agreed day, or
(b) the first working day after it, if the agreed day is a holiday at the place of delivery.
(2) The buyer inspects the goods at once. Faults that can be seen are reported on the same day.

Article 6

Payment

(1) The buyer pays the price within thirty days.
(2) Later payments bear interest of five percent a year."""
TRANSCRIPT = """[00:00:04] Ada: Shall we begin with the tea room? The lease ends in May, and the owner asks for an answer by Friday. She wants to know whether we stay for three years or for five.

[00:00:31] Ben: What does she ask for five?

[00:00:36] Ada: The same rent as now. For three years she wants a tenth more. I think that we should take the five, because the kitchen is new and nobody else on the street has one.

[00:01:02] Cy: Five, then.

[00:01:05] Ben: Agreed. Next is the roof."""  # noqa: E501


def click(column: int, chunk: int) -> str:
    """Return a script that selects a chunk."""
    return CLICK.replace("COLUMN", str(column)).replace("CHUNK", str(chunk))


def press(keys: str) -> str:
    """Return a script that presses keys."""
    return PRESS.replace("KEYS", keys)


def before_and_after(name: str, title: str, text: str, max_tokens: int, chunk: int, height: int) -> Picture:
    """Return a picture of the chunks of a plain text, and of those of its structure, of which one is selected."""
    before = RecursiveChunker(max_tokens=max_tokens, markup="plain", outline=False)
    after = RecursiveChunker(max_tokens=max_tokens, include_context=True)
    explanations = {"before": before.explain(Document(text)), "after": after.explain(Document(text))}
    return Picture(name, explanations, title, click(1, chunk), height)


def pictures() -> list[Picture]:
    """Return all pictures."""
    document = read_file(ROOT / "tests" / "data" / "harbour_town.md")
    methods = {name: create(name).explain(document) for name in METHODS}
    return [
        Picture("chunks", methods, "harbour_town.md", press("ddd"), 660),
        before_and_after("structure_table", "A table", TABLE, 120, 2, 660),
        before_and_after("structure_law", "A law", LAW, 44, 1, 670),
        before_and_after("structure_transcript", "A transcript", TRANSCRIPT, 64, 1, 600),
    ]


def draw(picture: Picture, folder: str) -> None:
    """Write the page to a folder, and take its picture."""
    browser, page = next(filter(None, map(shutil.which, BROWSERS))), Path(folder, f"{picture.name}.html")
    page.write_text(picture.page, encoding="utf-8")
    flags = [
        "--headless=new",
        "--no-sandbox",
        "--disable-gpu",
        "--hide-scrollbars",
        f"--user-data-dir={folder}/profile",
    ]
    image = ROOT / "docs" / "images" / f"{picture.name}.png"
    size = f"--window-size=1200,{picture.height}"
    subprocess.run([browser, *flags, size, f"--screenshot={image}", page.as_uri()], check=True)


def main() -> None:
    """Draw all pictures."""
    with tempfile.TemporaryDirectory() as folder:
        for picture in pictures():
            draw(picture, folder)


if __name__ == "__main__":
    main()
