"""Metrics of boundaries, retrieval, chunk shape and cost, and statistics over them."""
