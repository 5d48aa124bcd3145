"""Recommend a chunker and a size for some documents, with the evidence."""

import time
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Any, Literal, TypeAlias, get_args

import numpy as np

from advchunk.chunkers import registry
from advchunk.errors import did_you_mean, require
from advchunk.evaluation.comparison.candidates import Candidate, candidate
from advchunk.evaluation.comparison.comparisons import Comparison, Metric, check_metric, compare
from advchunk.evaluation.comparison.harness import Result, run
from advchunk.evaluation.comparison.tables import as_rows
from advchunk.evaluation.comparison.task import EvaluationTask
from advchunk.evaluation.data.held_out import held_out_questions
from advchunk.evaluation.data.questions import Question
from advchunk.evaluation.metrics.statistics import Difference, paired_difference
from advchunk.models.identity import model_name
from advchunk.records import Document

Vectors: TypeAlias = Literal["none", "plain", "context", "units"]

_SIZES = (64, 128, 256, 512)
_BASELINE = "recursive"  # the common choice; the baseline at the largest size
_SHARES = (1 / 9, 1 / 3, 1)  # of the questions, in each round
_MIN_QUESTIONS = 30  # of a round, if there are as many
_KINDS = (
    "cuts without embeddings",
    "cuts by embeddings",
    "cuts by embeddings and returns context vectors",
    "cuts by embeddings and returns a vector for each sentence (several rows per chunk)",
)
_OWN_VECTORS = 2  # the first kind that returns vectors
_MIN_SIGNIFICANT = 6  # questions: with fewer not even a sign test is significant, since 2^(1 - n) > .05
_MAX_LISTED = 4  # of the options that are as good


@dataclass(frozen=True)
class Option:
    """A chunker, its size, and the vectors of its chunks ("none" for chunkers that do not embed)."""

    chunker: str
    max_tokens: int
    vectors: Vectors

    @property
    def label(self) -> str:
        """The name in tables."""
        return f"{self.chunker}, max_tokens={self.max_tokens}" + f", {self.vectors}" * (self.kind >= _OWN_VECTORS)

    @property
    def kind(self) -> int:
        """The index of its requirements, from the simplest kind to the most demanding."""
        return get_args(Vectors).index(self.vectors)

    def candidate(self, embedder: Any, cache: dict[Any, Any]) -> Candidate:
        """Return the option as a candidate."""
        models = {} if self.vectors == "none" else {"embedder": embedder, "cache": cache, "vectors": self.vectors}
        return candidate(self.chunker, self.label, max_tokens=self.max_tokens, **models)


@dataclass(frozen=True)
class Recommendation:
    """The option to use, and why; as a string, a paragraph and the lines to copy.

    Parameters
    ----------
    tried : all options that were run, the baseline first.
    rows : the options of the last round compared with the baseline, best first.
    questions : number of questions in the last round.
    questions_built : True if the questions were made from the documents.
    complete : True if there was time for all rounds; then another run gives the same result.
    """

    option: Option
    tried: tuple[Option, ...]
    rows: tuple[Comparison, ...]
    why: str
    questions: int
    questions_built: bool
    runs: int
    complete: bool
    embedder: Any = None

    @property
    def parameters(self) -> dict[str, Any]:
        """The parameters of the chunker, with the name of the embedder if it needs one."""
        name = self.embedder if isinstance(self.embedder, str) else model_name(self.embedder) or "embedder"
        models = {} if self.embedder is None or self.option.vectors == "none" else {"embedder": name}
        vectors = {"vectors": self.option.vectors} if self.option.kind >= _OWN_VECTORS else {}
        return {"max_tokens": self.option.max_tokens, **models, **vectors}

    @property
    def python(self) -> str:
        """The line of Python that creates the chunker."""
        arguments = {name: repr(value) for name, value in self.parameters.items()}
        if "embedder" in arguments and not isinstance(self.embedder, str):
            arguments["embedder"] = "embedder"
        listed = [repr(self.option.chunker), *(f"{name}={value}" for name, value in arguments.items())]
        return f"advchunk.create({', '.join(listed)})"

    @property
    def command(self) -> str:
        """The command that makes these chunks; their vectors are available from Python only."""
        models = f" --embedder {self.parameters['embedder']}" if "embedder" in self.parameters else ""
        return f"advchunk chunk FILE -m {self.option.chunker} -p max_tokens={self.option.max_tokens}{models}"

    def to_dict(self) -> dict[str, Any]:
        """Return the recommendation as JSON."""
        names = ("parameters", "python", "command", "why", "questions", "questions_built", "runs", "complete")
        fields = {name: getattr(self, name) for name in names}
        return {"chunker": self.option.chunker, **fields, "comparisons": as_rows(self.rows)}

    def __str__(self) -> str:
        return f"{self.why}\n\n    {self.python}\n    {self.command}\n"


def recommend(
    documents: Sequence[Document],
    *,
    questions: Sequence[Question] | None = None,
    embedder: Any = None,
    chunkers: Sequence[str] | None = None,
    sizes: Sequence[int] = _SIZES,
    metric: Metric = "recall",
    budget: int = 1000,
    number: int = 500,
    characters: int = 1_000_000,
    budget_seconds: float | None = 300.0,
    seed: int = 0,
    progress: Callable[[str], None] = lambda _: None,
    clock: Callable[[], float] = time.monotonic,
) -> Recommendation:
    """Try the stable chunkers at several sizes, with all kinds of vectors, and recommend one.

    The first round runs all options on a few documents. The best third goes on to three times as many questions, with
    the best of each kind: without embeddings, with cuts by embeddings, with context vectors, and with a vector for each
    sentence. In the end the best option of the simplest kind is recommended, unless the best of a more demanding kind is
    significantly better: the interval of the paired difference excludes zero. If nothing can be decided, with
    fewer than six questions or equal scores, the baseline is recommended: `recursive`, at the largest size.

    Work is bounded by ``characters`` and the rounds, so results are the same on any machine if ``budget_seconds`` is
    enough. No text is embedded twice for two kinds of vectors. When time is up, the last finished round decides, or the
    finished part of the first.

    The winner is scored on the questions that selected it: expect slightly lower scores on others. Raises `ConfigurationError`
    for an unknown chunker, documents from which no questions can be made, or a parameter out of range. See Jamieson and
    Talwalkar (2016), Non-stochastic best arm identification and hyperparameter optimization: successive halving.

    Parameters
    ----------
    questions : about ``documents``; None to make them (`held_out_questions`).
    embedder : of chunks and questions, anything `models.embedders.as_embedder` accepts; None for the built-in default.
    chunkers : registered names; None for all stable, general-purpose ones that need no language model.
    sizes : ``max_tokens`` to try, each >= 1.
    budget, number : tokens retrieved per question, >= 1; questions to make, >= 2.
    characters : of documents to use, >= 1; the others are dropped at random, those without questions first.
    budget_seconds : for all runs, > 0; None for no limit. At least two runs are made.
    progress, clock : called with a line before each run; returns seconds.
    """
    require(characters >= 1, "characters must be >= 1", characters)
    require(budget_seconds is None or budget_seconds > 0, "budget_seconds must be > 0 or None", budget_seconds)
    check_metric(metric)
    options = _options(chunkers, sizes)
    documents = _sample_documents(documents, questions or (), characters, seed)
    questions_built = questions is None
    if questions is None:
        dataset = held_out_questions(documents, number, seed=seed)
        documents, questions = dataset.documents, dataset.questions
    task = EvaluationTask(tuple(documents), tuple(questions), embedder, budget=budget, budgets=(budget,))
    if metric == "claims_at_k":  # it applies to no other questions
        pairs = zip(task.questions, task.claims, strict=True)
        task = replace(task, questions=tuple(question for question, claims in pairs if claims))
    deadline = float("inf") if budget_seconds is None else clock() + budget_seconds
    cache, runs, tasks = dict[Any, Any](), 0, _rounds(task)
    results, last_task, complete = dict[Option, Result](), tasks[0], True
    for turn, current in enumerate(tasks, start=1):
        selected, now = _select(results, metric) if results else options, dict[Option, Result]()
        for option in selected:
            if runs >= 2 and clock() > deadline:
                complete = False
                break
            progress(f"round {turn} of {len(tasks)}, {len(now) + 1} of {len(selected)}: {option.label}")
            now[option] = run(option.candidate(embedder, cache), current)
            runs += 1
        if complete or not results:
            results, last_task = now, current
        if not complete:
            break
    rows, chosen = compare(list(results.values()), options[0].label, metric), _choose(results, metric)
    tried, number = tuple(options[:runs]), len(last_task.questions)
    recommendation = Recommendation(
        chosen, tried, tuple(rows), "", number, questions_built, runs, complete=complete, embedder=embedder
    )
    return replace(recommendation, why=_explain(recommendation, results, metric, budget))


def _options(chunkers: Sequence[str] | None, sizes: Sequence[int]) -> list[Option]:
    """Return the options to try, the baseline first, and last those to skip when time is up."""
    require(len(sizes) > 0 and min(sizes) >= 1, "sizes must be >= 1", sizes)
    general = (name for name in registry.names("stable") if registry.is_general_purpose(name))
    names = list(general if chunkers is None else chunkers)
    for name in names:
        require(name in registry.TABLE, f"chunkers must be registered{did_you_mean(name, registry.TABLE)}", name)
    kinds: dict[str, tuple[Vectors, ...]] = {
        name: ("units", "context", "plain") if "vectors" in registry.describe(name)["resources"] else ("none",)
        for name in names
    }
    by_distance = sorted(set(sizes), key=lambda size: (abs(np.log2(size / 100)), size))  # most optima are near 100
    options = [Option(name, size, kind) for size in by_distance for name in reversed(names) for kind in kinds[name]]
    return list(dict.fromkeys([Option(_BASELINE, max(sizes), "none"), *options]))


def _sample_documents(
    documents: Sequence[Document], questions: Sequence[Question], characters: int, seed: int
) -> list[Document]:
    """Return documents in random order, those with questions first, as many as fit and at least one."""
    referenced = {reference.document for question in questions for reference in question.references}
    names = {document.source for document in documents}
    require(referenced <= names, "questions must be about the documents", sorted(referenced - names))
    order = np.random.default_rng(seed).permutation(len(documents)).tolist()
    sample, left = list[Document](), characters
    for document in sorted((documents[i] for i in order), key=lambda document: document.source not in referenced):
        if len(document.text) <= left or not sample:
            sample.append(document)
            left -= len(document.text)
    return sample


def _rounds(task: EvaluationTask) -> list[EvaluationTask]:
    """Return the task of each round: the first documents that answer enough questions, and in the end all."""
    place = {document.source: i for i, document in enumerate(task.documents)}
    needs = [max(place.get(name, len(place)) for name, _ in q.references) + 1 for q in task.questions]
    answered = sorted(need for need in needs if need <= len(place))
    require(len(answered) >= 2, "documents must answer two questions or more", len(answered))
    numbers = [min(max(round(share * len(answered)), _MIN_QUESTIONS), len(answered)) for share in _SHARES]
    counts = {answered[number - 1] for number in numbers if answered[number - 1] < answered[-1]}
    pairs = list(zip(task.questions, needs, strict=True))
    return [
        replace(task, documents=task.documents[:count], questions=tuple(q for q, need in pairs if need <= count))
        for count in [*sorted(counts), len(place)]
    ]


def _rank(results: Mapping[Option, Result], metric: Metric) -> list[Option]:
    """Return options best first; ties in the order of their runs."""
    return sorted(results, key=lambda option: -round(float(getattr(results[option], metric).mean()), 9))


def _select(results: Mapping[Option, Result], metric: Metric) -> list[Option]:
    """Return the baseline, the best third, at least two, and the best of each kind."""
    ranked = _rank(results, metric)
    third = ranked[: max(-(-len(ranked) // 3), 2)]
    return list(dict.fromkeys([next(iter(results)), *third, *_best_of_kinds(ranked)]))


def _best_of_kinds(ranked: Sequence[Option]) -> list[Option]:
    """Return the best of each kind, the simplest kind first."""
    return sorted({option.kind: option for option in reversed(ranked)}.values(), key=lambda option: option.kind)


def _choose(results: Mapping[Option, Result], metric: Metric) -> Option:
    """Return the best of the simplest kind, or of another that is significantly better; the baseline if undecided."""
    if _undecided(results, metric):
        return next(iter(results))
    chosen, *rivals = _best_of_kinds(_rank(results, metric))
    for rival in rivals:
        difference = _difference(results, metric, rival, chosen)
        if difference.mean > 0 and not _is_noise(difference):
            chosen = rival
    return chosen


def _undecided(results: Mapping[Option, Result], metric: Metric) -> str:
    """Return the reason why no option can be preferred; else ""."""
    first, *rest = (getattr(result, metric) for result in results.values())
    if len(first) < _MIN_SIGNIFICANT:
        return f"{len(first)} questions are too few for a significant difference"
    equal = all(np.allclose(first, other) for other in rest)
    return "the best options score the same as the baseline on each question" if equal else ""


def _difference(results: Mapping[Option, Result], metric: Metric, option: Option, other: Option) -> Difference:
    return paired_difference(getattr(results[option], metric), getattr(results[other], metric))


def _explain(recommendation: Recommendation, results: Mapping[Option, Result], metric: Metric, budget: int) -> str:
    chosen, baseline = recommendation.option, recommendation.tried[0]
    scores = {
        row.result.label: f"{100 * row.score.mean:.1f} % [{100 * row.score.low:.1f}, {100 * row.score.high:.1f}]"
        for row in recommendation.rows
    }
    goal = f"of the answers within {budget:,} retrieved tokens" if metric == "recall" else f"for {metric}"
    result = f"{chosen.label} with {scores[chosen.label]} {goal}"
    if reason := _undecided(results, metric):
        sentences = [f"No option is better: {reason}. The default is {result}."]
    else:
        sentences = [f"Use {result}. It {_KINDS[chosen.kind]}."]
        if chosen.kind >= _OWN_VECTORS:
            sentences.append("Store these vectors; they are available from Python only, not from the command.")
        sentences += _explain_others(chosen, baseline, scores, results, metric)
        sentences += _explain_sizes(recommendation)
    source = "made from the documents' own sentences" if recommendation.questions_built else "provided"
    number, runs = recommendation.questions, recommendation.runs
    sentences.append(f"This is based on {number} questions, {source}, and {runs} runs.")
    sentences += ["Time was up before all runs were finished."] * (not recommendation.complete)
    return " ".join(sentences)


def _explain_others(
    chosen: Option, baseline: Option, scores: Mapping[str, str], results: Mapping[Option, Result], metric: Metric
) -> list[str]:
    """Compare the baseline, the best of the other kinds, and the options that are as good."""
    ranked = _rank(results, metric)
    differences = {option: _difference(results, metric, option, chosen) for option in ranked if option != chosen}
    bests = [rival for rival in _best_of_kinds(ranked) if rival not in (chosen, baseline)]
    sentences = []
    for rival in [baseline] * (chosen != baseline) + bests:
        subject = "The baseline" if rival == baseline else f"The best that {_KINDS[rival.kind]}"
        difference = _format_difference(differences[rival])
        sentences.append(f"{subject} is {rival.label} with {scores[rival.label]}, {difference}.")
    others = [option for option in ranked if option not in (chosen, baseline, *bests)]
    if equal := [option.label for option in others if _is_noise(differences[option])]:
        more = f" and {len(equal) - _MAX_LISTED} more" if len(equal) > _MAX_LISTED else ""
        sentences.append(f"Not significantly different: {'; '.join(equal[:_MAX_LISTED])}{more}.")
    return sentences


def _explain_sizes(recommendation: Recommendation) -> list[str]:
    """Warn that a size beyond those tried may be better, if all of them were run."""
    size, sizes = recommendation.option.max_tokens, sorted({option.max_tokens for option in recommendation.tried})
    if not recommendation.complete or len(sizes) == 1 or size not in (sizes[0], sizes[-1]):
        return []
    end, beyond = ("smallest", "smaller") if size == sizes[0] else ("largest", "larger")
    return [f"This is the {end} size tried: a {beyond} one may be better."]


def _is_noise(difference: Difference) -> bool:
    return difference.p > 0.05 or difference.low <= 0 <= difference.high


def _format_difference(difference: Difference) -> str:
    points = f"{100 * difference.mean:+.1f} points [{100 * difference.low:+.1f}, {100 * difference.high:+.1f}]"
    return f"{points}, which may be noise" if _is_noise(difference) else points
