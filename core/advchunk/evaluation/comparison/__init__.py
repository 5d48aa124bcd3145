"""Chunkers side by side: candidates, one harness, tables, reports, recommendations."""
