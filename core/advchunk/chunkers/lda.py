"""LDA topics: cut where what the text is about changes."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from types import MappingProxyType
from typing import Any, ClassVar, Literal

import numpy as np

from advchunk.chunkers.experimental import ExperimentalChunker
from advchunk.chunkers.lexical import LexicalChunker, LexicalParams
from advchunk.chunkers.params import RESOURCE, at_least
from advchunk.errors import require
from advchunk.models import topics
from advchunk.models.topics import TopicModel, Topics
from advchunk.numerics import search, signals
from advchunk.records import Document, Floats, Ints, Segmentation, Units
from advchunk.sizes import Limits
from advchunk.text.terms import Terms

_DECIMALS = 9  # of a divergence; what is beyond is rounding


@dataclass(kw_only=True)
class LDATopicParams(LexicalParams):
    """Cut where the topics before and after a gap differ most.

    Experimental: its results may change in any release, and `universal-semantic` stands in where it fails.

    Latent Dirichlet allocation finds ``num_topics`` topics in the document, each of whose sentences is a text to it
    (or in a collection, see ``model``), and how many words of each topic a sentence has. The words of up to
    ``block_size`` sentences before a gap are counted by topic, and the prior added: p, of those after it q. The
    divergence of the gap is Jensen and Shannon's, in bits, so from 0 for equal blocks to 1 for disjoint ones:

        m = (p + q) / 2,   JSD = 1/2 sum_k p_k log2(p_k / m_k) + 1/2 sum_k q_k log2(q_k / m_k)

    A boundary is where the divergence is higher than at both neighboring gaps (of equal ones, in their middle), and

    * with ``rule="threshold"``, it exceeds ``divergence_threshold``;
    * with ``rule="depth"``, the similarity 1 - JSD is a valley as deep as others: from the gap one climbs left, and
      right, while it does not fall; the sum of both climbs must be at least mean + cutoff_z std of all valleys'.

    This project's specification gives local *minima* of divergence priority, which contradicts its own threshold: a
    minimum is where topics change least. Maxima are meant, and are what is cut at. What a fixed threshold means
    depends on the number of topics: with the defaults nearly every gap of a short document is above 0.3, so that it
    is a boundary wherever it is a local maximum. Take a preset: "depth" is relative, and averages ten models, since
    a model of one short text owes much to chance; "topictiling" is the published algorithm, and wants a ``model``.

    Departs from TopicTiling: the defaults above, by specification; topics of the document itself; words are stemmed
    and stop words left out; topics are inferred without chance, for each sentence by itself, where it samples windows
    of them; the outermost gaps may be boundaries, too, and a flat valley is cut in its middle rather than at its
    end. The cut-off at mean - std / 2 is the paper's; its code subtracts half of the *variance*.

    Parameters
    ----------
    num_topics : topics of a document, 2..10,000; a ``model`` has its own. Memory is some 50 bytes * topics * distinct words
        of the sentences.
    block_size : sentences before and after a gap whose topics are compared, >= 1; fewer where the text ends.
    divergence_threshold : bits (0..1) above which a gap is a boundary, with ``rule="threshold"``.
    step : sentences from one gap that is looked at to the next, >= 1; 1 is every gap, ``block_size`` the literal
        reading of blocks that follow one another. What is left out is 0 in `Segmentation.gaps`.
    rule : "threshold" or "depth".
    cutoff_z : standard deviations that a boundary's depth may be under the mean (-) or must be over it (+), with
        ``rule="depth"``.
    n_segments : how many segments, >= 1, if that is known: the deepest valleys are cut, whatever the rule. There
        are fewer if there are fewer valleys; those over ``max_tokens`` are then cut further.
    measure : "divergence", or "cosine" for TopicTiling's: one minus the cosine of how many words of the blocks are
        likeliest of each topic.
    samples : models of a document that are trained, each from another seed, >= 1; their divergences are averaged.
    iterations : passes of the sampler over a document's words, >= 4.
    tolerance : nats a word by which the likelihood may still rise in the last quarter of the iterations, > 0; more
        is `NotConverged`, so that the fallback takes over, as it does where the likelihood is no number. None is no
        limit: in a short text chance alone moves it by 0.3 and more (see `topics.train`).
    seed : 0..2^32 - 1, of the first model; `topics.train` says what else the topics depend on.
    preset : "depth" or "topictiling" give other values to those of the parameters above that have their defaults, given or
        not.

    References
    ----------
    Riedl & Biemann 2012, "TopicTiling: A Text Segmentation Algorithm based on LDA", ACL Student Research Workshop;
    Blei, Ng & Jordan 2003, "Latent Dirichlet Allocation", JMLR 3; Lin 1991, "Divergence measures based on the
    Shannon entropy", IEEE Transactions on Information Theory 37(1).
    """

    algorithm: ClassVar[str] = "lda-topic"
    presets: ClassVar[Mapping[str, Mapping[str, Any]]] = MappingProxyType(
        {
            "depth": {"num_topics": 10, "block_size": 4, "rule": "depth", "samples": 10},
            "topictiling": {"num_topics": 100, "block_size": 2, "rule": "depth", "measure": "cosine"},
        }
    )

    num_topics: int = 50
    block_size: int = 10
    divergence_threshold: float = 0.3
    step: int = 1
    rule: Literal["threshold", "depth"] = "threshold"
    cutoff_z: float = -0.5
    n_segments: int | None = None
    measure: Literal["divergence", "cosine"] = "divergence"
    samples: int = 1
    iterations: int = 200
    tolerance: float | None = None
    seed: int = 0
    preset: Literal["depth", "topictiling"] | None = None

    def check(self) -> None:
        """Add the rules for topics, blocks and boundaries."""
        super().check()
        topics.check_training(self.num_topics, self.iterations, self.seed, self.tolerance)
        at_least(1, self, "block_size", "step", "samples", "n_segments")
        after = self.seed + self.samples
        require(after <= 2**32, "seed + samples must be at most 2^32", after)
        rule = "divergence_threshold must be in 0..1 bits"
        require(0 <= self.divergence_threshold <= 1, rule, self.divergence_threshold)


@dataclass(kw_only=True)
class LDATopicChunker(LDATopicParams, ExperimentalChunker, LexicalChunker):
    """Cut where the topics before and after a gap differ most (`LDATopicParams`).

    Parameters
    ----------
    model : topics of a collection, from `fit` or `TopicModel.load`; None finds those of each document.

    >>> text = "Cats purr. A cat naps. A cat purrs. Stocks fell. Sell stocks that fell. Stocks fell."
    >>> [chunk.text for chunk in LDATopicChunker(preset="depth", num_topics=2, n_segments=2).chunk(text)]
    ['Cats purr. A cat naps. A cat purrs. ', 'Stocks fell. Sell stocks that fell. Stocks fell.']
    """

    model: TopicModel | None = field(default=None, repr=False, metadata=RESOURCE)

    def check(self) -> None:
        """Add the rules for ``model``."""
        super().check()
        if self.model is not None:
            require(isinstance(self.model, TopicModel), "model must be a TopicModel or None", self.model)
            rule = f"words must be normalized as the model's: {self.model.wording}"
            require(self.model.wording == self.wording, rule, self.wording)

    def load(self) -> None:
        """Load the sampler too, if it is needed."""
        super().load()
        if self.model is None:
            topics.sampler()

    def fit(self, corpus: Iterable[str | Document]) -> TopicModel:
        """Return the topics of a collection, found with these parameters; give them to chunkers as ``model``."""
        return TopicModel.fit(
            corpus,
            num_topics=self.num_topics,
            iterations=self.iterations,
            seed=self.seed,
            tolerance=self.tolerance,
            wording=self.wording,
            word_splitter=self.word_splitter,
        )

    def terms(self, texts: Sequence[str]) -> Terms:
        """Return the normalized words of each text: those that the model knows, if one is given."""
        return super().terms(texts) if self.model is None else self.model.terms(texts, self.word_splitter)

    def segment_terms(self, units: Units, words: Terms, limits: Limits) -> Segmentation:
        """Compare the topics of the blocks around each gap, and cut where they differ most."""
        models = [self.model.topics] if self.model else (self._trained(words, sample) for sample in range(self.samples))
        divergence = np.array([self._divergence(model, words) for model in models]).mean(axis=0).round(_DECIMALS)
        gaps = np.zeros_like(divergence)
        scored = slice(self.step - 1, None, self.step)
        gaps[scored] = divergence[scored]
        peaks, depth, threshold = self._chosen(divergence[scored])
        figures = {"divergence": divergence, "depth": depth, "threshold": threshold}
        inner = (peaks + 1) * self.step
        return Segmentation(search.cuts_at(inner, len(units)), reason="topic", gaps=gaps, figures=figures)

    def _trained(self, words: Terms, sample: int) -> Topics:
        return topics.train(
            words,
            num_topics=self.num_topics,
            iterations=self.iterations,
            seed=self.seed + sample,
            tolerance=self.tolerance,
        )

    def _divergence(self, model: Topics, words: Terms) -> Floats:
        """Return how much the topics before and after each gap differ: (n - 1,), 0..1."""
        expected, likeliest = model.infer(words)
        if self.measure == "divergence":
            counts = signals.window_sums(expected, self.block_size)
            return signals.jensen_shannon(*(part + model.prior for part in counts))
        before, after = signals.window_sums(likeliest, self.block_size)
        cosine = np.einsum("ij,ij->i", signals.unit_rows(before), signals.unit_rows(after))
        return np.where(before.any(axis=1) & after.any(axis=1), 1 - cosine, 0.0)  # a block without words says nothing

    def _chosen(self, divergence: Floats) -> tuple[Ints, Floats, float]:
        """Return the peaks that are boundaries, the depth of each gap, and the threshold that they are above."""
        depth = signals.depth_scores(-divergence)
        if self.n_segments is None and self.rule == "threshold":
            threshold = self.divergence_threshold
            return search.find_peaks(divergence, threshold), depth, threshold
        peaks = search.find_peaks(divergence, 0.0)
        deep = depth[peaks]
        if self.n_segments is not None:
            order = np.argsort(-deep, kind="stable")[: self.n_segments - 1]
            return np.sort(peaks[order]), depth, float(deep[order].min(initial=np.inf))
        threshold = signals.cutoff(deep, self.cutoff_z)
        return peaks[deep >= threshold], depth, threshold
