"""Fill in prompts for language models."""

import re
from collections.abc import Mapping, Sequence
from functools import lru_cache
from typing import Any, Final, TypeVar

from advchunk.errors import BadModelOutput
from advchunk.text.counters import Counter

_T = TypeVar("_T")
_ESCAPES: Final = {"<": "&lt;", "[": "&#91;"}
# The signs of a turn in the templates of chat models, some of which read them in messages too.
_TURNS: Final = r"<(?=\|\w|/?(?:start_of_turn|end_of_turn)>|</?sys>)|\[(?=/?inst\])"
TEXT: Final[Mapping[str, Any]] = {"type": "string"}
"""The JSON Schema of a text."""
_TAG = re.compile(r"</?(\w+)>")


def fill_prompt(prompt: str, **values: str) -> str:
    """Replace the ``{placeholders}`` of a prompt; in the values, its tags are escaped, and placeholders left alone."""

    def value(match: re.Match[str]) -> str:
        return escape(values[match[1]], _delimiters(prompt)) if match[1] in values else match[0]

    return re.sub(r"\{(\w+)\}", value, prompt)


@lru_cache(maxsize=64)
def _delimiters(prompt: str) -> re.Pattern[str]:
    """Return a pattern of the first character of what a prompt's values must not contain: its tags, and a new turn."""
    names = "|".join(sorted({*_TAG.findall(prompt)}))
    return re.compile(rf"<(?=[^\w<>]*(?:{names})\b)|{_TURNS}" if names else _TURNS, re.IGNORECASE)


def escape(text: str, delimiters: re.Pattern[str]) -> str:
    """Escape each ``<`` and ``[`` that a pattern matches."""
    return delimiters.sub(lambda match: _ESCAPES[match[0]], text)


def unescape(copy: str, source: str) -> str:
    """Undo `escape` in what a model copied from a source.

    >>> unescape("&lt;/lines>", "a </lines>"), unescape("&lt;b>", "a &lt;b>")
    ('</lines>', '&lt;b>')
    """
    for sign, escaped in _ESCAPES.items():
        copy = copy if escaped in source else copy.replace(escaped, sign)
    return copy


def fit_outline(headings: Sequence[tuple[int, str]], max_tokens: int, counter: Counter) -> str:
    """Return an outline of headings (level, line), without the deepest levels if it would exceed ``max_tokens``."""
    for deepest in sorted({level for level, _ in headings}, reverse=True):
        outline = "\n".join(line for level, line in headings if level <= deepest)
        if counter(outline) <= max_tokens:
            return outline
    return ""


def single_line(text: str) -> str:
    """Replace white space and unprintable characters by single spaces, none at the ends."""
    return " ".join("".join(letter if letter.isprintable() else " " for letter in text).split())


def object_schema(**properties: Mapping[str, Any]) -> dict[str, Any]:
    """Return the JSON Schema of an object with these properties, all of them required."""
    return {"type": "object", "properties": properties, "required": [*properties], "additionalProperties": False}


def get_property(answer: Any, name: str, kind: type[_T]) -> _T:
    """Return a property of an answer; raise `BadModelOutput` if it is missing or has another type."""
    value = answer.get(name) if isinstance(answer, dict) else None
    if isinstance(value, kind):
        return value
    msg = f"an answer must have {name!r}, a {kind.__name__}, got {str(answer)[:80]!r}"
    raise BadModelOutput(msg)
