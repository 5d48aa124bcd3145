"""Data: tables of separated values, records of JSON and YAML, and notebooks."""

from typing import Any

from advchunk.registry import Registration

_ROWS: tuple[tuple[str, str, str, dict[str, Any]], ...] = (
    ("csv", "separated_values", "tables of separated values", {"suffixes": (".csv", ".tsv", ".tab")}),
    ("json", "objects", "JSON of any other form", {"shared_suffixes": (".json",), "metadata_keys": ("json_path",)}),
    ("yaml", "yaml", "YAML", {"extra": "yaml", "suffixes": (".yaml", ".yml")}),
    ("ipynb", "notebooks", "notebooks of Jupyter", {"suffixes": (".ipynb",)}),
)
REGISTRATIONS = tuple(
    Registration(kind="reader", name=name, path=f"{__name__}.{module}", summary=summary, **more)
    for name, module, summary, more in _ROWS
)
