"""Embeddings of texts that may exceed the embedder's limit."""

from collections.abc import Sequence
from typing import Any

import numpy as np

from advchunk.building import sizes
from advchunk.building.sizes import Limits
from advchunk.engine import Embed, Plan
from advchunk.models import signals
from advchunk.models.embedders import CheckedEmbedder
from advchunk.records import Floats, Units


def embed_long_texts(texts: Sequence[str], embedder: CheckedEmbedder, model: Any = None) -> Plan[Floats]:
    """Embed n texts with ``model``, by default the embedder itself; return (n, d) unit rows. A text over the embedder's
    limit, which most would silently truncate, is the mean of its parts, weighted by tokens.
    """
    model = model or embedder
    limits = Limits(embedder.max_tokens or 1, 0, 0, embedder.counter)
    tokens = limits.counter.counts(texts) if embedder.max_tokens else np.zeros(len(texts), dtype=np.int64)
    if tokens.max(initial=0) <= limits.max_tokens:
        whole: Floats = yield Embed(tuple(texts), model)
        return whole
    whole_texts = (Units(text, np.array([0, len(text)]), tokens[i : i + 1]) for i, text in enumerate(texts))
    split = [sizes.fit(units, limits) for units in whole_texts]
    rows: Floats = yield Embed(tuple(part for units in split for part in units.strings()), model)
    weights = np.concatenate([units.token_counts() for units in split]).astype(rows.dtype)
    first = np.cumsum([0, *(len(units) for units in split[:-1])])
    return signals.unit_rows(np.add.reduceat(rows * np.maximum(weights, 1)[:, None], first))
