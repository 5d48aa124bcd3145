# Written by tools/write_stubs.py from the lazy names and the registrations.
from advchunk.enrich.base import ChunkFailure as ChunkFailure
from advchunk.enrich.base import Enricher as Enricher
from advchunk.enrich.base import Estimate as Estimate
from advchunk.enrich.contextual import ContextPrompts as ContextPrompts
from advchunk.enrich.contextual import ContextualEnricher as ContextualEnricher
from advchunk.enrich.rewriting import Rewriting as Rewriting
from advchunk.enrich.rewriting import RewritingPrompts as RewritingPrompts
from advchunk.enrich.rewriting import enriched_text as enriched_text
from advchunk.enrich.summaries import Summaries as Summaries
from advchunk.enrich.summaries import SummaryPrompts as SummaryPrompts
from advchunk.registry import Registration

REGISTRATIONS: tuple[Registration, ...]
