"""Compose class docstrings, so that `help` explains inherited parameters, and says if a class is experimental."""

import re
from collections.abc import Iterable
from functools import cache
from inspect import cleandoc

EXPERIMENTAL = " Experimental."
"""The end of the first line of an experimental class's docstring."""

_NOTE = "Results may change in any release; `optimal-semantic` replaces this chunker on documents where it fails."
_PARAMETERS = re.compile(r"Parameters\n-+\n(?P<entries>(?:[^\n]++|\n(?!\n))*+)")


def with_inherited_parameters(cls: type) -> str:
    """Return the docstring of a class, with the entries for parameters that only its bases document."""
    doc = cleandoc(cls.__dict__.get("__doc__") or "")
    documented = {name for names, _ in _entries(doc) for name in names}
    inherited = list[str]()
    for base in cls.__mro__[1:]:
        is_ours = base.__module__.partition(".")[0].endswith("advchunk")
        if not (is_ours or hasattr(base, "algorithm")):  # a base of a framework
            continue
        for names, text in _entries(base.__dict__.get("__doc__") or ""):
            if documented.isdisjoint(names):
                inherited.append(text)
                documented.update(names)
    if not inherited:
        return doc
    if section := _PARAMETERS.search(doc):
        return doc[: section.end()].rstrip() + "\n" + "\n".join(inherited) + doc[section.end() :]
    summary, rest = doc.partition("\n\n")[::2]
    return "\n\n".join([summary, "Parameters\n----------\n" + "\n".join(inherited), *([rest] if rest else [])])


def with_experimental_note(doc: str) -> str:
    """Return the docstring of an experimental class, which says so in its first line; twice is the same as once."""
    summary, gap, rest = doc.partition("\n\n")
    return doc if summary.endswith(EXPERIMENTAL) else f"{summary}{EXPERIMENTAL}\n\n{_NOTE}{gap}{rest}"


def parameter_entries(doc: str, names: Iterable[str]) -> str:
    """Return the entries under Parameters for some of the names."""
    chosen = set(names)
    return "\n".join(text for own, text in _entries(doc) if chosen.intersection(own))


def parameter_docs(doc: str) -> dict[str, str]:
    """Return the description of each parameter in a docstring, as one line."""
    return {name: " ".join(entry.partition(" :")[2].split()) for names, entry in _entries(doc) for name in names}


@cache  # most classes have the same bases
def _entries(doc: str) -> list[tuple[list[str], str]]:
    """Return the names and the text of each entry under Parameters."""
    section = _PARAMETERS.search(cleandoc(doc))
    entries = re.split(r"\n(?=\S)", section["entries"].rstrip()) if section else []
    return [(re.split(r",\s*", entry.partition(" :")[0]), entry) for entry in entries]
