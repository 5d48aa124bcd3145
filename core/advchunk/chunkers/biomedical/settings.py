"""Bio-MCP's settings from its environment variables: the parameters of the chunker, and the boosts of search results.

Bio-MCP, "Chunking Strategy", 2025, step 9, and the code of its search service, where boosts multiply the score.
"""

import os
import re
from collections.abc import Mapping
from contextlib import suppress
from typing import Any

from advchunk.chunkers.biomedical.params import BiomedicalAbstractParams
from advchunk.errors import ConfigurationError, did_you_mean, is_number, require
from advchunk.records import written_metadata

BOOSTS = {"Results": 0.15, "Conclusions": 0.12, "Methods": 0.05, "Background": 0.02, "quality": 0.1}
"""The published boosts, as shares of a score: of sections, and of a source of the best quality."""

_RECENCY = ((2, 0.1), (5, 0.05), (10, 0.02))  # years since publication, and the boost of articles of at most that age
_SIZES = ("target_tokens", "max_tokens", "min_tokens", "overlap_tokens")
_PARAMETERS = {f"BIO_MCP_CHUNKER_{name.upper()}": name for name in _SIZES}
_PARAMETERS |= {"BIO_MCP_CHUNKER_VERSION": "chunker_version", "BIO_MCP_UUID_NAMESPACE": "namespace"}
_BOOSTS = {f"BIO_MCP_BOOST_{name.upper()}_SECTION": name for name in BOOSTS if name != "quality"}
_BOOSTS |= {"BIO_MCP_QUALITY_BOOST_FACTOR": "quality"}
_PREFIXES = ("BIO_MCP_CHUNKER_", "BIO_MCP_UUID_", "BIO_MCP_BOOST_", "BIO_MCP_QUALITY_")


def chunker_settings(environment: Mapping[str, str] | None = None) -> dict[str, Any]:
    """Return the chunker's parameters that an environment (None: this process's) sets; wrong ones are errors."""
    defaults = {name: getattr(BiomedicalAbstractParams, name) for name in _PARAMETERS.values()}
    return _read(_PARAMETERS, defaults, environment)


def boosts(environment: Mapping[str, str] | None = None) -> dict[str, float]:
    """Return `BOOSTS` with those that an environment sets; the errors are those of `chunker_settings`."""
    return {**BOOSTS, **_read(_BOOSTS, BOOSTS, environment)}


def boost(metadata: Mapping[str, Any], year: int, boosts: Mapping[str, float] = BOOSTS) -> float:
    """Return the boost of a chunk in a year, by its ``section``, ``quality_total`` (0..1), and ``published_at``.

    A chunk of several sections has the largest of their boosts. A score s becomes ``s * (1 + boost)``.
    """
    metadata = {**metadata, **written_metadata(metadata)}
    share = max(boosts.get(name, 0.0) for name in str(metadata.get("section") or "").split(", "))
    share += boosts["quality"] * float(metadata.get("quality_total") or 0.0)
    if published := re.search(r"\b\d{4}(?!\d)", str(metadata.get("published_at") or metadata.get("year") or "")):
        share += next((tier for years, tier in _RECENCY if year - int(published[0]) <= years), 0.0)
    return share


def _read(names: Mapping[str, str], defaults: Mapping[str, Any], values: Mapping[str, str] | None) -> dict[str, Any]:
    values, variables = os.environ if values is None else values, (*_PARAMETERS, *_BOOSTS)
    if unknown := sorted(name for name in values if name.startswith(_PREFIXES) and name not in variables):
        msg = f"there is no setting {unknown[0]}{did_you_mean(unknown[0], variables)}"
        raise ConfigurationError(msg)
    return {name: _convert(key, values[key], type(defaults[name])) for key, name in names.items() if key in values}


def _convert(variable: str, text: str, kind: type) -> Any:
    value: Any = None
    with suppress(ValueError):
        value = kind(text)
    rule = f"{variable} must be a {'whole' if kind is int else 'finite'} number >= 0"
    require(kind is str or is_number(value), rule, text)
    return value
