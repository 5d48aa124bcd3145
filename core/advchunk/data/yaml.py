"""Read YAML as JSON."""

from advchunk.data.objects import read_yaml as read

__all__ = ["read"]
