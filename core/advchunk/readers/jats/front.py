"""The front matter of JATS, as metadata."""

from __future__ import annotations

from collections.abc import Iterator
from xml.etree.ElementTree import Element

from advchunk.readers.jats.lines import said
from advchunk.readers.writing import squeezed

# Dates that are not those of the article, but of a manuscript or a copy of it.
_ANOTHER_DATE = frozenset(["pmc-release", "nihms-submitted", "received", "accepted", "retracted", "corrected"])


def metadata(article: Element) -> dict[str, str]:
    """Return what an article says of itself, of what there is."""
    front = article.find("front")
    if front is None:
        return {}
    ids = {each.get("pub-id-type"): squeezed(said(each)) for each in front.iterfind("article-meta/article-id")}
    pmcid = ids.get("pmcid") or ids.get("pmc", "")
    titles = [front.find(f"article-meta/title-group/{tag}") for tag in ("article-title", "subtitle")]
    journals = (front.find(f"journal-meta/{path}journal-title") for path in ("journal-title-group/", ""))
    words = [squeezed(said(word)) for word in front.iterfind("article-meta/kwd-group//kwd")]
    known = {
        "title": ": ".join(squeezed(said(each)) for each in titles if each is not None),
        "authors": "; ".join(_authors(front)),
        "journal": next((squeezed(said(each)) for each in journals if each is not None), ""),
        "doi": ids.get("doi", ""),
        "pmid": ids.get("pmid", ""),
        "pmcid": f"PMC{pmcid}" if pmcid.isdigit() else pmcid,
        "published_at": _published(front),
        "keywords": "; ".join(dict.fromkeys(filter(None, words))),
        "license": _license(front),
        "language": next((value for key, value in article.items() if key.endswith("}lang")), ""),
        "article_type": article.get("article-type", ""),
    }
    return {key: value for key, value in known.items() if value}


def _authors(front: Element) -> Iterator[str]:
    for author in front.iterfind("article-meta/contrib-group/contrib"):
        name = next((each for each in author.iter() if each.tag in {"name", "string-name", "collab"}), None)
        if author.get("contrib-type", "author") != "author" or name is None:
            continue
        parts = [name.find(tag) for tag in ("prefix", "given-names", "surname", "suffix")]
        line = squeezed(" ".join(said(part) for part in parts if part is not None))
        group = name.text if name.tag == "collab" else None  # it may list its members behind its name
        if line := line or squeezed(group or "") or squeezed(said(name)):
            yield line


def _published(front: Element) -> str:
    """Return the first of the dates that say the most: a volume's has but a year."""
    every = front.findall("article-meta/pub-date")
    own = [each for each in every if not {each.get("pub-type"), each.get("date-type")} & _ANOTHER_DATE]
    dates = [line for each in own or every if (line := _date(each))]
    return min(dates, key=lambda line: (-len(line), line), default="")


def _date(date: Element) -> str:
    if iso := date.get("iso-8601-date"):
        return iso
    line = ""
    for tag, digits in (("year", 4), ("month", 2), ("day", 2)):
        part = squeezed(date.findtext(tag) or "")
        if not part.isdecimal():
            break
        line += ("-" if line else "") + part.zfill(digits)
    return line


def _license(front: Element) -> str:
    """Return a license by its address, else in its words."""
    found = front.find("article-meta/permissions/license")
    if found is None:
        return ""
    addresses = [value for key, value in found.items() if key.endswith("href")] + [found.findtext("license_ref") or ""]
    addresses += [value for link in found.iter("ext-link") for key, value in link.items() if key.endswith("href")]
    return next((squeezed(each) for each in addresses if each.strip()), squeezed(said(found)))
