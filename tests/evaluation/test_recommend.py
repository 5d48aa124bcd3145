"""The recommendation: it names what is planted to win, the simplest where nothing does, and says so."""

from __future__ import annotations

import itertools
import json
import re
import shlex
from dataclasses import asdict, replace
from types import SimpleNamespace

import numpy as np
import pytest
from click.testing import CliRunner
from hypothesis import given, settings
from hypothesis import strategies as st

import advchunk
from advchunk import Chunk, ConfigurationError, Document, Span
from advchunk.cli import main
from advchunk.evaluation import Candidate, EvaluationTask, Question, Reference, compare, synthetic
from advchunk.evaluation.comparison.harness import ChunkedTask, run
from advchunk.evaluation.comparison.recommend import _choose, _options, _select, recommend
from advchunk.evaluation.comparison.recommendation import Option, Recommendation
from advchunk.evaluation.metrics.metering import RunCost
from advchunk.retrieval.search import SEARCHES, Search

pytestmark = pytest.mark.slow

QUICK = {"budget_seconds": None, "sizes": (16, 64), "searches": (Search(),)}


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
    return asked_for_sentences(4, 27)


def test_small_chunks_win_where_a_budget_is_short_and_large_where_chunks_are_counted(corpus):
    documents, questions = corpus
    settings = {"questions": questions, "chunkers": ["recursive"], "embedder": Words(), **QUICK}
    del settings["sizes"]
    small = recommend(documents, sizes=(32, 512), budget=40, **settings)
    assert small.settled
    assert small.option == Option("recursive", 32, "units")
    assert small.parameters == {"max_tokens": 32, "embedder": "tests/words", "vectors": "units"}
    assert small.verdict == "Use recursive, max_tokens=32, units."
    assert [row.verdict for row in small.rows] == ["baseline", "worse", "worse", "worse"]
    assert small.rows[-1].result.label == "recursive, max_tokens=512"
    assert "\nNo smaller size was tried; it may be better.\n" in str(small)
    large = recommend(documents, sizes=(4, 512), metric="recall_at_k", **settings)
    assert large.option == Option("recursive", 512, "none")
    assert large.verdict == "TIE: no option is significantly better than the default, recursive, max_tokens=512."
    assert "| option | recall of the first k, % | difference | verdict |" in str(large)
    assert "\nNo larger size was tried; it may be better.\n" in str(large)


@pytest.mark.parametrize(
    ("number", "start"), [(50, "TIE: no option is significantly better"), (49, "THIS SETTLES NOTHING: 98")]
)
def test_equal_scores_are_a_tie_and_few_questions_settle_nothing(number, start):
    documents = [Document(f"Ship{i} sleeps by day.", f"{i}") for i in range(number)]
    questions = [Question(text, (Reference(d.id, Span(0, 5)),)) for d in documents for text in (d.text, d.text[:6])]
    settings = {"questions": questions, "chunkers": ["universal-semantic", "sliding-window"], **QUICK}
    recommendation = recommend([*documents, Document("", "empty")], **settings)
    assert recommendation.option == Option("recursive", 64, "none")
    assert str(recommendation).startswith(start)
    assert recommendation.settled == (number == 50)
    tied = {line.split(" | ")[-1] for line in str(recommendation).splitlines() if line.startswith("| ")}
    assert tied == {"verdict |", "default |", "tie |" if recommendation.settled else "not settled |"}
    assert len(recommendation.tried) == 13


def test_general_chunkers_are_tried_with_all_vectors():
    tried = _options(None, (64,), (Search(),))
    plain = ["recursive", "sliding-window"]
    embed = ["mst-semantic", "optimal-semantic", "semantic-threshold", "universal-semantic"]
    kinds = {name: ["context", "none", "units"] for name in plain} | {n: ["context", "plain", "units"] for n in embed}
    assert {name: sorted(option.vectors for option in tried if option.chunker == name) for name in kinds} == kinds
    assert {option.chunker for option in tried} == set(kinds)


def scored(option, scores):
    cost = RunCost(calls=0, texts=0, tokens=0)
    return SimpleNamespace(label=option.label, recall=np.array(scores), cost=cost)


def results_of(scores):
    return {option: scored(option, values) for option, values in scores.items()}


BASE = Option("recursive", 64, "none")
PLAIN, EMBEDS = Option("sliding-window", 64, "none"), Option("universal-semantic", 64, "plain")
CONTEXT, UNITS = Option("optimal-semantic", 64, "context"), Option("mst-semantic", 64, "units")
LOW, EVEN, HIGH = [0.4, 0.5, 0.6] * 40, [0.5, 0.6, 0.7] * 40, [0.9, 0.8, 0.9] * 40
WILD = [0.0, 1.0, 0.99] * 40  # the best mean but HIGH's, and far from sure


def recommended(scores, complete=True):
    """Return the recommendation by scores, by option."""
    results = results_of(scores)
    option, rows = _choose(results, "recall", lambda _: True)
    number = len(rows[0].result.recall)
    return Recommendation(option, tuple(results), tuple(rows), (), number, False, len(results), complete)


def test_the_first_line_tells_ties_from_wins_and_both_from_nothing():
    tie = recommended({BASE: LOW, PLAIN: HIGH, EMBEDS: HIGH})
    assert tie.verdict == "Use sliding-window, max_tokens=64; a tie with 1 other in the table."
    assert [line.split(" | ")[-1] for line in str(tie).splitlines()[4:7]] == ["recommended |", "tie |", "worse |"]
    assert recommended({BASE: LOW, PLAIN: HIGH}).verdict == "Use sliding-window, max_tokens=64."
    late = recommended({BASE: LOW, PLAIN: HIGH}, complete=False)
    assert late.verdict.startswith("THIS SETTLES NOTHING: time was up after 2 runs.")


def test_a_size_at_the_end_is_mentioned_if_all_sizes_were_run():
    for sizes, beyond in (((64, 128), "smaller"), ((32, 64), "larger")):
        scores = {
            Option("recursive", size, "none"): HIGH if size == 64 else LOW
            for size in sorted(sizes, key=lambda n: n == 64)
        }
        assert f"No {beyond} size was tried" in str(recommended(scores))
        assert "size was tried" not in str(recommended(scores, complete=False))
    middle = {Option("recursive", size, "none"): HIGH if size == 64 else LOW for size in (32, 64, 128)}
    assert "size was tried" not in str(recommended(middle))


def test_vectors_that_the_command_cannot_give_are_left_to_python():
    for best in (CONTEXT, UNITS):
        choice = recommended({BASE: LOW, EMBEDS: LOW, CONTEXT: LOW, UNITS: LOW, best: HIGH})
        assert choice.option == best
        assert choice.command == ""
        assert "they are available from Python only" in str(choice)


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
    options = [*zip((PLAIN, EMBEDS, CONTEXT, UNITS), scores, strict=False)]
    for order in (options, options[::-1]):
        assert _choose(results_of({BASE: [0.1, 0.2, 0.1] * 40, **dict(order)}), "recall", lambda _: True)[0] == named


def test_an_option_that_does_not_decide_on_its_cuts_is_passed_over():
    results = results_of({BASE: LOW, PLAIN: EVEN, EMBEDS: HIGH})
    assert _choose(results, "recall", lambda option: option != EMBEDS)[0] == PLAIN
    assert _choose(results, "recall", lambda option: option == EMBEDS)[0] == EMBEDS


@settings(max_examples=20)
@given(st.data())
def test_no_option_is_significantly_better_than_the_recommended_one(data):
    kinds = data.draw(st.lists(st.sampled_from([EMBEDS, CONTEXT, UNITS, PLAIN]), max_size=5))
    options = [BASE, *(replace(option, max_tokens=32 + i) for i, option in enumerate(kinds))]
    rng = np.random.default_rng(data.draw(st.integers(0, 99)))
    results = results_of({option: np.clip(rng.normal(rng.random(), 0.2, 20), 0, 1) for option in options})
    option, rows = _choose(results, "recall", lambda _: True)
    assert {row.verdict for row in rows} <= {"baseline", "noise", "worse"}
    assert rows == compare(list(results.values()), option.label)


def test_the_baseline_the_best_third_and_the_best_of_each_kind_go_on():
    options = [Option(f"{kind}-{i}", 64, kind) for kind in ("none", "plain", "context", "units") for i in range(3)]
    points = dict(zip(options, (0.1, 0.2, 0.3, 0.7, 0.8, 0.9, 0.4, 0.4, 0.1, 0.6, 0.5, 0.5), strict=True))
    going = _select(results_of({option: [score] for option, score in points.items()}), "recall")
    assert going == [options[0], options[5], options[4], options[3], options[9], options[2], options[6]]


def test_two_go_on_at_least():
    results = results_of({replace(BASE, max_tokens=size): [score] for size, score in ((64, 0.5), (32, 0.4), (16, 0.3))})
    assert _select(results, "recall") == list(results)[:2]


def test_questions_are_made_where_none_are_given_and_all_is_the_same_again():
    text = [synthetic(seed, segments=40, sentences=(4, 4), words=(9, 14), overlap=0.2).units for seed in range(3)]
    paragraphs = ["\n\n".join("".join(units.strings()[i : i + 4]) for i in range(0, len(units), 4)) for units in text]
    documents = [Document(paragraph, f"{i}.md") for i, paragraph in enumerate(paragraphs)]
    lines = []
    settings = {"number": 90, "budget": 100, "chunkers": ["universal-semantic"], **QUICK}
    recommendation = recommend(documents, progress=lines.append, **settings)
    assert recommendation.questions_built
    assert recommendation.complete
    assert 70 <= recommendation.questions <= 90
    assert f"{recommendation.questions} questions, made from the documents' own sentences; " in str(recommendation)
    assert recommendation.runs == len(lines)
    first, last = ([line for line in lines if line.startswith(f"round {turn} of 2, ")] for turn in (1, 2))
    assert lines == first + last
    assert first[0] == "round 1 of 2, 1 of 7: recursive, max_tokens=64"
    assert 2 <= len(last) < len(first) == 7
    assert {row.result.label for row in recommendation.rows} == {line.partition(": ")[2] for line in last}
    again = recommend(documents, **settings)
    assert str(again) == str(recommendation)


def test_when_time_is_up_what_is_known_decides(corpus):
    documents, questions = corpus
    settings = {
        "questions": questions,
        "chunkers": ["sliding-window", "recursive"],
        "embedder": Words(),
        "sizes": (32, 512),
        "searches": (Search(),),
    }
    ran = []
    hurried = recommend(
        documents, **settings, budget=40, budget_seconds=0.5, clock=itertools.count().__next__, progress=ran.append
    )
    assert not hurried.complete
    assert hurried.runs == len(ran) == len(hurried.tried) == 2
    assert hurried.option == hurried.tried[0]
    assert str(hurried).startswith("THIS SETTLES NOTHING: time was up after 2 runs.")
    # The first round takes twelve: it decides, though the second was begun.
    interrupted = recommend(documents, **settings, budget=40, budget_seconds=11.5, clock=itertools.count().__next__)
    assert interrupted.runs == 13
    assert not interrupted.complete
    assert len(interrupted.rows) == 12
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
    (row,) = [row for row in none.rows if row.result.label == "recursive, max_tokens=16"]
    assert [sum(end - start for _, start, end in chunk_) for chunk_ in row.result.chunks] == sizes


def test_an_option_that_fails_is_listed_and_the_others_go_on(corpus):
    documents, questions = corpus
    result = recommend(documents, questions=questions, chunkers=["recursive", "llm-chaptering"], **QUICK)
    assert {failure.label.partition(",")[0] for failure in result.failures} == {"llm-chaptering"}
    assert len(result.failures) == 6
    assert result.settled
    assert "| failed: MissingModel: llm= is missing" in str(result)
    assert {row.result.label.partition(", ")[0] for row in result.rows} == {"recursive"}


class FromCommand:
    """Chunk documents by the printed command."""

    def __init__(self, command, folder):
        self.command, self.folder = command, folder

    def __call__(self, documents):
        return [self.chunks(document) for document in documents]

    def chunks(self, document):
        path = self.folder / document.id
        path.write_text(document.text, "utf-8")
        arguments = shlex.split(self.command.replace("FILE", str(path)))[1:]
        done = CliRunner().invoke(main, [*arguments, "-f", "jsonl"])
        assert done.exit_code == 0, done.output
        records = [json.loads(line) for line in done.stdout.splitlines()]
        spans = [tuple(Span(*span) for span in record["spans"]) for record in records]
        return [
            Chunk(record["text"], spans_, 0, i) for i, (record, spans_) in enumerate(zip(records, spans, strict=True))
        ]


@pytest.mark.parametrize("suffix", ["md", "txt"])
def test_the_printed_lines_deliver_the_figures(tmp_path, suffix):
    documents, questions = asked_for_sentences(2, 52)
    documents = [Document(f"# Ships\n\n{d.text}\n\n=====\n\n- a\n- b\n", d.id.replace("md", suffix)) for d in documents]
    moved = [(q.text, r.document.replace("md", suffix), r.span) for q in questions for r in q.references]
    questions = [Question(text, (Reference(name, Span(a + 9, b + 9)),)) for text, name, (a, b) in moved]
    names = ["optimal-semantic", "texttiling", "recursive"]
    recommendation = recommend(documents, questions=questions, chunkers=names, budget=60, **QUICK)
    assert recommendation.settled
    by_label = {row.result.label: row.result for row in recommendation.rows}
    task = EvaluationTask(tuple(documents), tuple(questions), budget=60)
    for option in (option for option in recommendation.tried if option.label in by_label):
        printed = replace(recommendation, option=option)
        chunker = eval(printed.python, {"advchunk": advchunk})
        cuts = {"python": chunker.chunk_many} | (
            {"command": FromCommand(printed.command, tmp_path)} if printed.command else {}
        )
        for source, cut in cuts.items():
            assert run(Candidate(source, cut, "stable", search=option.search), task).recall.mean() == pytest.approx(
                by_label[option.label].recall.mean()
            )


def test_the_printed_lines_create_the_option(corpus):
    documents, questions = corpus
    recommendation = recommend(documents, questions=questions, chunkers=["optimal-semantic"], **QUICK)
    data = json.loads(json.dumps(recommendation.to_dict()))
    assert data["chunker"] == recommendation.option.chunker
    assert data["parameters"] == recommendation.parameters
    assert data["verdict"] == recommendation.verdict
    assert len(data["comparisons"]) == len(recommendation.rows)
    for option in recommendation.tried:
        built = replace(recommendation, option=option)
        chunker = eval(built.python, {"advchunk": advchunk})
        assert chunker.algorithm == option.chunker
        assert chunker.max_tokens == option.max_tokens
        assert getattr(chunker, "vectors", "none") == option.vectors.replace("plain", "none")
    assert {option.vectors for option in recommendation.tried} == {"none", "plain", "context", "units"}


def test_an_embedder_is_named_where_it_is_needed_and_stood_in_for_where_it_has_no_name(corpus):
    documents, questions = corpus
    recommendation = recommend(documents, questions=questions, chunkers=["recursive"], **QUICK)
    plain, embeds = Option("recursive", 64, "none"), Option("optimal-semantic", 64, "context")
    assert (
        replace(recommendation, option=plain, embedder="minilm").python == "advchunk.create('recursive', max_tokens=64)"
    )
    named = replace(recommendation, option=embeds, embedder="minilm")
    assert named.python == "advchunk.create('optimal-semantic', max_tokens=64, embedder='minilm', vectors='context')"
    cuts = replace(named, option=replace(embeds, vectors="plain"))
    assert (
        cuts.command == "advchunk chunk FILE -m optimal-semantic -p max_tokens=64 -p markup=markdown --embedder minilm"
    )
    own = replace(recommendation, option=embeds, embedder=Words())
    assert own.python == "advchunk.create('optimal-semantic', max_tokens=64, embedder=embedder, vectors='context')"
    assert own.parameters["embedder"] == "tests/words"
    assert replace(cuts, embedder=Words()).command == ""


class Blind:
    """Embeds all texts alike."""

    model_name = "tests/blind"

    def embed(self, texts):
        return np.ones((len(texts), 4))


def test_words_are_recommended_where_vectors_know_nothing(corpus):
    documents, questions = corpus
    settings = {"questions": questions, "chunkers": ["recursive"], "sizes": (16,), "budget": 40, "budget_seconds": None}
    result = recommend(documents, embedder=Blind(), **settings)
    assert result.option == Option("recursive", 16, "none", Search("lexical"))
    assert {option.search for option in result.tried if option.vectors == "none"} == set(SEARCHES)
    assert result.verdict.startswith("Use recursive, max_tokens=16, lexical")
    assert {"advchunk:", "LangChain:", "LlamaIndex:", "Command:"} <= set(str(result).splitlines())
    assert result.to_dict()["search"] == asdict(Search("lexical"))


def test_searches_that_gain_nothing_are_not_tried():
    tried = {(option.vectors, option.search.label) for option in _options(["optimal-semantic"], (64,))}
    assert {label for vectors, label in tried if vectors == "context"} == {"dense", "hybrid"}
    assert {label for vectors, label in tried if vectors == "units"} == {
        "dense", "dense, neighbors", "hybrid", "hybrid, neighbors"
    }  # fmt: skip
    assert {label for vectors, label in tried if vectors == "plain"} == {search.label for search in SEARCHES}


def test_the_simplest_search_is_named_of_those_that_win():
    words, both = replace(PLAIN, search=Search("lexical")), replace(PLAIN, search=Search("hybrid", neighbors=True))
    assert words.kind < BASE.kind < both.kind
    assert both.kind == replace(both, search=Search("hybrid")).kind
    assert recommended({BASE: LOW, words: HIGH, both: HIGH, CONTEXT: HIGH}).option == words
    assert recommended({BASE: LOW, both: HIGH, CONTEXT: HIGH}).option == CONTEXT
    assert recommended({BASE: LOW, both: HIGH, words: EVEN}).option == both


@pytest.mark.parametrize("search", SEARCHES, ids=lambda search: search.label)
def test_the_printed_code_retrieves_what_was_scored(corpus, search):
    documents, questions = corpus
    option = Option("recursive", 24, "none", search)
    draft = Recommendation(option, (option,), (), (), 200, False, 1, True, budget=1000)
    variables = {"texts": {d.source: d.text for d in documents}, "query": questions[5].text}
    exec(draft.code["advchunk"], variables)
    task = EvaluationTask(tuple(documents), tuple(questions))
    shared = ChunkedTask.of(option.candidate(None, {}), task)
    order, _ = shared._index.rank(search)
    texts = [hit.chunk.text for hit in variables["retriever"].search(questions[5].text, k=5)]
    assert texts == [shared._flat[i].text for i in order[5, : len(texts)]]
    assert variables["passages"]


@pytest.mark.parametrize("search", SEARCHES, ids=lambda search: search.label)
@pytest.mark.parametrize("vectors", ["plain", "context", "units"])
def test_the_printed_code_of_both_frameworks_retrieves_alike(corpus, search, vectors):
    from langchain_core.documents import Document as LangChainDocument
    from llama_index.core import Document as LlamaIndexDocument

    documents, questions = corpus
    option = Option("optimal-semantic", 24, vectors, search)
    draft = Recommendation(option, (option,), (), (), 200, False, 1, True, budget=60)
    core = {"texts": {d.source: d.text for d in documents}, "query": questions[5].text}
    exec(draft.code["advchunk"], core)
    expected = [passage.text.strip() for passage in core["passages"]]
    sources = [LangChainDocument(d.text, metadata={"source": d.source}) for d in documents]
    other = {"documents": sources, "query": questions[5].text}
    exec(draft.code["LangChain"], other)
    assert [passage.page_content.strip() for passage in other["passages"]] == expected
    sources = [LlamaIndexDocument(text=d.text, id_=d.source) for d in documents]
    other = {"documents": sources, "query": questions[5].text}
    exec(draft.code["LlamaIndex"], other)
    assert [passage.text.strip() for passage in other["passages"]] == expected


def test_the_printed_code_names_a_language_that_is_not_told_by_the_text():
    option = replace(BASE, search=Search("hybrid"))
    draft = Recommendation(option, (option,), (), (), 200, False, 1, True, language="de")
    assert all("language='de'" in code for code in draft.code.values())
    assert not any("language" in code for code in replace(draft, option=BASE).code.values())
    assert not any("language" in code for code in replace(draft, language="auto").code.values())


@pytest.mark.parametrize("name", advchunk.names())
@pytest.mark.parametrize("vectors", ["none", "units"])
def test_the_printed_code_uses_classes_that_exist(name, vectors):
    langchain, llamaindex = pytest.importorskip("langchain_advchunk"), pytest.importorskip("llamaindex_advchunk")
    for search in SEARCHES:
        option = Option(name, 64, vectors, search)
        draft = Recommendation(option, (option,), (), (), 200, False, 1, True, embedder="minilm")
        for code in draft.code.values():
            compile(code, name, "exec")
        assert hasattr(langchain, re.search(r"splitter = (\w+)\(", draft.code["LangChain"])[1])
        assert hasattr(llamaindex, re.search(r"parser = (\w+)\(", draft.code["LlamaIndex"])[1])


@pytest.mark.parametrize(
    ("params", "rule"),
    [
        ({"chunkers": ["recursiv"]}, "chunkers must be registered; did you mean 'recursive'"),
        ({"sizes": ()}, "sizes must be >= 1"),
        ({"metric": "recal"}, "metric must be one of .*; did you mean 'recall'"),
        ({"sizes": (0, 9)}, "sizes must be >= 1"),
        ({"characters": 0}, "characters must be >= 1"),
        ({"budget_seconds": 0}, "budget_seconds must be > 0 or None"),
        ({"budget": 0, "questions": [Question("Who?", (Reference("a.md", Span(0, 1)),))] * 2}, "budget must be >= 1"),
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
    with pytest.raises(ConfigurationError, match="questions must be two or more"):
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
