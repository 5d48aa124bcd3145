"""Chunkers, readers and embedders of other packages, which declare them as entry points.

In a package's ``pyproject.toml``::

    [project.entry-points."advchunk.chunkers"]
    my-chunker = "my_package:MyChunker"

======================  ====================================================================================
``advchunk.chunkers``   a subclass of `Chunker` whose ``algorithm`` is the name
``advchunk.readers``    a name for ``markup=``: an object with ``read(text, id=, metadata=) -> Document``, such as a
                        module, and with ``suffixes``, those of the files that it reads, as ``(".rst",)``
``advchunk.embedders``  a name for ``embedder=``: a function without parameters that returns an embedder
======================  ====================================================================================

A plugin that cannot be loaded, or has a name of ours, is not used, which is logged once.
"""

import logging
from collections.abc import Collection, Mapping
from functools import cached_property
from typing import TYPE_CHECKING, Any, Literal, TypeAlias

from advchunk.errors import first_line

if TYPE_CHECKING:
    from importlib.metadata import EntryPoint

PluginKind: TypeAlias = Literal["chunkers", "readers", "embedders"]

_log = logging.getLogger("advchunk")


class Plugins:
    """The plugins of a kind.

    Parameters
    ----------
    ours : names that plugins cannot have.
    """

    def __init__(self, kind: PluginKind, ours: Collection[str]) -> None:
        self._kind, self._ours = kind, ours
        self._loaded: dict[str, Any] = {}

    @cached_property
    def declared(self) -> Mapping[str, "EntryPoint"]:
        """The entry points by name; reading them does not load the plugins."""
        from importlib.metadata import entry_points  # slow, and rarely needed

        points = dict[str, "EntryPoint"]()
        for point in entry_points(group=f"advchunk.{self._kind}"):
            if point.name in self._ours:
                self.warn(point, "this is a name of advchunk")
            elif point.name in points:
                self.warn(point, f"{_package(points[point.name])} has the same name")
            else:
                points[point.name] = point
        return points

    def load(self, name: str) -> Any:
        """Return the object of a plugin; None, with a warning, if it cannot be loaded."""
        if name not in self._loaded:
            try:
                self._loaded[name] = self.declared[name].load()
            except Exception as error:  # noqa: BLE001 - it may raise anything, and must not break the rest
                self.warn(self.declared[name], f"{type(error).__name__}: {first_line(error)}")
                self._loaded[name] = None
        return self._loaded[name]

    def warn(self, point: "EntryPoint", reason: str) -> None:
        """Log that a plugin is not used."""
        _log.warning("advchunk.%s: %r of %s is not used: %s", self._kind, point.name, _package(point), reason)

    def source(self, name: str) -> str:
        """Return the package of a plugin, with its version."""
        return _package(self.declared[name], with_version=True)


def _package(point: "EntryPoint", *, with_version: bool = False) -> str:
    if point.dist is None:
        return point.value
    return f"{point.dist.name} {point.dist.version}" if with_version else point.dist.name
