"""What MST semantic chunking does with long documents, lists, and sizes."""

import random

import numpy as np
import pytest

from advchunk import create
from advchunk.chunkers.by_topic.mst import MSTSemanticChunker

TOPICS = [
    "cat kitten purr nap fur whisker paw mouse litter claw stray feline",
    "court judge law appeal verdict jury lawyer witness trial statute ruling case",
    "ship harbor sail tide captain anchor storm deck sailor mast port voyage",
    "bread oven flour yeast dough bake crust loaf butter baker knead rye",
    "planet orbit star telescope moon comet gravity galaxy rocket crater sun eclipse",
    "violin orchestra melody rhythm concert piano chord singer opera cello tempo tune",
    "river bridge flood bank stream valley dam fish current delta ferry bend",
    "vaccine virus patient fever dose doctor clinic nurse trial infection immune symptom",
    "goal striker match referee league coach penalty keeper pitch team score fans",
    "soil seed harvest wheat plow farmer barn tractor crop rain orchard field",
]


def paragraphs(n: int, seed: int = 0) -> tuple[list[str], list[int]]:
    """Return n paragraphs in runs of 1 to 7 on topics that return, and the topic of each."""
    rng = random.Random(seed)
    results, topics = list[str](), list[int]()
    while len(results) < n:
        topic = rng.choice([t for t in range(len(TOPICS)) if not topics or t != topics[-1]])
        for _ in range(rng.randint(1, 7)):
            words = (rng.choice(TOPICS[topic].split()) for _ in range(rng.randint(12, 60)))
            results.append(" ".join(words).capitalize() + ".\n\n")
            topics.append(topic)
    return results[:n], topics[:n]


def text(n: int) -> str:
    return "".join(paragraphs(n)[0])


LONG = text(1000)


def purity(labels: list[int], topics: list[int]) -> float:
    """Return the share of pieces on the most frequent topic of their component."""
    members: dict[int, list[int]] = {}
    for label, topic in zip(labels, topics, strict=True):
        members.setdefault(label, []).append(topic)
    return sum(max(map(some.count, some)) for some in members.values()) / len(topics)


def test_a_long_document_keeps_its_structure():
    _, topics = paragraphs(1000)
    default, published = (MSTSemanticChunker(preset=preset).explain(LONG) for preset in (None, "published"))
    assert default.figures["largest_component"] < 0.2
    assert published.figures["largest_component"] > 0.9
    assert purity(default.figures["labels"].tolist(), topics) > 0.8
    assert purity(published.figures["labels"].tolist(), topics) < 0.2


def test_repetition_changes_neither_the_mean_distance_nor_lambda():
    once, often = (MSTSemanticChunker().explain(text(400) * times).figures for times in (1, 10))
    assert often["mean_distance"] == pytest.approx(once["mean_distance"], rel=0.01)
    assert often["lambda_"] == pytest.approx(once["lambda_"], rel=0.015)


# Components within the limits.


def test_even_components_need_no_cuts_by_size():
    default, even = (MSTSemanticChunker(max_tokens=150, preset=preset).explain(LONG) for preset in (None, "even"))
    assert {cut.reason for cut in default.cuts} == {"label", "size"}
    assert {cut.reason for cut in even.cuts} == {"label"}
    assert len(even.chunks) == len(set(even.figures["labels"].tolist()))
    assert purity(even.figures["labels"].tolist(), paragraphs(1000)[1]) > 0.8


@pytest.mark.parametrize("other", [{"lambda_": 0.3}, {"n_segments": 3}])
def test_even_components_take_no_other_criterion(other):
    rule = "only one of rule, lambda_ and n_segments can be given"
    with pytest.raises(ValueError, match=rule):
        create("mst-semantic", preset="even", **other)


# Lists.

ITEMS = [f"- {t.capitalize()} is item {i}.\n" for i, t in enumerate(" ".join(TOPICS).split()[::3])]


def test_short_items_stay_with_their_list():
    """With a lambda that connects nothing, too."""
    before, after = paragraphs(2)[0]
    chunks = MSTSemanticChunker(lambda_=-9.0, layout_weight=0.0).chunk(before + "".join(ITEMS) + "\n" + after)
    assert chunks[0].text == before
    assert chunks[-1].text == after
    assert len(chunks) > 3
    assert all(chunk.tokens >= 80 for chunk in chunks[1:-1])


def test_short_paragraphs_may_stand_alone():
    some = [item.removeprefix("- ") + "\n" for item in ITEMS]
    assert [c.text for c in MSTSemanticChunker(lambda_=-9.0).chunk("".join(some))] == some


def test_long_items_may_stand_alone():
    some = [f"- {paragraph.strip()}\n" for paragraph in paragraphs(100)[0]]
    long = {item for item in some if len(item.split()) > 90}
    chunks = MSTSemanticChunker(lambda_=-9.0, short_threshold=20).chunk("".join(some))
    assert long <= {chunk.text for chunk in chunks}
    assert np.mean([len(chunk.text) for chunk in chunks]) < 1.5 * np.mean([len(item) for item in some])
