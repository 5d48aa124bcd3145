"""Faithful and unfaithful rewritings, of which tests/data has more: a chunk, the facts, the rewritten chunk."""

import tomllib
from collections import defaultdict
from pathlib import Path
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from advchunk.enrich.faithfulness import invented, unfaithful_edit
from advchunk.enrich.rewriting import trigram_recall

FAITHFUL = [
    ("She naps all day.", ["Ada, a cat"], "Ada the cat naps all day."),
    (
        "BMI was lower in the second arm.",
        ["body mass index", "the arm on a diet"],
        "The body mass index (BMI) was lower in the second arm, the arm on a diet.",
    ),
    (
        "He resigned the next day, but his party kept its majority.",
        ["Prime Minister Olsen", "the Labor Party"],
        "Prime Minister Olsen resigned the next day, but his party, the Labor Party, kept its majority.",
    ),
    ("In that year the bridge was closed to cars.", ["1999"], "In that year, 1999, the bridge was closed to cars."),
    (
        "- Set `timeout` to 30\n- Then run it again",
        ["the backup script"],
        "- Set `timeout` to 30\n- Then run the backup script again",
    ),
    (
        "This is why the method fails on long texts.",
        ["the cost grows with the square of the length"],
        "The cost grows with the square of the length, which is why the method fails on long texts.",
    ),
    ("He left after the vote.", ["Olsen"], "After the vote Olsen left."),
]
UNFAITHFUL = [
    ("The drug reduced mortality by 12% (p < 0.01).", ["aspirin"], "Aspirin reduced mortality by 12% (p > 0.01)."),
    ("This may cause dizziness.", ["the tablets"], "The tablets will cause dizziness."),
    ("Ada chased Bob into the barn.", ["Ada, a cat"], "Bob chased Ada, a cat, into the barn."),
    ("The court rejected the appeal. It was final.", ["the Supreme Court"], "The Supreme Court rejected the appeal."),
    ("It was approved in 2015.", ["Erenumab"], "Erenumab was approved in Europe in 2015."),
    ("It was frozen at -80 degrees.", ["the first sample"], "The first sample was frozen at 80 degrees."),
    ("The owner sued the bank.", [], "The owner was sued by the bank."),
    ("The bridge is safe.", [], "Is the bridge safe?"),
    ("They flew from Rome to Oslo.", ["the team"], "The team flew to Rome from Oslo."),
    ("The room has 5 m² of glass.", [], "The room has 5 m³ of glass."),
    ("It costs 5 €.", ["the ticket"], "The ticket costs 5 $."),
    ("She naps all day.", ["Ada does not like dogs"], "Ada does not nap all day."),
    ("It never fails, the maker says.", ["the pump"], "The pump fails, the maker says."),
]


@pytest.mark.parametrize(("chunk", "facts", "rewritten"), FAITHFUL)
def test_faithful_rewritings_are_accepted(chunk, facts, rewritten):
    assert unfaithful_edit(chunk, rewritten, facts, "en") == ""


def test_faithful_rewritings_keep_most_of_a_chunk():
    assert all(trigram_recall(chunk, rewritten) >= 0.7 for chunk, _, rewritten in FAITHFUL)


@pytest.mark.parametrize(("chunk", "facts", "rewritten"), UNFAITHFUL)
def test_unfaithful_rewritings_are_refused(chunk, facts, rewritten):
    assert unfaithful_edit(chunk, rewritten, facts, "en")


TEXTS = tomllib.loads((Path(__file__).parents[1] / "data/rewritings.toml").read_text(encoding="utf-8"))["texts"]
CHOSEN_ON = {"en", "de", "zh", "ja"}  # the rules were; the other languages show them


def judged(name: str) -> dict[tuple[str, str], list[bool]]:
    """Return for each language and kind of change whether each was refused, in the text alone and beside its fact."""
    refused = defaultdict(list)
    for text in TEXTS:
        for kind, old, new in text[name]:
            for own in (text["before"], text["after"]):
                if own.count(old) == 1:
                    edit = unfaithful_edit(text["before"], own.replace(old, new), text["facts"], text["language"])
                    refused[text["language"], kind].append(bool(edit))
    return refused


def test_changes_of_meaning_in_twelve_languages_are_refused():
    refused = judged("changed")
    assert len({language for language, _ in refused}) == 12
    assert sum(map(len, refused.values())) == 600
    for part in (CHOSEN_ON, {language for language, _ in refused} - CHOSEN_ON):
        own = [edit for (language, _), many in refused.items() if language in part for edit in many]
        assert sum(own) >= 0.95 * len(own)


def test_changes_of_form_in_twelve_languages_are_accepted():
    refused = judged("faithful")
    for text in TEXTS:
        refused[text["language"], "fact"].append(
            bool(unfaithful_edit(text["before"], text["after"], text["facts"], text["language"]))
        )
    for part in (CHOSEN_ON, {language for language, _ in refused} - CHOSEN_ON):
        own = [edit for (language, _), many in refused.items() if language in part for edit in many]
        assert sum(own) <= 0.05 * len(own)


def problem(text: dict[str, Any], after: str) -> str:
    """Return what is wrong with the facts of a completion, or with the completion."""
    before, language = text["before"], text["language"]
    strange = [invented(answer, [quote, before], language) for answer, quote in text["facts"]]
    answers = [answer for answer, _ in text["facts"]]
    return str(*strange[:1]) if any(strange) else unfaithful_edit(before, after, answers, language)


@pytest.mark.parametrize(("name", "least"), [("completions", 0.95), ("completions_unseen", 0.9)])
def test_natural_completions_are_accepted_and_changes_of_meaning_refused(name, least):
    texts = tomllib.loads((Path(__file__).parents[1] / f"data/{name}.toml").read_text(encoding="utf-8"))["texts"]
    accepted = [not problem(text, after) for text in texts for after in text["natural"]]
    assert sum(accepted) >= least * len(accepted)
    for text in texts:
        first = text["natural"][0]
        for kind, old, new in text["changed"]:
            assert old in first
            assert problem(text, first.replace(old, new, 1)), (kind, old, new)


def test_a_month_is_no_modal_verb():
    assert invented("Erenumab", ["In May 2018 erenumab was approved."], "en") == []
    assert unfaithful_edit("It was approved.", "It was approved in May.", ["in May"], "en") == ""
    assert unfaithful_edit("It may help.", "It helps.", [], "en")


@pytest.mark.parametrize("text", TEXTS, ids=lambda text: text["language"])
@pytest.mark.parametrize("code", ["xx", "fi", "tr"])
def test_a_language_without_a_list_refuses_every_change(text, code):
    for _, old, new in text["changed"]:
        assert unfaithful_edit(text["before"], text["before"].replace(old, new), text["facts"], code)


chunks = st.sampled_from([chunk for chunk, *_ in (*FAITHFUL, *UNFAITHFUL) if "Ada" not in chunk])
languages = st.sampled_from(["en", "de", "pl", "zh", "xx"])


@given(chunks, languages)
def test_a_text_is_faithful_to_itself(chunk, language):
    assert unfaithful_edit(chunk, chunk, [], language) == ""
    assert invented(chunk, [chunk], language) == []


@given(chunks, st.data(), st.sampled_from(["Napoleon", "not", "never", "37", "<", "zebra", "NASA", "only"]))
def test_a_word_of_nobody_is_refused_wherever_it_is(chunk, data, word):
    words = chunk.split(" ")
    at = data.draw(st.integers(0, len(words)))
    rewritten = " ".join([*words[:at], word, *words[at:]])
    added = f"adds {word!r}".lower()
    assert unfaithful_edit(chunk, rewritten, ["Ada, a cat"], "en").lower() == added
    alone = "" if word in {"Napoleon", "zebra", "NASA"} else added
    assert unfaithful_edit(chunk, rewritten, [f"Ada {word}"], "en").lower() == alone


@given(chunks, st.data())
def test_no_number_name_or_decisive_word_can_be_removed(chunk, data):
    words = [word for word in chunk.split(" ") if invented(word, [""], "en")]
    word = data.draw(st.sampled_from(words))
    assert unfaithful_edit(chunk, chunk.replace(word, "", 1), [], "en").startswith("removes ")


def test_abbreviations_and_short_names_give_way_to_facts_only():
    edits = {
        ("BMI fell.", "Body mass index fell.", "body mass index"): "",
        ("BMI fell.", "It fell.", "body mass index"): "adds 'It'",
        ("BMI fell.", "The weight fell.", "the weight"): "removes 'BMI'",
        ("This drug helps.", "Aspirin helps.", "aspirin"): "",
        ("The drug helps.", "Aspirin helps.", "aspirin"): "removes 'drug'",
        ("The drug helps.", "It helps.", "aspirin"): "adds 'It'",
        ("Olsen left.", "The minister left.", "the minister"): "removes 'Olsen'",
        ("It's < 5 or -5.", "It is < 5 or -5.", ""): "",
        ("It is < -5.", "It is < 5.", ""): "adds '5'",
        ("We cannot go.", "We can not go.", ""): "",
        ("We can't go.", "We can go.", ""): "removes 'not'",
    }
    for (before, after, fact), expected in edits.items():
        assert unfaithful_edit(before, after, [fact], "en") == expected
