"""Computations in phases, each of which needs the results of all jobs of the one before."""

from collections.abc import AsyncIterator, Callable, Generator, Iterable, Iterator
from dataclasses import dataclass, field
from typing import Any, Generic, TypeAlias, TypeVar

from advchunk.engine import Job, adrive, drive
from advchunk.engine.runner import OnError, ProgressReporter, Runner, error_handler
from advchunk.records import Chunk

_Item = TypeVar("_Item")
_R = TypeVar("_R")
_T = TypeVar("_T")


Phases: TypeAlias = Generator[Iterable[Job[Any]], list[Any], _R]
"""A generator that yields jobs, to be run together, receives the list of their results, and returns a result."""


def run_phases(phases: Phases[_R]) -> _R:
    """Run the jobs of each phase, and return the result."""
    results: Any = None
    while True:
        try:
            jobs = phases.send(results)
        except StopIteration as stop:
            result: _R = stop.value
            return result
        results = list(drive(jobs))


async def arun_phases(phases: Phases[_R], concurrency: int | None = None) -> _R:
    """Await `run_phases`."""
    results: Any = None
    while True:
        try:
            jobs = phases.send(results)
        except StopIteration as stop:
            result: _R = stop.value
            return result
        results = [item async for item in adrive(jobs, concurrency)]


@dataclass(frozen=True, slots=True)
class PhasedRunner(Runner[_Item, _T], Generic[_Item, _T]):
    """A `Runner` that returns nothing before all of its jobs are done."""

    # phases from the results of all jobs to the chunks of all documents
    finish: Callable[[list[_T]], Phases[list[list[Chunk]]]] = field(kw_only=True)

    def stream(
        self, items: Iterable[_Item], on_error: OnError, progress: ProgressReporter | None = None
    ) -> Iterator[list[Chunk]]:
        """Yield the chunks of each document once those of all are known."""
        yield from run_phases(self._phases(items, on_error, progress))

    async def astream(
        self,
        items: Iterable[_Item],
        on_error: OnError,
        concurrency: int | None,
        progress: ProgressReporter | None = None,
    ) -> AsyncIterator[list[Chunk]]:
        """Await `stream`."""
        for chunks in await arun_phases(self._phases(items, on_error, progress), concurrency):
            yield chunks

    def _phases(
        self, items: Iterable[_Item], on_error: OnError, progress: ProgressReporter | None
    ) -> Phases[list[list[Chunk]]]:
        results = yield self.jobs(items, error_handler(on_error))
        if progress is not None:
            for _ in results:
                progress.update()
        return (yield from self.finish(results))
