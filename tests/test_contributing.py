"""What an algorithm of one's own may do, and what stops it from losing text."""

import numpy as np
import pytest
from langchain_core.documents import Document as LangChainDocument
from llama_index.core import Document as LlamaIndexDocument

from advchunk import Chunk, ConfigurationError, Document, OptimalSemanticChunker
from advchunk.chunkers.base import LinearChunker
from advchunk.records import Segmentation
from advchunk.text import tiling
from langchain_advchunk import ChunkerSplitter, RecursiveSplitter
from llamaindex_advchunk import ChunkerNodeParser

TEXT = "One. Two. Three. Four."


class Own(LinearChunker):
    """Decides what it is told to."""

    algorithm = "own"
    decision = Segmentation(np.array([0, 4]))

    def segment(self, units, limits):
        return self.decision


class TitleOnly(Own):
    """Makes one chunk without a span of a blank document that has a title."""

    def chunk_empty(self, document):
        title = document.metadata.get("title")
        return [Chunk("", (), 2, context=title)] if title else []


def own(decision):
    chunker = Own()
    chunker.decision = decision
    return chunker


@pytest.mark.parametrize(
    ("decision", "rule"),
    [
        (Segmentation(np.array([0, 2])), "cuts must be strictly increasing from 0 to 4"),
        (Segmentation(np.array([1, 4])), "cuts must be strictly increasing from 0 to 4"),
        (Segmentation(np.array([0, 3, 3, 4])), "cuts must be strictly increasing from 0 to 4"),
        (Segmentation(np.array([0, 4]), labels=np.zeros(3, int)), "labels must be an array of 4 numbers"),
        (Segmentation(np.array([0, 4]), gaps=np.zeros(4)), "gaps must be an array of 3 numbers"),
    ],
)
def test_a_decision_that_does_not_fit_the_units_is_an_error(decision, rule):
    with pytest.raises(ConfigurationError, match=rule):
        own(decision).chunk(TEXT)


def test_a_chunker_without_a_model_may_group_too():
    chunks = own(Segmentation(np.array([0, 1, 2, 4]), labels=np.array([0, 1, 0, 0]))).chunk(TEXT)
    assert [c.text for c in chunks] == ["One. Three. Four.", "Two. "]


def test_every_edge_of_a_grouped_chunk_is_explained():
    result = own(Segmentation(np.array([0, 1, 2, 4]), labels=np.array([0, 1, 0, 0]), reason="label")).explain(TEXT)
    assert [(cut.offset, cut.reason) for cut in result.cuts] == [(5, "label"), (10, "label")]


def test_segmentation_of_given_units_enforces_no_size():
    gold = tiling.align(TEXT, ["One. Two. ", "Three. ", "Four."])
    result = OptimalSemanticChunker(n_segments=2, max_tokens=100).segmentation(gold)
    assert len(result.cuts) == 3
    assert result.cuts[-1] == 3
    assert OptimalSemanticChunker().segmentation(tiling.align("One.", ["One."])).cuts.tolist() == [0, 1]


def test_a_blank_document_may_give_a_chunk_of_metadata_alone():
    (chunk,) = TitleOnly().chunk(Document(" ", metadata={"title": "A title"}))
    assert (chunk.text, chunk.spans, chunk.embed_text) == ("", (), "A title")
    assert TitleOnly().chunk(" ") == []
    (document,) = ChunkerSplitter(TitleOnly()).split_documents([LangChainDocument(" ", metadata={"title": "A title"})])
    assert "start_index" not in document.metadata
    (node,) = ChunkerNodeParser(chunker=TitleOnly())([LlamaIndexDocument(text=" ", metadata={"title": "A title"})])
    assert (node.start_char_idx, node.end_char_idx) == (None, None)


def test_one_parameter_under_two_names_must_agree():
    splitter = RecursiveSplitter(chunk_size=90)
    assert splitter.max_tokens == splitter.core().max_tokens == 90
    assert RecursiveSplitter(chunk_size=90, max_tokens=90).max_tokens == 90
    with pytest.raises(ConfigurationError, match="chunk_size is another name for max_tokens: pass only one"):
        RecursiveSplitter(chunk_size=90, max_tokens=80)


def test_a_costly_figure_is_computed_when_it_is_asked_for():
    asked = []
    figures = {"cheap": 1, "costly": lambda: asked.append(1) or 2}
    result = own(Segmentation(np.array([0, 4]), figures=figures)).explain(TEXT)
    assert (set(result.figures), result.figures["cheap"], asked) == ({"cheap", "costly"}, 1, [])
    assert (result.figures["costly"], asked) == (2, [1])


@pytest.mark.parametrize("wrong", [None, "One text.", Document("One document.")])
def test_many_documents_are_several(wrong):
    with pytest.raises(ConfigurationError, match="documents must be an iterable"):
        Own().chunk_many(wrong)
