"""Find the documents whose workers die, so that they are not tried for ever."""

import hashlib
from collections import Counter
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any, Protocol

from advchunk.errors import import_extra
from advchunk.records import Document
from advchunk.tables.batches import Refused


class Journal(Protocol):
    """Keeps what was started and not ended, where the death of a worker does not reach it."""

    def start(self, key: str) -> int:
        """Note a start; return how often the key was started before without an end."""

    def end(self, key: str) -> None:
        """Forget the starts of a key."""


@dataclass(frozen=True)
class FileJournal:
    """A journal in a folder of one machine."""

    folder: Path

    def start(self, key: str) -> int:
        """Note a start in a file."""
        path = self._path(key)
        before = len(path.read_bytes()) if path.exists() else 0
        with path.open("ab") as file:
            file.write(b".")
        return before

    def end(self, key: str) -> None:
        """Delete the file."""
        self._path(key).unlink()

    def _path(self, key: str) -> Path:
        return self.folder / hashlib.sha256(key.encode()).hexdigest()


@dataclass(frozen=True)
class _ActorJournal:
    """A journal in an actor of Ray."""

    actor: Any

    def start(self, key: str) -> int:
        return int(import_extra("ray", "ray").get(self.actor.start.remote(key)))

    def end(self, key: str) -> None:
        import_extra("ray", "ray").get(self.actor.end.remote(key))


class _Starts:
    """The actor."""

    def __init__(self) -> None:
        self._starts: Counter[str] = Counter()

    def start(self, key: str) -> int:
        self._starts[key] += 1
        return self._starts[key] - 1

    def end(self, key: str) -> None:
        del self._starts[key]


def ray_journal() -> Journal:
    """Return a new journal on the cluster that Ray is connected to."""
    ray = import_extra("ray", "ray")
    return _ActorJournal(ray.remote(_Starts).options(num_cpus=0).remote())


def survive(
    documents: Sequence[Document | Refused],
    chunk: Callable[[Sequence[Document | Refused]], Iterator[Any]],
    journal: Journal,
    key: str,
    deaths: int,
) -> Iterator[Any]:
    """Yield the batches of ``chunk(documents)``, with an error row for each document that kills its worker.

    The documents are chunked together. After ``deaths`` deaths they are chunked one by one, and the one at which the worker
    dies again gets an error row at the next try. Whoever runs this must start it again after a death.

    Parameters
    ----------
    key : names the documents in the journal.
    """
    if journal.start(key) < deaths:
        yield from chunk(documents)
    else:
        for number, document in enumerate(documents):
            own_key = f"{key}/{number}"
            if journal.start(own_key):
                yield from chunk([Refused(document.id, f"its worker died {deaths + 1} times")])
            else:
                yield from chunk([document])
                journal.end(own_key)
    journal.end(key)
