"""The recommendation: the simplest of those that tie with the highest score, which may be the highest itself."""

import itertools
import json
from dataclasses import replace
from textwrap import dedent

import numpy as np
import pytest

import advchunk
from advchunk import ConfigurationError, Document, Span
from advchunk.evaluation import Question, Reference, Result, recommend, synthetic
from advchunk.evaluation.comparison.recommend import Option, Recommendation, _choose, _options
from advchunk.evaluation.metrics.metering import RunCost
from advchunk.retrieval.search import SEARCHES, Search


class Words:
    """Embeds a text as the words it has: made-up ones mean nothing to a real model."""

    model_name = "tests/words"

    def embed(self, texts):
        rows = np.zeros((len(texts), 512))
        for row, text in zip(rows, texts, strict=True):
            for word in text.lower().split():
                row[sum(31**i * ord(letter) for i, letter in enumerate(word.strip("."))) % 512] += 1
        return rows


class Blind:
    """Embeds all texts alike."""

    model_name = "tests/blind"

    def embed(self, texts):
        return np.ones((len(texts), 4))


@pytest.fixture(scope="module")
def corpus():
    """Texts in which no two sentences share a topic, and the sentences as questions, answered by themselves."""
    texts, questions = [], []
    for seed in range(4):
        units = synthetic(seed, segments=27, sentences=(1, 1), words=(9, 11), overlap=0.0).units
        texts.append(Document(units.text, f"{seed}.md"))
        for a, b in itertools.pairwise(units.edges.tolist()):
            words = units.text[a:b].strip(" .").lower().split()
            questions.append(Question(" ".join(words[::2]), (Reference(f"{seed}.md", Span(a, b)),)))
    return texts, questions


QUICK = {"chunkers": ["recursive"], "sizes": (32, 512), "vectors": ("none",), "searches": (Search(),)}


def test_small_chunks_win_where_a_budget_is_short_and_large_where_chunks_are_counted(corpus):
    documents, questions = corpus
    small = recommend(documents, questions=questions, embedder=Words(), budget=40, **QUICK)
    assert small.option == Option("recursive", 32, "none", Search())
    assert small.verdict == "Use recursive, max_tokens=32: its score is significantly higher than every other."
    assert [row.verdict for row in small.rows] == ["baseline", "worse"]
    assert "| **recursive, max_tokens=32** |" in str(small)
    assert "108 questions, provided." in str(small)
    large = recommend(documents, questions=questions, embedder=Words(), metric="recall_at_k", **QUICK)
    assert large.option.max_tokens == 512
    assert "| option | recall of the first k, % | difference |" in str(large)


@pytest.mark.parametrize(("number", "settled"), [(50, True), (49, False)])
def test_equal_scores_are_a_tie_and_few_questions_settle_nothing(number, settled):
    documents = [Document(f"Ship{i} sleeps by day.", f"{i}") for i in range(number)]
    questions = [Question(text, (Reference(d.source, Span(0, 5)),)) for d in documents for text in (d.text, d.text[:6])]
    made = recommend(documents, questions=questions, chunkers=["optimal-semantic", "recursive"], sizes=(64,))
    assert made.settled == settled == (made.python.split("\n")[0] in str(made))
    assert made.option == Option("recursive", 64, "none", Search("lexical"))
    cells = {line.split(" | ")[3] for line in str(made).splitlines() if "max_tokens=64" in line and "|" in line}
    assert cells == {"highest"}  # all of them, since all are equal
    same = "All options have the same score: the questions do not tell them apart. recursive, max_tokens=64, lexical is"
    assert same in made.verdict
    assert made.verdict.startswith("All" if settled else f"This settles nothing: {2 * number} questions are too few")


def test_the_verdict_says_no_more_than_the_comparison():
    def verdict(scores, asked=120):
        results = [scored(option, values) for option, values in scores.items()]
        option, rows = _choose({option.label: option for option in scores}, results, "recall")
        return Recommendation(option, tuple(rows), (), asked, questions_built=False).verdict

    assert verdict({LEXICAL: LOW, BOTH: WILD}).startswith(f"Use {BOTH.label}: its score is significantly higher")
    assert "it also has the highest score" in verdict({LEXICAL: HIGH, DENSE: HIGH, SEMANTIC: LOW})
    assert f"that of {BOTH.label}." in verdict({LEXICAL: EVEN, BOTH: WILD})
    slightly = [score + 0.4 * (i < 5) for i, score in enumerate(EVEN)]  # an interval above 0, and noise among four
    text = verdict({LEXICAL: EVEN, DENSE: EVEN, UNITS: EVEN, SEMANTIC: EVEN, BOTH: slightly})
    assert (
        text
        == f"Use {BOTH.label}: its score is higher than every other, though 4 of the differences may be noise among so many."
    )


def test_words_are_recommended_where_vectors_know_nothing(corpus):
    documents, questions = corpus
    settings = {"chunkers": ["recursive"], "sizes": (16,), "budget": 40}
    made = recommend(documents, questions=questions, embedder=Blind(), **settings)
    assert made.option.search == Search("lexical")
    data = json.loads(json.dumps(made.to_dict()))
    assert (data["chunker"], data["parameters"]) == ("recursive", {"max_tokens": 16})
    assert data["search"]["mode"] == "lexical"
    assert len(data["comparisons"]) == len(made.rows) == 7


def scored(option, scores, chunks=3):
    costs = RunCost(), RunCost()
    fields = {"recall": np.array(scores)}, np.ones(chunks), {}, 1.0, 1.0, None, None, None, None, None
    return Result(option.label, "stable", {}, *fields, *costs)


LOW, EVEN, HIGH = [0.4, 0.5, 0.6] * 40, [0.5, 0.6, 0.7] * 40, [0.9, 0.8, 0.9] * 40
WILD = [0.0, 1.0, 0.99] * 40  # beside EVEN's: a higher mean, and far from sure
LEXICAL, DENSE = Option("recursive", 64, "none", Search("lexical")), Option("recursive", 64, "none", Search())
UNITS, BOTH = Option("recursive", 64, "units", Search()), Option("recursive", 64, "none", Search("hybrid"))
SEMANTIC = Option("optimal-semantic", 64, "none", Search())


@pytest.mark.parametrize(
    ("scores", "named"),
    [
        ({LEXICAL: HIGH, DENSE: HIGH, BOTH: HIGH}, LEXICAL),
        ({LEXICAL: LOW, DENSE: HIGH, BOTH: HIGH}, DENSE),
        ({LEXICAL: LOW, DENSE: EVEN, UNITS: HIGH, BOTH: HIGH}, UNITS),
        ({SEMANTIC: HIGH, DENSE: HIGH}, DENSE),
        ({SEMANTIC: HIGH, UNITS: HIGH}, UNITS),
        ({LEXICAL: EVEN, BOTH: WILD}, LEXICAL),
        ({LEXICAL: LOW, BOTH: EVEN}, BOTH),
    ],
)
def test_the_simplest_of_those_that_tie_is_named(scores, named):
    for order in (scores, dict(reversed(scores.items()))):
        results = [scored(option, values) for option, values in order.items()]
        assert _choose({option.label: option for option in order}, results, "recall")[0] == named


def test_of_equal_effort_the_fewest_chunks_are_named():
    large = Option("recursive", 256, "none", Search())
    results = [scored(DENSE, HIGH, chunks=9), scored(large, HIGH, chunks=4)]
    option, rows = _choose({DENSE.label: DENSE, large.label: large}, results, "recall")
    assert option == large
    made = Recommendation(option, tuple(rows), (), 120, questions_built=False)
    assert made.verdict == (
        "All options have the same score: the questions do not tell them apart. recursive, max_tokens=256 is the "
        "simplest."
    )


def test_words_are_not_tried_with_vectors_they_do_not_need():
    tried = {(option.vectors, option.search) for option in _options(["recursive"], (64,), ("none", "units"), SEARCHES)}
    assert {search for vectors, search in tried if vectors == "none"} == set(SEARCHES)
    assert {search.mode for vectors, search in tried if vectors == "units"} == {"dense", "hybrid"}


def test_questions_are_made_where_none_are_given_and_all_is_the_same_again():
    text = [synthetic(seed, segments=40, sentences=(4, 4), words=(9, 14), overlap=0.2).units for seed in range(3)]
    paragraphs = ["\n\n".join("".join(units.strings()[i : i + 4]) for i in range(0, len(units), 4)) for units in text]
    documents = [Document(paragraph, f"{i}.md") for i, paragraph in enumerate(paragraphs)]
    lines = []
    made, again = (recommend(documents, number=90, budget=100, progress=lines.append, **QUICK) for _ in range(2))
    assert made.questions_built
    assert f"{made.questions} questions, made from the documents' own sentences." in str(made)
    assert lines == 2 * ["recursive, max_tokens=32", "recursive, max_tokens=512"]
    assert again.option == made.option
    assert [row.score for row in again.rows] == [row.score for row in made.rows]


def test_documents_beyond_the_limit_are_left_out_those_without_questions_first(corpus):
    documents, questions = corpus
    some = [question for question in questions if question.references[0].document == "2.md"]
    room = len(documents[2].text) + min(len(document.text) for document in documents)
    large = Document("Far too large. " * 10_000, "large.md")
    part = recommend([large, *documents], questions=some, characters=room, **QUICK)
    assert part.questions == len(some)
    alone = recommend(documents, questions=some, characters=1, **QUICK)
    (row,) = [row for row in alone.rows if row.result.label == "recursive, max_tokens=32"]
    assert len(row.result.tokens) == len(advchunk.create("recursive", max_tokens=32).chunk(documents[2]))
    both = (Reference("0.md", Span(0, 9)), Reference("1.md", Span(0, 9)))
    with pytest.raises(ConfigurationError, match="questions must be two or more"):
        recommend(documents, questions=[Question("Who?", both)] * 2, characters=1, **QUICK)


def test_an_option_that_fails_is_listed_and_the_others_go_on(corpus):
    documents, questions = corpus
    made = recommend(documents, questions=questions, **{**QUICK, "chunkers": ["recursive", "llm-chaptering"]})
    assert [failure.label for failure in made.failures] == [
        "llm-chaptering, max_tokens=32",
        "llm-chaptering, max_tokens=512",
    ]
    assert "| failed: MissingModel: llm= is missing" in str(made)
    with pytest.raises(ConfigurationError, match="an option must have a result"):
        recommend(documents, questions=questions, **{**QUICK, "chunkers": ["llm-chaptering"]})


def test_the_printed_lines_create_what_was_scored(corpus):
    documents, questions = corpus
    made = recommend(documents, questions=questions, **QUICK)
    option = Option("optimal-semantic", 24, "units", Search("hybrid", neighbors=True))
    made = replace(made, option=option)
    exec(dedent(str(made).partition("models loaded.")[2]), {})  # with what they need
    made = replace(made, embedder="minilm")
    space = {"advchunk": advchunk, "Retriever": lambda _, **how: how, "chunks": {}}
    exec(made.python, space)
    chunker, how = space["chunker"], space["retriever"]
    assert (chunker.algorithm, chunker.max_tokens, chunker.vectors) == ("optimal-semantic", 24, "units")
    assert chunker.embedder == how["embedder"] == "minilm"
    assert Search(how["mode"], how["neighbors"]) == option.search
    assert "embedder=embedder" in replace(made, embedder=Words()).python
    assert "embedder" not in replace(made, option=LEXICAL).python


@pytest.mark.parametrize(
    ("params", "rule"),
    [
        ({"chunkers": ["recursiv"]}, "no chunker 'recursiv'; did you mean 'recursive'"),
        ({"chunkers": []}, "chunkers, vectors and searches must make an option"),
        ({"sizes": ()}, "sizes must be >= 1"),
        ({"sizes": (0, 9)}, "sizes must be >= 1"),
        ({"metric": "recal"}, "metric must be one of .*; did you mean 'recall'"),
        ({"characters": 0}, "characters must be >= 1"),
        ({"questions": [Question("?", (Reference("z.md", Span(0, 1)),))] * 2}, "questions must be about the documents"),
        ({"questions": []}, "questions must be two or more"),
        ({}, "documents must have two sentences to use as questions"),
    ],
)
def test_invalid_comparisons_are_refused(params, rule):
    with pytest.raises(ConfigurationError, match=rule):
        recommend([Document("Nothing to ask.", "a.md")], **params)


def test_only_questions_to_which_the_metric_applies_are_counted():
    parts = [f"Ships of kind {n} are slow. The rise of group {n} was {n}.5% vs {n}.1% of it." for n in range(1, 9)]
    text = " ".join(parts)
    starts = [text.index(f"The rise of group {n} ") for n in range(1, 9)]
    asked = [
        Question(f"How much rose group {n}?", (Reference("a", Span(start, text.index(" of it.", start))),))
        for n, start in enumerate(starts, 1)
    ]
    plain = [Question("What is slow?", (Reference("a", Span(0, 24)),))]
    settings = {"metric": "claims_at_k", "chunkers": ["recursive"], "sizes": (32, 64)}
    assert recommend([Document(text, "a")], questions=plain + asked, **settings).questions == 8
