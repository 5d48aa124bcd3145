"""Perplexity chunking: minima of both kinds, joined meta-chunks, models and texts."""

import re
from dataclasses import dataclass

import pytest

import lm as models
from advchunk import ConfigurationError, Document, RecursiveChunker
from advchunk.chunkers.by_topic.perplexity import PerplexityChunker
from advchunk.models.causal import as_causal
from advchunk.models.counters import as_counter


@dataclass
class Numbers:
    """A language model for which the surprise of a sentence is the number in it."""

    model_name: str = "numbers"

    def surprise(self, text):
        matches = [(match.end(), float(match[0])) for match in re.finditer(r"\d+(?:\.\d+)?", text)]
        return [end for end, _ in matches], [number for _, number in matches]


def sentences(*numbers):
    return "".join(f"It is {number:g} here. " for number in numbers)


def chunked(*numbers, **params):
    params = {"lm": Numbers(), "combine": False, **params}
    return [
        [float(number) for number in re.findall(r"[\d.]+(?= here)", chunk.text)]
        for chunk in PerplexityChunker(**params).chunk(sentences(*numbers))
    ]


def test_context_counts_when_meta_chunks_are_joined():
    """Otherwise chunks would be too large, and be cut within a meta-chunk."""
    metas = ["5 1", "4 3 2", "6 5", "7 6 5.5", "8"]
    text = sentences(*(float(number) for meta in metas for number in meta.split()))
    document = Document(text, metadata={"title": "Of here and there"})
    of_context = PerplexityChunker(lm=Numbers(), include_context=True).chunk(document)[0].tokens - as_counter()(text)
    assert of_context > 3
    for most in range(as_counter()(sentences(7, 6, 5.5)) + of_context, 70):
        chunks = PerplexityChunker(lm=Numbers(), include_context=True, max_tokens=most).chunk(document)
        assert all(chunk.context and chunk.tokens <= most for chunk in chunks)
        held = [" ".join(re.findall(r"[\d.]+(?= here)", chunk.text)) for chunk in chunks]
        assert all(any(meta in numbers for numbers in held) for meta in metas)


def test_a_percentile_depends_on_the_document_alone():
    numbers = (5, 1, 3, 2, 4, 3, 2, 6, 3, 4, 5)  # drops of 4, 2, 4, 3
    assert len(chunked(*numbers, threshold_percentile=0)) == 5
    assert len(chunked(*numbers, threshold_percentile=50)) == 3
    assert len(chunked(*numbers, threshold_percentile=100)) == 3
    assert len(chunked(1, 2, 3, threshold_percentile=50)) == 1
    chunker = PerplexityChunker(lm=Numbers(), combine=False, threshold_percentile=50)
    others = [sentences(9, 8.9, 9, 8.95, 9)] * 9
    assert chunker.chunk_many([*others, sentences(*numbers)])[-1] == chunker.chunk(sentences(*numbers))


def test_explanation():
    chunker = PerplexityChunker(lm=Numbers(), combine=False, threshold=1, add_scores=True)
    explanation = chunker.explain(sentences(3, 1, 2, 1.5, 4))
    assert explanation.figures["surprise"].tolist() == [3, 1, 2, 1.5, 4]
    assert explanation.figures["threshold"] == 1
    assert explanation.figures["minima"].tolist() == [1, 3]
    assert explanation.segmentation.gaps.tolist() == [0, 2, 0, 2.5]
    assert [(cut.reason, cut.score) for cut in explanation.cuts] == [("minimum", 2.0), ("minimum", 2.5)]
    assert [c.metadata.get("cut_score") for c in explanation.chunks] == [2.0, 2.5, None]


def test_a_missing_language_model_is_an_error_with_a_hint():
    with pytest.raises(ConfigurationError, match=r"lm= is missing: pass .* \(pip install 'advchunk\[transformers\]'\)"):
        PerplexityChunker().chunk("One. Two.")
    with pytest.raises(ConfigurationError, match="lm"):
        PerplexityChunker(lm=3)


def test_a_document_that_the_model_cannot_read_falls_back():
    class Broken(Numbers):
        def surprise(self, text):
            return super().surprise(text) if "9" not in text else ([3], [])

    chunker = PerplexityChunker(lm=Broken(), combine=False, fallback=RecursiveChunker())
    good, bad = chunker.chunk_many([sentences(3, 1, 2), sentences(9, 1, 2)])
    assert len(good) == 2
    assert [(c.text, c.metadata["fallback_from"]) for c in bad] == [(sentences(9, 1, 2), "perplexity")]


@pytest.mark.slow
def test_settings_reach_the_model():
    pair = models.tiny(), models.tokenizer()
    chunker = PerplexityChunker(lm=pair, max_context=50, evict=0.4, measure="perplexity")
    assert chunker.model == as_causal(pair, max_context=50, evict=0.4, measure="perplexity")
    assert chunker.model.model.context == 50


def test_measures_differ_where_few_tokens_rule():
    """The third sentence has tokens of 3 nats and of none: less than 2 in the mean, but more than e^2."""

    class Two:
        def surprise(self, text):
            ends = [match.end() for match in re.finditer(r"\w+", text)]
            return ends, [3.0, 3.0, 2.0, 2.0, 3.0, 0.0, 2.0, 2.0, 3.0, 3.0]

    text = "Ants dig. Bees hum. Cats nap. Dogs run. Eels swim."
    results = [
        PerplexityChunker(lm=Two(), measure=m, combine=False).chunk(text) for m in ("cross-entropy", "perplexity")
    ]
    assert [[c.text for c in chunks] for chunks in results] == [
        ["Ants dig. Bees hum. Cats nap. ", "Dogs run. Eels swim."],
        ["Ants dig. Bees hum. ", "Cats nap. Dogs run. ", "Eels swim."],
    ]


@pytest.mark.slow
def test_a_real_model_finds_a_change_of_topic():
    """To a model of 135M parameters a new topic is a rise of surprise, and the sentence before it is lower."""
    lm = models.smollm2()
    mill = "The mill grinds corn. Its wheel turns when the tide goes out. The miller sleeps when the tide comes in. "
    court = "Quarterly earnings of the software company fell sharply. Shareholders sued the board for damages."
    explanation = PerplexityChunker(lm=lm, combine=False, threshold=1.0).explain(mill + court)
    assert mill in {explanation.document.text[: cut.offset] for cut in explanation.cuts}
