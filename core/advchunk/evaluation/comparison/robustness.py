"""How much hangs on a parameter? Each is moved by a fifth, or to its other values, over documents of several types.

The rule, chosen before any figure was seen. A chunker is *brittle* if one judged change, of one parameter,

* costs at least `COSTS` points (hundredths) of the score on the mean over the items of some document type, where the
  loss is no noise: its p is under `LEVEL`, adjusted for all the effects measured of that chunker (Holm); or
* makes it fail on an item: raise, or not converge.

Five points are what separates good chunkers from plain ones at one size (benchmarks/RETRIEVAL.md): who is that near a
wrong value might as well take another chunker. Judged are numbers a fifth, rounded if whole, less and more, and
another seed, by which nothing should hang. The others are measured and shown, and not judged:

* sizes (`SIZES`), because one moves them to move the size of chunks, and what that does to a score is the business of
  the size curve (benchmarks/RETRIEVAL.md);
* whole numbers of 1 and 2, whose fifth rounds to nothing: the step of 1 they are moved by halves or doubles them;
* words and switches, whose values are not near each other.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass, replace
from math import nan
from typing import Any, Literal, NamedTuple, TypeAlias, get_args, get_origin

import numpy as np

from advchunk.chunkers import registry
from advchunk.chunkers.base import Chunker, SegmentingChunker
from advchunk.chunkers.params import hints, parameters
from advchunk.chunkers.threshold import DEFAULT_AMOUNTS, SemanticThresholdChunker
from advchunk.engine import Job, Plan, completed, drive
from advchunk.errors import ConfigurationError, MissingExtra, first_line, require
from advchunk.evaluation.comparison.trial import Trial
from advchunk.evaluation.data.datasets import Segmented
from advchunk.evaluation.metrics import retrieval
from advchunk.evaluation.metrics.boundaries import pk
from advchunk.evaluation.metrics.statistics import Difference, holm, paired_difference
from advchunk.records import Floats, Segmentation, Units

COSTS = 5.0
LEVEL = 0.05
SIZES = frozenset(
    {
        "max_chunk_size", "max_section_tokens", "max_tokens", "max_tokens_per_segment", "min_chunk_size",
        "min_segment_length", "min_segment_tokens", "min_tokens", "overlap_tokens", "short_tokens", "target_tokens",
        "window_tokens",
    }
)  # fmt: skip
_SAME = Difference(0.0, 0.0, 0.0, 1.0)


class Scores(NamedTuple):
    """What a chunker reaches on documents of one type.

    Parameters
    ----------
    each : (n,) one score an item (a text, a question), higher is better; nan where the chunker failed.
    size : of its mean chunk, in any unit.
    """

    each: Floats
    size: float


Measure: TypeAlias = Callable[[Any], Scores]


@dataclass(frozen=True)
class Variation:
    """A parameter and another value for it.

    Parameters
    ----------
    judged : whether the rule applies (see the module).
    refused : why it cannot be varied so, if it cannot: the rule it breaks, the extra it needs.
    """

    parameter: str
    default: Any
    value: Any
    judged: bool = False
    refused: str = ""


@dataclass(frozen=True)
class Effect:
    """What a variation does to the score on documents of one type.

    Parameters
    ----------
    type : of the documents.
    difference : of scores, to those of the chunker as it was, over the items that both have a score for.
    p : of it, adjusted for the number of effects (Holm).
    size : of the mean chunk, as a share of what it was.
    failed : items that have no score, and had one.
    """

    variation: Variation
    type: str
    difference: Difference
    p: float
    size: float
    failed: int

    @property
    def points(self) -> float:
        """The difference in points, rounded as it is said."""
        return round(100 * self.difference.mean, 1)

    @property
    def real(self) -> bool:
        """Whether the difference is no noise."""
        return self.p < LEVEL

    @property
    def brittle(self) -> bool:
        """Whether it makes a chunker brittle (see the module)."""
        return self.variation.judged and (self.failed > 0 or (self.real and -100 * self.difference.mean >= COSTS))


@dataclass(frozen=True)
class Sensitivity:
    """All effects measured of a chunker, and the variations that were refused."""

    effects: tuple[Effect, ...]
    refused: tuple[Variation, ...]

    @property
    def brittle(self) -> tuple[Effect, ...]:
        """The effects by which it is brittle, the worst first: failures, then losses."""
        return tuple(effect for effect in self.judged if effect.brittle)

    @property
    def judged(self) -> tuple[Effect, ...]:
        """The effects of judged variations, the worst first: failures, then losses."""
        judged = [effect for effect in self.effects if effect.variation.judged]
        return tuple(sorted(judged, key=lambda effect: (-effect.failed, effect.difference.mean)))


def variations(chunker: SegmentingChunker | str) -> list[Variation]:
    """Return what to vary of a chunker, or of the registered one of that name, one parameter at a time.

    * A number becomes a fifth less and a fifth more; a whole one is rounded, and moved by at least 1. Where a rule
      forbids that, it goes as far towards it as rules let it, such as to a bound.
    * A word of a fixed choice, and a switch, take every other value; a seed, the next.
    * 0 and None have no fifth and turn something off, so they stay (but for a None that stands for a number); so does
      free text.

    What a rule refuses, or needs an extra that is not installed, is returned with the reason.

    >>> [(one.parameter, one.value) for one in variations("optimal-semantic") if one.judged]
    [('penalty', 1.6), ('penalty', 2.4)]
    """
    base = _built(chunker)
    mine: Any = type(base)
    return [
        _reached(base, name, value, wanted, judged=judged)
        for name, value in (parameters(base) | _meant(base)).items()
        for wanted, judged in _wanted(name, value, hints(mine)[name])
    ]


def sensitivity(
    chunker: SegmentingChunker | str,
    measures: Mapping[str, Measure],
    *,
    seed: int = 0,
    progress: Callable[[str], None] = lambda _: None,
) -> Sensitivity:
    """Measure what every variation of a chunker does, on documents of every type.

    Items are compared with themselves (`paired_difference`). The bootstrap is drawn so often that the least p there
    is stays under `LEVEL` when it is adjusted.

    Parameters
    ----------
    chunker : or the name of a registered one, experimental or not; nothing stands in where it fails.
    measures : by the type of documents: what scores a chunker on some, such as `boundary_measure` or
        `answer_measure`.
    seed : of the bootstrap.
    progress : is told of each variation.

    Raises
    ------
    ConfigurationError : no measures; a measure that scores other items each time.
    """
    require(len(measures) > 0, "measures must be given for a type of documents", measures)
    base = _built(chunker)
    before = {kind: measure(base) for kind, measure in measures.items()}
    found = variations(base)
    possible = [one for one in found if not one.refused]
    resamples = max(9999, 100 * len(possible) * len(measures))
    effects = list[Effect]()
    for one in possible:
        progress(f"{one.parameter}={one.value!r}")
        varied = replace(base, **{one.parameter: one.value})
        for kind, measure in measures.items():
            after = measure(varied)
            right = after.each.shape == before[kind].each.shape
            require(right, f"a measure must score the same {len(before[kind].each)} items", len(after.each))
            difference = _difference(after.each, before[kind].each, resamples, seed)
            failed = int(np.sum(np.isnan(after.each) & ~np.isnan(before[kind].each)))
            effects.append(Effect(one, kind, difference, nan, after.size / before[kind].size, failed))
    adjusted = holm(np.array([effect.difference.p for effect in effects])).tolist()
    return Sensitivity(
        tuple(replace(effect, p=p) for effect, p in zip(effects, adjusted, strict=True)),
        tuple(one for one in found if one.refused),
    )


def boundary_measure(texts: Sequence[Segmented]) -> Measure:
    """Return what scores the cuts that a chunker decides on, before sizes: 1 - Pk of each text; sizes in sentences."""

    def measure(chunker: SegmentingChunker) -> Scores:
        found = [_segmentation(chunker, text.units) for text in texts]
        pairs = zip(texts, found, strict=True)
        each = np.array([nan if said is None else 1 - pk(text.cuts, said.cuts) for text, said in pairs])
        lengths = [np.diff(said.cuts) for said in found if said is not None]
        return Scores(each, float(np.concatenate(lengths).mean()) if lengths else nan)

    return measure


def answer_measure(trial: Trial) -> Measure:
    """Return what scores the chunks: the recall of each question's answer within the budget; sizes in tokens."""

    def measure(chunker: Chunker) -> Scores:
        found = chunker.chunk_many(trial.documents, on_error="collect")
        names = [document.source for document in trial.documents]
        lost = {names[failure.index] for failure in found.failures}
        by_name = {
            name: [chunk for chunk in chunks if chunk.embed_text] for name, chunks in zip(names, found, strict=True)
        }
        texts = [chunk.embed_text for chunks in by_name.values() for chunk in chunks]
        if not texts:
            return Scores(np.full(len(trial.questions), nan), nan)
        tokens = np.maximum(trial.counter.counts(texts), 1)
        held = retrieval.overlaps(by_name, trial.questions, tokens=tokens)
        ranking = retrieval.rank(trial.asked, trial.embed_texts(texts))
        recall = retrieval.at_budget(held, ranking, trial.budget).recall
        unasked = [any(reference.document in lost for reference in question.references) for question in trial.questions]
        return Scores(np.where(unasked, nan, recall), float(tokens.mean()))

    return measure


def warning(worst: Effect, of: str, *, where: str = "", measured: str = "") -> str:
    """Return in a sentence why a chunker is brittle.

    Parameters
    ----------
    worst : the effect to tell (see `Sensitivity.brittle`).
    of : what the points are points of, such as "boundary accuracy".
    where : under which settings, if not the defaults.
    measured : when, and where to read more.

    >>> change = Variation("threshold", 0.7, 0.56, judged=True)
    >>> warning(Effect(change, "clinical", Difference(-0.091, -0.12, -0.06, 0.0002), 0.004, 0.8, 0), "recall")
    'brittle: a fifth less of `threshold` (0.56 instead of 0.7) costs 9.1 points of recall on clinical text'
    """
    change = worst.variation
    much = {0.8: "a fifth less of ", 1.2: "a fifth more of "}.get(
        round(change.value / change.default, 9) if change.default else nan, ""
    )
    what = f"{much}`{change.parameter}` ({change.value:g} instead of {change.default:g})"
    harm = f"costs {-worst.points:.1f} points of {of}" if not worst.failed else f"fails on {worst.failed} items"
    said = f"brittle{' ' * bool(where)}{where}: {what} {harm} on {worst.type} text"
    return f"{said} ({measured})" if measured else said


def notes(labels: Iterable[str]) -> dict[str, str]:
    """Return what was published of brittle chunkers, for those among ``labels`` that are: their names, or what `candidate` calls them.

    >>> notes(["recursive, max_tokens=100", "a peer"])
    {}
    """
    said = registry.sensitivities()["chunkers"]
    found = {label: said.get(_configuration(label), {}).get("warning", "") for label in labels}
    return {label: text for label, text in found.items() if text}


def _configuration(label: str) -> str:
    """Return the name, with the preset if there is one, that a label begins with."""
    name, *rest = label.split(", ")
    return ", ".join([name, *(part for part in rest if part.startswith("preset="))])


def _built(chunker: SegmentingChunker | str) -> Any:
    """Return the chunker without what stands in where it fails, for then that would be measured."""
    built = registry.create(chunker, experimental=True) if isinstance(chunker, str) else chunker
    return replace(built, fallback=None)


def _meant(base: Any) -> dict[str, float]:
    """Return the numbers that a None of this chunker stands for."""
    if isinstance(base, SemanticThresholdChunker) and base.breakpoint_threshold_amount is None:
        return {"breakpoint_threshold_amount": DEFAULT_AMOUNTS[base.breakpoint_threshold_type]}
    return {}


def _wanted(name: str, value: Any, hint: Any) -> list[tuple[Any, bool]]:
    """Return the values to try for a parameter, and whether they are judged."""
    if name == "seed":
        return [(value + 1, True)]
    if name == "markup":  # which the texts are in; all but these two make other texts of them
        return [(other, False) for other in ("markdown", "plain") if other != value]
    if choice := _choice(hint):
        # The values of a preset are varied themselves; beside them, another preset would be half taken.
        return [(other, False) for other in choice if other != value and (name != "preset" or value is None)]
    if value is None or isinstance(value, str) or value == 0:
        return []
    if isinstance(value, int) and hint is not float:
        step = round(abs(value) / 5)
        judged = step > 0 and name not in SIZES
        return [(value - max(step, 1), judged), (value + max(step, 1), judged)]
    return [(float(f"{value * factor:.12g}"), name not in SIZES) for factor in (0.8, 1.2)]


def _choice(hint: Any) -> list[Any]:
    """Return the values that a type lists, None among them where that is one."""
    if hint is bool:
        return [False, True]
    if get_origin(hint) is Literal:
        return list(get_args(hint))
    options = get_args(hint)
    listed = [value for option in options for value in _choice(option)]
    return listed + [None] * (type(None) in options) if listed else []


def _reached(base: Any, name: str, value: Any, wanted: Any, *, judged: bool) -> Variation:
    """Return a variation that goes as far towards the value wanted as rules let it."""
    refused = _refusal(base, name, wanted)
    if not refused:
        return Variation(name, value, wanted, judged)
    if _moves(value, wanted):
        inside, outside = value, wanted
        # To the last bit, or whole number: a bound is then met exactly.
        while (middle := _middle(inside, outside)) not in (inside, outside):
            inside, outside = (inside, middle) if _refusal(base, name, middle) else (middle, outside)
        if inside != value:
            return Variation(name, value, inside, judged)
    return Variation(name, value, wanted, judged, refused)


def _moves(value: Any, wanted: Any) -> bool:
    return all(isinstance(one, int | float) and not isinstance(one, bool) for one in (value, wanted))


def _middle(inside: Any, outside: Any) -> Any:
    return (inside + outside) // 2 if isinstance(outside, int) else (inside + outside) / 2


def _refusal(base: Any, name: str, value: Any) -> str:
    """Return why a chunker does not take a value, if it does not."""
    try:
        varied = replace(base, **{name: value})
        varied.load()
    except (ConfigurationError, MissingExtra) as error:
        return first_line(error)
    held = getattr(varied, name)
    return "" if held == value else f"{name} stays {held!r}: a preset or another parameter says so"


def _segmentation(chunker: SegmentingChunker, units: Units) -> Segmentation | None:
    """Return what a chunker decides, None if it fails; the engine tells, whatever the error."""

    def plan() -> Plan[Segmentation | None]:
        yield from ()
        return chunker.segmentation(units)

    (found,) = drive([Job(plan(), recover=lambda _: Job(completed(None)))])
    return found


def _difference(ours: Floats, theirs: Floats, resamples: int, seed: int) -> Difference:
    """Return the difference over items that both have; there is nothing to draw if none differs."""
    both = ~(np.isnan(ours) | np.isnan(theirs))
    ours, theirs = ours[both], theirs[both]
    if len(ours) < 2 or np.array_equal(ours, theirs):
        return _SAME
    return paired_difference(ours, theirs, resamples=resamples, seed=seed)
