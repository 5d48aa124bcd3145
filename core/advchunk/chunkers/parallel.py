"""Chunk the documents of a call in several processes, with the results of one."""

import pickle
from collections import deque
from collections.abc import Iterable, Iterator, Sequence
from contextlib import closing
from dataclasses import dataclass, field, fields, replace
from functools import partial
from typing import Any, NamedTuple, TypeAlias

from advchunk.building.ids import IdGenerator
from advchunk.chunkers.explanations import Explanation
from advchunk.engine import drive
from advchunk.engine.runner import Failure, OnError, ProgressReporter, Runner, error_handler
from advchunk.engine.workers import portable, run_in_processes
from advchunk.errors import ConfigurationError, first_line
from advchunk.models import static
from advchunk.records import Chunk, Document

_Input: TypeAlias = str | Document


class Outcome(NamedTuple):
    """The result of a document: its name, and its chunks, with ids as if it were alone, or its failure."""

    source: str
    chunks: list[Chunk]
    failure: Failure | None = None


def chunk_batch(chunker: Any, documents: Sequence[tuple[int, _Input]]) -> list[Outcome]:
    """Return self-contained outcomes; ``chunker`` must be loaded, and not corpus-level (`Chunker.is_corpus_level`)."""
    failures, outcomes = list[Failure](), list[Outcome]()
    jobs = (chunker.job(i, document, failures.append) for i, document in documents)
    for (i, _), explanation in zip(documents, drive(jobs), strict=True):
        failure = next((replace(f, error=portable(f.error)) for f in failures if f.index == i), None)
        outcomes.append(Outcome(explanation.document.source, explanation.chunks, failure))
    return outcomes


@dataclass(frozen=True, slots=True)
class ParallelRunner(Runner[_Input, Explanation]):
    """A `Runner` of documents in ``workers`` >= 2 other processes."""

    chunker: Any = field(kw_only=True)
    workers: int = field(kw_only=True)

    def stream(
        self, items: Iterable[_Input], on_error: OnError, progress: ProgressReporter | None = None
    ) -> Iterator[list[Chunk]]:
        """Yield the chunks of each document, in order."""
        _check_picklable(self.chunker)
        return self._run(items, error_handler(on_error), progress)

    def _run(self, items: Iterable[_Input], handle: Any, progress: ProgressReporter | None) -> Iterator[list[Chunk]]:
        ids, names = IdGenerator(), deque[str]()

        def read() -> Iterator[tuple[int, _Input]]:
            for numbered in enumerate(items):
                names.append(numbered[1].source if isinstance(numbered[1], Document) else "")
                yield numbered

        process = partial(chunk_batch, self.chunker)
        prepare = share_models(self.chunker)
        with closing(run_in_processes(process, read(), self.workers, _size, prepare)) as results:
            for index, result in enumerate(results):
                name = names.popleft()
                outcome = result if isinstance(result, Outcome) else Outcome(name, [], Failure(index, name, result))
                if outcome.failure is not None:
                    handle(outcome.failure)
                if progress is not None:
                    progress.update()
                yield ids.accept(outcome.source, outcome.chunks)


def share_models(chunker: Any) -> partial[None]:
    """Return a function that prepares another process for a chunker, with the built-in model mapped."""
    return partial(_prepare, chunker, static.loaded_table())


def _prepare(chunker: Any, table: Any) -> None:
    if table is not None:
        static.use_table(table)
    chunker.load()


def _size(numbered: tuple[int, _Input]) -> int:
    text = getattr(numbered[1], "text", numbered[1])
    return len(text) if isinstance(text, str) else 0  # anything but a document fails when it is chunked


def _check_picklable(chunker: Any) -> None:
    named = [(f.name, getattr(chunker, f.name)) for f in fields(chunker)]
    for name, value in [*named, ("the chunker", chunker)]:
        try:
            pickle.dumps(value, 5, buffer_callback=lambda _: None)
        except (pickle.PicklingError, TypeError, AttributeError, ValueError, RuntimeError) as error:
            msg = f"{name} must be picklable to be used with workers ({first_line(error)}), got {type(value).__name__}"
            raise ConfigurationError(msg) from error
