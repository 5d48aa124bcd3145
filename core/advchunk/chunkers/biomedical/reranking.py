"""Rerank search results by section, quality of the source, and recency.

References
----------
Bio-MCP, "Chunking Strategy", 2025, step 9, and the code of its search service, where boosts multiply the score, and those of
recent articles are 0.1, 0.05 and 0.02.
"""

import re
from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field
from datetime import date
from types import MappingProxyType
from typing import Any, TypeVar

from advchunk.errors import is_integer, is_number, require
from advchunk.records import written_metadata

_Result = TypeVar("_Result")
_SECTION_BOOSTS = MappingProxyType({"Results": 0.15, "Conclusions": 0.12, "Methods": 0.05, "Background": 0.02})


@dataclass(frozen=True, kw_only=True)
class Boosts:
    """Boosts of search results, as shares of their scores.

    Parameters
    ----------
    sections : boosts by section name, >= 0; a chunk of several sections has the largest.
    quality : boost of a source whose ``quality_total`` is 1, >= 0; that of others is proportional.
    recency : years since publication, ascending, and the boosts of articles of at most that age, >= 0.
    """

    sections: Mapping[str, float] = field(default_factory=lambda: _SECTION_BOOSTS)
    quality: float = 0.1
    recency: tuple[tuple[int, float], ...] = ((2, 0.1), (5, 0.05), (10, 0.02))

    def __post_init__(self) -> None:
        boosts = [*self.sections.values(), self.quality, *(boost for _, boost in self.recency)]
        require(all(map(is_number, boosts)), "boosts must be finite numbers >= 0", boosts)
        years = [year for year, _ in self.recency]
        is_valid = all(is_integer(year, 0) for year in years) and years == sorted(set(years))
        require(is_valid, "the years of recency must be increasing whole numbers >= 0", years)

    def boost(self, metadata: Mapping[str, Any], year: int) -> float:
        """Return the boost of a chunk in a year, by its ``section``, ``quality_total`` and ``published_at``.

        >>> Boosts().boost({"section": "Results, Conclusions", "quality_total": 0.5, "published_at": "2020-03"}, 2024)
        0.25
        """
        metadata = {**metadata, **written_metadata(metadata)}
        names = str(metadata.get("section") or "").split(", ")
        boost = max(self.sections.get(name, 0.0) for name in names)
        boost += self.quality * float(metadata.get("quality_total") or 0.0)
        if published := re.search(r"\b\d{4}(?!\d)", str(metadata.get("published_at") or metadata.get("year") or "")):
            age = year - int(published[0])
            boost += next((tier for years, tier in self.recency if age <= years), 0.0)
        return boost


def rerank(results: Iterable[_Result], boosts: Boosts | None = None, *, on: date | None = None) -> list[_Result]:
    """Return search results with boosted scores, best first; ties keep their order.

    A score s becomes s + b abs(s): s (1 + b) if s >= 0, and a negative score rises too.

    Parameters
    ----------
    results : pairs of a document and its score, as from LangChain's ``similarity_search_with_relevance_scores``, or
        LlamaIndex's ``NodeWithScore``; higher scores are better.
    boosts : None uses the published ones.
    on : the day from which recency is counted; None is today.

    >>> from advchunk import Chunk
    >>> chunks = [Chunk(name, (), 1, metadata={"section": name}) for name in ("Methods", "Results")]
    >>> [(chunk.text, round(score, 3)) for chunk, score in rerank([(chunks[0], 0.52), (chunks[1], 0.5)])]
    [('Results', 0.575), ('Methods', 0.546)]
    """
    boosts, year = boosts or Boosts(), (on or date.today()).year

    def rescore(result: Any) -> tuple[float, Any]:
        is_pair = isinstance(result, tuple)
        metadata, old = (result[0].metadata, result[1]) if is_pair else (result.metadata, result.score)
        score = (old or 0.0) + boosts.boost(metadata, year) * abs(old or 0.0)
        return score, (result[0], score) if is_pair else result.model_copy(update={"score": score})

    return [item for _, item in sorted(map(rescore, results), key=lambda pair: -pair[0])]
