"""A value that is given wins over a preset, also if it is the default, in each front end and in each copy."""

import copy
import json
import logging
import pickle
from dataclasses import replace
from itertools import chain, combinations, product

import pytest

import llamaindex_advchunk
from advchunk import Chunker, ConfigurationError, create, describe, names
from advchunk.chunkers.catalog import chunker_class
from advchunk.chunkers.params import parameters, varied
from advchunk.cli.options import create_chunker, parse_params
from front_ends import classes
from lm import Words

PRESETS = [(name, preset) for name in names() for preset in chunker_class(name).presets]
STAND_INS = {"lm": Words(), "llm": lambda _: ""}  # models that chunkers cannot be built without


@pytest.fixture(params=PRESETS, ids=" ".join)
def chosen(request):
    """The name of a chunker and one of its presets."""
    return request.param


@pytest.fixture
def values(chosen):
    """The values that the preset sets."""
    name, preset = chosen
    return chunker_class(name).presets[preset]


@pytest.fixture(params=range(3), ids=["Chunker", "Splitter", "NodeParser"])
def front_end(request, chosen):
    """The class of the chunker in a front end."""
    return classes(chosen[0])[request.param]


def settled(made):
    """Return the hyper-parameters that a front end chunks with."""
    return parameters(made if isinstance(made, Chunker) else made.core())


def subsets(names):
    return chain.from_iterable(combinations(names, size) for size in range(len(names) + 1))


def test_any_default_that_is_given_wins_over_the_preset(front_end, chosen, values, caplog):
    name, preset = chosen
    defaults = describe(name)["parameters"]
    for explicit in subsets(values):
        made = front_end(preset=preset, **{parameter: defaults[parameter] for parameter in explicit})
        assert settled(made) == {**defaults, **values, **{parameter: defaults[parameter] for parameter in explicit}} | {
            "preset": preset
        }
        assert ("has no effect" in caplog.text) == (len(explicit) == len(values))


def test_any_other_default_that_is_given_changes_nothing(front_end, chosen):
    name, preset = chosen
    alone = settled(front_end(preset=preset))
    others = describe(name)["parameters"].keys() - {"preset", *chunker_class(name).presets[preset]}
    if name == "universal-semantic" and preset != "published":  # where a percentile excludes a threshold
        others -= {"threshold"}
        with pytest.raises(ConfigurationError, match="only one of threshold and threshold_percentile"):
            front_end(preset=preset, threshold=0.5)
    for parameter in others:
        assert settled(front_end(preset=preset, **{parameter: describe(name)["parameters"][parameter]})) == alone


def copies(made):
    """Yield a copy of each kind."""
    yield from (copy.copy(made), copy.deepcopy(made), pickle.loads(pickle.dumps(made)))
    if hasattr(made, "model_copy"):
        yield from (made.model_copy(), type(made).from_dict(made.to_dict()), type(made).from_json(made.to_json()))
    else:
        yield from (replace(made), replace(made, timeout=None))


@pytest.mark.slow
def test_copies_have_the_same_values(front_end, chosen, values):
    name, preset = chosen
    defaults = describe(name)["parameters"]
    for explicit in subsets(values):
        made = front_end(preset=preset, **{parameter: defaults[parameter] for parameter in explicit})
        for other in copies(made):
            assert settled(other) == settled(made)
            assert settled(next(copies(other))) == settled(made)


def test_a_copy_with_a_default_has_it(front_end, chosen, values):
    name, preset = chosen
    for parameter in values:
        default, made = describe(name)["parameters"][parameter], front_end(preset=preset)
        change = {parameter: default}
        other = made.model_copy(update=change) if hasattr(made, "model_copy") else replace(made, **change)
        assert settled(other) == settled(made) | change


def test_a_preset_is_settled_anew_for_a_varied_chunker(chosen, values):
    name, preset = chosen
    plain = create(name, experimental=True, max_tokens=300)
    assert settled(varied(plain, preset=preset)) == settled(
        create(name, experimental=True, max_tokens=300, preset=preset)
    )
    for parameter, value in values.items():
        kept = create(name, experimental=True, **{parameter: describe(name)["parameters"][parameter]})
        assert getattr(varied(kept, preset=preset), parameter) != value


def test_a_preset_in_a_replacement_sets_nothing_and_says_so(chosen, values, caplog):
    name, preset = chosen
    with caplog.at_level(logging.WARNING):
        made = replace(create(name, experimental=True), preset=preset)
    assert settled(made) == describe(name)["parameters"] | {"preset": preset}
    assert f"preset '{preset}' of {type(made).__name__} has no effect: it sets {', '.join(values)} only" in caplog.text


def test_a_preset_can_be_assigned_to_a_node_parser():
    parser = llamaindex_advchunk.TextTilingNodeParser(block_size=10)
    parser.preset = "fine"
    assert (parser.core().block_size, parser.core().smooth_width) == (10, 1)
    assert settled(type(parser).from_dict(parser.to_dict())) == settled(parser)


def test_the_command_line_gives_values(chosen, values):
    name, preset = chosen
    for parameter in values:
        default = describe(name)["parameters"][parameter]
        explicit = parse_params(name, [f"preset={preset}", f"{parameter}={json.dumps(default)}"], {})
        models = {resource: STAND_INS[resource] for resource in STAND_INS.keys() & {*describe(name)["resources"]}}
        assert getattr(create_chunker(name, None, True, explicit, models), parameter) == default


def test_what_a_preset_sets_is_described_and_differs_from_the_default(chosen, values):
    name, preset = chosen
    description = describe(name)
    assert description["presets"][preset] == values
    assert all(description["parameters"][parameter] != value for parameter, value in values.items())
    assert f'"{preset}"' in description["documentation"]


# Other values that depend on what is given.


@pytest.mark.parametrize("explicit", [{"threshold": 0.5}, {"max_chunk_size": 1500}, {"threshold": 0.4}])
def test_a_domain_refuses_the_parameters_it_sets_also_at_their_defaults(explicit):
    for build in classes("universal-semantic"):
        with pytest.raises(ConfigurationError, match="give either domain or these"):
            build(domain="technical", **explicit)
        assert settled(build(domain="technical"))["threshold"] == 0.5


@pytest.mark.parametrize("name", ["universal-semantic", "perplexity"])
def test_a_threshold_at_its_default_beside_a_percentile_is_refused(name):
    default = describe(name)["parameters"]["threshold"]
    with pytest.raises(ConfigurationError, match="only one of threshold and threshold_percentile"):
        chunker_class(name)(threshold=default, threshold_percentile=20)
    kept = replace(chunker_class(name)(threshold_percentile=20), timeout=9)
    assert (kept.threshold, kept.threshold_percentile) == (default, 20)


def test_a_size_at_its_default_does_not_shrink_if_it_is_given():
    for build in classes("bayesseg"):
        with pytest.raises(ConfigurationError, match="min_segment_tokens must be at most max_tokens = 100, got 200"):
            build(max_tokens=100, min_segment_tokens=200)
        for maximum, minimum in ((100, 39), (300, 117), (400, 200)):
            core = build(max_tokens=maximum)
            assert (core if isinstance(core, Chunker) else core.core()).size("min_segment_tokens") == minimum
    assert create("universal-semantic", max_chunk_size=150).min_words == 20
    with pytest.raises(ConfigurationError, match=r"min_chunk_size must be in 0\.\.150, got 200"):
        create("universal-semantic", max_chunk_size=150, min_chunk_size=200)


def test_the_maxima_of_a_chunk_and_a_segment_are_kept_if_they_are_given():
    core, *adapters = classes("semantic-cluster")
    for params, maxima in [
        ({}, (800, 800)), ({"max_tokens": 300}, (300, 800)), ({"max_tokens": 1200}, (1200, 1200)),
        ({"max_tokens_per_segment": 300}, (300, 300)), ({"max_tokens_per_segment": 1200}, (1200, 1200)),
    ]:  # fmt: skip
        made = settled(core(**params))
        assert (made["max_tokens"], made["max_tokens_per_segment"]) == maxima
    for build, limit in ((core, "max_tokens"), *product(adapters, ("max_tokens", "chunk_size"))):
        made = build(**{limit: 800, "max_tokens_per_segment": 1200})
        assert (settled(made)["max_tokens"], settled(made)["max_tokens_per_segment"]) == (800, 1200)
    kept = replace(
        create("semantic-cluster", experimental=True, max_tokens=800, max_tokens_per_segment=1200), timeout=9
    )
    assert kept.max_tokens == 800


def test_a_number_of_clusters_beside_a_distance_is_refused_with_a_preset_too():
    with pytest.raises(ConfigurationError, match="only one of n_clusters and distance_threshold"):
        create("semantic-cluster", experimental=True, preset="chain", n_clusters=3, distance_threshold=1.0)


@pytest.mark.parametrize("build", classes("recursive")[1:])
def test_two_names_of_a_size_with_different_values_are_refused_also_at_the_default(build):
    with pytest.raises(ConfigurationError, match="chunk_size is another name for max_tokens: pass only one"):
        build(chunk_size=100, max_tokens=512)
    assert build(chunk_size=512, max_tokens=512).max_tokens == 512
