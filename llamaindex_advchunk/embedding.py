"""The built-in default, and hashed words beside any embedder, as LlamaIndex embeddings."""

from typing import Annotated, Any

from llama_index.core.base.embeddings.base import BaseEmbedding
from pydantic import Field, PrivateAttr

from advchunk.errors import checked, require
from advchunk.models.counters import replace_surrogates
from advchunk.models.embedders import EmbedderLike, HybridEmbedder
from advchunk.models.static import StaticEmbedder, default_embedder
from advchunk.models.wordpiece import WordPiece
from llamaindex_advchunk.plain import UNCHECKED, Named


class DefaultEmbedding(Named, BaseEmbedding):
    """The built-in default, for an index and everything else that takes an embed model; it needs no key or download.

    >>> len(DefaultEmbedding().get_query_embedding("Green tea."))
    256
    """

    model_name: str = Field(
        default=StaticEmbedder.model_name, pattern=f"^{StaticEmbedder.model_name}$", description="There is one model."
    )
    embed_batch_size: int = Field(default=2048, gt=0, le=2048, description="Texts per call.")

    @property
    def languages(self) -> frozenset[str]:
        """The codes of the languages of the model."""
        return StaticEmbedder.languages

    @property
    def tokenizer(self) -> WordPiece:
        """The tokenizer of the model."""
        return default_embedder().tokenizer

    @checked
    def _get_text_embeddings(self, texts: list[str]) -> list[list[float]]:
        vectors: list[list[float]] = default_embedder().embed(list(map(replace_surrogates, texts))).tolist()
        return vectors

    def _get_text_embedding(self, text: str) -> list[float]:
        return self._get_text_embeddings([text])[0]

    def _get_query_embedding(self, query: str) -> list[float]:
        return self._get_text_embedding(query)

    async def _aget_query_embedding(self, query: str) -> list[float]:
        return self._get_text_embedding(query)


class HybridEmbedding(Named, BaseEmbedding):
    """Any embedding with hashed words beside it, for a vector store without a text index (see `HybridEmbedder`).

    Store the vectors of all texts and queries with the same parameters; do not cut with them. The embedding inside is
    not serialized, but its name is, so that a copy made without it raises an error.

    >>> len(HybridEmbedding().get_query_embedding("Green tea."))
    768
    """

    embed_model: Annotated[EmbedderLike, UNCHECKED] = Field(
        default=None, exclude=True, description="BaseEmbedding or anything that embeds; None is the built-in default."
    )
    dimensions: int = Field(default=512, description="Dimensions of the words, >= 1.")
    weight: float = Field(default=0.5, description="Share of the words in a cosine, 0..1.")
    language: str = Field(default="en", description="Code of the language of the texts, for stems and stop words.")
    embed_batch_size: int = Field(default=2048, gt=0, le=2048, description="Texts per call.")
    _hybrid: HybridEmbedder = PrivateAttr()

    def model_post_init(self, context: Any, /) -> None:
        """Load the embedding."""
        super().model_post_init(context)
        self._hybrid = HybridEmbedder(self.embed_model, self.dimensions, self.weight, self.language)
        expected = self._hybrid.model_name or "unnamed"
        rule = f"model_name must be {expected!r}: pass the embed_model that the embedding was made with"
        require("model_name" not in self.model_fields_set or self.model_name == expected, rule, self.model_name)
        self.model_name = expected

    @property
    def identity(self) -> str:
        """Name of the models and their settings in a cache; empty if the embedding inside has no name."""
        return self._hybrid.identity

    @property
    def tokenizer(self) -> Any:
        """The tokenizer of the embedding inside."""
        return self._hybrid.tokenizer

    @property
    def languages(self) -> frozenset[str] | None:
        """The codes of the languages of the embedding inside; None if it declares none."""
        return self._hybrid.languages

    @property
    def max_tokens(self) -> int | None:
        """The tokens of the longest text that the embedding inside reads; None if unlimited or unknown."""
        return self._hybrid.max_tokens

    @checked
    def _get_text_embeddings(self, texts: list[str]) -> list[list[float]]:
        vectors: list[list[float]] = self._hybrid.embed(texts).tolist()
        return vectors

    def _get_text_embedding(self, text: str) -> list[float]:
        return self._get_text_embeddings([text])[0]

    @checked
    def _get_query_embedding(self, query: str) -> list[float]:
        vector: list[float] = self._hybrid.embed_query(query).tolist()
        return vector

    async def _aget_text_embeddings(self, texts: list[str]) -> list[list[float]]:
        vectors: list[list[float]] = (await self._hybrid.aembed(texts)).tolist()
        return vectors

    async def _aget_text_embedding(self, text: str) -> list[float]:
        (vector,) = await self._aget_text_embeddings([text])
        return vector

    async def _aget_query_embedding(self, query: str) -> list[float]:
        vector: list[float] = (await self._hybrid.aembed_query(query)).tolist()
        return vector
