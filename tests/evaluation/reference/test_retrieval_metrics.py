"""Retrieval metrics against sets of characters, and against what the published evaluator said of two chunkers.

`golden_chroma.npz` holds numbers only: ranges of chunks and references, the five chunks that all-MiniLM-L6-v2
retrieved for each of 220 questions, and the scores of chunking_evaluation, which lets a chunk count that only touches
a reference.
"""

from dataclasses import astuple
from math import log2
from pathlib import Path

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from advchunk import Chunk, Span
from advchunk.evaluation.data.questions import Question, Reference
from advchunk.evaluation.metrics.retrieval import at_budget, at_k, find_overlaps, precision_omega

GOLDEN = np.load(Path(__file__).parents[2] / "data" / "golden_chroma.npz")
DOCUMENTS = ("a", "b")


@st.composite
def corpora(draw):
    """Chunks of any spans, in both documents; questions; rankings."""
    span = st.tuples(st.integers(0, 20), st.integers(0, 12)).map(lambda at: Span(at[0], at[0] + at[1]))
    filled = span.filter(lambda span: span.start < span.end)
    chunk = st.tuples(st.lists(span, max_size=3).map(sorted).map(tuple), st.integers(1, 9))
    chunks = {
        name: [Chunk("", spans, tokens) for spans, tokens in draw(st.lists(chunk, max_size=6))] for name in DOCUMENTS
    }
    reference = st.builds(Reference, st.sampled_from(DOCUMENTS), filled)
    question = st.lists(reference, min_size=1, max_size=3).map(lambda references: Question("?", tuple(references)))
    questions = draw(st.lists(question, min_size=1, max_size=3))
    many = sum(map(len, chunks.values()))
    ranking = np.array([draw(st.permutations(range(many))) for _ in questions], dtype=np.int64)
    return chunks, questions, ranking.reshape(len(questions), many)


def held(document, spans):
    return {(document, i) for start, end in spans for i in range(start, end)}


def answer(question):
    return {at for document, span in question.references for at in held(document, [span])}


def characters(chunks):
    return [sorted(held(name, chunk.spans)) for name, of_one in chunks.items() for chunk in of_one]


def scored(texts, answer, heads, tokens):
    """All scores of the heads of chunks, in the order of their ranking."""
    seen, gained, first = set(), 0, 0
    for place, head in enumerate(heads, start=1):
        adds = (head & answer) - seen
        first = first or (place if head & answer else 0)
        gained += len(adds) / log2(1 + place)
        seen |= head
    depth = max((place for place, head in enumerate(heads, start=1) if head), default=0)
    left, could = set(answer), 0
    for place in range(1, depth + 1):
        best = max(texts, key=lambda text: len(left & set(text)))
        could += len(left & set(best)) / log2(1 + place)
        left -= set(best)
    hits, total = len(seen & answer), sum(map(len, heads))
    return (
        hits / len(answer),
        hits / total if total else 0,
        hits / (total + len(answer - seen)),
        float(hits > 0),
        1 / first if first else 0,
        min(gained / could, 1) if could else 0,
        tokens,
    )


def within(budget, texts, tokens):
    """Heads of the chunks that a budget pays for, and what it pays."""
    heads, left = [], budget
    for text, cost in zip(texts, tokens, strict=True):
        if cost > left:
            return [*heads, set(text[: len(text) * left // cost])], budget
        heads.append(set(text))
        left -= cost
    return heads, budget - left


def rows(scores):
    return np.column_stack(astuple(scores))


@pytest.mark.slow
@given(corpora(), st.integers(1, 14), st.integers(1, 60))
def test_first_k_and_budget_as_sets_of_characters(corpus, k, budget):
    chunks, questions, ranking = corpus
    texts, overlaps = characters(chunks), find_overlaps(chunks, questions)
    tokens = [chunk.tokens for of_one in chunks.values() for chunk in of_one]
    firsts = [([set(texts[i]) for i in order[:k]], sum(tokens[i] for i in order[:k])) for order in ranking]
    filled = [within(budget, [texts[i] for i in order], [tokens[i] for i in order]) for order in ranking]
    for scores, taken in (at_k(overlaps, ranking, k), firsts), (at_budget(overlaps, ranking, budget), filled):
        pairs = zip(questions, taken, strict=True)
        expected = [scored(texts, answer(question), *own) for question, own in pairs]
        np.testing.assert_allclose(rows(scores), expected, rtol=1e-12)


@pytest.mark.slow
@given(corpora())
def test_precision_omega_as_sets_of_characters(corpus):
    chunks, questions, _ = corpus
    expected = []
    for question in questions:
        expected_ = answer(question)
        opened = set().union(*(text for text in characters(chunks) if set(text) & expected_))
        expected.append(len(opened & expected_) / len(opened | expected_))
    np.testing.assert_array_equal(precision_omega(find_overlaps(chunks, questions)), expected)


def published(chunks, references, retrieved, touches):
    """Recall, precision, IoU and precision-omega of one question, as chunking_evaluation has them.

    ``touches(start, end)`` says whether a range from start to end makes its chunk count.
    """

    def meet(chunk, reference):
        return chunk[0] == reference[0] and touches(max(chunk[1], reference[1]), min(chunk[2], reference[2]))

    def places(ranges):
        return {(document, i) for document, start, end in ranges for i in range(start, end)}

    expected = places(references)
    length = sum(end - start for _, start, end in references)
    seen = places(retrieved) & expected
    total = sum(end - start for _, start, end in retrieved)
    opened = places(chunk for chunk in chunks if any(meet(chunk, reference) for reference in references))
    return (
        len(seen) / length,
        len(seen) / total,
        len(seen) / (total + len(expected - seen)),
        len(opened & expected) / len(opened | expected),
    )


@pytest.mark.slow
@pytest.mark.parametrize(("name", "touched"), [("fixed800chars", 0), ("cluster_semantic", 12)])
def test_the_published_evaluator_question_by_question(name, touched):
    rows, references, ranking = GOLDEN[f"{name}/chunks"], GOLDEN["references"], GOLDEN[f"{name}/ranking"]
    order = np.argsort(rows[:, 1], kind="stable")
    chunks = {"0": [], "1": []}
    for _, document, start, end in rows[order].tolist():
        chunks[str(document)].append(Chunk("", (Span(start, end),), 1))
    asked = [[tuple(row[1:]) for row in references[references[:, 0] == q].tolist()] for q in range(len(ranking))]
    questions = [Question("?", tuple(Reference(str(d), Span(a, b)) for d, a, b in overlaps)) for overlaps in asked]
    overlaps = find_overlaps(chunks, questions)
    scores = at_k(overlaps, np.argsort(order)[ranking], k=5)
    ours = np.column_stack([scores.recall, scores.precision, scores.iou, precision_omega(overlaps)])

    def twin(touches):
        ranges = [tuple(row[1:]) for row in rows.tolist()]
        several = zip(asked, ranking, strict=True)
        return np.array([published(ranges, expected, [ranges[i] for i in top], touches) for expected, top in several])

    published_scores, quirk = GOLDEN[f"{name}/scores"].T, twin(lambda start, end: start <= end)
    np.testing.assert_allclose(quirk, published_scores, rtol=1e-14)
    np.testing.assert_allclose(ours, twin(lambda start, end: start < end), rtol=1e-14)
    np.testing.assert_allclose(ours[:, :3], published_scores[:, :3], rtol=1e-14)
    more = ours[:, 3] - published_scores[:, 3]
    assert np.count_nonzero(abs(more) > 1e-14) == np.count_nonzero(more > 1e-14) == touched
