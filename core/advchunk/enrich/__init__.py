"""Enrichment of chunks by a chat model that reads them in their document.

It works on the chunks of any chunker: `Summaries` adds a sentence to ``context``, `Rewriting` a self-contained version to the
metadata. Text, spans and ids do not change.
"""

from advchunk.enrich.base import ChunkFailure, Enricher
from advchunk.enrich.prompts import RewritingPrompts, SummaryPrompts
from advchunk.enrich.rewriting import Rewriting, enriched_text
from advchunk.enrich.summaries import Summaries

__all__ = ["ChunkFailure", "Enricher", "Rewriting", "RewritingPrompts", "Summaries", "SummaryPrompts", "enriched_text"]
