"""Name the chunker and the size to use for these documents, and say why."""

from __future__ import annotations

import time
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Any, Literal, TypeAlias, get_args

import numpy as np

from advchunk.chunkers import registry
from advchunk.errors import did_you_mean, require
from advchunk.evaluation.comparison.candidates import Candidate, candidate
from advchunk.evaluation.comparison.harness import Outcome, Progress, run
from advchunk.evaluation.comparison.standings import Metric, Standing, as_rows, check, compare
from advchunk.evaluation.comparison.trial import Trial
from advchunk.evaluation.data.builders import held_out
from advchunk.evaluation.data.questions import Question
from advchunk.evaluation.metrics.statistics import Difference, Interval, paired_difference
from advchunk.models.identity import model_name
from advchunk.records import Document

Vectors: TypeAlias = Literal["none", "plain", "context", "units"]

SIZES = (64, 128, 256, 512)
_FIRST = "recursive"  # what most would take; at the largest size it is the baseline
_SHARES = (1 / 9, 1 / 3, 1)  # of the questions, in each round
_FEWEST = 30  # questions that a round asks, if there are so many
_KINDS = (
    "cuts without embeddings",
    "cuts by embeddings",
    "cuts by embeddings and brings vectors of its own",
    "cuts by embeddings and brings a vector for each sentence (several rows a chunk)",
)
_OWN = 2  # the least kind that brings vectors
_LEVEL = 0.05  # of p, above which a difference may be noise
_LEAST = 6  # questions: of fewer not even a sign test is sure, since 2^(1 - n) > _LEVEL
_TOLD = 4  # of those that are as good


@dataclass(frozen=True)
class Option:
    """What is tried: a chunker, its size, and the vectors of its chunks ("none" where no model cuts)."""

    chunker: str
    max_tokens: int
    vectors: Vectors

    @property
    def label(self) -> str:
        """What tables call it."""
        return f"{self.chunker}, max_tokens={self.max_tokens}" + f", {self.vectors}" * (self.kind >= _OWN)

    @property
    def kind(self) -> int:
        """How much it takes to run: an index of what is needed, the least first."""
        return get_args(Vectors).index(self.vectors)

    def candidate(self, embedder: Any, cache: dict[Any, Any]) -> Candidate:
        """Return it to be run."""
        models = {} if self.vectors == "none" else {"embedder": embedder, "cache": cache, "vectors": self.vectors}
        return candidate(self.chunker, self.label, max_tokens=self.max_tokens, **models)


@dataclass(frozen=True)
class Recommendation:
    """What to use, and why; printed, it is a paragraph and the lines to copy.

    Parameters
    ----------
    option : what to use.
    tried : all options that were run, the baseline first.
    rows : those that came to the last round beside it, best first; differences are to the baseline.
    why : the evidence, in words.
    questions : how many were asked in the last round.
    built : whether they were made from the documents, since none were given.
    runs : how many options were run, all rounds together.
    complete : whether there was time for all rounds; if so, another run comes to the same.
    embedder : as it was given.
    """

    option: Option
    tried: tuple[Option, ...]
    rows: tuple[Standing, ...]
    why: str
    questions: int
    built: bool
    runs: int
    complete: bool
    embedder: Any = None

    @property
    def parameters(self) -> dict[str, Any]:
        """What to build the chunker with; an embedder, if it has one, by name."""
        name = self.embedder if isinstance(self.embedder, str) else model_name(self.embedder) or "embedder"
        models = {} if self.embedder is None or self.option.vectors == "none" else {"embedder": name}
        own = {"vectors": self.option.vectors} if self.option.kind >= _OWN else {}
        return {"max_tokens": self.option.max_tokens, **models, **own}

    @property
    def python(self) -> str:
        """The line of Python that builds it."""
        given = {name: repr(value) for name, value in self.parameters.items()}
        if "embedder" in given and not isinstance(self.embedder, str):
            given["embedder"] = "embedder"
        said = [repr(self.option.chunker), *(f"{name}={value}" for name, value in given.items())]
        return f"advchunk.create({', '.join(said)})"

    @property
    def command(self) -> str:
        """The command that cuts so; chunks' vectors are had from Python only."""
        models = f" --embedder {self.parameters['embedder']}" if "embedder" in self.parameters else ""
        return f"advchunk chunk FILE -m {self.option.chunker} -p max_tokens={self.option.max_tokens}{models}"

    def said(self) -> dict[str, Any]:
        """Return it as JSON has it."""
        return {
            "chunker": self.option.chunker,
            "parameters": self.parameters,
            "python": self.python,
            "command": self.command,
            "why": self.why,
            "questions": self.questions,
            "built": self.built,
            "runs": self.runs,
            "complete": self.complete,
            "standings": as_rows(self.rows),
        }

    def __str__(self) -> str:
        return f"{self.why}\n\n    {self.python}\n    {self.command}\n"


def recommend(
    documents: Sequence[Document],
    *,
    questions: Sequence[Question] | None = None,
    embedder: Any = None,
    chunkers: Sequence[str] | None = None,
    sizes: Sequence[int] = SIZES,
    metric: Metric = "recall",
    budget: int = 1000,
    number: int = 500,
    characters: int = 1_000_000,
    budget_seconds: float | None = 300.0,
    seed: int = 0,
    progress: Progress = lambda _: None,
    clock: Callable[[], float] = time.monotonic,
) -> Recommendation:
    """Try the stable chunkers at several sizes, with all kinds of vectors, and name the one to use.

    In the first round all options are asked about a few documents. The best third goes on to three times as many questions, with the
    best of each kind: what cuts without embeddings, what cuts by them, what brings context vectors as well, and what brings a vector for
    each sentence, several rows a chunk. In the end the best of what needs the least is named, unless the best of what needs more is
    better by more than noise: unless the interval of the difference, question by question, leaves out zero. Where nothing can be told,
    of fewer than six questions or since all score the same, it is the baseline: `recursive`, at the largest size.

    Work is bounded by ``characters`` and the rounds, so results are the same on any machine, if ``budget_seconds`` suffices. No text is
    embedded twice for two kinds of vectors. When time is up the last round that was finished decides, or what was run of the first.

    Those who win are compared by the questions that chose them: expect a little less of others.

    Parameters
    ----------
    questions : about ``documents``; None has them made (`builders.held_out`).
    embedder : of chunks and questions, anything `models.embedders.as_embedder` takes; None is the embedded default.
    chunkers : registered names; None for all stable ones that take texts of any kind and need no language model.
    sizes : ``max_tokens`` to try, each >= 1.
    metric : what is compared (`compare`).
    budget : tokens retrieved for a question, >= 1.
    number : of questions to make, >= 2.
    characters : of documents to try on, >= 1; the rest are left out, drawn by ``seed``, those without questions first.
    budget_seconds : for all runs, > 0; None is unlimited. At least two are made.
    seed : of the draws, >= 0.
    progress : called with a line before each run.
    clock : tells seconds.

    Raises
    ------
    ConfigurationError : an unknown chunker; documents of which no questions can be made; what is out of range.

    References
    ----------
    Jamieson and Talwalkar (2016), Non-stochastic best arm identification and hyperparameter optimization: successive halving.
    """
    require(characters >= 1, "characters must be >= 1", characters)
    require(budget_seconds is None or budget_seconds > 0, "budget_seconds must be > 0 or None", budget_seconds)
    check(metric)
    options = _options(chunkers, sizes)
    documents = _drawn(documents, questions or (), characters, seed)
    built = questions is None
    if questions is None:
        made = held_out(documents, number, seed=seed)
        documents, questions = made.documents, made.questions
    whole = Trial(tuple(documents), tuple(questions), embedder, budget=budget, budgets=(budget,))
    if metric == "claims_at_k":  # which judges no other questions
        asked_of = zip(whole.questions, whole.claims, strict=True)
        whole = replace(whole, questions=tuple(question for question, claims in asked_of if claims))
    deadline = float("inf") if budget_seconds is None else clock() + budget_seconds
    cache, runs, trials = dict[Any, Any](), 0, _trials(whole)
    found, asked, complete = dict[Option, Outcome](), trials[0], True
    for turn, trial in enumerate(trials, start=1):
        going, now = _going_on(found, metric) if found else options, dict[Option, Outcome]()
        for option in going:
            if runs >= 2 and clock() > deadline:
                complete = False
                break
            progress(f"round {turn} of {len(trials)}, {len(now) + 1} of {len(going)}: {option.label}")
            now[option] = run(option.candidate(embedder, cache), trial)
            runs += 1
        if complete or not found:
            found, asked = now, trial
        if not complete:
            break
    rows = compare(list(found.values()), options[0].label, metric)
    result = Recommendation(
        _named(found, metric),
        tuple(options[:runs]),
        tuple(rows),
        "",
        len(asked.questions),
        built,
        runs,
        complete,
        embedder,
    )
    return replace(result, why=_why(result, found, metric, budget))


def _options(chunkers: Sequence[str] | None, sizes: Sequence[int]) -> list[Option]:
    """Return what is tried, the baseline first; what is cut off by the clock comes last."""
    require(len(sizes) > 0 and min(sizes) >= 1, "sizes must be >= 1", sizes)
    names = (
        [name for name in registry.names("stable") if registry.is_general_purpose(name)]
        if chunkers is None
        else list(chunkers)
    )
    for name in names:
        require(name in registry.TABLE, f"chunkers must be registered{did_you_mean(name, registry.TABLE)}", name)
    kinds: dict[str, tuple[Vectors, ...]] = {
        name: ("units", "context", "plain") if "vectors" in registry.describe(name)["resources"] else ("none",)
        for name in names
    }
    middle = sorted(set(sizes), key=lambda size: (abs(np.log2(size / 100)), size))  # where most optima are, first
    every = [Option(name, size, kind) for size in middle for name in reversed(names) for kind in kinds[name]]
    return list(dict.fromkeys([Option(_FIRST, max(sizes), "none"), *every]))


def _drawn(documents: Sequence[Document], questions: Sequence[Question], characters: int, seed: int) -> list[Document]:
    """Return documents in an order that is drawn, those with questions first, as many as fit, and one at least."""
    asked = {reference.document for question in questions for reference in question.references}
    there = {document.source for document in documents}
    require(asked <= there, "questions must be about the documents", sorted(asked - there))
    order = np.random.default_rng(seed).permutation(len(documents)).tolist()
    drawn, left = list[Document](), characters
    for document in sorted((documents[i] for i in order), key=lambda document: document.source not in asked):
        if len(document.text) <= left or not drawn:
            drawn.append(document)
            left -= len(document.text)
    return drawn


def _trials(whole: Trial) -> list[Trial]:
    """Return a trial for each round: its first documents, until they answer enough questions, and in the end all."""
    place = {document.source: i for i, document in enumerate(whole.documents)}
    needs = [max(place.get(name, len(place)) for name, _ in one.references) + 1 for one in whole.questions]
    answered = sorted(need for need in needs if need <= len(place))
    require(len(answered) >= 2, "documents must answer two questions or more", len(answered))
    enough = [min(max(round(share * len(answered)), _FEWEST), len(answered)) for share in _SHARES]
    several = {answered[number - 1] for number in enough if answered[number - 1] < answered[-1]}
    return [
        replace(
            whole,
            documents=whole.documents[:most],
            questions=tuple(one for one, need in zip(whole.questions, needs, strict=True) if need <= most),
        )
        for most in [*sorted(several), len(place)]
    ]


def _ranked(found: Mapping[Option, Outcome], metric: Metric) -> list[Option]:
    """Return options best first; of equals, in the order they were run."""
    return sorted(found, key=lambda option: -round(float(getattr(found[option], metric).mean()), 9))


def _going_on(found: Mapping[Option, Outcome], metric: Metric) -> list[Option]:
    """Return the baseline, the best third, two at least, and the best of each kind."""
    ranked = _ranked(found, metric)
    return list(dict.fromkeys([next(iter(found)), *ranked[: max(-(-len(ranked) // 3), 2)], *_bests(ranked)]))


def _bests(ranked: Sequence[Option]) -> list[Option]:
    """Return the best of each kind, what needs the least first."""
    return sorted({option.kind: option for option in reversed(ranked)}.values(), key=lambda option: option.kind)


def _named(found: Mapping[Option, Outcome], metric: Metric) -> Option:
    """Return the best of what needs the least, unless what needs more is better outside the noise; else the baseline."""
    if _untold(found, metric):
        return next(iter(found))
    named, *rivals = _bests(_ranked(found, metric))
    for rival in rivals:
        ahead = _ahead(found, metric, rival, named)
        if ahead.mean > 0 and not _noise(ahead):
            named = rival
    return named


def _untold(found: Mapping[Option, Outcome], metric: Metric) -> str:
    """Return why nothing can be told, if so."""
    first, *rest = (getattr(outcome, metric) for outcome in found.values())
    if len(first) < _LEAST:
        return f"{len(first)} questions are too few, of which no difference is more than noise"
    same = all(np.allclose(first, other) for other in rest)
    return "the best do as the baseline does, on each question" if same else ""


def _ahead(found: Mapping[Option, Outcome], metric: Metric, one: Option, other: Option) -> Difference:
    return paired_difference(getattr(found[one], metric), getattr(found[other], metric))


def _why(result: Recommendation, found: Mapping[Option, Outcome], metric: Metric, budget: int) -> str:
    """Say what was found."""
    chosen, baseline, ranked = result.option, result.tried[0], _ranked(found, metric)
    scores = {row.outcome.label: row.score for row in result.rows}

    def scored(option: Option) -> str:
        return f"{option.label} with {_percent(scores[option.label])}"

    def to(option: Option) -> str:
        return _points(_ahead(found, metric, option, chosen))

    what = f"of the answers within {budget:,} retrieved tokens" if metric == "recall" else f"for {metric}"
    if untold := _untold(found, metric):
        said = [f"Nothing can be told: {untold}. By rule this is the default, {scored(chosen)} {what}."]
    else:
        said = [f"Use {scored(chosen)} {what}. It {_KINDS[chosen.kind]}."]
        if chosen.kind >= _OWN:
            said.append("A store must take them, and they are had from Python: the command only cuts.")
        if chosen != baseline:
            said.append(f"The baseline is {scored(baseline)}, {to(baseline)}.")
        bests = [rival for rival in _bests(ranked) if rival not in (chosen, baseline)]
        said += [f"Of what {_KINDS[rival.kind]} the best is {scored(rival)}, {to(rival)}." for rival in bests]
        others = [option for option in ranked if option not in (chosen, baseline, *bests)]
        if alike := [option.label for option in others if _noise(_ahead(found, metric, option, chosen))]:
            more = f" and {len(alike) - _TOLD} more" if len(alike) > _TOLD else ""
            said.append(f"Not to be told from it on these questions: {'; '.join(alike[:_TOLD])}{more}.")
        said += _beyond(result)
    source = "made from the documents' own sentences" if result.built else "given"
    said.append(f"Asked were {result.questions} questions, {source}, in {result.runs} runs.")
    if not result.complete:
        said.append("Time was up before all was run.")
    return " ".join(said)


def _beyond(result: Recommendation) -> list[str]:
    """Say that the best size may not have been tried; if time was up, that is no news."""
    tried = sorted({option.max_tokens for option in result.tried})
    if not result.complete or len(tried) == 1 or result.option.max_tokens not in (tried[0], tried[-1]):
        return []
    end = "smallest" if result.option.max_tokens == tried[0] else "largest"
    return [f"It has the {end} size tried: one beyond may be better."]


def _percent(score: Interval) -> str:
    return f"{100 * score.mean:.1f} % [{100 * score.low:.1f}, {100 * score.high:.1f}]"


def _noise(change: Difference) -> bool:
    return change.p > _LEVEL or change.low <= 0 <= change.high


def _points(change: Difference) -> str:
    said = f"{100 * change.mean:+.1f} points [{100 * change.low:+.1f}, {100 * change.high:+.1f}]"
    return f"{said}, which may be noise" if _noise(change) else said
