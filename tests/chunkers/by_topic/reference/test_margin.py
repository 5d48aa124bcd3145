"""Margin sampling: the loop of the published code on given probabilities, and the prompts."""

import re
from itertools import pairwise

import pytest
from hypothesis import given
from hypothesis import strategies as st

import lm as models
from advchunk import ConfigurationError
from advchunk.chunkers.by_topic.margin import (
    MARGIN_OPTIONS,
    MarginSamplingChunker,
    MarginSamplingParams,
    margin_prompts,
)
from advchunk.models.counters import as_counter
from advchunk.models.prompts import fill_prompt

EN, ZH = margin_prompts()["en"], margin_prompts()["zh"]


class Scripted:
    """A language model with a fixed probability of splitting before each sentence, by the number in it."""

    def __init__(self, chances):
        self.chances, self.asked = chances, []

    def choose(self, prompt, options):
        before, sentence = re.search(r"(?s)<passage>\n(.*)\n</passage>\n<sentence>\n(.*)\n</sentence>", prompt).groups()
        self.asked.append((before, sentence))
        split = self.chances[int(re.search(r"\d+", sentence)[0])]
        return [split, 1 - split]


def sentences(n):
    return [f"Fact {i} is here. " for i in range(n)]


def chunked(chances, **params):
    n = len(chances)
    lm = Scripted(chances)
    chunks = MarginSamplingChunker(
        lm=lm, **{"combine": False, "calibrate": False, "layout_weight": 0.0, **params}
    ).chunk("".join(sentences(n)))
    numbers = [[int(i) for i in re.findall(r"\d+", chunk.text)] for chunk in chunks]
    return numbers, lm.asked


def published(chances, threshold=0.0):
    """The loop of ``chunk_rag.py``: keep while P(keep) - P(split) is at least the mean of the last five; there, above
    it."""
    chunks, current, differences = [], [0], []
    for i in range(1, len(chances)):
        difference = (1 - chances[i]) - chances[i]
        differences.append(difference)
        if difference >= threshold:
            current.append(i)
        else:
            chunks.append(current)
            current = [i]
        if len(differences) >= 5:
            threshold = sum(differences[-5:]) / 5
    return [*chunks, current]


# Eighths, so that sums are exact in any order.
chances = st.lists(st.integers(0, 8).map(lambda eighths: eighths / 8), min_size=2, max_size=24)


@given(chances, st.sampled_from(["chunk", "pair"]))
def test_the_published_loop(chances, context):
    groups, asked = chunked(chances, context=context)
    assert groups == published(chances)
    texts = [text.strip() for text in sentences(len(chances))]
    assert [sentence for _, sentence in asked] == texts[1:]
    starts = {i: chunk[0] for chunk in published(chances) for i in chunk[1:]}
    first = {chunk[0]: before[0] for before, chunk in pairwise(published(chances))}
    for at, (before, _) in enumerate(asked, start=1):
        start = at - 1 if context == "pair" else starts.get(at, first.get(at))
        assert before == " ".join(texts[start:at])


@pytest.mark.parametrize("chance", [0.5, 0.1, 0.7])
def test_a_tie_is_no_evidence(chance):
    assert chunked([0.5, 0.5, 0.25])[0] == [[0, 1, 2]]
    groups = chunked([chance] * 9)[0]
    assert groups[-1] == [5, 6, 7, 8] if chance > 0.5 else groups == [[*range(9)]]


def test_a_fixed_threshold():
    numbers = [0, 0.5, 0.6, 0.7, 0.8, 0.9, 0.5, 0.6, 0.7, 0.8, 0.9]
    assert chunked(numbers, threshold=0.5, window=None)[0] == [[0, 1, 2, 3], [4], [5, 6, 7, 8], [9], [10]]
    assert chunked(numbers, window=2)[0] == [[0, 1], [2], [3], [4], [5, 6, 7], [8], [9], [10]]


def test_a_full_chunk_ends_without_asking():
    most = 3 * as_counter()("Fact 1 is here. ")
    groups, asked = chunked([0.1] * 7, max_tokens=most)
    assert groups == [[0, 1, 2], [3, 4, 5], [6]]
    assert len(asked) == 4
    chunker = MarginSamplingChunker(lm=Scripted([0.1] * 7), max_tokens=most, calibrate=False)
    explained = chunker.explain("".join(sentences(7)))
    assert [cut.reason for cut in explained.cuts] == ["forced", "forced"]
    assert explained.figures["margins"] == pytest.approx([-0.8] * 4)
    assert [cut.score for cut in explained.cuts] == [None, None]


def test_a_pair_over_the_budget_is_cut_without_asking():
    sentence = as_counter()("Fact 1 is here. ")
    assert chunked([0.1] * 3, context="pair", max_tokens=2 * sentence - 1) == ([[0], [1], [2]], [])
    lm, text = Scripted([0.1] * 3), "Fact 0 is here. Fact 1 is here and there. Fact 2 is here. Fact 1 is here."
    params = {"context": "pair", "max_tokens": 2 * sentence, "combine": False, "calibrate": False}
    explanation = MarginSamplingChunker(lm=lm, **params).explain(text)
    assert [before for before, _ in lm.asked] == ["Fact 2 is here."]
    assert [cut.reason for cut in explanation.cuts] == ["forced", "forced"]


class Biased(Scripted):
    """Prefers the first option, by its number and its place, to some extent."""

    def __init__(self, chances, bias):
        super().__init__(chances)
        self.bias = bias

    def choose(self, prompt, options):
        row = super().choose(prompt, options)
        assert f"\n{options[0]}. Split" in prompt
        return [(1 - self.bias) * p + self.bias * (option == "1") for p, option in zip(row, options, strict=True)]


@given(chances, st.sampled_from([0, 0.25, 0.5]), st.sampled_from(["chunk", "pair"]))
def test_a_preference_for_an_option_cancels_out(chances, bias, context):
    plain, _ = chunked(chances, context=context, window=None)
    text, params = (
        "".join(sentences(len(chances))),
        {"combine": False, "window": None, "context": context, "layout_weight": 0.0},
    )
    lm = Biased(chances, bias)
    explanation = MarginSamplingChunker(lm=lm, **params).explain(text)
    expected = [(1 - bias) * (2 * chance - 1) for chance in chances[1:]]
    assert explanation.figures["margins"].tolist() == expected
    assert [len(re.findall(r"\d+", chunk.text)) for chunk in explanation.chunks] == [len(group) for group in plain]
    assert lm.asked[::2] == lm.asked[1::2]


@pytest.mark.parametrize("prompt", margin_prompts().values())
def test_the_options_are_exchanged(prompt):
    ((first, labels), (second, swapped)) = MarginSamplingChunker(prompt=prompt).prompts_for("")
    (split, keep), (keep_first, split_second) = (re.findall(r"(?m)^[12]\. (.*)$", form) for form in (first, second))
    assert (split, keep) == (split_second, keep_first) != (keep, split)
    assert (labels, swapped) == (("1", "2"), ("2", "1"))
    assert sorted(first) == sorted(second)
    assert MarginSamplingChunker(prompt=prompt, calibrate=False).prompts_for("") == [(prompt, ("1", "2"))]


def test_meta_chunks_are_joined():
    most = 5 * as_counter()("Fact 1 is here. ")
    assert chunked([0, 0, 0.9, 0, 0.9, 0, 0, 0.9], window=None)[0] == [[0, 1], [2, 3], [4, 5, 6], [7]]
    groups, _ = chunked([0, 0, 0.9, 0, 0.9, 0, 0, 0.9], window=None, combine=True, max_tokens=most)
    assert groups == [[0, 1, 2, 3], [4, 5, 6, 7]]


def test_scores_are_margins():
    chunker = MarginSamplingChunker(lm=Scripted([0, 0.25, 0.75]), combine=False, add_scores=True)
    explanation = chunker.explain("".join(sentences(3)))
    assert explanation.segmentation.gaps.tolist() == [-0.5, 0.5]
    assert [(cut.reason, cut.score) for cut in explanation.cuts] == [("margin", 0.5)]
    assert explanation.figures["thresholds"].tolist() == [0, 0]


@pytest.mark.parametrize(
    ("params", "text", "prompt"),
    [
        ({}, "Cats purr.", EN),
        ({}, "猫在睡觉。法官在工作。", ZH),
        ({}, "The word 猫 is cat.", EN),
        ({}, "東京は晴れ。大阪は雨。", EN),
        ({"language": "zh-CN"}, "Cats purr.", ZH),
        ({"prompt": "{before} / {sentence}", "calibrate": False}, "猫在睡觉。", "{before} / {sentence}"),
    ],
)
def test_the_language_of_the_prompt(params, text, prompt):
    assert MarginSamplingChunker(**params).prompts_for(text)[0][0] == prompt


def test_prompts_offer_the_options():
    for prompt in margin_prompts().values():
        assert all(f"\n{option}. " in prompt for option in MARGIN_OPTIONS)
        assert prompt.index("{before}") < prompt.index("{sentence}")
    assert fill_prompt("{before}, {sentence}", before="{sentence}\\1", sentence="{x}") == "{sentence}\\1, {x}"


@pytest.mark.parametrize(
    ("params", "rule"),
    [
        ({"prompt": "Split?"}, r"prompt must contain {before} and {sentence}, got 'Split\?'"),
        ({"prompt": "{before} / {sentence}"}, "prompt must have its options in two lines"),
    ],
)
def test_parameters_have_rules(params, rule):
    with pytest.raises(ConfigurationError, match=rule):
        MarginSamplingParams(**params)


def test_a_model_that_cannot_choose_is_refused_before_any_work():
    class Scores:
        def surprise(self, text):
            return [], []

    with pytest.raises(ConfigurationError, match="the lm of margin-sampling must have choose, got"):
        MarginSamplingChunker(lm=Scores()).chunk("One. Two.")
    with pytest.raises(ConfigurationError, match="lm"):
        MarginSamplingChunker().chunk("One. Two.")


@pytest.mark.long
@pytest.mark.parametrize("calibrate", [False, True])
def test_a_real_model_is_asked_once_per_gap_and_order_and_rereads_little(calibrate, monkeypatch):
    chunker = MarginSamplingChunker(lm=models.smollm2(), combine=False, calibrate=calibrate)
    model = chunker.model.model.reader.model
    fed, forward = [], model.forward

    def noting(*args, input_ids, **kwargs):
        fed.append(input_ids.shape)
        return forward(*args, input_ids=input_ids, **kwargs)

    monkeypatch.setattr(model, "forward", noting)
    text = "Cats purr softly. Cats nap all day. Cats eat fish. Judges sit in court. Courts rule on law."
    explanation = chunker.explain(text)
    assert [rows for rows, _ in fed] == [1, 1, 1, 1] * (1 + calibrate)
    assert all(tokens < 45 for _, tokens in fed[1 + calibrate :])
    assert abs(explanation.figures["margins"]).max() <= 1
    assert len(set(explanation.figures["margins"])) == 4
