"""The reliability benchmark: its checks find planted breaches, and its runs can be repeated."""

import random
from dataclasses import replace
from typing import NamedTuple

import pytest
import reliability
import torture_texts
from hypothesis import given
from hypothesis import strategies as st
from promises import inexact, lost, merged_spans, over
from reliability import BREACHES, REFUSED, Outcome, draw_case, run_case, summary_table

from advchunk import RecursiveChunker, names


class Piece(NamedTuple):
    text: str
    spans: tuple
    tokens: int = 1


TEXT = "One. Two. Three."
GOOD = [Piece("One. ", ((0, 5),)), Piece("Two. Three.", ((5, 10), (10, 16)))]


def test_good_pieces_pass():
    assert inexact(TEXT, GOOD) == lost(TEXT, GOOD) == []
    assert merged_spans(GOOD) == [(0, 16)]


@pytest.mark.parametrize(
    ("piece", "message"),
    [
        (Piece("one. ", ((0, 5),)), r"the text of [(0, 5)] is not 'one. '"),
        (Piece("Two. One. ", ((5, 10), (0, 5))), "spans must rise within 0..16"),
        (Piece("", ((3, 3),)), "spans must rise"),
        (Piece("Three.", ((10, 17),)), "spans must rise"),
        (Piece("", ()), "spans must rise"),
    ],
)
def test_inexact_pieces_are_found(piece, message):
    (problem,) = inexact(TEXT, [*GOOD, piece])
    assert message in problem


def test_lost_characters_are_found_and_lost_spaces_are_none():
    assert lost(TEXT, [Piece("One.", ((0, 4),)), GOOD[1]]) == []
    assert lost(TEXT, GOOD[:1]) == ["10 characters are in no chunk, such as 'Two. Three.' at 5"]


def test_pieces_over_the_limit_are_found():
    assert over(GOOD, 5, len, lambda piece: piece.text) == ["11 tokens, at most 5: 'Two. Three.'"]
    assert over([Piece("é", ((0, 1),))], 1, lambda _: 2, lambda piece: piece.text) == []


class Careless(RecursiveChunker):
    """Breaks each promise in turn."""

    fault = ""
    calls = 0

    def postprocess(self, explanation):
        yield from ()
        chunks = explanation.chunks
        Careless.calls += 1
        match self.fault:
            case "lossy":
                return chunks[1:]
            case "inexact":
                return [replace(chunk, text=chunk.text.upper()) for chunk in chunks]
            case "over":
                return [replace(chunk, text=chunk.text * 9) for chunk in chunks]
            case "unstable":
                return [replace(chunk, context=str(Careless.calls)) for chunk in chunks]
            case "metadata":
                return [replace(chunk, metadata={**chunk.metadata, "title": "mine"}) for chunk in chunks]
            case "error":
                raise ZeroDivisionError
        return chunks


@pytest.mark.parametrize("fault", ["", "lossy", "inexact", "over", "unstable", "metadata", "error"])
def test_each_breach_is_counted(fault, monkeypatch):
    monkeypatch.setattr(Careless, "fault", fault)
    case = reliability.Case(
        "recursive", "core", {"max_tokens": 9}, "default", None, {"title": "A title"}, "A cat naps. " * 9, "planted"
    )
    monkeypatch.setattr(reliability, "draw_case", lambda *_: case)
    monkeypatch.setattr(reliability, "create", lambda _, **options: Careless(max_tokens=options["max_tokens"]))
    outcome = run_case(0, None, 0)
    assert fault in {kind for kind, _ in outcome.breaches} if fault else outcome.breaches == ()
    last = summary_table([outcome]).splitlines()[-1].strip("| ").split(" | ")
    assert dict(zip(["chunker", "runs", REFUSED, *BREACHES], last, strict=True)).get(fault, "1") == "1"


def test_a_run_is_the_same_again_and_others_differ():
    assert draw_case(3, 7, None) == draw_case(3, 7, None)
    assert len({draw_case(3, run, None).text for run in range(30)}) > 20
    assert [draw_case(0, run, None).chunker for run in range(len(names()))] == names()
    assert {draw_case(0, run, None).front_end for run in range(0, 3 * len(names()), len(names()))} == {
        *reliability.FRONT_ENDS
    }


@given(st.sampled_from([*torture_texts.KINDS]), st.sampled_from([*torture_texts.FORMS]), st.integers(0, 999))
def test_texts_are_those_of_their_seed(kind, form, seed):
    first, again = (torture_texts.KINDS[kind](random.Random(seed)) for _ in range(2))
    assert first == again
    forms = (torture_texts.FORMS[form](first, random.Random(seed)) for _ in range(2))
    assert len({*forms}) == 1


def test_real_texts_are_taken_in_all_forms(tmp_path):
    (tmp_path / "a.txt").write_text("One. Two.\n\nThree. " * 40, "utf-8")
    (tmp_path / "b.xml").write_text("<TEI><text/></TEI>", "utf-8")
    drawn = [torture_texts.real(tmp_path, random.Random(seed)) for seed in range(60)]
    assert {origin.rpartition(", ")[2] for _, origin in drawn} == {*torture_texts.FORMS, "b.xml"}
    assert drawn == [torture_texts.real(tmp_path, random.Random(seed)) for seed in range(60)]


@pytest.mark.parametrize("name", names())
def test_promises_are_kept_by_every_front_end(name):
    outcomes = [run_case(1, None, names().index(name) + len(names()) * i) for i in range(3)]
    kinds = {kind for outcome in outcomes for kind, _ in outcome.breaches}
    assert kinds <= {REFUSED}, outcomes


def test_an_outcome_is_in_its_row_and_in_the_total():
    outcomes = [
        Outcome(0, "c99", "core", (("lossy", "a"), ("lossy", "b")), 0.1),
        Outcome(1, "auto", "core", ((REFUSED, "x"),), 0.2),
    ]
    rows = {
        line.split(" | ")[0].strip("| "): line.strip("| ").split(" | ")[1:]
        for line in summary_table(outcomes).splitlines()
    }
    assert rows["c99"][:4] == ["1", "0", "0", "1"]
    assert rows["auto"][:4] == ["1", "1", "0", "0"]
    assert rows["all"] == ["2", "1", "0", "1", "0", "0", "0", "0", "0"]
