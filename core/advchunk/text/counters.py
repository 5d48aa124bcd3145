"""Counters of tokens, words and characters."""

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from numbers import Integral
from typing import Any, Protocol

import numpy as np

from advchunk.errors import BadModelOutput, require
from advchunk.records import Ints, Units, evolve
from advchunk.text.scripts import count_words


class Counter(Protocol):
    """A token counter.

    ``adds_up`` promises that the counts of pieces cut after a space, tab or line end add up to the count of the whole,
    so that each character is tokenized only once.
    """

    @property
    def adds_up(self) -> bool: ...  # noqa: D102

    def __call__(self, text: str) -> int: ...  # noqa: D102

    def counts(self, texts: Sequence[str]) -> Ints:
        """Return the number of tokens of each of n texts, (n,)."""


@dataclass(frozen=True, slots=True)
class CallableCounter:
    """A tokenizer as a counter: ``call`` returns the tokens of a text, or their number."""

    call: Callable[[str], Any]
    adds_up: bool = False
    batch: Callable[[list[str]], Sequence[Any]] | None = None

    def __call__(self, text: str) -> int:
        """Return the number of tokens of a text."""
        return _number(self.call(text))

    def counts(self, texts: Sequence[str]) -> Ints:
        """Return the number of tokens of each of n texts, (n,)."""
        tokens = self.batch(list(texts)) if self.batch and texts else map(self.call, texts)
        return np.fromiter(map(_number, tokens), dtype=np.int64, count=len(texts))


def counts_of_distinct(counter: Counter, texts: Sequence[str]) -> Ints:
    """Return the number of tokens of each of n texts, (n,), counting equal texts once."""
    distinct = dict.fromkeys(texts)
    if 2 * len(distinct) > len(texts):
        return counter.counts(texts)
    numbers = dict(zip(distinct, counter.counts([*distinct]).tolist(), strict=True))
    return np.fromiter(map(numbers.__getitem__, texts), np.int64, len(texts))


CHARACTERS = CallableCounter(len, adds_up=True)
WORDS = CallableCounter(count_words, adds_up=True)
SPACED_WORDS = CallableCounter(str.split, adds_up=True)
"""Counts what stands between white space: a sentence of Chinese is one word."""


def count_units(units: Units, counter: Counter) -> Units:
    """Return units with ``sizes``, unless they have been counted."""
    if units.sizes is not None:
        return units
    edges = units.edges
    sizes = edges[1:] - edges[:-1] if counter is CHARACTERS else counts_of_distinct(counter, units.strings())
    require(len(sizes) == len(edges) - 1, "sizes must have a number for each unit", sizes)
    return evolve(units, sizes=sizes)


def _number(tokens: Any) -> int:
    if type(tokens) is int and tokens >= 0:  # most often, and faster than to ask for any integral type
        return tokens
    try:
        number = int(tokens) if isinstance(tokens, Integral) else len(tokens)
    except TypeError:
        number = -1
    if number < 0:
        got = tokens if isinstance(tokens, Integral) else type(tokens).__name__
        msg = f"a tokenizer must return the tokens of a text or their number (an integer >= 0), got {got}"
        raise BadModelOutput(msg)
    return number
