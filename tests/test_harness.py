"""The harness: what it measures of a candidate, how it matches sizes, and who it says is better."""

import csv
import io
import json

import pytest
from click.testing import CliRunner

from advchunk import Chunk, ConfigurationError, Document, Span, create
from advchunk.cli import main
from advchunk.evaluation import (
    Candidate,
    Question,
    Reference,
    Trial,
    as_csv,
    as_markdown,
    candidate,
    compare,
    evaluate,
    matched,
    peer,
    synthetic,
)
from advchunk.evaluation.harness import Outcome, mean_tokens, run
from advchunk.evaluation.standings import best_stable


@pytest.fixture(scope="module")
def trial():
    documents, questions = [], []
    for seed in range(3):
        made = synthetic(seed, segments=12, sentences=(4, 8), overlap=0.3)
        documents.append(Document(made.units.text, f"{seed}.md"))
        edges = made.units.edges
        for a in made.cuts[:-1].tolist():
            place = Span(int(edges[a + 1]), int(edges[a + 2]))
            asked = made.units.text[edges[a] : edges[a + 1]]  # the sentence before the answer
            questions.append(Question(asked, (Reference(f"{seed}.md", place),)))
    return Trial(tuple(documents), tuple(questions), budget=100, budgets=(50, 100, 400))


def whole(documents):
    return [[Chunk(d.text, (Span(0, len(d.text)),), 1)] for d in documents]


def test_an_outcome_has_one_score_a_question(trial):
    found = run(candidate("recursive", max_tokens=40), trial)
    for name in ("recall", "iou", "recall_at_k", "precision_at_k", "iou_at_k", "hit_at_k", "reciprocal_rank", "ndcg"):
        scores = getattr(found, name)
        assert scores.shape == (36,)
        assert scores.min() >= 0
        assert scores.max() <= 1
    assert list(found.curve) == [50, 100, 400]
    assert found.curve[50] <= found.curve[100] <= found.curve[400]
    assert found.curve[100] == pytest.approx(found.recall.mean())
    chunks = [c for some in create("recursive", max_tokens=40).chunk_many(trial.documents) for c in some]
    assert found.tokens.tolist() == trial.counter.counts([chunk.text for chunk in chunks]).tolist()
    assert found.redundancy == 1.0
    assert found.group == "baseline"
    assert found.settings["max_tokens"] == 40


def test_chunks_that_have_vectors_keep_them(trial):
    plain, mixed = (run(candidate("optimal-semantic", max_tokens=30, vectors=v), trial) for v in ("plain", "context"))
    none = run(candidate("optimal-semantic", max_tokens=30), trial)
    assert plain.recall.tolist() == none.recall.tolist()
    assert mixed.recall.tolist() != none.recall.tolist()
    assert mixed.label == "optimal-semantic, max_tokens=30, vectors=context"
    assert mixed.settings["vectors"] == "context"


def test_a_document_as_one_chunk_pays_for_it_in_the_budget(trial):
    honest, cheat = evaluate([candidate("recursive", max_tokens=40), Candidate("whole", whole, "peer")], trial)
    assert cheat.recall_at_k.mean() == 1.0
    assert cheat.recall.mean() < honest.recall.mean()
    assert cheat.iou_at_k.mean() < honest.iou_at_k.mean()


def test_a_peer_is_placed_by_its_texts_and_one_that_changes_them_is_refused(trial):
    halves = peer("halves", lambda text: [text[: len(text) // 2], text[len(text) // 2 :]])
    assert len(run(halves, trial).tokens) == 6
    overlapping = peer("steps", lambda text: [text[i : i + 200] for i in range(0, len(text), 100)])
    assert run(overlapping, trial).redundancy > 1.5
    spaced = peer("spaced", lambda text: ["  " + "\n".join(text[:100].split()), text[100:]])
    (first, second), *_ = spaced.cut(trial.documents)
    text = trial.documents[0].text
    assert (first.text, second.text) == (text[:100].strip(), text[100:].strip())
    with pytest.raises(ConfigurationError, match=r"upper must return texts of the document '0.md', in order"):
        run(peer("upper", lambda text: [text.upper()]), trial)


@pytest.mark.parametrize("name", ["recursive", "sliding-window", "optimal-semantic"])
@pytest.mark.parametrize("mean", [25, 60])
def test_sizes_are_matched(trial, name, mean):
    found, tokens = matched(lambda size: candidate(name, max_tokens=size), mean, trial)
    assert tokens == pytest.approx(mean_tokens(found, trial))
    assert tokens == pytest.approx(mean, rel=0.15)


def test_a_size_that_cannot_be_had_is_the_nearest(trial):
    fixed = peer("words", lambda text: text.split())
    found, tokens = matched(lambda _: fixed, 500, trial)
    assert found is fixed
    assert tokens < 10


def test_outcomes_are_kept_and_read_again(trial, tmp_path):
    ran = []
    candidates = [candidate("recursive", max_tokens=40), candidate("sliding-window", max_tokens=40)]
    first = evaluate(candidates, trial, store=tmp_path, progress=ran.append)
    again = evaluate(candidates, trial, store=tmp_path, progress=ran.append)
    assert ran == ["recursive, max_tokens=40", "sliding-window, max_tokens=40"]
    assert [json.dumps(one.said()) for one in first] == [json.dumps(one.said()) for one in again]
    assert isinstance(again[0], Outcome)
    assert len(list(tmp_path.iterdir())) == 2
    other = Trial(trial.documents, trial.questions[:-1], budget=100, budgets=(100,))
    assert len(evaluate(candidates[:1], other, store=tmp_path, progress=ran.append)[0].recall) == 35
    assert len(ran) == 3


def test_noise_is_shown_as_noise(trial):
    same = [candidate("recursive", label, max_tokens=40) for label in ("one", "twin")]
    rows = compare(evaluate([*same, Candidate("whole", whole, "peer")], trial), "one", "iou_at_k")
    by_label = {row.outcome.label: row for row in rows}
    assert by_label["one"].verdict == "baseline"
    assert by_label["twin"].verdict == "noise"
    assert by_label["whole"].verdict == "worse"
    assert by_label["whole"].difference.high < 0
    assert rows[-1].outcome.label == "whole"
    assert best_stable(rows).outcome.group == "baseline"
    with pytest.raises(ConfigurationError, match="baseline must be one of the candidates; did you mean 'twin'"):
        compare([row.outcome for row in rows], "twins")


def test_tables_say_the_same(trial):
    rows = compare(
        evaluate([candidate("recursive", "a", max_tokens=40), Candidate("b|x", whole, "peer")], trial), "a", "iou"
    )
    table = list(csv.DictReader(io.StringIO(as_csv(rows))))
    assert [row["candidate"] for row in table] == [row.outcome.label for row in rows]
    assert float(table[0]["score"]) == round(100 * rows[0].score.mean, 1)
    lines = as_markdown(rows).splitlines()
    assert len(lines) == 4
    assert len({line.replace(r"\|", "").count("|") for line in lines}) == 1


@pytest.mark.parametrize(
    ("params", "rule"),
    [
        ({"k": 0}, "k must be >= 1"),
        ({"budgets": (0, 100)}, "budgets must be >= 1"),
        ({"budget": 99}, "budget must be one of the budgets"),
        ({"questions": ()}, "questions must be two or more"),
        ({"documents": (Document("a"), Document("b"))}, "documents must have names of their own"),
    ],
)
def test_a_trial_that_judges_nothing_is_refused(trial, params, rule):
    usual = {"documents": trial.documents, "questions": trial.questions, "budget": 100, "budgets": (100,)}
    with pytest.raises(ConfigurationError, match=rule):
        Trial(**{**usual, **params})


def test_candidates_have_names_of_their_own(trial):
    with pytest.raises(ConfigurationError, match="candidates must have labels of their own"):
        evaluate([candidate("recursive"), candidate("recursive")], trial)


@pytest.fixture
def folder(trial, tmp_path):
    for document in trial.documents:
        (tmp_path / document.id).write_text(document.text, "utf-8")
    lines = [
        json.dumps({
            "question": q.text,
            "references": [{"document": r.document, "start": r.span.start, "end": r.span.end} for r in q.references],
        })
        for q in trial.questions
    ]  # fmt: skip
    (tmp_path / "questions.jsonl").write_text("\n".join(lines), "utf-8")
    return tmp_path


def test_the_command(folder):
    args = ["evaluate", "--data", str(folder), "--chunkers", "optimal-semantic", "--mean", "40", "--budget", "100"]
    done = CliRunner().invoke(main, [*args, "--vectors", "context", "--out", str(folder / "out")])
    assert done.exit_code == 0, done.output
    assert "| optimal-semantic | stable |" in done.stdout
    assert "| recursive | baseline |" in done.stdout
    assert "optimal-semantic: max_tokens=" in done.stderr
    assert "| optimal-semantic | stable |" in (folder / "out" / "standings.md").read_text("utf-8")
    assert {path.name for path in (folder / "out").iterdir()} == {
        "outcomes", "outcomes.json", "report.html", "standings.csv", "standings.md"
    }  # fmt: skip
    assert len(list((folder / "out" / "outcomes").iterdir())) == 2


@pytest.mark.parametrize(
    ("args", "why"),
    [
        (["--chunkers", "nonsense"], "no chunker 'nonsense'"),
        (["--questions", "none.jsonl"], "none.jsonl: No such file or directory"),
        (["--baseline", "recursiv"], "did you mean 'recursive'?"),
    ],
)
def test_what_cannot_be_evaluated_is_said(folder, args, why):
    done = CliRunner().invoke(main, ["evaluate", "--data", str(folder), *args])
    assert done.exit_code > 0
    assert why in done.output
