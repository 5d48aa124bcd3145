"""How much hangs on a parameter: what is varied, what is brittle, and what is said of it."""

import doctest
import json
import math
import subprocess
import sys
from dataclasses import dataclass, replace
from importlib.resources import files
from itertools import pairwise
from pathlib import Path
from typing import Any, ClassVar, Literal

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from sensitivity import (
    BRITTLE_LOSS,
    SIZE_PARAMETERS,
    Effect,
    Variation,
    answer_scorer,
    boundary_scorer,
    brittleness_warning,
    sensitivity,
    variations,
)

from advchunk import Document, Span, create
from advchunk.chunkers.base import LinearChunker
from advchunk.chunkers.catalog import chunker_class, describe, names, params_of
from advchunk.chunkers.experimental_base import ExperimentalChunker
from advchunk.chunkers.params import Params, parameters, varied
from advchunk.errors import require
from advchunk.evaluation import EvaluationTask, Question, Reference, candidate, evaluate, pk, synthetic
from advchunk.evaluation.comparison.candidates import brittleness_notes
from advchunk.evaluation.metrics.statistics import Difference, holm, paired_difference
from advchunk.records import Segmentation

pytestmark = pytest.mark.slow


@dataclass(kw_only=True)
class PlantedParams(Params):
    """Cut every fifth unit.

    Parameters
    ----------
    threshold : under ``cliff``, nothing is cut.
    cliff : see ``threshold``.
    fails : whether to fail there instead.
    """

    algorithm: ClassVar[str] = "planted"
    threshold: float = 0.5
    cliff: Literal["near", "far"] = "near"
    fails: bool = False


@dataclass(kw_only=True)
class PlantedChunker(PlantedParams, ExperimentalChunker, LinearChunker):
    def segment(self, units, limits):
        under = self.threshold < (0.45 if self.cliff == "near" else 0.1)
        if self.fails and under:
            raise ZeroDivisionError
        n = len(units)
        return Segmentation(np.array([0, n]) if under else np.r_[0:n:5, n])


@dataclass(kw_only=True)
class RulesParams(Params):
    """Have rules.

    Parameters
    ----------
    share, whole, real, width : numbers.
    off, none, free, choice, maybe, perhaps, switch, seed : others.
    """

    algorithm: ClassVar[str] = "rules"
    share: float = 0.9
    whole: int = 10
    real: float = -0.5
    width: int = 3
    off: float = 0.0
    none: float | None = None
    free: str = "free"
    choice: Literal["a", "b", "c"] = "b"
    maybe: Literal["x"] | None = None
    perhaps: Literal["x"] | None = "x"
    switch: bool = True
    seed: int = 0

    def check(self):
        super().check()
        require(0 <= self.share <= 1, "share must be in 0..1", self.share)
        require(self.width % 2 == 1, "width must be odd", self.width)
        require(self.choice != "c", "choice must not be c", self.choice)


@dataclass(kw_only=True)
class RulesChunker(RulesParams, LinearChunker):
    def segment(self, units, limits):
        return Segmentation(np.array([0, len(units)]))


TEXTS = [synthetic(seed, segments=4 + seed % 8, sentences=(5, 5)) for seed in range(14)]
FLAT = [replace(text, cuts=np.array([0, len(text.units)])) for text in TEXTS]
TYPES = {"planted": boundary_scorer(TEXTS), "flat": boundary_scorer(FLAT)}


@pytest.fixture(scope="module")
def task():
    text = TEXTS[0].units.text
    edges = TEXTS[0].units.edges
    places = [Span(int(edges[a]), int(edges[a + 1])) for a in range(0, 20, 2)]
    questions = tuple(Question(text[slice(*span)], (Reference("a", span),)) for span in places)
    return EvaluationTask((Document(text, "a"), Document("Nobody asks of this.", "b")), questions, budget=250)


def summary(variation):
    return variation.parameter, variation.value, variation.judged, variation.refused


def test_the_examples_are_correct():
    assert doctest.testmod(sys.modules["sensitivity"]).failed == 0


def test_a_threshold_at_a_cliff_is_brittle():
    measured = sensitivity(PlantedChunker(), TYPES)
    assert [(e.variation.parameter, e.variation.value, e.type) for e in measured.brittle] == [
        ("threshold", 0.4, "planted")
    ]
    (worst,) = measured.brittle
    assert worst.points == pytest.approx(100 * np.mean([-pk(t.cuts, [0, len(t.units)]) for t in TEXTS]), abs=0.05)
    assert (round(worst.size, 2), worst.failed) == (7.07, 0)
    gain = next(e for e in measured.effects if e.variation == worst.variation and e.type == "flat")
    assert gain.points > BRITTLE_LOSS
    assert not gain.brittle


def test_a_threshold_far_from_its_cliff_is_not():
    measured = sensitivity(PlantedChunker(cliff="far"), TYPES)
    assert not measured.brittle
    # Of the words, "near" changes nothing at 0.5: nothing does.
    assert {effect.difference for effect in measured.effects} == {Difference(0.0, 0.0, 0.0, 1.0)}
    assert {effect.p for effect in measured.effects} == {1.0}


def test_a_failure_counts_as_brittle_despite_a_fallback(task):
    measured = sensitivity(PlantedChunker(fails=True, cliff="near"), {**TYPES, "asked": answer_scorer(task)})
    assert {(e.variation.parameter, e.variation.value, e.type, e.failed) for e in measured.brittle} == {
        ("threshold", 0.4, "planted", len(TEXTS)),
        ("threshold", 0.4, "flat", len(TEXTS)),
        ("threshold", 0.4, "asked", 10),
    }
    assert {effect.difference for effect in measured.brittle} == {Difference(0.0, 0.0, 0.0, 1.0)}


@pytest.mark.parametrize(("loss", "p", "brittle"), [(5.0, 0.049, True), (4.9, 0.001, False), (9.0, 0.05, False)])
def test_the_rule_has_two_sides(loss, p, brittle):
    change = Variation("threshold", 0.5, 0.4, judged=True)
    effect = Effect(change, "news", Difference(-loss / 100, -0.2, 0.0, 0.001), p, 1.0, 0)
    assert effect.brittle == brittle
    assert not replace(effect, variation=replace(change, judged=False)).brittle
    assert not replace(effect, difference=Difference(loss / 100, 0.0, 0.2, 0.001)).brittle


def test_effects_are_what_a_plain_loop_finds():
    chunker = PlantedChunker(cliff="far", threshold=0.12)
    measured = sensitivity(chunker, TYPES, seed=3)
    base, differences = replace(chunker, fallback=None), []
    expected = [
        ("max_tokens", 410), ("max_tokens", 614), ("include_context", True), ("add_scores", True), ("add_signal", True), ("markup", "plain"),
        ("outline", False), ("layout_weight", 0.8), ("layout_weight", 1.2),
        ("threshold", 0.096), ("threshold", 0.144), ("cliff", "near"), ("fails", True),
    ]  # fmt: skip
    for name, value in expected:
        varied = replace(base, **{name: value})
        for texts in (TEXTS, FLAT):
            ours, baseline = ([1 - pk(t.cuts, c.segmentation(t.units).cuts) for t in texts] for c in (varied, base))
            differences.append(paired_difference(np.array(ours), np.array(baseline), resamples=9999, seed=3))
    assert [(e.variation.parameter, e.variation.value) for e in measured.effects[::2]] == expected
    assert [effect.type for effect in measured.effects] == ["planted", "flat"] * len(expected)
    assert [effect.difference for effect in measured.effects] == differences
    assert [effect.p for effect in measured.effects] == holm(
        np.array([difference.p for difference in differences])
    ).tolist()
    assert len(measured.brittle) == 1
    assert sensitivity(chunker, TYPES, seed=3) == measured


def test_measures_say_what_the_harness_says(task):
    scores, sizes = answer_scorer(task)(create("recursive", max_tokens=30))
    (result,) = evaluate([candidate("recursive", max_tokens=30)], task)
    assert scores.tolist() == result.recall.tolist()
    assert sizes == result.tokens.mean()
    assert 0 < scores.mean() < 1
    values, size = boundary_scorer(TEXTS)(PlantedChunker(fallback=None))
    assert (values.tolist(), size) == ([1.0] * len(TEXTS), 5.0)


def test_every_kind_of_parameter_is_varied_by_its_rule():
    own = [variation for variation in variations(RulesChunker()) if variation.parameter in RulesParams.__annotations__]
    odd = "width must be odd, got {}"
    assert [summary(variation) for variation in own] == [
        ("share", 0.72, True, ""),
        ("share", 1.0, True, ""),  # not 1.08
        ("whole", 8, True, ""),
        ("whole", 12, True, ""),
        ("real", -0.4, True, ""),
        ("real", -0.6, True, ""),
        ("width", 2, True, odd.format(2)),
        ("width", 4, True, odd.format(4)),
        ("choice", "a", False, ""),
        ("choice", "c", False, "choice must not be c, got 'c'"),
        ("maybe", "x", False, ""),
        ("perhaps", None, False, ""),
        ("switch", False, False, ""),
        ("seed", 1, True, ""),
    ]


@given(st.integers(-1000, 1000).filter(bool))
def test_whole_numbers_move_by_a_fifth_and_at_least_1(value):
    moved = [variation for variation in variations(RulesChunker(whole=value)) if variation.parameter == "whole"]
    assert [abs(variation.value - value) for variation in moved] == [max(1, round(abs(value) * 0.2))] * 2
    assert {math.copysign(1, variation.value - value) for variation in moved} == {-1, 1}
    assert {variation.judged for variation in moved} == {abs(value) >= 3}


@given(st.floats(0.01, 1, exclude_max=True))
def test_a_share_never_passes_its_bound(share):
    less, more = [
        variation.value for variation in variations(RulesChunker(share=share)) if variation.parameter == "share"
    ]
    assert less == pytest.approx(0.8 * share)
    assert more == pytest.approx(min(1.2 * share, 1.0))
    assert more <= 1


@pytest.mark.parametrize("parameters", [{"1": "^A"}, ["^A"], ("^A",), "^A"])
def test_regular_expressions_are_not_varied(parameters):
    ours = {} if isinstance(parameters, dict) else {"boundaries": parameters}
    varied_names = {variation.parameter for variation in variations(create("recursive", headings=parameters, **ours))}
    assert varied_names == {variation.parameter for variation in variations("recursive")}
    assert not varied_names & {"headings", "boundaries"}
    assert varied_names >= {"outline", "layout_weight"}


@pytest.mark.parametrize("name", names())
def test_every_variation_of_every_chunker_can_be_built_and_differs_in_one_parameter(name):
    base = create(name, experimental=True)
    for variation in variations(name):
        if not variation.refused:
            changed = varied(base, **{variation.parameter: variation.value})
            assert getattr(changed, variation.parameter) == variation.value != variation.default
        if variation.judged and variation.parameter != "seed":
            assert abs(variation.value - variation.default) <= abs(variation.default) / 3
            assert variation.parameter not in SIZE_PARAMETERS


def test_sizes_are_parameters_and_every_limit_in_tokens_or_words_is_one():
    names_ = {name for chunker in names() for name in parameters(params_of(chunker_class(chunker)))}
    assert names_ >= SIZE_PARAMETERS
    assert {name for name in names_ if "_tokens" in name or "chunk_size" in name} <= SIZE_PARAMETERS


def test_a_warning_says_how_much_where_and_when():
    change = Variation("threshold", 0.7, 0.56, judged=True)
    effect = Effect(change, "clinical", Difference(-0.0914, -0.12, -0.06, 0.0002), 0.004, 0.8, 0)
    assert brittleness_warning(
        effect, "boundary accuracy", settings="with preset='fine'", source="measured 2026-11-22"
    ) == (
        "brittle with preset='fine': a fifth less of `threshold` (0.56 instead of 0.7) costs 9.1 points of boundary"
        " accuracy on clinical text (measured 2026-11-22)"
    )
    seeded = replace(effect, variation=Variation("seed", 0, 1, judged=True), failed=3)
    assert brittleness_warning(seeded, "recall") == "brittle: `seed` (1 instead of 0) fails on 3 items on clinical text"
    more = replace(effect, variation=replace(change, default=10, value=12))
    assert brittleness_warning(more, "recall").startswith(
        "brittle: a fifth more of `threshold` (12 instead of 10) costs 9.1 points"
    )


# What was published, and how.


def script(*args):
    command = [sys.executable, Path(__file__).parents[2] / "benchmarks" / "robustness.py", *args]
    return subprocess.run(command, capture_output=True, check=False, text=True)


def test_the_script_measures_what_data_there_is_and_does_not_publish_that(tmp_path):
    (tmp_path / "choi" / "some").mkdir(parents=True)
    (tmp_path / "chroma").mkdir()
    for text in TEXTS:
        sentences = [output.strip() for output in text.units.strings()]
        segments = ["\n".join(sentences[a:b]) for a, b in pairwise(text.cuts.tolist())]
        (tmp_path / "choi" / "some" / f"{text.name}.ref").write_text(f"\n{'=' * 10}\n".join(segments), "utf-8")
    (tmp_path / "chroma" / "wikitexts.md").write_text(TEXTS[0].units.text, "utf-8")
    (tmp_path / "chroma" / "odes.md").write_text(TEXTS[1].units.text, "utf-8")
    asked = [
        {"question": "Duminu?", "corpus": corpus, "references": [[a, a + 9]]}
        for corpus in ("wikitexts", "odes")
        for a in (0, 99)
    ]
    (tmp_path / "chroma" / "questions.jsonl").write_text("\n".join(map(json.dumps, asked)), "utf-8")
    output = script("--data", tmp_path, "--only", "recursive", "texttiling, preset=fine", "--texts", "2")
    assert output.returncode == 0, output.stderr
    assert "|  | joined news | odes | encyclopedic |" in output.stdout
    assert "| texttiling, preset=fine | " in output.stdout
    assert output.stderr == "recursive: 27 effects\ntexttiling, preset=fine: 57 effects\n"
    refused = script("--data", tmp_path, "--write")
    assert refused.returncode == 1
    assert "--write without all texts of all types requires --only" in refused.stderr


@pytest.fixture(scope="module")
def read():
    data: dict[str, Any] = json.loads(
        files("advchunk.chunkers").joinpath("sensitivity.json").read_text(encoding="utf-8")
    )
    return data


def test_verdicts_are_on_what_chunkers_are_now(read):
    assert {label.partition(",")[0] for label in read["chunkers"]} <= set(names())
    for label, entry in read["chunkers"].items():
        name, _, settings = label.partition(", ")
        chunker = create(name, experimental=True, **dict([settings.split("=")] if settings else []))
        assert entry["version"] == chunker.version
        if "parameter" in entry:
            varied = [variation for variation in variations(chunker) if variation.parameter == entry["parameter"]]
            assert (entry["default"], entry["value"]) in [(variation.default, variation.value) for variation in varied]
            assert entry["type"] in read["types"]


def test_brittle_and_warned_of_are_the_same(read):
    for label, entry in read["chunkers"].items():
        assert entry["brittle"] == ("warning" in entry)
        if entry["brittle"]:
            assert f"`{entry['parameter']}`" in entry["warning"]
            assert f"measured {entry['measured']}, see benchmarks/CUTS.md" in entry["warning"]
            assert entry["failed"] or (entry["points"] <= -BRITTLE_LOSS and entry["p"] < 0.05)
            assert entry["warning"] in describe(label.partition(",")[0])["warnings"]
            assert brittleness_notes([label]) == {label: entry["warning"]}


@pytest.mark.parametrize("name", names())
def test_a_chunker_that_was_not_measured_says_so(read, name):
    measured = name in {label.partition(",")[0] for label in read["chunkers"]}
    assert any(warning.startswith("not measured") for warning in describe(name)["warnings"]) != measured


def test_notes_go_to_the_labels_of_what_is_brittle(monkeypatch):
    published = {"chunkers": {"a": {"warning": "A"}, "a, preset=b": {"warning": "B"}, "c": {}, "d": {}}}
    monkeypatch.setattr("advchunk.chunkers.catalog.sensitivities", lambda: published)
    labels = ["a", "a, max_tokens=300", "a, preset=b, max_tokens=3", "a, preset=other", "c", "d", "external"]
    assert brittleness_notes(labels) == {"a": "A", "a, max_tokens=300": "A", "a, preset=b, max_tokens=3": "B"}
