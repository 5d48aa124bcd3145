"""Read YAML as JSON."""

from advchunk.data_files.objects import read_yaml as read

__all__ = ["read"]
