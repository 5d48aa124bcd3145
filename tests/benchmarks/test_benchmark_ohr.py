"""OHR-Bench is scored by the longest common subsequence of words, within the right document."""

import json
from importlib import import_module
from itertools import combinations
from random import Random

import numpy as np
import pytest

from advchunk import Document, Span
from advchunk.evaluation import Question, Reference
from scripts import run


@pytest.fixture(scope="module")
def ohr():
    return import_module("ohr")


def test_words_are_those_of_the_code_of_the_paper(ohr):
    assert ohr.words("The re-entry fee: $1,200 (an annual one);\n a U.S. fee") == [
        "reentry", "fee", "1200", "annual", "one", "us", "fee",
    ]  # fmt: skip


@pytest.mark.parametrize(
    ("evidence", "retrieved", "share"),
    [
        ("fees are due in may", "all fees that are due each year in may", 1.0),
        ("fees are due in may", "in may fees are due", 0.6),
        ("fees are due in may", "may", 0.2),
        ("fees are due in may", "", 0.0),
        ("one and one is one", "one one", 0.4),
    ],
)
def test_inclusion_is_the_longest_common_subsequence(ohr, evidence, retrieved, share):
    assert ohr.inclusion(evidence.split(), retrieved.split()) == share


def test_inclusion_is_that_of_all_subsequences(ohr):
    random = Random(0)
    for _ in range(50):
        evidence, retrieved = (random.choices("abc", k=random.randint(1, 7)) for _ in range(2))
        common = max(
            size
            for size in range(len(evidence) + 1)
            if set(combinations(evidence, size)) & set(combinations(retrieved, size))
        )
        assert ohr.inclusion(evidence, retrieved) == common / len(evidence)


def test_only_text_of_the_document_of_the_evidence_counts(ohr):
    clean, parsed = (
        ohr.Set(
            "made",
            [Document(text, "right.md"), Document("Fees are due in May.", "wrong.md")],
            [Question("When are fees due?", (Reference("right.md", Span(0, 20)),))],
            None,
        )
        for text in ("Fees are due in May. Costs follow.", "Costs follow.\n\nFees are duc in May.")
    )
    whole, part, wrong = (
        [[ohr.Piece(name, (Span(0, end),), 5)]] for name, end in (("right.md", 35), ("right.md", 13), ("wrong.md", 20))
    )
    assert [ohr.inclusions(own, clean, clean)[0] for own in (whole, part, wrong)] == [1.0, 0.6, 0.0]
    assert ohr.inclusions(whole, clean, parsed)[0] == 0.8
    assert ohr.characters(whole, clean)[0] == 1.0


def test_both_forms_are_scored_and_the_baseline_is_marked(ohr, tmp_path):
    questions = []
    (tmp_path / "made" / "mineru").mkdir(parents=True)
    for i, topic in enumerate(("tea", "law", "rain", "trains")):
        text = f"Here is what we know of {topic}.\n\nThe rule number {i} says that {topic} comes first."
        (tmp_path / "made" / f"{i}.md").write_text(text, "utf-8")
        (tmp_path / "made" / "mineru" / f"{i}.md").write_text(text.replace("rule", "rnle"), "utf-8")
        answer = {"document": f"{i}.md", "start": text.index("The rule"), "end": len(text)}
        kind = ("text", "table")[i % 2]
        questions.append({"question": f"What does the rule on {topic} say?", "references": [answer], "kind": kind})
    (tmp_path / "made" / "questions.jsonl").write_text("\n".join(map(json.dumps, questions)), "utf-8")
    output = run("ohr", "--data", tmp_path, "--sets", "made")
    clean, places, parsed = output.split("\n## ")
    head, _, *rows = (line.split(" | ") for line in clean.splitlines() if line.startswith("|"))
    assert head[1:5] == ["made (4)", "text (2)", "table (2)", "all (4)"]
    assert rows[-1][:5] == ["| published, 1,261 documents", "", "81.2", "69.6", "70.0"]
    own = {row[0].strip("| *"): row for row in rows}
    assert own[ohr.BASELINE][1:6] == ["100.0", "100.0", "100.0", "100.0", ""]
    assert "| **`recursive`, BM25** | 87.5 " in parsed  # one word of eight is misread
    assert places.startswith("Characters")
    assert np.all([row[4] == "100.0" for row in rows[:-1]])
