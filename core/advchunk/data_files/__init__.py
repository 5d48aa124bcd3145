"""Data: tables of separated values, records of JSON and YAML, and notebooks."""

from collections.abc import Mapping
from pathlib import PurePath
from typing import Any

from advchunk.registry import Registration


def detect_json(text: str, name: str = "", metadata: Mapping[str, Any] | None = None) -> str:  # noqa: ARG001
    """Return "json" if a file of that suffix begins like JSON, else ""."""
    is_json = PurePath(name).suffix.lower() == ".json" and text.lstrip("\ufeff \t\r\n")[:1] in ("{", "[")
    return "json" if is_json else ""


REGISTRATIONS = (
    Registration(
        kind="reader",
        name="csv",
        path="advchunk.data_files.separated_values",
        summary="tables of separated values",
        suffixes=(".csv", ".tsv", ".tab"),
        media_types=("text/csv", "text/tab-separated-values"),
    ),
    Registration(
        kind="reader",
        name="json",
        path="advchunk.data_files.objects",
        summary="JSON of any other form",
        shared_suffixes=(".json",),
        media_types=("application/json",),
        detect="advchunk.data_files:detect_json",
    ),
    Registration(
        kind="reader",
        name="yaml",
        path="advchunk.data_files.yaml",
        summary="YAML",
        extra="yaml",
        suffixes=(".yaml", ".yml"),
        media_types=("application/yaml",),
    ),
    Registration(
        kind="reader",
        name="ipynb",
        path="advchunk.data_files.notebooks",
        summary="notebooks of Jupyter",
        suffixes=(".ipynb",),
        media_types=("application/x-ipynb+json",),
    ),
)
