"""Rank what was found anew: by the section it stands in, the quality of its source, and how recent that is.

References
----------
Bio-MCP, "Chunking Strategy", 2025, step 9, and its search service, for what its prose leaves open: boosts multiply, and a
recent article has 0.1, 0.05 or 0.02.
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field
from datetime import date
from types import MappingProxyType
from typing import Any, TypeVar

from advchunk.errors import require

Found = TypeVar("Found")


@dataclass(frozen=True, kw_only=True)
class Boosts:
    """How much more what was found is worth, as a share of its score.

    Parameters
    ----------
    sections : by name, >= 0; a chunk of several has the greatest of theirs.
    quality : of a source whose ``quality_total`` is 1, >= 0; others have as much as theirs is of 1.
    recency : years since publication, ascending, and the boost of what is at most so old, >= 0.
    """

    sections: Mapping[str, float] = field(
        default_factory=lambda: MappingProxyType(
            {"Results": 0.15, "Conclusions": 0.12, "Methods": 0.05, "Background": 0.02}
        )
    )
    quality: float = 0.1
    recency: tuple[tuple[int, float], ...] = ((2, 0.1), (5, 0.05), (10, 0.02))

    def __post_init__(self) -> None:
        boosts = [*self.sections.values(), self.quality, *(boost for _, boost in self.recency)]
        require(all(boost >= 0 for boost in boosts), "boosts must be >= 0", boosts)
        years = [year for year, _ in self.recency]
        require(years == sorted(set(years)), "the years of recency must ascend", years)

    def of(self, metadata: Mapping[str, Any], year: int) -> float:
        """Return the boost of a chunk in a year, by its ``section``, ``quality_total`` and ``published_at``.

        >>> Boosts().of({"section": "Results, Conclusions", "quality_total": 0.5, "published_at": "2020-03"}, 2024)
        0.25
        """
        names = str(metadata.get("section") or "").split(", ")
        boost = max(self.sections.get(name, 0.0) for name in names)
        boost += self.quality * float(metadata.get("quality_total") or 0.0)
        if published := re.search(r"\b\d{4}(?!\d)", str(metadata.get("published_at") or metadata.get("year") or "")):
            age = year - int(published[0])
            boost += next((tier for most, tier in self.recency if age <= most), 0.0)
        return boost


def rerank(found: Iterable[Found], boosts: Boosts | None = None, *, on: date | None = None) -> list[Found]:
    """Return what was found with its scores boosted, best first; of equals, in the order it came.

    A score s becomes s + b abs(s): s (1 + b) of a similarity, and a negative one rises too.

    Parameters
    ----------
    found : pairs of a document and its score, as LangChain's ``similarity_search_with_relevance_scores`` returns them, or
        LlamaIndex's ``NodeWithScore``; the higher the score, the better.
    boosts : None for the published ones.
    on : the day by which recency is judged; None is today.

    Examples
    --------
    >>> from advchunk import Chunk
    >>> chunks = [Chunk(name, (), 1, metadata={"section": name}) for name in ("Methods", "Results")]
    >>> [(chunk.text, round(score, 3)) for chunk, score in rerank([(chunks[0], 0.52), (chunks[1], 0.5)])]
    [('Results', 0.575), ('Methods', 0.546)]
    """
    given, year = boosts or Boosts(), (on or date.today()).year

    def boosted(metadata: Mapping[str, Any], score: float | None) -> float:
        return (score or 0.0) + given.of(metadata, year) * abs(score or 0.0)

    anew: list[tuple[float, Any]] = []
    for each in found:
        item: Any = each
        if isinstance(item, tuple):
            score = boosted(item[0].metadata, item[1])
            anew.append((score, (item[0], score)))
        else:
            score = boosted(item.metadata, item.score)
            anew.append((score, item.model_copy(update={"score": score})))
    return [item for _, item in sorted(anew, key=lambda pair: -pair[0])]
