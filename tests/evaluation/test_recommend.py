"""The recommendation: it names what is planted to win, the simplest where nothing does, and says so."""

from __future__ import annotations

import itertools
import json
import shlex
from dataclasses import replace
from types import SimpleNamespace

import numpy as np
import pytest
from click.testing import CliRunner

import advchunk
from advchunk import ConfigurationError, Document, Span
from advchunk.cli import main
from advchunk.evaluation import Question, Reference, synthetic
from advchunk.evaluation.comparison.recommend import (
    Option,
    Recommendation,
    _choose,
    _explain,
    _options,
    _select,
    recommend,
)
from advchunk.evaluation.metrics.statistics import mean_interval

QUICK = {"budget_seconds": None, "sizes": (16, 64)}


def asked_for_sentences(documents, count, **made):
    """Return texts in which no two sentences share a topic, and the sentences as questions, answered by themselves."""
    texts, questions = [], []
    for seed in range(documents):
        units = synthetic(seed, segments=count, sentences=(1, 1), words=(9, 11), overlap=0.0, **made).units
        texts.append(Document(units.text, f"{seed}.md"))
        for a, b in itertools.pairwise(units.edges.tolist()):
            words = units.text[a:b].strip(" .").lower().split()
            questions.append(Question(" ".join(words[::2]), (Reference(f"{seed}.md", Span(a, b)),)))
    return texts, questions


class Words:
    """Embeds a text as the words it has: made-up ones mean nothing to a real model."""

    model_name = "tests/words"

    def embed(self, texts):
        rows = np.zeros((len(texts), 512))
        for row, text in zip(rows, texts, strict=True):
            for word in text.lower().split():
                row[sum(31**i * ord(letter) for i, letter in enumerate(word.strip("."))) % 512] += 1
        return rows


@pytest.fixture(scope="module")
def corpus():
    return asked_for_sentences(4, 24)


def test_small_chunks_win_where_a_budget_is_short_and_large_where_chunks_are_counted(corpus):
    documents, questions = corpus
    settings = {"questions": questions, "chunkers": ["recursive"], "embedder": Words(), "budget_seconds": None}
    small = recommend(documents, sizes=(32, 512), budget=40, **settings)
    assert small.option == Option("recursive", 32, "none")
    assert small.parameters == {"max_tokens": 32}
    assert "The baseline is recursive, max_tokens=512 with " in small.why
    assert "This is the smallest size tried" in small.why
    large = recommend(documents, sizes=(4, 512), metric="recall_at_k", **settings)
    assert large.option == Option("recursive", 512, "none")
    assert " for recall_at_k. It cuts without embeddings. The best" not in large.why
    assert "This is the largest size tried" in large.why


@pytest.mark.parametrize("names", ["cat owl bat fox", "cat owl bat fox ant bee cow"])
def test_a_tie_is_decided_by_rule(names):
    documents = [Document(f"{name} sleeps by day.", name) for name in names.split()]
    questions = [Question(f"{document.id}?", (Reference(document.id, Span(0, 3)),)) for document in documents]
    settings = {"questions": questions, "chunkers": ["universal-semantic", "sliding-window"], **QUICK}
    recommendation = recommend([*documents, Document("", "empty")], **settings)
    assert recommendation.option == Option("recursive", 64, "none")
    few = "4 questions are too few for a significant difference"
    reason = few if len(questions) == 4 else "the best options score the same as the baseline on each question"
    start = f"No option is better: {reason}. The default is recursive, max_tokens=64 with "
    assert recommendation.why.startswith(start)
    assert recommendation.why.partition(" retrieved tokens.")[2].startswith(" This is based on ")
    assert len(recommendation.tried) == 9


def test_general_chunkers_are_tried_with_all_vectors():
    tried = _options(None, (64,))
    plain = ["recursive", "sliding-window"]
    embed = ["mst-semantic", "optimal-semantic", "semantic-threshold", "universal-semantic"]
    kinds = {name: ["none"] if name in plain else ["context", "plain", "units"] for name in plain + embed}
    assert {name: sorted(option.vectors for option in tried if option.chunker == name) for name in kinds} == kinds
    assert {option.chunker for option in tried} == set(kinds)


def explain(scores, complete=True):
    """Return what is said of scores, by option."""
    results = {option: scored(*option_) for option, option_ in scores.items()}
    option, options = _choose(results, "recall"), tuple(results)
    rows = [
        SimpleNamespace(result=SimpleNamespace(label=option_.label), score=mean_interval(results[option_].recall))
        for option_ in results
    ]
    whole = Recommendation(option, options, tuple(rows), "", 60, False, len(options), complete)
    return option, _explain(whole, results, "recall", 1000)


def test_no_option_is_named_twice():
    tried = [BASE, PLAIN, EMBEDS, CONTEXT, UNITS, *(Option("other", size, "none") for size in range(1, 7))]
    option, why = explain({**dict.fromkeys(tried, EVEN), BASE: LOW, UNITS: HIGH, EMBEDS: HIGH})
    assert option == EMBEDS
    assert why.count("recursive, ") == why.count("context, ") == why.count("units, ") == why.count("none, ") == 1
    assert "Not significantly different" not in why
    option, why = explain({**dict.fromkeys(tried, EVEN), BASE: LOW})
    assert option == PLAIN
    rest = "; ".join(f"other, max_tokens={size}" for size in range(1, 5))
    assert f"Not significantly different: {rest} and 2 more." in why
    assert "The best that cuts by embeddings is " in why
    assert "+0.0 points [+0.0, +0.0], which may be noise" in why


def test_a_size_at_the_end_is_told_of_what_was_run_in_time():
    for sizes, end, beyond in (((64, 128), "smallest", "smaller"), ((32, 64), "largest", "larger")):
        scores = {Option("none", size, "none"): HIGH if size == 64 else LOW for size in sizes}
        assert f"This is the {end} size tried: a {beyond} one may be better." in explain(scores)[1]
        assert "size tried" not in explain(scores, complete=False)[1]
    middle = {Option("none", size, "none"): HIGH if size == 64 else LOW for size in (32, 64, 128)}
    assert "size tried" not in explain(middle)[1]


def test_the_vectors_option_points_to_python():
    for best in (CONTEXT, UNITS):
        option, why = explain({PLAIN: LOW, EMBEDS: LOW, CONTEXT: LOW, UNITS: LOW, best: HIGH})
        assert option == best
        assert "Store these vectors; they are available from Python only, not from the command." in why
    assert "Python" not in explain({PLAIN: LOW, EMBEDS: HIGH, UNITS: LOW})[1]


@pytest.mark.parametrize(("number", "named"), [(5, "recursive"), (6, "units")])
def test_a_difference_takes_six_questions(number, named):
    assert explain({BASE: [0.1] * number, PLAIN: [0.2] * number, UNITS: [0.9] * number})[0].chunker == named


def scored(*scores):
    return SimpleNamespace(recall=np.array(scores))


BASE = Option("recursive", 64, "none")
PLAIN, EMBEDS, CONTEXT, UNITS = (Option(kind, 64, kind) for kind in ("none", "plain", "context", "units"))
LOW, EVEN, HIGH = [0.4, 0.5, 0.6] * 20, [0.5, 0.6, 0.7] * 20, [0.9, 0.8, 0.9] * 20
WILD = [0.0, 1.0, 0.99] * 20  # the best mean but HIGH's, and far from sure


@pytest.mark.parametrize(
    ("scores", "named"),
    [
        ((EVEN, WILD, LOW), PLAIN),
        ((LOW, EVEN, LOW), EMBEDS),
        ((LOW, EVEN, HIGH), CONTEXT),
        ((LOW, HIGH, EVEN), EMBEDS),
        ((LOW, EVEN, WILD), EMBEDS),
        ((EVEN, WILD, HIGH), CONTEXT),
        ((HIGH, WILD, EVEN), PLAIN),
        ((LOW, EVEN, LOW, HIGH), UNITS),
        ((LOW, LOW, EVEN, WILD), CONTEXT),
        ((LOW, LOW, HIGH, EVEN), CONTEXT),
        ((HIGH, LOW, LOW, EVEN), PLAIN),
    ],
)
def test_costlier_options_must_be_significantly_better(scores, named):
    results = {option: scored(*values) for option, values in zip((PLAIN, EMBEDS, CONTEXT, UNITS), scores, strict=False)}
    assert _choose(results, "recall") == named
    assert _choose(dict(reversed(results.items())), "recall") == named


def test_the_baseline_the_best_third_and_the_best_of_each_kind_go_on():
    options = [Option(f"{kind}-{i}", 64, kind) for kind in ("none", "plain", "context", "units") for i in range(3)]
    points = dict(zip(options, (0.1, 0.2, 0.3, 0.7, 0.8, 0.9, 0.4, 0.4, 0.1, 0.6, 0.5, 0.5), strict=True))
    going = _select({option: scored(score) for option, score in points.items()}, "recall")
    assert going == [options[0], options[5], options[4], options[3], options[9], options[2], options[6]]


def test_two_go_on_at_least():
    results = {
        BASE: scored(0.5),
        Option("recursive", 32, "none"): scored(0.4),
        Option("recursive", 16, "none"): scored(0.3),
    }
    assert _select(results, "recall") == list(results)[:2]


def test_questions_are_made_where_none_are_given_and_all_is_the_same_again():
    text = [synthetic(seed, segments=40, sentences=(4, 4), words=(9, 14), overlap=0.2).units for seed in range(3)]
    paragraphs = ["\n\n".join("".join(units.strings()[i : i + 4]) for i in range(0, len(units), 4)) for units in text]
    documents = [Document(paragraph, f"{i}.md") for i, paragraph in enumerate(paragraphs)]
    lines = []
    settings = {"number": 90, "budget": 100, "chunkers": ["recursive", "universal-semantic"], **QUICK}
    recommendation = recommend(documents, progress=lines.append, **settings)
    assert recommendation.questions_built
    assert recommendation.complete
    assert 70 <= recommendation.questions <= 90
    assert "made from the documents' own sentences" in recommendation.why
    assert recommendation.runs == len(lines)
    first, last = ([line for line in lines if line.startswith(f"round {turn} of 2, ")] for turn in (1, 2))
    assert lines == first + last
    assert first[0] == "round 1 of 2, 1 of 8: recursive, max_tokens=64"
    assert 2 <= len(last) < len(first) == 8
    assert {row.result.label for row in recommendation.rows} == {line.partition(": ")[2] for line in last}
    again = recommend(documents, **settings)
    assert (again.why, again.option, again.runs) == (recommendation.why, recommendation.option, recommendation.runs)


def test_when_time_is_up_what_is_known_decides(corpus):
    documents, questions = corpus
    settings = {
        "questions": questions,
        "chunkers": ["sliding-window", "recursive"],
        "embedder": Words(),
        "sizes": (32, 512),
    }
    ran = []
    hurried = recommend(
        documents, **settings, budget=40, budget_seconds=0.5, clock=itertools.count().__next__, progress=ran.append
    )
    assert not hurried.complete
    assert hurried.runs == len(ran) == len(hurried.tried) == 2
    assert hurried.option.label in {line.partition(": ")[2] for line in ran}
    assert hurried.why.endswith("and 2 runs. Time was up before all runs were finished.")
    # The first round takes four: it decides, though the second was begun.
    interrupted = recommend(documents, **settings, budget=40, budget_seconds=3.5, clock=itertools.count().__next__)
    assert interrupted.runs == 5
    assert not interrupted.complete
    assert len(interrupted.rows) == 4
    assert interrupted.questions < len(questions)
    whole = recommend(documents, **settings, budget=40, budget_seconds=1e9)
    assert whole.complete
    assert whole.questions == len(questions)


def test_documents_beyond_the_limit_are_left_out_those_without_questions_first(corpus):
    documents, questions = corpus
    some_questions = [question for question in questions if question.references[0].document == "2.md"]
    room = len(documents[2].text) + min(len(document.text) for document in documents)
    large = Document("Far too large. " * 10_000, "large.md")
    part = recommend([large, *documents], questions=some_questions, characters=room, chunkers=["recursive"], **QUICK)
    assert part.questions == len(some_questions)
    none = recommend(documents, questions=some_questions, characters=1, chunkers=["recursive"], **QUICK)
    sizes = [sum(len(chunk.text) for chunk in advchunk.create("recursive", max_tokens=16).chunk(documents[2]))]
    (row,) = [row for row in none.rows if row.result.settings["max_tokens"] == 16]
    assert [sum(end - start for _, start, end in chunk_) for chunk_ in row.result.chunks] == sizes


def test_it_says_what_to_write(corpus):
    documents, questions = corpus
    recommendation = recommend(documents, questions=questions, chunkers=["optimal-semantic"], **QUICK)
    data = json.loads(json.dumps(recommendation.to_dict()))
    assert data["chunker"] == recommendation.option.chunker
    assert data["parameters"] == recommendation.parameters
    assert len(data["comparisons"]) == len(recommendation.rows)
    assert str(recommendation) == f"{recommendation.why}\n\n    {recommendation.python}\n    {recommendation.command}\n"
    for option in recommendation.tried:
        built = replace(recommendation, option=option)
        chunker = eval(built.python, {"advchunk": advchunk})  # the line is the result
        assert chunker.algorithm == option.chunker
        assert chunker.max_tokens == option.max_tokens
        assert getattr(chunker, "vectors", "none") == option.vectors.replace("plain", "none")
    assert {option.vectors for option in recommendation.tried} == {"none", "plain", "context", "units"}


def test_an_embedder_is_named_where_it_is_needed_and_stood_in_for_where_it_has_no_name(corpus, tmp_path):
    documents, questions = corpus
    recommendation = recommend(documents, questions=questions, chunkers=["recursive"], **QUICK)
    plain, embeds = Option("recursive", 64, "none"), Option("optimal-semantic", 64, "context")
    assert (
        replace(recommendation, option=plain, embedder="minilm").python == "advchunk.create('recursive', max_tokens=64)"
    )
    named = replace(recommendation, option=embeds, embedder="minilm")
    assert named.python == "advchunk.create('optimal-semantic', max_tokens=64, embedder='minilm', vectors='context')"
    assert named.command == "advchunk chunk FILE -m optimal-semantic -p max_tokens=64 --embedder minilm"
    own = replace(recommendation, option=embeds, embedder=Words())
    assert own.python == "advchunk.create('optimal-semantic', max_tokens=64, embedder=embedder, vectors='context')"
    assert own.parameters["embedder"] == "tests/words"
    path = tmp_path / "a.md"
    path.write_text("One. Two.", "utf-8")
    args = shlex.split(replace(recommendation, option=embeds, embedder=None).command.replace("FILE", str(path)))
    done = CliRunner().invoke(main, args[1:])
    assert done.exit_code == 0, done.output


@pytest.mark.parametrize(
    ("params", "rule"),
    [
        ({"chunkers": ["recursiv"]}, "chunkers must be registered; did you mean 'recursive'"),
        ({"sizes": ()}, "sizes must be >= 1"),
        ({"metric": "recal"}, "metric must be one of .*; did you mean 'recall'"),
        ({"sizes": (0, 9)}, "sizes must be >= 1"),
        ({"characters": 0}, "characters must be >= 1"),
        ({"budget_seconds": 0}, "budget_seconds must be > 0 or None"),
        ({"budget": 0, "questions": [Question("Who?", (Reference("a.md", Span(0, 1)),))] * 2}, "budgets must be >= 1"),
        (
            {"questions": [Question("Who?", (Reference("z.md", Span(0, 1)),))] * 2},
            "questions must be about the documents",
        ),
        ({"questions": []}, "questions must be two or more"),
        ({}, "documents must have two sentences to use as questions"),
    ],
)
def test_invalid_comparisons_are_refused(params, rule):
    with pytest.raises(ConfigurationError, match=rule):
        recommend([Document("Nothing to ask.", "a.md")], **params)


def test_questions_of_documents_that_are_left_out_are_not_enough():
    documents = [Document("x" * 100, "a"), Document("y" * 100, "b")]
    both = (Reference("a", Span(0, 9)), Reference("b", Span(0, 9)))
    with pytest.raises(ConfigurationError, match="documents must answer two questions or more"):
        recommend(documents, questions=[Question("Who?", both), Question("Why?", both)], characters=150)


def test_only_questions_with_claims_are_asked_where_claims_are_compared():
    text = " ".join(
        f"Ships of kind {n} are slow. The rise of group {n} was {n}.5% vs {n}.1% of it." for n in range(1, 9)
    )
    whole = Document(text, "a")
    places = [(at, text.index(" of it.", at)) for at in (text.index(f"The rise of group {n} ") for n in range(1, 9))]
    asked = [
        Question(f"How much rose group {n}?", (Reference("a", Span(*place)),)) for n, place in enumerate(places, 1)
    ]
    plain = [Question("What is slow?", (Reference("a", Span(0, 24)),))]
    recommendation = recommend(
        [whole], questions=plain + asked, metric="claims_at_k", chunkers=["recursive"], sizes=(32, 64)
    )
    assert recommendation.questions == 8
