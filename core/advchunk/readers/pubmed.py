"""Read what PubMed hands out: MEDLINE records, and the XML of EFetch.

Both give ``title``, ``pmid``, ``parent_uid`` ("pubmed:<pmid>"), ``source``, ``published_at``, ``journal``, ``doi`` and
``mesh`` as metadata, where there are such, and a text that is empty where there is no abstract.
"""

from __future__ import annotations

import re
from collections.abc import Iterable
from itertools import pairwise
from typing import TYPE_CHECKING

from advchunk.readers import xml
from advchunk.readers.abstracts.labels import find_labels
from advchunk.readers.abstracts.normalization import AlignedText, normalize_abstract, plain
from advchunk.readers.abstracts.sections import from_sections, section_blocks
from advchunk.readers.inline import inline_text
from advchunk.records import Document

if TYPE_CHECKING:
    from xml.etree.ElementTree import Element

_RECORD = re.compile(r"^\ufeff?PMID- ", re.MULTILINE)
_FIELD = re.compile(r"^\ufeff?(?P<tag>[A-Z]{2,4}) *- (?P<value>.*(?:\n {6}.*)*)", re.MULTILINE)
_CATEGORIES = {name.upper(): name for name in ("Background", "Objective", "Methods", "Results", "Conclusions")}
_MONTHS = {name: str(i) for i, name in enumerate(re.findall("...", "JanFebMarAprMayJunJulAugSepOctNovDec"), start=1)}


def read_records(text: str) -> list[Document]:
    """Read each record of a set, in XML or else in MEDLINE's format."""
    return read_pubmed_xml(text) if text.lstrip("\ufeff \t\r\n").startswith("<") else read_medline(text)


def read_medline(text: str) -> list[Document]:
    r"""Read MEDLINE records, as PubMed exports them ("PubMed format"); offsets lead to their text.

    >>> record, = read_medline("PMID- 7\nTI  - A trial of\n      tea.\nAB  - AIM: To\n      see.")
    >>> record.id, record.metadata["title"], record.text
    ('pubmed:7', 'A trial of tea.', 'AIM: To see.')
    """
    starts = [match.start() for match in _RECORD.finditer(text)]
    return [_record(plain(text).part(a, b)) for a, b in pairwise([*starts, len(text)])]


def _record(said: AlignedText) -> Document:
    fields = dict[str, list[tuple[int, int]]]()
    for match in _FIELD.finditer(said.text):
        fields.setdefault(match["tag"], []).append(match.span("value"))

    def every(tag: str) -> list[str]:
        return [normalize_abstract(said.text[a:b]).text for a, b in fields.get(tag, ())]

    def first(tag: str) -> str:
        return next(iter(every(tag)), "")

    doi = next((value.removesuffix(" [doi]") for value in every("AID") + every("LID") if value.endswith(" [doi]")), "")
    mesh = [heading.replace("*", "").partition("/")[0] for heading in every("MH")]
    known = _metadata(first("PMID"), first("TI"), _date(first("DP")), first("JT"), doi, mesh)
    abstract = normalize_abstract(said.part(*fields["AB"][0])) if "AB" in fields else said.part(0, 0)
    layout = section_blocks(abstract.text, find_labels(abstract.text))
    return Document(abstract.text, known.get("parent_uid", ""), layout, known, abstract.offsets, "pubmed")


def read_pubmed_xml(text: str) -> list[Document]:
    """Read the articles of PubMed's XML, as EFetch returns it. They have no offsets.

    A section's name is the one that NLM gives its label (``NlmCategory``), else the label's own.

    Raises
    ------
    ConfigurationError : XML that cannot be read (see `readers.xml.parse`).
    """
    return [_article(each) for each in xml.parse(text).iter() if each.tag in ("PubmedArticle", "PubmedBookArticle")]


def _article(article: Element) -> Document:
    def said(name: str, within: Element = article) -> str:
        found = within.find(f".//{name}")
        return "" if found is None else normalize_abstract(inline_text(found)).text

    ids = {each.get("IdType"): each.text or "" for each in article.iterfind("*/ArticleIdList/ArticleId")}
    mesh = [said("DescriptorName", heading) for heading in article.iterfind(".//MeshHeading")]
    date = " ".join(said(f"PubDate/{part}") for part in ("Year", "Month", "Day")).strip() or said("PubDate/MedlineDate")
    title = said("ArticleTitle") or said("BookTitle")
    known = _metadata(said("PMID"), title, _date(date), said("Journal/Title"), ids.get("doi", ""), mesh)
    sections = (
        (part.get("Label", ""), inline_text(part), _CATEGORIES.get(part.get("NlmCategory", ""), ""))
        for part in article.iterfind(".//Abstract/AbstractText")
    )
    return from_sections(sections, id=known.get("parent_uid", ""), metadata=known)


def _metadata(pmid: str, title: str, date: str, journal: str, doi: str, mesh: Iterable[str]) -> dict[str, str]:
    known = {
        "title": title,
        "pmid": pmid,
        "parent_uid": f"pubmed:{pmid}" if pmid else "",
        "source": "pubmed",
        "published_at": date,
        "journal": journal,
        "doi": doi,
        "mesh": "; ".join(dict.fromkeys(mesh)),
    }
    return {key: value for key, value in known.items() if value}


def _date(said: str) -> str:
    """Return a date of PubMed's in ISO 8601, as far as it goes.

    >>> _date("2011 Nov 23"), _date("2011 Nov-Dec"), _date("2011"), _date("Spring 2011")
    ('2011-11-23', '2011-11', '2011', '2011')
    """
    if not (year := re.search(r"\b\d{4}\b", said)):
        return ""
    month, day = (*re.findall(r"[^\W\d]{3,}|\d+", said[year.end() :]), "", "")[:2]
    number = _MONTHS.get(month[:3].title(), month)
    if not number.isdigit():
        return year[0]
    return f"{year[0]}-{int(number):02}" + (f"-{int(day):02}" if day.isdigit() else "")
