"""The benchmark of vectors runs on synthetic texts, and its arithmetic is correct."""

from __future__ import annotations

import json
import re
from itertools import chain

import numpy as np
import pytest
import vectors as script

from advchunk import Chunk, Document, OptimalSemanticChunker, Span
from advchunk.evaluation import EvaluationTask, Question, Reference, synthetic
from advchunk.evaluation.metrics.retrieval import at_budget, find_overlaps
from scripts import run


def make_document(seed):
    """Return a text of eight topics, and questions whose answers are one sentence or parts of several."""
    text = synthetic(seed, segments=8, overlap=0.3)
    edges, cuts, name = text.units.edges.tolist(), text.cuts.tolist(), f"{seed}.md"
    questions = []
    for start in cuts[:-1]:
        spans = [Span(edges[start + 1], edges[start + 2] - 1)]
        if start % 2:
            spans = [Span(edges[start + 1] + 3, edges[start + 3] - 4), Span(edges[start], edges[start] + 5)]
        questions.append(
            Question(text.units.text[slice(*edges[start : start + 2])], tuple(Reference(name, s) for s in spans))
        )
    return Document(text.units.text, name), questions


@pytest.fixture(scope="module")
def cell():
    documents, questions = zip(*map(make_document, range(2)), strict=True)
    chunker = OptimalSemanticChunker(cache={})
    trial = EvaluationTask(documents, tuple(chain(*questions)), chunker.model, budget=50, budgets=(50,))
    return script.cut(script.Bench(trial, chunker, "0.md"), "optimal-semantic", 60)


def by_character(overlap, ranking, budget):
    """Return the share of each answer lost to each cause, character by character."""
    lost = np.zeros((len(ranking), 5))
    for question, order in enumerate(ranking.tolist()):
        kept, spent, ends = {}, 0, {}
        for chunk in order:
            tokens = int(overlap.tokens[chunk])
            kept[chunk] = int(overlap.sizes[chunk]) * max(min(budget - spent, tokens), 0) // tokens
            spent += tokens
            ends[chunk] = spent
        place = {}
        for chunk, start, end in overlap.spans.tolist():
            place |= {offset: (chunk, offset - start) for offset in range(start, end)}
        answer = sorted(
            {i for q, _, start, end, _ in overlap.pieces.tolist() if q == question for i in range(start, end)}
        )
        hits = {i for i in answer if place[i][1] < kept[place[i][0]]}
        best = min(ends[place[i][0]] for i in answer)
        for i in set(answer) - hits:
            passage, first, last = [], i, i
            while first in answer:
                passage.append(first)
                first -= 1
            while last in answer:
                passage.append(last)
                last += 1
            chunk = place[i][0]
            started = ends[chunk] - overlap.tokens[chunk] < budget
            cause = 0 if started else 1 if hits & set(passage) else 2 if hits else 3 if best <= 2 * budget else 4
            lost[question, cause] += 1 / len(answer)
    return lost


def test_every_lost_character_has_its_cause(cell):
    causes = set()
    for budget in (20, 120, 700):
        near = np.random.default_rng(budget).random((len(cell.overlap.answers), len(cell.overlap.sizes)))
        near[cell.overlap.pieces[::2, 0], cell.overlap.pieces[::2, 1]] += 0.5
        ranking = np.argsort(-near, axis=1)
        result = script.misses(cell.overlap, ranking, budget)
        np.testing.assert_allclose(result.lost, by_character(cell.overlap, ranking, budget), atol=1e-12)
        np.testing.assert_allclose(1 - result.lost.sum(axis=1), at_budget(cell.overlap, ranking, budget).recall)
        for question, order in enumerate(ranking.tolist()):
            holders = set(cell.overlap.pieces[cell.overlap.pieces[:, 0] == question, 1].tolist())
            assert result.first[question] == 1 + min(map(order.index, holders))
            assert result.holders[question] == len(holders)
        causes |= set(np.flatnonzero(result.lost.any(axis=0)).tolist())
    assert causes == set(range(len(script.CAUSES)))


def test_a_cut_through_an_answer_loses_the_rest():
    chunks = {"a": [Chunk("x" * 10, (Span(i, i + 10),), 10) for i in (0, 10, 20)]}
    overlap = find_overlaps(chunks, [Question("?", (Reference("a", Span(8, 14)),))])
    assert script.misses(overlap, np.array([[0, 2, 1]]), 10).lost.tolist() == [[0, 4 / 6, 0, 0, 0]]
    assert script.misses(overlap, np.array([[1, 0, 2]]), 12).lost.round(6).tolist() == [[0.333333, 0, 0, 0, 0]]


def test_terms_add_up_to_the_context_vectors(cell):
    ours, expected = script.add_terms((script.WEIGHT, script.neighborhood_sum))(cell)[0], script.CONTEXT(cell)[0]
    np.testing.assert_allclose(ours, expected, atol=1e-6)
    name, rows = next(iter(cell.rows.items()))
    np.testing.assert_allclose(script.adjacent_sum(cell, name)[1], rows[0] + rows[2], atol=1e-6)
    np.testing.assert_allclose(script.adjacent_sum(cell, name)[-1], rows[-2], atol=1e-6)
    topics = script.topic(cell, name)
    assert 1 < len(np.unique(topics.round(6), axis=0)) < len(rows)
    np.testing.assert_allclose(topics.sum(axis=0), rows.sum(axis=0), rtol=1e-4, atol=1e-4)


def test_oracles_never_cut_through_answers(cell):
    answers = [tuple(reference) for question in cell.bench.trial.questions for reference in question.references]
    edges = {name: {chunk.start for chunk in chunks} for name, chunks in cell.chunks.items()}
    assert any(start < edge < end for name, (start, end) in answers for edge in edges[name])
    for apart in (False, True):
        oracle = script.cut_with_answers(cell.bench, 60, apart=apart)
        edges = {name: sorted(chunk.start for chunk in chunks) for name, chunks in oracle.chunks.items()}
        assert not any(start < edge < end for name, (start, end) in answers for edge in edges[name])
    sentences = {name: units.edges for name, (units, _) in cell.bench.sentences.items()}
    for name, (start, end) in answers:
        around = {sentences[name][sentences[name] <= start].max(), sentences[name][sentences[name] >= end].min()}
        assert around <= {*edges[name], sentences[name][-1]}


def test_undiluted_similarity_never_decreases(cell):
    near, answer, whole = script.undiluted_similarity(cell)
    before = cell.bench.trial.question_vectors.astype(np.float64) @ script.CONTEXT(cell)[0].T
    assert np.all(near >= before - 1e-6)
    changed = {(q, c) for q, c in np.argwhere(near > before + 1e-6).tolist()}
    assert changed
    assert changed <= {(q, c) for q, c, *_ in cell.overlap.pieces.tolist()}
    assert np.all((answer > -1) & (whole > -1))


def test_headings_become_context(cell):
    text = " = Cats = \n Cats purr . \n = = Food = = \n Cats eat . \n"
    assert [(match["depth"].count("="), match["title"]) for match in script.HEADING.finditer(text)] == [
        (1, "Cats"),
        (2, "Food"),
    ]
    text = "Results\n" + "x" * 200 + "\nNo title.\n" + "x" * 200 + "\nTable 3\n" + "x" * 200
    assert [match["line"] for match in script.HEADING.finditer(text)] == ["Results"]
    document = Document(" = Cats = \n" + cell.bench.trial.documents[0].text, "0.md")
    trial = cell.bench.trial
    questions = tuple(question for question in trial.questions if {name for name, _ in question.references} == {"0.md"})
    bench = script.replace(cell.bench, trial=script.replace(trial, documents=(document,), questions=questions))
    match = script.replace(cell, bench=bench, chunks={"0.md": cell.chunks["0.md"][1:]}, rows={})
    assert {chunk.context for chunk in script.add_headings(match, paid=True).chunks["0.md"]} == {"Cats"}
    assert {chunk.context for chunk in script.add_headings(match, paid=False).chunks["0.md"]} == {""}


def test_output_has_every_table_and_none_of_the_texts(tmp_path):
    lines, texts = [], []
    for seed in range(3):
        document, questions = make_document(seed)
        texts.append(document.text)
        (tmp_path / document.source).write_text(document.text, "utf-8")
        for question in questions:
            references = [{"document": name, "start": start, "end": end} for name, (start, end) in question.references]
            lines.append(json.dumps({"question": question.text, "references": references}))
    (tmp_path / "questions.jsonl").write_text("\n".join(lines), "utf-8")
    output = run("vectors", "--data", tmp_path, "--mean", 30, "--errors", 30, "--chosen", "1.md")
    assert output.count("\n## ") == 6
    assert len(re.findall(r"chosen on .*\n.*\n\| 1 \|", output)) == 2
    context, units = (
        re.search(rf"\| oracle {kind} \| [\d.]+ \| ([\d.]+)", output) for kind in ("vectors, [^|]*", "ranking")
    )
    assert float(context[1]) <= float(units[1]) == 100
    assert not any(sentence in output for text in texts for sentence in text.split(". ") if sentence)
