"""The exceptions of the package, functions that raise them, and the mask of secrets in all that is shown."""

from __future__ import annotations

import logging
import os
import re
import sys
from collections.abc import Callable, Collection, Hashable, Iterable, Mapping, Sequence, Set, Sized
from contextlib import suppress
from functools import cache, wraps
from importlib import import_module
from inspect import Parameter, signature
from numbers import Integral, Real
from pathlib import Path
from types import SimpleNamespace, UnionType
from typing import Any, Literal, ParamSpec, TypeGuard, TypeVar, Union, get_args, get_origin, get_type_hints

SECRET_NAME = (
    r"(?:api|access|secret|private|account)[-_]?key|(?:access|auth|api)[-_]token|passw(?:or)?d|secret|authorization"
)
_MIN_SECRET = 8  # characters; a shorter one may be a common word, which is not masked
_known_secrets: set[str] = set()
_RULES = {  # compiled when first needed
    # The user of an address, and a parameter.
    r"(?<=\w\w:/)(/?)(?:[^\s'\"<>]{0,200}:[^\s'\"<>]{0,200}|[^\s/'\"<>]{1,200})@": r"\1***@",
    rf"([?&#](?:[\w-]{{0,40}}[-_])?(?:key|token|sig|signature|auth|jwt|pwd|{SECRET_NAME})=)[^\s&'\"<>]+": r"\1***",
    # The value of a field that has such a name, and what looks like a key.
    rf"((?:{SECRET_NAME})[\"']?\s{{0,2}}[:=]\s{{0,2}}[\"']?(?:bearer |basic |token )?)[^\s\"'&,;)}}\]]{{4,}}": r"\1***",
    r"(\b(?:bearer |cookie: ))[\w.~+/=-]{8,}": r"\1***",
    r"\b(?:sk|hf|gh[ops]|xox[abp])[-_](?=[\w-]*\d)[\w-]{12,}": "***",
    r"(?<![A-Za-z\d])(?-i:A[KS]IA[A-Z2-7]{16})(?![A-Za-z\d])": "***",
}


def hide(secret: str) -> None:
    """Mask a text wherever it is shown from now on, such as a key that was read from the environment."""
    if len(secret) >= _MIN_SECRET:
        _known_secrets.add(secret)


def mask_known(text: str) -> str:
    """Return a text without what `hide` was given."""
    for secret in sorted(_known_secrets, key=len, reverse=True):
        text = text.replace(secret, "***")
    return text


def mask(text: str) -> str:
    """Return a text without secrets, as every error, log, and saved name is.

    >>> mask("no answer from redis://me:pass@host/0?api_key=abc&db=1, api_key='hunter2'")
    "no answer from redis://***@host/0?api_key=***&db=1, api_key='***'"
    """
    text = mask_known(text)
    for pattern, replacement in _RULES.items():
        text = re.sub(pattern, replacement, text, flags=re.IGNORECASE)
    return text


def _mask_record(record: logging.LogRecord) -> bool:
    message = record.getMessage()
    if (masked := mask(message)) != message:
        record.msg, record.args = masked, None
    return True


logging.getLogger("advchunk").addFilter(_mask_record)


class _MaskedError(Exception):
    """An exception whose message has no secrets."""

    def __init__(self, *args: object) -> None:
        super().__init__(*(mask(arg) if isinstance(arg, str) else arg for arg in args))


class ConfigurationError(_MaskedError, ValueError):
    """A parameter, a resource or an input breaks a rule; the message states the rule and the value."""


class Unreadable(ConfigurationError):  # noqa: N818
    """A document is not in the format that it is read as. No fallback is used, because it would chunk the markup."""


class InvalidSegmentation(ConfigurationError):  # noqa: N818
    """An algorithm returned a segmentation that does not fit its units; no fallback hides that."""


class MissingExtra(ImportError):  # noqa: N818 - named for what happened, like the rest of the API
    """An optional library is not installed; the message names the extra to install and any further step."""

    def __init__(self, what: str, extra: str, then: str = "") -> None:
        super().__init__(what, extra, then)  # which pickle passes on

    def __str__(self) -> str:
        what, extra, then = self.args
        return f"{what} is not installed: pip install 'advchunk[{extra}]'{then and f', then {then}'}"


class ModelUnavailable(_MaskedError, OSError):  # noqa: N818
    """A model is neither on this machine nor available from its hub, or its endpoint does not answer."""


class StoreUnavailable(_MaskedError, OSError):  # noqa: N818
    """A store of texts or chunks failed; the message names the store and the document for which it was asked."""


class BadModelOutput(_MaskedError, ValueError):  # noqa: N818
    """A model's answer is not in the requested form."""


class MissingModel(ConfigurationError):  # noqa: N818
    """A required model is missing; the message names the parameter to pass and the extra to install."""

    def __init__(self, parameter: str, takes: str, extra: str) -> None:
        super().__init__(parameter, takes, extra)

    def __str__(self) -> str:
        parameter, takes, extra = self.args
        return f"{parameter}= is missing: pass {takes} (pip install 'advchunk[{extra}]')"


class BudgetExceeded(RuntimeError):  # noqa: N818
    """A call was not made because it could have exceeded a budget."""


class NotConverged(RuntimeError):  # noqa: N818
    """An iterative algorithm did not converge."""


class WorkerDied(RuntimeError):  # noqa: N818
    """A document was given up because worker processes died while they chunked it."""


def is_integer(value: object, least: int) -> TypeGuard[int]:
    """Return True for a whole number from ``least`` to 2^63 - 1, but not for a bool."""
    return isinstance(value, int) and not isinstance(value, bool) and least <= value < _MOST_INTEGER


def is_number(value: object, least: float = 0) -> TypeGuard[float]:
    """Return True for a finite number that is at least ``least``, and no bool."""
    if not isinstance(value, Real) or isinstance(value, bool):
        return False
    try:
        return bool(least <= float(value) <= sys.float_info.max)  # as a float: the limits are no float32
    except OverflowError:
        return False


def is_many(value: object) -> TypeGuard[Iterable[Any]]:
    """Return True for what can be iterated over, but not for a text."""
    try:
        return not isinstance(value, (str, bytes, bytearray)) and iter(value) is not None  # type: ignore[call-overload]
    except Exception:  # noqa: BLE001 - a foreign value may raise anything
        return False


def is_instance(value: object) -> bool:
    """Return True unless a value is a class, passed where one of its instances is meant, as `list` is."""
    return not isinstance(value, type) or value.__module__ == "builtins"


_MOST_INTEGER = 2**63
_MAX_VALUE_LENGTH = 400  # characters of a value in a message


def show(value: object) -> str:
    """Return the `repr` of a value, or the name of its type if that fails."""
    try:
        return repr(value)
    except Exception:  # noqa: BLE001 - a foreign value may raise anything
        return f"a {type(value).__name__}"


def require(condition: bool, rule: str, value: object) -> None:
    """Raise `ConfigurationError` unless ``condition`` holds: "``rule``, got ``value``"."""
    if not condition:
        text = show(value)
        msg = f"{rule}, got {text if len(text) <= _MAX_VALUE_LENGTH else text[:_MAX_VALUE_LENGTH] + '...'}"
        raise ConfigurationError(msg)


def require_answer(condition: bool, message: str) -> None:
    """Raise `BadModelOutput` with a message unless ``condition`` holds."""
    if not condition:
        raise BadModelOutput(message)


def import_extra(module: str, extra: str) -> Any:
    """Import a module of an optional library; raise `MissingExtra` if it is not installed."""
    try:
        return import_module(module)
    except ImportError as error:
        raise MissingExtra(module.partition(".")[0], extra) from error


def check_spelling(name: str, names: Iterable[str]) -> None:
    """Raise `ConfigurationError` if a name seems a misspelling of one of ``names``, before a slow look-up at a hub.

    Existing paths, and names with a "/" as on hubs, always pass.
    """
    from difflib import get_close_matches  # rarely needed, as below

    close = get_close_matches(name.lower(), candidates := list(names), n=1, cutoff=0.8)
    if close and name not in candidates and "/" not in name and not Path(name).exists():
        msg = f"no model or tokenizer {name!r}; did you mean {close[0]!r}?"
        raise ConfigurationError(msg)


def first_line(error: object) -> str:
    """Return the first line of an error, or of its message, without secrets."""
    return mask(str(error).strip().partition("\n")[0])


def did_you_mean(name: str, names: Iterable[str]) -> str:
    """Return a hint with the closest of ``names``, or an empty string.

    >>> did_you_mean("mst-semantik", ["mst-semantic", "recursive"])
    "; did you mean 'mst-semantic'?"
    >>> did_you_mean("zzz", ["recursive"])
    ''
    """
    from difflib import get_close_matches

    close = get_close_matches(name, list(names), n=1, cutoff=0.6)
    return f"; did you mean {close[0]!r}?" if close else ""


_P = ParamSpec("_P")
_R = TypeVar("_R")
_COLLECTIONS: tuple[Any, ...] = (list, tuple, set, frozenset, Set, Sequence, Collection, Iterable)


def checked(function: Callable[_P, _R]) -> Callable[_P, _R]:
    """Check the arguments of a public function by its annotations: a wrong one raises `ConfigurationError`.

    A text is no collection, True is no number, and a number is finite. Items of lists, tuples and mappings are checked,
    too; what is read once is not.

    >>> checked(lambda number: number)(3)
    3
    """
    parameters = signature(function)

    @wraps(function)
    def call(*args: _P.args, **kwargs: _P.kwargs) -> _R:
        try:
            bound = parameters.bind(*args, **kwargs)
        except TypeError as error:
            names = ", ".join(name for name in parameters.parameters if name not in ("self", "cls"))
            name = function.__qualname__.removesuffix(".__init__").rpartition(".")[2]
            msg = f"{name}: {error}; its parameters are {names}"
            raise TypeError(msg) from None
        for name, value in bound.arguments.items():
            hint = _hints(function).get(name, Any)
            is_many = parameters.parameters[name].kind is Parameter.VAR_POSITIONAL
            _check(name, list[hint] if is_many else hint, list(value) if is_many else value)  # type: ignore[valid-type]
        return function(*args, **kwargs)

    return call


def check_fields(instance: Any) -> None:
    """Check the fields of a dataclass by their annotations, as `checked` checks arguments."""
    cls: Any = type(instance)
    for name, hint in _hints(cls).items():
        if name in cls.__dataclass_fields__:
            _check(name, hint, getattr(instance, name))


@cache
def _hints(of: Any) -> dict[str, Any]:
    """Return the annotations of a function or class but those that name a type imported for type checkers alone."""
    hints = dict[str, Any]()
    for name, text in of.__annotations__.items():
        with suppress(NameError):
            hints |= get_type_hints(SimpleNamespace(__annotations__={name: text}), vars(sys.modules[of.__module__]))
    return hints


def _check(name: str, hint: Any, value: object) -> None:
    rule = f"{name} must be {describe_type(hint)}"
    try:
        accepted = _accepts(hint, value)
        if isinstance(value, (str, Path)) and Path in (hint, *get_args(hint)):
            rule = f"{name} must be a path that can be encoded, without NUL"
            accepted = accepted and b"\0" not in os.fsencode(value)
    except Exception:  # noqa: BLE001 - a foreign value may raise anything where it is compared or read
        accepted = False
    require(accepted, rule, value)


def _accepts(hint: Any, value: Any) -> bool:
    """Return True if a value is of the type that an annotation names, as far as its items are at hand."""
    kind, args = get_origin(hint) or hint, get_args(hint)
    if kind in (Union, UnionType) or isinstance(hint, TypeVar):
        return any(_accepts(arg, value) for arg in args or hint.__constraints__ or (Any,))
    if kind is Literal:
        return isinstance(value, Hashable) and value in args
    if kind in (int, float):
        is_kind = kind is float or isinstance(value, Integral)
        return is_kind and is_number(value, -sys.float_info.max) and (kind is float or abs(value) < _MOST_INTEGER)
    if kind is Any or not isinstance(kind, type) or getattr(kind, "_is_protocol", False):
        return callable(value) if "__call__" in getattr(kind, "__dict__", ()) else kind is not None or value is None
    return _accepts_class(kind, args, value)


def _accepts_class(kind: Any, args: Sequence[Any], value: Any) -> bool:
    if issubclass(kind, Mapping):
        key, of = args or (Any, Any)
        return isinstance(value, Mapping) and all(_accepts(key, k) and _accepts(of, v) for k, v in value.items())
    if kind in _COLLECTIONS:
        is_items = is_many(value) and not isinstance(value, Mapping)
        if kind in (list, tuple, Sequence):  # no array, whose truth value is ambiguous, unless it is named
            is_items = is_items and isinstance(value, (Sequence, Set))
        items: Any = value if args and isinstance(value, Sized) else ()
        if args and isinstance(args[0], type) and args[0] not in (int, float):  # one of each type tells for all
            items = {type(item): item for item in items}.values() if kind is not tuple else items
        if kind is tuple and args and args[-1] is not Ellipsis:
            return is_items and len(items) == len(args) and all(map(_accepts, args, items))
        return is_items and (kind is Iterable or isinstance(value, Sized)) and all(_accepts(args[0], i) for i in items)
    if kind is type and args:
        return isinstance(value, type) and issubclass(value, tuple(args))
    if issubclass(kind, tuple):  # a pair is a span
        is_items, hints = isinstance(value, tuple), _hints(kind).values()
        return is_items and len(value) <= len(hints) and all(map(_accepts, hints, value))
    return callable(value) if kind is Callable else isinstance(value, kind)


def describe_type(hint: Any) -> str:
    """Return the name of a type that is asked for, for error messages."""
    kind, args = get_origin(hint) or hint, get_args(hint)
    words = {
        str: "a string",
        int: "a whole number",
        float: "a finite number",
        bool: "True or False",
        type(None): "None",
        Any: "anything",
    }
    if kind in (Union, UnionType):
        return " or ".join(dict.fromkeys(map(describe_type, args)))
    if kind is Literal:
        return "one of " + ", ".join(map(repr, args))
    if isinstance(hint, TypeVar):
        return " or ".join(map(describe_type, hint.__constraints__))
    if kind in _COLLECTIONS:
        item = describe_type(args[0]) if args else "objects"
        return f"a collection of {item.removeprefix('a ')}s" if item.startswith("a ") else f"a collection of {item}"
    if isinstance(kind, type) and issubclass(kind, Mapping):
        return " to ".join(["a mapping of strings", *map(describe_type, args[1:])])
    name = f"a class of {describe_type(args[0])}" if kind is type and args else getattr(kind, "__name__", kind)
    return words.get(kind) or str(name)
