"""Scientific papers: GROBID's TEI, and JATS."""

from advchunk.readers import PROLOGUE
from advchunk.registry import Registration

_JATS = r"(?:article|pmc-articleset|sub-article)\b(?=[^>]*(?:article-type|dtd-version|xmlns:xlink|xmlns:mml|>(?:\s|<[?!][^>]*>)*<(?:front|article)\b))"  # noqa: E501
_NLM = r"[\ufeff\s]*(?:<\?[^>]*>\s*|<!--(?s:.*?)-->\s*)*+<!DOCTYPE\s+\w+\s+PUBLIC\s+[\"']-//NLM//DTD (?:JATS|Journal)"

REGISTRATIONS = (
    Registration(
        kind="reader",
        name="tei",
        path="advchunk.readers.papers.tei",
        summary="papers as GROBID converts them from PDF",
        shared_suffixes=(".tei", ".xml"),
        begins=PROLOGUE + r"<(?:[\w.-]+:)?(?:TEI(?:\.2)?|teiCorpus)(?=[\s/>])",
    ),
    Registration(
        kind="reader",
        name="jats",
        path="advchunk.readers.papers.jats",
        summary="papers of PubMed Central and publishers",
        shared_suffixes=(".jats", ".nxml", ".xml"),
        begins=rf"{PROLOGUE}<(?:{_JATS}|OAI-PMH\b(?s:.)*?<article\b)|{_NLM}",
    ),
)
