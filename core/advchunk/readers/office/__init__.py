"""Office files: Word, PowerPoint, Excel, and e-books, converted to Markdown."""

from advchunk.registry import Registration

_OPEN_XML = "application/vnd.openxmlformats-officedocument."

REGISTRATIONS = (
    Registration(
        kind="reader",
        name="office",
        path="advchunk.readers.office.files",
        summary="Word, PowerPoint, Excel, OpenDocument, RTF, and EPUB",
        extra="office",
        suffixes=(".docx", ".pptx", ".xlsx", ".epub", ".odt", ".rtf"),
        takes="bytes",
    ),
)
