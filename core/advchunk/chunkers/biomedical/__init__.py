"""Biomedical abstracts: the chunker, what it keeps together, settings and re-ranking."""
