"""Chunks that stay within sections: hard breaks, the inner chunker, and batches over sections."""

from dataclasses import dataclass

import numpy as np
import pytest

from advchunk import ConfigurationError, SemanticClusterChunker
from advchunk.building.sizes import Limits, assemble
from advchunk.chunkers.sections import SectionedChunker
from advchunk.engine import Embed, Job, completed, drive, gather
from advchunk.models.counters import as_counter
from advchunk.records import Strength, Units


@dataclass(kw_only=True)
class ByHeading(SectionedChunker):
    algorithm = "by-heading"

    def hard_breaks(self, document):
        return [block.span.start for block in document.blocks if block.kind == "heading"]


class Counting:
    def __init__(self):
        self.asked = []

    def embed(self, texts):
        self.asked.append(list(texts))
        return [[1.0, len(text)] for text in texts]


TEXT = "# One\n\n## Two\n\nCats nap. Cats purr.\n\n# Three\n\nJudges rule. Courts sit. Laws hold.\n"


def test_no_chunk_crosses_a_section_and_no_heading_is_left_alone():
    chunks = ByHeading(max_tokens=40, min_tokens=40, overlap_tokens=20).chunk(TEXT)
    assert [chunk.text for chunk in chunks] == [TEXT[: TEXT.index("# Three")], TEXT[TEXT.index("# Three") :]]
    assert [
        chunk.text
        for chunk in ByHeading(max_tokens=7, overlap_tokens=4, layout_weight=0.0).chunk(TEXT)
        if "Three" in chunk.text
    ] == ["# Three\n\nJudges rule. "]


def test_the_model_is_asked_once_for_all_sections():
    model = Counting()
    ByHeading(embedder=model, max_tokens=40).chunk(TEXT)
    assert len(model.asked) == 1


def test_groups_stay_within_their_section():
    inner = SemanticClusterChunker(n_clusters=2, min_cluster_size=1, contiguous=False)
    text = "# A\n\nCats nap. Courts rule. Cats purr.\n\n# B\n\nCats nap now. Courts rule now. Cats purr now.\n"
    chunks = ByHeading(inner=inner, layout_weight=0.0).chunk(text)
    section = text.index("# B")
    assert all(chunk.end <= section or chunk.start >= section for chunk in chunks)
    assert any(len(chunk.spans) > 1 for chunk in chunks)


def test_the_inner_chunker_must_be_a_chunker_of_units():
    with pytest.raises(ConfigurationError, match="inner must be a chunker of units"):
        ByHeading(inner="recursive")


def test_a_hard_break_stops_joins_and_overlap():
    text = "a b c d e f "
    units = Units(text, np.arange(0, 13, 2), strength=np.array([0, 1, 1, Strength.HARD_BREAK, 1, 1, 0]))
    limits = Limits(4, 3, 1, as_counter("words"))
    chunks = assemble(units, np.arange(7), limits)
    assert [chunk.text for chunk in chunks] == ["a b c ", "d e f "]


def test_gathered_plans_ask_in_batches_and_answer_in_order():
    asked = []

    class Model:
        batch_size = None

        def embed(self, texts):
            asked.append(texts)
            return np.array([[len(text), 1.0] for text in texts])

    model = Model()

    def plan(texts, rounds):
        total = 0.0
        for _ in range(rounds):
            rows = yield Embed(tuple(texts), model)
            total += rows[:, 0].sum()
            texts = [text + "x" for text in texts]
        return total

    jobs = [Job(gather([plan(["a"], 1), completed("none"), plan(["bb", "c"], 2)]))]
    assert list(drive(jobs)) == [[1.0, "none", 3.0 + 5.0]]
    assert asked == [("a", "bb", "c"), ("bbx", "cx")]


def test_a_failure_is_raised_in_the_plan_that_asked():
    class Model:
        def embed(self, texts):
            raise OSError(texts[0])

    model = Model()

    def plan(text):
        try:
            yield Embed((text,), model)
        except OSError as error:
            return f"{text}: {error}"

    assert list(drive([Job(gather([plan("a"), plan("b")]))])) == [["a: a", "b: a"]]
