"""Scores: of boundaries, of retrieval, of the shape and the cost of chunks, and statistics over them."""
