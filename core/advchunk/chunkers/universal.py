"""Universal semantic chunking: break where the topic changes, once there is enough to break off."""

from __future__ import annotations

from dataclasses import dataclass, replace
from typing import Any, ClassVar, Literal, TypeAlias

import numpy as np

from advchunk.chunkers.base import EmbeddingChunker
from advchunk.chunkers.params import Params, at_least
from advchunk.errors import require
from advchunk.layout import tile_prose
from advchunk.numerics import search, signals
from advchunk.records import Chunk, Document, Floats, Segmentation, Units
from advchunk.sizes import Limits
from advchunk.text import sentences
from advchunk.text.counters import WORDS, count_words

Verdict: TypeAlias = Literal["continue", "semantic", "forced"]


@dataclass(kw_only=True)
class UniversalSemanticParams(Params):
    r"""Break before a sentence unlike the last, if the chunk has words enough; and before it has too many.

    A chunk is finished before the next sentence if ``similarity < threshold`` and it has at least
    ``min_chunk_size`` words, or if the next sentence would take it past ``max_chunk_size``.

    A *higher* threshold breaks more often: the published prose says the opposite of its code, and
    the code rules. Absolute thresholds do not transfer between embedders (those of the E5 family
    put everything between .73 and .92): give ``threshold_percentile`` then, which breaks at the
    document's own least similar neighbors, or center the vectors.

    Departs from the published code: text is verbatim, and no sentence is dropped for being short.
    Both limits hold: ``max_chunk_size`` in words, ``max_tokens`` in tokens.

    Parameters
    ----------
    threshold : cosine similarity of neighboring sentences, -1..1.
    threshold_percentile : if given, the threshold is this percentile (0..100) of the document's own
        similarities instead.
    center : subtract the document's mean vector first, which helps static embedders most.
    min_chunk_size : words that a chunk has before likeness may end it, >= 0.
    max_chunk_size : words that no chunk exceeds, >= 1; a longer sentence is split. (A heading that is
        kept with the text after a topic's end may add its few.)
    domain : presets of the published pipeline for ``threshold`` and ``max_chunk_size``, which then
        are not given: "philosophy" .45, any other .55, both with 1200 words.
    sentences : "plain" is the published ``(?<=[.!?])\s+``, which takes "Dr. Smith" for two
        sentences; "accurate" does not. A ``sentence_splitter`` overrides both.
    max_tokens : tokens that no chunk exceeds, context included, >= 1; by default enough for 1500 words.

    References
    ----------
    Project Alexandria, "Universal Semantic Chunking Technical Specification", 2026.
    """

    algorithm: ClassVar[str] = "universal-semantic"
    max_tokens: int = 3000
    threshold: float = 0.5
    threshold_percentile: float | None = None
    center: bool = False
    min_chunk_size: int = 200
    max_chunk_size: int = 1500
    domain: str | None = None
    sentences: Literal["plain", "accurate"] = "plain"

    def check(self) -> None:
        """Add the rules for thresholds and words."""
        super().check()
        require(-1 <= self.threshold <= 1, "threshold must be in -1..1", self.threshold)
        share = self.threshold_percentile
        require(share is None or 0 <= share <= 100, "threshold_percentile must be in 0..100 or None", share)
        at_least(1, self, "max_chunk_size")
        most = self.bounds()[1]
        require(0 <= self.min_chunk_size <= most, f"min_chunk_size must be in 0..{most}", self.min_chunk_size)
        usual = (UniversalSemanticParams.threshold, UniversalSemanticParams.max_chunk_size)
        given = (self.threshold, self.max_chunk_size) != usual
        rule = "domain stands for threshold and max_chunk_size, so give either it or them"
        require(self.domain is None or not given, rule, (self.domain, self.threshold, self.max_chunk_size))

    def bounds(self) -> tuple[float, int]:
        """Return threshold and maximum words, of the domain if there is one."""
        if self.domain is None:
            return self.threshold, self.max_chunk_size
        return (0.45 if self.domain.lower() == "philosophy" else 0.55), 1200


def verdict(
    similarity: float, buffer_words: int, next_words: int, *, threshold: float, minimum: int, maximum: int
) -> Verdict:
    """Decide whether a chunk of ``buffer_words`` ends before a sentence of ``next_words``.

    >>> verdict(0.22, 250, 18, threshold=0.5, minimum=200, maximum=1500)
    'semantic'
    """
    if buffer_words + next_words > maximum:
        return "forced"
    return "semantic" if similarity < threshold and buffer_words >= minimum else "continue"


@dataclass(kw_only=True)
class UniversalSemanticChunker(UniversalSemanticParams, EmbeddingChunker):
    """Break where the topic changes, once there is enough to break off (`UniversalSemanticParams`).

    >>> text = "Cats purr. Cats nap in the sun. Judges sit in court. Courts rule on law."
    >>> [c.text for c in UniversalSemanticChunker(threshold=0.2, min_chunk_size=5).chunk(text)]
    ['Cats purr. Cats nap in the sun. ', 'Judges sit in court. Courts rule on law.']
    """

    def limits(self, document: Document) -> Limits:
        """Return the limits in tokens, and in words."""
        return replace(super().limits(document), more=((WORDS, self.bounds()[1]),))

    def tile(self, document: Document, limits: Limits) -> Units:
        """Return sentences, each within the limits."""
        plain = self.sentences == "plain" and self.sentence_splitter is None
        split = sentences.plain_sentences if plain else self.sentence_tiler
        return self.fit_units(document, tile_prose(document, split), limits)

    def segment(self, units: Units, vectors: Floats, limits: Limits) -> Segmentation:
        """Go through the sentences once."""
        similarity = signals.neighbor_similarity(signals.centered(vectors) if self.center else vectors)
        words = [count_words(text) for text in units.strings()]
        threshold, maximum = self.bounds()
        if self.threshold_percentile is not None:
            threshold = float(np.percentile(similarity, self.threshold_percentile))
        inner, reasons, buffer = [], [], words[0]
        for i, likeness in enumerate(similarity.tolist(), start=1):
            decided = verdict(
                likeness, buffer, words[i], threshold=threshold, minimum=self.min_chunk_size, maximum=maximum
            )
            if decided == "continue":
                buffer += words[i]
            else:
                inner.append(i)
                reasons.append(decided)
                buffer = words[i]
        return Segmentation(
            search.cuts_at(np.array(inner, dtype=np.int64), len(units)),
            reason=reasons,
            gaps=1 - similarity,
            figures={"similarity": similarity, "threshold": threshold, "words": words},
        )

    def chunk_metadata(self, chunk: Chunk, index: int) -> dict[str, Any]:
        """Write the published metadata."""
        return {"chunk_id": index, "word_count": count_words(chunk.text), "strategy": self.algorithm} | (
            {} if self.domain is None else {"domain": self.domain}
        )
