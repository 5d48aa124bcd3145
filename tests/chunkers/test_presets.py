"""Presets for long topics, on a text with known ones."""

import random

import numpy as np
import pytest

from advchunk import create
from advchunk.evaluation import even_split, pk
from advchunk.records import Units

TOPICS = [
    "cat kitten purr nap fur whisker paw mouse litter claw",
    "court judge law appeal verdict jury lawyer witness trial statute",
    "ship harbor sail tide captain anchor storm deck sailor mast",
    "bread oven flour yeast dough bake crust loaf butter baker",
]
WORDS = "people time year way day thing part place work case point week group problem fact hand number side"
LENGTH = 80  # sentences of a topic


@pytest.fixture(scope="module")
def units():
    rng, sentences = random.Random(1), list[str]()
    for topic in TOPICS:
        for _ in range(LENGTH):
            words = [*rng.choices(topic.split(), k=3), *rng.choices(WORDS.split(), k=6)]
            sentences.append(" ".join(rng.sample(words, len(words))).capitalize() + ". ")
    return Units("".join(sentences), np.cumsum([0, *map(len, sentences)]))


@pytest.mark.parametrize("name", ["texttiling", "c99", "lda-topic", "semantic-cluster", "graph-partition"])
def test_coarse_presets_find_long_topics_at_least_as_well_as_the_defaults(units, name):
    true = np.arange(0, len(TOPICS) * LENGTH + 1, LENGTH)
    default, coarse = (
        pk(true, create(name, preset=preset, experimental=True).segmentation(units).cuts) for preset in (None, "coarse")
    )
    assert coarse <= default
    assert coarse < 0.1 < pk(true, even_split(len(units), 1))
