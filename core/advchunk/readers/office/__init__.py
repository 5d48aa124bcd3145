"""Office files: Word, PowerPoint, Excel, OpenDocument, RTF, and e-books, read from their XML into blocks."""

from advchunk.registry import Registration

_OPEN_XML = "application/vnd.openxmlformats-officedocument."

REGISTRATIONS = (
    Registration(
        kind="reader",
        name="office",
        path="advchunk.readers.office.files",
        summary="Word, PowerPoint, Excel, OpenDocument, RTF, and EPUB",
        extra="office",
        suffixes=(
            *(".docx", ".docm", ".pptx", ".pptm", ".ppsx", ".xlsx", ".xlsm"),
            *(".epub", ".odt", ".ods", ".odp", ".rtf"),
        ),
        media_types=(
            f"{_OPEN_XML}wordprocessingml.document",
            f"{_OPEN_XML}presentationml.presentation",
            f"{_OPEN_XML}spreadsheetml.sheet",
            "application/epub+zip",
            "application/vnd.oasis.opendocument.text",
            "application/vnd.oasis.opendocument.spreadsheet",
            "application/vnd.oasis.opendocument.presentation",
            "application/rtf",
        ),
        takes="bytes",
    ),
)
