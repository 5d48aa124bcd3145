"""Read JSON that may be hostile, or of another shape than expected: an error names the place."""

from __future__ import annotations

import json
from collections.abc import Iterator
from typing import Any, NoReturn, TypeVar

from advchunk.errors import ConfigurationError, require

MOST = 2_000_000
"""Values of a text; real documents have one for every 30 characters or more."""

_FARTHEST = 1e15
_LONG = 100  # characters of a text, in an error
_T = TypeVar("_T")


class Object:
    """An object of a JSON text, or what stands for one in memory, and its path there.

    What it has under a key is checked when it is asked for; what is missing or null is empty, zero or None.

    Parameters
    ----------
    members : by name; anything else than a dict is refused.
    within, key, index : the object it is a member of, as which, and its place in a list.

    Raises
    ------
    ConfigurationError : by every method, a value of another type; with its path.

    >>> page = Object({"size": {"height": 792.0}, "labels": [{"text": 7}]})
    >>> page.object("size").number("height"), page.object("image"), page.text("name")
    (792.0, None, '')
    >>> page.objects("labels")[0].text("text")
    Traceback (most recent call last):
    advchunk.errors.ConfigurationError: labels[0].text must be a text, got 7
    """

    __slots__ = ("_index", "_key", "_members", "_within")

    def __init__(self, members: Any, within: Object | None = None, key: str = "", index: int = -1) -> None:
        self._within, self._key, self._index = within, key, index
        if not isinstance(members, dict):
            self._members = dict[str, Any]()
            _refuse(self.path or "the whole", "an object", members)
        self._members = members

    @property
    def path(self) -> str:
        """Where it stands; "" is the whole."""
        key = self._key if self._index < 0 else f"{self._key}[{self._index}]"
        return self._within.at(key) if self._within else key

    def __iter__(self) -> Iterator[str]:
        return iter(self._members)

    def __len__(self) -> int:
        return len(self._members)

    def __bool__(self) -> bool:
        return True

    def at(self, key: str) -> str:
        """Return the path of a member."""
        path = self.path
        return f"{path}.{key}" if path else key

    def _get(self, key: str, kind: type[_T] | tuple[type[_T], ...], what: str) -> _T | None:
        value = self._members.get(key)
        if value is None:
            return None
        if not isinstance(value, kind) or (isinstance(value, bool) and kind is not bool):
            _refuse(self.at(key), what, value)
        return value

    def text(self, key: str) -> str:
        """Return a text; "" without one."""
        return self._get(key, str, "a text") or ""

    def name(self, key: str) -> str:
        """Return a text, or a whole number as one; "" without either."""
        value = self._get(key, (str, int), "a text or a whole number")
        return "" if value is None else str(value)

    def flag(self, key: str) -> bool:
        """Return a truth value; false without one."""
        return self._get(key, bool, "true or false") or False

    def whole(self, key: str) -> int:
        """Return a whole number; 0 without one."""
        return self._get(key, int, "a whole number") or 0

    def number(self, key: str) -> float:
        """Return a number; 0 without one. NaN, and what is too large to be meant, is refused."""
        value = self._get(key, (int, float), "a number") or 0
        if not -_FARTHEST <= value <= _FARTHEST:
            _refuse(self.at(key), "a number", str(value))
        return float(value)

    def object(self, key: str) -> Object | None:
        """Return an object; None without one."""
        value = self._get(key, dict, "an object")
        return None if value is None else Object(value, self, key)

    def objects(self, key: str) -> list[Object]:
        """Return the objects of a list; none without one."""
        value = self._get(key, list, "a list")
        return [Object(each, self, key, i) for i, each in enumerate(value)] if value else []

    def values(self, key: str) -> list[Any]:
        """Return what is in a list, whatever it is; none without one."""
        return self._get(key, list, "a list") or []

    def texts(self, key: str) -> list[str]:
        """Return the texts of a list; none without one."""
        value = self._get(key, list, "a list") or []
        if not all(isinstance(each, str) for each in value):
            _refuse(self.at(key), "a list of texts", value)
        return value


def _refuse(path: str, what: str, value: object) -> NoReturn:
    named = "an object" if isinstance(value, dict) else "a list" if isinstance(value, list) else repr(value)
    msg = f"{path} must be {what}, got {named if len(named) <= _LONG else named[:_LONG] + '...'}"
    raise ConfigurationError(msg) from None


def parse(text: str) -> Object:
    r"""Parse a JSON text, which must be an object.

    Raises
    ------
    ConfigurationError : a text that is not JSON, with line and column; that is nested deeper than the stack of this
        process; that has more than `MOST` values; or that is no object.

    >>> parse('{"a": 1').whole("a")
    Traceback (most recent call last):
    advchunk.errors.ConfigurationError: JSON must be well-formed: Expecting ',' delimiter, at line 1, column 8
    """
    values = text.count(",") + text.count("[") + text.count("{")  # at most: some of them are within strings
    require(values <= MOST, f"JSON must have at most {MOST:,} values", values)
    try:
        return Object(json.loads(text.removeprefix("\ufeff")))
    except json.JSONDecodeError as error:
        msg = f"JSON must be well-formed: {error.msg}, at line {error.lineno}, column {error.colno}"
        raise ConfigurationError(msg) from None
    except RecursionError:
        msg = "JSON must not be nested so deep"
        raise ConfigurationError(msg) from None
    except ValueError as error:  # a whole number of thousands of digits
        if isinstance(error, ConfigurationError):
            raise
        msg = f"JSON must be well-formed: {error}"
        raise ConfigurationError(msg) from None
