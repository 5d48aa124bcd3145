"""What comes of chunking many documents: results, failures, progress."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass
from typing import Any, Literal, TypeAlias

from advchunk.records import Chunk


@dataclass(frozen=True, slots=True)
class Failure:
    """A document that could not be chunked: its place in the call, its id or source, and why."""

    index: int
    source: str
    error: Exception


OnError: TypeAlias = Literal["raise", "skip", "collect"] | Callable[[Failure], None]
Progress: TypeAlias = bool | Callable[[int], None] | None


class Results(list[list[Chunk]]):
    """The chunks of each document, in order; a document that failed has none.

    ``failures`` lists those, if they were to be collected.
    """

    failures: list[Failure]


class Ticker:
    """Tells a callback, or a bar, how many documents are done."""

    def __init__(self, progress: Progress, documents: Iterable[Any]) -> None:
        self._done, self._bar, self._call = 0, None, progress if callable(progress) else None
        if progress is True:
            from tqdm.auto import tqdm

            self._bar = tqdm(total=len(documents) if isinstance(documents, Sequence) else None, unit="doc")

    def __enter__(self) -> Ticker:
        return self

    def __exit__(self, *_: object) -> None:
        if self._bar is not None:
            self._bar.close()

    def __call__(self, chunks: list[Chunk]) -> list[Chunk]:
        """Count a document, and hand on its chunks."""
        self._done += 1
        if self._bar is not None:
            self._bar.update()
        if self._call is not None:
            self._call(self._done)
        return chunks
