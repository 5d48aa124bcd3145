"""Hyper-parameters: said once, inherited by the core chunker and by both adapters."""

from __future__ import annotations

import hashlib
import json
import math
import re
from collections.abc import Mapping
from dataclasses import dataclass, fields
from functools import cache
from inspect import cleandoc
from types import MappingProxyType, UnionType
from typing import Any, ClassVar, Final, Literal, Union, get_args, get_origin, get_type_hints

from advchunk.errors import require
from advchunk.readers.formats import Markup

RESOURCE: Final = {"resource": True}
"""Marks a dataclass field that is not a hyper-parameter: ``field(default=None, metadata=RESOURCE)``."""


OPERATION: Final = {"resource": True, "changes": False}
"""Marks a resource that changes how fast chunks come, and not which: it is no part of the fingerprint."""

_LANGUAGE = re.compile(r"[A-Za-z]{2,3}([-_]|$)")
_PARAMETERS = re.compile(r"Parameters\n-+\n(?P<entries>.*?)(?=\n\n|\Z)", re.DOTALL)

ALIASES: Final = {"chunk_size": "max_tokens", "chunk_overlap": "overlap_tokens"}
"""What both frameworks call two of the parameters."""


@dataclass(kw_only=True)
class Params:
    """Hyper-parameters: JSON-able, with immutable defaults; said here once for all front ends.

    A ``preset`` replaces the parameters that have their default, whether left at it or given; an adapter resolves
    it when it builds its core chunker.

    Parameters
    ----------
    max_tokens : tokens that no chunk exceeds, context included, >= 1.
    min_tokens : smaller chunks join a neighbor where the result still fits, 0..max_tokens.
    overlap_tokens : at most this many tokens of the previous chunk are repeated: whole units, else
        sentences, else words; 0..max_tokens - 1.
    include_context : give each chunk the document's ``title`` and the headings it stands under as
        context, and one that begins within a table its head; this is embedded with it and counts (at most half of
        ``max_tokens``).
    add_scores : write into each chunk's metadata why it ends where it does: ``cut`` and ``cut_score``.
    markup : how a text that comes without a layout is read: "markdown" protects its code, tables
        and formulas and knows its headings; "plain" takes every character for prose. Of "html", "tei" (GROBID), "jats",
        "pubmed" and "docling" (JSON) another text is derived, without tags, and chunks are of that
        (`readers.formats`); "auto" tells which of all these it is.
    language : two- or three-letter code of the text's language ("en-US" counts as "en"), for sentences and, where words
        are counted, for stop words and stems; what is not known of a language is English, or left undone.
    timeout : seconds a document may take, > 0; None is unlimited. Python cannot stop a call of a model from outside: one
        that is given up runs to its end unheard.
    """

    algorithm: ClassVar[str] = ""
    presets: ClassVar[Mapping[str, Mapping[str, Any]]] = MappingProxyType({})  # by the names a ``preset`` field takes
    version: ClassVar[int] = 1  # raise it when the same parameters give other chunks

    max_tokens: int = 512
    min_tokens: int = 0
    overlap_tokens: int = 0
    include_context: bool = False
    add_scores: bool = False
    markup: Markup = "markdown"
    language: str = "en"
    timeout: float | None = None

    def __post_init__(self) -> None:
        mine: Any = type(self)
        for name, hint in hints(mine).items():
            require(_fits(getattr(self, name), hint), f"{name} must be {_said(hint)}", getattr(self, name))
            rule = f"{name} must be 0, or in 1e-100..1e100 without its sign (a whole number under 2^63)"
            require(_computable(getattr(self, name)), rule, getattr(self, name))
        for name, value in self.presets.get(getattr(self, "preset", None) or "", {}).items():
            if getattr(self, name) == getattr(type(self), name):
                setattr(self, name, value)
        self.check()

    def check(self) -> None:
        """Raise `ConfigurationError` on a value that breaks a rule; subclasses add theirs."""
        at_least(1, self, "max_tokens")
        require(0 <= self.min_tokens <= self.max_tokens, "min_tokens must be in 0..max_tokens", self.min_tokens)
        rule = "overlap_tokens must be in 0..max_tokens - 1"
        require(0 <= self.overlap_tokens < self.max_tokens, rule, self.overlap_tokens)
        require(
            _LANGUAGE.match(self.language) is not None, 'language must be a code such as "en" or "pt-BR"', self.language
        )
        require(self.timeout is None or self.timeout > 0, "timeout must be > 0 seconds or None", self.timeout)

    def __init_subclass__(cls, **kwargs: Any) -> None:
        super().__init_subclass__(**kwargs)
        cls.__repr__ = cls.__str__ = Params.__repr__  # type: ignore[assignment, method-assign]  # before dataclass makes its own
        cls.__doc__ = _with_inherited(cls)  # so that help() explains every parameter, in all three front ends

    def __repr__(self) -> str:
        """Say what differs from the defaults, and which resources were given."""
        said = [
            f"{f.name}={getattr(self, f.name)!r}"
            for f in fields(self)
            if getattr(self, f.name) != f.default and not f.metadata.get("resource")
        ]
        given = [
            (f.name, getattr(self, f.name))
            for f in fields(self)
            if f.metadata.get("resource") and getattr(self, f.name) is not f.default
        ]
        said += [f"{name}=" + ("None" if value is None else f"<{type(value).__name__}>") for name, value in given]
        return f"{type(self).__name__}({', '.join(said)})"

    def fingerprint(self) -> str:
        """Return 16 hex digits that change whenever the chunks may: for cache keys."""
        said = json.dumps([self.algorithm, self.version, parameters(self)], sort_keys=True)
        return hashlib.sha256(said.encode()).hexdigest()[:16]


def parameters(obj: Any, of: type[Params] | None = None) -> dict[str, Any]:
    """Return the hyper-parameters that class ``of`` declares (default: the object's own) by name."""
    return {f.name: getattr(obj, f.name) for f in fields(of or obj) if not f.metadata.get("resource")}


def at_least(least: float, of: Any, *names: str) -> None:
    """Raise `ConfigurationError` unless these hyper-parameters are ``least`` or more, or None where they may be."""
    mine: Any = type(of)
    for name in names:
        value = getattr(of, name)
        rule = f"{name} must be >= {least}" + " or None" * _fits(None, hints(mine)[name])
        require(value is None or value >= least, rule, value)


def one_at_most(of: Any, *names: str) -> dict[str, Any]:
    """Return which of these hyper-parameters is given; raise `ConfigurationError` if several are."""
    given = {name: value for name in names if (value := getattr(of, name)) is not None}
    require(len(given) <= 1, f"only one of {', '.join(names[:-1])} and {names[-1]} can be given", given)
    return given


def resources(of: Any, *, changing: bool = False) -> list[str]:
    """Return the names of the resources that a class of chunkers takes, or of those that change its chunks."""
    return [
        f.name for f in fields(of) if f.metadata.get("resource") and (not changing or f.metadata.get("changes", True))
    ]


def _with_inherited(cls: type) -> str:
    """Return the docstring of a class with the parameters that its bases document and it does not."""
    own = cleandoc(cls.__dict__.get("__doc__") or "")
    known, inherited = {name for names, _ in _documented(own) for name in names}, list[str]()
    for base in cls.__mro__[1:]:
        if not base.__module__.partition(".")[0].endswith("advchunk"):
            continue
        for names, text in _documented(cleandoc(base.__dict__.get("__doc__") or "")):
            if not known & set(names):
                inherited.append(text)
                known.update(names)
    if not inherited:
        return own
    if place := _PARAMETERS.search(own):
        return own[: place.end()].rstrip() + "\n" + "\n".join(inherited) + own[place.end() :]
    summary, rest = own.partition("\n\n")[::2]
    return "\n\n".join([summary, "Parameters\n----------\n" + "\n".join(inherited), *([rest] if rest else [])])


@cache  # most classes have the same bases
def _documented(doc: str) -> list[tuple[list[str], str]]:
    """Return the names and the text of each entry under Parameters."""
    section = _PARAMETERS.search(doc)
    entries = re.split(r"\n(?=\S)", section["entries"].rstrip()) if section else []
    return [(re.split(r",\s*", entry.partition(" :")[0]), entry) for entry in entries]


@cache
def hints(of: Any) -> dict[str, Any]:
    """Return the types of the hyper-parameters of a class, by name."""
    known = get_type_hints(of)
    return {f.name: known[f.name] for f in fields(of) if not f.metadata.get("resource")}


def _fits(value: Any, hint: Any) -> bool:
    """Whether a value is of the type that a parameter is annotated with."""
    origin, options = get_origin(hint), get_args(hint)
    if origin is Literal:
        return isinstance(value, str) and value in options
    if origin in {Union, UnionType}:
        return any(_fits(value, option) for option in options)
    if hint is float:  # not bool, which is an int to Python
        return isinstance(value, int | float) and not isinstance(value, bool) and math.isfinite(value)
    return isinstance(value, origin or hint) and not (hint is int and isinstance(value, bool))


def _computable(value: Any) -> bool:
    """Whether arithmetic on a value, if it is a number, neither overflows nor vanishes."""
    if isinstance(value, float):
        return value == 0 or 1e-100 <= abs(value) <= 1e100
    return not isinstance(value, int) or abs(value) < 2**63


def _said(hint: Any) -> str:
    """Say a type as a user would."""
    if get_origin(hint) is Literal:
        return "one of " + ", ".join(map(repr, get_args(hint)))
    if get_origin(hint) in {Union, UnionType}:
        return " or ".join(map(_said, get_args(hint)))
    words = {int: "a whole number", float: "a number", bool: "true or false", str: "text", type(None): "None"}
    return words.get(hint, "a mapping" if get_origin(hint) is Mapping else str(hint))


@dataclass(kw_only=True)
class GroupedParams(Params):
    """Hyper-parameters of the chunkers that label units.

    Parameters
    ----------
    contiguous : True cuts where the label changes, so that chunks are passages; False puts
        distant units of a label together, so that a chunk has several spans (and no overlap).
    """

    contiguous: bool = True

    def check(self) -> None:
        """Add the rule for overlap."""
        super().check()
        rule = "overlap_tokens must be 0 unless contiguous=True: distant passages have no previous chunk"
        require(self.contiguous or not self.overlap_tokens, rule, self.overlap_tokens)
