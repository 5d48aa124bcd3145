"""Texts cut into units, and their words."""

from advchunk.registry import Registration

REGISTRATIONS = (
    Registration(
        kind="splitter",
        name="plain",
        path="advchunk.text.sentences:plain_sentences",
        summary="sentences by punctuation alone",
    ),
)
