"""What turns a text or a parsed file into a `Document` with its layout."""
