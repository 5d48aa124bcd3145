"""Words, stems and stop words."""

import sys
from itertools import pairwise

import pytest
import regex
from hypothesis import example, given
from hypothesis import strategies as st

from advchunk import ConfigurationError, MissingExtra
from advchunk.chunkers.experimental.bayesseg import BayesSegChunker
from advchunk.text.terms import make_stemmer, stop_words, terms_of, word_tokens


@pytest.mark.parametrize(
    ("text", "words"),
    [
        ("Don’t stop the well-known cats' 7 naps.", ["Don't", "stop", "the", "well", "known", "cats", "naps"]),
        ("B12, 3D and H2O in 2020", ["B12", "D", "and", "H2O", "in"]),
        ("naïve cafe\u0301", ["naïve", "cafe\u0301"]),
        ("東京は雨 ok", ["東京", "京は", "は雨", "ok"]),
        ("雨", ["雨"]),
        ("x" * 9 + "ภาษา", ["x" * 9, "ภา", "าษ", "ษา"]),
        ("1 2 3 -- !", []),
        ("", []),
    ],
)
def test_words(text, words):
    assert word_tokens(text) == words


@given(st.text(max_size=40))
@example("\u102b")
@example("๓ ๔๕")
def test_words_are_in_the_text_and_have_letters(text):
    for word in word_tokens(text):
        assert word in text.replace("’", "'")
        assert regex.search(r"\p{L}", word)


def test_stems_and_stop_words_know_languages():
    assert [make_stemmer("snowball", "de")(word) for word in ("häuser", "hauses")] == ["haus", "haus"]
    assert make_stemmer("snowball", "en")("generously") == "generous"
    assert make_stemmer("porter", "en")("generously") == "gener"
    unchanged = [("porter", "de"), ("none", "en"), ("snowball", "hr")]
    assert {make_stemmer(*rule)("katzen") for rule in unchanged} == {"katzen"}
    assert "the" in stop_words("snowball", "en")
    assert "und" in stop_words("snowball", "de")
    assert "system" in stop_words("glasgow", "en") - stop_words("snowball", "en")
    assert stop_words("none", "en") == stop_words("snowball", "hr") == frozenset()


def test_chunker_uses_its_normalization():
    texts = ["The cats nap.", "THE cat naps"]

    def ids(**params):
        return BayesSegChunker(**params).terms(texts).ids.tolist()

    assert ids() == [0, 1, 0, 1] or ids() == [1, 2, 1, 2]
    assert len(set(ids(stemmer="none"))) == 4
    assert len(ids(stop_words="none")) == 6
    assert len(set(ids(stop_words="none", lowercase=False, stemmer="none"))) == 6
    assert len(ids(word_splitter=list, stop_words="none")) == len("".join(texts))
    assert len(BayesSegChunker(language="de").terms(["Die Häuser und das Haus."]).ids) == 2


def test_counts():
    terms = terms_of([["a", "b", "a"], [], ["b"]])
    assert terms.counts().toarray().tolist() == [[2, 1], [0, 0], [0, 1]]


def test_missing_stop_words_raise_an_error_despite_the_fallback(monkeypatch):
    stop_words.cache_clear()
    monkeypatch.setitem(sys.modules, "sklearn.feature_extraction.text", None)
    with pytest.raises(MissingExtra, match=r"advchunk\[cluster\]"):
        BayesSegChunker(stop_words="glasgow").chunk("Cats purr. Courts rule.")


@pytest.mark.parametrize("text", ["1 2 3. 4 5 6.", "The of. And to."])
def test_without_words_there_is_no_boundary(text):
    segmentation = BayesSegChunker(min_segment_tokens=0).explain(text).segmentation
    assert segmentation.cuts.tolist() == [0, 2]
    assert segmentation.reason == "words"


@pytest.mark.parametrize("language", ["EN", "en-US", "en_GB"])
def test_a_language_may_have_a_region(language):
    texts = ["The cats nap.", "The cat naps."]
    assert BayesSegChunker(language=language).terms(texts).ids.tolist() == BayesSegChunker().terms(texts).ids.tolist()


@pytest.mark.parametrize(
    ("params", "rule"),
    [
        ({"language": "English"}, "language must be a code such as"),
        ({"language": ""}, "language must be a code such as"),
        ({"language": "de", "stop_words": "glasgow"}, "stop_words='glasgow' must be for English"),
        ({"language": "de", "stemmer": "porter"}, "stemmer='porter' must be for English"),
    ],
)
def test_unsupported_languages_raise_an_error(params, rule):
    with pytest.raises(ConfigurationError, match=rule):
        BayesSegChunker(**params)


@given(st.lists(st.lists(st.sampled_from(["Cat", "cat", "the", "The", "dog"]))))
def test_terms_are_numbered_in_order_of_appearance(texts):
    numbers, ids = dict[str, int](), list[list[int]]()
    for text in texts:
        numbered = [(word.lower(), numbers.setdefault(word.lower(), len(numbers))) for word in text]
        ids.append([number for word, number in numbered if word != "the"])
    result = terms_of(texts, str.lower, {"the"})
    assert [result.ids[a:b].tolist() for a, b in pairwise(result.edges.tolist())] == ids
    assert result.size == len(numbers)
