"""Data: tables of separated values, records of JSON and YAML, and notebooks."""

from advchunk.readers import row

REGISTRATIONS = (
    row("csv", "data.separated_values", "tables of separated values", suffixes=(".csv", ".tsv", ".tab")),
    row("json", "data.objects", "JSON of any other form", shared_suffixes=(".json",), metadata_keys=("json_path",)),
    row("yaml", "data.yaml", "YAML", extra="yaml", suffixes=(".yaml", ".yml")),
    row("ipynb", "data.notebooks", "notebooks of Jupyter", suffixes=(".ipynb",)),
)
