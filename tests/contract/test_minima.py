"""A minimum is a promise: no chunk is below it but the last of a text, and no text has scraps."""

import random
from collections.abc import Callable
from dataclasses import fields

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from advchunk import create, names
from advchunk.building.sizes import SCRAP
from advchunk.chunkers import catalog
from advchunk.text.scripts import count_words
from stand_ins import STAND_INS

TOPICS = ("Cats purr and nap all day in the sun", "Judges sit in court and rule on law", "Rivers carry sand to the sea")
OTHERS = {"min_len", "min_mentions", "min_descriptions"}  # not of a chunk
VALUES = {"min_chunk_size": 40, "min_segment_length": 60, "min_segment_tokens": 60, "min_run": 4, "min_cluster_size": 4}
MINIMA = [
    (name, field.name, VALUES.get(field.name, 40))
    for name in names()
    for field in fields(catalog.params_of(catalog.chunker_class(name)))
    if field.name.startswith("min_") and field.name not in OTHERS and type(field.default) is int
]
SIZES: dict[str, Callable] = {
    "min_chunk_size": lambda chunk, _: count_words(chunk.text),
    "min_run": lambda chunk, units: units.edges.searchsorted(chunk.end) - units.edges.searchsorted(chunk.start),
}
SIZES["min_cluster_size"] = SIZES["min_run"]
few = settings(max_examples=8, deadline=None)


def structured(seed):
    """Return Markdown with headings, lists, and short lines."""
    rng, blocks = random.Random(seed), list[str]()
    for section in range(12):
        blocks.append(f"{'#' * rng.randint(1, 3)} Part {section}")
        for _ in range(rng.randint(1, 3)):
            lines = [f"{rng.choice(TOPICS)}, case {i}." for i in range(rng.randint(2, 9))]
            form = rng.choice(["{}", "NOTE\n\n{}", "They say this:\n\n- {}\n- Yes.", "{}\n\nYeah."])
            blocks.append(form.format(" ".join(lines)))
    return "\n\n".join(blocks)


def build(name, **params):
    own = {"markup": "markdown"} if name in {"grobid-section", "layout-aware"} else {}
    own |= {"overlap_tokens": 0, "include_context": False} if name == "biomedical-abstract" else {}
    return create(name, experimental=True, **{**STAND_INS.get(name, {}), **own, **params})


@pytest.mark.parametrize(("name", "parameter", "least"), MINIMA)
@few
@given(seed=st.integers(0, 10**6))
def test_only_the_last_chunk_is_below_a_minimum(name, parameter, least, seed):
    explanation = build(name, **{parameter: least}).explain(structured(seed))
    size = SIZES.get(parameter, lambda chunk, _: chunk.tokens)
    breaks = set(explanation.units.edges[explanation.units.hard_breaks()].tolist())
    chunks = [chunk for chunk in explanation.chunks if chunk.level == 0]
    for chunk in sorted(chunks, key=lambda chunk: chunk.spans)[:-1]:
        assert size(chunk, explanation.units) >= least or chunk.end in breaks


@pytest.mark.parametrize("name", sorted(set(names()) - {"hierarchical"}))  # whose sentences are chunks
@few
@given(seed=st.integers(0, 10**6))
def test_no_text_has_scraps(name, seed):
    chunks = [chunk for chunk in build(name).chunk(structured(seed)) if chunk.level == 0]
    full = chunks[:-1] if name == "sliding-window" else chunks  # the last window is what remains
    assert all(chunk.tokens > SCRAP for chunk in full)


def test_a_short_line_goes_with_what_it_leads_to_but_the_published_algorithm_joins_nothing():
    cats, judges, _ = [f"{topic}. " * 6 + "\n\n" for topic in TOPICS]
    text = f"{cats}NOTE\n\n{judges}"
    texts = [
        [chunk.text for chunk in create("mst-semantic", lambda_=-9.0, layout_weight=w).chunk(text)] for w in (0.0, 1.0)
    ]
    assert texts == [[cats, "NOTE\n\n", judges], [cats, f"NOTE\n\n{judges}"]]
