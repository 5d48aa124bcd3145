"""LDA topics: cut where the topics of the text change."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field, replace
from typing import Annotated, Any, ClassVar, Literal

import numpy as np

from advchunk.building.sizes import Limits
from advchunk.chunkers.experimental import topics
from advchunk.chunkers.experimental.topics import TopicModel, Topics
from advchunk.chunkers.experimental_base import ExperimentalChunker
from advchunk.chunkers.lexical import LexicalParams, WindowedLexicalChunker
from advchunk.chunkers.numerics import cutting
from advchunk.chunkers.params import AS_PUBLISHED, RESOURCE, Bounds
from advchunk.chunkers.windows import WindowedParams
from advchunk.errors import require
from advchunk.models import signals
from advchunk.records import Document, Floats, Ints, Segmentation, Units
from advchunk.text.detection import AUTO
from advchunk.text.terms import Terms

_DECIMALS = 9  # to which divergences are rounded, so that ties are exact


@dataclass(kw_only=True)
class LDATopicParams(WindowedParams, LexicalParams):
    """Cut where the topic distributions before and after a gap differ most.

    Latent Dirichlet allocation learns ``num_topics`` topics from the sentences of the document (or of a collection, see
    ``model``) and infers the topic counts of each sentence. The counts of up to ``block_size`` sentences before a gap,
    plus the prior, give p; those after it give q. The score of the gap is their Jensen-Shannon divergence in bits:

        m = (p + q) / 2,   JSD = 1/2 sum_k p_k log2(p_k / m_k) + 1/2 sum_k q_k log2(q_k / m_k)

    A boundary is a local maximum of divergence (the middle of a plateau) where

    * with ``rule="threshold"``, the divergence exceeds ``divergence_threshold``;
    * with ``rule="depth"``, the valley of the similarity 1 - JSD is deep: climbing left and right from the gap while
      the similarity does not fall, the sum of both climbs is at least mean + cutoff_z std of those of all valleys.

    This project's specification prefers local *minima* of divergence, where topics change least; this cuts at maxima.
    The effect of a fixed threshold depends on the number of topics: with the defaults, nearly every gap of a short
    document exceeds 0.3, and every local maximum is a boundary. Use a preset: "depth" is relative and averages ten
    models, because a model of one short text varies much by chance; "topictiling" is the published algorithm, intended
    for use with a ``model``; "coarse" is for real text, with few long topics (benchmarks/CUTS.md).

    Departs from the specification by default: cuts move to the layout (``layout_weight``, ``outline``), sentences end
    where blocks do (``markup``), and texts over ``max_units`` are segmented in windows. ``preset="published"`` sets
    this back. Departs from TopicTiling: topics of the document itself; stemming and stop words; deterministic inference
    for each sentence; the outermost gaps may be boundaries; a flat valley is cut in its middle. The cutoff at
    mean - std / 2 is the paper's; the published code subtracts half the *variance*.

    Riedl & Biemann 2012, "TopicTiling: A Text Segmentation Algorithm based on LDA", ACL Student Research Workshop;
    Blei, Ng & Jordan 2003, "Latent Dirichlet Allocation", JMLR 3; Lin 1991, IEEE Trans. Information Theory 37(1).

    Parameters
    ----------
    num_topics : number of topics of a document (or window), 2..10,000; a ``model`` has its own. Memory grows with it.
    block_size : number of sentences compared on each side of a gap, >= 1; fewer at the ends of the text.
    divergence_threshold : divergence in bits above which a gap is a boundary with ``rule="threshold"``, 0..1.
    rule : rule for boundaries, "threshold" or "depth".
    cutoff_z : standard deviations above the mean (may be < 0) that the depth of a boundary has with ``rule="depth"``.
    n_segments : number of segments, >= 1, before those over ``max_tokens`` are cut; the deepest valleys are cut,
        regardless of the rule, and there are fewer segments if there are fewer valleys.
    measure : score of a gap: "divergence", or TopicTiling's "cosine": 1 - cosine of the counts of most likely topics.
    samples : number of models with consecutive seeds, 1..100, whose divergences are averaged; time grows with it.
    iterations : number of passes of the sampler over a document's words, >= 4.
    tolerance : maximum rise of the likelihood in the last quarter of the iterations, in nats per word, > 0; beyond it,
        `NotConverged` is raised and the fallback takes over. None is unlimited (see `topics.train`).
    seed : seed of the first model, 0..2^32 - 1; see `topics.train` for what else the topics depend on.
    preset : "published", "depth", "topictiling" or "coarse".
    """

    algorithm: ClassVar[str] = "lda-topic"
    presets: ClassVar[Mapping[str, Mapping[str, Any]]] = {
        "published": {**AS_PUBLISHED, "max_units": None},
        "depth": {"num_topics": 10, "block_size": 4, "rule": "depth", "samples": 10},
        "topictiling": {"num_topics": 100, "block_size": 2, "rule": "depth", "measure": "cosine"},
        "coarse": {"num_topics": 10, "block_size": 40, "rule": "depth", "cutoff_z": 2.0, "samples": 3},
    }

    num_topics: Annotated[int, Bounds(2, 10_000)] = 50
    block_size: Annotated[int, Bounds(1)] = 10
    divergence_threshold: Annotated[float, Bounds(0, 1)] = 0.3
    rule: Literal["threshold", "depth"] = "threshold"
    cutoff_z: float = -0.5
    n_segments: Annotated[int | None, Bounds(1)] = None
    measure: Literal["divergence", "cosine"] = "divergence"
    samples: Annotated[int, Bounds(1, 100)] = 1
    iterations: Annotated[int, Bounds(4)] = 200
    tolerance: Annotated[float | None, Bounds(0, open=True)] = None
    seed: Annotated[int, Bounds(0)] = 0
    preset: Literal["published", "depth", "topictiling", "coarse"] | None = None

    def check(self) -> None:
        """Check seeds too."""
        super().check()
        require(self.seed + self.samples <= 2**32, "seed + samples must be at most 2^32", self.seed + self.samples)


@dataclass(kw_only=True)
class LDATopicChunker(LDATopicParams, ExperimentalChunker, WindowedLexicalChunker):
    """Cut where the topic distributions before and after a gap differ most (`LDATopicParams`).

    Parameters
    ----------
    model : topics of a collection, from `TopicModel.fit`; None learns those of each document.

    >>> text = "Cats purr. A cat naps. A cat purrs. Stocks fell. Sell stocks that fell. Stocks fell."
    >>> [chunk.text for chunk in LDATopicChunker(preset="depth", num_topics=2, n_segments=2).chunk(text)]
    ['Cats purr. A cat naps. A cat purrs. ', 'Stocks fell. Sell stocks that fell. Stocks fell.']
    """

    model: TopicModel | None = field(default=None, repr=False, metadata=RESOURCE)

    def check(self) -> None:
        """Check ``model`` too."""
        super().check()
        if self.model is not None:
            require(isinstance(self.model, TopicModel), "model must be a TopicModel or None", self.model)
            rule = f"words must be normalized as the model's: {self.model.wording}"
            language = self.model.wording.language if self.language == AUTO else self.language
            require(self.model.wording == replace(self.wording, language=language), rule, self.wording)

    def language_for(self, document: Document) -> str:
        """Return the language of ``model`` if there is one."""
        return super().language_for(document) if self.model is None else self.model.wording.language

    def load(self) -> None:
        """Load the sampler too, unless there is a model."""
        super().load()
        if self.model is None:
            topics.sampler()

    def terms(self, texts: Sequence[str]) -> Terms:
        """Return the normalized words of each text, restricted to the vocabulary of ``model`` if there is one."""
        return super().terms(texts) if self.model is None else self.model.terms(texts, self.word_splitter)

    def segment_terms(self, units: Units, words: Terms, limits: Limits) -> Segmentation:
        """Compare the topics on both sides of each gap, and cut where they differ most."""
        options: Any = {"num_topics": self.num_topics, "iterations": self.iterations, "tolerance": self.tolerance}
        trained = (topics.train(words, seed=self.seed + sample, **options) for sample in range(self.samples))
        models = [self.model.topics] if self.model else trained
        gaps = np.array([self._divergence(model, words) for model in models]).mean(axis=0).round(_DECIMALS)
        peaks, depth, threshold = self._select(gaps)
        cuts = cutting.cuts_at(peaks + 1, len(units))
        figures = {"divergence": gaps, "depth": depth, "threshold": threshold}
        least = None if self.rule == "depth" or self.n_segments is not None else threshold
        return Segmentation(cuts, reason="topic", gaps=gaps, threshold=least, figures=figures)

    def _divergence(self, model: Topics, words: Terms) -> Floats:
        """Return the difference of the topics before and after each gap: (n - 1,), 0..1."""
        expected, likeliest = model.infer(words)
        if self.measure == "divergence":
            counts = signals.window_sums(expected, self.block_size)
            return signals.jensen_shannon(*(part + model.prior for part in counts))
        before, after = signals.window_sums(likeliest, self.block_size)
        cosine = np.einsum("ij,ij->i", signals.unit_rows(before), signals.unit_rows(after))
        return np.where(before.any(axis=1) & after.any(axis=1), 1 - cosine, 0.0)  # no evidence

    def _select(self, divergence: Floats) -> tuple[Ints, Floats, float]:
        """Return the peaks that are boundaries, the depth of each gap, and the threshold of the rule."""
        depth, threshold = signals.depth_scores(-divergence), self.divergence_threshold
        if self.n_segments is None and self.rule == "threshold":
            return cutting.find_peaks(divergence, threshold), depth, threshold
        peaks = cutting.find_peaks(divergence, 0.0)
        deep = depth[peaks]
        if self.n_segments is not None:
            order = np.argsort(-deep, kind="stable")[: self.n_segments - 1]
            return np.sort(peaks[order]), depth, float(deep[order].min(initial=np.inf))
        threshold = signals.cutoff(deep, self.cutoff_z)
        return peaks[deep >= threshold], depth, threshold
