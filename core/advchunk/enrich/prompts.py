"""The default prompts of the enrichers.

Placeholders are in braces. The version is part of the cache key, so custom prompts need their own version. The part
shared by all passages of a document comes first, so that endpoints with a prefix cache process it once.
"""

from importlib.resources import files
from typing import NamedTuple


def _read(stage: str) -> str:
    return files("advchunk.enrich").joinpath("templates", f"{stage}.txt").read_text(encoding="utf-8")


class ContextPrompts(NamedTuple):
    """The prompt of `ContextualEnricher`."""

    situate: str = _read("situate")
    version: str = "context-1"


class SummaryPrompts(NamedTuple):
    """The prompts of the two stages of `Summaries`."""

    survey: str = _read("survey")
    condense: str = _read("condense")
    version: str = "summaries-2"


class RewritingPrompts(NamedTuple):
    """The prompts of the three stages of `Rewriting`."""

    reflect: str = _read("reflect")
    refine: str = _read("refine")
    complete: str = _read("complete")
    version: str = "rewriting-1"
