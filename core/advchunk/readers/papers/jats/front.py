"""Metadata of a JATS article, from its front matter."""

from collections.abc import Iterator
from itertools import chain, takewhile
from xml.etree.ElementTree import Element

from advchunk.readers.papers.jats.lines import label_text
from advchunk.readers.writing import squeeze

# Dates of a manuscript or a copy, not of the article.
_OTHER_DATES = frozenset(["pmc-release", "nihms-submitted", "received", "accepted", "retracted", "corrected"])


def article_metadata(article: Element) -> dict[str, str]:
    """Return the metadata of an article, without empty values."""
    front = article.find("front")
    if front is None:
        return {}
    ids = {item.get("pub-id-type"): label_text([item]) for item in front.iterfind("article-meta/article-id")}
    pmcid = ids.get("pmcid") or ids.get("pmc", "")
    titles = [front.find(f"article-meta/title-group/{tag}") for tag in ("article-title", "subtitle")]
    journals = [front.find(f"journal-meta/{path}journal-title") for path in ("journal-title-group/", "")]
    words = [label_text([word]) for word in front.iterfind("article-meta/kwd-group//kwd")]
    metadata = {
        "title": ": ".join(label_text([title]) for title in titles if title is not None),
        "authors": "; ".join(_authors(front)),
        "journal": next((label_text([journal]) for journal in journals if journal is not None), ""),
        "doi": ids.get("doi", ""),
        "pmid": ids.get("pmid", ""),
        "pmcid": f"PMC{pmcid}" if pmcid.isdigit() else pmcid,
        "published_at": _publication_date(front),
        "keywords": "; ".join(dict.fromkeys(filter(None, words))),
        "license": _license(front),
        "language": next((value for key, value in article.items() if key.endswith("}lang")), ""),
        "article_type": article.get("article-type", ""),
    }
    return {key: value for key, value in metadata.items() if value}


def _authors(front: Element) -> Iterator[str]:
    for author in front.iterfind("article-meta/contrib-group/contrib"):
        name = next((child for child in author.iter() if child.tag in {"name", "string-name", "collab"}), None)
        if author.get("contrib-type", "author") != "author" or name is None:
            continue
        parts = [name.find(tag) for tag in ("prefix", "given-names", "surname", "suffix")]
        group = name.text if name.tag == "collab" else None  # its members may follow its name
        text = label_text(part for part in parts if part is not None) or squeeze(group or "") or label_text([name])
        if text:
            yield text


def _publication_date(front: Element) -> str:
    """Return the earliest of the most precise dates: the date of a volume is only a year."""
    dates = front.findall("article-meta/pub-date")
    own = [date for date in dates if not {date.get("pub-type"), date.get("date-type")} & _OTHER_DATES]
    texts = [text for date in own or dates if (text := _format_date(date))]
    return min(texts, key=lambda text: (-len(text), text), default="")


def _format_date(date: Element) -> str:
    if iso := date.get("iso-8601-date"):
        return iso
    parts = (squeeze(date.findtext(tag) or "") for tag in ("year", "month", "day"))
    return "-".join(part.zfill(2) for part in takewhile(str.isdecimal, parts))


def _license(front: Element) -> str:
    """Return the address of a license, or else its text."""
    element = front.find("article-meta/permissions/license")
    if element is None:
        return ""
    links = [element, *element.iter("ext-link")]
    own, *addresses = ([value for key, value in link.items() if key.endswith("href")] for link in links)
    texts = [*own, element.findtext("license_ref") or "", *chain(*addresses)]
    return next((squeeze(text) for text in texts if text.strip()), label_text([element]))
