"""Office files: Word, PowerPoint, Excel, OpenDocument, RTF, and e-books, read from their XML into blocks."""

from advchunk.readers import row

_SUFFIXES = (
    *(".docx", ".docm", ".pptx", ".pptm", ".ppsx", ".xlsx", ".xlsm", ".xlsb"),  # the last is refused
    *(".epub", ".odt", ".ods", ".odp", ".rtf"),
)
_SUMMARY = "Word, PowerPoint, Excel, OpenDocument, RTF, and EPUB"
REGISTRATIONS = (row("office", "office.files", _SUMMARY, extra="office", suffixes=_SUFFIXES, takes="bytes"),)
