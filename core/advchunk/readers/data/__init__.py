"""Data: tables of separated values, records of JSON and YAML, and notebooks."""

from advchunk.registry import Registration

REGISTRATIONS = (
    Registration(
        kind="reader",
        name="csv",
        path="advchunk.readers.data.separated_values",
        summary="tables of separated values",
        suffixes=(".csv", ".tsv", ".tab"),
    ),
    Registration(
        kind="reader",
        name="json",
        path="advchunk.readers.data.objects",
        summary="JSON of any other form",
        shared_suffixes=(".json",),
        metadata_keys=("json_path",),
    ),
    Registration(
        kind="reader",
        name="yaml",
        path="advchunk.readers.data.yaml",
        summary="YAML",
        extra="yaml",
        suffixes=(".yaml", ".yml"),
    ),
    Registration(
        kind="reader",
        name="ipynb",
        path="advchunk.readers.data.notebooks",
        summary="notebooks of Jupyter",
        suffixes=(".ipynb",),
    ),
)
