"""Recommend a chunker, a size, vectors and a search for some documents, with the evidence."""

import time
from collections.abc import Callable, Mapping, Sequence
from dataclasses import asdict, dataclass, field, replace
from textwrap import indent
from typing import Any, get_args

import numpy as np

from advchunk.chunkers import catalog
from advchunk.errors import did_you_mean, require
from advchunk.evaluation.comparison.candidates import Candidate, candidate, search_label
from advchunk.evaluation.comparison.comparisons import Comparison, compare
from advchunk.evaluation.comparison.harness import FailedCandidate, Result, attempt
from advchunk.evaluation.comparison.snippets import python_code
from advchunk.evaluation.comparison.tables import as_rows, markdown_table
from advchunk.evaluation.comparison.task import EvaluationTask
from advchunk.evaluation.data.held_out import held_out_questions
from advchunk.evaluation.data.questions import Question
from advchunk.evaluation.metrics.table import check_metric, metrics
from advchunk.models.identity import model_name
from advchunk.records import Document
from advchunk.retrieval.search import SEARCHES, Search
from advchunk.retrieval.vectors import Vectors

_SIZES = (64, 128, 256, 512)
_BASELINE = "recursive"  # the common choice; the baseline at the largest size
_SHARES = (1 / 9, 1 / 3, 1)  # of the questions, in each round
_MIN_QUESTIONS = 30  # of a round, if there are as many
_OWN_VECTORS = ("context", "units")  # stored with the chunks, and not computed from their text alone
_DEMANDS = ("lexical", "dense", "hybrid")  # of a search: words, an embedder and a store of vectors, or both
_MAX_ROWS = 20  # of the printed table
_MIN_SETTLING = 100  # questions: fewer settle nothing


@dataclass(frozen=True)
class Option:
    """A chunker, its size, the vectors of its chunks, and how they are searched.

    Vectors are "none" or, if the chunker cuts by embeddings, "plain" for those of the chunks' texts.
    """

    chunker: str
    max_tokens: int
    vectors: Vectors
    search: Search = field(default_factory=Search)

    @property
    def label(self) -> str:
        """The name in tables."""
        vectors = f", {self.vectors}" * self.has_vectors
        return search_label(f"{self.chunker}, max_tokens={self.max_tokens}{vectors}", self.search)

    @property
    def has_vectors(self) -> bool:
        """True if vectors must be stored with the chunks, and are not those of their text alone."""
        return self.vectors in _OWN_VECTORS

    @property
    def kind(self) -> tuple[int, int]:
        """The rank of what the search demands, and of what the vectors do, from 0; neighbors demand nothing."""
        return _DEMANDS.index(self.search.mode), get_args(Vectors).index(self.vectors)

    @property
    def chunks(self) -> "Option":
        """The option with the same chunks and the plainest search."""
        return replace(self, search=Search())

    def candidate(self, embedder: Any, cache: dict[Any, Any]) -> Candidate:
        """Return the option as a candidate."""
        models = {} if self.vectors == "none" else {"embedder": embedder, "cache": cache, "vectors": self.vectors}
        made = candidate(self.chunker, self.label, max_tokens=self.max_tokens, **models)
        return replace(made, search=self.search)


@dataclass(frozen=True)
class Recommendation:
    """The option to use and the evidence; as a string, a table and the lines to copy.

    Parameters
    ----------
    option : the recommended option; the baseline if nothing is settled.
    tried : all options that were run, the baseline first.
    rows : the options of the last round compared with the recommended one, best first.
    failures : the options without a result.
    questions : number of questions in the last round.
    questions_built : True if the questions were made from the documents.
    complete : True if there was time for all rounds; then another run gives the same result.
    """

    option: Option
    tried: tuple[Option, ...]
    rows: tuple[Comparison, ...]
    failures: tuple[FailedCandidate, ...]
    questions: int
    questions_built: bool
    runs: int
    complete: bool
    metric: str = "recall"
    budget: int = 1000
    embedder: Any = None
    language: str = "en"

    @property
    def settled(self) -> bool:
        """True if all rounds were finished, and the last one asked a hundred questions or more."""
        return self.complete and self.questions >= _MIN_SETTLING

    @property
    def ties(self) -> int:
        """The number of options that are not significantly different from the recommended one."""
        return sum(row.verdict == "noise" for row in self.rows)

    @property
    def verdict(self) -> str:
        """The recommendation in one line."""
        label = self.option.label
        if not self.complete:
            return f"THIS SETTLES NOTHING: time was up after {self.runs} runs. The default is {label}."
        if self.questions < _MIN_SETTLING:
            asked = f"{self.questions} questions were asked, and fewer than {_MIN_SETTLING} are too few"
            return f"THIS SETTLES NOTHING: {asked}. The default is {label}."
        if self.option == self.tried[0]:
            return f"TIE: no option is significantly better than the default, {label}."
        tie = f"; a tie with {self.ties} other{'s' * (self.ties > 1)} in the table" * (self.ties > 0)
        return f"Use {label}{tie}."

    @property
    def parameters(self) -> dict[str, Any]:
        """The parameters of the chunker, with the name of the embedder if it needs one."""
        name = self.embedder if isinstance(self.embedder, str) else model_name(self.embedder) or "embedder"
        models = {} if self.embedder is None or self.option.vectors == "none" else {"embedder": name}
        vectors = {"vectors": self.option.vectors} if self.option.has_vectors else {}
        return {"max_tokens": self.option.max_tokens, **models, **vectors}

    @property
    def python(self) -> str:
        """The line of Python that creates the chunker."""
        return f"advchunk.create({', '.join([repr(self.option.chunker), *map('='.join, self._arguments.items())])})"

    @property
    def code(self) -> dict[str, str]:
        """The lines of Python that chunk and search, by package: "advchunk", "LangChain" and "LlamaIndex"."""
        arguments = self._arguments
        if self.embedder is not None and self.option.search.mode != "lexical":
            arguments = {"embedder": self._embedder, **arguments}
        return python_code(self.option.chunker, arguments, self.option.search, self.budget, self.language)

    @property
    def _arguments(self) -> dict[str, str]:
        """The parameters of the chunker as code."""
        arguments = {name: repr(value) for name, value in self.parameters.items()}
        arguments |= {"embedder": self._embedder} if "embedder" in arguments else {}
        return arguments | ({"experimental": "True"} if self._experimental else {})

    @property
    def _embedder(self) -> str:
        return repr(self.embedder) if isinstance(self.embedder, str) else "embedder"

    @property
    def command(self) -> str:
        """The command that makes these chunks; "" if their vectors, or the embedder, are available from Python only."""
        named = "embedder" in self.parameters
        if self.option.has_vectors or (named and not isinstance(self.embedder, str)):
            return ""
        markup = catalog.describe(self.option.chunker)["parameters"]["markup"]  # the file name must not decide
        options = [f"-m {self.option.chunker}", f"-p max_tokens={self.option.max_tokens}", f"-p markup={markup}"]
        options += [f"--embedder {self.embedder}"] * named + ["--experimental"] * self._experimental
        return f"advchunk chunk FILE {' '.join(options)}"

    @property
    def _experimental(self) -> bool:
        return catalog.chunker_class(self.option.chunker).group == "experimental"

    def to_dict(self) -> dict[str, Any]:
        """Return the recommendation as JSON."""
        names = (
            "settled",
            "verdict",
            "parameters",
            "python",
            "code",
            "command",
            "questions",
            "questions_built",
            "runs",
            "complete",
        )
        fields = {name: getattr(self, name) for name in names}
        failures = [asdict(failure) for failure in self.failures]
        search = asdict(self.option.search)
        return {
            "chunker": self.option.chunker,
            "search": search,
            **fields,
            "comparisons": as_rows(self.rows),
            "failures": failures,
        }

    def __str__(self) -> str:
        summary = metrics()[self.metric].summary
        goal = f"{summary}, %" + f" ({self.budget:,} tokens)" * ("budget" in summary)
        chosen = "default" if self.option == self.tried[0] else "recommended"
        names = {"noise": "tie"} if self.settled else dict.fromkeys(("noise", "better", "worse"), "not settled")
        names["baseline"] = chosen
        shown = [row for i, row in enumerate(self.rows) if i < _MAX_ROWS or row.verdict == "baseline"]
        rows = [[_bold(row), *_format_scores(row), names.get(row.verdict, row.verdict)] for row in shown]
        rows += [[failure.label, "", "", f"failed: {failure.reason}"] for failure in self.failures]
        left = len(self.rows) - len(shown)
        more = [f"{left} more options, with lower scores, are not shown.", ""] if left else []
        blocks = {name: lines for name, lines in {**self.code, "Command": self.command}.items() if lines}
        lines = [line for name, code in blocks.items() for line in (f"{name}:", "", indent(code, "    "), "")]
        return "\n".join([self.verdict, "", *markdown_table(["option", goal, "difference", "verdict"], rows), "",
                          *more, *self._notes, "", *lines])  # fmt: skip

    @property
    def _notes(self) -> list[str]:
        source = "made from the documents' own sentences" if self.questions_built else "provided"
        notes = [f"{self.questions} questions, {source}; {self.runs} runs; in brackets, 95 % intervals."]
        sizes = sorted({option.max_tokens for option in self.tried})
        if self.settled and len(sizes) > 1 and self.option.max_tokens in (sizes[0], sizes[-1]):
            beyond = "smaller" if self.option.max_tokens == sizes[0] else "larger"
            notes.append(f"No {beyond} size was tried; it may be better.")
        if self.option.has_vectors:
            notes.append(
                "Store the vectors of these chunks; they are available from Python only, not from the command."
            )
        return notes


def _bold(row: Comparison) -> str:
    return f"**{row.result.label}**" if row.verdict == "baseline" else row.result.label


def _format_scores(row: Comparison) -> tuple[str, str]:
    mean, low, high = (f"{100 * value:.1f}" for value in row.score)
    difference, least, most = (f"{100 * value:+.1f}" for value in row.difference[:3])
    return f"{mean} [{low}, {high}]", "" if row.verdict == "baseline" else f"{difference} [{least}, {most}]"


def recommend(
    documents: Sequence[Document],
    *,
    questions: Sequence[Question] | None = None,
    embedder: Any = None,
    chunkers: Sequence[str] | None = None,
    sizes: Sequence[int] = _SIZES,
    searches: Sequence[Search] = SEARCHES,
    language: str = "en",
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
    finished part of the first. An option that fails is listed, and the others go on.

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
    language : of the documents, for the search by words (`retrieval.lexical.LexicalIndex`).
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
    chosen, rows = _choose(results, metric) if draft.settled else (options[0], _compare(results, options[0], metric))
    return replace(draft, option=chosen, rows=tuple(rows))


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


def _choose(results: Mapping[Option, Result], metric: str) -> tuple[Option, list[Comparison]]:
    """Return the option than which none is significantly better, from the baseline on, and comparisons with it."""
    by_label, chosen = {option.label: option for option in results}, next(iter(results))
    while True:
        rows = _compare(results, chosen, metric)
        better = [by_label[row.result.label] for row in rows if row.verdict == "better"]
        if not better:
            return chosen, rows
        chosen = min(better, key=lambda option: option.kind)  # the first, which is the best of its kind


def _compare(results: Mapping[Option, Result], option: Option, metric: str) -> list[Comparison]:
    return compare(list(results.values()), option.label, metric)
