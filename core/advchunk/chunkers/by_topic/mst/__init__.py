"""MST semantic chunking: the chunker and its distances."""
