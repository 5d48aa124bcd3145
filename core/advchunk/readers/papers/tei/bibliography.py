"""Bibliographic data of TEI: the metadata of its header, and its references in one line each."""

import re
from collections.abc import Iterable, Iterator
from xml.etree.ElementTree import Element

from advchunk.readers.hyphens import keeps_hyphen
from advchunk.readers.writing import squeeze

_ISO = re.compile(r"[0-9]{4}(?:-[0-9]{2}(?:-[0-9]{2})?)?")
# At the end of a line.
_DIVIDED = re.compile(r"(?<!\w)(?P<left>[^\W\d_]++)- (?!(?:and|or|to|und|et)\b)(?=(?P<right>[^\W\d_]++))")
_FORMATTED = frozenset({"author", "biblScope", "date", "editor", "idno", "ptr", "title"})


def plain_text(element: Element) -> str:
    """Return the text of an element in one line."""
    return squeeze("".join(element.itertext()))


def date_text(element: Element) -> str:
    """Return a date in ISO 8601, or else as it is printed."""
    return element.get("when") or plain_text(element)


def person_name(element: Element) -> str:
    """Return the name of a person: forenames, link, surname, generation."""
    named = next(element.iter("persName"), element)
    parts = [plain_text(part) for tag in ("forename", "nameLink", "surname", "genName") for part in named.iter(tag)]
    if parts:
        return " ".join(parts)
    return plain_text(named) if named.tag == "persName" or not len(named) else squeeze(named.text or "")


def read_header(root: Element) -> tuple[dict[str, str], str]:
    """Return the metadata in the header, and the document's id."""
    header = next(root.iter("teiHeader"), None)
    if header is None:
        return {}, ""
    paths = (".//titleStmt", ".//sourceDesc//analytic", ".//sourceDesc//monogr")
    statements, analytic, monographs = map(header.findall, paths)
    authors = (paper.iter("author") for paper in analytic + statements + monographs)
    ids = {item.get("type", "").upper(): plain_text(item) for item in header.iter("idno")}
    dates = header.findall(".//publicationStmt//date") + header.findall(".//sourceDesc//imprint//date")
    journals = [title for title in header.iterfind(".//sourceDesc//monogr//title[@level='j']") if _is_full(title)]
    terms = header.findall(".//keywords//term") or header.findall(".//keywords")
    iso_dates = (_ISO.search(date_text(date)) for date in dates)
    metadata = {
        "title": next(filter(None, map(_title, statements + analytic + monographs)), ""),
        "authors": next((names for paper in authors if (names := _join("; ", map(person_name, paper)))), ""),
        "doi": ids.get("DOI", ""),
        "published_at": next((match[0] for match in iso_dates if match), ""),
        "journal": next(filter(None, map(plain_text, journals)), ""),
        "keywords": _join("; ", map(plain_text, terms)),
    }
    id = f"doi:{ids['DOI']}" if ids.get("DOI") else f"md5:{ids['MD5']}" if ids.get("MD5") else ""
    return {key: value for key, value in metadata.items() if value}, id


def _join(separator: str, texts: Iterable[str | None]) -> str:
    return separator.join(filter(None, texts))


def _is_full(title: Element) -> bool:
    return title.get("type") != "abbrev"


def _title(paper: Element) -> str:
    """Return the main title of a paper, and its subtitles."""
    titles = [title for title in paper.findall("title") if _is_full(title) and plain_text(title)]
    main = next((title for title in titles if title.get("type") == "main"), next(iter(titles), None))
    return ": ".join(plain_text(title) for title in titles if title is main or title.get("type") == "sub")


def format_reference(source: Element) -> str:
    """Return a reference as it was printed, if GROBID has that, or else its parts with punctuation."""
    printed = next((plain_text(note) for note in source.iter("note") if note.get("type") == "raw_reference"), "")
    printed = _DIVIDED.sub(lambda match: match["left"] + "-" * keeps_hyphen(match, frozenset()), printed)
    ids = list(dict.fromkeys(filter(None, map(_identifier, source.iter("idno")))))
    if printed:
        return " ".join([printed, *(id for id in ids if id.startswith("doi:") and id[4:] not in printed)])
    authors, editors = (_join(", ", map(person_name, source.iter(role))) for role in ("author", "editor"))
    date = next(filter(None, map(date_text, source.iter("date"))), "")
    titles = dict.fromkeys(map(plain_text, filter(_is_full, source.iter("title"))))
    *others, last = [*titles] or [""]
    scopes = dict[str, str]()
    for scope in source.iter("biblScope"):
        scopes[scope.get("unit", "")] = plain_text(scope) or _join("–", dict.fromkeys(map(scope.get, ("from", "to"))))
    issue = scopes.pop("volume", "") + (f"({scopes.pop('issue')})" if scopes.get("issue") else "")
    issue = _join(": ", [issue, scopes.pop("page", "")])
    parts = [
        f"{authors} ({date})" if authors and date else authors or date,
        *others,
        f"{last} {issue}",
        f"Edited by {editors}" if editors else "",
        *(f"{unit} {text}" for unit, text in scopes.items()),
        *(*_rest(source), *ids, *(link.get("target", "") for link in source.iter("ptr"))),
    ]
    return " ".join(part if part[-1] in ".?!" else f"{part}." for part in map(squeeze, parts) if part)


def _rest(element: Element) -> Iterator[str]:
    for child in element:
        if child.tag not in _FORMATTED:
            yield (child.text or "") if len(child) else plain_text(child)
            yield from _rest(child)
        yield child.tail or ""


def _identifier(element: Element) -> str:
    kind, text = element.get("type", ""), plain_text(element)
    if not text or "ISSN" in kind.upper():
        return ""
    kind = "doi" if kind.upper() == "DOI" else kind
    return f"{kind}:{text}" if kind and not text.casefold().startswith(f"{kind}:".casefold()) else text
