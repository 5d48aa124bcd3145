"""Retrieve chunks by vectors and words, re-rank them by their neighbors, and assemble passages with citations."""
