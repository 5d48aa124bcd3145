"""Mail: messages and mailboxes."""

from advchunk.readers import reader

REGISTRATIONS = (
    reader("mail", "mail.messages", "messages and mailboxes", suffixes=(".eml", ".mbox"), takes="bytes"),
    reader("outlook", "mail.outlook", "messages of Outlook", extra="office", suffixes=(".msg",), takes="bytes"),
)
