"""Read TEI: papers as GROBID writes them, and other texts in the TEI's markup.

References
----------
TEI Consortium, "TEI P5: Guidelines for Electronic Text Encoding and Interchange". GROBID's customization of it, and its
coordinates: https://grobid.readthedocs.io.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from advchunk.errors import ConfigurationError, require
from advchunk.readers import xml
from advchunk.readers.tei.body import Paper
from advchunk.readers.tei.elements import tag_of
from advchunk.readers.tei.header import header_of
from advchunk.records import Document


def read(text: str, *, id: str = "", metadata: Mapping[str, Any] | None = None) -> Document:
    """Read one TEI document, such as GROBID's ``processFulltextDocument`` returns.

    All that ``<text>`` says is in some block: headings with their number, paragraphs, list items, quotes, formulas, code,
    captions, tables (as pipe tables), footnotes, references. The abstract comes first. Of the header, title, authors,
    DOI, date, journal and keywords become metadata; affiliations, addresses, license and notes of submission do not.

    What GROBID collects at the end of the body is put back: figures, tables and footnotes stand after the paragraph that
    first refers to them. Those that none refers to are headed "Figures and tables", or "Notes". Other headings that no
    TEI has: "Abstract", "References", the type of a division of the back matter without head, and "Main text" where an
    abstract is followed by text without head.

    A heading's level is the depth of its number ("2.1" has 2, if there was a "2") or of its division, whichever is more.
    GROBID's divisions are all side by side; there a head without number stands under the numbered one before it, or under
    Methods, Results or Discussion, unless it heads a section of papers itself (`readers.papers`).

    Of two readings (``<choice>``, ``<app>``) the one that is corrected, regular, written out or the editor's is read. Powers
    are raised where they would make another number.

    A reference is one line: as it was printed, if GROBID says so, else put together from its parts, without ISSN and short
    names of journals. Where a block or its sentences have ``coords``, it has ``places``: a box for each column.

    Parameters
    ----------
    id : names the document; "" for its DOI ("doi:10.1/x") or the checksum of its PDF ("md5:..."), if it has one.
    metadata : overrides what the header says: ``title``, ``authors``, ``doi``, ``published_at``, ``journal``, ``keywords``.

    Raises
    ------
    ConfigurationError : no TEI, several texts (a ``teiCorpus``), or XML that cannot be read (see `readers.xml.parse`).

    Examples
    --------
    >>> document = read('<TEI><text><body><div><head n="2">Results</head><p>Weight fell.</p></div></body></text></TEI>')
    >>> [(block.kind, block.level, document.text[slice(*block.span)]) for block in document.blocks]
    [('heading', 1, '2 Results'), ('paragraph', 0, 'Weight fell.')]
    """
    rule = "a text must be TEI, such as GROBID makes of a PDF"
    require(text.lstrip("\ufeff \t\r\n").startswith("<"), rule, text[:60])
    root = xml.parse(text)
    if tag_of(root) == "teiCorpus":
        several = [child for child in root if tag_of(child) == "TEI"]
        require(len(several) == 1, "a document must be one TEI text, not a teiCorpus of several", len(several))
        root = several[0]
    if tag_of(root) not in {"TEI", "TEI.2"}:
        msg = f"{rule}, got <{tag_of(root)}>"
        raise ConfigurationError(msg)
    known, own = header_of(root)
    return Paper(root).writer.document(id or own, {**known, **(metadata or {})})
