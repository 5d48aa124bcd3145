"""Read TEI (the Guidelines "TEI P5"), above all the papers of GROBID (https://grobid.readthedocs.io)."""

from collections.abc import Mapping
from typing import Any

from advchunk.errors import require
from advchunk.readers.papers.tei.bibliography import read_header
from advchunk.readers.papers.tei.body import Paper
from advchunk.readers.xml import parse_xml
from advchunk.records import Document


def read(text: str, *, id: str = "", metadata: Mapping[str, Any] | None = None) -> Document:
    """Read one TEI document, such as a response of GROBID's ``processFulltextDocument``.

    Every text in ``<text>`` is in a block; the abstract comes first. The metadata has ``title``, ``authors``, ``doi``,
    ``published_at``, ``journal`` and ``keywords``; the id is by default the DOI ("doi:10.1/x") or the checksum of the
    PDF ("md5:..."). Figures, tables and footnotes that GROBID collects follow the paragraph that first refers to them.
    Added headings are "Abstract", "Main text" after it, "Figures and tables" and "Notes" of which no paragraph speaks,
    "References", and the type of a division of the back matter.

    The level of a heading is the depth of its number ("2.1" has 2, if there was a "2") or of its division, whichever is
    greater. GROBID does not nest divisions; a heading without number is below the numbered one before it, or below
    Methods, Results or Discussion, unless it is a usual top-level heading of papers (`readers.imrad`).

    Of alternative readings (``<choice>``, ``<app>``) the corrected, regularized, expanded or editor's one is read. A
    reference is one line: as printed, if GROBID has that. Blocks have ``places`` if they or their sentences have
    ``coords``. Raise `ConfigurationError` if it is not TEI, has several texts (a ``teiCorpus``), or cannot be parsed.
    """
    rule = "the text must be TEI, such as GROBID's output for a PDF"
    require(text.lstrip("\ufeff \t\r\n").startswith("<"), rule, text[:60])
    root = parse_xml(text, namespaces=False)
    if root.tag == "teiCorpus":
        texts = root.findall("TEI")
        require(len(texts) == 1, "a document must be one TEI text, not a teiCorpus of several", len(texts))
        root = texts[0]
    require(root.tag in {"TEI", "TEI.2"}, rule, f"<{root.tag}>")
    own, own_id = read_header(root)
    return Paper(root).writer.document(id or own_id, {**own, **(metadata or {})})
