"""What a chunk lacks for standing alone, written to it by a chat model that sees its document.

For chunks of any chunker: `Summaries` put a sentence into ``context``, `Rewriting` a completed version into metadata. Text,
spans and ids stay exact.
"""

from advchunk.enrich.base import ChunkFailure, Enricher
from advchunk.enrich.prompts import RewritingPrompts, SummaryPrompts
from advchunk.enrich.rewriting import Rewriting, enriched_text
from advchunk.enrich.summaries import Summaries

__all__ = [
    "ChunkFailure",
    "Enricher",
    "Rewriting",
    "RewritingPrompts",
    "Summaries",
    "SummaryPrompts",
    "enriched_text",
]
