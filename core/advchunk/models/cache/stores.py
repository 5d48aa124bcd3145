"""Stores: bytes by key."""

from collections.abc import Iterator, Mapping, MutableMapping, Sequence
from dataclasses import dataclass, field
from typing import Protocol

_MAX_KEYS = 500  # per SQL statement; SQLite's own limit is 999 or more


class Store(Protocol):
    """Bytes by key, both immutable. A store that cannot be reached raises `OSError`."""

    def get_many(self, keys: list[str], /) -> Mapping[str, bytes]:
        """Return the stored values."""
        ...

    def set_many(self, values: dict[str, bytes], /) -> None:
        """Store values."""
        ...


@dataclass(frozen=True, slots=True, eq=False, weakref_slot=True)
class DictStore:
    """A store in a dictionary, for one process."""

    values: MutableMapping[str, bytes] = field(repr=False)

    def __eq__(self, other: object) -> bool:
        return isinstance(other, DictStore) and self.values is other.values

    def __hash__(self) -> int:
        return id(self.values)

    def get_many(self, keys: Sequence[str]) -> dict[str, bytes]:
        """Return the stored values."""
        return {key: self.values[key] for key in keys if key in self.values}

    def set_many(self, values: Mapping[str, bytes]) -> None:
        """Store values."""
        self.values.update(values)


def batches(keys: Sequence[str]) -> Iterator[list[str]]:
    """Yield keys in lists of at most 500."""
    return (list(keys[i : i + _MAX_KEYS]) for i in range(0, len(keys), _MAX_KEYS))
