"""Enrich chunks with what they need to be found and read alone.

This works for any chunker: `ContextualEnricher` adds a sentence or two about a chunk's place in its document to ``context``,
by a chat model or by the document's own words, and `Rewriting` adds a self-contained version to the metadata. Text, spans
and ids do not change.
"""

from typing import TYPE_CHECKING

from advchunk.lazy import by_module, lazy_names
from advchunk.registry import Registration

if TYPE_CHECKING:
    from advchunk.enrich.base import ChunkFailure, Enricher
    from advchunk.enrich.contextual import ContextualEnricher
    from advchunk.enrich.estimates import Estimate
    from advchunk.enrich.prompts import ContextPrompts, RewritingPrompts
    from advchunk.enrich.rewriting import Rewriting, enriched_text

__all__ = [
    "REGISTRATIONS",
    "ChunkFailure",
    "ContextPrompts",
    "ContextualEnricher",
    "Enricher",
    "Estimate",
    "Rewriting",
    "RewritingPrompts",
    "enriched_text",
]
_NAMES = by_module({
    ".base": "ChunkFailure Enricher",
    ".contextual": "ContextualEnricher",
    ".estimates": "Estimate",
    ".prompts": "ContextPrompts RewritingPrompts",
    ".rewriting": "Rewriting enriched_text",
})  # fmt: skip
_GONE = dict.fromkeys(("Summaries", "SummaryPrompts"), "use ContextualEnricher, which asks once for each chunk")
__getattr__, __dir__ = lazy_names(__name__, _NAMES, gone=_GONE)

REGISTRATIONS = (
    Registration(
        kind="enricher",
        name="contextual",
        path="advchunk.enrich.contextual:ContextualEnricher",
        summary="say where each chunk belongs in its document",
    ),
)
