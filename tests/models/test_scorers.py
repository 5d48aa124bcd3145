"""Models of any kind that score texts for a question."""

import sys
from types import SimpleNamespace

import numpy as np
import pytest

from advchunk import BadModelOutput, ConfigurationError
from advchunk.models.scorers import as_scorer
from advchunk.retrieval import PassageCutter

QUESTION, TEXTS = "Who may enter?", ["Tea is hot.", "Only the captain.", "Rum is cold.", "The captain may enter."]
EXPECTED = [3, 1]  # the best texts


def value(text):
    """A text's use for the question, as a stand-in for a model says."""
    return 2.0 * ("captain" in text) + ("enter" in text)


class Pairs:
    def predict(self, pairs):
        return np.array([value(text) for question, text in pairs if question == QUESTION])


def compressor():
    documents = pytest.importorskip("langchain_classic.retrievers.document_compressors")
    encoders = pytest.importorskip("langchain_classic.retrievers.document_compressors.cross_encoder")

    class Encoder(encoders.BaseCrossEncoder):
        def score(self, text_pairs):
            return [value(text) for _, text in text_pairs]

    return documents.CrossEncoderReranker(model=Encoder(), top_n=2)


def postprocessor(monkeypatch):
    postprocessors = pytest.importorskip("llama_index.core.postprocessor")
    stand_in = SimpleNamespace(CrossEncoder=lambda *_, **__: Pairs())
    monkeypatch.setitem(sys.modules, "sentence_transformers", stand_in)
    return postprocessors.SentenceTransformerRerank(model="any", top_n=2, device="cpu")


MODELS = {
    "function": lambda _: lambda _, texts: [*map(value, texts)],
    "cross-encoder": lambda _: Pairs(),
    "BaseDocumentCompressor": lambda _: compressor(),
    "BaseNodePostprocessor": postprocessor,
}


@pytest.mark.parametrize("kind", MODELS)
def test_a_model_of_any_kind_scores_texts(kind, monkeypatch):
    scores = as_scorer(MODELS[kind](monkeypatch))(QUESTION, TEXTS)
    assert scores.shape == (4,)
    assert np.argsort(-scores, kind="stable")[:2].tolist() == EXPECTED
    assert max(scores[0], scores[2]) < scores[1]  # also of those that are left out


@pytest.mark.parametrize("answer", [[1.0], [np.nan] * 4, "none", [["1"]] * 4, None])
def test_a_wrong_answer_is_said(answer):
    with pytest.raises(BadModelOutput, match="a scorer must return 4"):
        as_scorer(lambda *_: answer)(QUESTION, TEXTS)
    with pytest.raises(ConfigurationError, match="scorer must be"):
        PassageCutter(scorer=7)
