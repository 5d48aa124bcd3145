"""Scientific papers: GROBID's TEI, and JATS."""

from advchunk.readers import PROLOGUE, row

_JATS = r"(?:article|pmc-articleset|sub-article)\b(?=[^>]*(?:article-type|dtd-version|xmlns:xlink|xmlns:mml|>(?:\s|<[?!][^>]*>)*<(?:front|article)\b))"  # noqa: E501
_NLM = r"[\ufeff\s]*(?:<\?[^>]*>\s*|<!--(?s:.*?)-->\s*)*+<!DOCTYPE\s+\w+\s+PUBLIC\s+[\"']-//NLM//DTD (?:JATS|Journal)"
_BEGINS = rf"{PROLOGUE}<(?:{_JATS}|OAI-PMH\b(?s:.)*?<article\b)|{_NLM}"
_TEI = PROLOGUE + r"<(?:[\w.-]+:)?(?:TEI(?:\.2)?|teiCorpus)(?=[\s/>])"

REGISTRATIONS = (
    row("tei", "papers.tei", "papers as GROBID converts them from PDF", shared_suffixes=(".tei", ".xml"), begins=_TEI),
    row(
        "jats", "papers.jats", "papers of PubMed Central and publishers",
        shared_suffixes=(".jats", ".nxml", ".xml"), begins=_BEGINS,
    ),
)  # fmt: skip
