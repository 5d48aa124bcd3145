"""Data: tables of separated values, records of JSON and YAML, and notebooks."""

from advchunk.readers import reader

REGISTRATIONS = (
    reader("csv", "data.separated_values", "tables of separated values", suffixes=(".csv", ".tsv", ".tab")),
    reader("json", "data.objects", "JSON of any other form", shared_suffixes=(".json",), metadata_keys=("json_path",)),
    reader("yaml", "data.yaml", "YAML", extra="yaml", suffixes=(".yaml", ".yml")),
    reader("ipynb", "data.notebooks", "notebooks of Jupyter", suffixes=(".ipynb",)),
)
