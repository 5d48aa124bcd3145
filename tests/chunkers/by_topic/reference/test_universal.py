"""Universal semantic chunking: the worked example of its specification, and its published loop."""

from itertools import pairwise

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from advchunk.building.sizes import Limits
from advchunk.chunkers.by_topic.universal import UniversalSemanticChunker, UniversalSemanticParams
from advchunk.errors import ConfigurationError
from advchunk.records import Document, Units, written_metadata
from advchunk.text.counters import WORDS

SENTENCES = (
    "Philosophy is the study of general and fundamental questions about existence, knowledge, values, reason, mind, "
    "and language. ",
    "It employs critical analysis and systematic approaches. ",
    "In contrast, carpentry is a skilled trade focused on working with wood to construct buildings and furniture. ",
    "Carpenters use tools like hammers, saws, and chisels. ",
    "Nietzsche, the German philosopher, wrote extensively about the will to power. ",
    "His philosophy challenged conventional morality and religious belief systems.",
)
SIMILARITIES = (0.78, 0.22, 0.81, 0.18, 0.72)
TRUE_WORDS = (17, 7, 17, 8, 11, 9)


def in_the_plane(similarities):
    """Unit rows whose neighbors have these cosines: each is turned on from the last by their angle."""
    angles = np.r_[0.0, np.cumsum(np.arccos(similarities))]
    return np.column_stack([np.cos(angles), np.sin(angles)])


class Known:
    """An embedder that knows its sentences, and takes any other for an error."""

    def __init__(self, sentences, similarities):
        self._rows = dict(zip((s.strip() for s in sentences), in_the_plane(similarities), strict=True))

    def embed(self, texts):
        return np.array([self._rows[text.strip()] for text in texts])


def chunker(sentences=SENTENCES, similarities=SIMILARITIES, **params):
    return UniversalSemanticChunker(embedder=Known(sentences, similarities), **params)


def test_the_worked_example_as_a_whole():
    explanation = chunker(threshold=0.5, min_chunk_size=15, max_chunk_size=100).explain("".join(SENTENCES))
    assert [c.text for c in explanation.chunks] == ["".join(SENTENCES[i : i + 2]) for i in (0, 2, 4)]
    assert [written_metadata(c.metadata) for c in explanation.chunks] == [
        {"start_line": 1, "end_line": 1, "chunk_id": i, "word_count": words, "strategy": "universal-semantic"}
        for i, words in enumerate((24, 25, 20))
    ]
    assert explanation.figures["similarity"] == pytest.approx(SIMILARITIES, abs=1e-6)
    assert explanation.figures["words"] == list(TRUE_WORDS)
    assert [cut.reason for cut in explanation.cuts] == ["semantic", "semantic"]
    assert [cut.score for cut in explanation.cuts] == pytest.approx([1 - 0.22, 1 - 0.18], abs=1e-6)


def published(similarities, words, threshold, minimum, maximum):
    """The loop of ``universal_chunking.py``, on sentence numbers."""
    chunks, current, count = [], [0], words[0]
    for i in range(1, len(words)):
        should_break = similarities[i - 1] < threshold and count >= minimum
        must_break = count + words[i] > maximum
        if should_break or must_break:
            chunks.append(current)
            current, count = [i], words[i]
        else:
            current.append(i)
            count += words[i]
    return [*chunks, current]


def cuts_of(similarities, words, **params):
    text = "".join("w " * (count - 1) + "w. " for count in words)
    ends = np.cumsum([2 * count + 1 for count in words])
    units = Units(text, np.r_[0, ends])
    segmentation = UniversalSemanticChunker(**params).segment(
        units, in_the_plane(similarities), Limits(10**6, 0, 0, WORDS)
    )
    return segmentation.cuts.tolist()


@st.composite
def documents(draw):
    words = draw(st.lists(st.integers(1, 12), min_size=2, max_size=20))
    likeness = st.sampled_from([-1.0, -0.4, 0.0, 0.3, 0.55, 0.9, 1.0])
    return draw(st.lists(likeness, min_size=len(words) - 1, max_size=len(words) - 1)), words


@given(documents(), st.sampled_from([-0.9, 0.1, 0.5, 0.7, 0.99]), st.integers(0, 30), st.integers(12, 40))
def test_the_published_loop(document, threshold, minimum, maximum):
    cuts = cuts_of(*document, threshold=threshold, min_chunk_size=min(minimum, maximum), max_chunk_size=maximum)
    expected = published(*document, threshold, min(minimum, maximum), maximum)
    assert [list(range(a, b)) for a, b in pairwise(cuts)] == expected


def test_a_percentile_cuts_at_the_least_similar_regardless_of_scale():
    for scale in (1.0, 0.1):
        likeness = [1 - scale * (1 - s) for s in SIMILARITIES]
        assert cuts_of(likeness, TRUE_WORDS, threshold_percentile=30, min_chunk_size=0) == [0, 2, 4, 6]
        assert cuts_of(likeness, TRUE_WORDS, threshold_percentile=0, min_chunk_size=0) == [0, 6]


@pytest.mark.parametrize(
    ("domain", "expected"), [(None, (0.5, 1500)), ("Philosophy", (0.45, 1200)), ("psychology", (0.55, 1200))]
)
def test_domain_presets(domain, expected):
    assert UniversalSemanticParams(domain=domain).bounds() == expected


def test_a_domain_decides_where_it_cuts():
    def cut(domain):
        return cuts_of([0.5, 0.9], [300, 300, 300], domain=domain)

    assert cut("philosophy") == [0, 3]
    assert cut("history") == [0, 1, 3]
    assert cuts_of([0.9, 0.9], [500, 500, 500], domain="history") == [0, 2, 3]


@pytest.mark.parametrize("params", [{"threshold": 0.4}, {"max_chunk_size": 900}])
def test_a_domain_excludes_the_parameters_it_sets(params):
    with pytest.raises(ConfigurationError, match="domain sets threshold"):
        UniversalSemanticParams(domain="history", **params)


def test_a_sentence_over_the_maximum_is_split():
    text = "One, " * 50 + "end. Short one."
    chunks = UniversalSemanticChunker(max_chunk_size=20, min_chunk_size=0, threshold=-1).chunk(text)
    assert "".join(c.text for c in chunks) == text
    assert [c.metadata["word_count"] for c in chunks] == [20, 20, 13]


def test_metadata_has_the_callers_and_the_published_keys():
    document = Document("".join(SENTENCES), metadata={"book_id": 7, "tags": ["a"]})
    chunks = chunker(min_chunk_size=15, max_chunk_size=100).chunk(document)
    assert [c.metadata["chunk_id"] for c in chunks] == [0, 1, 2]
    assert chunks[1].metadata == {
        "book_id": 7, "tags": ["a"], "start_line": 1, "end_line": 1,
        "chunk_id": 1, "word_count": 25, "strategy": "universal-semantic",
        "advchunk_keys": "start_line end_line chunk_id word_count strategy",
    }  # fmt: skip
    chunks[0].metadata["tags"].append("b")
    assert chunks[1].metadata["tags"] == document.metadata["tags"] == ["a"]
