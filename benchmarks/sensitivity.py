"""Measure how sensitive a chunker is to each parameter, over documents of several types (see robustness.py).

The rule, chosen before any results were seen: a chunker is *brittle* if one judged change, of one parameter,

* costs at least `BRITTLE_LOSS` points (hundredths) of the mean score over the items of some document type, and the loss
  is significant: its p is under `SIGNIFICANCE_LEVEL`, adjusted for all effects measured of that chunker (Holm); or
* makes it fail on an item: raise, or not converge.

Five points separate good chunkers from simple ones of the same size (benchmarks/RETRIEVAL.md), so a chunker that loses
them to a slightly wrong value is not worth choosing. Numbers are judged a fifth lower and higher, rounded if whole, and
a seed at another value, which should not matter. Other changes are measured and reported, but not judged:

* sizes (`SIZE_PARAMETERS`), since changing the size of chunks is their purpose (benchmarks/RETRIEVAL.md has the size
  curve);
* whole numbers of 1 and 2, since the smallest step, 1, halves or doubles them;
* choices and switches, whose values are not near each other.
"""

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, replace
from math import nan
from typing import Any, Literal, NamedTuple, TypeAlias, get_args, get_origin

import numpy as np

from advchunk.chunkers import catalog
from advchunk.chunkers.base import Chunker, SegmentingChunker
from advchunk.chunkers.by_topic.threshold import DEFAULT_AMOUNTS, SemanticThresholdChunker
from advchunk.chunkers.params import hints, parameters, varied
from advchunk.engine import Job, Plan, completed, drive
from advchunk.errors import ConfigurationError, MissingExtra, first_line, require
from advchunk.evaluation import EvaluationTask, SegmentedText, pk
from advchunk.evaluation.metrics import retrieval
from advchunk.evaluation.metrics.statistics import Difference, holm, paired_difference
from advchunk.records import Floats, Segmentation, Units

BRITTLE_LOSS = 5.0
SIGNIFICANCE_LEVEL = 0.05
SIZE_PARAMETERS = frozenset({
    "max_chunk_size", "max_section_tokens", "max_tokens", "max_tokens_per_segment", "min_chunk_size", "min_segment_length",  # noqa: E501
    "material_tokens", "min_segment_tokens", "min_tokens", "overlap_tokens", "short_tokens", "summary_tokens",
    "target_tokens", "window_tokens"
})  # fmt: skip


class ItemScores(NamedTuple):
    """The scores of a chunker on documents of one type.

    Parameters
    ----------
    values : (n,) one score per item (a text, a question), higher is better; NaN where the chunker failed.
    size : of its mean chunk, in any unit.
    """

    values: Floats
    size: float


Scorer: TypeAlias = Callable[[Any], ItemScores]


@dataclass(frozen=True)
class Variation:
    """A parameter and another value for it.

    Parameters
    ----------
    judged : True if the rule for brittleness applies (see the module).
    refused : the error if the value is not possible: a rule it breaks, a missing extra; else "".
    """

    parameter: str
    default: Any
    value: Any
    judged: bool = False
    refused: str = ""


@dataclass(frozen=True)
class Effect:
    """The effect of a variation on documents of one type.

    Parameters
    ----------
    difference : of the scores, over the items that have a score before and after.
    p : of the difference, adjusted for the number of effects (Holm).
    size : of the mean chunk, as a share of the size before.
    failed : number of items that lost their score.
    """

    variation: Variation
    type: str
    difference: Difference
    p: float
    size: float
    failed: int

    @property
    def points(self) -> float:
        """The difference in points, rounded for display."""
        return round(100 * self.difference.mean, 1)

    @property
    def significant(self) -> bool:
        """True if the difference is significant."""
        return self.p < SIGNIFICANCE_LEVEL

    @property
    def brittle(self) -> bool:
        """True if it makes the chunker brittle (see the module)."""
        loses = self.significant and -100 * self.difference.mean >= BRITTLE_LOSS
        return self.variation.judged and (self.failed > 0 or loses)


@dataclass(frozen=True)
class Sensitivity:
    """All measured effects on a chunker, and the variations that are not possible."""

    effects: tuple[Effect, ...]
    refused: tuple[Variation, ...]

    @property
    def brittle(self) -> tuple[Effect, ...]:
        """The effects that make it brittle, worst first: failures, then losses."""
        return tuple(effect for effect in self.judged if effect.brittle)

    @property
    def judged(self) -> tuple[Effect, ...]:
        """The effects of judged variations, worst first: failures, then losses."""
        judged = [effect for effect in self.effects if effect.variation.judged]
        return tuple(sorted(judged, key=lambda effect: (-effect.failed, effect.difference.mean)))


def variations(chunker: SegmentingChunker | str) -> list[Variation]:
    """Return variations of a chunker, or of the registered one of that name, one parameter at a time.

    * A number is varied by a fifth in both directions; a whole number is rounded, and changes by at least 1. If a rule
      forbids the value, the nearest permitted one is used, such as a bound.
    * A choice or a switch takes every other value; a seed, the next one.
    * 0 and None, which turn something off, are not varied, except for a None that stands for a number; nor are free
      text and regular expressions.

    A value that is rejected, or needs an extra that is not installed, is returned with the reason.

    >>> [(v.parameter, v.value) for v in variations("optimal-semantic") if v.judged]
    [('layout_weight', 0.8), ('layout_weight', 1.2), ('penalty', 1.6), ('penalty', 2.4)]
    """
    base, values = _create(chunker), dict[str, Any]()
    kind: Any = type(base)
    if isinstance(base, SemanticThresholdChunker) and base.breakpoint_threshold_amount is None:
        values["breakpoint_threshold_amount"] = DEFAULT_AMOUNTS[base.breakpoint_threshold_type]
    return [
        _nearest_variation(base, name, value, target, judged=judged)
        for name, value in (parameters(base) | values).items()
        for target, judged in _other_values(name, value, hints(kind)[name])
    ]


def sensitivity(
    chunker: SegmentingChunker | str,
    scorers: Mapping[str, Scorer],
    *,
    judged_only: bool = False,
    seed: int = 0,
    progress: Callable[[str], None] = lambda _: None,
) -> Sensitivity:
    """Measure the effect of every variation of a chunker on documents of every type.

    Scores are paired by item (`paired_difference`). The number of resamples is such that the lowest possible p stays
    under `SIGNIFICANCE_LEVEL` when adjusted. Raises `ConfigurationError` for no scorers, or a scorer whose number
    of items varies.

    Parameters
    ----------
    chunker : or the name of a registered one, experimental or not; used without its fallback.
    judged_only : measure only the variations that the rule applies to.
    scorers : by the type of documents, such as `boundary_scorer` or `answer_scorer` of some.
    progress : called with a line per variation.
    """
    require(len(scorers) > 0, "scorers must not be empty", scorers)
    base = _create(chunker)
    before = {kind: scorer(base) for kind, scorer in scorers.items()}
    every = [variation for variation in variations(base) if variation.judged or not judged_only]
    possible = [variation for variation in every if not variation.refused]
    resamples = max(9999, 100 * len(possible) * len(scorers))
    effects = list[Effect]()
    for variation in possible:
        progress(f"{variation.parameter}={variation.value!r}")
        changed = varied(base, **{variation.parameter: variation.value})
        for kind, scorer in scorers.items():
            (old, old_size), (new, new_size) = before[kind], scorer(changed)
            require(new.shape == old.shape, f"a scorer must score the same {len(old)} items", len(new))
            difference = _difference(new, old, resamples, seed)
            failed = int(np.sum(np.isnan(new) & ~np.isnan(old)))
            effects.append(Effect(variation, kind, difference, nan, new_size / old_size, failed))
    adjusted = holm(np.array([effect.difference.p for effect in effects])).tolist()
    return Sensitivity(
        tuple(replace(effect, p=p) for effect, p in zip(effects, adjusted, strict=True)),
        tuple(variation for variation in every if variation.refused),
    )


def boundary_scorer(texts: Sequence[SegmentedText]) -> Scorer:
    """Return a scorer of a chunker's segmentation, before sizes apply: 1 - Pk of each text; sizes in sentences."""

    def score(chunker: SegmentingChunker) -> ItemScores:
        pairs = [(text, _segmentation(chunker, text.units)) for text in texts]
        scores = np.array([nan if result is None else 1 - pk(text.cuts, result.cuts) for text, result in pairs])
        lengths = [np.diff(result.cuts) for _, result in pairs if result is not None]
        return ItemScores(scores, float(np.concatenate(lengths).mean()) if lengths else nan)

    return score


def answer_scorer(task: EvaluationTask) -> Scorer:
    """Return a scorer of chunks: the recall of each question's answer within the budget; sizes in tokens."""

    def score(chunker: Chunker) -> ItemScores:
        results = chunker.chunk_many(task.documents, on_error="collect")
        names = [document.source for document in task.documents]
        failed = {names[failure.index] for failure in results.failures}
        groups = [[chunk for chunk in chunks if chunk.embed_text] for chunks in results]
        by_document = dict(zip(names, groups, strict=True))
        texts = [chunk.embed_text for chunks in by_document.values() for chunk in chunks]
        if not texts:
            return ItemScores(np.full(len(task.questions), nan), nan)
        tokens = np.maximum(task.counter.counts(texts), 1)
        overlaps = retrieval.find_overlaps(by_document, task.questions, tokens=tokens)
        scores = retrieval.similarities(task.question_vectors, task.embed_texts(texts))
        ranking = np.argsort(-scores, axis=1, kind="stable")
        recall = retrieval.at_budget(overlaps, ranking, task.budget).recall
        missing = [any(reference.document in failed for reference in q.references) for q in task.questions]
        return ItemScores(np.where(missing, nan, recall), float(tokens.mean()))

    return score


def brittleness_warning(worst: Effect, score: str, *, settings: str = "", source: str = "") -> str:
    """Return a sentence on the worst effect of `Sensitivity.brittle`.

    Parameters
    ----------
    score : its name, such as "boundary accuracy".
    settings : of the chunker, if not the defaults.

    >>> change = Variation("threshold", 0.7, 0.56, judged=True)
    >>> brittleness_warning(Effect(change, "clinical", Difference(-0.091, -0.12, -0.06, 0.0002), 0.004, 0.8, 0), "recall")
    'brittle: a fifth less of `threshold` (0.56 instead of 0.7) costs 9.1 points of recall on clinical text'
    """  # noqa: E501
    change = worst.variation
    ratio = round(change.value / change.default, 9) if change.default else nan
    amount = {0.8: "a fifth less of ", 1.2: "a fifth more of "}.get(ratio, "")
    varied = f"{amount}`{change.parameter}` ({change.value:g} instead of {change.default:g})"
    harm = f"costs {-worst.points:.1f} points of {score}" if not worst.failed else f"fails on {worst.failed} items"
    sentence = f"{' '.join(filter(None, ['brittle', settings]))}: {varied} {harm} on {worst.type} text"
    return f"{sentence} ({source})" if source else sentence


def _create(chunker: SegmentingChunker | str) -> Any:
    """Return the chunker without its fallback, which is not to be measured."""
    instance = catalog.create(chunker, experimental=True) if isinstance(chunker, str) else chunker
    return varied(instance, fallback=None)


def _other_values(name: str, value: Any, hint: Any) -> list[tuple[Any, bool]]:
    """Return the values to try for a parameter, and for each True if it is judged."""
    if name == "seed":
        return [(value + 1, True)]
    if name == "markup":  # any value but these two changes the texts
        return [(other, False) for other in ("markdown", "plain") if other != value]
    if choice := _choices(hint):
        # The parameters of a preset are varied; with their values fixed, another preset would apply only in part.
        return [(other, False) for other in choice if other != value and (name != "preset" or value is None)]
    if not isinstance(value, int | float) or value == 0:
        return []
    if isinstance(value, int) and hint is not float:
        step = round(abs(value) / 5)
        judged = step > 0 and name not in SIZE_PARAMETERS
        return [(value - max(step, 1), judged), (value + max(step, 1), judged)]
    return [(float(f"{value * factor:.12g}"), name not in SIZE_PARAMETERS) for factor in (0.8, 1.2)]


def _choices(hint: Any) -> list[Any]:
    """Return the values that a type lists, including None if it does."""
    if hint is bool:
        return [False, True]
    if get_origin(hint) is Literal:
        return list(get_args(hint))
    options = get_args(hint)
    listed = [value for option in options for value in _choices(option)]
    return listed + [None] * (type(None) in options) if listed else []


def _nearest_variation(base: Any, name: str, value: Any, target: Any, *, judged: bool) -> Variation:
    """Return the variation nearest to the target value that the rules permit."""
    refused = _refusal(base, name, target)
    if refused and all(isinstance(number, int | float) and not isinstance(number, bool) for number in (value, target)):
        inside, outside = value, target
        halve: Callable[[Any], Any] = (
            (lambda total: total // 2) if isinstance(target, int) else (lambda total: total / 2)
        )
        # To the last bit, or whole number, so that a bound is met exactly.
        while (middle := halve(inside + outside)) not in (inside, outside):
            inside, outside = (inside, middle) if _refusal(base, name, middle) else (middle, outside)
        if inside != value:
            target, refused = inside, ""
    return Variation(name, value, target, judged, refused)


def _refusal(base: Any, name: str, value: Any) -> str:
    """Return the reason why a chunker rejects a value; else ""."""
    try:
        changed = varied(base, **{name: value})
        changed.load()
    except (ConfigurationError, MissingExtra) as error:
        return first_line(error)
    actual = getattr(changed, name)
    return "" if actual == value else f"{name} stays {actual!r}: another parameter sets it"


def _segmentation(chunker: SegmentingChunker, units: Units) -> Segmentation | None:
    """Return a chunker's segmentation; None if it fails, with any error that the engine recovers from."""

    def plan() -> Plan[Segmentation | None]:
        yield from ()
        return chunker.segmentation(units)

    (segmentation,) = drive([Job(plan(), recover=lambda _: Job(completed(None)))])
    return segmentation


def _difference(new: Floats, old: Floats, resamples: int, seed: int) -> Difference:
    """Return the difference over items with both scores."""
    both = ~(np.isnan(new) | np.isnan(old))
    new, old = new[both], old[both]
    if len(new) < 2 or np.array_equal(new, old):
        return Difference(0.0, 0.0, 0.0, 1.0)
    return paired_difference(new, old, resamples=resamples, seed=seed)
