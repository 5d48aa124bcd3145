"""The built-in default embedder: a table of token vectors, in numpy, and in scipy once there is much to embed.

A text's vector is the scaled sum of its tokens' vectors, distilled from all-MiniLM-L6-v2 (assets/MODEL_CARD.md).
"""

from collections.abc import Callable, Sequence
from functools import cache
from importlib.resources import files
from itertools import pairwise
from threading import Lock

import numpy as np
from numpy.typing import NDArray

from advchunk.models.wordpiece import WordPiece, default_wordpiece
from advchunk.records import Floats, Ints

BLOCK = 8192  # tokens gathered at once: 8 MB
MANY = 2**20  # tokens from which on it pays to load scipy
_LOADING = Lock()
_shared_table = list[NDArray[np.float32]]()  # of another process


class StaticEmbedder:
    """Embed texts as bags of tokens: about 75,000 sentences per second, English in practice.

    A row depends only on its own text, to the last bit. The (n, d) float32 table has zeros for tokens without meaning.

    >>> vectors = default_embedder().embed(["A cat slept.", "The kitten was asleep.", "Taxes rose."])
    >>> vectors.shape
    (3, 256)
    >>> bool(vectors[0] @ vectors[1] > vectors[0] @ vectors[2])
    True
    """

    model_name = "advchunk/minilm-static-256-v2"
    batch_size = 8192
    languages = frozenset({"en"})

    def __init__(self, tokenizer: WordPiece, table: NDArray[np.float32]) -> None:
        self.tokenizer, self.table = tokenizer, table
        self._n_embedded = 0

    def __reduce__(self) -> "tuple[Callable[..., StaticEmbedder], tuple[object, ...]]":
        return (default_embedder, ()) if self is default_embedder() else (StaticEmbedder, (self.tokenizer, self.table))

    def embed(self, texts: Sequence[str]) -> Floats:
        """Return (n, d) unit rows in float32; zeros for a text without a known word."""
        ids, bounds = self.tokenizer.encode_many(texts)
        self._n_embedded += len(ids)
        rows = self._sums(ids, bounds) if self._n_embedded < MANY else self._product(ids, bounds)
        norms = np.sqrt(np.square(rows).sum(1, keepdims=True))
        np.divide(rows, norms, out=rows, where=norms > 0)
        return rows

    def _sums(self, ids: Ints, bounds: Ints) -> Floats:
        """Return the sums of the vectors of n texts' tokens, (n, d), added one by one."""
        rows = np.zeros((len(bounds) - 1, self.table.shape[1]), np.float32)
        longest = min(BLOCK, int(np.diff(bounds).max(initial=0)))
        block = np.empty((1 + longest, self.table.shape[1]), np.float32)
        for row, (start, end) in zip(rows, pairwise(bounds.tolist()), strict=True):
            for at in range(start, end, BLOCK):
                block[0] = row  # numpy then adds the tokens in the same order as without blocks
                part = ids[at : min(at + BLOCK, end)]
                self.table.take(part, 0, out=block[1 : 1 + len(part)], mode="clip")  # "raise" would buffer
                np.add.reduce(block[: 1 + len(part)], 0, out=row)
        return rows

    def _product(self, ids: Ints, bounds: Ints) -> Floats:
        """Return `_sums` to the last bit, three times as fast."""
        from scipy.sparse import csr_array

        shape = len(bounds) - 1, len(self.table)
        return np.asarray(csr_array((np.ones(len(ids), np.float32), ids, bounds), shape=shape) @ self.table)


def default_embedder() -> StaticEmbedder:
    """Return the built-in model, loaded once per process."""
    with _LOADING:
        return _load()


def loaded_table() -> NDArray[np.float32] | None:
    """Return the table of the built-in model, None if this process has not loaded it."""
    return _load().table if _load.cache_info().currsize else None


def use_table(table: NDArray[np.float32]) -> None:
    """Give the built-in model the table that another process has loaded, before it loads its own."""
    _shared_table[:] = [table]


@cache
def _load() -> StaticEmbedder:
    return StaticEmbedder(default_wordpiece(), _shared_table[0] if _shared_table else _read_table())


def _read_table() -> NDArray[np.float32]:
    path = files("advchunk.models") / "assets" / "minilm_static_256.npz"
    with path.open("rb") as file, np.load(file, allow_pickle=False) as asset:
        scales = asset["s"].astype(np.float32)[:, None]
        table: NDArray[np.float32] = np.multiply(asset["q"], scales, dtype=np.float32)
        return table
