"""Scientific papers: GROBID's TEI, JATS, and a chunker by their sections."""

from typing import TYPE_CHECKING

from advchunk.lazy import lazy_names
from advchunk.readers import PROLOGUE
from advchunk.registry import Registration

if TYPE_CHECKING:
    from advchunk.papers.tei.client import GrobidClient

__all__ = ["REGISTRATIONS", "GrobidClient"]
__getattr__, __dir__ = lazy_names(__name__, {"GrobidClient": ".tei.client"})

_JATS = r"(?:article|pmc-articleset|sub-article)\b(?=[^>]*(?:article-type|dtd-version|xmlns:xlink|xmlns:mml|>(?:\s|<[?!][^>]*>)*<(?:front|article)\b))"
_NLM = r"[\ufeff\s]*(?:<\?[^>]*>\s*|<!--(?s:.*?)-->\s*)*+<!DOCTYPE\s+\w+\s+PUBLIC\s+[\"']-//NLM//DTD (?:JATS|Journal)"

REGISTRATIONS = (
    Registration(
        kind="chunker",
        name="grobid-section",
        path="advchunk.papers.grobid:GrobidSectionChunker",
        summary="Chunk a paper by its sections, as GROBID finds them in a PDF, and by IMRaD.",
        source="GROBID's TEI; IMRaD (Sollaci & Pereira 2004)",
        experimental=True,
        formats=("tei",),
        replaces=("paper", "papers", "tei", "imrad"),
    ),
    Registration(
        kind="reader",
        name="tei",
        path="advchunk.papers.tei",
        summary="papers as GROBID converts them from PDF",
        shared_suffixes=(".tei", ".xml"),
        media_types=("application/tei+xml",),
        begins=PROLOGUE + r"<(?:[\w.-]+:)?(?:TEI(?:\.2)?|teiCorpus)(?=[\s/>])",
    ),
    Registration(
        kind="reader",
        name="jats",
        path="advchunk.papers.jats",
        summary="papers of PubMed Central and publishers",
        shared_suffixes=(".jats", ".nxml", ".xml"),
        media_types=("application/jats+xml",),
        begins=rf"{PROLOGUE}<(?:{_JATS}|OAI-PMH\b(?s:.)*?<article\b)|{_NLM}",
    ),
)
