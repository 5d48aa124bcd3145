"""Read what the header of TEI says of its text."""

from __future__ import annotations

import re
from collections.abc import Iterable
from typing import TYPE_CHECKING

from advchunk.readers.tei.elements import date_of, every, person_of, tag_of, text_of

if TYPE_CHECKING:
    from xml.etree.ElementTree import Element

_ISO = re.compile(r"[0-9]{4}(?:-[0-9]{2}(?:-[0-9]{2})?)?")


def header_of(root: Element) -> tuple[dict[str, str], str]:
    """Return what the header says, and the name that the document has by it."""
    header = next(every(root, "teiHeader"), None)
    if header is None:
        return {}, ""

    def within(*path: str) -> list[Element]:
        found = [header]
        for name in path:
            found = [each for above in found for each in every(above, name)]
        return found

    def first(said: Iterable[str]) -> str:
        return next(filter(None, said), "")

    papers = within("titleStmt") + within("sourceDesc", "analytic") + within("sourceDesc", "monogr")
    title = first(_main(each) for each in papers)
    authors = first(
        "; ".join(filter(None, map(person_of, every(each, "author"))))
        for each in [*within("sourceDesc", "analytic"), *within("titleStmt"), *within("sourceDesc", "monogr")]
    )
    ids = {each.get("type", "").upper(): text_of(each) for each in within("idno")}
    dates = [*within("publicationStmt", "date"), *within("sourceDesc", "imprint", "date")]
    journals = [each for each in within("sourceDesc", "monogr", "title") if each.get("level") == "j"]
    terms = [text_of(each) for each in within("keywords", "term")] or [text_of(each) for each in within("keywords")]
    published = (_ISO.search(date_of(each)) for each in dates)
    known = {
        "title": title,
        "authors": authors,
        "doi": ids.get("DOI", ""),
        "published_at": first(match[0] for match in published if match),
        "journal": first(text_of(each) for each in journals if each.get("type") != "abbrev"),
        "keywords": "; ".join(filter(None, terms)),
    }
    own = f"doi:{ids['DOI']}" if ids.get("DOI") else f"md5:{ids['MD5']}" if ids.get("MD5") else ""
    return {key: said for key, said in known.items() if said}, own


def _main(paper: Element) -> str:
    """Return the main title of a paper, and what stands under it."""
    titles = [each for each in paper if tag_of(each) == "title" and each.get("type") != "abbrev" and text_of(each)]
    main = next((each for each in titles if each.get("type") == "main"), next(iter(titles), None))
    return ": ".join(text_of(each) for each in titles if each is main or each.get("type") == "sub")
