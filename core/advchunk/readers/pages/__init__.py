"""Documents with pages: PDFs, and the output of parsers and detectors."""

import re
from collections.abc import Mapping
from typing import Any

from advchunk.registry import Registration

_DOCLING = re.compile(r'"schema_name"\s*:\s*"DoclingDocument"|"main-text"\s*:\s*\[')  # the second in old versions


def detect_docling(text: str, name: str = "", metadata: Mapping[str, Any] | None = None) -> str:  # noqa: ARG001
    """Return "docling" if a text is the JSON of one of its documents, else ""."""
    return "docling" if _DOCLING.search(text) else ""


# In the JSON of each parser, what no other format has together; what is rare first.
_LIST = r"\A[\ufeff\s]*\[\s*\{"
_PARSED = {
    "azure": (r'"stringIndexType"\s*:\s*"', r'"content"\s*:'),
    "marker": (r'"block_type"\s*:\s*"', r'"polygon"\s*:', r'"html"\s*:'),
    "mineru": (r'"page_idx"\s*:\s*\d', r'"type"\s*:\s*"', _LIST),
    "llamaparse": (r'"(?:md|markdown)"\s*:', r'"pages"\s*:\s*\[', r'"(?:page|page_number)"\s*:\s*\d'),
    "unstructured": (r'"element_id"\s*:\s*"', r'"metadata"\s*:\s*\{', r'"type"\s*:\s*"', _LIST),
}
_SIGNS = {name: [re.compile(sign) for sign in signs] for name, signs in _PARSED.items()}


def detect_parser(text: str, name: str = "", metadata: Mapping[str, Any] | None = None) -> str:  # noqa: ARG001
    """Return the name of the parser that wrote a JSON text, "" if it is another text."""
    return next((parser for parser, signs in _SIGNS.items() if all(sign.search(text) for sign in signs)), "")


REGISTRATIONS = (
    Registration(
        kind="reader",
        name="docling",
        path="advchunk.readers.pages.docling",
        summary="Docling's JSON, and its chunks",
        shared_suffixes=(".json",),
        begins=r"[\ufeff\s]*\{",
        detect="advchunk.readers.pages:detect_docling",
        metadata_keys=("dl_meta", "schema_name"),
    ),
    Registration(
        kind="reader",
        name="unstructured",
        path="advchunk.readers.pages.parsers.unstructured",
        summary="elements of unstructured",
        shared_suffixes=(".json",),
        begins=r"[\ufeff\s]*[\[{]",
        detect="advchunk.readers.pages:detect_parser",  # for all parsers
        metadata_keys=("element_id", "text_as_html"),
    ),
    Registration(
        kind="reader",
        name="mineru",
        path="advchunk.readers.pages.parsers.mineru",
        summary="contents of MinerU",
        shared_suffixes=(".json",),
    ),
    Registration(
        kind="reader",
        name="marker",
        path="advchunk.readers.pages.parsers.marker",
        summary="Marker's JSON",
        extra="html",
        shared_suffixes=(".json",),
    ),
    Registration(
        kind="reader",
        name="llamaparse",
        path="advchunk.readers.pages.parsers.llamaparse",
        summary="results of LlamaParse",
        shared_suffixes=(".json",),
    ),
    Registration(
        kind="reader",
        name="azure",
        path="advchunk.readers.pages.parsers.azure",
        summary="results of Azure Document Intelligence",
        shared_suffixes=(".json",),
        metadata_keys=("stringIndexType",),
    ),
    Registration(
        kind="reader",
        name="pdf",
        path="advchunk.readers.pages.pdf",
        summary="PDFs with a text layer",
        extra="pdf",
        suffixes=(".pdf",),
        takes="bytes",
    ),
)
