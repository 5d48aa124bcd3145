"""Hyper-parameters, declared once and inherited by the core chunker and by both adapters.

The constructor keeps the names that it was called with: a preset, and a size that must fit into a smaller
``max_tokens``, change only what was not given. With all names, as by `dataclasses.replace`, nothing is changed.
"""

import logging
import math
import sys
from abc import ABC
from collections.abc import Iterator, Mapping
from dataclasses import dataclass, fields
from functools import cache
from inspect import Parameter, signature
from itertools import combinations
from types import MappingProxyType, SimpleNamespace, UnionType
from typing import Annotated, Any, ClassVar, Literal, NamedTuple, Self, Union, get_args, get_origin, get_type_hints

from advchunk.chunkers.docstrings import with_experimental_note, with_inherited_parameters
from advchunk.chunkers.other_names import check_names
from advchunk.errors import describe_type, did_you_mean, require
from advchunk.readers.formats import check_markup
from advchunk.text.detection import AUTO
from advchunk.text.patterns import check_patterns, lazy_pattern

RESOURCE: Mapping[str, bool] = {"resource": True}
"""Marks a dataclass field that is not a hyper-parameter: ``field(default=None, metadata=RESOURCE)``."""

OPERATION: Mapping[str, bool] = {"resource": True, "changes": False}
"""Marks a resource that affects speed but not the chunks; it is not part of the fingerprint."""

ALIASES: Mapping[str, str] = {"chunk_size": "max_tokens", "chunk_overlap": "overlap_tokens"}
"""The frameworks' names for two of the parameters."""

AS_PUBLISHED: MappingProxyType[str, Any] = MappingProxyType({"markup": "plain", "outline": False, "layout_weight": 0.0})
"""What every preset "published" sets: the text is prose, and no cut moves to its layout."""

ChunkerGroup = Literal["stable", "experimental"]
_LANGUAGE = lazy_pattern(r"[A-Za-z]{2,3}([-_]|$)|auto$")
_log = logging.getLogger("advchunk")


class Bounds(NamedTuple):
    """The range of a number, with its ends unless ``open``, and None, as in ``Annotated[int | None, Bounds(1)]``.

    ``in_chunk`` is True for a size in tokens that is also at most ``max_tokens`` (`Params.size`).
    """

    least: float = -math.inf
    most: float = math.inf
    open: bool = False
    in_chunk: bool = False

    def check(self, name: str, value: Any, hint: Any) -> None:
        """Raise `ConfigurationError` unless the value of a parameter is in the range."""
        least, most, sign = self.least, self.most, ">" if self.open else ">="
        if value is None or (least < value < most if self.open else least <= value <= most):
            return
        both = f"> {least} and < {most}" if self.open else f"in {least}..{most}"
        rule = f"{name} must be {both if most < math.inf else f'{sign} {least}'}" + " or None" * _fits(None, hint)
        require(False, rule, value)


@dataclass(kw_only=True)
class Params:
    r"""Hyper-parameters: JSON-able, with immutable defaults, documented here for all front ends.

    A ``preset`` sets the parameters that are not given. One that is given keeps its value, also if that is the default.

    Parameters
    ----------
    max_tokens : maximum tokens of a chunk, context included, >= 1.
    min_tokens : a smaller chunk joins a neighbor if the result fits, or takes text from one, 0..max_tokens. So only the
        last chunk of a text, or of a section between hard breaks, is smaller, unless its neighbors are full and cannot
        be divided. The same holds for minima of the algorithms in other units that a chunk of ``max_tokens`` can hold.
    overlap_tokens : maximum tokens of the previous chunk to repeat, in whole units, else sentences, else words, but
        never all of it; 0..max_tokens - 1. A chunk without one, such as the first, may use all of ``max_tokens``.
    include_context : give each chunk a context: the document's ``title`` and the headings above the chunk. A chunk that
        starts inside a table has the table's caption and header as context in any case. The context is embedded with
        the chunk and counts toward ``max_tokens``, and takes at most half of it.
    add_scores : add the reason for the end of each chunk to its metadata, as ``cut``, ``cut_origin`` and ``cut_score``,
        and the ``language`` of the document, unless its metadata has one.
    add_signal : add to the metadata of each chunk what the algorithm found in its document
        (`chunkers.explanations.Signal`): the shares of its cuts that are its own, at the first place allowed, and by
        size, as ``signal_algorithm``, ``signal_first`` and ``signal_size``; that of pieces without words that count or
        a vector, ``signal_unknown``; and the method that it cuts like, ``signal_like``.
    markup : format of texts without a layout: "markdown" protects code, tables and formulas and finds headings; "plain"
        treats all characters as prose; "code" keeps functions and classes whole while they fit, and needs the name of
        the file or the language (`readers.code.languages.detect_language`). "html", "tei" (GROBID), "jats", "pubmed",
        "docling" and other parsers (JSON), and "xml" (any other) are converted to text without tags
        (`readers.formats`), which is chunked; so are "transcript", "vtt", "srt", "whatsapp" and "chat" (JSON), to turns
        of speakers. "auto" detects the format. Packages may add formats (`advchunk.registry`).
    language : two- or three-letter code of the language ("en-US" counts as "en"), for sentences, stop words, stems and
        prompts. "auto" detects it in each document, by its script and most common words, else from its metadata
        ``language``, else as English; sentences of a long paragraph are split in its own (`text.detection`). In an
        unsupported language sentences are split as in English, and words are left unchanged.
    headings : regular expressions of your own headings, outermost first: a mapping of names to expressions,
        ``{"article": r"^Article (\d+)", "paragraph": r"^\((\d+)\)"}``, a list, or one. They are for the regex library;
        ``^`` and ``$`` match at lines, and the first group is the number. A match begins a unit, which is a heading if
        only a title follows in its line; see ``outline`` for its metadata. A heading of the format keeps its level, and
        has a number if its text matches. Nothing else is then recognized. None has no effect.
    boundaries : one or several regular expressions. A chunk ends before each match, and no chunk crosses it, repeats
        text from before it, or is joined with one there: the parts between are chunked as texts of their own.
    outline : recognize numbered units in Markdown and plain text: articles, sections, clauses, "3.1", "(a)", "第十二条" in
        the languages of `readers.outline`. They count as headings, and chunks have ``clause``, as in "5(1)(a)", besides
        ``section`` and ``title_path``; the figure ``outline`` of `explain` counts them by kind. Numbers must be
        complete from the first on, and lists, tables of contents and the like are left alone.
    layout_weight : weight of the layout against the algorithm's own choice of a place, >= 0; 0 moves no cut, as
        published. A cut inside a paragraph moves to the end of it, of a line or an item near, and any cut to a heading
        near, if the layout favors that place more than the distance counts against it
        (`building.layout.prefer_layout`); cuts that meet become one, and a minimum of the algorithm is kept. A chunk of
        at most 8 tokens, such as "NOTE", joins a neighbor that has room, in texts whose chunks have more than 16 on
        average: the one below, unless it ends a sentence. No effect where all places are alike, as in plain sentences,
        where ``n_segments`` is given, and on chunkers that cut by size alone, which take the strongest place near in
        any case, or ask a model for chapters.
    timeout : time limit per document in seconds, > 0; None is unlimited. Python cannot interrupt a model call: an
        abandoned one runs to completion in the background.
    """  # noqa: E501

    algorithm: ClassVar[str] = ""
    presets: ClassVar[Mapping[str, Mapping[str, Any]]] = MappingProxyType({})  # by the values of a ``preset`` field
    group: ClassVar[ChunkerGroup] = "stable"  # "experimental" if the results may still change
    version: ClassVar[int] = 3  # increment it when the same parameters give different chunks
    _arguments: ClassVar[frozenset[str] | None] = None  # names that the constructor was called with; None if with all

    max_tokens: Annotated[int, Bounds(1)] = 512
    min_tokens: int = 0
    overlap_tokens: int = 0
    include_context: bool = False
    add_scores: bool = False
    add_signal: bool = False
    markup: str = "markdown"
    language: str = AUTO
    headings: Mapping[str, str] | list[str] | tuple[str, ...] | str | None = None
    boundaries: list[str] | tuple[str, ...] | str | None = None
    outline: bool = True
    layout_weight: Annotated[float, Bounds(0)] = 1.0
    timeout: Annotated[float | None, Bounds(0, open=True)] = None

    def __new__(cls, *_args: Any, **params: Any) -> Self:
        """Check the names of the parameters, which the constructor would refuse without a hint, and keep them."""
        accepted = _constructor_parameters(cls)  # type: ignore[arg-type]  # any class is hashable
        if accepted is not None and not params.keys() <= accepted.keys():
            check_names(cls.__name__, params, accepted)
        new = super().__new__(cls)
        new.__dict__["_arguments"] = None if params.keys() >= hints(cls).keys() else frozenset(params)  # type: ignore[arg-type]
        return new

    def __post_init__(self) -> None:
        cls: Any = type(self)
        ranges = bounds(cls)
        for name, hint in hints(cls).items():
            if (value := getattr(self, name)) is not getattr(cls, name):
                if not (hint is int and type(value) is int and abs(value) < 2**63):
                    if not _fits(value, hint):
                        require(False, f"{name} must be {describe_type(hint)}{_closest(value, hint)}", value)
                    rule = f"{name} must be 0 or have a magnitude of 1e-100..1e100 (below 2^63 for a whole number)"
                    require(_is_computable(value), rule, value)
                if (own := ranges.get(name)) and (value is None or not own.least < value < own.most):
                    own.check(name, value, hint)
        if self.presets:
            apply_preset(self)
        self.check()

    def check(self) -> None:
        """Raise `ConfigurationError` if a value breaks a rule; subclasses add their rules."""
        if self.min_tokens and not 0 <= self.size("min_tokens") <= self.max_tokens:
            require(False, "min_tokens must be in 0..max_tokens", self.min_tokens)
        if self.overlap_tokens and not 0 <= self.size("overlap_tokens") < self.max_tokens:
            require(False, "overlap_tokens must be in 0..max_tokens - 1", self.overlap_tokens)
        check_markup(self.markup)
        if self.language != AUTO:
            rule = 'language must be a code such as "en" or "pt-BR", or "auto"'
            require(_LANGUAGE.match(self.language) is not None, rule, self.language)
        for name in "headings", "boundaries":
            if (patterns := getattr(self, name)) is not None:
                check_patterns(name, patterns)
        for name, own in bounds(type(self)).items():  # type: ignore[arg-type]  # any class is hashable
            if own.in_chunk and (size := getattr(self, name)) is not None:
                rule = f"{name} must be at most max_tokens = {self.max_tokens}"
                require(self.size(name) <= self.max_tokens, rule, size)

    def size(self, name: str) -> int:
        """Return a size in tokens; a default too large for ``max_tokens`` keeps its share of it.

        Overlap and minima are too large over half of ``max_tokens``, other sizes over all of it. Two chunks can be
        divided again at any edge that leaves both the minimum only if two minima fit in one chunk.
        """
        value: int = getattr(self, name)
        default: Any = type(self)
        most = self.max_tokens // 2 if name.startswith(("min_", "overlap_")) else self.max_tokens
        return value if value <= most or is_given(self, name) else value * self.max_tokens // default.max_tokens

    def __init_subclass__(cls, **kwargs: Any) -> None:
        super().__init_subclass__(**kwargs)
        _check_bases(cls)
        # before dataclass makes its own
        cls.__repr__ = cls.__str__ = Params.__repr__  # type: ignore[assignment, method-assign]
        cls.__doc__ = with_inherited_parameters(cls)
        if getattr(cls, "chunker_class", cls).group == "experimental":  # an adapter has a chunker class
            own = [base for base in cls.__bases__ if "algorithm" in vars(base)]  # the class of its hyper-parameters
            for documented in (cls, *own):
                documented.__doc__ = with_experimental_note(documented.__doc__ or "")

    def __repr__(self) -> str:
        """Show the parameters that differ from their defaults, and the resources."""
        items, lent = list[str](), list[str]()
        for field in fields(self):
            value = getattr(self, field.name)
            if field.metadata.get("resource"):
                shown = "None" if value is None else f"<{type(value).__name__}>"
                lent += [f"{field.name}={shown}"] if value is not field.default else []
            elif value != field.default:
                items.append(f"{field.name}={value!r}")
        return f"{type(self).__name__}({', '.join(items + lent)})"

    def fingerprint(self) -> str:
        """Return 16 hex digits that change when a parameter changes in a way that may change the chunks."""
        import json
        from hashlib import sha256

        values = parameters(self).items()
        ordered = {name: list(value.items()) if isinstance(value, Mapping) else value for name, value in values}
        key = json.dumps([self.algorithm, self.version, ordered], sort_keys=True)
        return sha256(key.encode()).hexdigest()[:16]


def _check_bases(cls: type) -> None:
    """Raise `TypeError` unless parameters alone stand behind a framework's base, and before a chunker, to hide none."""
    bases = [base for base in cls.__bases__ if base is not ABC]
    ranks = [1 + hasattr(base, "plan") if issubclass(base, Params) else 0 for base in bases]
    for (rank, base), (later, other) in combinations(zip(ranks, bases, strict=True), 2):
        if rank > later and 1 in (rank, later):
            after = f"after the framework's base, as in class {cls.__name__}(..., {base.__name__})"
            before = f"before the chunker, as in class {cls.__name__}({other.__name__}, ...)"
            msg = f"{cls.__name__}: parameters come {after if rank == 1 else before}"
            raise TypeError(msg)


def parameters(obj: Any, of: type[Params] | None = None) -> dict[str, Any]:
    """Return the hyper-parameters of an object by name; those of class ``of``, if given."""
    return {f.name: getattr(obj, f.name) for f in fields(of or obj) if not f.metadata.get("resource")}


def apply_preset(params: Any) -> None:
    """Set the hyper-parameters of the preset that are not given; log a warning if it has no effect."""
    preset = getattr(params, "preset", None) or ""
    require(isinstance(preset, str), f"preset must be one of {sorted(params.presets)} or None", preset)
    values = params.presets.get(preset, {})
    for name, value in values.items():
        if params._arguments is not None and not is_given(params, name):
            setattr(params, name, value)
    if values and all(getattr(params, name) != value for name, value in values.items()):
        names = ", ".join(values)
        _log.warning("preset %r of %s has no effect: it sets %s only", params.preset, type(params).__name__, names)


def is_given(params: Any, name: str) -> bool:
    """Return True if a hyper-parameter was passed to the constructor (see the module), or differs from its default."""
    return name in (params._arguments or ()) or getattr(params, name) != getattr(type(params), name)


def explicit_parameters(params: Any, of: type[Params] | None = None) -> dict[str, Any]:
    """Return the hyper-parameters that were given, with which a constructor makes the same choices."""
    values = parameters(params, of)
    return values if params._arguments is None else {k: v for k, v in values.items() if is_given(params, k)}


def varied(params: Any, **changes: Any) -> Any:
    """Return a copy built with other values, in which presets and defaults settle what was not given."""
    lent = {f.name: getattr(params, f.name) for f in fields(params) if f.metadata.get("resource")}
    return type(params)(**{**explicit_parameters(params), **lent, **changes})


def one_at_most(params: Any, *names: str) -> dict[str, Any]:
    """Return the hyper-parameter among these that is given and not None; raise `ConfigurationError` if several are."""
    values = {name: value for name in names if is_given(params, name) and (value := getattr(params, name)) is not None}
    require(len(values) <= 1, f"only one of {', '.join(names[:-1])} and {names[-1]} can be given", values)
    return values


def resources(cls: Any, *, changing: bool = False) -> list[str]:
    """Return the names of the resources of a chunker class; with ``changing``, of those that affect the chunks."""
    marked = {f.name: f.metadata for f in fields(cls) if f.metadata.get("resource")}
    return [name for name, own in marked.items() if not changing or own.get("changes", True)]


@cache
def _constructor_parameters(cls: Any) -> Mapping[str, Parameter] | None:
    """Return the parameters of a constructor by name; None if it takes any."""
    _, *parameters = signature(cls.__init__).parameters.values()
    takes_any = any(parameter.kind is Parameter.VAR_KEYWORD for parameter in parameters)
    return None if takes_any else {parameter.name: parameter for parameter in parameters}


@cache
def hints(cls: Any) -> dict[str, Any]:
    """Return the types of the hyper-parameters of a class, by name."""
    return dict(_typed(cls, extras=False))


@cache
def bounds(cls: Any) -> dict[str, Bounds]:
    """Return the ranges of the hyper-parameters of a class that have one, by name; another default keeps it."""
    types = _typed(cls, extras=True)
    return {name: part for name, hint in types for part in get_args(hint)[1:] if isinstance(part, Bounds)}


def _typed(cls: Any, *, extras: bool) -> Iterator[tuple[str, Any]]:
    """Yield the hyper-parameters of a class and their types; those of resources may be for type checkers alone."""
    names = {f.name for f in fields(cls) if not f.metadata.get("resource")}
    for base in reversed(cls.__mro__):
        if issubclass(base, Params):
            own = {name: text for name, text in base.__annotations__.items() if name in names}
            module = vars(sys.modules[base.__module__])
            yield from get_type_hints(SimpleNamespace(__annotations__=own), module, include_extras=extras).items()


def _fits(value: Any, hint: Any) -> bool:
    """Return True if a value has the type that a parameter is annotated with."""
    origin, options = get_origin(hint), get_args(hint)
    if origin is Literal:
        return isinstance(value, str) and value in options
    if origin in {Union, UnionType}:
        return any(_fits(value, option) for option in options)
    if origin is Mapping:
        return isinstance(value, Mapping) and all(isinstance(key, str) for key in value)
    if hint is float:  # not bool, which Python counts as an int
        return isinstance(value, int | float) and not isinstance(value, bool) and abs(value) < math.inf
    return isinstance(value, origin or hint) and not (hint is int and isinstance(value, bool))


def _closest(value: Any, hint: Any) -> str:
    """Return a hint with the option of a parameter that a text is closest to."""
    options = [option for part in (hint, *get_args(hint)) if get_origin(part) is Literal for option in get_args(part)]
    return did_you_mean(value, options) if isinstance(value, str) else ""


def _is_computable(value: Any) -> bool:
    """Return True unless a value is a number on which arithmetic overflows or vanishes."""
    if isinstance(value, float):
        return value == 0 or 1e-100 <= abs(value) <= 1e100
    return not isinstance(value, int) or abs(value) < 2**63


@dataclass(kw_only=True)
class GroupedParams(Params):
    """Hyper-parameters of the chunkers that label units.

    Parameters
    ----------
    contiguous : True cuts where the label changes, so that chunks are passages; False puts distant units with the same
        label together, so that a chunk may have several spans (and no overlap).
    """

    contiguous: bool = True

    def check(self) -> None:
        """Add the rule for overlap."""
        super().check()
        rule = "overlap_tokens must be 0 unless contiguous=True: distant passages have no previous chunk"
        require(self.contiguous or not self.overlap_tokens, rule, self.overlap_tokens)
