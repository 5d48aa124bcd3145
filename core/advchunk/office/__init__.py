"""Office files: Word, PowerPoint, Excel, e-books, and messages of Outlook, converted to Markdown."""

from advchunk.registry import Registration

_OPEN_XML = "application/vnd.openxmlformats-officedocument."

REGISTRATIONS = (
    Registration(
        kind="reader",
        name="office",
        path="advchunk.office.files",
        summary="Word, PowerPoint, Excel, EPUB, and messages of Outlook",
        extra="office",
        # The last two are refused with a word of advice, which is better than reading RTF as plain text.
        suffixes=(".docx", ".pptx", ".xlsx", ".epub", ".msg", ".odt", ".rtf"),
        media_types=(
            f"{_OPEN_XML}wordprocessingml.document",
            f"{_OPEN_XML}presentationml.presentation",
            f"{_OPEN_XML}spreadsheetml.sheet",
            "application/epub+zip",
            "application/vnd.ms-outlook",
        ),
        takes="bytes",
    ),
)
