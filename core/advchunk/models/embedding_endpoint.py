"""An embedder behind an OpenAI-compatible endpoint."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import KW_ONLY, dataclass
from typing import Any

from advchunk.engine.threads import run_coroutine
from advchunk.errors import is_integer, require, require_answer
from advchunk.models.connection import Endpoint
from advchunk.models.retrying import retrying


@dataclass(eq=False)
class OpenAIEmbedder(Endpoint):
    """An embedding model behind any OpenAI-compatible endpoint: vLLM, llama.cpp, Ollama, or a hosted one.

    Parameters
    ----------
    dimensions : length of the vectors, >= 1, which is requested and checked; None is the model's own.
    batch_size : maximum texts per call, >= 1.
    max_tokens : tokens of the longest text the model reads, >= 1; longer texts are embedded in parts. None if
        unlimited.
    tokenizer : counts the tokens of the model (see `counters.as_counter`); None is the built-in WordPiece, whose counts
        differ from those of the model.
    base_url, model, api_key_env, timeout, retries, backoff, longest_wait, options : see `OpenAIChat`.

    >>> OpenAIEmbedder("https://api.openai.com/v1", "text-embedding-3-small", dimensions=256).identity
    'text-embedding-3-small at https://api.openai.com/v1, 256 dimensions'
    """

    _: KW_ONLY
    dimensions: int | None = None
    batch_size: int = 128
    max_tokens: int | None = None
    tokenizer: Any = None

    def __post_init__(self) -> None:
        super().__post_init__()
        for name in ("dimensions", "batch_size", "max_tokens"):
            value = getattr(self, name)
            optional = value is None and name != "batch_size"
            require(optional or is_integer(value, 1), f"{name} must be a whole number >= 1", value)
        self.load()

    @property
    def identity(self) -> str:
        """Name of the model and its settings in a cache."""
        return super().identity + (f", {self.dimensions} dimensions" if self.dimensions else "")

    def embed(self, texts: Sequence[str]) -> list[list[float]]:
        """Return a row for each text, or raise `ModelUnavailable` or `BadModelOutput`."""
        return run_coroutine(self.aembed(texts))

    async def aembed(self, texts: Sequence[str]) -> list[list[float]]:
        """Await `embed`."""
        filled = [text or " " for text in texts]  # endpoints refuse an empty text
        batches = [filled[i : i + self.batch_size] for i in range(0, len(filled), self.batch_size)]
        call = retrying(self, "llm")
        return [row for batch in batches for row in await call(self._embed_batch, batch)]

    async def _embed_batch(self, texts: list[str]) -> list[list[float]]:
        fields = {"input": texts, "encoding_format": "float"}
        answer = await self._request("embeddings.create", fields, dimensions=self.dimensions)
        rows = {getattr(item, "index", None): item.embedding for item in getattr(answer, "data", None) or ()}
        is_complete = rows.keys() == set(range(len(texts)))
        require_answer(is_complete, self._message(f"answered {len(texts)} texts with {len(rows)} vectors"))
        lengths = sorted({len(row) for row in rows.values()})
        rule = f"must return vectors of length {self.dimensions}, got {lengths}"
        require_answer(not self.dimensions or lengths == [self.dimensions], self._message(rule))
        return [rows[i] for i in range(len(texts))]
