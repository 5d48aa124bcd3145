"""Places of the repository's files on the documentation site, and the links between its pages."""

from __future__ import annotations

import os
import re
from html.parser import HTMLParser
from pathlib import Path, PurePosixPath
from urllib.parse import unquote, urlsplit

ROOT = Path(__file__).parents[1]
SAMPLE = "tests/data/harbour_town.md"


class BrokenLink(Exception):  # noqa: N818
    """A page links to something that the site does not have."""


def site_path(path: PurePosixPath) -> PurePosixPath | None:
    """Return the place of a file of the repository on the site, or None if it has none.

    >>> site_path(PurePosixPath("benchmarks/README.md"))
    PurePosixPath('benchmarks/index.md')
    """
    places = {
        "CHANGELOG.md": "changelog.md",
        "CONTRIBUTING.md": "contributing.md",
        "README.md": "index.md",
        "benchmarks/README.md": "benchmarks/index.md",
        "core/advchunk/models/assets/MODEL_CARD.md": "built-in-embedder.md",
        SAMPLE: "harbour_town.md",
    }
    if str(path) in places:
        return PurePosixPath(places[str(path)])
    if path.parts[:2] == ("docs", "integrations"):  # texts for the sites of the frameworks
        return None
    if path.parts[0] == "docs" and path.suffix in {".md", ".svg", ".png", ".css"}:
        return path.relative_to("docs")
    if path.parts[0] == "benchmarks" and path.suffix in {".md", ".svg"}:
        return path
    return path.with_suffix(".md") if path.parts[0] == "notebooks" and path.suffix == ".ipynb" else None


_FENCE = re.compile(r"(^```.*?^```$|`[^`\n]*`)", re.MULTILINE | re.DOTALL)
_LINK = re.compile(r"(?<=\]\()([^)\s]+)(?=\))")


def relink(text: str, path: PurePosixPath, place: PurePosixPath) -> str:
    """Return a page of the repository with its relative links changed to places on the site."""

    def target(match: re.Match[str]) -> str:
        link = urlsplit(match[1])
        if link.scheme or not link.path:
            return match[1]
        file = PurePosixPath(os.path.normpath(path.parent / link.path))
        if file.parts[0] == "docs" and path.parts[0] == "docs":  # Zensical checks it, and it may be a page written here
            return match[1]
        other = site_path(file)
        if other is None or not (ROOT / file).is_file():
            msg = f"{path} links to {link.path}, which is not on the site"
            raise BrokenLink(msg)
        return os.path.relpath(other, place.parent) + (f"#{link.fragment}" if link.fragment else "")

    parts = _FENCE.split(text)
    parts[::2] = [_LINK.sub(target, part) for part in parts[::2]]
    return "".join(parts)


def title_of(text: str) -> str:
    """Return the first heading of a page."""
    heading = re.search(r"^# (.+)$", text, re.MULTILINE)
    return heading[1].replace("`", "") if heading else ""


class _Page(HTMLParser):
    """The ids of a page, what it links to, and what it loads."""

    def __init__(self, text: str) -> None:
        super().__init__()
        self.ids, self.links, self.loaded = set[str](), list[str](), list[str]()
        self.feed(text)

    def handle_starttag(self, tag: str, attrs: list[tuple[str, str | None]]) -> None:
        values = {name: value or "" for name, value in attrs}
        self.ids.update(value for name, value in values.items() if name == "id" or (tag == "a" and name == "name"))
        if tag in {"a", "area"} and "href" in values:
            self.links.append(values["href"])
        elif tag == "link" and values.get("rel") not in {"canonical", "prev", "next"}:
            self.loaded.append(values.get("href", ""))
        elif "src" in values:
            self.loaded.append(values["src"])


def check(site: Path) -> list[str]:
    """Return the broken links of a built site: missing pages, anchors and files, and what is loaded from elsewhere."""
    pages = {path: _Page(path.read_text(encoding="utf-8")) for path in sorted(site.rglob("*.html"))}
    broken = []
    for path, page in pages.items():
        for link in [*page.links, *page.loaded]:
            target = urlsplit(link)
            is_loaded = link in page.loaded
            if target.scheme or target.netloc:
                broken += [f"{path.relative_to(site)}: loads {link}"] if is_loaded and target.scheme != "data" else []
                continue
            base = site if target.path.startswith("/") else path.parent
            file = (base / unquote(target.path).lstrip("/")).resolve() if target.path else path
            file = file / "index.html" if file.is_dir() else file
            has_anchor = (
                not target.fragment or is_loaded or file not in pages or unquote(target.fragment) in pages[file].ids
            )
            if not file.is_file() or not has_anchor:
                broken.append(f"{path.relative_to(site)}: {link}")
    return broken
