"""Estimates of the cost of requests."""

from dataclasses import dataclass
from typing import Self

from advchunk.errors import is_number, require


@dataclass(frozen=True, slots=True)
class Estimate:
    """The requests of a call, without those whose answers are in the cache.

    Parameters
    ----------
    requests : number of requests.
    prompt_tokens : tokens of all prompts.
    prefix_tokens : of these, the tokens with which an earlier prompt of the same document begins, too. Endpoints with a
        prefix cache process them once, and many charge less for them; some only if the prefix is long, such as 1,024
        tokens.
    completion_tokens : maximum tokens of all answers.

    >>> Estimate(10, 9_000, 3_600, 2_000).cost(0.5, 2.0, cached=0.05)
    0.00688
    """

    requests: int = 0
    prompt_tokens: int = 0
    prefix_tokens: int = 0
    completion_tokens: int = 0

    def __add__(self, other: Self) -> Self:
        """Return the requests and tokens of two estimates together."""
        return type(self)(*(getattr(self, name) + getattr(other, name) for name in self.__slots__))

    def cost(self, prompt: float, completion: float, *, cached: float | None = None) -> float:
        """Return the maximum cost, given the prices of a million tokens: of prompts, of answers, and of cached
        prefixes.

        None for ``cached`` is the price of prompts.
        """
        prices = (prompt, completion, prompt if cached is None else cached)
        require(all(map(is_number, prices)), "prices must be numbers >= 0", prices)
        tokens = (self.prompt_tokens - self.prefix_tokens, self.completion_tokens, self.prefix_tokens)
        return sum(price * number for price, number in zip(prices, tokens, strict=True)) / 1e6
