"""Data: tables of separated values, records of JSON and YAML, and notebooks."""

from advchunk.registry import Registration

REGISTRATIONS = (
    Registration(
        kind="reader",
        name="csv",
        path="advchunk.readers.data.separated_values",
        summary="tables of separated values",
        suffixes=(".csv", ".tsv", ".tab"),
        media_types=("text/csv", "text/tab-separated-values"),
    ),
    Registration(
        kind="reader",
        name="json",
        path="advchunk.readers.data.objects",
        summary="JSON of any other form",
        shared_suffixes=(".json",),
        media_types=("application/json",),
        metadata_keys=("json_path",),
    ),
    Registration(
        kind="reader",
        name="yaml",
        path="advchunk.readers.data.yaml",
        summary="YAML",
        extra="yaml",
        suffixes=(".yaml", ".yml"),
        media_types=("application/yaml",),
    ),
    Registration(
        kind="reader",
        name="ipynb",
        path="advchunk.readers.data.notebooks",
        summary="notebooks of Jupyter",
        suffixes=(".ipynb",),
        media_types=("application/x-ipynb+json",),
    ),
)
