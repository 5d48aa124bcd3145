"""An embedder behind an OpenAI-compatible endpoint."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import KW_ONLY, dataclass
from typing import Any

from advchunk.engine.threads import run_coroutine
from advchunk.errors import BadModelOutput, is_integer, require
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
        return self._rows(await self._request("embeddings.create", self._fields(texts)), len(texts))

    def _fields(self, texts: list[str]) -> dict[str, Any]:
        body = {"dimensions": self.dimensions, **self.options}
        extra_body = {name: value for name, value in body.items() if value is not None}
        return {"model": self.model, "input": texts, "encoding_format": "float", "extra_body": extra_body}

    def _rows(self, answer: Any, n: int) -> list[list[float]]:
        rows = {getattr(item, "index", None): item.embedding for item in getattr(answer, "data", None) or ()}
        if rows.keys() != set(range(n)):
            msg = self._message(f"answered {n} texts with {len(rows)} vectors")
            raise BadModelOutput(msg)
        lengths = {len(row) for row in rows.values()}
        if self.dimensions and lengths != {self.dimensions}:
            msg = self._message(f"must return vectors of length {self.dimensions}, got {sorted(lengths)}")
            raise BadModelOutput(msg)
        return [rows[i] for i in range(n)]
