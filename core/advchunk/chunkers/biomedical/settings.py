"""The settings of Bio-MCP's chunking and search, from environment variables."""

from __future__ import annotations

import os
from collections.abc import Mapping
from dataclasses import dataclass, fields
from typing import Any

from advchunk.chunkers.biomedical.chunker import BiomedicalAbstractChunker
from advchunk.chunkers.biomedical.params import NAMESPACE
from advchunk.chunkers.biomedical.reranking import Boosts
from advchunk.errors import ConfigurationError, did_you_mean

_PREFIXES = ("BIO_MCP_CHUNKER_", "BIO_MCP_BOOST_", "BIO_MCP_RECENCY_", "BIO_MCP_QUALITY_", "BIO_MCP_UUID_")


@dataclass(frozen=True, kw_only=True)
class Settings:
    """The settings of the strategy, named after their environment variables, in lowercase without ``BIO_MCP_``.

    >>> settings = Settings.from_environment({"BIO_MCP_CHUNKER_MAX_TOKENS": "500", "BIO_MCP_BOOST_RESULTS_SECTION": "0.3"})
    >>> settings.chunker(mesh=True)
    BiomedicalAbstractChunker(max_tokens=500, mesh=True)
    >>> settings.boosts.sections["Results"]
    0.3
    """

    chunker_target_tokens: int = 325
    chunker_max_tokens: int = 450
    chunker_min_tokens: int = 120
    chunker_overlap_tokens: int = 50
    chunker_version: str = "v1.2.0"
    uuid_namespace: str = NAMESPACE
    boost_results_section: float = 0.15
    boost_conclusions_section: float = 0.12
    boost_methods_section: float = 0.05
    boost_background_section: float = 0.02
    quality_boost_factor: float = 0.1
    recency_recent_years: int = 2
    recency_moderate_years: int = 5
    recency_old_years: int = 10

    @classmethod
    def from_environment(cls, environment: Mapping[str, str] | None = None) -> Settings:
        """Read the settings from an environment; None is this process's. Other variables of Bio-MCP are ignored.

        Raises
        ------
        ConfigurationError : a value is not a number, or a variable with one of these prefixes is unknown.
        """
        values = os.environ if environment is None else environment
        settings = {f"BIO_MCP_{field.name.upper()}": field for field in fields(cls)}
        if unknown := sorted(name for name in values if name.startswith(_PREFIXES) and name not in settings):
            msg = f"there is no setting {unknown[0]}{did_you_mean(unknown[0], settings)}"
            raise ConfigurationError(msg)
        present = {field.name: (name, type(field.default)) for name, field in settings.items() if name in values}
        return cls(**{field: _convert(name, values[name], kind) for field, (name, kind) in present.items()})

    @property
    def parameters(self) -> dict[str, Any]:
        """The parameters of the chunker, and of its adapters."""
        names = ("target_tokens", "max_tokens", "min_tokens", "overlap_tokens")
        sizes = {name: getattr(self, f"chunker_{name}") for name in names}
        return {**sizes, "namespace": self.uuid_namespace, "chunker_version": self.chunker_version}

    @property
    def boosts(self) -> Boosts:
        """The boosts for `reranking.rerank`."""
        names = ("results", "conclusions", "methods", "background")
        years = (self.recency_recent_years, self.recency_moderate_years, self.recency_old_years)
        return Boosts(
            sections={name.capitalize(): getattr(self, f"boost_{name}_section") for name in names},
            quality=self.quality_boost_factor,
            recency=tuple((age, boost) for age, (_, boost) in zip(years, Boosts.recency, strict=True)),
        )

    def chunker(self, **others: Any) -> BiomedicalAbstractChunker:
        """Build the chunker with these settings, and other parameters and resources."""
        return BiomedicalAbstractChunker(**{**self.parameters, **others})


def _convert(name: str, value: str, kind: type) -> Any:
    try:
        return kind(value)
    except ValueError:
        msg = f"{name} must be a {'whole ' if kind is int else ''}number, got {value!r}"
        raise ConfigurationError(msg) from None
