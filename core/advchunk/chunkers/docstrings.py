"""Compose class docstrings, so that `help` explains inherited parameters too."""

import re
from functools import cache
from inspect import cleandoc

_PARAMETERS = re.compile(r"Parameters\n-+\n(?P<entries>.*?)(?=\n\n|\Z)", re.DOTALL)


def with_inherited_parameters(cls: type) -> str:
    """Return the docstring of a class, with entries for the parameters that only its bases document."""
    doc = cleandoc(cls.__dict__.get("__doc__") or "")
    documented = {name for names, _ in _entries(doc) for name in names}
    inherited = list[str]()
    for base in cls.__mro__[1:]:
        if not base.__module__.partition(".")[0].endswith("advchunk"):
            continue
        for names, text in _entries(cleandoc(base.__dict__.get("__doc__") or "")):
            if documented.isdisjoint(names):
                inherited.append(text)
                documented.update(names)
    if not inherited:
        return doc
    if section := _PARAMETERS.search(doc):
        return doc[: section.end()].rstrip() + "\n" + "\n".join(inherited) + doc[section.end() :]
    summary, rest = doc.partition("\n\n")[::2]
    return "\n\n".join([summary, "Parameters\n----------\n" + "\n".join(inherited), *([rest] if rest else [])])


@cache  # most classes have the same bases
def _entries(doc: str) -> list[tuple[list[str], str]]:
    """Return the names and the text of each entry under Parameters."""
    section = _PARAMETERS.search(doc)
    entries = re.split(r"\n(?=\S)", section["entries"].rstrip()) if section else []
    return [(re.split(r",\s*", entry.partition(" :")[0]), entry) for entry in entries]
