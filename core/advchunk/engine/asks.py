"""The requests that a plan can send to a model."""

from collections.abc import Callable, Sequence
from dataclasses import dataclass, field, replace
from typing import Any, ClassVar, TypeAlias

import numpy as np

BATCH_SIZE = 1024  # items per call of a model without a `batch_size`


@dataclass(frozen=True, slots=True)
class Ask:
    """A request to a ``method`` of ``model`` for one row per item. Rows are independent, so equal items are sent once.
    The method with an "a" before its name is the async one, without which it runs in a thread.
    """

    items: tuple[Any, ...]
    model: Any
    method: ClassVar[str]
    cache_size: ClassVar[int] = 256  # rows cached for repeated items; small, as an item may be a whole document

    def answer(self, rows: Sequence[Any]) -> Any:
        """Build the plan's answer from its rows, one per item."""
        return list(rows)


class Embed(Ask):
    """A request for embeddings, answered by a (len(items), d) float32 array of unit rows."""

    method, cache_size = "embed", 16_384

    def answer(self, rows: Sequence[Any]) -> Any:
        """Return the rows as one array."""
        return np.asarray(rows)


class EmbedTokens(Ask):
    """A request for token vectors in context. Items are (t,) tuples of token ids, answered by (t, d) arrays."""

    method, cache_size = "embed_tokens", 16


class Score(Ask):
    """A request for surprisals of parts of a text, given the text before: (text, edges) -> (len(edges) - 1,) array."""

    method = "score"


class Choose(Ask):
    """A request for probabilities of continuing a prompt with each option: (prompt, options) -> (len(options),)."""

    method = "choose"


@dataclass(frozen=True, slots=True)
class ChatRequest:
    """A request to a chat model; every field but the last two is part of the cache key.

    ``messages`` are (role, content), the role "system", "user" or "assistant"; ``schema`` is the JSON Schema of the
    answer, as JSON, None for plain text; ``max_tokens`` >= 1 are of the answer; ``seed`` None is the model's choice;
    ``version`` is of the prompt. ``check`` raises `BadModelOutput` if an answer cannot be used, and a cache keeps only
    those that pass; ``attempt`` counts those that did not pass so far, and is added to the seed.
    """

    messages: tuple[tuple[str, str], ...]
    schema: str | None = None
    max_tokens: int = 1024
    temperature: float = 0.0
    seed: int | None = None
    version: str = ""
    check: Callable[[str], Any] | None = field(default=None, compare=False, repr=False)
    attempt: int = 0


class Complete(Ask):
    """A request for answers to `ChatRequest` items; answered by one ``str`` per item."""

    method = "complete"


Key: TypeAlias = Ask  # with no items; requests with equal keys can share a batch


def key_of(ask: Ask) -> Key:
    """Return the batching key of a request: the request without its items."""
    return replace(ask, items=())


def batch_size(ask: Ask) -> int:
    """Return the maximum number of items per call."""
    return int(getattr(ask.model, "batch_size", None) or BATCH_SIZE)
