"""Enrich chunks with a chat model that reads each chunk in its document.

This works for any chunker: `Summaries` adds a sentence to ``context``, and `Rewriting` adds a self-contained version to the
metadata. Text, spans and ids do not change.
"""

from typing import TYPE_CHECKING

from advchunk.lazy import by_module, lazy_names

if TYPE_CHECKING:
    from advchunk.enrich.base import ChunkFailure, Enricher
    from advchunk.enrich.prompts import RewritingPrompts, SummaryPrompts
    from advchunk.enrich.rewriting import Rewriting, enriched_text
    from advchunk.enrich.summaries import Summaries

__all__ = ["ChunkFailure", "Enricher", "Rewriting", "RewritingPrompts", "Summaries", "SummaryPrompts", "enriched_text"]
_NAMES = by_module({
    ".base": "ChunkFailure Enricher",
    ".prompts": "RewritingPrompts SummaryPrompts",
    ".rewriting": "Rewriting enriched_text",
    ".summaries": "Summaries",
})  # fmt: skip
__getattr__, __dir__ = lazy_names(__name__, _NAMES)
