"""The errors a user can meet."""

from __future__ import annotations

from collections.abc import Iterable
from difflib import get_close_matches
from importlib import import_module
from pathlib import Path
from typing import Any


class ConfigurationError(ValueError):
    """A parameter, a resource or an input breaks a rule; the message states the rule and the value."""


class Unreadable(ConfigurationError):  # noqa: N818
    """A document is not written in what it is read as; no chunker stands in, for it would chunk the markup."""


class InvalidSegmentation(ConfigurationError):  # noqa: N818
    """An algorithm returned a segmentation that does not fit its units; no fallback hides that."""


class MissingExtra(ImportError):  # noqa: N818 - named for what happened, like the rest of the API
    """An optional library is not installed; the message names the extra that brings it, and what to do after that."""

    def __init__(self, what: str, extra: str, then: str = "") -> None:
        super().__init__(f"{what} is not installed: pip install 'advchunk[{extra}]'{then and f', then {then}'}")
        self._said = what, extra, then

    def __reduce__(self) -> tuple[type[MissingExtra], tuple[str, str, str]]:
        return type(self), self._said  # or a pool of processes breaks where one raises it


class ModelUnavailable(OSError):  # noqa: N818
    """A model is neither on this machine nor to be had from its hub, or its endpoint does not answer."""


class BadModelOutput(ValueError):  # noqa: N818
    """A model answered with something other than what it was asked for."""


class MissingModel(ConfigurationError):  # noqa: N818
    """No model was given to what cannot do without; the message names what to pass, and the extra that brings it."""

    def __init__(self, parameter: str, takes: str, extra: str) -> None:
        super().__init__(f"{parameter}= is missing: pass {takes} (pip install 'advchunk[{extra}]')")
        self._said = parameter, takes, extra

    def __reduce__(self) -> tuple[type[MissingModel], tuple[str, str, str]]:
        return type(self), self._said


class BudgetExceeded(RuntimeError):  # noqa: N818
    """The next call could have passed a budget, so it was not made."""


class NotConverged(RuntimeError):  # noqa: N818
    """An algorithm that looks for a best answer step by step did not come to one."""


_LONG = 400  # characters of a value, in an error


def require(holds: bool, rule: str, got: object) -> None:
    """Raise `ConfigurationError` unless ``holds``.

    >>> require(3 > 2, "block must be > 2", 3)
    """
    if not holds:
        said = repr(got)
        msg = f"{rule}, got {said if len(said) <= _LONG else said[:_LONG] + '...'}"
        raise ConfigurationError(msg)


def import_extra(module: str, extra: str) -> Any:
    """Import a module of an optional library; raise `MissingExtra` if it is not installed."""
    try:
        return import_module(module)
    except ImportError as error:
        raise MissingExtra(module.partition(".")[0], extra) from error


def check_spelling(name: str, names: Iterable[str]) -> None:
    """Raise `ConfigurationError` on a name nearly one of ``names``, before a hub is asked for it, which takes minutes.

    What is a path, or has a "/" as the names of hubs do, is never refused.

    >>> check_spelling("token", ["tokens", "words"])
    Traceback (most recent call last):
    advchunk.errors.ConfigurationError: no model or tokenizer 'token'; did you mean 'tokens'?
    """
    known = list(names)
    close = get_close_matches(name.lower(), known, n=1, cutoff=0.8)
    if close and name not in known and "/" not in name and not Path(name).exists():
        msg = f"no model or tokenizer {name!r}; did you mean {close[0]!r}?"
        raise ConfigurationError(msg)


def first_line(error: Exception) -> str:
    """Return what an error says first; the hub's go on for many lines."""
    return str(error).strip().partition("\n")[0]


def did_you_mean(name: str, names: Iterable[str]) -> str:
    """Return a hint at the name that was probably meant, or nothing.

    >>> did_you_mean("mst-semantik", ["mst-semantic", "recursive"])
    "; did you mean 'mst-semantic'?"
    >>> did_you_mean("zzz", ["recursive"])
    ''
    """
    close = get_close_matches(name, list(names), n=1, cutoff=0.6)
    return f"; did you mean {close[0]!r}?" if close else ""
