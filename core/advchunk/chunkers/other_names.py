"""Help with names that are misspelled, or those of other libraries: parameters and methods.

Names are those of LangChain's text splitters, LlamaIndex's node parsers, chonkie and semchunk, in ``other_names.json``.
"""

import re
from collections.abc import Collection, Iterable, Mapping
from functools import cache
from importlib.resources import files
from typing import Any

from advchunk.errors import ConfigurationError, did_you_mean
from advchunk.text.patterns import lazy_pattern

_SUFFIX = lazy_pattern(r"-?(text|markdown-element)?-?(splitter|chunker|node-?parser)(-node-?parser)?$")


def check_names(owner: str, names: Iterable[str], accepted: Collection[str]) -> None:
    """Raise `ConfigurationError` with a hint unless all names are parameters that ``owner`` accepts."""
    for name in names:
        if name not in accepted:
            hint = parameter_hint(name, accepted) or "; it has " + ", ".join(accepted)
            msg = f"{owner} has no parameter {name!r}{hint}"
            raise ConfigurationError(msg)


def parameter_hint(name: str, accepted: Collection[str]) -> str:
    """Return a hint about a name that is not accepted: our name for it, an explanation, or the closest name."""
    for entry in _table()["parameters"]:
        if name in entry["names"]:
            ours = next((ours for ours in entry.get("ours", ()) if ours in accepted), None)
            note = entry.get("note") or ("" if ours else entry.get("otherwise"))
            if ours or note:
                return (f"; here this is {ours}" if ours else "") + (f": {note}" if note else "")
    return did_you_mean(name, accepted)


def method_hint(name: str, methods: Collection[str]) -> str:
    """Return a hint about a missing method: those with this word in their name or table, or the closest."""
    word = re.sub(r"[_ ]|(?<=[a-z])(?=[A-Z])|(?<=[A-Z])(?=[A-Z][a-z])", "-", name).lower()
    word = _SUFFIX.sub("", word) or word
    alike = [method for method in methods if word in _table()["methods"].get(method, ())]
    alike = alike or [method for method in methods if word in (method, *method.split("-"))]
    if not alike:
        return did_you_mean(word, methods)
    *others, last = map(repr, alike)
    setting = " with " * (word in _table()["settings"]) + _table()["settings"].get(word, "")
    return f"; did you mean {', '.join(others)}{' or ' * bool(others)}{last}{setting}?"


@cache
def _table() -> Mapping[str, Any]:
    import json

    table: Mapping[str, Any] = json.loads(files("advchunk.chunkers").joinpath("other_names.json").read_text("utf-8"))
    return table
