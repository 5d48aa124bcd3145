import json
import subprocess
import sys
from collections import Counter

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from advchunk import ConfigurationError
from advchunk.retrieval import LexicalIndex, SparseWords
from advchunk.text.search_terms import query_terms, term_counts
from growing import check_growth

WORDS = st.lists(st.sampled_from(["tea", "rum", "boat", "sail", "sailing", "x42", "7", "the"]), max_size=8).map(
    " ".join
)
TEXTS = ["Green tea is made of leaves.", "Sailors drank rum.", "Tea and rum, and more rum."]


def dots(words, texts, query):
    """Return the dot product of each text's vector and the query's, as a store computes it."""
    weights = dict(zip(*words.embed_query(query), strict=True))
    vectors = words.embed(texts)
    return [sum(weights.get(i, 0) * value for i, value in zip(*vector, strict=True)) for vector in vectors]


@given(st.lists(WORDS, min_size=1, max_size=8).filter(lambda texts: any(term_counts(text)[1] for text in texts)), WORDS)
def test_dot_products_are_the_scores_of_the_index(texts, query):
    assert dots(SparseWords.of(texts), texts, query) == pytest.approx(LexicalIndex(texts).scores(query), rel=1e-5)


def test_every_language_and_form_of_a_word():
    texts, query = ["Die Häuser standen leer.", "今天的天气预报", "C++ and e-mails"], "Haus 天气 email C++"
    scores = dots(SparseWords.of(texts), texts, query)
    assert scores == pytest.approx(LexicalIndex(texts).scores(query), rel=1e-5)
    assert min(scores) > 0


@given(st.lists(WORDS, max_size=6), st.lists(WORDS, max_size=6), st.data(), WORDS)
def test_adding_and_removing_equals_starting_anew(first, then, data, query):
    words = SparseWords(3)
    words.add(first)
    words.add(then)
    gone = data.draw(st.sets(st.sampled_from(range(len(words))))) if len(words) else set()
    texts = [*first, *then]
    words.remove([texts[i] for i in gone])
    left = [text for i, text in enumerate(texts) if i not in gone]
    anew = SparseWords(3)
    anew.add(left)
    assert len(words) == len(left)
    assert words._frequencies == anew._frequencies
    if left:
        assert words.embed_query(query) == anew.embed_query(query)
    assert words.embed(texts) == anew.embed(texts)  # which the others do not change


@given(st.lists(WORDS, min_size=1, max_size=8), st.integers(1, 4), WORDS)
def test_indices_are_distinct_ascending_and_in_range_even_if_words_share_them(texts, dimensions, query):
    words = SparseWords(3, dimensions=dimensions)
    words.add(texts)
    for indices, values in [*words.embed(texts), words.embed_query(query)]:
        assert indices == sorted(set(indices))
        assert all(0 <= i < dimensions for i in indices)
        assert len(indices) == len(values)
        assert min(values, default=1) > 0


def test_about_as_many_words_share_an_index_as_is_said():
    count, dimensions = 10_000, 1_000_000
    words = SparseWords(1, dimensions=dimensions)
    counts, _ = term_counts(" ".join(f"w{i}" for i in range(count)))
    (vector,) = words.embed([" ".join(f"w{i}" for i in range(count))])
    count = len(counts)
    expected = count**2 / (2 * dimensions)
    assert count - len(vector.indices) == pytest.approx(expected, abs=4 * expected**0.5)


@pytest.mark.slow
def test_indices_are_the_same_in_every_process():
    code = "from advchunk.retrieval import SparseWords; print(list(SparseWords(3).embed(['Green tea 7'])[0]))"
    seeds = ("1", "2")
    printed = {
        subprocess.run(
            [sys.executable, "-c", code],
            env={"PYTHONHASHSEED": seed, "PYTHONPATH": ":".join(sys.path)},
            capture_output=True,
            text=True,
            check=True,
        ).stdout
        for seed in seeds
    }
    assert printed == {f"{list(SparseWords(3).embed(['Green tea 7'])[0])}\n"}
    assert TEA in SparseWords(3).embed(["tea"])[0].indices


TEA = 1099392442  # a change would make stored vectors useless


def test_a_store_that_weights_words_is_given_their_counts():
    words = SparseWords.of(TEXTS, rarity="store")
    weights = dict(zip(*words.embed_query("tea, teas and rum"), strict=True))
    assert sorted(weights.values()) == pytest.approx(sorted(query_terms("tea teas rum").values()))
    assert weights[TEA] == 2.0
    assert words.mean == SparseWords.of(TEXTS).mean
    for change in (words.add, words.remove):
        with pytest.raises(ConfigurationError, match="rarity must be 'texts' to add or remove texts, got 'store'"):
            change(["tea"])


def test_a_new_word_finds_texts_that_are_stored_later():
    words = SparseWords.of(TEXTS)
    later = ["Coffee is roasted.", "Tea."]
    before = words.embed(TEXTS)
    assert np.flatnonzero(dots(words, later, "coffee")).tolist() == [0]
    words.add(later)
    assert words.embed(TEXTS) == before


@pytest.mark.parametrize("texts", [[], [""], ["the", ""]])
def test_texts_without_words(texts):
    words = SparseWords.of(TEXTS)
    assert [len(vector.indices) for vector in words.embed(texts)] == [int(text == "the") for text in texts]
    assert words.embed_query("") == ([], [])
    assert words.embed_query("\ud800") == ([], [])
    with pytest.raises(ConfigurationError, match="texts must have words that are not stop words"):
        SparseWords.of(texts)


def test_other_texts_cannot_be_removed_and_nothing_changes():
    words = SparseWords.of(TEXTS)
    before = Counter(words._frequencies)
    for others in (["tea", "coffee"], ["tea"] * 3, [""] * 4):
        with pytest.raises(ConfigurationError, match="texts must be among those that were added"):
            words.remove(others)
    assert (words._frequencies, len(words)) == (before, 3)


def test_what_is_saved_comes_back(tmp_path):
    for words in (SparseWords.of(TEXTS, dimensions=1000), SparseWords(7.5, rarity="store")):
        words.save(tmp_path / "words.json")
        again = SparseWords.load(tmp_path / "words.json")
        assert again.embed(TEXTS) == words.embed(TEXTS)
        assert again.embed_query("tea rum coffee") == words.embed_query("tea rum coffee")
        assert len(again) == len(words)
    assert [file.name for file in tmp_path.iterdir()] == ["words.json"]


@pytest.mark.parametrize(
    "change",
    [
        lambda stored: stored[:-5],
        lambda _: "[]",
        lambda _: "{}",
        lambda stored: stored.replace("words 2", "words 1"),
        lambda stored: stored.replace('"texts": 3', '"texts": 1'),
        lambda stored: stored.replace('"texts": 3', '"texts": null'),
        lambda stored: json.dumps(json.loads(stored) | {"frequencies": [[1], [1, 2]]}),
        lambda stored: json.dumps(json.loads(stored) | {"frequencies": [[-1], [1]]}),
        lambda stored: json.dumps(json.loads(stored) | {"frequencies": [["1"], [1]]}),
        lambda stored: json.dumps(json.loads(stored) | {"frequencies": [[1], [0.5]]}),
        lambda stored: json.dumps(json.loads(stored) | {"parameters": {"mean": -1}}),
        lambda stored: json.dumps(json.loads(stored) | {"parameters": {"mean": 1, "more": 1}}),
    ],
)
def test_a_damaged_file_is_refused(change, tmp_path):
    path = tmp_path / "words.json"
    SparseWords.of(TEXTS).save(path)
    path.write_text(change(path.read_text()))
    with pytest.raises(
        ConfigurationError, match=r"words\.json does not have sparse words saved by advchunk, or it is damaged"
    ):
        SparseWords.load(path)


def test_it_takes_time_in_proportion_to_the_texts():
    def make(count):
        return [f"tea {i % 997} rum {i % 89} boat sails w{i}" for i in range(count)]

    check_growth(lambda texts: SparseWords.of(texts).embed(texts), make, 4000)
