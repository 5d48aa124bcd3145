"""Chunkers, readers and embedders of other packages, which declare them as entry points.

In a package's ``pyproject.toml``::

    [project.entry-points."advchunk.chunkers"]
    my-chunker = "my_package:MyChunker"

======================  ====================================================================================
``advchunk.chunkers``   a subclass of `Chunker` whose ``algorithm`` is the name
``advchunk.readers``    a name for ``markup=``: an object with ``read(text, id=, metadata=) -> Document``, such as a
                        module, and with ``suffixes``, the file names' that it reads (``(".rst",)``)
``advchunk.embedders``  a name for ``embedder=``: a function without parameters that returns an embedder
======================  ====================================================================================

A plugin that cannot be loaded is a warning, once. Names of ours are never replaced.
"""

import logging
from collections.abc import Mapping
from functools import cache
from typing import TYPE_CHECKING, Any, Literal, TypeAlias

from advchunk.errors import first_line

if TYPE_CHECKING:
    from importlib.metadata import EntryPoint

PluginKind: TypeAlias = Literal["chunkers", "readers", "embedders"]

_log = logging.getLogger("advchunk")


@cache
def declared_plugins(kind: PluginKind) -> Mapping[str, "EntryPoint"]:
    """Return the entry points of a kind by name, without loading them."""
    from importlib.metadata import entry_points  # slow, and needed for names that are not ours

    return {point.name: point for point in entry_points(group=f"advchunk.{kind}")}


@cache
def load_plugin(kind: PluginKind, name: str) -> Any:
    """Return the object of an entry point; None, with a warning, if it cannot be loaded, or is not declared."""
    point = declared_plugins(kind).get(name)
    if point is None:
        return None
    try:
        return point.load()
    except Exception as error:  # noqa: BLE001 - the plugin may raise anything, and must not break the rest
        warn(kind, name, f"{type(error).__name__}: {first_line(error)}")
        return None


def warn(kind: PluginKind, name: str, reason: str) -> None:
    """Log that a plugin is not used."""
    point = declared_plugins(kind)[name]
    package = point.dist.name if point.dist else point.value
    _log.warning("advchunk.%s: %r of %s is not used: %s", kind, name, package, reason)


def plugin_source(kind: PluginKind, name: str) -> str:
    """Return the package of a plugin, and its version."""
    dist = declared_plugins(kind)[name].dist
    return f"{dist.name} {dist.version}" if dist else declared_plugins(kind)[name].value
