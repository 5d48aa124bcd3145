"""The corpus, the questions and the scoring of retrieval, the same for all candidates."""

import json
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field, replace
from functools import cache, cached_property
from hashlib import sha256
from pathlib import Path
from typing import Any, Self

from advchunk.building.layout import fit_to_blocks, tile_prose
from advchunk.building.long_texts import embed_long_texts
from advchunk.chunkers.by_size import RecursiveChunker
from advchunk.engine import Job, Watch, drive
from advchunk.errors import check_fields, did_you_mean, require
from advchunk.evaluation.data.dataset import document_blocks
from advchunk.evaluation.data.questions import Question
from advchunk.evaluation.metrics.table import metrics
from advchunk.models.counters import as_counter
from advchunk.models.embedders import as_embedder
from advchunk.models.identity import identity
from advchunk.records import Document, Floats, Units
from advchunk.retrieval.lexical_index import LexicalIndex
from advchunk.text import sentences
from advchunk.text.counters import Counter
from advchunk.text.detection import AUTO


@dataclass(frozen=True)
class EvaluationTask:
    """A corpus, questions about it, and the scoring of retrieval, the same for all candidates.

    Parameters
    ----------
    documents : with unique names, which the references of questions use.
    embedder : anything `models.embedders.as_embedder` accepts; None for the built-in default.
    k : chunks retrieved for scores at fixed k, >= 1.
    budget, budgets : tokens retrieved for the scores that candidates are compared by, and for the recall curve, >= 1.
    boundaries : by document, the characters where its true segments meet; other documents get no boundary scores.
    language : language of the documents, for the search by words (`retrieval.lexical_index`); "auto" detects each.
    """

    documents: tuple[Document, ...]
    questions: tuple[Question, ...]
    embedder: Any = None
    k: int = 5
    budget: int = 1000
    budgets: tuple[int, ...] = (250, 500, 1000, 2000, 4000)
    boundaries: Mapping[str, Sequence[int]] = field(default_factory=dict)
    language: str = AUTO
    # Of the search for matching sizes, at each of which most sentences recur: vectors, and mean sizes by fingerprint.
    embedding_cache: dict[str, bytes] = field(default_factory=dict, init=False, repr=False, compare=False)
    mean_sizes: dict[str, float] = field(default_factory=dict, init=False, repr=False, compare=False)

    def __post_init__(self) -> None:
        check_fields(self)
        names, lengths = [d.source for d in self.documents], {d.source: len(d.text) for d in self.documents}
        require(len(lengths) == len(names) > 0, "documents must have unique names", names)
        require(len(self.questions) >= 2, "questions must be two or more", len(self.questions))
        for name, numbers in (("k", [self.k]), ("budget", [self.budget]), ("budgets", self.budgets)):
            require(min(numbers, default=1) >= 1, f"{name} must be >= 1", getattr(self, name))
        object.__setattr__(self, "budgets", tuple(sorted({*self.budgets, self.budget})))
        for question in self.questions:
            for name, span in question.references:
                require(name in lengths, f"questions must be about the documents{did_you_mean(name, lengths)}", name)
                rule = f"references must be in the {lengths[name]} characters of {name!r}"
                require(0 <= span[0] < span[1] <= lengths[name], rule, tuple(span))
        for name, places in self.boundaries.items():
            require(name in lengths, "boundaries must be of documents of the task", name)
            rising = all(a < b for a, b in zip([0, *places], [*places, lengths[name]], strict=True))
            require(rising, f"boundaries must increase strictly between 0 and {lengths[name]}", list(places))

    @cached_property
    def counter(self) -> Counter:
        """The token counter of all candidates: the built-in WordPiece tokenizer."""
        return as_counter(None)

    @cached_property
    def question_vectors(self) -> Floats:
        """The vectors of the questions."""
        embedder = as_embedder(self.embedder).for_questions()
        (rows,) = drive([Job(embed_long_texts([question.text for question in self.questions], embedder))])
        return rows

    @cached_property
    def loaded(self) -> Self:
        """The task, after what candidates share is loaded, so that the first one does not pay for it."""
        _, chunks = self.question_vectors, RecursiveChunker(fallback=None).chunk_many(self.documents)
        LexicalIndex(chunk.text for group in chunks for chunk in group).scores("")
        return self

    @cached_property
    def sentences(self) -> tuple[Units, ...]:
        """The sentences of each document, which also end where its blocks do: headings, list items ..."""
        documents = (replace(document, blocks=document_blocks(document)) for document in self.documents)
        return tuple(fit_to_blocks(tile_prose(document, sentences.sentences), document) for document in documents)

    @cached_property
    def sentence_vectors(self) -> tuple[Floats, ...]:
        """The vectors of the sentences of each document."""
        return tuple(self.embed_texts(units.strings()) for units in self.sentences)

    @cached_property
    def needs(self) -> dict[str, Sequence[Any]]:
        """The facts that metrics need of each question, by the name of the metric (`metrics.table`)."""
        return {name: metric.needs(self) for name, metric in metrics().items() if metric.needs}

    @cached_property
    def digest(self) -> str:
        """A hash of everything that results depend on, the package's code included."""
        parts = [
            package_digest(),
            [(d.source, d.text, repr(d.blocks), repr(dict(d.metadata))) for d in self.documents],
            [sha256(b"" if d.offsets is None else d.offsets.tobytes()).hexdigest() for d in self.documents],
            [(question.text, question.references) for question in self.questions],
            identity(self.embedder),
            self.k,
            self.budget,
            self.budgets,
            sorted((name, list(map(int, places))) for name, places in self.boundaries.items()),
            self.language,
        ]
        return sha256(json.dumps(parts).encode()).hexdigest()

    def embed_texts(self, texts: Sequence[str], watch: Watch = lambda ask, rows, seconds: None) -> Floats:  # noqa: ARG005
        """Return the unit vector of each text; texts are embedded in batches, whole, and duplicates once."""
        (rows,) = drive([Job(embed_long_texts(texts, as_embedder(self.embedder)))], watch)
        return rows


@cache
def package_digest() -> str:
    """Return a hash of the installed package's code, the command line excluded."""
    root = Path(__file__).parents[2]
    sources = sorted(path for path in root.rglob("*.py") if path.relative_to(root).parts[0] not in ("cli", "cli.py"))
    return sha256(b"\0".join(path.read_bytes() for path in sources)).hexdigest()[:16]
