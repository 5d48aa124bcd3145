"""The bases of chunkers refuse what would be wrong in silence."""

import json
import re
from dataclasses import dataclass
from typing import ClassVar
from uuid import NAMESPACE_DNS, uuid5

import numpy as np
import pytest

import advchunk
from advchunk import Document, MSTSemanticChunker, RecursiveChunker, UniversalSemanticChunker
from advchunk.building.ids import hashed_id
from advchunk.chunkers.base import LinearChunker
from advchunk.chunkers.by_size import RecursiveParams
from advchunk.chunkers.params import Params
from advchunk.errors import InvalidSegmentation
from advchunk.records import Block, Segmentation, Span
from langchain_advchunk import LinearSplitter, splitter_class
from llamaindex_advchunk import node_parser_class


@dataclass(kw_only=True)
class HalvesParams(Params):
    """Cut in the middle."""

    algorithm: ClassVar[str] = "halves"
    max_tokens: int = 7


class Halves(LinearChunker):
    cuts: ClassVar[list[int]]

    def segment(self, units, limits):
        return Segmentation(np.array(self.cuts))


def test_equal_texts_of_two_documents_have_ids_of_their_own():
    chunker = RecursiveChunker()
    alone = [chunker.chunk(Document("Tea.", name))[0].id for name in "ab"]
    together = [chunks[0].id for chunks in chunker.chunk_many([Document("Tea.", name) for name in "ab"])]
    assert len(set(alone)) == 2
    assert alone == together


def test_the_first_row_of_a_table_has_its_head_as_context():
    head, row = "| tea | price |\n| --- | --- |\n", "| green | 3 |\n"
    document = Document(head + row, blocks=(Block("table", Span(0, len(head + row))),))
    context, _ = RecursiveChunker(include_context=True).limits(document).context(len(head))
    assert context.strip() == head.strip()


def test_own_parameters_are_in_the_help_of_the_chunker_and_its_adapters():
    @dataclass(kw_only=True)
    class OwnParams(Params):
        """Cut at words.

        Parameters
        ----------
        least_words : words of a segment, >= 1.
        """

        algorithm: ClassVar[str] = "own-words"
        least_words: int = 1

    @dataclass(kw_only=True)
    class Own(OwnParams, Halves):
        """Cut at words."""

    for cls in (Own, splitter_class(Own), node_parser_class(Own)):
        assert "least_words : words of a segment, >= 1." in cls.__doc__
        assert "max_tokens : " in Own.__doc__


def test_parameters_come_before_the_chunker():
    with pytest.raises(TypeError, match=r"come before the chunker, as in class Wrong\(HalvesParams, \.\.\.\)"):
        type("Wrong", (LinearChunker, HalvesParams), {})


def test_parameters_come_after_the_base_of_a_framework():
    with pytest.raises(TypeError, match="parameters come after the framework's base"):
        type("Wrong", (RecursiveParams, LinearSplitter), {})


@pytest.mark.parametrize("cuts", [[0, 1], [1, 3], [0, 2, 2, 3], [0, 4]])
def test_an_invalid_segmentation_is_raised_whatever_the_fallback(cuts):
    @dataclass(kw_only=True)
    class Broken(HalvesParams, Halves):
        pass

    Broken.cuts = cuts
    with pytest.raises(InvalidSegmentation, match="cuts must be strictly increasing from 0 to 3"):
        Broken(fallback=RecursiveChunker()).chunk("One. Two. Three.")


WRONG = {
    "its decision must be a Segmentation": lambda: [0, 3],
    "cuts must be an array of integers, got [0, 3]": lambda: Segmentation([0, 3]),
    "cuts must be an array of integers, got array([0., 3.])": lambda: Segmentation(np.array([0.0, 3.0])),
    "cuts must be strictly increasing from 0 to 3": lambda: Segmentation(np.array([0, 2, 1, 3])),
    "labels must be an array of 3 numbers": lambda: Segmentation(np.array([0, 3]), labels=np.array([0, 1])),
    "gaps must be an array of 2 numbers": lambda: Segmentation(np.array([0, 3]), gaps=np.array([0.1, 0.2, 0.3])),
    "unknown must be an array of 3 truth values": lambda: Segmentation(np.array([0, 3]), unknown=np.array([0, 1, 0])),
    "rows must be an array of 3 finite rows": lambda: Segmentation(np.array([0, 3]), rows=np.full((3, 2), np.nan)),
    "reason must be one word, or one for each of 0 cuts": lambda: Segmentation(np.array([0, 3]), reason=["a"]),
    "origins must be one word, or one for each of 1 cuts": lambda: Segmentation(np.array([0, 1, 3]), origins=[]),
}


@pytest.mark.parametrize("rule", WRONG)
def test_a_malformed_segmentation_is_one_error_with_the_chunker_the_rule_and_the_value(rule):
    @dataclass(kw_only=True)
    class Broken(HalvesParams, LinearChunker):
        def segment(self, units, limits):
            return WRONG[rule]()

    with pytest.raises(InvalidSegmentation, match=f"^halves: {re.escape(rule)}"):
        Broken(fallback=RecursiveChunker()).chunk("One. Two. Three.")


@pytest.mark.parametrize("chunker", [RecursiveChunker, UniversalSemanticChunker, MSTSemanticChunker])
def test_a_caption_stays_with_the_start_of_a_large_table(chunker):
    rows = "".join(f"<tr><td>leaf {i}</td><td>{i} mg of it</td></tr>" for i in range(40))
    page = f"<p>Tea is green.</p><table><caption>Table 1. Leaves. Two of them.</caption>{rows}</table>"
    (captioned,) = [chunk for chunk in chunker(markup="html", max_tokens=60).chunk(page) if "Table 1." in chunk.text]
    assert "Two of them." in captioned.text
    assert "leaf 0" in captioned.text


@pytest.mark.parametrize("name", ["recursive", "sliding-window"])
@pytest.mark.parametrize(
    "text", ["Tea.", "# Tea\n\nGreen. Black.\n\n- one\n- two", "\n\n a\u0301 b.C d", "```\nx = 1\n```\n\nDone."]
)
@pytest.mark.parametrize(
    "params", [{}, {"include_context": True}, {"tokenizer": "words", "overlap_tokens": 2, "min_tokens": 3}]
)
def test_a_text_within_the_limits_has_the_chunk_that_its_units_make(name, text, params, monkeypatch):
    chunker = advchunk.create(name, max_tokens=40, **params)
    chunks = chunker.chunk(text)
    monkeypatch.setattr(type(chunker), "by_size", False)
    assert chunks == chunker.chunk(text)
    assert len(chunks) == 1


@pytest.mark.parametrize("parts", [(), ("",), ("a", 0, '\u00e9"\\\n\ud800', -7), ("\x7f\u2028", 10**20)])
def test_ids_are_uuid5_of_the_json_of_their_parts(parts):
    assert hashed_id(*parts) == str(uuid5(uuid5(NAMESPACE_DNS, "advchunk"), json.dumps(parts)))
