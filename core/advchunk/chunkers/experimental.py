"""What is not yet stable: it has a stable chunker behind it."""

from __future__ import annotations

from dataclasses import dataclass

from advchunk.chunkers.base import Chunker
from advchunk.chunkers.params import Params, parameters
from advchunk.chunkers.universal import UniversalSemanticChunker


@dataclass(kw_only=True)
class ExperimentalChunker(Chunker):
    """A chunker whose results may change in any release.

    To make one stable, take this base away (`CONTRIBUTING`, "Promotion"): the registry's group follows from it.

    Parameters
    ----------
    fallback : a chunker for the documents on which this one fails or takes too long; "auto" is
        `UniversalSemanticChunker`, to the same sizes and without a time limit; None raises the error.
    """

    def fallback_chunker(self) -> Chunker | None:
        """Return the fallback: universal-semantic with the embedded default, unless another was given, or none."""
        if self.fallback != "auto":
            return super().fallback_chunker()
        sizes = {**parameters(self, Params), "timeout": None}
        return UniversalSemanticChunker(**sizes, tokenizer=self.counter, sentence_splitter=self.sentence_splitter)
