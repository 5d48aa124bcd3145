"""Discourse segments: open one where the author says that the argument turns, and group clauses that cohere."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import dataclass, replace
from typing import Any, ClassVar

import numpy as np
from numpy.typing import NDArray

from advchunk.chunkers.base import EmbeddingChunker
from advchunk.chunkers.experimental import ExperimentalChunker
from advchunk.chunkers.params import Params, at_least
from advchunk.errors import require
from advchunk.layout import tile_prose
from advchunk.numerics import costs, search
from advchunk.numerics.costs import SegmentCost
from advchunk.numerics.signals import neighbor_similarity
from advchunk.records import Document, Floats, Ints, Segmentation, Strength, Units
from advchunk.sizes import Limits
from advchunk.text.edus.lexicon import BREAKS, Connective, get_lexicon
from advchunk.text.splitters import Edus

# In units of ln(n) nats, for n units: what evidence of topics there may be by chance (see `OptimalSemanticParams`).
_OFF_TARGET = 4.0  # of a segment of no size, or of twice the target
_PARTS, _PARTS_CLAUSE = 8.0, 16.0  # between the clauses of a sentence; of one from the clause it depends on
_CROSSES = 1e6  # a strong connective: more than all else can come to

_ENDS = frozenset(".!?…。！？．")  # noqa: RUF001
_CLOSES = "\"'”’»›)]）」』】》*_"  # noqa: RUF001


@dataclass(kw_only=True)
class DiscourseSegmenterParams(Params):
    """Open a segment at every strong connective, and between them group clauses to a target so that they cohere.

    The units are elementary discourse units, clauses roughly (`discourse.Edus`), found by connectives and punctuation; or by
    parses, if ``sentence_splitter`` is a spaCy pipeline with a parser. A unit that opens with a strong connective
    ("however", "therefore", "in contrast", "nevertheless" ...), at the start of a sentence or after a semicolon, colon or
    dash, opens a segment; one that opens with a weak one ("and", "but", "or") does not. Nor does one that stands within
    its clause (", however,"), or after a comma.

    No chunk runs over a strong connective, unless it would be under ``min_tokens`` otherwise, of which the default is 0. A
    text full of connectives has small chunks, then: 64 tokens are a sensible ``min_tokens`` for retrieval.

    Between strong connectives, units are grouped by dynamic programming, over the whole document at once, so that three
    prices come to least: the evidence against a topic of its own for each group (`costs.evidence` of the units' vectors);
    4 ln(n) (tokens / target - 1)^2 for its size, for n units; and 8 ln(n) for cutting inside a sentence, 16 ln(n) for parting
    a subordinate clause from what it depends on.

    Arguments turn where topics do not: on Choi's group 3-11, with as many segments as there are, Pk is .14, and .11 with
    an empty lexicon; that of optimal-semantic is .07. Where topics are wanted, take that. A text without punctuation has no units
    smaller than its paragraphs.

    Parameters
    ----------
    target_tokens : tokens that a chunk should have where no strong connective ends it, 1..max_tokens; None is half of
        ``max_tokens``.
    connectives : changes to the language's lexicon: by words, "strong", "weak", "none" to take one out, or fields of
        `discourse.Connective`: ``{"however": "weak", "by the way": "strong"}``.
    lexicon : a whole lexicon instead, in the shape of the files in ``advchunk/discourse/lexicons``. Those know English best;
        and German, French, Spanish and Chinese.

    References
    ----------
    Ours. Marcu 2000, "The rhetorical parsing of unrestricted texts: a surface-based approach", Computational Linguistics
    26(3), for units and segments by connectives; Prasad et al. 2008, "The Penn Discourse TreeBank 2.0", LREC, for these.
    """

    algorithm: ClassVar[str] = "discourse"
    target_tokens: int | None = None
    connectives: Mapping[str, Any] | None = None
    lexicon: Mapping[str, Any] | None = None

    def check(self) -> None:
        """Add the rules for the target and the lexicon."""
        super().check()
        at_least(1, self, "target_tokens")
        rule = f"target_tokens must be at most max_tokens = {self.max_tokens}, or None"
        require(self.target_tokens is None or self.target_tokens <= self.max_tokens, rule, self.target_tokens)
        get_lexicon(self.language, self.connectives, self.lexicon)

    @property
    def aim(self) -> int:
        """Tokens that a chunk should have."""
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
        """What finds the units."""
        splitter = self.sentence_splitter
        if isinstance(splitter, Edus):
            return splitter
        parser = splitter if "parser" in getattr(splitter, "pipe_names", ()) else None
        sentences = None if parser is not None or splitter == "edus" else splitter
        return Edus(self.language, self.connectives, self.lexicon, sentences, parser)

    def tile(self, document: Document, limits: Limits) -> Units:
        """Return discourse units; their edges inside a sentence are as weak as any there."""
        units = self.fit_units(document, tile_prose(document, self.edus), limits)
        strength = np.asarray(units.strength).copy()
        strength[1:-1][[end < Strength.BLOCK and not _ends_sentence(text) for end, text in _ends(units)]] = (
            Strength.WITHIN_SENTENCE
        )
        return replace(units, strength=strength)

    def segment(self, units: Units, vectors: Floats, limits: Limits) -> Segmentation:
        """Search."""
        texts, scale = units.strings(), float(np.log(len(units)))
        known = get_lexicon(self.language, self.connectives, self.lexicon)
        openings = [known.opening(text) for text in texts]
        within = units.strength[:-1] == Strength.WITHIN_SENTENCE
        within[0] = False
        turns = [turn(*of) for of in zip(openings, within.tolist(), ["", *texts], strict=False)]
        parting = np.array([parted(*of) for of in zip(openings, within.tolist(), ["", *texts], strict=False)])
        cost = priced(
            costs.evidence(vectors),
            units.token_counts(),
            np.array([one is not None for one in turns]),
            parting * scale,
            self.aim,
            _OFF_TARGET * scale,
        )
        budget = np.array([limits.budget(start) for start in units.edges[:-1].tolist()], dtype=np.int64)
        cuts, total = search.cheapest_cuts(cost, units.token_counts(), budget, minimum=self.min_tokens)
        reasons = [f"connective: {one.words}" if (one := turns[i]) else "coherence" for i in cuts[1:-1].tolist()]
        return Segmentation(cuts, reason=reasons, gaps=1 - neighbor_similarity(vectors), figures={"cost": total})


def turn(opening: Connective | None, within: bool, before: str) -> Connective | None:
    """Return the strong connective with which a unit opens a segment, if it does.

    Parameters
    ----------
    within : whether the unit begins inside a sentence; then only a semicolon, colon or dash lets it open one.
    before : the unit before.
    """
    strong = opening is not None and opening.strength == "strong"
    return opening if strong and (not within or _last(before) in BREAKS) else None


def parted(opening: Connective | None, within: bool, before: str) -> float:
    """Return the price of a cut before a unit, in ln(n): inside a sentence it parts what was one thought."""
    if not within:
        return 0.0
    coordinate = _last(before) in BREAKS or (opening is not None and opening.kind == "conjunction")
    return _PARTS if coordinate else _PARTS_CLAUSE


def priced(
    cost: SegmentCost, sizes: Ints, turns: NDArray[np.bool_], parting: Floats, aim: int, weight: float
) -> SegmentCost:
    """Add to the cost of a segment what its size, the turns it runs over, and its beginning cost.

    Parameters
    ----------
    sizes : (n,) tokens.
    turns : (n,) whether a unit opens a segment.
    parting : (n,) what a cut before each unit costs.
    aim : tokens that a segment should have.
    weight : the price of none, or of twice as many.
    """
    total, before = np.r_[0, np.cumsum(sizes)], np.r_[0, np.cumsum(turns)]

    def added(first: Ints) -> Iterator[Floats]:
        for end, (start, value) in enumerate(zip(first.tolist(), cost(first), strict=True), start=1):
            off = (total[end] - total[start:end]) / aim - 1
            crossed = before[end] - before[start + 1 : end + 1]
            yield value + weight * off**2 + _CROSSES * crossed + parting[start:end]

    return added


def _ends(units: Units) -> Iterator[tuple[int, str]]:
    """Yield the strength of each inner edge, and the unit before it."""
    return zip(np.asarray(units.strength)[1:-1].tolist(), units.strings(), strict=False)


def _ends_sentence(text: str) -> bool:
    ink = text.rstrip()
    return ink.rstrip(_CLOSES)[-1:] in _ENDS or text[len(ink) :].count("\n") > 1


def _last(text: str) -> str:
    return text.rstrip()[-1:]
