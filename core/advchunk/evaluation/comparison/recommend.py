"""Recommend a chunker, a size, vectors and a search for some documents, with the evidence."""

import time
from collections.abc import Callable, Mapping, Sequence
from dataclasses import replace
from typing import Any

import numpy as np

from advchunk.chunkers import catalog, gate
from advchunk.chunkers.explanations import Signal
from advchunk.chunkers.vectors import Vectors
from advchunk.errors import did_you_mean, require
from advchunk.evaluation.comparison.comparisons import Comparison, compare
from advchunk.evaluation.comparison.harness import FailedCandidate, Result, attempt
from advchunk.evaluation.comparison.recommendation import Option, Recommendation
from advchunk.evaluation.comparison.task import EvaluationTask
from advchunk.evaluation.data.held_out import held_out_questions
from advchunk.evaluation.data.questions import Question
from advchunk.evaluation.metrics.table import check_metric
from advchunk.records import Document
from advchunk.retrieval.search import SEARCHES, Search
from advchunk.text.detection import AUTO

_SIZES = (64, 128, 256, 512)
_BASELINE = "recursive"  # the common choice; the baseline at the largest size
_SHARES = (1 / 9, 1 / 3, 1)  # of the questions, in each round
_MOST_JUDGED = 5  # documents on which the signal of a chunker is read
_MIN_QUESTIONS = 30  # of a round, if there are as many


def recommend(
    documents: Sequence[Document],
    *,
    questions: Sequence[Question] | None = None,
    embedder: Any = None,
    chunkers: Sequence[str] | None = None,
    sizes: Sequence[int] = _SIZES,
    searches: Sequence[Search] = SEARCHES,
    language: str = AUTO,
    metric: str = "recall",
    budget: int = 1000,
    number: int = 500,
    characters: int = 1_000_000,
    budget_seconds: float | None = 300.0,
    seed: int = 0,
    progress: Callable[[str], None] = lambda _: None,
    clock: Callable[[], float] = time.monotonic,
) -> Recommendation:
    """Try the stable chunkers at several sizes, with all kinds of vectors and of search, and recommend an option.

    The first round runs all options on a few documents. The best third goes on to three times as many questions, with
    the best of each kind: searched by words, by vectors, or by both, and then with each kind of vectors. Chunks are made
    and embedded once for all searches. The recommended option is the baseline, `recursive` at the largest size searched
    by vectors, unless others are significantly better (`comparisons.compare`): then the best of these that is of the
    simplest kind takes its place, until none is significantly better. Words are simplest, because they need no embedder;
    neighbors demand nothing. All others are ties, or worse. The baseline is also named, and it is said that
    nothing is settled, with fewer than a hundred questions, or if time was up before the last round.

    Work is bounded by ``characters`` and the rounds, so results are the same on any machine if ``budget_seconds`` is
    enough. No text is embedded twice for two kinds of vectors. When time is up, the last finished round is shown, or the
    finished part of the first. An option that fails is listed, and the others go on. A chunker that cuts like `recursive`, or
    whose evidence is that of shuffled text, is never recommended (`chunkers.explanations.Signal`, on up to five documents).

    The winner is scored on the questions that selected it: expect slightly lower scores on others. Raises `ConfigurationError`
    for an unknown chunker, documents from which no questions can be made, a parameter out of range, or if the baseline
    fails. See Jamieson and Talwalkar (2016), Non-stochastic best arm identification and hyperparameter optimization:
    successive halving.

    Parameters
    ----------
    questions : about ``documents``; None to make them (`held_out_questions`).
    embedder : of chunks and questions, anything `models.embedders.as_embedder` accepts; None for the built-in default.
    chunkers : registered names; None for all stable, general-purpose ones that need no language model.
    sizes : ``max_tokens`` to try, each >= 1.
    searches : to try. `recursive` searched by vectors is always tried; words are not tried with vectors that contain
        context, nor neighbors with "context" vectors.
    language : of the documents, for the search by words (`retrieval.lexical_index.LexicalIndex`); "auto" is that of each.
    budget, number : tokens retrieved per question, >= 1; questions to make, >= 2.
    characters : of documents to use, >= 1; the others are dropped at random, those without questions first.
    budget_seconds : for all runs, > 0; None for no limit. At least two runs are made.
    progress, clock : called with a line before each run; returns seconds.
    """
    require(characters >= 1, "characters must be >= 1", characters)
    require(budget_seconds is None or budget_seconds > 0, "budget_seconds must be > 0 or None", budget_seconds)
    check_metric(metric)
    options = _options(chunkers, sizes, searches)
    documents, questions_built = _sample_documents(documents, questions or (), characters, seed), questions is None
    if questions is None:
        dataset = held_out_questions(documents, number, seed=seed)
        documents, questions = dataset.documents, dataset.questions
    task = _task(documents, questions, metric, embedder=embedder, budget=budget, budgets=(budget,), language=language)
    deadline = float("inf") if budget_seconds is None else clock() + budget_seconds
    cache, runs, tasks = dict[Any, Any](), 0, _rounds(task)
    results, last_task, complete = dict[Option, Result](), tasks[0], True
    tried, failures = dict[Option, None](), dict[Option, FailedCandidate]()
    for turn, current in enumerate(tasks, start=1):
        groups, now = _group(_select(results, metric) if results else options), dict[Option, Result]()
        for place, (chunks, group) in enumerate(groups.items(), start=1):
            if runs >= 2 and clock() > deadline:
                complete = False
                break
            progress(f"round {turn} of {len(tasks)}, {place} of {len(groups)}: {chunks.label}")
            made = chunks.candidate(embedder, cache)
            outcomes = attempt([replace(made, label=o.label, search=o.search) for o in group], current)
            runs += 1
            tried |= dict.fromkeys(group)
            for option, outcome in zip(group, outcomes, strict=True):
                if isinstance(outcome, FailedCandidate):
                    require(option != options[0], "the baseline must not fail", outcome.reason)
                    failures[chunks] = replace(outcome, label=chunks.label)
                else:
                    now[option] = outcome
        if complete or not results:
            results, last_task = now, current
        if not complete:
            break
    draft = Recommendation(
        options[0], tuple(tried), (), tuple(failures.values()), len(last_task.questions), questions_built, runs,
        complete=complete, metric=metric, budget=budget, embedder=embedder, language=language,
    )  # fmt: skip
    if not draft.settled:
        return replace(draft, rows=tuple(_compare(results, options[0], metric)))
    judge = _Judge(last_task.documents[:_MOST_JUDGED], embedder, cache)
    chosen, rows = _choose(results, metric, judge)
    return replace(draft, option=chosen, rows=tuple(rows), signals=judge.signals)


class _Judge:
    """Says whether a chunker decides on its cuts, by its signal on some documents.

    Parameters
    ----------
    documents : at least one.
    embedder, cache : of the chunkers.
    """

    def __init__(self, documents: Sequence[Document], embedder: Any, cache: dict[Any, Any]) -> None:
        self.signals = dict[str, Signal]()
        self._documents, self._embedder, self._cache = documents, embedder, cache

    def __call__(self, option: Option) -> bool:
        """Return True for a chunker that cuts by size and is named so, or one whose cuts are its own, with evidence."""
        chunks = f"{option.chunker}, max_tokens={option.max_tokens}"
        if chunks not in self.signals:
            models = (
                {"embedder": self._embedder, "cache": self._cache} if catalog.cuts_by_embeddings(option.chunker) else {}
            )
            made = {"experimental": gate.to_compare(), "fallback": None, "max_tokens": option.max_tokens, **models}
            chunker = catalog.create(option.chunker, **made)
            first, *others = [chunker.explain(document).signal for document in self._documents]
            self.signals[chunks] = sum(others, first)
        signal = self.signals[chunks]
        return signal.by_size or not sum(signal.cuts.values()) or signal.decides


def _task(documents: Sequence[Document], questions: Sequence[Question], metric: str, **settings: Any) -> EvaluationTask:
    """Return the task of the questions about the documents to which the metric applies."""
    names = {document.source for document in documents}
    questions = [q for q in questions if names.issuperset(name for name, _ in q.references)]
    task = EvaluationTask(tuple(documents), tuple(questions), **settings)
    if metric not in task.needs:
        return task
    pairs = zip(task.questions, task.needs[metric], strict=True)
    return replace(task, questions=tuple(question for question, needed in pairs if needed))


def _options(
    chunkers: Sequence[str] | None, sizes: Sequence[int], searches: Sequence[Search] = SEARCHES
) -> list[Option]:
    """Return the options to try, the baseline first, and last those to skip when time is up."""
    require(len(sizes) > 0 and min(sizes) >= 1, "sizes must be >= 1", sizes)
    general = (name for name in catalog.names("stable") if catalog.is_general_purpose(name))
    names, registered = list(general if chunkers is None else chunkers), catalog.names()
    for name in names:
        require(name in registered, f"chunkers must be registered{did_you_mean(name, registered)}", name)
    kinds: dict[str, tuple[Vectors, ...]] = {
        name: ("units", "context", "plain" if catalog.cuts_by_embeddings(name) else "none") for name in names
    }
    by_distance = sorted(set(sizes), key=lambda size: (abs(np.log2(size / 100)), size))  # most optima are near 100
    chunks = [Option(name, size, kind) for size in by_distance for name in reversed(names) for kind in kinds[name]]
    baseline = Option(_BASELINE, max(sizes), "none")
    chunks = list(dict.fromkeys([baseline, *chunks]))
    options = [replace(option, search=search) for option in chunks for search in searches]
    return list(dict.fromkeys([baseline, *filter(_is_useful, options)]))


def _is_useful(option: Option) -> bool:
    """Return False for words with vectors that they do not need, and neighbors with vectors that contain them."""
    lexical = option.search.mode == "lexical" and option.has_vectors
    return not lexical and not (option.search.neighbors and option.vectors == "context")


def _group(options: Sequence[Option]) -> dict[Option, list[Option]]:
    """Return options by their chunks."""
    groups = dict[Option, list[Option]]()
    for option in options:
        groups.setdefault(option.chunks, []).append(option)
    return groups


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
    needs = [max(place[name] for name, _ in question.references) + 1 for question in task.questions]
    answered = sorted(needs)
    numbers = [min(max(round(share * len(answered)), _MIN_QUESTIONS), len(answered)) for share in _SHARES]
    counts = {answered[number - 1] for number in numbers if answered[number - 1] < answered[-1]}
    pairs = list(zip(task.questions, needs, strict=True))
    return [
        replace(task, documents=task.documents[:count], questions=tuple(q for q, need in pairs if need <= count))
        for count in [*sorted(counts), len(place)]
    ]


def _rank(results: Mapping[Option, Result], metric: str) -> list[Option]:
    """Return options best first; ties in the order of their runs."""
    return sorted(results, key=lambda option: -round(float(getattr(results[option], metric).mean()), 9))


def _select(results: Mapping[Option, Result], metric: str) -> list[Option]:
    """Return the baseline, the best third, at least two, and the best of each kind."""
    ranked = _rank(results, metric)
    third = ranked[: max(-(-len(ranked) // 3), 2)]
    return list(dict.fromkeys([next(iter(results)), *third, *_best_of_kinds(ranked)]))


def _best_of_kinds(ranked: Sequence[Option]) -> list[Option]:
    """Return the best of each kind, the simplest kind first."""
    return sorted({option.kind: option for option in reversed(ranked)}.values(), key=lambda option: option.kind)


def _choose(
    results: Mapping[Option, Result], metric: str, decides: Callable[[Option], bool]
) -> tuple[Option, list[Comparison]]:
    """Return the option than which none is significantly better, from the baseline on, and comparisons with it.

    An option whose chunker does not decide on its cuts is passed over.
    """
    by_label, chosen = {option.label: option for option in results}, next(iter(results))
    while True:
        rows = _compare(results, chosen, metric)
        better = [by_label[row.result.label] for row in rows if row.verdict == "better"]
        # Of the options of one kind, the first is the best.
        chosen_next = next(filter(decides, sorted(better, key=lambda option: option.kind)), None)
        if chosen_next is None:
            return chosen, rows
        chosen = chosen_next


def _compare(results: Mapping[Option, Result], option: Option, metric: str) -> list[Comparison]:
    return compare(list(results.values()), option.label, metric)
