"""Search by vectors and words together, over chunks of several levels, re-ranked by neighbors."""

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Literal, TypeAlias, get_args

import numpy as np
from numpy.typing import NDArray

from advchunk.building.positions import ChunkPositions
from advchunk.errors import check_fields, checked, is_number, require
from advchunk.retrieval.hierarchies import ChunkHierarchy, add_sections, expand_downward
from advchunk.retrieval.neighbors import rerank_by_neighbors
from advchunk.retrieval.rankings import DEPTH, FusionMethod, Ranking, fuse

SearchMode: TypeAlias = Literal["dense", "lexical", "hybrid"]
SearchedLevels: TypeAlias = Literal["both", "local", "global"]
AnswerLength: TypeAlias = Literal["short", "long"]

LEXICAL_WEIGHT = 2.0
SECTION_WEIGHTS: Mapping[AnswerLength, float] = {"short": 0.6, "long": 1.5}
"""Weight of the sections for each length of answers, where the chunks in them have 1."""


@dataclass(frozen=True)
class Search:
    """A way to search chunks.

    Raises `ConfigurationError` for a parameter out of range.

    Parameters
    ----------
    mode : "dense" searches by vectors, "lexical" by words (BM25), "hybrid" by both.
    neighbors : re-rank by neighbors (`neighbors.rerank_by_neighbors`).
    fusion, lexical_weight : method of a hybrid search (`rankings.fuse`), and weight of words, >= 0; vectors have 1.
    levels : how chunks of several levels are ranked, as by `HierarchicalChunker` or `GraphRAGChunker`: "both" ranks the
        leaves, which are the chunks with no other below, by their own scores and those of the sections that contain
        them (`levels.add_sections`); "local" by their own alone; "global" ranks the sections or communities right above
        the leaves, and divides those that do not fit into a budget into their leaves. Without levels, all are the same.
    answer : with "both", the length of the expected answers: "short" for one in a sentence or two, "long" for one that
        takes a whole section, such as what a meeting said about a topic. "long" gives sections more weight, and lets in
        their leaves that were not found themselves (benchmarks/STRUCTURE.md has what this gains, and loses).
    section_weight : with "both", the weight of the sections, >= 0, where leaves have 1; None is .6, and 1.5 for "long".
    merge : a section takes the place of the leaves in it that were found if they have more than this share of its text
        (`levels.merge_upward`), between 0 and 1; None never merges.

    >>> Search("hybrid", neighbors=True).label, Search("hybrid", fusion="reciprocal", lexical_weight=1).label
    ('hybrid, neighbors', 'hybrid, reciprocal')
    """

    mode: SearchMode = "dense"
    neighbors: bool = False
    fusion: FusionMethod = "standardized"
    lexical_weight: float = LEXICAL_WEIGHT
    levels: SearchedLevels = "both"
    answer: AnswerLength = "short"
    section_weight: float | None = None
    merge: float | None = None

    def __post_init__(self) -> None:
        check_fields(self)
        require(is_number(self.lexical_weight), "lexical_weight must be finite and >= 0", self.lexical_weight)
        weight, merge = self.section_weight, self.merge
        require(weight is None or is_number(weight), "section_weight must be finite and >= 0, or None", weight)
        require(merge is None or (is_number(merge) and 0 < merge < 1), "merge must be between 0 and 1, or None", merge)

    @property
    def label(self) -> str:
        """The name in tables."""
        reciprocal = self.mode == "hybrid" and self.fusion == "reciprocal"
        is_usual = self.mode != "hybrid" or self.lexical_weight == (1 if reciprocal else LEXICAL_WEIGHT)
        weight = "" if is_usual else f", weight {self.lexical_weight:g}"
        levels = "" if self.levels == "both" else f", {self.levels}"
        merge = "" if self.merge is None else f", merged over {self.merge:g}"
        sections = "" if self.section_weight is None else f", sections {self.section_weight:g}"
        label = self.mode + ", reciprocal" * reciprocal + weight + ", neighbors" * self.neighbors
        return label + levels + ", long" * (self.answer == "long") + sections + merge


SEARCHES = tuple(Search(mode, neighbors) for mode in get_args(SearchMode) for neighbors in (False, True))
"""Each mode without and with neighbors."""


@checked
def combine(
    dense: Ranking | None,
    lexical: Ranking | None,
    search: Search,
    positions: ChunkPositions | None = None,
    *,
    hierarchy: ChunkHierarchy | None = None,
    depth: int = DEPTH,
) -> Ranking:
    """Return the ranking of a query from the rankings by vectors and by words, fused, and re-ranked by neighbors.

    Over several levels, each is fused by itself, and neighbors re-rank the leaves. The result has leaves alone; with
    "global", sections, each followed by its leaves (`hierarchies.without_parts` removes them), then other leaves.

    Raises `ConfigurationError` without a ranking.

    Parameters
    ----------
    dense, lexical : one of them may be None. Over several levels, they should have ``depth`` chunks of each.
    search : its ``mode`` and ``merge`` do not count here.
    positions : positions of all chunks, if neighbors count.
    hierarchy : the tree of all chunks, if they have several levels.
    """
    rankings = [ranking for ranking in (dense, lexical) if ranking is not None]
    require(len(rankings) > 0, "a ranking by vectors or by words must be given", rankings)

    def rank(part: NDArray[np.bool_] | None) -> Ranking:
        own = rankings if part is None else [ranking.keep(part).first(depth) for ranking in rankings]
        return own[0] if len(own) == 1 else fuse(own, [1.0, search.lexical_weight], method=search.fusion, depth=depth)

    def rerank(ranking: Ranking) -> Ranking:
        if positions is None or not search.neighbors:
            return ranking
        return rerank_by_neighbors(ranking, positions, depth=depth)

    if hierarchy is None or hierarchy.is_flat:
        return rerank(rank(None))
    leaves = rank(hierarchy.leaves)
    if search.levels == "both":
        sections = [rank(part) for part in hierarchy.parts[1:]]
        weight = SECTION_WEIGHTS[search.answer] if search.section_weight is None else search.section_weight
        hits_only = search.answer == "short"
        leaves = add_sections(leaves, sections, hierarchy, weight, hits_only=hits_only, depth=depth)
    leaves = rerank(leaves).keep(hierarchy.leaves)
    return leaves if search.levels != "global" else expand_downward(rank(hierarchy.nearest), hierarchy, leaves)
