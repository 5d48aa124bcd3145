import os
import subprocess
import sys
from math import log
from textwrap import dedent

import numpy as np
import pytest
from bm25s import BM25
from hypothesis import given
from hypothesis import strategies as st

from advchunk import ConfigurationError
from advchunk.retrieval import LexicalIndex
from advchunk.retrieval.lexical_index import bm25, index_terms
from growing import check_growth

WORDS = st.lists(st.sampled_from(["tea", "rum", "boat", "sail", "x42", "7"]), max_size=8).map(" ".join)


def slow_bm25(texts, query, k1=1.5, b=0.75):
    """Robertson and Zaragoza's formula, with Lucene's idf."""
    words = [text.split() for text in texts]
    mean = sum(map(len, words)) / len(words)
    scores = []
    for text in words:
        score = 0.0
        for term in query.split():
            df = sum(term in other for other in words)
            tf = text.count(term)
            if tf:
                idf = log(1 + (len(words) - df + 0.5) / (df + 0.5))
                score += idf * tf / (tf + k1 * (1 - b + b * len(text) / mean))
        scores.append(score)
    return scores


@given(st.lists(WORDS, min_size=1, max_size=8), WORDS)
def test_scores_are_those_of_the_formula(texts, query):
    assert LexicalIndex(texts).scores(query) == pytest.approx(slow_bm25(texts, query), rel=1e-5)


@given(st.lists(WORDS, max_size=6), st.lists(WORDS, max_size=6), st.data(), WORDS)
def test_adding_and_removing_equals_a_new_index(first, then, data, query):
    index = LexicalIndex(first)
    index.search(query)
    index.add(then)
    gone = data.draw(st.sets(st.integers(0, len(index) - 1))) if len(index) else set()
    index.remove(gone)
    left = [text for i, text in enumerate([*first, *then]) if i not in gone]
    assert len(index) == len(left)
    assert index.scores(query) == pytest.approx(LexicalIndex(left).scores(query))


def test_stems_numbers_and_identifiers_are_found_and_stop_words_are_not():
    index = LexicalIndex(["He sailed in 1987.", "The GPT-4 model", "It was not."])
    assert index.search("sailing").chunks.tolist() == [0]
    assert index.search("1987").chunks.tolist() == [0]
    assert index.search("gpt 4").chunks.tolist() == [1]
    assert not len(index.search("was it not the"))


@pytest.mark.parametrize(
    ("language", "text", "query"),
    [
        ("de", "Die Häuser standen leer.", "Haus leer stehend"),
        ("zh", "今天的天气预报", "天气"),
        ("xx", "tea leaves", "leaves"),
    ],
)
def test_languages(language, text, query):
    assert LexicalIndex([text, "other"], language).search(query).chunks.tolist() == [0]


@pytest.mark.parametrize("texts", [[], [""], ["the"], ["", "tea", "\ud800"]])
def test_nothing_to_find(texts):
    index = LexicalIndex(texts)
    assert not len(index.search("rum \ud800"))
    assert not len(index.search(""))


@given(st.lists(WORDS, min_size=1, max_size=8), WORDS)
def test_the_formula_of_files_is_that_of_memory(texts, query):
    terms = index_terms(texts, "en")
    lengths = np.array([len(own) for own in terms])
    scores = np.zeros(len(texts))
    for term in index_terms([query], "en")[0]:
        counts = np.array([own.count(term) for own in terms])
        has = counts > 0
        scores[has] += bm25(counts[has], lengths[has], len(texts), lengths.mean())
    assert scores == pytest.approx(LexicalIndex(texts).scores(query), rel=1e-5)


def test_later_texts_do_not_change_an_index_that_holds_others():
    index = LexicalIndex()
    first = index.holding(index.encode(["Green tea."]))
    assert first.search("tea").chunks.tolist() == [0]
    second = index.holding(index.encode(["Rum.", "Old tea."]))
    assert second.search("old").chunks.tolist() == [1]
    assert not len(first.search("old rum"))


@pytest.mark.parametrize("language", ["German", "", None])
def test_a_language_is_a_code(language):
    with pytest.raises(ConfigurationError, match="language must be a code, such as 'en'"):
        LexicalIndex(language=language)


def test_only_texts_of_the_index_can_be_removed():
    with pytest.raises(ConfigurationError, match=r"texts must be numbers from 0 to 0, got \[1\]"):
        LexicalIndex(["tea"]).remove([0, 1])


def test_texts_are_indexed_once_for_many_searches(monkeypatch):
    built, build = [], BM25.build_index_from_ids
    monkeypatch.setattr(BM25, "build_index_from_ids", lambda *args, **kwargs: built.append(1) or build(*args, **kwargs))
    index = LexicalIndex(["Green tea.", "Rum."])
    for query in ("tea", "rum", "tea"):
        assert len(index.search(query)) == 1
    index.add(["More rum."])
    assert len(index.search("rum")) == 2
    assert len(built) == 2


def test_indexing_takes_time_in_proportion_to_the_texts():
    def make(count):
        return [f"tea {i % 997} rum {i % 89} boat sails w{i}" for i in range(count)]

    check_growth(lambda texts: LexicalIndex(texts).search("tea 7"), make, 4000)


@pytest.mark.parametrize("loaded", [False, True])
def test_a_search_by_words_does_not_start_jax(tmp_path, loaded):
    (tmp_path / "jax").mkdir()
    (tmp_path / "jax" / "__init__.py").touch()
    (tmp_path / "jax" / "lax.py").write_text("raise SystemExit('JAX has started')")
    program = """
        from advchunk.retrieval import LexicalIndex
        assert LexicalIndex(["Tea is hot."]).scores("hot tea").any()
        import jax  # as before
    """
    program = "import jax\n" * loaded + dedent(program)
    environment = {**os.environ, "PYTHONPATH": os.pathsep.join([str(tmp_path), *filter(None, sys.path)])}
    done = subprocess.run(
        [sys.executable, "-c", program], env=environment, capture_output=True, encoding="utf-8", check=False
    )
    assert (done.returncode, done.stderr) == (0, "")
