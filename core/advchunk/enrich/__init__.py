"""Enrich chunks with a chat model that reads each chunk in its document.

This works for any chunker: `Summaries` adds a sentence to ``context``, and `Rewriting` adds a self-contained version to the
metadata. Text, spans and ids do not change.
"""

from advchunk.enrich.base import ChunkFailure, Enricher
from advchunk.enrich.prompts import RewritingPrompts, SummaryPrompts
from advchunk.enrich.rewriting import Rewriting, enriched_text
from advchunk.enrich.summaries import Summaries

__all__ = ["ChunkFailure", "Enricher", "Rewriting", "RewritingPrompts", "Summaries", "SummaryPrompts", "enriched_text"]
