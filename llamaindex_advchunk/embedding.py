"""The embedded default as a LlamaIndex embedding."""

from llama_index.core.base.embeddings.base import BaseEmbedding
from pydantic import Field

from advchunk.models.counters import replace_surrogates
from advchunk.models.static import StaticEmbedder, default_embedder
from advchunk.models.wordpiece import WordPiece


class DefaultEmbedding(BaseEmbedding):
    """The embedded default, for an index and everything else that takes an embed model; it needs no key or download.

    >>> len(DefaultEmbedding().get_query_embedding("Green tea."))
    256
    """

    model_name: str = Field(
        default=StaticEmbedder.model_name, pattern=f"^{StaticEmbedder.model_name}$", description="There is one model."
    )
    embed_batch_size: int = Field(default=2048, gt=0, le=2048, description="Texts per call.")

    @classmethod
    def class_name(cls) -> str:
        """Return the name under which LlamaIndex serializes this embedding."""
        return f"advchunk.{cls.__name__}"

    @property
    def tokenizer(self) -> WordPiece:
        """The tokenizer of the model."""
        return default_embedder().tokenizer

    def _get_text_embeddings(self, texts: list[str]) -> list[list[float]]:
        vectors: list[list[float]] = default_embedder().embed(list(map(replace_surrogates, texts))).tolist()
        return vectors

    def _get_text_embedding(self, text: str) -> list[float]:
        return self._get_text_embeddings([text])[0]

    def _get_query_embedding(self, query: str) -> list[float]:
        return self._get_text_embedding(query)

    async def _aget_query_embedding(self, query: str) -> list[float]:
        return self._get_text_embedding(query)
