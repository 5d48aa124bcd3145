"""Read PubMed's formats: MEDLINE records, and the XML of EFetch.

Both have ``title``, ``pmid``, ``parent_uid`` ("pubmed:<pmid>"), ``source``, ``published_at``, ``journal``, ``doi`` and
``mesh`` as metadata, where present, and an empty text if there is no abstract.
"""

import re
from collections.abc import Iterable, Mapping
from itertools import pairwise
from typing import Any, TypeAlias
from xml.etree.ElementTree import Element

from advchunk.readers.inline import inline_text
from advchunk.readers.pubmed.labels import Label, find_labels, section_blocks, section_name
from advchunk.readers.pubmed.normalization import AlignedText, normalize_abstract
from advchunk.readers.xml import parse_xml
from advchunk.records import Block, Document, Span

Section: TypeAlias = tuple[str, str] | tuple[str, str, str]
_RECORD = re.compile(r"^\ufeff?PMID- ", re.MULTILINE)
_FIELD = re.compile(r"^\ufeff?(?P<tag>[A-Z]{2,4}) *- (?P<value>.*(?:\n {6}.*)*)", re.MULTILINE)
_CATEGORIES = {name.upper(): name for name in ("Background", "Objective", "Methods", "Results", "Conclusions")}
_MONTHS = {name: str(i) for i, name in enumerate(re.findall("...", "JanFebMarAprMayJunJulAugSepOctNovDec"), start=1)}


def read_records(text: str) -> list[Document]:
    """Read each record of a set, in XML or MEDLINE format."""
    return read_pubmed_xml(text) if text.lstrip("\ufeff \t\r\n").startswith("<") else read_medline(text)


def read_medline(text: str) -> list[Document]:
    """Read MEDLINE records, as PubMed exports them ("PubMed format"); offsets map to their text."""
    whole = AlignedText.of(text)
    starts = [match.start() for match in _RECORD.finditer(text)]
    return [_read_record(whole.slice(a, b)) for a, b in pairwise([*starts, len(text)])]


def _read_record(record: AlignedText) -> Document:
    fields = dict[str, list[AlignedText]]()
    for match in _FIELD.finditer(record.text):
        fields.setdefault(match["tag"], []).append(record.slice(*match.span("value")))

    def texts(tag: str) -> list[str]:
        return [normalize_abstract(value.text).text for value in fields.get(tag, ())]

    pmid, title, date, journal = ((*texts(tag), "")[0] for tag in ("PMID", "TI", "DP", "JT"))
    doi = next((value.removesuffix(" [doi]") for value in texts("AID") + texts("LID") if value.endswith(" [doi]")), "")
    mesh = [heading.replace("*", "").partition("/")[0] for heading in texts("MH")]
    metadata = _metadata(pmid, title, date, journal, doi, mesh)
    text, offsets = normalize_abstract(fields["AB"][0]) if "AB" in fields else record.slice(0, 0)
    layout = section_blocks(text, find_labels(text))
    return Document(text, metadata.get("parent_uid", ""), layout, metadata, offsets, "pubmed")


def read_pubmed_xml(text: str) -> list[Document]:
    """Return the articles of PubMed's XML, without offsets; sections are by ``NlmCategory``, or else by label."""
    tags = ("PubmedArticle", "PubmedBookArticle")
    return [_read_article(element) for element in parse_xml(text).iter() if element.tag in tags]


def _read_article(article: Element) -> Document:
    def text_at(path: str, parent: Element = article) -> str:
        element = parent.find(f".//{path}")
        return "" if element is None else normalize_abstract(inline_text(element)).text

    ids = {element.get("IdType"): element.text or "" for element in article.iterfind("*/ArticleIdList/ArticleId")}
    mesh = [text_at("DescriptorName", heading) for heading in article.iterfind(".//MeshHeading")]
    date = " ".join(text_at(f"PubDate/{part}") for part in ("Year", "Month", "Day")).strip()
    date, title = date or text_at("PubDate/MedlineDate"), text_at("ArticleTitle") or text_at("BookTitle")
    metadata = _metadata(text_at("PMID"), title, date, text_at("Journal/Title"), ids.get("doi", ""), mesh)
    parts = article.iterfind(".//Abstract/AbstractText")
    sections = ((p.get("Label", ""), inline_text(p), _CATEGORIES.get(p.get("NlmCategory", ""), "")) for p in parts)
    return from_sections(sections, id=metadata.get("parent_uid", ""), metadata=metadata)


def from_sections(sections: Iterable[Section], *, id: str = "", metadata: Mapping[str, Any] | None = None) -> Document:
    """Return the abstract of sections: label, text, and optionally name, each written as a line "LABEL: text". The
    label names a section without a name, if possible as in the table; the text of one with the label "" may have some.
    """
    text, labels, layout = "", list[Label](), list[Block]()
    for section in sections:
        label, body = (normalize_abstract(part).text for part in section[:2])
        if not body:
            continue
        text += "\n" * bool(text)
        start = len(text)
        text += f"{label}: {body}" if label else body
        if label:
            labels.append(Label(start, start + len(label) + 1, "".join(section[2:]) or section_name(label) or label))
        else:
            labels += [Label(start + a, start + b, name) for a, b, name in find_labels(body)]
        layout.append(Block("paragraph", Span(start, len(text))))
    return Document(text, id, section_blocks(text, labels, layout), dict(metadata or {}), markup="pubmed")


def _metadata(pmid: str, title: str, date: str, journal: str, doi: str, mesh: Iterable[str]) -> dict[str, str]:
    metadata = {"title": title, "pmid": pmid, "parent_uid": pmid and f"pubmed:{pmid}", "source": "pubmed"}
    metadata |= {"published_at": _iso_date(date), "journal": journal, "doi": doi}
    metadata["mesh"] = "; ".join(dict.fromkeys(mesh))
    return {key: value for key, value in metadata.items() if value}


def _iso_date(text: str) -> str:
    """Convert PubMed's date to ISO 8601, as precise as the text.

    >>> _iso_date("2011 Nov 23"), _iso_date("2011 Nov-Dec"), _iso_date("2011"), _iso_date("Spring 2011")
    ('2011-11-23', '2011-11', '2011', '2011')
    """
    if not (year := re.search(r"\b\d{4}\b", text)):
        return ""
    month, day = (*re.findall(r"[^\W\d]{3,}|\d+", text[year.end() :]), "", "")[:2]
    number = _MONTHS.get(month[:3].title(), month)
    if not number.isdigit():
        return year[0]
    return f"{year[0]}-{int(number):02}" + (f"-{int(day):02}" if day.isdigit() else "")
