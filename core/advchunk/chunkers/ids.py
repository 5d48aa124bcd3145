"""Name chunks by what they say, so that an edit renames what it changes and nothing else."""

from __future__ import annotations

import json
from collections import Counter
from collections.abc import Sequence
from dataclasses import replace
from uuid import NAMESPACE_DNS, uuid5

from advchunk.records import Chunk

_NAMESPACE = uuid5(NAMESPACE_DNS, "advchunk")


class IdGenerator:
    """Give ids that are unique within its lifetime (one call) and the same in every other.

    An id is uuid5 of (source, level, text, occurrence among equals): no offset, no index.

    >>> [chunk.id[:8] for chunk in IdGenerator().name("", [Chunk("a", (), 1), Chunk("a", (), 1)])]
    ['23505280', '1d2761df']
    """

    def __init__(self) -> None:
        self._seen: Counter[tuple[str, int, str]] = Counter()

    def name(self, source: str, chunks: Sequence[Chunk]) -> list[Chunk]:
        """Return the chunks of one document with ``index`` and ``id`` set."""
        named = []
        for index, chunk in enumerate(chunks):
            key = (source, chunk.level, chunk.text or chunk.context)
            # JSON escapes what UTF-8 cannot say (lone surrogates), so every str has an id.
            named.append(replace(chunk, index=index, id=str(uuid5(_NAMESPACE, json.dumps([*key, self._seen[key]])))))
            self._seen[key] += 1
        return named
