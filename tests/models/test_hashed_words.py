import asyncio
import pickle
from hashlib import blake2b
from itertools import chain, pairwise
from math import log

import numpy as np
import pytest
from hypothesis import example, given
from hypothesis import strategies as st

from advchunk import ConfigurationError, HybridEmbedder
from advchunk.models.cache import with_cache
from advchunk.models.embedders import as_embedder
from advchunk.models.hashed_words import HashedWords
from advchunk.models.identity import identity
from advchunk.models.static import default_embedder
from advchunk.models.wordpiece import basic_words, default_wordpiece
from advchunk.text.scripts import has_unspaced
from advchunk.text.terms import make_stemmer, stop_words
from growing import check_growth

FRAGMENTS = ["The", "boats", "sailing", "boat", "can't", "über", "Straße", "37°C", "漢字", "かな", "[SEP]", "--", "\x0b", "\ud800", " ", "\n"]  # fmt: skip
some_texts = st.lists(st.lists(st.sampled_from(FRAGMENTS) | st.text(max_size=6), max_size=12).map(" ".join), max_size=5)


def slowly(text: str, dimensions: int, language: str) -> np.ndarray:
    """Return the row of a text, word by word."""
    vocabulary = default_wordpiece().vocabulary
    left_out = {word for entry in stop_words("snowball", language) for word in basic_words(entry)}
    weights: dict[str, float] = {}
    runs = [word if has_unspaced(word) and len(word) > 1 else [word] for word in basic_words(text)]
    pieces = [["".join(pair) for pair in pairwise(run)] if isinstance(run, str) else run for run in runs]
    for word in chain.from_iterable(pieces):
        if word not in left_out and any(char.isalnum() for char in word):
            rank = vocabulary.index(word) + 1 if word in vocabulary else len(vocabulary)
            stem = make_stemmer("snowball", language)(word)
            weights[stem] = weights.get(stem, 0) + log(1 + rank)
    row = np.zeros(dimensions)
    for stem, weight in weights.items():
        digest = blake2b(stem.encode(), digest_size=32).digest()
        for at in range(0, 32, 8):
            number = int.from_bytes(digest[at : at + 8], "little", signed=True)
            row[number // 2 % dimensions] += (1 if number % 2 else -1) * (weight / 4) ** 0.5
    norm = np.linalg.norm(row)
    return row / norm if norm > 1e-5 else 0 * row


@given(some_texts, st.sampled_from([1, 16, 512]), st.sampled_from(["en", "de", "zh"]))
@example(["sailing かな"], 1, "en")  # words that cancel
def test_a_row_is_the_sum_of_its_hashed_stems_scaled_to_length_one(texts, dimensions, language):
    rows = HashedWords(dimensions, language).embed(texts)
    assert rows.shape == (len(texts), dimensions)
    assert rows.dtype == np.float32
    for row, text in zip(rows, texts, strict=True):
        np.testing.assert_allclose(row, slowly(text, dimensions, language), atol=1e-5)


def test_rows_are_the_same_on_every_machine_and_zeros_for_stop_words_and_marks():
    assert not HashedWords().embed(["", "It is so.", "-- !", "\ud800"]).any()
    (row,) = HashedWords(64).embed(["boat"])
    assert {i: row[i].item() for i in np.flatnonzero(row)} == {29: -0.5, 30: 0.5, 43: -0.5, 49: -0.5}


def test_time_is_linear_in_the_text():
    def text(n):
        return [" ".join(f"word{i % 5000} of {i}" for i in range(n))]

    check_growth(HashedWords().embed, text, 4000)


@given(some_texts, st.sampled_from([0.0, 0.3, 1.0]))
def test_a_cosine_is_the_weighted_mean_of_the_cosines_of_meaning_and_of_words(texts, weight):
    hybrid, semantic, words = HybridEmbedder(weight=weight), default_embedder().embed(texts), HashedWords().embed(texts)
    rows = hybrid.embed(texts)
    expected = (1 - weight) * semantic @ semantic.T + weight * words @ words.T
    lengths = np.sqrt(np.diag(expected))[:, None] * np.sqrt(np.diag(expected))
    np.testing.assert_allclose(rows @ rows.T, np.divide(expected, lengths, where=lengths > 0, out=lengths), atol=1e-5)
    assert asyncio.run(hybrid.aembed(texts)).tobytes() == rows.tobytes()


def test_the_hybrid_follows_the_embedder_that_it_wraps():
    class Model:
        model_name, max_tokens, batch_size, tokenizer = "small", 7, 3, len

        def embed(self, texts):
            return [[3.0, 4.0]] * len(texts)

        async def aembed(self, texts):
            return [[4.0, 3.0]] * len(texts)

    hybrid = HybridEmbedder(Model(), dimensions=2, weight=0)
    checked = as_embedder(hybrid)
    assert (checked.max_tokens, checked.batch_size, checked.counter("four")) == (7, 3, 4)
    assert hybrid.model_name == "small + advchunk/hashed-words-2-en, weight 0"
    assert hybrid.embed(["a"]).round(1).tolist() == np.float32([[0.6, 0.8, 0, 0]]).tolist()
    assert asyncio.run(checked.aembed(["a"])).round(1).tolist() == np.float32([[0.8, 0.6, 0, 0]]).tolist()


def test_the_hybrid_by_name():
    embedder = as_embedder("hybrid")
    assert embedder.embed(["A boat."]).tobytes() == HybridEmbedder().embed(["A boat."]).tobytes()
    assert embedder == as_embedder("hybrid")
    assert pickle.loads(pickle.dumps(embedder.model)) is embedder.model
    own = HybridEmbedder(dimensions=8, weight=0.2, language="de")
    assert identity(pickle.loads(pickle.dumps(own))) == identity(own) != identity(embedder.model)
    with pytest.raises(ConfigurationError, match="did you mean 'hybrid'"):
        as_embedder("hybird")


def test_a_cache_keeps_the_vectors_of_a_hybrid_unless_the_embedder_has_no_name():
    stored: dict[str, bytes] = {}
    for n, hybrid in enumerate(
        [HybridEmbedder(dimensions=8), HybridEmbedder(), HybridEmbedder(dimensions=8, weight=0.4)]
    ):
        for _ in range(2):
            with_cache(as_embedder(hybrid), stored).embed(["One.", "Two."])
            assert len(stored) == 2 * n + 2
    with pytest.raises(ConfigurationError, match="a cache needs a model with a model_name"):
        with_cache(as_embedder(HybridEmbedder(lambda texts: [[1.0]] * len(texts))), {})


def test_parameters_out_of_range_are_refused():
    weight = r"weight must be in 0\.\.1, got "
    for name, value, rule in (("weight", -0.1, weight), ("weight", 1.1, weight), ("dimensions", 0, "number >= 1")):
        with pytest.raises(ConfigurationError, match=rule):
            HybridEmbedder(**{name: value})
