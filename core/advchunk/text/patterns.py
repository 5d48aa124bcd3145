"""Regular expressions: ours, compiled on first use; and the user's, checked and searched within a time limit."""

import re
from collections.abc import Iterator, Mapping
from functools import cache
from typing import Any, Final, TypeAlias

from advchunk.errors import ConfigurationError, require

Patterns: TypeAlias = Mapping[str, str] | list[str] | tuple[str, ...] | str | None

_SECONDS: Final = 2.0  # per text, and per million characters of it


class _LazyPattern:
    """A regular expression that is compiled when a method of it is first used, which takes longer than an import."""

    def __init__(self, pattern: str, flags: int) -> None:
        self.pattern, self.flags = pattern, flags

    def __getattr__(self, name: str) -> Any:  # of what the instance does not have yet
        vars(self)[name] = value = getattr(re.compile(self.pattern, self.flags), name)
        return value


def lazy_pattern(pattern: str, flags: int = 0) -> re.Pattern[str]:
    """Return a regular expression as `re.compile` does, but compile it on first use."""
    return _LazyPattern(pattern, flags)  # type: ignore[return-value]  # it has what a pattern has


def named(patterns: Patterns) -> list[tuple[str, str]]:
    """Return patterns with their names: the keys of a mapping, else the patterns themselves.

    >>> named({"article": "^Article"}), named(["^A", "^B"]), named("^A"), named(None)
    ([('article', '^Article')], [('^A', '^A'), ('^B', '^B')], [('^A', '^A')], [])
    """
    if isinstance(patterns, Mapping):
        return list(patterns.items())
    listed = [patterns] if isinstance(patterns, str) else patterns or ()
    return [(pattern, pattern) for pattern in listed]


def check_patterns(parameter: str, patterns: Patterns) -> None:
    """Raise `ConfigurationError` unless all patterns are regular expressions that need some text."""
    for name, pattern in named(patterns):
        require(isinstance(pattern, str), f"{parameter} must be regular expressions as text", pattern)
        looks_like_json = pattern.startswith(('{"', '["')) and pattern.endswith(("}", "]"))
        rule = f"{parameter} must be valid JSON (in which each backslash is doubled) or one regular expression"
        require(not looks_like_json, rule, pattern)
        _compiled(parameter, name, pattern)


@cache
def _compiled(parameter: str, name: str, pattern: str) -> Any:
    import regex

    try:
        compiled = regex.compile(pattern, regex.MULTILINE)
    except regex.error as error:
        msg = f"{_describe(parameter, name, pattern)} is not a regular expression: {error}"
        raise ConfigurationError(msg) from None
    is_empty = compiled.fullmatch("") is not None
    require(not is_empty, f"{_describe(parameter, name, pattern)} must not match the empty text", pattern)
    return compiled


def _describe(parameter: str, name: str, pattern: str) -> str:
    return f"the pattern of {name!r} in {parameter}" if name != pattern else f"a pattern in {parameter}, {pattern!r},"


def find_all(parameter: str, name: str, pattern: str, text: str) -> Iterator[Any]:
    """Yield the matches of a pattern in a text; raise `ConfigurationError` if that takes too long.

    ``^`` and ``$`` match at lines. The module ``regex`` backtracks as ``re`` does, but can be stopped.
    """
    seconds = _SECONDS * (1 + len(text) / 1_000_000)
    try:
        yield from _compiled(parameter, name, pattern).finditer(text, timeout=seconds)
    except TimeoutError:
        took = f"took more than {seconds:.0f} s on a text of {len(text)} characters"
        msg = f"{_describe(parameter, name, pattern)} {took}: avoid repetitions within repetitions"
        raise ConfigurationError(msg) from None
