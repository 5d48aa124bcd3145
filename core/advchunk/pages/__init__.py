"""Documents with pages: PDFs, the output of Docling, layoutparser and docTR, and a chunker by the regions of pages."""

import re
from collections.abc import Mapping
from typing import Any

from advchunk.registry import Registration

_DOCLING = re.compile(r'"schema_name"\s*:\s*"DoclingDocument"|"main-text"\s*:\s*\[')  # the second in old versions


def detect_docling(text: str, name: str = "", metadata: Mapping[str, Any] | None = None) -> str:  # noqa: ARG001
    """Return "docling" if a text is the JSON of one of its documents, else ""."""
    return "docling" if _DOCLING.search(text) else ""


REGISTRATIONS = (
    Registration(
        kind="chunker",
        name="layout-aware",
        path="advchunk.pages.layout_aware:LayoutAwareChunker",
        summary="Chunk a document by the regions of its pages, which no chunk crosses.",
        source="ours: regions of Docling, layoutparser, docTR or rapid-layout; Ha et al. 1995 (X-Y cuts)",
        extra="layout",
        experimental=True,
        formats=("docling", "pages"),
        replaces=("pdf", "page", "pages", "docling", "unstructured"),
    ),
    Registration(
        kind="reader",
        name="docling",
        path="advchunk.pages.docling",
        summary="Docling's JSON, and its chunks",
        shared_suffixes=(".json",),
        begins=r"[\ufeff\s]*\{",
        detect="advchunk.pages:detect_docling",
        metadata_keys=("dl_meta", "schema_name"),
    ),
    Registration(
        kind="reader",
        name="pdf",
        path="advchunk.pages.pdf",
        summary="PDFs with a text layer",
        extra="pdf",
        suffixes=(".pdf",),
        media_types=("application/pdf",),
        takes="bytes",
    ),
)
