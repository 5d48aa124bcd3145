"""The signal of every segmenter: whose its cuts are."""

import logging
import re

import numpy as np
import pytest

from advchunk import Document, create
from advchunk.evaluation import synthetic
from advchunk.records import Segmentation, Units


class Recent:
    """A stand-in for a language model: a word among the last forty does not surprise, and a sentence with such words
    goes on."""

    model_name = "recent"

    def surprise(self, text):
        words = [(match[0].lower().strip("."), match.end()) for match in re.finditer(r"\S+", text)]
        before = [{word for word, _ in words[max(i - 40, 0) : i]} for i in range(len(words))]
        nats = [0.0 if word in near else 5.0 for (word, _), near in zip(words, before, strict=True)]
        return np.array([end for _, end in words]), np.array(nats)

    def choose(self, prompt, options):
        before, sentence = re.search(r"(?s)<passage>\n(.*)\n</passage>\n<sentence>\n(.*)\n</sentence>", prompt).groups()
        near, words = set(before.lower().split()[-40:]), sentence.lower().split()
        split = 1 - sum(word in near for word in words) / len(words)
        return [split, 1 - split]


TOPICS = synthetic(7, segments=6, sentences=(6, 9)).units
SEGMENTERS = {
    "semantic-threshold": {},
    "universal-semantic": {},
    "optimal-semantic": {},
    "mst-semantic": {"granularity": "sentence", "preset": "even", "max_tokens": 300},
    "texttiling": {"preset": "fine"},
    "c99": {},
    "bayesseg": {},
    "semantic-cluster": {"preset": "chain"},
    "graph-partition": {"preset": "neighbors"},
    "discourse": {},
    "margin-sampling": {"lm": Recent()},
    "perplexity": {"lm": Recent()},
}


def build(name, **params):
    return create(name, experimental=True, fallback=None, **{**SEGMENTERS.get(name, {}), **params})


@pytest.mark.parametrize("name", SEGMENTERS)
def test_nothing_is_cut_where_all_sentences_are_alike(name):
    text = "The cat naps on the sofa. " * 30
    segmentation = build(name, max_tokens=1000).segmentation(Units(text, np.arange(31) * 26))
    assert [reason for reason in segmentation.reasons if reason != "forced"] == []


def test_cuts_are_counted_by_origin():
    text = "# Tea\n\n" + "Tea is hot. " * 40 + "\n\n# Milk\n\n" + "Milk is cold. " * 40
    explanation = create("universal-semantic", min_chunk_size=1, max_chunk_size=20, boundaries="^# Milk").explain(text)
    signal = explanation.signal
    assert signal.cuts["structure"] == 1
    assert signal.cuts["size"] > 10
    assert sum(signal.cuts.values()) == len(explanation.chunks) - 1
    assert signal.resembles == "recursive"


def test_the_first_place_allowed_is_that_of_the_minimum():
    sizes, cuts = np.full(6, 10), np.array([0, 2, 5, 6])
    decided = Segmentation(cuts, reason=["score", "score"])
    assert decided.with_origins(Units("abcdef", np.arange(7), sizes), 20).origins == ["first", "algorithm"]
    assert decided.with_origins(Units("abcdef", np.arange(7), sizes), 0).origins == ["algorithm", "algorithm"]
    own = Segmentation(cuts, reason=["score", "forced"], least=(np.arange(1, 7), 3))
    assert own.with_origins(Units("abcdef", np.arange(7), sizes), 0).origins == ["first", "size"]


def test_layout_moves_cuts_with_their_origins():
    text = "\n\n".join(
        "Cats purr and nap. Dogs bark at cats. Judges rule on law. Stocks fell in May." for _ in range(12)
    )
    explanation = create("universal-semantic", min_chunk_size=20).explain(text)
    assert "layout" in [cut.reason for cut in explanation.cuts]
    assert {cut.origin for cut in explanation.cuts} == {"first"}


@pytest.mark.parametrize("name", ["recursive", "sliding-window"])
def test_a_chunker_by_size_says_so(name):
    signal = create(name, max_tokens=10).explain("Cats purr. " * 30).signal
    assert signal.by_size
    assert set(signal.cuts) == {"size"}


def test_pieces_without_words_or_vectors_are_counted():
    text = "The and of. Cats purr loudly. Of and the. Dogs bark loudly. " * 3
    assert build("texttiling").explain(text).signal.unknown == 6
    cats = build("optimal-semantic", embedder=lambda texts: np.array([[float("Cats" in text), 0.0] for text in texts]))
    assert cats.explain(text).signal.unknown == 9


def test_the_log_says_once_that_a_method_cuts_like_recursive(caplog):
    text = "Cats purr. " * 400
    build("optimal-semantic", max_tokens=16).explain(Document(text, "cats"))
    create("recursive", max_tokens=16).explain(text)
    messages = [record.getMessage() for record in caplog.records if record.levelno == logging.WARNING]
    assert len(messages) <= 1
    caplog.clear()
    build("semantic-threshold", max_tokens=16, breakpoint_threshold_amount=99.0).explain(Document(text, "cats"))
    create("universal-semantic", min_chunk_size=20).explain(
        Document("Cats purr and nap. Judges rule on law. " * 60, "dogs")
    )
    by_size, at_first = [record.getMessage() for record in caplog.records]
    assert re.fullmatch(r"document 'cats': semantic-threshold cuts like recursive: .* by size", by_size)
    assert re.fullmatch(
        r"document 'dogs': universal-semantic cuts like recursive: .* at the first place allowed.*", at_first
    )


def test_the_signal_is_metadata_on_request():
    text = TOPICS.text
    cuts = {"threshold": 0.95, "min_chunk_size": 50}
    chunk, *_ = create("universal-semantic", add_signal=True, **cuts).chunk(text)
    assert (chunk.metadata["signal_like"], chunk.metadata["signal_first"]) == ("recursive", 1)
    assert not any(key.startswith("signal") for key in create("universal-semantic", **cuts).chunk(text)[0].metadata)
