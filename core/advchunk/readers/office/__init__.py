"""Office files: Word, PowerPoint, Excel, OpenDocument, RTF, and e-books, read from their XML into blocks."""

from advchunk.registry import Registration

REGISTRATIONS = (
    Registration(
        kind="reader",
        name="office",
        path="advchunk.readers.office.files",
        summary="Word, PowerPoint, Excel, OpenDocument, RTF, and EPUB",
        extra="office",
        suffixes=(
            *(".docx", ".docm", ".pptx", ".pptm", ".ppsx", ".xlsx", ".xlsm", ".xlsb"),  # the last is refused
            *(".epub", ".odt", ".ods", ".odp", ".rtf"),
        ),
        takes="bytes",
    ),
)
