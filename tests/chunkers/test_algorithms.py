"""Texts whose right cut a reader can see."""

import re
from dataclasses import replace
from math import log

import numpy as np
import pytest

from advchunk.chunkers.by_size import RecursiveChunker
from advchunk.chunkers.by_topic.mst import MSTSemanticChunker
from advchunk.chunkers.by_topic.optimal import OptimalSemanticChunker
from advchunk.chunkers.by_topic.threshold import SemanticThresholdChunker
from advchunk.chunkers.by_topic.universal import UniversalSemanticChunker
from advchunk.records import Document, written_metadata

CATS = "Cats purr softly and cats nap all day long.\n\n"
LAWS = "Courts hear appeals, judges rule on law.\n\n"


def texts(chunks):
    return [chunk.text for chunk in chunks]


class Topics:
    """An embedder that knows the topic of a text by its first letter, and nothing else."""

    def embed(self, asked):
        return np.array([np.eye(26)[ord((re.search("[a-z]", text.lower()) or "a")[0]) - ord("a")] for text in asked])


def test_finds_the_planted_topic_shift(split, planted):
    before, after, params = planted
    assert [piece.text for piece in split([before + after], **params)] == [before, after]


def test_distant_paragraphs_are_grouped():
    cats, laws = MSTSemanticChunker(n_segments=2).chunk(CATS + LAWS + CATS)
    assert cats.text == CATS + CATS
    assert cats.spans == ((0, len(CATS)), (len(CATS + LAWS), len(CATS + LAWS + CATS)))
    assert laws.text == LAWS


def test_a_short_heading_joins_text_on_another_topic():
    """The reward that the published distance is made for: without it, each piece stands alone."""
    text = "# Heading\n\n" + "Bees hum. " * 40 + "\n\n# Index\n\n" + "Dogs bark. " * 40
    chunks = MSTSemanticChunker(embedder=Topics(), lambda_=0.6).chunk(text)
    assert texts(chunks) == [text[: text.index("# Index")], text[text.index("# Index") :]]
    plain = MSTSemanticChunker(embedder=Topics(), lambda_=0.6, heading_reward=0.0, markup="plain", layout_weight=0.0)
    assert len(plain.chunk(text)) == 4  # which does not know a heading from a paragraph


def test_optimal_semantic_pays_for_the_limits_where_it_hurts_least():
    """Not where a chunk is full, after the first bee; and the lone cat goes with the dogs."""
    text = "Ants dig. Ants run. Ants eat. Bees hum. Bees fly. Bees nap. Cat. Dogs dig."
    chunker = OptimalSemanticChunker(embedder=Topics(), tokenizer="words", max_tokens=8, penalty=9)
    whole = text[: text.index("Cat")]
    assert texts(chunker.chunk(whole)) == [text[: text.index("Bees")], whole[text.index("Bees") :]]
    chunker = OptimalSemanticChunker(embedder=Topics(), tokenizer="words", min_tokens=3, penalty=0)
    explanation = chunker.explain(text)
    assert texts(explanation.chunks)[-1] == "Cat. Dogs dig."
    assert len(explanation.chunks) == explanation.figures["segments"]


@pytest.mark.parametrize(
    "topics",
    [
        "aa",
        "ab",
        "aaa|bbb",
        "aaaaa|bbbbb",
        "a" * 20 + "|" + "b" * 20,
        "a" * 10 + "|" + "b" * 10 + "|" + "c" * 10,
        "a" * 20 + "b" + "a" * 20,
    ],
)
def test_optimal_semantic_cuts_where_topics_change_for_good(topics):
    expected = ["".join(f"{letter.upper()}s are. " for letter in topic) for topic in topics.split("|")]
    assert texts(OptimalSemanticChunker(embedder=Topics()).chunk("".join(expected))) == expected


def test_optimal_semantic_ignores_the_mean_vector():
    own = np.repeat(np.eye(3), 4, axis=0)
    shared = np.column_stack([np.full((12, 2), 9.0), own])
    text = "".join(f"Number {i:02}. " for i in range(12))
    for rows in (own, shared):
        chunks = OptimalSemanticChunker(embedder=lambda _, rows=rows: rows).chunk(text)
        assert [chunk.text.count(".") for chunk in chunks] == [4, 4, 4]


@pytest.mark.parametrize("sentences", [12, 40, 100])
def test_optimal_semantic_rarely_cuts_a_text_without_topics(sentences):
    text = "".join(f"Number {i:02}. " for i in range(sentences))
    counts = []
    for seed in range(25):
        rows = np.random.default_rng(seed).standard_normal((sentences, 64))
        counts.append(len(OptimalSemanticChunker(embedder=lambda _, rows=rows: rows).chunk(text)))
    assert sum(number > 1 for number in counts) <= 2


@pytest.mark.parametrize(("evidence", "most"), [("consistent", 3), ("independent", 8)])
def test_optimal_semantic_cuts_less_at_a_higher_price(evidence, most):
    topics, noise = (np.random.default_rng(seed).standard_normal((40, 16)) for seed in (5, 6))
    rows = topics[np.arange(40) // 5] + 1.3 * noise
    text = "".join(f"Number {i:02}. " for i in range(40))
    chunkers = [OptimalSemanticChunker(embedder=lambda _: rows, evidence=evidence, penalty=p) for p in (0, 1, 2, 4, 9)]
    counts = [len(chunker.chunk(text)) for chunker in chunkers]
    assert counts == sorted(counts, reverse=True)
    assert counts[0] > most > counts[2] >= counts[-1] == 1


def test_recursive_ends_a_chunk_before_the_highest_heading_of_its_second_half():
    text = "# One\n\nA a a. B b b.\n\n## Two\n\nC c c.\n\n# Three\n\nD d d. E e e."
    chunks = RecursiveChunker(tokenizer="words", max_tokens=16).chunk(text)
    assert texts(chunks) == [text[: text.index("# Three")], text[text.index("# Three") :]]
    chunks = RecursiveChunker(tokenizer="words", max_tokens=11).chunk(text)
    assert texts(chunks)[0] == text[: text.index("## Two")]


# Context.


def test_context_is_counted_and_embedded_but_no_part_of_the_text():
    text = "# Tea\n\nGreen is steamed. Black is not.\n\n## Brew\n\nHot water is best. Cold is slow."
    params = {"tokenizer": "words", "max_tokens": 11}
    chunks = RecursiveChunker(**params, include_context=True).chunk(Document(text, metadata={"title": "Drinks"}))
    assert [(c.context, c.text) for c in chunks] == [
        ("Drinks", "# Tea\n\nGreen is steamed. Black is not.\n\n"),
        ("Drinks > Tea", "## Brew\n\nHot water is best. "),
        ("Drinks > Tea > Brew", "Cold is slow."),
    ]
    assert [c.tokens for c in chunks] == [len(c.embed_text.split()) for c in chunks] == [9, 9, 8]
    assert chunks[1].embed_text == "Drinks > Tea\n\n## Brew\n\nHot water is best. "
    assert {c.context for c in RecursiveChunker(**params).chunk(text)} == {""}


# Reasons.


def test_explain_gives_reason_and_score_of_a_cut():
    text = "Ape one. Ape two. Bee one. Bee two. Bee three. Bee four."
    chunker = SemanticThresholdChunker(
        embedder=Topics(), tokenizer="words", max_tokens=6, buffer_size=0, breakpoint_threshold_amount=90.0
    )
    explanation = chunker.explain(text)
    assert [(text[: cut.offset].count("."), cut.reason, cut.score) for cut in explanation.cuts] == [
        (2, "percentile", 1.0),
        (5, "size", 0.0),
    ]
    assert explanation.figures["distances"].tolist() == [0, 1, 0, 0, 0]
    assert explanation.figures["threshold"] == pytest.approx(0.6)
    assert explanation.chunks == chunker.chunk(text)


def test_explain_labels_and_figures_of_a_grouping():
    explanation = MSTSemanticChunker(embedder=Topics(), lambda_=0.2, vicinity_reward=0, heading_reward=0).explain(
        "Apes.\n\nBees.\n\nApes again.\n\nCats."
    )
    assert explanation.figures["lambda_"] == 0.2
    assert explanation.figures["labels"].tolist() == [0, 1, 0, 3]
    assert len(explanation.figures["tree"].weight) == 3
    assert {cut.reason for cut in explanation.cuts} == {"label"}


def test_explain_the_cost_of_the_optimum():
    text = "Ants dig. Ants run. Bees hum. Bees fly."
    chunker = OptimalSemanticChunker(embedder=Topics(), evidence="independent", penalty=0.25)
    explanation = chunker.explain(text)
    assert explanation.figures == {"cost": pytest.approx(1.6 + log(5 / 3) + 2 * 0.25 * log(4)), "segments": 2}
    assert [(cut.offset, cut.reason) for cut in explanation.cuts] == [(20, "cost")]
    whole = replace(chunker, n_segments=1).explain(text)
    assert whole.figures == {"cost": pytest.approx(8 / 3 + log(7 / 3) / 2), "segments": 1}  # of spread 1/2, 1/8 shared
    consistent = replace(chunker, evidence="consistent").explain(text)
    assert consistent.figures.keys() == {"cost", "segments", "inflation"}
    assert consistent.figures["inflation"] == 1  # nothing is left inside [Ants][Bees]


def test_scores_are_written_into_metadata_on_request():
    text = "Ape one. Bee two. Bee three."
    chunker = SemanticThresholdChunker(
        embedder=Topics(), buffer_size=0, breakpoint_threshold_amount=50.0, add_scores=True
    )
    ape, bees = chunker.chunk(text)
    line = {"start_line": 1, "end_line": 1, "language": "en"}
    reason = {"cut": "percentile", "cut_origin": "algorithm", "cut_score": 1.0}
    assert written_metadata(ape.metadata) == {**line, **reason}
    assert written_metadata(bees.metadata) == line


GUIDE = (
    "# Bees\n\nBees hum. Bees fly. Bees nap.\n\n## Dogs\n\n### Big dogs\n\nDogs bark. Dogs dig.\n\n"
    "## Code\n\n```\ndogs = bark()\n```\n\nDogs run.\n"
)


@pytest.mark.parametrize("grouped", [{}, {"contiguous": True}])
@pytest.mark.parametrize("budget", [8, 12, 20, 400])
def test_no_heading_is_parted_from_its_text(grouped, budget):
    for chunker in (
        MSTSemanticChunker(
            embedder=Topics(), lambda_=0.0, vicinity_reward=0.0, heading_reward=0.0, max_tokens=budget, **grouped
        ),
        UniversalSemanticChunker(embedder=Topics(), min_chunk_size=0, max_tokens=budget),
        OptimalSemanticChunker(embedder=Topics(), penalty=0.1, max_tokens=budget),
        SemanticThresholdChunker(embedder=Topics(), buffer_size=0, breakpoint_threshold_amount=10, max_tokens=budget),
        RecursiveChunker(max_tokens=budget),
    ):
        for chunk in chunker.chunk(GUIDE)[:-1]:
            last = chunk.text.rstrip().splitlines()[-1]
            alone = all(line.startswith("#") for line in chunk.text.split("\n") if line)  # with its text, too long
            assert not last.startswith("#") or (alone and budget < 20), (chunker, chunk.text)


def test_a_chunk_of_distant_sections_has_their_common_title_path():
    text = f"# Animals\n\n## Cats\n\n{CATS}## Courts\n\n{LAWS}## More cats\n\n{CATS}"
    pieces = MSTSemanticChunker(n_segments=2, markup="markdown").chunk(text)
    (shared,) = [chunk for chunk in pieces if len(chunk.spans) > 1]
    assert shared.metadata["title_path"] == "Animals"


def test_a_short_heading_joins_its_text_not_a_similar_piece():
    text = "Bees hum and bees fly.\n\n## Bees\n\nDogs bark and dogs dig.\n"
    chunker = MSTSemanticChunker(embedder=Topics(), lambda_=-9, min_tokens=5, markup="markdown")
    assert texts(chunker.chunk(text)) == [text[: text.index("##")], text[text.index("##") :]]


def topics(number, seed=5):
    """Return a long text of topics of 2 to 30 sentences of 3 to 20 words each, under a heading now and then."""
    random, text = np.random.default_rng(seed), ""
    for topic in range(number):
        words = [f"word{i}" for i in range(topic * 7, topic * 7 + 7)]
        text += f"\n\n# Topic {topic}\n\n" if topic % 3 == 0 else ""
        for _ in range(random.integers(2, 31)):
            text += " ".join(random.choice(words, random.integers(3, 21))).capitalize() + ". "
    return text
