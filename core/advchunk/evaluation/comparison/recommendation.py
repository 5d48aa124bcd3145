"""The chunker, size, vectors and search that `recommend` chooses, with the evidence and the code to copy."""

from collections.abc import Mapping
from dataclasses import asdict, dataclass, field, replace
from typing import Any, get_args

from advchunk.chunkers import catalog
from advchunk.chunkers.explanations import Signal
from advchunk.chunkers.vectors import Vectors
from advchunk.evaluation.comparison.candidates import Candidate, candidate, search_label
from advchunk.evaluation.comparison.comparisons import Comparison
from advchunk.evaluation.comparison.harness import FailedCandidate
from advchunk.evaluation.comparison.tables import as_rows, read_template
from advchunk.evaluation.metrics.table import metrics
from advchunk.models.identity import model_name
from advchunk.retrieval.search import Search
from advchunk.text.detection import AUTO
from advchunk.text.templates import fill_text

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
    signals : what the chunkers that were better than the default found in the documents, by chunker and size.
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
    language: str = AUTO
    signals: Mapping[str, Signal] = field(default_factory=dict)

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
        return f"advchunk.create({_arguments(repr(self.option.chunker), self._arguments)})"

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
        names = [
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
        ]
        return {
            "chunker": self.option.chunker,
            "search": asdict(self.option.search),
            **{name: getattr(self, name) for name in names},
            "comparisons": as_rows(self.rows),
            "signals": {label: signal.to_dict() for label, signal in self.signals.items()},
            "failures": [asdict(failure) for failure in self.failures],
        }

    def __str__(self) -> str:
        summary = metrics()[self.metric].summary
        verdicts = {"noise": "tie"} if self.settled else dict.fromkeys(("noise", "better", "worse"), "not settled")
        verdicts["baseline"] = "default" if self.option == self.tried[0] else "recommended"
        return fill_text(
            read_template("recommendation.md"),
            of=self,
            goal=f"{summary}, %" + f" ({self.budget:,} tokens)" * ("budget" in summary),
            shown=[row for i, row in enumerate(self.rows) if i < _MAX_ROWS or row.verdict == "baseline"],
            verdicts=verdicts,
            points=lambda shares: [100 * share for share in shares[:3]],
            sizes=sorted({option.max_tokens for option in self.tried}),
            blocks={**self.code, "Command": self.command},
        )


def python_code(
    name: str, parameters: Mapping[str, str], search: Search, budget: int, language: str = AUTO
) -> dict[str, str]:
    """Return the lines for advchunk, LangChain and LlamaIndex, by these names.

    Parameters
    ----------
    name : of the chunker.
    parameters : of the chunker, as code; ``embedder`` only if it is not the built-in default.
    budget : tokens to retrieve.
    language : of the documents, for the search by words.

    >>> print(python_code("recursive", {"max_tokens": "64"}, Search("lexical"), 1000)["advchunk"])
    import advchunk
    from advchunk.retrieval import Retriever
    <BLANKLINE>
    chunker = advchunk.create('recursive', max_tokens=64)
    retriever = Retriever({name: chunker.chunk(text) for name, text in texts.items()}, mode='lexical', neighbors=False)
    passages = retriever.passages(query, budget=1000, whole_chunks=True)
    """
    how = {"mode": repr(search.mode), "neighbors": str(search.neighbors)}
    levels = {name: getattr(search, name) for name in ("levels", "answer", "section_weight", "merge")}
    how |= {name: repr(value) for name, value in levels.items() if value != getattr(Search(), name)}
    own = {"language": repr(language)} if search.mode != "dense" and language != AUTO else {}
    cutter = {"cutter": f"PassageCutter({_arguments(own)})"} if own else {}
    values: dict[str, Any] = {
        "name": repr(name),
        "kind": catalog.chunker_class(name).__name__.removesuffix("Chunker"),
        "parameters": parameters,
        "settings": {key: value for key, value in parameters.items() if key != "embedder"},
        "plain": {key: value for key, value in parameters.items() if key not in ("embedder", "vectors")},
        "vectors": parameters.get("vectors"),
        "search": how | own,
        "framework_search": {"search": f"Search({_arguments(how)})"} | cutter,
        "language": own,
        "words": search.mode == "lexical",
        "budget": budget,
        "arguments": _arguments,
    }
    return {
        package: fill_text(read_template(f"{package.lower()}.txt"), **values)
        for package in ("advchunk", "LangChain", "LlamaIndex")
    }


def _arguments(*parts: str | Mapping[str, Any]) -> str:
    """Return the arguments of a call: values, and names with values."""
    named = [part.items() if isinstance(part, Mapping) else [("", part)] for part in parts]
    return ", ".join(f"{name}={value}" if name else value for pairs in named for name, value in pairs)
