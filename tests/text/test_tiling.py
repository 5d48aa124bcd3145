# ruff: noqa: RUF001 - this tests the punctuation of many scripts
import pickle
from functools import partial

import numpy as np
import pytest
import regex
from hypothesis import assume, given
from hypothesis import strategies as st

from advchunk.errors import ConfigurationError
from advchunk.records import Units
from advchunk.text import asciidoc, sentences, splitters, tiling
from growing import check_shapes
from shapes import SHAPES, around

TILERS = [
    tiling.paragraphs, tiling.lines, tiling.clauses, tiling.words, tiling.graphemes, tiling.characters,
    sentences.sentences, sentences.plain_sentences,
]  # fmt: skip
PARTS = ["One. ", "Dr. ", "Fig. ", "two ", "3 ", "e.g. ", "(So.) ", "\r\n", "\n\n", "\r", '"No." ', "好。", "[3] ", " "]
TEXTS = st.one_of(
    st.text(max_size=60),
    st.text(alphabet="ab A1.!?…。」（）()[]\"“”‘’'<>,:\r\n\t \x00\ud800", max_size=60),
    st.lists(st.sampled_from(PARTS), max_size=20).map("".join),
)


@pytest.mark.parametrize(
    ("tiler", "marked"),
    [
        (tiling.paragraphs, "a\nb\n \n\n|c\r\nd\r\n\r\n|e\r\r|f"),
        (tiling.paragraphs, "\n\n  a\n\n|b\n\n"),
        (tiling.paragraphs, "a\n \n|\tb\r\n\r\n|  c\n\n  "),
        (tiling.lines, "\n\n  a\r\n|  b\n \n|c\r|d\n  "),
        (tiling.clauses, "Once, |twice; |10,000: |再，|三\r\n|four"),
        (tiling.clauses, "a,  |b,\n|  c \n\n|  d：\r\n|\te"),
        (tiling.words, " a \t|b\r\n|c"),
        (tiling.words, "a \r\n|  b  |c\n "),
        (sentences.plain_sentences, "A. |B! \n|  C?\r\n\r\n|\tD.\n  "),
        (sentences.sentences, "A one. |B two! \n|  C three?\r\n\r\n|\tD four.\n  "),
        (tiling.graphemes, "e\u0301|\r\n|👩‍👩‍👧|a"),
        (tiling.characters, "e|\u0301|\r|\n"),
    ],
)
def test_other_tilings(tiler, marked):
    expected = marked.split("|")
    assert tiler("".join(expected)).strings() == expected


@pytest.mark.parametrize("tiler", TILERS)
@given(TEXTS)
def test_any_text_is_tiled(tiler, text):
    units = tiler(text)
    assert units.text == text
    assert "".join(units.strings()) == text


@pytest.mark.parametrize(
    "tiler",
    [tiling.paragraphs, tiling.lines, tiling.words, tiling.clauses, sentences.sentences, sentences.plain_sentences],
)
@given(TEXTS)
def test_units_include_the_white_space_after_them_and_indentation_before(tiler, text):
    units = tiler(text)
    assert all(unit.strip() for unit in units.strings()) or len(units) == 1
    for edge in units.edges[1:-1].tolist():
        space = text[edge : len(text) - len(text[edge:].lstrip())]
        assert not space or text[edge - 1] in "\r\n"
        assert not set(space) & set("\r\n")


@pytest.mark.parametrize("tiler", [t for t in TILERS if t is not tiling.characters])
@given(TEXTS)
def test_crlf_is_never_split(tiler, text):
    assert not any(text[edge - 1 : edge + 1] == "\r\n" for edge in tiler(text).edges.tolist())


@pytest.mark.slow
@pytest.mark.parametrize("tiler", [*TILERS[1:4], *TILERS[-2:], asciidoc.row_spans, asciidoc.header])
def test_every_tiler_takes_time_in_proportion_to_every_shape(tiler):
    check_shapes(tiler, SHAPES | {"spaces": around("a. ", " ", "B"), "line": around("a.\n", " ", "B")}, 10_000)


def english():
    spacy = pytest.importorskip("spacy")
    nlp = spacy.blank("en")
    nlp.add_pipe("sentencizer")
    return nlp


def test_spacy_sentences_tile():
    tiler = partial(splitters.spacy_sentences, nlp=english())
    for text in ["", " \n ", "One. Two.\r\n\r\nThree", "  Bad \ud800 one. Two.  "]:
        assert "".join(tiler(text).strings()) == text
    assert tiler(" One.  Two.\n\nno stop\n\nThree").strings() == [" One.  ", "Two.\n\n", "no stop\n\n", "Three"]


def test_spacy_splits_a_paragraph_over_its_limit():
    nlp = english()
    text = "One is here. Two is here. " * 4
    whole = splitters.spacy_sentences(text, nlp).strings()
    nlp.max_length = 52
    assert splitters.spacy_sentences("".join(whole), nlp).strings()[0] == "One is here. "
    assert "".join(splitters.spacy_sentences(text, nlp).strings()) == text


def test_spacy_without_sentences_is_rejected():
    spacy = pytest.importorskip("spacy")
    with pytest.raises(ConfigurationError, match="sentencizer"):
        splitters.as_tiler(spacy.blank("en"))("One here. Two here.")


def title_and_rest(text):
    return [(0, 3), (4, len(text))]


@pytest.mark.parametrize(
    "answer",
    [
        Units("One. Two.", np.array([0, 5, 9])), np.array([0, 5, 9]), [0, 5, 9], [(0, 4), (5, 9)], np.array([[0, 4], [5, 9]]),
        ["One.", "Two."], ("One. ", "Two."), iter(["One.", " Two."]),
    ],
)  # fmt: skip
def test_as_tiler_accepts_the_results_of_splitters(answer):
    assert splitters.as_tiler(lambda _: answer)("One. Two.").strings() == ["One. ", "Two."]


@pytest.mark.parametrize(
    ("message", "answers"),
    [
        ("Two", [["One."], [(0, 4)]]),
        ("One", [["Two.", "One."], ["Two."], []]),
        ("two|None|the text it was given", [["One.", "two."], None, Units("One.", np.array([0, 4]))]),
        ("ascend", [[(0, 4), (3, 9)], [(0, 99)]]),
        ("edges", [[0, 5], [0.5, 9.0], [(0, 4), 5], "One. Two."]),
    ],
)
def test_as_tiler_rejects_splitters_that_lose_or_reorder_text(message, answers):
    for answer in answers:
        with pytest.raises(ConfigurationError, match=message):
            splitters.as_tiler(lambda _, answer=answer: answer)("One. Two.")


@pytest.mark.parametrize("splitter", ["plian", 3, ["One."]])
def test_as_tiler_rejects_other_objects(splitter):
    with pytest.raises(ConfigurationError, match="plain"):
        splitters.as_tiler(splitter)


def test_tilers_pickle():
    text = "Dr. Smith left. He ran."
    for splitter in (None, "plain", title_and_rest, str.splitlines, english()):
        tiler = splitters.as_tiler(splitter)
        assert pickle.loads(pickle.dumps(tiler))(text).strings() == tiler(text).strings()


def test_as_tiler_passes_the_language_on():
    text = "Npr. Split. Kraj."
    assert splitters.as_tiler(language="hr")(text).strings() == ["Npr. Split. ", "Kraj."]


@given(
    st.text(
        st.sampled_from("a漢각\u1100\u1161\u11a8e\u0301\u200d\u0600\u0903\r\n👨👩🇦🇧\u0915\u094d\u0937\ud800"),
        max_size=12,
    )
)
def test_graphemes_are_those_of_unicode(text):
    flag_and_virama = "[\U0001f1e6-\U0001f1ff]{2}\u094d"  # the library joins a consonant, against rule GB9c
    assume(not regex.search(flag_and_virama, text))
    assert tiling.graphemes(text).edges.tolist() == [0, *(match.end() for match in regex.finditer(r"\X", text))]
