"""Readers derive a `Document` with its layout from a text or a parsed file."""
