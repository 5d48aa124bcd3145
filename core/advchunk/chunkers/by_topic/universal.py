"""Universal semantic chunking: end a chunk where the topic changes, once it is long enough."""

from collections.abc import Mapping
from dataclasses import dataclass, replace
from typing import Annotated, Any, ClassVar, Literal

import numpy as np

from advchunk.building.layout import tile_prose
from advchunk.building.sizes import Limits
from advchunk.chunkers.base import EmbeddingChunker
from advchunk.chunkers.numerics import cutting
from advchunk.chunkers.params import AS_PUBLISHED, Bounds, Params, is_given, one_at_most
from advchunk.errors import require
from advchunk.models import signals
from advchunk.records import Chunk, Document, Floats, Segmentation, Units
from advchunk.text import sentences
from advchunk.text.counters import SPACED_WORDS, WORDS, Counter

_STRICT = "philosophy"  # the domain with a threshold of its own
_DROPPED = 2  # characters of a sentence that the published code drops


@dataclass(kw_only=True)
class UniversalSemanticParams(Params):
    r"""End a chunk at a change of topic once it has enough words, or when it is full.

    A chunk ends before the next sentence if ``similarity < threshold`` and the chunk has at least ``min_chunk_size``
    words, or if the next sentence would exceed ``max_chunk_size``.

    A *higher* threshold cuts more often: the published text and code contradict each other here, and this follows the
    code. Absolute thresholds do not transfer between embedders (similarities of the E5 family are all between .73 and
    .92), and at .5 most neighbors are below the threshold, so a chunk simply ends once it has ``min_chunk_size`` words,
    as the signal of `explain` shows. A percentile of the document's own similarities transfers. ``preset="relative"``
    takes the fifth: chunks are too large for most retrieval; for that take ``threshold_percentile=50,
    min_chunk_size=100`` (benchmarks/CUTS.md). On planted topics the defaults are worse than no cut, and
    ``preset="topics"`` is not (benchmarks/defaults.py).

    Departs from the published code (Project Alexandria, "Universal Semantic Chunking Technical Specification", 2026) by
    default: cuts move to the layout (``layout_weight``, ``outline``), and sentences end where blocks do (``markup``);
    the stops of all scripts end sentences, and two characters of Chinese count as a word (``sentences``);
    ``max_tokens`` applies beside ``max_chunk_size``. ``preset="published"`` sets all of this back. Always: text is
    verbatim, sentences of one or two characters are kept, and a sentence over a limit is split. The chunks carry
    ``domain`` and the metadata of their document, but neither a ``topic``, which the specification shows and no code of
    it computes, nor ``ingested_at``, which would make equal texts differ: add these when you store them.

    Parameters
    ----------
    preset : "published" for the original, on plain text; "relative": ``threshold_percentile`` 5, for topics, not for
        retrieval; "topics": ``threshold_percentile`` 10 and ``min_chunk_size`` 50, for short topics.
    threshold : cosine similarity of neighboring sentences below which a chunk may end, -1..1.
    threshold_percentile : percentile (0..100) of the document's similarities to use as the threshold instead.
    center : True subtracts the document's mean vector first, which helps static embedders most.
    min_chunk_size : minimum words of a chunk that ends at a change of topic, 0..max_chunk_size; the default shrinks in
        proportion to a smaller max_chunk_size.
    max_chunk_size : maximum words of a chunk, >= 1; a longer sentence is split. A heading kept with the text after the
        end of a topic may add its own words.
    domain : published preset for ``threshold`` and ``max_chunk_size``, instead of these: "philosophy" .45, any other
        .55, both with 1200 words. The ``domain`` in the metadata of a document sets neither.
    sentences : "published" splits at ``(?<=[.!?])\s+``, which splits "Dr. Smith" and no Chinese text, counts as words
        what stands between white space, and decides as if there were no sentences of one or two characters; "plain"
        also splits at the stops of other scripts; "accurate" is the sentences of the other chunkers. A
        ``sentence_splitter`` overrides all three. All split within blocks, unless ``markup="plain"``.
    max_tokens : maximum tokens of a chunk, context included, >= 1; the default is enough for 1500 words.
    """

    algorithm: ClassVar[str] = "universal-semantic"
    presets: ClassVar[Mapping[str, Mapping[str, Any]]] = {
        "published": {**AS_PUBLISHED, "sentences": "published", "max_tokens": 1_000_000},
        "relative": {"threshold_percentile": 5.0},
        "topics": {"threshold_percentile": 10.0, "min_chunk_size": 50},
    }
    preset: Literal["published", "relative", "topics"] | None = None
    max_tokens: int = 3000
    threshold: Annotated[float, Bounds(-1, 1)] = 0.5
    threshold_percentile: Annotated[float | None, Bounds(0, 100)] = None
    center: bool = False
    min_chunk_size: int = 200
    max_chunk_size: Annotated[int, Bounds(1)] = 1500
    domain: str | None = None
    sentences: Literal["published", "plain", "accurate"] = "plain"

    def check(self) -> None:
        """Check word limits, and what excludes each other, too."""
        super().check()
        one_at_most(self, "threshold", "threshold_percentile")
        maximum = self.bounds()[1]
        require(0 <= self.min_words <= maximum, f"min_chunk_size must be in 0..{maximum}", self.min_chunk_size)
        are_free = not (is_given(self, "threshold") or is_given(self, "max_chunk_size"))
        rule = "domain sets threshold and max_chunk_size: give either domain or these"
        require(self.domain is None or are_free, rule, (self.domain, self.threshold, self.max_chunk_size))

    @property
    def min_words(self) -> int:
        """``min_chunk_size``; a default over ``max_chunk_size`` keeps its share of it."""
        default, maximum = UniversalSemanticParams, self.bounds()[1]
        is_kept = is_given(self, "min_chunk_size") or self.min_chunk_size <= maximum
        return self.min_chunk_size if is_kept else maximum * default.min_chunk_size // default.max_chunk_size

    def bounds(self) -> tuple[float, int]:
        """Return the threshold and the maximum words, which ``domain`` overrides."""
        if self.domain is None:
            return self.threshold, self.max_chunk_size
        return (0.45 if self.domain.lower() == _STRICT else 0.55), 1200


@dataclass(kw_only=True)
class UniversalSemanticChunker(UniversalSemanticParams, EmbeddingChunker):
    """End chunks at changes of topic (`UniversalSemanticParams`).

    >>> text = "Cats purr. Cats nap in the sun. Judges sit in court. Courts rule on law."
    >>> [c.text for c in UniversalSemanticChunker(threshold=0.2, min_chunk_size=5).chunk(text)]
    ['Cats purr. Cats nap in the sun. ', 'Judges sit in court. Courts rule on law.']
    """

    def limits(self, document: Document) -> Limits:
        """Return the limits in tokens, and in words."""
        return replace(super().limits(document), more=((self._words, self.bounds()[1]),))

    def tile(self, document: Document, limits: Limits) -> Units:
        """Return sentences, each within the limits."""
        rules = {"published": sentences.published_sentences, "plain": sentences.plain_sentences}
        split = rules.get(self.sentences) if self.sentence_splitter is None else None
        return self.fit_units(document, tile_prose(document, split or self.sentence_tiler), limits)

    def segment(self, units: Units, vectors: Floats, limits: Limits) -> Segmentation:
        """Decide at each sentence whether the chunk before it ends."""
        texts = units.strings()
        words = self._words.counts(texts)
        if self.sentences == "published":
            words[[len(text.strip()) <= _DROPPED for text in texts]] = 0
        counted = np.flatnonzero(words)  # all units, unless "published" drops some
        rows = signals.center_rows(vectors) if self.center else vectors
        similarity = signals.neighbor_similarity(rows[counted])
        threshold, maximum = self.bounds()
        if self.threshold_percentile is not None and len(similarity):
            threshold = float(np.percentile(similarity, self.threshold_percentile))
        breaks, buffer, minimum = dict[int, str](), int(words[counted[:1]].sum()), self.min_words
        ahead = zip(counted[1:].tolist(), words[counted[1:]].tolist(), similarity.tolist(), strict=True)
        for i, size, value in ahead:
            if buffer + size > maximum or (value < threshold and buffer >= minimum):
                breaks[i], buffer = "forced" if buffer + size > maximum else "semantic", 0
            buffer += size
        cuts = cutting.cuts_at(np.array([*breaks], dtype=np.int64), len(units))
        gaps = np.full(len(units) - 1, np.nan)
        gaps[counted[1:] - 1] = 1 - similarity
        figures = {"similarity": similarity, "threshold": threshold, "words": words.tolist()}
        reasons, cut = [*breaks.values()], 1 - threshold
        return Segmentation(cuts, reason=reasons, gaps=gaps, threshold=cut, figures=figures, least=(words, minimum))

    @property
    def _words(self) -> Counter:
        return SPACED_WORDS if self.sentences == "published" else WORDS

    def chunk_metadata(self, chunk: Chunk, index: int) -> dict[str, Any]:
        """Return the published metadata."""
        metadata = {"chunk_id": index, "word_count": self._words(chunk.text), "strategy": self.algorithm}
        return metadata if self.domain is None else metadata | {"domain": self.domain}
