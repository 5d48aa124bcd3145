"""Docstrings of this project as Markdown, and as mkdocstrings expects them."""

from __future__ import annotations

import re
from inspect import cleandoc
from typing import Any

import griffe

_ENTRY = re.compile(r"^(\*{0,2}\w[\w., *]*) : (.*(?:\n {4}.*)*)", re.MULTILINE)
_SECTION = re.compile(r"^(\w+)\n-+\n(.*?)(?=^\w+\n-+$|\Z)", re.MULTILINE | re.DOTALL)
_EXAMPLE = re.compile(r"^>>> .*(?:\n.+)*", re.MULTILINE)
_CODE = re.compile(r"(``.*?``|`[^`\n]*`|^ {4}.*$)", re.MULTILINE)


def markdown(text: str) -> str:
    """Return a docstring as Markdown: tags are escaped outside code.

    >>> markdown("A tag <b>, and ``<i>``.")
    'A tag &lt;b>, and ``<i>``.'
    """
    parts = _CODE.split(text)
    parts[::2] = [part.replace("<", "&lt;") for part in parts[::2]]
    return "".join(parts)


def sections(doc: str) -> dict[str, str]:
    r"""Return the sections of a docstring by title; that of the text before them is "".

    >>> sections("Cut.\n\nParameters\n----------\nsize : of it.")
    {'': 'Cut.', 'Parameters': 'size : of it.'}
    """
    doc = cleandoc(doc)
    first = _SECTION.search(doc)
    titled = {match[1]: match[2].strip() for match in _SECTION.finditer(doc)}
    return {"": (doc[: first.start()] if first else doc).strip(), **titled}


def entries(section: str) -> dict[str, str]:
    r"""Return the texts of a section's entries by name; several names share a text.

    >>> entries("low, high : bounds,\n    >= 0.")
    {'low': 'bounds, >= 0.', 'high': 'bounds, >= 0.'}
    """
    return {
        name: " ".join(match[2].split()) for match in _ENTRY.finditer(section) for name in re.split(r",\s*", match[1])
    }


class NumpySections(griffe.Extension):
    """Write docstrings as griffe's parser of numpydoc expects them.

    ``name : text`` becomes ``name`` and an indented text, because annotations have the types, and examples get a title.
    """

    def on_object(self, *, obj: griffe.Object, **_: Any) -> None:
        """Change the docstring of an object that is loaded."""
        if obj.docstring is not None:
            obj.docstring.value = numpydoc(obj.docstring.value)


def numpydoc(doc: str) -> str:
    r"""Return a docstring in the form that griffe parses.

    >>> numpydoc("Cut.\n\nParameters\n----------\nsize : of it.\n\n>>> 1\n1")
    'Cut.\n\nParameters\n----------\nsize\n    of it.\n\nExamples\n--------\n>>> 1\n1'
    """
    doc = cleandoc(doc)
    examples = "\n\n".join(_EXAMPLE.findall(doc))
    text = markdown(_SECTION.sub(_indent_entries, _EXAMPLE.sub("", doc)).strip())
    return f"{text}\n\nExamples\n--------\n{examples}" if examples else text


def _indent_entries(section: re.Match[str]) -> str:
    return section[0] if section[1] in {"Returns", "Yields"} else _ENTRY.sub(r"\1\n    \2", section[0])
