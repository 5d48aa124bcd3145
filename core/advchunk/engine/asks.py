"""What a plan can ask of a model, and what answers it."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace
from typing import Any, ClassVar, TypeAlias

import numpy as np

BATCH_SIZE = 1024  # items a call, of a model that does not say how many it likes


@dataclass(frozen=True, slots=True)
class Ask:
    """A request to ``model`` for one row an item; rows are independent, so equal items are asked once."""

    items: tuple[Any, ...]
    model: Any
    remembered: ClassVar[int] = 256  # rows kept, for items that come up again; an item may be a whole document

    def answer(self, rows: Sequence[Any]) -> Any:
        """Return what the plan is sent for its rows, one an item."""
        return list(rows)


class Embed(Ask):
    """Answered by a (len(items), d) float32 array of unit rows."""

    remembered = 16_384

    def answer(self, rows: Sequence[Any]) -> Any:
        """Return the rows as one array."""
        return np.asarray(rows)


class Score(Ask):
    """Asked of (text, edges): how surprised a language model is by each part of a text, given all before it.

    Answered by one (len(edges) - 1,) array an item.
    """


class Choose(Ask):
    """Asked of (prompt, options): how likely a language model goes on with each option.

    Answered by one (len(options),) array of probabilities an item.
    """


@dataclass(frozen=True, slots=True)
class ChatRequest:
    """What a chat model is asked; whatever differs in it is kept apart in a cache.

    Parameters
    ----------
    messages : (role, content) pairs; roles are "system", "user" and "assistant".
    schema : the JSON Schema of an answer in JSON, itself as JSON; None for text.
    max_tokens : of the answer, >= 1.
    temperature : 0 for the likeliest answer; what a model allows.
    seed : of what the model draws; None leaves it to the model.
    version : of the prompt.
    """

    messages: tuple[tuple[str, str], ...]
    schema: str | None = None
    max_tokens: int = 1024
    temperature: float = 0.0
    seed: int | None = None
    version: str = ""


class Complete(Ask):
    """Asked of `ChatRequest`s; answered by one ``str`` an item."""


# The method of a model that answers each kind of ask, and its async twin.
METHODS: dict[type[Ask], tuple[str, str]] = {
    Embed: ("embed", "aembed"),
    Score: ("score", "ascore"),
    Choose: ("choose", "achoose"),
    Complete: ("complete", "acomplete"),
}


Key: TypeAlias = Ask  # without its items: asks that differ in nothing else share batches


def key_of(ask: Ask) -> Key:
    """Return what an ask shares with those it can go into one call with."""
    return replace(ask, items=())


def batch_size(ask: Ask) -> int:
    """Return how many items a call may have."""
    return int(getattr(ask.model, "batch_size", None) or BATCH_SIZE)
