"""Chunkers by the regions of pages, and by the sections of papers, with GROBID's client."""

from advchunk.registry import Registration, lazy_names

__getattr__, __dir__, __all__ = lazy_names(__name__, {
    ".grobid_client": "GrobidClient",
})  # fmt: skip

REGISTRATIONS = (
    Registration(
        kind="chunker",
        name="layout-aware",
        path="advchunk.chunkers.by_page.layout_aware:LayoutAwareChunker",
        summary="Chunk a document by the regions of its pages, which no chunk crosses.",
        source="ours: regions of Docling, layoutparser, docTR or rapid-layout; Ha et al. 1995 (X-Y cuts)",
        extra="layout",
        experimental=True,
        formats=("docling", "pages"),
    ),
    Registration(
        kind="chunker",
        name="grobid-section",
        path="advchunk.chunkers.by_page.grobid:GrobidSectionChunker",
        summary="Chunk a paper by its sections, as GROBID finds them in a PDF, and by IMRaD.",
        source="GROBID's TEI; IMRaD (Sollaci & Pereira 2004)",
        experimental=True,
        formats=("tei",),
    ),
)
