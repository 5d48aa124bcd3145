"""The report in a real browser: it runs without a fault, asks for nothing, and shows what is chosen."""

from __future__ import annotations

import re
from html import unescape
from urllib.parse import parse_qs

import numpy as np
import pytest

import browser
from advchunk import Document, Span
from advchunk.evaluation import (
    EvaluationTask,
    Question,
    Reference,
    Result,
    candidate,
    compare,
    compare_by_kind,
    evaluate,
    size_matched,
)
from advchunk.evaluation.comparison import report
from advchunk.evaluation.metrics.metering import RunCost

pytestmark = [browser.needs_browser, pytest.mark.slow]

EVIL = "</script><script>alert('a')</script><img src=x onerror=alert(1)>&amp;\u2028"
TEXT = "😀 One. 😀😀 Two. x Three."
SECOND = "Nothing of this is asked. But this is."
SCORES = [
    "recall",
    "iou",
    "recall_at_k",
    "precision_at_k",
    "iou_at_k",
    "hit_at_k",
    "reciprocal_rank",
    "ndcg",
]


class Seen(browser.Seen):
    """A report as the browser shows it."""

    def pieces(self):
        """Return the kind of each piece of the text, which chunks it says it is of, and its text."""
        matches = re.findall(
            r'<div class="piece (\w+)"><div class="head">(.*?)</div><div class="body">(.*?)</div></div>',
            self.dom,
            re.DOTALL,
        )
        return [
            (kind, re.findall(r"#\d+(?: · \d/\d)?", head), unescape(re.sub("<[^>]*>", "", body)))
            for kind, head, body in matches
        ]

    def marks(self, kind):
        return [unescape(text) for text in re.findall(rf'<mark class="{kind}"[^>]*>(.*?)</mark>', self.dom, re.DOTALL)]


def flat(*groups):
    return [[7, *(at for span in spans for at in span)] for spans in groups]


def result(label, *documents):
    scores = np.array([0.0, 0.5, 1.0])
    return Result(
        label=label, group="stable", settings={}, **dict.fromkeys([*SCORES, "precision_omega"], scores), tokens=np.array([7]),
        curve={9: 0.5}, redundancy=1.0, coverage=1.0, within=None, between=None, forced=None, over=None, under=None,
        chunking_cost=RunCost(), indexing_cost=RunCost(), chunks=documents,
    )  # fmt: skip


@pytest.fixture(scope="module")
def page():
    documents = Document(TEXT, "a.md"), Document(SECOND, EVIL)
    answers = Reference("a.md", Span(5, 8)), Reference("a.md", Span(17, 23)), Reference(EVIL, Span(26, 37))
    questions = tuple(Question(f"{EVIL} {i}", (answer,)) for i, answer in enumerate(answers))
    candidate = result(EVIL, flat([(0, 6), (14, 19)], [(6, 14)], [(3, 9)]), flat([(0, 38)]))
    other = result("other", flat([(0, 23)]), flat([(0, 26)], [(26, 38)]))
    return report.render_html(
        EvaluationTask(documents, questions, budget=9, budgets=(9,)), compare([candidate, other], EVIL)
    )


def test_a_fault_and_a_request_would_be_seen(tmp_path):
    seen = Seen("<img src='http://127.0.0.1:9/x.png'></body>", tmp_path, script="null.fault()")
    assert any("Uncaught TypeError" in line for line in seen.complaints)
    assert seen.asked == {"http://127.0.0.1:9/x.png"}


def test_every_chunk_is_shown_and_the_answers_are_marked(page, tmp_path):
    seen = Seen(page, tmp_path)
    assert (seen.complaints, seen.asked) == ([], set())
    assert [(kind, chunks) for kind, chunks, _ in seen.pieces()] == [
        ("a", ["#1 · 1/2"]), ("shared", ["#1 · 1/2", "#3"]), ("shared", ["#3", "#2"]), ("b", ["#2"]), ("a", ["#1 · 2/2"]),
        ("none", []),
    ]  # fmt: skip
    assert "".join(text for *_, text in seen.pieces()) == TEXT
    assert seen.marks("") == [TEXT[5:6], TEXT[6:8], TEXT[17:19], TEXT[19:23]]
    assert re.findall(r'aria-pressed="(\w+)"', seen.dom) == ["false", "false"]


def test_the_address_says_what_is_shown(page, tmp_path):
    seen = Seen(page, tmp_path, {"candidate": "other", "document": EVIL, "question": 2})
    assert (seen.complaints, seen.asked) == ([], set())
    assert seen.pieces() == [("a", ["#1"], SECOND[:26]), ("b", ["#2"], SECOND[26:])]
    assert (seen.marks(""), seen.marks("chosen")) == ([], [SECOND[26:37]])
    assert re.findall(r'aria-pressed="(\w+)"', seen.dom) == ["true"]
    assert "2 chunks" in seen.dom


def test_choices_are_shown_and_kept_in_the_address(page, tmp_path):
    choose = """
      const pick = (id, value) => { $(id).value = value; $(id).dispatchEvent(new Event("change")); };
      pick("candidate", 1); pick("document", 1); $("missed").click();
      document.body.dataset.left = document.querySelectorAll("#questions button").length;
      pick("document", 0); document.querySelectorAll("#questions button")[1].click();
      document.body.dataset.address = location.hash.slice(1);
    """
    seen = Seen(page, tmp_path, script=choose)
    assert (seen.complaints, seen.asked) == ([], set())
    assert seen.pieces() == [("a", ["#1"], TEXT)]
    assert 'data-left="0"' in seen.dom  # of the second document, its only answer being found whole
    assert seen.marks("chosen") == [TEXT[17:23]]
    kept = parse_qs(unescape(re.search(r'data-address="([^"]*)"', seen.dom)[1]))
    assert kept == {"candidate": ["other"], "document": ["a.md"], "question": ["1"]}


def test_a_trial_of_both_kinds_is_shown(tmp_path):
    text = "Cats purr. Cats nap. Courts sit. Courts rule. Ships sail. Ships sink. " * 6
    asked = tuple(Question(q, (Reference("a.md", Span(at, at + 10)),)) for q, at in (("Cats?", 0), ("Ships?", 46)))
    task = EvaluationTask((Document(text, "a.md"),), asked, budget=20, budgets=(20,))
    published = candidate("recursive", "as it comes", max_tokens=60)
    results = evaluate([published, size_matched("optimal-semantic", 20, "mine")], task)
    seen = Seen(
        report.render_html(task, compare_by_kind(results, ["as it comes", "mine"])), tmp_path, {"candidate": "mine"}
    )
    assert re.findall("<h2>(.*?)</h2>", seen.dom)[:2] == ["Size-matched", "As published"]
    assert (seen.complaints, seen.asked) == ([], set())
    assert len(seen.pieces()) == len(results[1].chunks[0])
    assert [piece for *_, piece in seen.pieces()] == [text[a:b] for _, a, b in results[1].chunks[0]]
