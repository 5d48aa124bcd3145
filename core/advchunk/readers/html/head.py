"""Metadata of an HTML page."""

import re
from collections import defaultdict
from collections.abc import Mapping, Sequence
from typing import TYPE_CHECKING

from advchunk.readers.html.guard import ELEMENTS, restore_tags
from advchunk.readers.writing import squeeze

if TYPE_CHECKING:
    from selectolax.lexbor import LexborHTMLParser

# Sources of each key, in order of preference: Open Graph, plain HTML, Highwire (used by journals), Dublin Core.
_SOURCES: Mapping[str, Sequence[str]] = ELEMENTS["metadata"]
_DATE = re.compile(r"\s*(\d{4})(?:[-/](\d{1,2})(?:[-/](\d{1,2}))?)?(?!\d)", re.ASCII)


def page_metadata(tree: "LexborHTMLParser") -> dict[str, str]:
    """Return the metadata of a page: all authors, and the first value of every other key."""
    values = defaultdict[str, list[str]](list)

    def add(name: str | None, text: str | None) -> None:
        if name and (text := squeeze(restore_tags(text or ""))):
            values[name.lower()].append(text)

    for item in tree.css("meta"):
        add(item.attributes.get("property") or item.attributes.get("name"), item.attributes.get("content"))
    for name, node, attribute in (("<lang>", "html", "lang"), ("<canonical>", "link[rel=canonical]", "href")):
        add(name, first.attributes.get(attribute) if (first := tree.css_first(node)) else None)
    add("<title>", title.text() if (title := tree.css_first("head > title")) else None)
    metadata = dict[str, str]()
    for key, sources in _SOURCES.items():
        texts = next((values[source] for source in sources if source in values), [])
        if key == "authors":
            texts = ["; ".join(dict.fromkeys(text for text in texts if not text.startswith(("http:", "https:"))))]
        text = texts[0] if texts else ""
        if key == "published_at":  # in ISO 8601, as precise as the page says
            match = _DATE.match(text)
            text = "-".join(part.zfill(2) for part in match.groups() if part) if match else ""
        if text:
            metadata[key] = text
    return metadata
