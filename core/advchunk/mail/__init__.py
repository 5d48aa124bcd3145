"""Mail: messages and mailboxes."""

from advchunk.registry import Registration

REGISTRATIONS = (
    Registration(
        kind="reader",
        name="mail",
        path="advchunk.mail.messages",
        summary="messages and mailboxes",
        suffixes=(".eml", ".mbox"),
        media_types=("message/rfc822", "application/mbox"),
        takes="bytes",
    ),
)
