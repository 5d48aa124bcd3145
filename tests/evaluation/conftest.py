"""A task of synthetic texts, each question of which is the sentence before its answer, and a folder with it."""

import pytest

from advchunk import Document, Span
from advchunk.evaluation import EvaluationTask, Question, Reference, synthetic, write_questions


@pytest.fixture(scope="module")
def task():
    documents, questions = [], []
    for seed in range(3):
        made = synthetic(seed, segments=12, sentences=(4, 8), overlap=0.3)
        documents.append(Document(made.units.text, f"{seed}.md"))
        edges = made.units.edges.tolist()
        for a in made.cuts[:-1].tolist():
            answer = Reference(f"{seed}.md", Span(edges[a + 1], edges[a + 2]))
            questions.append(Question(made.units.text[edges[a] : edges[a + 1]], (answer,)))
    return EvaluationTask(tuple(documents), tuple(questions), budget=100, budgets=(50, 100, 400))


@pytest.fixture
def folder(task, tmp_path):
    for document in task.documents:
        (tmp_path / document.source).write_text(document.text, "utf-8")
    write_questions(tmp_path / "questions.jsonl", task.questions, task.documents)
    return tmp_path
