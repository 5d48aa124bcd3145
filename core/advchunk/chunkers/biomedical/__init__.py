"""Biomedical abstracts: the chunker, the claims and quantities that it keeps whole, settings and reranking."""
