"""The benchmark of vectors runs on synthetic texts, and its arithmetic is correct."""

import json
import re
from itertools import chain

import numpy as np
import pytest
import vectors as script

from advchunk import Document, OptimalSemanticChunker, Span
from advchunk.evaluation import EvaluationTask, Question, Reference, synthetic
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


def test_terms_add_up_to_the_context_vectors(cell):
    ours, expected = script.add_terms((script.WEIGHT, script.neighborhood_sum))(cell)[0], script.CONTEXT(cell)[0]
    np.testing.assert_allclose(ours, expected, atol=1e-6)
    name, rows = next(iter(cell.rows.items()))
    np.testing.assert_allclose(script.adjacent_sum(cell, name)[1], rows[0] + rows[2], atol=1e-6)
    np.testing.assert_allclose(script.adjacent_sum(cell, name)[-1], rows[-2], atol=1e-6)
    topics = script.topic(cell, name)
    assert 1 < len(np.unique(topics.round(6), axis=0)) < len(rows)
    np.testing.assert_allclose(topics.sum(axis=0), rows.sum(axis=0), rtol=1e-4, atol=1e-4)


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
    output = run("vectors", "--data", tmp_path, "--mean", 30, "--chosen", "1.md")
    assert output.count("\n## ") == 2
    assert len(re.findall(r"^\| units \| ", output, re.MULTILINE)) == 2
    assert not any(sentence in output for text in texts for sentence in text.split(". ") if sentence)
