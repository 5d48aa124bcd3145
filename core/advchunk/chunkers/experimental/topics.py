"""Topic models (LDA): training on a collection of texts, and inference of the topics of new texts."""

import warnings
from collections.abc import Iterable
from dataclasses import dataclass, replace
from functools import cache
from hashlib import sha256
from itertools import pairwise
from typing import Any

import numpy as np

from advchunk.errors import NotConverged, import_extra, require
from advchunk.records import Document, Floats, Ints
from advchunk.text.detection import AUTO
from advchunk.text.terms import Terms, Wording, WordSplitter, language_of_all

_TOLERANCE = 1e-3  # change of a probability below which inference stops
_MAX_ROUNDS = 100  # of inference; a word that is still undecided then has equally likely topics


@dataclass(frozen=True, slots=True, eq=False)
class Topics:
    """K topics over V words."""

    shares: Floats  # (K, V) the probability of each word in each topic, float32
    prior: Floats  # (K,) the Dirichlet parameter of a text's topics, > 0

    def infer(self, words: Terms) -> tuple[Floats, Floats]:
        """Return the expected words of each topic in each unit, and the number of words likeliest in it, both (n, K).

        CVB0 with fixed topics (Asuncion, Welling, Smyth & Teh 2009, "On Smoothing and Inference for Topic Models", UAI,
        section 2.4), each unit a separate text. The rows of both arrays sum to the words of the unit.
        """
        from scipy.sparse import csr_array

        counts = words.counts()
        unit = np.repeat(np.arange(len(words)), np.diff(counts.indptr))
        total = csr_array((counts.data, np.arange(counts.nnz), counts.indptr), shape=(len(words), counts.nnz))
        share = self.shares[:, counts.indices].T  # a row for each distinct word of a unit
        topics, change = _normalize(share * self.prior), np.inf
        for _ in range(_MAX_ROUNDS):
            if change < _TOLERANCE:
                break
            others = np.maximum((total @ topics)[unit] - topics, 0)  # rounding may make it negative
            before, topics = topics, _normalize(share * (self.prior + others))
            change = float(np.abs(topics - before).max(initial=0))
        likeliest = np.eye(len(self.prior))[topics.argmax(axis=1)]
        return np.asarray(total @ topics), np.asarray(total @ likeliest)


@dataclass(frozen=True, slots=True, eq=False)
class TopicModel:
    """The topics of a collection of texts, their vocabulary, and the normalization of its words, created by `fit`.

    Inference needs numpy and scipy alone, and gives the same topics on any machine.

    >>> model = TopicModel.fit(["Cats purr and nap.", "Courts rule.", "A cat naps.", "The court ruled."], num_topics=2)
    >>> model.vocabulary
    ('cat', 'purr', 'nap', 'court', 'rule')
    """

    topics: Topics
    vocabulary: tuple[str, ...]
    wording: Wording

    @classmethod
    def fit(
        cls,
        texts: Iterable[str | Document],
        *,
        num_topics: int = 50,
        iterations: int = 200,
        seed: int = 0,
        tolerance: float | None = None,
        wording: Wording | None = None,
        word_splitter: WordSplitter | None = None,
    ) -> "TopicModel":
        """Train on a collection of texts. Long texts on several subjects are better split first.

        With the language "auto", it is that of most texts. The ``word_splitter`` is not saved, so pass it to the
        chunker too. Other parameters and errors: see `train`.
        """
        require(not isinstance(texts, (str, Document)), "texts must be a collection of texts", texts)
        wording = wording or Wording()
        strings: Iterable[str] = (text.text if isinstance(text, Document) else text for text in texts)
        if wording.language == AUTO:
            strings = list(strings)
            wording = replace(wording, language=language_of_all(strings))
        words, forms = wording.encode(strings, word_splitter)
        used, ids = np.unique(words.ids, return_inverse=True)
        require(len(used) > 0, "texts must have words that are not stop words", "none")
        words = Terms(ids, words.edges, len(used))
        topics = train(words, num_topics=num_topics, iterations=iterations, seed=seed, tolerance=tolerance)
        return cls(topics, tuple(forms[i] for i in used), wording)

    @property
    def model_name(self) -> str:
        """A digest of the model, for fingerprints."""
        arrays = (np.ascontiguousarray(array).tobytes() for array in (self.topics.shares, self.topics.prior))
        return sha256(b"".join([repr((self.wording, self.vocabulary)).encode(), *arrays])).hexdigest()[:16]

    def terms(self, texts: Iterable[str], split: WordSplitter | None = None) -> Terms:
        """Return the terms of texts as indices into the vocabulary, without words that are not in it."""
        words, forms = self.wording.encode(texts, split)
        number = {form: i for i, form in enumerate(self.vocabulary)}
        ids: Ints = np.array([number.get(form, -1) for form in forms], dtype=np.int64)[words.ids]
        edges = np.r_[0, np.cumsum(ids >= 0)][words.edges]
        return Terms(ids[ids >= 0], edges, len(self.vocabulary))


@cache
def sampler() -> Any:
    """Return tomotopy, or raise `MissingExtra`."""
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", DeprecationWarning)  # as an error it would look like a missing library
        return import_extra("tomotopy", "lda")


def train(words: Terms, *, num_topics: int, iterations: int, seed: int, tolerance: float | None) -> Topics:
    """Train topics on units, each a separate text, by collapsed Gibbs sampling (Griffiths & Steyvers 2004).

    ``num_topics`` is 2..10,000, ``iterations`` (passes over all words) >= 4, ``seed`` 0..2^32 - 1; at least one word in
    all. ``tolerance`` is the maximum rise of the likelihood over the last quarter of the passes, in nats per word, > 0;
    None is unlimited. Chance alone moves it by 0.3 in a text of 70 sentences, and by 1 in one of ten words. Raises
    `NotConverged` if the topics have not converged or the likelihood is not finite, `MissingExtra`.

    The same seed gives the same topics in any process, but processors with other vector instructions round sums
    differently; set ``TOMOTOPY_ISA=sse2`` for the same result on all x86 processors.
    """
    # On some of these tomotopy would crash.
    require(2 <= num_topics <= 10_000, "num_topics must be in 2..10,000", num_topics)
    require(iterations >= 4, "iterations must be >= 4", iterations)
    require(0 <= seed < 2**32, "seed must be in 0..2^32 - 1", seed)
    require(tolerance is None or tolerance > 0, "tolerance must be > 0 or None", tolerance)
    model = sampler().LDAModel(k=num_topics, seed=seed)
    numbers = list(map(str, words.ids.tolist()))  # not the words: tomotopy rejects lone surrogates
    for start, end in pairwise(words.edges.tolist()):
        if start < end:
            model.add_doc(numbers[start:end])
    likelihoods = list[float]()
    for passes in np.diff(np.arange(5) * iterations // 4).tolist():
        for _ in range(passes):  # it holds the GIL: a timeout takes effect between passes
            model.train(1, workers=1)  # with several workers the seed does not determine the result
        likelihoods.append(model.ll_per_word)
    rise = likelihoods[-1] - likelihoods[-2]
    if not (np.isfinite(rise) and (tolerance is None or rise <= tolerance)):
        msg = f"topics did not converge in {iterations} iterations: the last quarter adds {rise:.3g} nats a word"
        raise NotConverged(msg)
    shares = np.zeros((num_topics, words.size), dtype=np.float32)
    used = list(map(int, model.used_vocabs))
    shares[:, used] = [model.get_topic_word_dist(topic) for topic in range(num_topics)]
    return Topics(shares, np.asarray(model.alpha, dtype=np.float64))


def _normalize(weights: Floats) -> Floats:
    return np.asarray(weights / weights.sum(axis=1, keepdims=True))
