"""The chunks of an edited document, compared with those from before by their ids."""

from collections.abc import Sequence
from typing import NamedTuple

from advchunk.errors import require
from advchunk.records import Chunk


class Rechunked(NamedTuple):
    """The chunks of an edited document, and the ids that were kept, added, and removed, in the order of the chunks."""

    chunks: list[Chunk]
    kept: tuple[str, ...]
    added: tuple[str, ...]
    removed: tuple[str, ...]


def compare_chunks(old: Sequence[Chunk], new: Sequence[Chunk]) -> Rechunked:
    """Return new chunks, and which ids they share with old ones."""
    require(all(isinstance(chunk, Chunk) for chunk in old), "old_chunks must be Chunks", old)
    before, after = ({chunk.id for chunk in chunks} for chunks in (old, new))
    return Rechunked(
        list(new),
        kept=tuple(chunk.id for chunk in new if chunk.id in before),
        added=tuple(chunk.id for chunk in new if chunk.id not in before),
        removed=tuple(chunk.id for chunk in old if chunk.id not in after),
    )
