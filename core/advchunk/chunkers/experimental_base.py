"""The base of experimental chunkers, which have a stable one to fall back on."""

from dataclasses import dataclass
from typing import ClassVar

from advchunk.chunkers.base import Chunker
from advchunk.chunkers.catalog import create_default
from advchunk.chunkers.params import ChunkerGroup, Params, parameters


@dataclass(kw_only=True)
class ExperimentalChunker(Chunker):
    """A chunker whose results may change in any release.

    Remove this base to promote a chunker to stable (see "Promotion" in CONTRIBUTING); its registry group follows.

    Parameters
    ----------
    fallback : a chunker for documents on which this one fails or takes too long; "auto" is ``optimal-semantic`` with
        the same sizes, chunks of 64 tokens or more, and without a time limit; None raises the error.
    """

    group: ClassVar[ChunkerGroup] = "experimental"

    def fallback_chunker(self) -> Chunker | None:
        """Return the fallback: optimal-semantic with the built-in default, unless another or None is given."""
        if self.fallback != "auto":
            return super().fallback_chunker()
        sizes = {**parameters(self, Params), "timeout": None}
        return create_default(**sizes, tokenizer=self.counter, sentence_splitter=self.sentence_splitter)
