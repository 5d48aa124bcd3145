"""Recommend a chunker, a size, vectors and a search for some documents: a grid of candidates, and their comparison."""

from collections.abc import Callable, Sequence
from dataclasses import asdict, dataclass, replace
from itertools import product
from typing import Any, NamedTuple, get_args

import numpy as np

from advchunk.chunkers import catalog
from advchunk.chunkers.vectors import Vectors
from advchunk.errors import checked, require
from advchunk.evaluation.comparison.candidates import candidate, search_label
from advchunk.evaluation.comparison.comparisons import Comparison, compare
from advchunk.evaluation.comparison.harness import FailedCandidate, Result, evaluate
from advchunk.evaluation.comparison.report import as_rows, read_template
from advchunk.evaluation.comparison.task import EvaluationTask
from advchunk.evaluation.data.dataset import held_out_questions
from advchunk.evaluation.data.questions import Question
from advchunk.evaluation.metrics.table import check_metric, metrics
from advchunk.records import Document
from advchunk.retrieval.search import Search
from advchunk.text.detection import AUTO
from advchunk.text.templates import fill_text

CHUNKERS = ("recursive", "optimal-semantic")
SEARCHES = (Search("lexical"), Search("dense"), Search("hybrid"), Search("hybrid", neighbors=True))
_MODES = ("lexical", "dense", "hybrid")  # the simplest first: words need no embedder and no store of vectors
_MIN_SETTLING = 100  # questions: fewer settle nothing
_MAX_ROWS = 20  # of the printed table


class Option(NamedTuple):
    """A chunker, its size, the vectors of its chunks ("none" for those of their text), and how they are searched."""

    chunker: str
    max_tokens: int
    vectors: Vectors
    search: Search

    @property
    def label(self) -> str:
        """The name in tables."""
        vectors = "" if self.vectors == "none" else f", {self.vectors}"
        return search_label(f"{self.chunker}, max_tokens={self.max_tokens}{vectors}", self.search)

    @property
    def parameters(self) -> dict[str, Any]:
        """The parameters of the chunker, its embedder excluded."""
        return {"max_tokens": self.max_tokens} | ({} if self.vectors == "none" else {"vectors": self.vectors})

    @property
    def effort(self) -> tuple[int, ...]:
        """The rank of each thing that the option needs, most important first; the lower, the simpler."""
        search, embeds = self.search, catalog.cuts_by_embeddings(self.chunker)
        return _MODES.index(search.mode), embeds, get_args(Vectors).index(self.vectors), search.neighbors


@dataclass(frozen=True)
class Recommendation:
    """The recommendation: ``option`` is the simplest of those that tie with the highest score.

    ``rows`` compare all options with the one that scores highest, best first; ``questions`` counts those to which the
    metric applies; ``questions_built`` is True if they were made from the documents.
    """

    option: Option
    rows: tuple[Comparison, ...]
    failures: tuple[FailedCandidate, ...]
    questions: int
    questions_built: bool
    metric: str = "recall"
    budget: int = 1000
    embedder: Any = None

    @property
    def settled(self) -> bool:
        """True if a hundred questions or more were asked."""
        return self.questions >= _MIN_SETTLING

    @property
    def ties(self) -> int:
        """The number of options that tie with the highest score."""
        return sum(map(_is_tie, self.rows)) - 1

    @property
    def verdict(self) -> str:
        """The recommendation in one sentence."""
        label, (best, *others) = self.option.label, self.highest
        few = f"This settles nothing: {self.questions} questions are too few, ask {_MIN_SETTLING} or more. "
        few = "" if self.settled else few
        if len(self.rows) == len(self.highest) > 1:
            same = "All options have the same score: the questions do not tell them apart."
            return f"{few}{same} {label} is the simplest."
        if few:
            return f"{few}{label} is the simplest that ties with the highest score."
        if not self.ties:
            unsure = sum(row.verdict == "noise" for row in self.rows)
            but = f", though {unsure} of the differences may be noise among so many" if unsure else ""
            return f"Use {label}: its score is {'' if but else 'significantly '}higher than every other{but}."
        others_too = f" and {len(others)} more" if others else ""
        highest = f"the highest score is that of {best}{others_too}"
        highest = "it also has the highest score" if label in self.highest else highest
        return f"Use {label}: {self.ties + 1} options tie, and of these it is the simplest; {highest}."

    @property
    def highest(self) -> list[str]:
        """The labels of the options with the highest score."""
        scores = {row.result.label: round(row.score.mean, 9) for row in self.rows}
        return [label for label, score in scores.items() if score == max(scores.values())]

    @property
    def python(self) -> str:
        """The lines of Python that create the chunker and the search."""
        option, search = self.option, self.option.search
        name = repr(self.embedder) if isinstance(self.embedder, str) else "embedder"
        embedder = "" if self.embedder is None else f", embedder={name}"
        embeds = option.vectors != "none" or catalog.cuts_by_embeddings(option.chunker)
        values = "".join(f", {key}={value!r}" for key, value in option.parameters.items())
        retriever = f"chunks, mode={search.mode!r}, neighbors={search.neighbors}{embedder * (search.mode != 'lexical')}"
        chunker = f"{option.chunker!r}{values}{embedder * embeds}"
        return f"chunker = advchunk.create({chunker})\nretriever = Retriever({retriever})"

    def to_dict(self) -> dict[str, Any]:
        """Return the recommendation as JSON."""
        names = ("settled", "verdict", "ties", "python", "questions", "questions_built")
        return {
            "chunker": self.option.chunker,
            "parameters": self.option.parameters,
            "search": asdict(self.option.search),
            **{name: getattr(self, name) for name in names},
            "comparisons": as_rows(self.rows),
            "failures": [asdict(failure) for failure in self.failures],
        }

    def __str__(self) -> str:
        summary, label = metrics()[self.metric].summary, self.option.label
        rows = enumerate(self.rows)
        return fill_text(
            read_template("recommendation.md"),
            of=self,
            goal=f"{summary}, %" + f" ({self.budget:,} tokens)" * ("budget" in summary),
            shown=[row for i, row in rows if i < _MAX_ROWS or row.result.label == label],
            verdict=lambda row: "tie" if row.verdict == "noise" and _is_tie(row) else row.verdict,
            points=lambda shares: [100 * share for share in shares[:3]],
        )


@checked
def recommend(
    documents: Sequence[Document],
    *,
    questions: Sequence[Question] | None = None,
    embedder: Any = None,
    chunkers: Sequence[str] = CHUNKERS,
    sizes: Sequence[int] = (64, 128, 256, 512),
    vectors: Sequence[Vectors] = ("none", "units"),
    searches: Sequence[Search] = SEARCHES,
    language: str = AUTO,
    metric: str = "recall",
    budget: int = 1000,
    number: int = 500,
    characters: int = 500_000,
    seed: int = 0,
    progress: Callable[[str], None] = lambda _: None,
) -> Recommendation:
    """Evaluate each chunker at each size, with each kind of vectors and of search, and recommend an option.

    All options answer the same questions (`evaluate`) and are compared with the one with the highest score (`compare`).
    An option ties with it if the 95 % interval of their difference contains 0. The simplest of these is recommended: a
    search by words, which needs no embedder, before one by vectors, and that before both; a chunker that needs no
    embedder; fewer vectors; fewer chunks. Fewer than a hundred questions settle nothing. The highest score was selected
    by the questions that measured it: expect a slightly lower one on others. An option that fails is listed.

    Parameters
    ----------
    questions : about ``documents``; None to make them (`held_out_questions`).
    embedder : embeds chunks and questions (`models.embedders.as_embedder`); None is the built-in default.
    chunkers : registered names.
    sizes : ``max_tokens``, each >= 1.
    vectors : kind of vectors (`advchunk.chunkers.vectors.ChunkVectors`); "none" embeds the text of a chunk.
    searches : each with all chunks, except that words are searched without other vectors only.
    language : language of the documents, for the search by words (`retrieval.lexical_index`); "auto" detects each.
    budget, number : tokens retrieved per question, >= 1; questions to make, >= 2.
    characters : number of characters to use, >= 1; the others are dropped at random, those without questions first.
    progress : see `evaluate`.
    """
    require(characters >= 1, "characters must be >= 1", characters)
    require(seed >= 0, "seed must be >= 0", seed)
    check_metric(metric)
    options = _options(chunkers, sizes, vectors, searches)
    sample, is_built = tuple(_sample_documents(documents, questions or (), characters, seed)), questions is None
    if questions is None:
        dataset = held_out_questions(sample, number, seed=seed)
        sample, questions = dataset.documents, dataset.questions
    names = {document.source for document in sample}
    asked = tuple(q for q in questions if names.issuperset(name for name, _ in q.references))
    task = EvaluationTask(sample, asked, embedder, budget=budget, budgets=(budget,), language=language)
    made = [candidate(of.chunker, of.label, embedder=embedder, **of.parameters) for of in options]
    made = [replace(plain, search=of.search) for plain, of in zip(made, options, strict=True)]
    results = evaluate(made, task, progress=progress)
    require(len(results) > 0, "an option must have a result", [failure.reason for failure in results.failures][:1])
    option, rows = _choose({option.label: option for option in options}, results, metric)
    number_asked, failed = int(np.isfinite(getattr(results[0], metric)).sum()), tuple(results.failures)
    return Recommendation(option, tuple(rows), failed, number_asked, is_built, metric, budget, embedder)


def _options(
    chunkers: Sequence[str], sizes: Sequence[int], vectors: Sequence[Vectors], searches: Sequence[Search]
) -> list[Option]:
    """Return the grid, without words with vectors that they do not need."""
    require(len(sizes) > 0 and min(sizes) >= 1, "sizes must be >= 1", sizes)
    methods = [name for name in chunkers if catalog.chunker_class(name)]  # which raises an error for an unknown name
    grid = dict.fromkeys(Option(*of) for of in product(methods, sizes, vectors, searches))
    options = [option for option in grid if option.search.mode != "lexical" or option.vectors == "none"]
    require(len(options) > 0, "chunkers, vectors and searches must make an option", (chunkers, vectors, searches))
    return options


def _choose(options: dict[str, Option], results: Sequence[Result], metric: str) -> tuple[Option, list[Comparison]]:
    """Return the simplest of the options that tie with the highest score, and all compared with the latter."""
    highest = max(results, key=lambda result: round(float(np.nanmean(getattr(result, metric))), 9))
    rows = compare(results, highest.label, metric)
    tied = [row.result for row in rows if _is_tie(row)]
    simplest = min(tied, key=lambda result: (options[result.label].effort, len(result.tokens)))
    return options[simplest.label], sorted(rows, key=lambda row: row.verdict != "baseline")


def _is_tie(row: Comparison) -> bool:
    """Return True if a result cannot be told from the highest score; the highest is one as well."""
    return row.difference.high >= 0


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
