"""A chunker of biomedical abstracts that keeps claims with their numbers."""

from advchunk.registry import Registration

REGISTRATIONS = (
    Registration(
        kind="chunker",
        name="biomedical-abstract",
        path="advchunk.chunkers.biomedical.chunker:BiomedicalAbstractChunker",
        summary="Chunk a PubMed abstract so that a claim, its numbers and their comparator stay in one chunk.",
        source="Bio-MCP chunking strategy v1.2.0",
        formats=("pubmed",),
    ),
    Registration(
        kind="metric",
        name="claims_at_k",
        path="advchunk.chunkers.biomedical.claim_recall:METRIC",
        summary="numeric claims that one chunk contains in full",
    ),
)
