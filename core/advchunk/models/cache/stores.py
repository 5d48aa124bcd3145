"""What keeps answers: bytes by name."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, MutableMapping, Sequence
from dataclasses import dataclass, field
from typing import Protocol

_MOST_KEYS = 500  # of one SQL statement; SQLite's own limit is 999 or more


class Store(Protocol):
    """Bytes by name; keys and values are immutable. One that cannot be reached raises `OSError`."""

    def get_many(self, keys: list[str], /) -> Mapping[str, bytes]:
        """Return the values that are there."""
        ...

    def set_many(self, values: dict[str, bytes], /) -> None:
        """Keep values."""
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
        """Return the values that are there."""
        return {key: self.values[key] for key in keys if key in self.values}

    def set_many(self, values: Mapping[str, bytes]) -> None:
        """Keep values."""
        self.values.update(values)


def groups(keys: Sequence[str]) -> Iterable[list[str]]:
    """Return keys by as many as go into one call."""
    return (list(keys[i : i + _MOST_KEYS]) for i in range(0, len(keys), _MOST_KEYS))
