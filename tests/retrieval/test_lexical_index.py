# ruff: noqa: RUF001 - the forms of letters are the subject here
import subprocess
import sys
from concurrent.futures import ThreadPoolExecutor
from math import log
from textwrap import dedent
from unicodedata import category

import pytest
from hypothesis import given
from hypothesis import strategies as st

from advchunk.retrieval import LexicalIndex
from advchunk.text.search_terms import query_terms, split_words, term_counts
from growing import check_growth
from servers import LONG

WORDS = st.lists(st.sampled_from(["tea", "rum", "boat", "sail", "x42", "7"]), max_size=8).map(" ".join)


def slow_bm25(texts, query, k1=1.5, b=0.75):
    """Robertson and Zaragoza's formula, with Lucene's idf."""
    counted = [term_counts(text) for text in texts]
    mean = sum(length for _, length in counted) / len(counted)
    scores = []
    for counts, length in counted:
        score = 0.0
        for term, weight in query_terms(query).items():
            df = sum(term in other for other, _ in counted)
            if tf := counts[term]:
                idf = log(1 + (len(counted) - df + 0.5) / (df + 0.5))
                score += weight * idf * tf / (tf + k1 * (1 - b + b * length / mean))
        scores.append(score)
    return scores


@given(st.lists(WORDS, min_size=1, max_size=8), WORDS)
def test_scores_are_those_of_the_formula(texts, query):
    assert LexicalIndex(texts).scores(query) == pytest.approx(slow_bm25(texts, query), rel=1e-12)


@given(st.text("ab-'“”—…‐‑ .#+é", max_size=12))
def test_marks_beyond_ascii_divide_words_as_others_do(text):
    alike = text.translate({ord(mark): ";" for mark in "“”—…"} | {ord(hyphen): "-" for hyphen in "‐‑"})
    assert split_words(text) == split_words(alike)


def test_numbers_of_all_scripts_are_words():
    assert [
        char for char in map(chr, range(sys.maxunicode)) if category(char)[0] == "N" and not split_words(char)
    ] == []


def test_stems_numbers_and_identifiers_are_found_and_stop_words_are_not():
    index = LexicalIndex(["He sailed in 1987.", "The GPT-4 model", "It was not."])
    assert index.search("sailing").chunks.tolist() == [0]
    assert index.search("1987").chunks.tolist() == [0]
    assert index.search("gpt 4").chunks.tolist() == [1]
    assert index.search("the model it was not").chunks.tolist() == [1]
    assert index.search("was it not").chunks.tolist() == [2]  # without other words, they count


@pytest.mark.parametrize(
    ("text", "query"),
    [
        ("Die Häuser standen leer.", "Haus"),
        ("Ein Donaudampfschiff legt ab.", "Dampfschiff"),
        ("Sve kuće su stare.", "kuća"),
        ("모든 사람은 교육을 받을 권리가 있다.", "교육"),
        ("לכל אדם יש הזכות לחינוך", "חינוך"),
        ("لكل شخص الحق في التعليم", "تعليم"),
        ("Każdy ma prawo do własności.", "własność"),
        ("Кожна людина має право на освіту.", "освіта"),
        ("今天的天气预报", "天气"),
        ("水は大切です。", "水"),
        ("ทุกคนมีสิทธิในการศึกษา", "ศึกษา"),
        ("Rufen Sie ＡＢＣ１２３ an.", "abc123"),
        ("ﾃｽﾄを行う", "テスト"),
        ("The cafe\u0301 is open.", "café"),
        ("İSTANBUL", "istanbul"),
        ("Written in C++.", "C++"),
        ("Written in C#.", "c#"),
        ("Runs on .NET only.", ".net"),
        ("Send an e-mail.", "email"),
        ("Send an email.", "e-mail"),
        ("Call getUserName first.", "user name"),
        ("A soft\u00adhyphen.", "softhyphen"),
        ("The treaty¹² holds.", "treaty"),
    ],
)
def test_words_are_found_in_every_language_and_form(text, query):
    others = ["Nobody answers.", "Там холодно.", "Vse je mirno.", "駅まで歩く。", "บ้านเล็ก", "Written in C.", "net"]
    assert LexicalIndex([*others, text]).search(query).chunks.tolist()[0] == len(others)


@pytest.mark.parametrize("texts", [[], [""], ["the"], ["", "tea", "\ud800"]])
def test_nothing_to_find(texts):
    index = LexicalIndex(texts)
    assert "no text has a word of it" in index.search("rum \ud800").reason
    assert index.search("").reason == "nothing is found for '': it has no word"


def test_later_texts_do_not_change_an_index_that_holds_others():
    index = LexicalIndex()
    first = index.joined(index.encode(["Green tea."]))
    assert first.search("tea").chunks.tolist() == [0]
    second = index.joined(index.encode(["Rum.", "Old tea."]))
    assert second.search("old").chunks.tolist() == [1]
    assert not len(first.search("old rum"))


def test_scores_do_not_depend_on_earlier_queries():
    texts = ["The user", "Nobody"] * 1100  # too many for a piece, such as that of "getUser", but not for a word
    index = LexicalIndex(texts)
    index.scores("getUser")
    assert index.scores("user").tolist() == LexicalIndex(texts).scores("user").tolist()


def test_indexing_takes_time_in_proportion_to_the_texts():
    def make(count):
        return [f"tea {i % 997} rum {i % 89} boat sails w{i}" for i in range(count)]

    check_growth(lambda texts: LexicalIndex(texts).search("tea 7"), make, 4000)


def test_the_first_search_may_be_in_many_threads_and_a_forked_process_searches():
    program = """
        import os
        from concurrent.futures import ThreadPoolExecutor
        from threading import Barrier
        from advchunk.retrieval import LexicalIndex
        barrier = Barrier(32)
        def search(number):
            barrier.wait()
            return LexicalIndex(["Tea is hot.", f"Rum {number}"]).scores(f"hot rum {number}").all()
        with ThreadPoolExecutor(32) as pool:
            assert all(pool.map(search, range(32)))
        barrier = Barrier(1)
        child = os.fork() if hasattr(os, "fork") else 0
        assert search(0)
        assert not child or os.waitpid(child, 0)[1] == 0
    """
    subprocess.run([sys.executable, "-c", dedent(program)], check=True, timeout=LONG)


def test_threads_that_search_and_learn_words_at_once_agree():
    index = LexicalIndex()
    texts = [[f"word{i} word{i + n}" for i in range(200)] for n in range(8)]
    with ThreadPoolExecutor(8) as pool:
        encoded = list(pool.map(index.encode, texts))
    for own, words in zip(texts, encoded, strict=True):
        assert index.joined(words).scores("word7 word12") == pytest.approx(LexicalIndex(own).scores("word7 word12"))
