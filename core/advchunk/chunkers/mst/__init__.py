"""MST semantic chunking: the chunker, its distances, and its pieces."""
