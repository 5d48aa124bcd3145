"""The requests that a plan can send to a model."""

from collections.abc import Callable, Sequence
from dataclasses import dataclass, field, replace
from typing import Any, ClassVar, TypeAlias

import numpy as np

BATCH_SIZE = 1024  # items per call of a model without a `batch_size`


@dataclass(frozen=True, slots=True)
class Ask:
    """A request to ``model`` for one row per item. Rows are independent, so equal items are sent once."""

    items: tuple[Any, ...]
    model: Any
    cache_size: ClassVar[int] = 256  # rows cached for repeated items; small, as an item may be a whole document

    def answer(self, rows: Sequence[Any]) -> Any:
        """Build the plan's answer from its rows, one per item."""
        return list(rows)


class Embed(Ask):
    """A request for embeddings, answered by a (len(items), d) float32 array of unit rows."""

    cache_size = 16_384

    def answer(self, rows: Sequence[Any]) -> Any:
        """Return the rows as one array."""
        return np.asarray(rows)


class EmbedTokens(Ask):
    """A request for token vectors in context. Items are (t,) tuples of token ids, answered by (t, d) arrays."""

    cache_size = 16


class Score(Ask):
    """A request for the surprisal of each part of a text given what precedes it.

    Items are (text, edges), answered by (len(edges) - 1,) arrays.
    """


class Choose(Ask):
    """A request for the probability that a language model continues a prompt with each option.

    Items are (prompt, options), answered by (len(options),) arrays.
    """


@dataclass(frozen=True, slots=True)
class ChatRequest:
    """A request to a chat model. Every field but the last two is part of the cache key.

    Parameters
    ----------
    messages : (role, content) pairs; roles are "system", "user" and "assistant".
    schema : JSON Schema of the answer, as JSON; None for plain text.
    max_tokens : maximum tokens of the answer, >= 1.
    temperature : sampling temperature, in the range that the model allows; 0 picks the likeliest answer.
    seed : sampling seed; None leaves it to the model.
    version : version of the prompt.
    check : raises `BadModelOutput` if an answer cannot be used; a cache keeps only answers that pass.
    attempt : number of answers that did not pass so far; it is added to the seed.
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


# The model's method for each type of request; "a" and its name is the async one, without which it runs in a thread.
METHODS: dict[type[Ask], str] = {
    Embed: "embed",
    EmbedTokens: "embed_tokens",
    Score: "score",
    Choose: "choose",
    Complete: "complete",
}

Key: TypeAlias = Ask  # with no items; requests with equal keys can share a batch


def key_of(ask: Ask) -> Key:
    """Return the batching key of a request: the request without its items."""
    return replace(ask, items=())


def batch_size(ask: Ask) -> int:
    """Return the maximum number of items per call."""
    return int(getattr(ask.model, "batch_size", None) or BATCH_SIZE)
