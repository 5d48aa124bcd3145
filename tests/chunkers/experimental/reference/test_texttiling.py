"""TextTiling: NLTK's gap and depth scores, and slow twins of what is fast."""

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from advchunk.chunkers.numerics import cutting
from advchunk.models import signals
from advchunk.text.terms import terms_of

relaxed = settings(max_examples=300)
sentences = st.lists(st.lists(st.sampled_from("abcdefgh"), max_size=6), min_size=2, max_size=30)
scores = st.lists(st.integers(0, 6).map(lambda x: x / 6), max_size=30).map(np.array)  # with many equal neighbors


@relaxed
@given(scores, st.floats(-0.1, 1), st.integers(0, 6))
def test_peaks_are_taken_from_the_highest_down(gaps, threshold, apart):
    hills = []
    for i, gap in enumerate(gaps):
        if i and gaps[i - 1] == gap:
            continue
        end = next((j for j in range(i, len(gaps)) if gaps[j] != gap), len(gaps))
        if gap > threshold and all(gaps[j] < gap for j in (i - 1, end) if 0 <= j < len(gaps)):
            hills.append((-gap, (i + end - 1) // 2))
    taken = []
    for _, i in sorted(hills):
        if all(abs(i - other) > apart for other in [-1, len(gaps), *taken]):
            taken.append(i)
    assert cutting.find_peaks(gaps, threshold, apart).tolist() == sorted(taken)


WORDS = ["cats", "purr", "judges", "rule", "upon", "appeals", "from", "the", "courts", "and", "taxes", "kittens"]


@pytest.mark.parametrize("block", [1, 2, 5, 10])
@pytest.mark.parametrize("seed", range(5))
def test_gap_scores_and_depths_are_those_of_nltk_s_demo(block, seed):
    from nltk.tokenize import TextTilingTokenizer

    rng = np.random.default_rng(seed)
    sentences = [rng.choice(WORDS, 7).tolist() for _ in range(60)]
    paragraphs = "\n\n".join(" ".join(word for s in sentences[i : i + 6] for word in s) for i in range(0, 60, 6))
    tokenizer = TextTilingTokenizer(w=7, k=block, stopwords=["and", "the", "from"], demo_mode=True)
    gaps, smoothed, depths, _ = tokenizer.tokenize(paragraphs)
    words = terms_of(sentences, left_out={"and", "the", "from"})
    assert signals.block_similarity(words, block).tolist() == gaps
    assert signals.depth_scores(np.array(smoothed))[5:-5].tolist() == depths[5:-5]
    assert signals.running_mean(np.array(gaps), np.ones(3))[1:-1] == pytest.approx(smoothed[1:-1])
