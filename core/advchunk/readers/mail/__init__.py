"""Mail: messages and mailboxes."""

from advchunk.registry import Registration

REGISTRATIONS = (
    Registration(
        kind="reader",
        name="mail",
        path="advchunk.readers.mail.messages",
        summary="messages and mailboxes",
        suffixes=(".eml", ".mbox"),
        takes="bytes",
    ),
    Registration(
        kind="reader",
        name="outlook",
        path="advchunk.readers.mail.outlook",
        summary="messages of Outlook",
        extra="office",
        suffixes=(".msg",),
        takes="bytes",
    ),
)
