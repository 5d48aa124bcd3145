"""Mail: messages and mailboxes."""

from advchunk.readers import row

REGISTRATIONS = (
    row("mail", "mail.messages", "messages and mailboxes", suffixes=(".eml", ".mbox"), takes="bytes"),
    row("outlook", "mail.outlook", "messages of Outlook", extra="office", suffixes=(".msg",), takes="bytes"),
)
