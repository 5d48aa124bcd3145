"""The built-in default, hashed words beside any embedder, and precomputed vectors, as LangChain embeddings."""

from collections import deque
from collections.abc import Iterable

from langchain_core.embeddings import Embeddings

from advchunk.errors import checked
from advchunk.models.counters import replace_surrogates
from advchunk.models.embedders import CheckedEmbedder, EmbedderLike, HybridEmbedder
from advchunk.models.static import StaticEmbedder, default_embedder
from advchunk.models.wordpiece import WordPiece
from advchunk.records import Floats


class DefaultEmbeddings(Embeddings):
    """The built-in default, for vector stores and everything else that takes `Embeddings`; it needs no key or download.

    >>> len(DefaultEmbeddings().embed_query("Green tea."))
    256
    """

    model_name = StaticEmbedder.model_name
    languages = StaticEmbedder.languages

    @property
    def tokenizer(self) -> WordPiece:
        """The tokenizer of the model."""
        return default_embedder().tokenizer

    @checked
    def embed_documents(self, texts: list[str]) -> list[list[float]]:
        """Return the vectors of texts."""
        vectors: list[list[float]] = default_embedder().embed(list(map(replace_surrogates, texts))).tolist()
        return vectors

    def embed_query(self, text: str) -> list[float]:
        """Return the vector of a query."""
        return self.embed_documents([text])[0]


class HybridEmbeddings(Embeddings):
    """Any embeddings with hashed words beside them, for a vector store without a text index (see `HybridEmbedder`).

    Store the vectors of all texts and queries with the same parameters; do not cut with them.

    Parameters
    ----------
    embeddings : anything that embeds; None is the built-in default.
    dimensions : number of dimensions for the words, >= 1.
    weight : share of the words in a cosine, 0..1.
    language : code of the language of the texts, for stems and stop words.

    >>> len(HybridEmbeddings().embed_query("Green tea."))
    768
    """

    def __init__(
        self, embeddings: EmbedderLike = None, dimensions: int = 512, weight: float = 0.5, language: str = "en"
    ) -> None:
        self._hybrid = HybridEmbedder(embeddings, dimensions, weight, language)
        self.model_name, self.identity = self._hybrid.model_name, self._hybrid.identity
        self.tokenizer, self.max_tokens = self._hybrid.tokenizer, self._hybrid.max_tokens
        self.languages = self._hybrid.languages

    @checked
    def embed_documents(self, texts: list[str]) -> list[list[float]]:
        """Return the vectors of texts."""
        vectors: list[list[float]] = self._hybrid.embed(texts).tolist() if texts else []
        return vectors

    @checked
    def embed_query(self, text: str) -> list[float]:
        """Return the vector of a query."""
        vector: list[float] = self._hybrid.embed_query(text).tolist()
        return vector


class ChunkEmbeddings(Embeddings):
    """Serves precomputed vectors of chunks or sentences to any vector store; the embedder embeds all other texts.

    A vector store asks by text alone. Equal texts with different vectors therefore get their vectors in turn, in the
    order in which they were made; a store that adds texts in another order may swap them.
    """

    def __init__(self, embedder: CheckedEmbedder, rows: Iterable[tuple[str, Floats]]) -> None:
        self._embedder = embedder
        self.serve(rows)

    def serve(self, rows: Iterable[tuple[str, Floats]]) -> None:
        """Serve these vectors of texts, and no others."""
        self._vectors = dict[str, deque[Floats]]()
        for text, row in rows:
            self._vectors.setdefault(text, deque()).append(row)

    @checked
    def embed_documents(self, texts: list[str]) -> list[list[float]]:
        """Return the vectors of texts, precomputed if there are any."""
        missing = [text for text in dict.fromkeys(texts) if text not in self._vectors]
        embedded = dict(zip(missing, self._embedder.embed(missing), strict=True)) if missing else {}
        return [(embedded[text] if text in embedded else self._next(text)).tolist() for text in texts]

    def _next(self, text: str) -> Floats:
        """Return the vector of a text whose turn it is."""
        rows = self._vectors[text]
        rows.rotate(-1)
        return rows[-1]

    @checked
    def embed_query(self, text: str) -> list[float]:
        """Return the vector of a query."""
        vector: list[float] = self._embedder.for_questions().embed([text])[0].tolist()
        return vector
