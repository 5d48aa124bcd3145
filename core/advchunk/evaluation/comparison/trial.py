"""The corpus, the questions, and how retrieval is scored: the same for every candidate."""

from __future__ import annotations

import json
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field, replace
from functools import cache, cached_property
from hashlib import sha256
from pathlib import Path
from typing import Any

from advchunk.chunkers.biomedical.claims import numeric_claims
from advchunk.engine import Job, Watch, drive
from advchunk.errors import require
from advchunk.evaluation.data.questions import Question
from advchunk.evaluation.metrics.claims import answered
from advchunk.layout import fit_to_blocks, tile_prose
from advchunk.models.counters import as_counter
from advchunk.models.embedders import as_embedder
from advchunk.models.identity import identity
from advchunk.models.long_texts import embed_long_texts
from advchunk.readers import markdown
from advchunk.records import Document, Floats, Span, Units
from advchunk.text import sentences
from advchunk.text.counters import Counter


@dataclass(frozen=True)
class Trial:
    """A corpus, questions about it, and how retrieval is scored: the same for every candidate.

    Parameters
    ----------
    documents : each with a name of its own, which the questions' references use.
    embedder : anything `models.embedders.as_embedder` takes; None is the embedded default.
    k : chunks retrieved, for the scores at fixed k, >= 1.
    budgets : tokens retrieved, for the curve; each >= 1.
    budget : of them, the one that candidates are compared at.
    boundaries : by document, the characters at which its true segments meet; documents without are not scored for them.
    """

    documents: tuple[Document, ...]
    questions: tuple[Question, ...]
    embedder: Any = None
    k: int = 5
    budget: int = 1000
    budgets: tuple[int, ...] = (250, 500, 1000, 2000, 4000)
    boundaries: Mapping[str, Sequence[int]] = field(default_factory=dict)

    def __post_init__(self) -> None:
        names = [document.source for document in self.documents]
        require(len(names) == len(set(names)) > 0, "documents must have names of their own", names)
        require(len(self.questions) >= 2, "questions must be two or more", len(self.questions))
        require(self.k >= 1, "k must be >= 1", self.k)
        require(min(self.budgets, default=0) >= 1, "budgets must be >= 1", self.budgets)
        require(self.budget in self.budgets, f"budget must be one of the budgets, {self.budgets}", self.budget)
        lengths = {document.source: len(document.text) for document in self.documents}
        for name, places in self.boundaries.items():
            require(name in lengths, "boundaries must be of documents that are there", name)
            right = all(a < b for a, b in zip([0, *places], [*places, lengths[name]], strict=True))
            require(right, f"boundaries must rise within 0..{lengths[name]}, the ends left out", list(places))

    @cached_property
    def counter(self) -> Counter:
        """What counts tokens, for every candidate: the embedded WordPiece."""
        return as_counter(None)

    @cached_property
    def asked(self) -> Floats:
        """The vectors of the questions."""
        return self.embed_texts([question.text for question in self.questions])

    @cached_property
    def sentences(self) -> tuple[Units, ...]:
        """The sentences of each document, which also end where its blocks do: headings, list items ..."""
        laid_out = [
            one if one.blocks is not None else replace(one, blocks=markdown.blocks(one.text)) for one in self.documents
        ]
        return tuple(fit_to_blocks(tile_prose(one, sentences.sentences), one) for one in laid_out)

    @cached_property
    def rows(self) -> tuple[Floats, ...]:
        """The vectors of the sentences of each document."""
        return tuple(self.embed_texts(units.strings()) for units in self.sentences)

    @cached_property
    def claims(self) -> tuple[tuple[tuple[str, Span], ...], ...]:
        """The numeric claims in the answer of each question: their documents and places."""
        known = {
            document.source: numeric_claims(document.text, units)
            for document, units in zip(self.documents, self.sentences, strict=True)
        }
        return answered(self.questions, known)

    @cached_property
    def memo(self) -> dict[str, bytes]:
        """What was embedded while sizes were matched: most sentences come up again at every size."""
        return {}

    @cached_property
    def means(self) -> dict[str, float]:
        """The mean sizes that were found while sizes were matched, by fingerprint."""
        return {}

    @cached_property
    def digest(self) -> str:
        """Changes whenever an outcome may, the code included."""
        said = [
            code(),
            [_said(document) for document in self.documents],
            [(question.text, question.references) for question in self.questions],
            identity(self.embedder),
            self.k,
            self.budget,
            self.budgets,
            sorted((name, list(map(int, places))) for name, places in self.boundaries.items()),
        ]
        return sha256(json.dumps(said).encode()).hexdigest()

    def embed_texts(self, texts: Sequence[str], watch: Watch = lambda ask, rows, seconds: None) -> Floats:  # noqa: ARG005
        """Return the unit vector of each text, in batches, each distinct one asked once, and read whole."""
        (rows,) = drive([Job(embed_long_texts(texts, as_embedder(self.embedder)))], watch)
        return rows


def _said(document: Document) -> list[str]:
    """Return all of a document that chunks may depend on; its layout and metadata too."""
    offsets = "" if document.offsets is None else sha256(document.offsets.tobytes()).hexdigest()
    return [document.source, document.text, repr(document.blocks), repr(dict(document.metadata)), offsets]


@cache
def code() -> str:
    """Return a digest of the package as it is installed, the command line left out."""
    root = Path(__file__).parents[2]
    sources = sorted(path for path in root.rglob("*.py") if path.relative_to(root).parts[0] not in ("cli", "cli.py"))
    return sha256(b"\0".join(path.read_bytes() for path in sources)).hexdigest()[:16]
