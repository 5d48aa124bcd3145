"""Compare chunkers: candidates, the harness, tables, reports, and recommendations."""
