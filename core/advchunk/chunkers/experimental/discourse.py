"""Discourse segments: start one at each strong connective, and between them group clauses that cohere."""

from collections.abc import Iterator, Mapping
from dataclasses import dataclass, replace
from typing import Annotated, Any, ClassVar, Literal

import numpy as np
from numpy.typing import NDArray

from advchunk.building.layout import tile_prose
from advchunk.building.sizes import Limits
from advchunk.chunkers.base import EmbeddingChunker
from advchunk.chunkers.experimental.edus import Edus
from advchunk.chunkers.experimental.edus.lexicon import BREAKS, Connective, get_lexicon
from advchunk.chunkers.experimental_base import ExperimentalChunker
from advchunk.chunkers.numerics import costs, cutting
from advchunk.chunkers.numerics.costs import SegmentCost
from advchunk.chunkers.params import AS_PUBLISHED, Bounds, Params
from advchunk.models.signals import neighbor_similarity
from advchunk.records import Document, Floats, Ints, Segmentation, Strength, Units

# In units of ln(n) nats for n units: the strength of chance evidence of topics (see `OptimalSemanticParams`).
_SIZE_WEIGHT = 4.0  # cost of a segment of size 0, or of twice the target
_CLAUSE_CUT, _SUBORDINATE_CUT = 8.0, 16.0  # cost of a cut before a coordinate clause, or a subordinate one
_CONNECTIVE_COST = 1e6  # of a strong connective inside a segment: more than all other costs together
_SENTENCE_ENDS = frozenset(".!?…。！？．")  # noqa: RUF001
_CLOSING = "\"'”’»›)]）」』】》*_"  # noqa: RUF001


@dataclass(kw_only=True)
class DiscourseSegmenterParams(Params):
    """Start a segment at every strong connective, and between them group clauses to a target so that they cohere.

    The units are elementary discourse units, roughly clauses (`edus.Edus`), found by connectives and punctuation. A
    unit starts a segment if it begins with a strong connective ("however", "therefore", "in contrast", "nevertheless"
    ...) at the start of a sentence or after a semicolon, colon or dash. A weak connective ("and", "but", "or"), one
    within its clause (", however,") or one after a comma does not.

    No chunk contains a strong connective after its start, unless it would otherwise be smaller than ``min_tokens``,
    which is 0 by default. A text full of connectives therefore gets small chunks; 64 suits retrieval better.

    Between strong connectives, dynamic programming over the whole document groups units at the least cost: the evidence
    against a topic of its own for each group (`costs.evidence` of the units' vectors); 4 ln(n) (tokens / target - 1)^2
    for its size, for n units; and 8 ln(n) for a cut inside a sentence, 16 ln(n) for one before a subordinate clause.

    A turn in an argument is not a change of topic: for topics, optimal-semantic is the better choice
    (benchmarks/CUTS.md). A text without punctuation has no units smaller than its paragraphs.

    Departs from the specification by default: cuts move to the layout (``layout_weight``, ``outline``) and units end
    where blocks do (``markup``). ``preset="published"`` sets this back.

    Ours. Marcu 2000, "The rhetorical parsing of unrestricted texts", Computational Linguistics 26(3), for units and
    segments by connectives; Prasad et al. 2008, "The Penn Discourse TreeBank 2.0", LREC, for the connectives.

    Parameters
    ----------
    preset : "published", the specification on plain text.
    target_tokens : tokens aimed at where no strong connective ends a chunk, 1..max_tokens; None is half of that.
    connectives : changes to the lexicon, such as ``{"however": "weak", "by the way": "strong"}``, or "none" to remove
        one. English has the most complete lexicon; German, French, Spanish and Chinese have one, too.
    """

    algorithm: ClassVar[str] = "discourse"
    presets: ClassVar[Mapping[str, Mapping[str, Any]]] = {"published": AS_PUBLISHED}
    preset: Literal["published"] | None = None
    target_tokens: Annotated[int | None, Bounds(1, in_chunk=True)] = None
    connectives: Mapping[str, Any] | None = None

    def check(self) -> None:
        """Add the rules for the lexicon."""
        super().check()
        get_lexicon(self.language, self.connectives)

    @property
    def target(self) -> int:
        """The target size of a chunk in tokens."""
        return self.target_tokens or -(-self.max_tokens // 2)


@dataclass(kw_only=True)
class DiscourseSegmenterChunker(DiscourseSegmenterParams, ExperimentalChunker, EmbeddingChunker):
    """Group clauses between strong connectives (`DiscourseSegmenterParams`).

    >>> text = "Cats purr when they nap. They nap a lot. However, dogs bark, because they guard the house."
    >>> [chunk.text for chunk in DiscourseSegmenterChunker().chunk(text)]
    ['Cats purr when they nap. They nap a lot. ', 'However, dogs bark, because they guard the house.']
    """

    @property
    def edus(self) -> Edus:
        """The tiler that finds the units."""
        splitter = self.sentence_splitter
        if isinstance(splitter, Edus):
            return splitter
        return Edus(self.language, self.connectives, None if splitter == "edus" else splitter)

    def tile(self, document: Document, limits: Limits) -> Units:
        """Return discourse units; an edge inside a sentence has the strength ``WITHIN_SENTENCE``."""
        units = self.fit_units(document, tile_prose(document, self.edus), limits)
        strength = units.strength.copy()
        inner = zip(strength[1:-1].tolist(), units.strings(), strict=False)
        is_inside = [value < Strength.ITEM and not _ends_sentence(text) for value, text in inner]
        strength[1:-1][is_inside] = Strength.WITHIN_SENTENCE
        return replace(units, strength=strength)

    def segment(self, units: Units, vectors: Floats, limits: Limits) -> Segmentation:
        """Find the cheapest segmentation."""
        texts, scale, lexicon = units.strings(), float(np.log(len(units))), get_lexicon(self.language, self.connectives)
        inside = [False, *(units.strength[1:-1] == Strength.WITHIN_SENTENCE).tolist()]
        judged = list(map(_judge_cut, map(lexicon.opening, texts), inside, ["", *texts[:-1]]))
        starters, sizes = [opening for opening, _ in judged], units.token_counts()
        is_start = np.array([opening is not None for opening in starters])
        cut_costs = np.array([cost for _, cost in judged])
        weight = _SIZE_WEIGHT * scale
        cost = segment_costs(costs.evidence(vectors), sizes, is_start, cut_costs * scale, self.target, weight)
        budget = np.array([limits.budget(start) for start in units.edges[:-1].tolist()], dtype=np.int64)
        cuts, total = cutting.cheapest_cuts(cost, sizes, budget, minimum=limits.min_tokens)
        connectives = [starters[cut] for cut in cuts[1:-1].tolist()]
        reasons = [f"connective: {opening.words}" if opening else "coherence" for opening in connectives]
        return Segmentation(cuts, reason=reasons, gaps=1 - neighbor_similarity(vectors), figures={"cost": total})


def _judge_cut(opening: Connective | None, inside: bool, before: str) -> tuple[Connective | None, float]:
    """Return the strong connective that starts a segment with a unit, if any, and the cost of a cut there, in ln(n)."""
    follows_break = before.rstrip()[-1:] in BREAKS
    is_strong = opening is not None and opening.strength == "strong" and (follows_break or not inside)
    is_coordinate = follows_break or (opening is not None and opening.kind == "conjunction")
    cost = 0.0 if not inside else _CLAUSE_CUT if is_coordinate else _SUBORDINATE_CUT
    return opening if is_strong else None, cost


def segment_costs(
    cost: SegmentCost, sizes: Ints, starters: NDArray[np.bool_], cut_costs: Floats, target: int, weight: float
) -> SegmentCost:
    """Return the cost of segments, with those of their size, of strong connectives within them, and of the cut before.

    Arrays are by unit; ``weight`` is the cost of a segment of size 0, or of twice the ``target``.
    """
    total, before = np.r_[0, np.cumsum(sizes)], np.r_[0, np.cumsum(starters)]

    def combined(first: Ints) -> Iterator[Floats]:
        for end, (start, value) in enumerate(zip(first.tolist(), cost(first), strict=True), start=1):
            deviation = (total[end] - total[start:end]) / target - 1
            crossed = before[end] - before[start + 1 : end + 1]
            yield value + weight * deviation**2 + _CONNECTIVE_COST * crossed + cut_costs[start:end]

    return combined


def _ends_sentence(text: str) -> bool:
    stripped = text.rstrip()
    return stripped.rstrip(_CLOSING)[-1:] in _SENTENCE_ENDS or text[len(stripped) :].count("\n") > 1
