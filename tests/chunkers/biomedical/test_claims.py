"""Numeric claims: their sentences, and whether a chunk contains all of one."""
# ruff: noqa: RUF001 - signs of many scripts

from itertools import pairwise

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from advchunk import Chunk, Document, Span
from advchunk.chunkers.biomedical.claim_recall import claims_at_k, claims_of_task
from advchunk.chunkers.biomedical.claims import numeric_claims
from advchunk.evaluation import EvaluationTask, Question, Reference

ABSTRACT = (
    "Background: Obesity is common. Methods: 338 adults got XYZ once a week, or placebo. "
    "Results: Mean weight change at 48 weeks was −12.4% vs −2.1% (Δ=−10.3 pp; p<0.001). Nausea was seen in 30%. "
    "It passed in a week. Conclusions: XYZ works."
)


def claim_texts(text):
    return [text[slice(*claim.span)] for claim in numeric_claims(text)]


def test_an_abstract_has_the_claim_that_its_authors_would_name():
    (claim,) = numeric_claims(ABSTRACT)
    assert ABSTRACT[slice(*claim.span)].endswith("change at 48 weeks was −12.4% vs −2.1% (Δ=−10.3 pp; p<0.001).")
    statistics = [ABSTRACT[slice(*span)] for span in claim.statistics]
    assert statistics == ["−12.4%", "−2.1%", "Δ=−10.3", "−10.3 pp", "p<0.001"]


@pytest.mark.parametrize(
    "claim",
    [
        "Mortality fell by 3.4% compared with controls.",
        "The hazard ratio was 0.72.",
        "Survival improved (HR 0.68, 95% CI 0.51 to 0.90).",
        "The effect was small, d = 0.21.",
        "Groups differed, F(1, 20) = 4.15, p = .055.",
        "Scores were 3.2 ± 0.4.",
        "Expression rose 2.5-fold.",
        "It ran 3 times faster.",
        "Response was 45 percent versus 31 percent.",
        "Odds ratio of 2.1.",
        "P value was 0.03.",
        "Sales rose from 12% to 15%.",
        "Der Anteil lag bei 12,4 % gegenüber 2,1 %.",
        "La tasa fue del 12,4% frente a 2,1%.",
        "有效率为12.4％，与对照组相比更高。",
        "النسبة ١٢٫٤٪ مقارنة بالدواء الوهمي.",
        "वज़न १२.४% घटा, तुलना में २%.",
    ],
)
def test_a_statistic_and_its_comparator_are_a_claim(claim):
    assert claim_texts(claim) == [claim]


@pytest.mark.parametrize(
    "text",
    [
        "It rained.",
        "We enrolled 338 adults in 12 centers from 1990 to 1995.",
        "Nausea was seen in 30% of patients.",
        "XYZ is better than ABC.",
        "See section 4.2, p. 31.",
        "The map was made at 1:25000.",
    ],
)
def test_numbers_and_comparisons_alone_are_not_claims(text):
    assert claim_texts(text) == []


def test_a_comparator_in_the_next_sentence_is_part_of_the_claim():
    assert claim_texts("Dry. Weight fell by 12%. On placebo it rose.") == ["Weight fell by 12%. On placebo it rose."]
    assert claim_texts("All got placebo. Weight fell by 12%. It was dry.") == ["All got placebo. Weight fell by 12%."]
    both = "Controls gained. Weight fell by 12%. That is more than before."
    assert claim_texts(both) == ["Controls gained. Weight fell by 12%."]
    pair = "Weight fell by 12%. With placebo it fell by 2%."
    assert claim_texts(pair) == [pair, "With placebo it fell by 2%."]
    assert claim_texts("Weight fell by 12% vs 2%. Nausea was seen in 30%.") == ["Weight fell by 12% vs 2%."]
    assert claim_texts("Weight fell by 12%.\n\nControls gained.") == []
    assert claim_texts("Controls gained.\n\nThe difference had p = 0.03.") == ["The difference had p = 0.03."]


def test_claims_of_an_answer_are_those_with_a_statistic_in_it():
    text = "It was 12% vs 2%. Pain was less (p = 0.03). The rest was 5%, as in controls."
    documents = Document(text, "a"), Document(text, "b")
    inside = Question("?", (Reference("a", Span(0, 30)),))
    later = Question("?", (Reference("b", Span(text.index("rest"), len(text))), Reference("a", Span(0, 5))))
    claims = claims_of_task(EvaluationTask(documents, (inside, later)))
    assert [[(name, text[slice(*span)]) for name, span in group] for group in claims] == [
        [("a", "It was 12% vs 2%.")],
        [("b", "The rest was 5%, as in controls.")],
    ]


@given(st.data())
def test_recall_of_claims_equals_counting_characters(data):
    lengths = {"a": 30, "b": 20}

    def span(name):
        start = data.draw(st.integers(0, lengths[name] - 1))
        return Span(start, data.draw(st.integers(start + 1, lengths[name])))

    chunks = {}
    for name, length in lengths.items():
        chunks[name] = []
        for _ in range(data.draw(st.integers(0, 4))):
            edges = sorted(data.draw(st.sets(st.integers(0, length), min_size=2, max_size=6)))
            pairs = [Span(a, b) for a, b in pairwise(edges)]
            kept = [pair for pair in pairs if data.draw(st.booleans())] or pairs[:1]
            chunks[name].append(Chunk("", tuple(kept), 1))
    names = data.draw(st.lists(st.lists(st.sampled_from(["a", "b"]), max_size=3), min_size=1, max_size=3))
    claims = [[(name, span(name)) for name in of] for of in names]
    entries = [(name, {i for s in c.spans for i in range(*s)}) for name, of in chunks.items() for c in of]
    ranking = np.array([data.draw(st.permutations(range(len(entries)))) for _ in claims], dtype=np.int64).reshape(
        len(claims), len(entries)
    )
    k = data.draw(st.integers(1, 5))
    slow = []
    for needed, order in zip(claims, ranking, strict=True):
        held = [
            any(of == name and set(range(*s)) <= entries[i][1] for i in order[:k] for of in [entries[i][0]])
            for name, s in needed
        ]
        slow.append(sum(held) / len(held) if held else np.nan)
    assert claims_at_k(claims, chunks, ranking, k).tolist() == pytest.approx(slow, nan_ok=True)
