"""Windows that vote for their sentences, compared with a slow, readable twin."""

import math

import numpy as np
from hypothesis import given
from hypothesis import strategies as st

from advchunk.retrieval import WindowScoring
from advchunk.retrieval.evidence import Postings


def slow_scores(scoring, sentences, question, regions, tokens):
    """The rule as the docstring says it: ``sentences`` are lists of terms."""
    n, total = len(sentences), [0.0] * len(sentences)
    asked = [term for term in dict.fromkeys(question) if any(term in sentence for sentence in sentences)]
    for length in scoring.lengths:
        windows = []
        for start in range(n):
            end = start + 1
            while end < n and regions[end] == regions[start] and sum(tokens[start : end + 1]) <= length:
                end += 1
            windows.append((start, end))
        words = [[word for i in range(*window) for word in sentences[i]] for window in windows]
        mean = sum(map(len, words)) / n
        scores = []
        for own in words:
            score = 0.0
            for term in asked:
                frequency = sum(term in sentence for sentence in sentences)
                weight = math.log(1 + (n - frequency + 0.5) / (frequency + 0.5)) * question.count(term)
                norm = scoring.k1 * (1 - scoring.b + scoring.b * len(own) / mean)
                score += weight * own.count(term) / (own.count(term) + norm)
            scores.append(score)
        for i, value in enumerate(slow_soften(scoring, [mean_of(scores, windows, i) for i in range(n)])):
            total[i] += value / len(scoring.lengths)
    return total


def mean_of(scores, windows, i):
    own = [score for score, (start, end) in zip(scores, windows, strict=True) if start <= i < end]
    return sum(own) / len(own)


def slow_soften(scoring, values):
    ranked = sorted(values, reverse=True)
    last = ranked[scoring.depth - 1] if len(ranked) >= scoring.depth else 0.0
    spread = scoring.temperature * (ranked[0] - last)
    kept = [value > 0 and value >= last for value in values]
    return [
        0.0 if not is_kept else 1.0 if spread == 0 else math.exp((value - ranked[0]) / spread)
        for value, is_kept in zip(values, kept, strict=True)
    ]


def slow_support(scoring, evidence, documents, tokens, middles):
    scores = list(evidence)
    for i in range(len(evidence)):
        for j in range(len(evidence)):
            distance = abs(middles[i] - middles[j])
            if documents[i] == documents[j] and 0 < distance <= 3 * scoring.reach:
                scores[i] += scoring.weight * evidence[j] * tokens[j] / 90 * math.exp(-distance / scoring.reach)
    return scores


def postings(sentences, question):
    asked = sorted({term for term in question if any(term in sentence for sentence in sentences)})
    pairs = [(asked.index(t), i) for i, sentence in enumerate(sentences) for t in sentence if t in asked]
    pairs.sort()
    terms, places = np.array(pairs, dtype=np.int64).reshape(-1, 2).T
    return Postings(terms, places, np.array([question.count(t) for t in asked], dtype=np.int64))


@st.composite
def texts(draw):
    n = draw(st.integers(1, 14))
    sentences = draw(st.lists(st.lists(st.integers(0, 5), max_size=6), min_size=n, max_size=n))
    regions = np.cumsum(draw(st.lists(st.booleans(), min_size=n, max_size=n))).tolist()
    tokens = draw(st.lists(st.integers(1, 60), min_size=n, max_size=n))
    question = draw(st.lists(st.integers(0, 6), min_size=1, max_size=5))
    return sentences, regions, tokens, question


@given(texts(), st.sampled_from([WindowScoring(), WindowScoring(lengths=(20, 90), depth=4, k1=0.9, b=0.4)]))
def test_scores_are_those_of_the_slow_twin(text, scoring):
    sentences, regions, tokens, question = text
    words = np.array(list(map(len, sentences)))
    own = postings(sentences, question)
    scores = scoring.score(own, np.array(regions), np.array(tokens), words)
    expected = slow_scores(scoring, sentences, question, regions, tokens) if len(own.terms) else [0.0] * len(sentences)
    # Scores that tie with the last one that is kept may be kept or not.
    if len(sentences) < scoring.depth:
        np.testing.assert_allclose(scores, expected, atol=1e-9)
    assert ((scores >= 0) & (scores <= 1 + 1e-9)).all()


@given(texts(), st.data())
def test_support_is_that_of_the_slow_twin(text, data):
    _, documents, tokens, _ = text
    n = len(tokens)
    evidence = np.array(data.draw(st.lists(st.floats(0, 1), min_size=n, max_size=n)))
    steps = data.draw(st.lists(st.sampled_from([0, 5, 40, 300]), min_size=n, max_size=n))
    middles = np.cumsum(steps).astype(float)
    scoring = WindowScoring(reach=100.0)
    scores = scoring.support(evidence, np.array(documents), np.array(tokens), middles)
    np.testing.assert_allclose(scores, slow_support(scoring, evidence, documents, tokens, middles), atol=1e-9)


def test_only_the_most_telling_words_of_a_long_question_count():
    rng = np.random.default_rng(0)
    sentences = [rng.integers(0, 100, 12).tolist() for _ in range(50)] + [[999]]
    question = [*range(100), 999]
    own = postings(sentences, question).most_telling(len(sentences), 64)
    assert len(own.repeats) == 64
    assert (own.sentences == 50).any()  # the rarest word is kept


def test_a_window_never_crosses_two_regions():
    sentences, tokens = [[1], [2], [1]], np.array([10, 10, 10])
    together, apart = (
        WindowScoring(lengths=(30,)).score(postings(sentences, [1]), np.array(r), tokens, np.ones(3))
        for r in ([0, 0, 0], [0, 1, 2])
    )
    assert together[1] > 0
    assert apart[1] == 0
