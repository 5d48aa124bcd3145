"""The chunkers by name."""

import json
from collections.abc import Mapping
from dataclasses import fields
from functools import cache
from importlib.resources import files
from inspect import getdoc
from typing import Any

from advchunk import registry
from advchunk.chunkers import gate
from advchunk.chunkers.base import Chunker, VectorsChunker
from advchunk.chunkers.docstrings import EXPERIMENTAL
from advchunk.chunkers.other_names import check_names, method_hint
from advchunk.chunkers.params import ChunkerGroup, Params, resources
from advchunk.errors import ConfigurationError, checked
from advchunk.registry import Registration

_WARNINGS = (
    "experimental: results, parameters and speed may change in any release, and are not guaranteed",
    "for production use a stable chunker such as optimal-semantic, which is also the fallback of this one",
)
_FEW_KINDS = 3  # kinds of texts below which sensitivity is little known
_DEFAULTS = ("optimal-semantic", "recursive")  # by benchmarks/defaults.py; the second if the first is not there
_DEFAULT_MINIMUM = 64


@checked
def names(group: ChunkerGroup | None = None) -> list[str]:
    """Return the names of the chunkers, of one group or all: stable ones first, and those of other packages last."""
    groups = {row.name: group_of(row) for row in registry.rows_of("chunker")}
    ordered = sorted(groups, key=lambda name: groups[name] == "experimental")
    return [name for name in ordered if groups[name] and group in (None, groups[name])]


def register(chunker: type[Chunker], source: str = "") -> None:
    """Add a chunker class under its ``algorithm``, or redefine it; raise `ConfigurationError` if another has it."""
    experimental = chunker.group == "experimental"
    path = f"{chunker.__module__}:{chunker.__qualname__}"
    row = Registration(
        kind="chunker", name=chunker.algorithm, path=path, source=source, experimental=experimental, target=chunker
    )
    registry.put(row)


def group_of(row: Registration) -> ChunkerGroup | None:
    """Return the group of a chunker; None, with a warning, if it cannot be used."""
    if row.experimental is None:  # the row of another package that does not say it
        chunker = _usable(row)
        return chunker.group if chunker else None
    return "experimental" if row.experimental else "stable"


def chunker_class(name: str) -> type[Chunker]:
    """Return the class of a chunker; raise `ConfigurationError` if there is none of that name."""
    row = registry.find("chunker", name)
    if row is None or not (chunker := _usable(row)):
        every = names()
        msg = f"no chunker {name!r}{method_hint(str(name), every) or '; there are ' + ', '.join(every)}"
        raise ConfigurationError(msg)
    return chunker


@cache
def _usable(row: Registration) -> type[Chunker] | None:
    """Return the class of a row; None, with a warning, if it is not that of a chunker of the row's name."""
    chunker: Any = row.load()
    if isinstance(chunker, type) and issubclass(chunker, Chunker) and chunker.algorithm == row.name:
        return chunker
    if chunker is not None:
        row.reject(f"it must be a subclass of Chunker with algorithm = {row.name!r}")
    return None


def default_name(*preferred: str) -> str:
    """Return the first of the preferred chunkers that is there; by default that of `auto` and of fallbacks."""
    return next(name for name in (*preferred, *_DEFAULTS) if registry.find("chunker", name))


def default_chunker() -> type[Chunker]:
    """Return the class of `default_name`."""
    return chunker_class(default_name())


def create_default(**params: Any) -> Chunker:
    """Build the default chunker, with chunks of 64 tokens or more unless ``min_tokens`` is given.

    Without a minimum `optimal-semantic` makes each sentence a chunk where a few sentences are repeated word for word.
    The minimum changes no figure of benchmarks/defaults.py by more than .002.
    """
    chunker = default_chunker()
    most = params.get("max_tokens", chunker.max_tokens) // 2
    return chunker(**{**params, "min_tokens": params.get("min_tokens") or min(_DEFAULT_MINIMUM, most)})


def required_model(name: str) -> str | None:
    """Return the model that must be passed to a chunker: "lm", "llm" or None."""
    chunker_class(name)
    row = registry.find("chunker", name)
    return row.needs or None if row else None


def cuts_by_embeddings(name: str) -> bool:
    """Return True if a chunker uses its embedder to cut, and not only for the vectors of chunks."""
    return issubclass(chunker_class(name), VectorsChunker)


def is_general_purpose(name: str) -> bool:
    """Return True if a chunker needs no model, and chunks texts of any kind as they are, at one level."""
    chunker = chunker_class(name)
    return required_model(name) is None and chunker.reads_all_formats() and chunker.is_flat and chunker.markup != "auto"


@checked
def create(name: str, *, experimental: bool | None = None, **params: Any) -> Chunker:
    """Build the chunker ``name`` from its parameters and resources.

    Raises
    ------
    ConfigurationError : no such name or parameter, a value that breaks a rule, or an experimental name not allowed.

    >>> create("recursive", max_tokens=300).chunk("Short.")[0].spans
    (Span(start=0, end=6),)
    """
    chunker = chunker_class(name)
    gate.check_experimental(experimental)
    if chunker.group == "experimental":
        gate.require_experimental(name, experimental)
    accepted = [field.name for field in fields(chunker)]
    if "experimental" in accepted:  # it chooses among chunkers
        params["experimental"] = experimental
    check_names(name, params, accepted)
    return chunker(**params)


@checked
def describe(name: str) -> dict[str, Any]:
    """Return the parameters, documentation and other facts of a chunker; JSON-able.

    >>> describe("recursive")["parameters"]["max_tokens"]
    512
    """
    chunker = chunker_class(name)
    row, params = registry.find("chunker", name), params_of(chunker)
    experimental = chunker.group == "experimental"
    return {
        "name": name,
        "group": chunker.group,
        "experimental": experimental,
        "warnings": [*(_WARNINGS if experimental else ()), *_sensitivity_warnings(name)],
        "needs": required_model(name),
        "extra": (row and row.extra) or None,
        "source": row and row.source,
        "summary": summary(name),
        "documentation": getdoc(params) or "",
        "parameters": {f.name: f.default for f in fields(params)},
        "presets": {name: dict(values) for name, values in chunker.presets.items()},
        "resources": resources(chunker),
    }


def _sensitivity_warnings(name: str) -> list[str]:
    """Return the warnings about parameters, of each measured preset, and what was not measured."""
    rows = {label: row for label, row in sensitivities()["chunkers"].items() if label.partition(",")[0] == name}
    if not rows:
        return ["not measured: how sensitive it is to its parameters is unknown"]
    measured = "sensitivity to parameters was measured"
    models = [f"{measured} with {row['model']} only" for row in rows.values() if "model" in row]
    every = sensitivities()["types"]
    kinds = rows.get(name, next(iter(rows.values()))).get("types", every)  # of the defaults; left out if they are all
    few = [f"{measured} on {len(kinds)} of {len(every)} kinds of texts only"] * (len(kinds) < _FEW_KINDS)
    return [row["warning"] for row in rows.values() if "warning" in row] + models + few


@cache
def sensitivities() -> Mapping[str, Any]:
    """Return the results of benchmarks/robustness.py; ``chunkers`` is by name, or by name and preset."""
    results: Mapping[str, Any] = json.loads(files("advchunk.chunkers").joinpath("sensitivity.json").read_text("utf-8"))
    return results


def params_of(chunker: type[Chunker]) -> type[Params]:
    """Return the class of a chunker's hyper-parameters."""
    return next(c for c in chunker.__mro__ if issubclass(c, Params) and not issubclass(c, Chunker))


def summary(name: str) -> str:
    """Return the summary line of a chunker: that of its row, else that of its parameters."""
    row = registry.find("chunker", name)
    if row and row.summary:
        return row.summary
    first = (getdoc(params_of(chunker_class(name))) or "").partition("\n")[0]
    return first.removesuffix(EXPERIMENTAL).replace("``", "")
