"""Read JSON that may be hostile or of an unexpected shape, with errors that name the path."""

from __future__ import annotations

import json
from collections.abc import Iterator
from typing import Any, NoReturn, TypeVar

from advchunk.errors import ConfigurationError
from advchunk.readers.budget import check

_MAX_NUMBER = 1e15
_SHOWN = 100  # characters of a value in an error
_T = TypeVar("_T")


class Object:
    """A JSON object. What is missing or null is empty, zero or None; a wrong value raises an error with its path."""

    __slots__ = ("_index", "_key", "_members", "_parent")

    def __init__(self, members: Any, parent: Object | None = None, key: str = "", index: int = -1) -> None:
        self._parent, self._key, self._index = parent, key, index
        if not isinstance(members, dict):
            _fail(self.path or "the root", "an object", members)
        self._members: dict[str, Any] = members

    @property
    def path(self) -> str:
        """Path from the root, whose own path is ""."""
        key = self._key if self._index < 0 else f"{self._key}[{self._index}]"
        return self._parent.at(key) if self._parent is not None else key

    def __iter__(self) -> Iterator[str]:
        return iter(self._members)

    def at(self, key: str) -> str:
        """Return the path of a member."""
        path = self.path
        return f"{path}.{key}" if path else key

    def _get(self, key: str, types: type[_T] | tuple[type[_T], ...], name: str) -> _T | None:
        value = self._members.get(key)
        if value is not None and (not isinstance(value, types) or (isinstance(value, bool) and types is not bool)):
            _fail(self.at(key), name, value)
        return value

    def text(self, key: str) -> str:
        """Return a string, or ""."""
        return self._get(key, str, "a string") or ""

    def lines(self, key: str) -> str:
        """Return a string, which may be written as a list of its lines."""
        return "".join(self.texts(key)) if isinstance(self._members.get(key), list) else self.text(key)

    def name(self, key: str) -> str:
        """Return a string, or an integer converted to a string, or ""."""
        value = self._get(key, (str, int), "a string or an integer")
        return "" if value is None else str(value)

    def flag(self, key: str) -> bool:
        """Return a boolean, or False."""
        return self._get(key, bool, "true or false") or False

    def integer(self, key: str) -> int:
        """Return an integer, or 0."""
        return self._get(key, int, "an integer") or 0

    def number(self, key: str) -> float:
        """Return a number, or 0; NaN and numbers beyond 1e15 are errors."""
        value = self._get(key, (int, float), "a number") or 0
        if not -_MAX_NUMBER <= value <= _MAX_NUMBER:
            _fail(self.at(key), "a number", str(value))
        return float(value)

    def object(self, key: str) -> Object | None:
        """Return an object, or None."""
        value = self._get(key, dict, "an object")
        return None if value is None else Object(value, self, key)

    def objects(self, key: str) -> list[Object]:
        """Return a list of objects."""
        return [Object(value, self, key, i) for i, value in enumerate(self.values(key))]

    def values(self, key: str) -> list[Any]:
        """Return a list of values of any type."""
        return self._get(key, list, "a list") or []

    def numbers(self, key: str) -> list[float]:
        """Return a list of numbers, with nested lists flattened; NaN and numbers beyond 1e15 are errors."""
        numbers, stack = list[float](), self.values(key)[::-1]
        while stack:
            value = stack.pop()
            if isinstance(value, list):
                stack += value[::-1]
            elif isinstance(value, (int, float)) and -_MAX_NUMBER <= value <= _MAX_NUMBER:
                numbers.append(float(value))
            else:
                _fail(self.at(key), "a list of numbers", value)
        return numbers

    def texts(self, key: str) -> list[str]:
        """Return a list of strings."""
        values = self.values(key)
        if not all(isinstance(value, str) for value in values):
            _fail(self.at(key), "a list of strings", values)
        return values


def _fail(path: str, name: str, value: object) -> NoReturn:
    shown = "an object" if isinstance(value, dict) else "a list" if isinstance(value, list) else repr(value)
    msg = f"{path} must be {name}, got {shown if len(shown) <= _SHOWN else shown[:_SHOWN] + '...'}"
    raise ConfigurationError(msg) from None


def parse_json(text: str, key: str = "") -> Object:
    r"""Parse a JSON text, which must be an object, or with a ``key`` may be a list, which then is the value of that.

    >>> parse_json('{"a": 1').integer("a")
    Traceback (most recent call last):
    advchunk.errors.ConfigurationError: JSON must be well-formed: Expecting ',' delimiter, at line 1, column 8
    """
    value = load_json(text)
    return Object({key: value} if key and isinstance(value, list) else value)


def load_json(text: str) -> Any:
    """Return the value of a JSON text, not nested deeper than Python's stack, within the `budget`."""
    values = text.count(",") + text.count("[") + text.count("{")  # an upper bound, because some are within strings
    check("values", values, "JSON must have")
    try:
        return json.loads(text.removeprefix("\ufeff"))
    except json.JSONDecodeError as error:
        msg = f"JSON must be well-formed: {error.msg}, at line {error.lineno}, column {error.colno}"
    except RecursionError:
        msg = "JSON must not be nested so deeply"
    except ValueError as error:  # an integer of thousands of digits
        msg = f"JSON must be well-formed: {error}"
    raise ConfigurationError(msg)
