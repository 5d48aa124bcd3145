"""Documents with pages: PDFs, and the output of parsers and detectors."""

import re
from collections.abc import Mapping
from typing import Any

from advchunk.readers import row

# Each parser; of its JSON, keys with the beginnings of their values that no other format has together, what is rare
# first; and the keys of metadata by which its layout is restored.
_PARSERS: Mapping[str, tuple[str, Mapping[str, str], tuple[str, ...]]] = {
    "docling": (
        "Docling's JSON, and its chunks",
        {"schema_name": r'"DoclingDocument"|"main-text"\s*:\s*\['},  # the second in old versions
        ("dl_meta", "schema_name"),
    ),
    "layoutparser": (
        "results of layoutparser", {"page_data": r'|"block_type"\s*:\s*"(?:rectangle|quadrilateral|interval)"'}, (),
    ),
    "doctr": ("results of docTR", {"page_idx": r"\d", "pages": r"\["}, ()),
    "azure": (
        "results of Azure Document Intelligence", {"stringIndexType": '"', "content": ""}, ("stringIndexType",),
    ),
    "marker": ("Marker's JSON", {"block_type": '"', "polygon": "", "html": ""}, ()),
    "mineru": ("contents of MinerU", {"page_idx": r"\d", "type": '"'}, ()),
    "llamaparse": ("results of LlamaParse", {"md|markdown": "", "pages": r"\[", "page|page_number": r"\d"}, ()),
    "unstructured": (
        "elements of unstructured", {"element_id": '"', "metadata": r"\{", "type": '"'}, ("element_id", "text_as_html"),
    ),
}  # fmt: skip
_LISTS, _LIST = {"mineru", "unstructured"}, re.compile(r"[\ufeff\s]*\[\s*\{")
_SIGNS = {
    name: [re.compile(rf'"(?:{key})"\s*:\s*{value}') for key, value in signs.items()]
    for name, (_, signs, _) in _PARSERS.items()
}


def detect_parser(text: str, name: str = "", metadata: Mapping[str, Any] | None = None) -> str:  # noqa: ARG001
    """Return the name of the parser that wrote a JSON text, "" if it is another text."""
    names = (parser for parser, signs in _SIGNS.items() if all(sign.search(text) for sign in signs))
    return next((own for own in names if own not in _LISTS or _LIST.match(text)), "")


REGISTRATIONS = (
    row(
        "docling", "pages.docling", _PARSERS["docling"][0], shared_suffixes=(".json",), begins=r"[\ufeff\s]*[\[{]",
        detect=f"{__name__}:detect_parser", metadata_keys=_PARSERS["docling"][2],
    ),  # detects all parsers
    *(
        row(
            name, f"pages.parsers.{name}", summary, extra="html" if name == "marker" else "",
            shared_suffixes=(".json",), metadata_keys=keys,
        )
        for name, (summary, _, keys) in [*_PARSERS.items()][1:]
    ),
    row("pdf", "pages.pdf", "PDFs with a text layer", extra="pdf", suffixes=(".pdf",), takes="bytes"),
)  # fmt: skip
