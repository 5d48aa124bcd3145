"""Enrich chunks with what they need to be found and read alone.

This works for any chunker: `ContextualEnricher` adds a sentence or two about a chunk's place in its document to
``context``, by a chat model or by the document's own words, `Summaries` a sentence that a chat model writes in two
stages (Meta-Chunking), and `Rewriting` adds a self-contained version to the metadata. Text, spans and ids stay.
"""

from advchunk.registry import Registration, lazy_names

__getattr__, __dir__, __all__ = lazy_names(__name__, {
    ".base": "ChunkFailure Enricher Estimate",
    ".contextual": "ContextPrompts ContextualEnricher",
    ".rewriting": "Rewriting RewritingPrompts enriched_text",
    ".summaries": "Summaries SummaryPrompts",
})  # fmt: skip

REGISTRATIONS = tuple(
    Registration(kind="enricher", name=name, path=f"advchunk.enrich.{name}:{attribute}", summary=summary)
    for name, attribute, summary in (
        ("contextual", "ContextualEnricher", "say where each chunk belongs in its document"),
        ("summaries", "Summaries", "summarize each chunk, and what it lacks, in one sentence (Meta-Chunking)"),
    )
)
