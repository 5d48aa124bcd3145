"""Read YAML as JSON."""

from advchunk.readers.data.objects import read_yaml as read

__all__ = ["read"]
