"""Biomedical text: abstracts, PubMed's records, and a chunker that keeps claims with their numbers."""

from advchunk.readers import PROLOGUE
from advchunk.registry import Registration

REGISTRATIONS = (
    Registration(
        kind="chunker",
        name="biomedical-abstract",
        path="advchunk.biomedical.chunker:BiomedicalAbstractChunker",
        summary="Chunk a PubMed abstract so that a claim, its numbers and their comparator stay in one chunk.",
        source="Bio-MCP chunking strategy v1.2.0",
        formats=("pubmed",),
        replaces=("pubmed", "medline"),
    ),
    Registration(
        kind="reader",
        name="pubmed",
        path="advchunk.biomedical.reader",
        summary="records of PubMed, and abstracts",
        shared_suffixes=(".nbib", ".medline", ".xml"),
        begins=rf"{PROLOGUE}<Pubmed(?:Book)?Article(?:Set)?\b|[\ufeff\s]*PMID- *\d",
    ),
    Registration(
        kind="metric",
        name="claims_at_k",
        path="advchunk.biomedical.claim_recall:METRIC",
        summary="numeric claims that one chunk contains in full",
    ),
)
