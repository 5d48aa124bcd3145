"""Names of a package that load their module on first use, and former names that say where they are now."""

import sys
import warnings
from collections.abc import Callable, Mapping
from importlib import import_module
from typing import Any


def lazy_names(
    package: str,
    names: Mapping[str, str],
    moved: Mapping[str, str] | None = None,
    gone: Mapping[str, str] | None = None,
) -> tuple[Callable[[str], Any], Callable[[], list[str]]]:
    """Return ``__getattr__`` and ``__dir__`` for a package whose names are imported on first use.

    Parameters
    ----------
    package : its ``__name__``.
    names : each public name, with the module that defines it: ``"package.module"``, ``".module"``, or
        ``".module:name"`` if it has another name there. The module ``".name"`` is itself the value of ``name``.
    moved : former names, also with their modules. They work after one `DeprecationWarning`; `dir` omits them.
    gone : former names that are in no module, with advice for the `ImportError`.
    """
    home, moved, gone = sys.modules[package], moved or {}, gone or {}

    def load(name: str) -> Any:
        if name in gone:  # an AttributeError would lose the advice where a name is imported
            message = f"{package}.{name} is gone: {gone[name]}"
            raise ImportError(message, name=package)
        if name not in names and name not in moved:
            message = f"module {package!r} has no attribute {name!r}"
            raise AttributeError(message, name=name, obj=home)
        path, _, attribute = (names.get(name) or moved[name]).partition(":")
        module, attribute = import_module(path, package), attribute or name
        if name in moved:
            message = f"{package}.{name} is deprecated: import {attribute} from {module.__name__}"
            warnings.warn(message, DeprecationWarning, stacklevel=2)
        value = module if module.__name__ == f"{package}.{name}" else getattr(module, attribute)
        setattr(home, name, value)  # so that Python does not ask again
        return value

    return load, lambda: sorted({*vars(home), *names} - moved.keys())
