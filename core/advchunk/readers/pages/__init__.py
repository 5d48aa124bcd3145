"""Documents with pages: PDFs, and the output of parsers and detectors."""

import re
from collections.abc import Mapping
from typing import Any

from advchunk.registry import Registration

# Each parser, and in its JSON, what no other format has together; what is rare first.
_LIST = r"\A[\ufeff\s]*\[\s*\{"
_PARSERS: Mapping[str, tuple[str, tuple[str, ...], tuple[str, ...]]] = {
    "docling": (
        "Docling's JSON, and its chunks",
        (r'"schema_name"\s*:\s*"DoclingDocument"|"main-text"\s*:\s*\[',),  # the second in old versions
        ("dl_meta", "schema_name"),
    ),
    "layoutparser": (
        "results of layoutparser",
        (r'"page_data"\s*:|"block_type"\s*:\s*"(?:rectangle|quadrilateral|interval)"',),
        (),
    ),
    "doctr": ("results of docTR", (r'"page_idx"\s*:\s*\d', r'"pages"\s*:\s*\['), ()),
    "azure": (
        "results of Azure Document Intelligence",
        (r'"stringIndexType"\s*:\s*"', r'"content"\s*:'),
        ("stringIndexType",),
    ),
    "marker": ("Marker's JSON", (r'"block_type"\s*:\s*"', r'"polygon"\s*:', r'"html"\s*:'), ()),
    "mineru": ("contents of MinerU", (r'"page_idx"\s*:\s*\d', r'"type"\s*:\s*"', _LIST), ()),
    "llamaparse": (
        "results of LlamaParse",
        (r'"(?:md|markdown)"\s*:', r'"pages"\s*:\s*\[', r'"(?:page|page_number)"\s*:\s*\d'),
        (),
    ),
    "unstructured": (
        "elements of unstructured",
        (r'"element_id"\s*:\s*"', r'"metadata"\s*:\s*\{', r'"type"\s*:\s*"', _LIST),
        ("element_id", "text_as_html"),
    ),
}
_SIGNS = {name: [re.compile(sign) for sign in signs] for name, (_, signs, _) in _PARSERS.items()}


def detect_parser(text: str, name: str = "", metadata: Mapping[str, Any] | None = None) -> str:  # noqa: ARG001
    """Return the name of the parser that wrote a JSON text, "" if it is another text."""
    return next((parser for parser, signs in _SIGNS.items() if all(sign.search(text) for sign in signs)), "")


REGISTRATIONS = (
    *(
        Registration(
            kind="reader",
            name=name,
            path=f"advchunk.readers.pages.{name if name == 'docling' else f'parsers.{name}'}",
            summary=summary,
            extra="html" if name == "marker" else "",
            shared_suffixes=(".json",),
            begins=r"[\ufeff\s]*[\[{]" if name == "docling" else "",
            detect="advchunk.readers.pages:detect_parser" if name == "docling" else "",  # for all parsers
            metadata_keys=keys,
        )
        for name, (summary, _, keys) in _PARSERS.items()
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
