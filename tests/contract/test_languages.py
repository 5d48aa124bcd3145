"""The contract of every chunker in 27 languages: several chunks, within the limits, none cut inside a word."""

import json
from pathlib import Path

import pytest
import regex

from advchunk import Document, create
from advchunk.models.counters import as_counter
from advchunk.text.detection import tell_language
from front_ends import every_chunker, leaves
from stand_ins import STAND_INS

_DECLARATION = json.loads((Path(__file__).parents[1] / "data/declaration.json").read_text(encoding="utf-8"))
TEXTS = {code: "\n\n".join(_DECLARATION[code]) for code in _DECLARATION if code}
LETTER = r"[\p{L}\p{M}\p{N}]"
# In Japanese a word may begin where hiragana ends.
INSIDE = regex.compile(rf"(?<={LETTER}){LETTER}")
JAPANESE = regex.compile(r"(?<=\p{Hiragana})[\p{Han}\p{Katakana}]")
MOST = 200  # tokens; the longest sentence has fewer
OF_LEVELS = {"hierarchical": 800}  # whose smallest chunks have a part of it


def cuts_inside_words(text, offsets):
    """Return what stands around the offsets that are inside a word."""
    wrong = (at for at in offsets if INSIDE.match(text, at) and not JAPANESE.match(text, at))
    return [text[max(at - 10, 0) : at + 10] for at in wrong]


@every_chunker
@pytest.mark.parametrize("language", TEXTS)
def test_every_language_has_several_chunks_within_the_limits_and_whole_words(name, language):
    text = TEXTS[language]
    chunker = create(name, experimental=True, **{**STAND_INS.get(name, {}), "max_tokens": OF_LEVELS.get(name, MOST)})
    chunks = leaves(chunker.chunk(Document(text, "a", blocks=())))
    assert len(chunks) > 1
    assert max(chunk.tokens for chunk in chunks) <= OF_LEVELS.get(name, MOST)
    offsets = {at for chunk in chunks for span in chunk.spans for at in span if 0 < at < len(text)}
    assert cuts_inside_words(text, offsets) == []


@pytest.mark.parametrize("language", TEXTS)
def test_limits_in_words_hold_in_every_language(language):
    text = "\n\n".join([TEXTS[language]] * 3)
    chunker = create("universal-semantic", max_chunk_size=100, min_chunk_size=20)
    chunks = chunker.chunk(Document(text, blocks=()))
    counts = [chunk.metadata["word_count"] for chunk in chunks]
    assert 10 < sum(counts) / len(counts) <= max(counts) <= 100
    assert cuts_inside_words(text, {chunk.start for chunk in chunks} - {0}) == []


@pytest.mark.parametrize("language", TEXTS)
def test_the_language_of_every_text_is_told(language):
    assert tell_language(TEXTS[language]) == language
    explanation = create("recursive", max_tokens=50, add_scores=True).explain(TEXTS[language])
    assert explanation.language == language
    assert {chunk.metadata["language"] for chunk in explanation.chunks} == {language}


@pytest.mark.parametrize("language", TEXTS)
def test_a_piece_over_the_limit_is_cut_between_words(language):
    text = TEXTS[language]
    chunks = create("recursive", max_tokens=40).chunk(Document(text, blocks=()))
    assert max(chunk.tokens for chunk in chunks) <= 40
    assert as_counter()(text) > 40 * 4
    if language not in {"zh", "ja", "th", "lo", "km", "my", "bo"}:  # whose words are not told apart
        assert cuts_inside_words(text, {chunk.start for chunk in chunks} - {0}) == []
