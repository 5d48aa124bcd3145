"""Metadata of TEI, from its header."""

from __future__ import annotations

import re
from collections.abc import Iterable
from typing import TYPE_CHECKING

from advchunk.readers.tei.elements import date_text, person_name, plain_text

if TYPE_CHECKING:
    from xml.etree.ElementTree import Element

_ISO = re.compile(r"[0-9]{4}(?:-[0-9]{2}(?:-[0-9]{2})?)?")


def read_header(root: Element) -> tuple[dict[str, str], str]:
    """Return the metadata in the header, and the id that it gives the document."""
    header = next(root.iter("teiHeader"), None)
    if header is None:
        return {}, ""
    statements, analytic, monographs = map(
        header.findall, (".//titleStmt", ".//sourceDesc//analytic", ".//sourceDesc//monogr")
    )
    ids = {item.get("type", "").upper(): plain_text(item) for item in header.iter("idno")}
    dates = header.findall(".//publicationStmt//date") + header.findall(".//sourceDesc//imprint//date")
    journals = [title for title in header.iterfind(".//sourceDesc//monogr//title") if title.get("level") == "j"]
    terms = header.findall(".//keywords//term") or header.findall(".//keywords")
    iso_dates = (_ISO.search(date_text(date)) for date in dates)
    metadata = {
        "title": _first(map(_title, statements + analytic + monographs)),
        "authors": _first(map(_authors, analytic + statements + monographs)),
        "doi": ids.get("DOI", ""),
        "published_at": _first(match[0] for match in iso_dates if match),
        "journal": _first(plain_text(title) for title in journals if title.get("type") != "abbrev"),
        "keywords": "; ".join(filter(None, map(plain_text, terms))),
    }
    id = f"doi:{ids['DOI']}" if ids.get("DOI") else f"md5:{ids['MD5']}" if ids.get("MD5") else ""
    return {key: value for key, value in metadata.items() if value}, id


def _first(texts: Iterable[str]) -> str:
    return next(filter(None, texts), "")


def _authors(paper: Element) -> str:
    return "; ".join(filter(None, map(person_name, paper.iter("author"))))


def _title(paper: Element) -> str:
    """Return the main title of a paper, and its subtitles."""
    titles = [title for title in paper.findall("title") if title.get("type") != "abbrev" and plain_text(title)]
    main = next((title for title in titles if title.get("type") == "main"), next(iter(titles), None))
    return ": ".join(plain_text(title) for title in titles if title is main or title.get("type") == "sub")
