"""Parameters of all chunkers, front ends and enrichers: a value that cannot mean anything is refused, and named."""

import inspect
import math
import re
from functools import partial
from itertools import product
from typing import get_args, get_type_hints

import pytest

from advchunk import ConfigurationError, names
from advchunk.chunkers.catalog import chunker_class, params_of
from advchunk.chunkers.params import hints
from advchunk.enrich import ContextualEnricher, Rewriting, Summaries
from front_ends import classes
from stand_ins import STAND_INS

SIZES = {
    "min_tokens", "overlap_tokens", "target_tokens", "min_segment_tokens", "min_segment_length", "max_section_tokens",
    "summary_tokens",
}  # fmt: skip
NOT_NUMBERS = [math.nan, math.inf, -math.inf, True, "3", [3]]
NUMBERS = [-1, 0, 1, 0.5, 10**9]


def numeric(types):
    """Return the names of the parameters that are numbers, with their types."""
    return {name: hint for name, hint in types.items() if {int, float} & {hint, *get_args(hint)}}


@pytest.fixture(params=names())
def name(request):
    """Return the name of each chunker in turn."""
    return request.param


@pytest.fixture
def front_ends(name):
    """Return functions that build each chunker in the core, LangChain and LlamaIndex, with the models that it needs."""
    return [partial(build, **STAND_INS.get(name, {})) for build in classes(name)]


def refusal(build, **params):
    """Return the message of the error that ``params`` raise, or None."""
    try:
        build(**params)
    except ValueError as error:
        return str(error)
    return None


def test_a_number_is_finite_and_neither_text_nor_a_truth_value(front_ends, name):
    for build, parameter, value in product(front_ends, numeric(hints(chunker_class(name))), NOT_NUMBERS):
        message = refusal(build, **{parameter: value})
        assert message, (build, parameter, value)
        assert parameter in message
        assert repr(value) in message


def test_a_number_alone_is_accepted_or_refused_by_its_own_name(front_ends, name):
    for build, parameter, value in product(front_ends, numeric(hints(chunker_class(name))), NUMBERS):
        message = refusal(build, **{parameter: value}) or f"{parameter} {value}"
        assert parameter in message
        assert str(value) in message


def test_any_maximum_alone_is_accepted(front_ends):
    for build, most in product(front_ends, [16, 17, 50, 119, 450, 5_000]):
        assert build(max_tokens=most).max_tokens == most


def test_no_size_exceeds_the_maximum_of_a_chunk(front_ends, name):
    for build, parameter in product(front_ends, SIZES & set(hints(chunker_class(name)))):
        message = refusal(build, max_tokens=512, **{parameter: 600})
        assert message, (build, parameter)
        assert re.search(rf"{parameter} must be .*max_tokens.*600", message, re.DOTALL)


RULES = {
    "max_tokens must be >= 1, got 0": {"max_tokens": 0},
    "min_tokens must be in 0..max_tokens, got 999": {"max_tokens": 9, "min_tokens": 999},
    "overlap_tokens must be in 0..max_tokens - 1, got -1": {"overlap_tokens": -1},
    "markup": {"markup": "wordperfect"},
    "timeout must be > 0 or None, got 0": {"timeout": 0},
}


def test_errors_state_rule_and_value(front_ends):
    for build, (rule, bad) in product(front_ends, RULES.items()):
        assert rule in refusal(build, **bad), build


def test_sizes_of_a_chunk_are_those_that_are_tested():
    named = {parameter for name in names() for parameter in hints(params_of(chunker_class(name)))}
    others = {"max_tokens", "max_tokens_per_segment", "short_tokens", "window_tokens", "material_tokens"}
    assert {parameter for parameter in named if "tokens" in parameter} - others <= SIZES


@pytest.mark.parametrize(
    ("name", "bad", "rule"),
    [
        (
            "semantic-cluster",
            {"method": "hdbscan", "linkage": "average"},
            "linkage can be given with method='hac' only",
        ),
        (
            "discourse",
            {"connectives": {5: "weak"}},
            "connectives must be a mapping of strings to anything or None, got {5",
        ),
        ("bayesseg", {"word_splitter": "spaces"}, "word_splitter must be a callable or None"),
        ("llm-chaptering", {"temperature": 50}, "temperature must be in 0..2, got 50"),
    ],
    ids=lambda value: value if isinstance(value, str) else "",
)
def test_parameters_that_contradict_each_other_are_refused(name, bad, rule):
    with pytest.raises(ConfigurationError, match=re.escape(rule)):
        chunker_class(name)(**{**STAND_INS.get(name, {}), **bad})


@pytest.mark.parametrize("enricher", [ContextualEnricher, Summaries, Rewriting])
def test_numbers_of_enrichers_are_numbers(enricher):
    resolved = {
        key: hint for key, hint in get_type_hints(enricher).items() if key in inspect.signature(enricher).parameters
    }
    for parameter, value in product(numeric(resolved), [*NOT_NUMBERS, *NUMBERS]):
        message = refusal(enricher, llm=lambda prompt: prompt, **{parameter: value})
        assert message or value in NUMBERS, (parameter, value)
        assert message is None or (parameter in message and repr(value) in message)
    assert "temperature must be in 0..2, got 50" in refusal(enricher, llm=lambda prompt: prompt, temperature=50)
