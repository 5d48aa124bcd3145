"""Draw docs/images/chunks.png: the page of `advchunk view` for a sample text, in a headless browser."""

from __future__ import annotations

import base64
import hashlib
import shutil
import subprocess
import tempfile
from pathlib import Path

from advchunk import create, read_file
from advchunk.viewer import View

ROOT = Path(__file__).parents[1]
METHODS = ("mst-semantic", "semantic-threshold")
SIZE = "1200,660"  # pixels
SCRIPT = (
    "for (const key of 'jjjjjjjjjj') document.body.dispatchEvent(new KeyboardEvent('keydown', {key, bubbles: true}))"
)
BROWSERS = ("chromium", "google-chrome", "chromium-browser")


def main() -> None:
    """Write the page to a temporary folder, and take its picture."""
    document = read_file(ROOT / "tests" / "data" / "harbour_town.md")
    view = View({name: create(name).explain(document) for name in METHODS}, title="harbour_town.md")
    browser = next(filter(None, map(shutil.which, BROWSERS)))
    with tempfile.TemporaryDirectory() as folder:
        page = Path(folder, "chunks.html")
        # The page allows only scripts with a known hash: add that of the one that goes to a chunk with two passages.
        digest = base64.b64encode(hashlib.sha256(SCRIPT.encode()).digest()).decode()
        html = view.html.replace("script-src '", f"script-src 'sha256-{digest}' '", 1)
        page.write_text(html.replace("</body>", f"<script>{SCRIPT}</script></body>"), encoding="utf-8")
        flags = [
            "--headless=new",
            "--no-sandbox",
            "--disable-gpu",
            "--hide-scrollbars",
            f"--user-data-dir={folder}/profile",
        ]
        picture = ROOT / "docs" / "images" / "chunks.png"
        subprocess.run([browser, *flags, f"--window-size={SIZE}", f"--screenshot={picture}", page.as_uri()], check=True)


if __name__ == "__main__":
    main()
