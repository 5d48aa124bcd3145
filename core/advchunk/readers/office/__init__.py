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
        media_types=(
            f"{_OPEN_XML}wordprocessingml.document",
            f"{_OPEN_XML}presentationml.presentation",
            f"{_OPEN_XML}spreadsheetml.sheet",
            "application/epub+zip",
            "application/vnd.oasis.opendocument.text",
            "application/rtf",
        ),
        takes="bytes",
    ),
)
