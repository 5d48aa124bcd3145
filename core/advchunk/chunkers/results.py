"""What comes of chunking many documents: results, failures, progress."""

from __future__ import annotations

import logging
from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass
from typing import Any, Literal, TypeAlias

from advchunk.errors import require
from advchunk.records import Chunk

_log = logging.getLogger("advchunk")


@dataclass(frozen=True, slots=True)
class Failure:
    """A document that could not be chunked: its place in the call, its id or source, and why."""

    index: int
    source: str
    error: Exception


OnFailure: TypeAlias = Callable[[Failure], None]
OnError: TypeAlias = Literal["raise", "skip"] | OnFailure
Progress: TypeAlias = bool | Callable[[int], None] | None


class Results(list[list[Chunk]]):
    """The chunks of each document, in order; a document that failed has none.

    ``failures`` lists those, if they were to be collected.
    """

    def __init__(self, found: Iterable[list[Chunk]] = ()) -> None:
        super().__init__(found)
        self.failures: list[Failure] = []

    def handler(self, on_error: OnError | Literal["collect"]) -> OnError:
        """Return ``on_error``, where "collect" is to add to ``failures``."""
        return self.failures.append if on_error == "collect" else on_error


def error_handler(on_error: OnError) -> OnFailure:
    """Return what is done about a document that fails.

    Raises
    ------
    ConfigurationError : neither "raise", nor "skip", nor a callable.
    """
    if on_error == "raise":
        return _raise
    if on_error == "skip":
        return _skip
    require(callable(on_error), "on_error must be 'raise', 'skip' or a callable that is given each Failure", on_error)
    return on_error


def _raise(failure: Failure) -> None:
    failure.error.add_note(f"in document {failure.index} ({failure.source!r})")
    raise failure.error


def _skip(failure: Failure) -> None:
    _log.warning(
        "document %d (%r) skipped: %s: %s", failure.index, failure.source, type(failure.error).__name__, failure.error
    )


class ProgressReporter:
    """Tells a callback, or a bar, how many documents, or what else there is, are done."""

    def __init__(self, progress: Progress, documents: Iterable[Any], unit: str = "doc") -> None:
        self._done, self._bar, self._call = 0, None, progress if callable(progress) else None
        if progress is True:
            from tqdm.auto import tqdm

            self._bar = tqdm(total=len(documents) if isinstance(documents, Sequence) else None, unit=unit)

    def __enter__(self) -> ProgressReporter:
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
