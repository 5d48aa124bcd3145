"""Batches of texts of similar length: a model pads the texts of a batch to its longest, and padding costs time."""

from collections.abc import Callable, Sequence
from itertools import pairwise
from typing import Any, TypeVar

import numpy as np

from advchunk.records import Floats, Ints

_T = TypeVar("_T")

BUDGET = 1024  # tokens with padding; on a processor, larger batches only add padding (benchmarks/MODELS.md)


def token_batches(tokens: Ints, budget: int = BUDGET) -> list[Ints]:
    """Return the indices of texts of the given (n,) numbers of tokens in batches, longest first.

    A batch has at most ``budget`` tokens after padding, or a single text.

    >>> [batch.tolist() for batch in token_batches(np.array([2, 9, 5, 4]), 10)]
    [[1], [2, 3], [0]]
    """
    order = np.argsort(-tokens, kind="stable")
    edges = [0]
    while edges[-1] < len(order):
        edges.append(edges[-1] + max(budget // max(int(tokens[order[edges[-1]]]), 1), 1))
    return [order[start:end] for start, end in pairwise(edges)]


def embed_in_batches(embed: Callable[[list[_T]], Any], texts: Sequence[_T], tokens: Ints) -> Floats:
    """Embed n texts of the given (n,) numbers of tokens in `token_batches`; return their (n, d) rows in order."""
    if not len(texts):
        return np.empty((0, 0), dtype=np.float32)
    batches = token_batches(tokens)
    rows = [np.asarray(embed([texts[i] for i in batch])) for batch in batches]
    return np.concatenate(rows)[np.argsort(np.concatenate(batches))]
