"""Names of a package that load their module on first use, and former names that name the new ones."""

import sys
import warnings
from collections.abc import Callable, Mapping
from functools import wraps
from importlib import import_module
from typing import Any, ParamSpec, TypeVar

_P = ParamSpec("_P")
_R = TypeVar("_R")


def lazy_names(
    package: str,
    names: Mapping[str, str],
    moved: Mapping[str, str] | None = None,
    gone: Mapping[str, str] | None = None,
    classes: str = "",
) -> tuple[Callable[[str], Any], Callable[[], list[str]]]:
    """Return ``__getattr__`` and ``__dir__`` for a package whose names are imported on first use.

    Parameters
    ----------
    package : its ``__name__``.
    names : each public name, with the module that defines it: ``"package.module"``, ``".module"``, or
        ``".module:name"`` if it has another name there. The module ``".name"`` is itself the value of ``name``.
    moved : former names, also with their modules. They work after one `DeprecationWarning`; `dir` omits them.
    gone : former names that are in no module, with advice for the `ImportError`.
    classes : ``".module:Suffix"``, a module whose ``__all__`` are further names, which end in the suffix.
    """
    place, _, suffix = classes.partition(":")
    home, moved, gone = sys.modules[package], moved or {}, gone or {}

    def load(name: str, stacklevel: int = 2) -> Any:
        if name in gone:  # an AttributeError would lose the advice where a name is imported
            message = f"{package}.{name} is gone: {gone[name]}"
            raise ImportError(message, name=package)
        if classes and name not in names and (name == "__all__" or name.endswith(suffix)):
            made = import_module(place, package)
            return sorted({*names, *made.__all__}) if name == "__all__" else getattr(made, name)
        if name not in names and name not in moved:
            message = f"module {package!r} has no attribute {name!r}"
            raise AttributeError(message, name=name, obj=home)
        path, _, attribute = (names.get(name) or moved[name]).partition(":")
        module, attribute = import_module(path, package), attribute or name
        if name in moved:
            warn_of_former(f"{package}.{name}", module.__name__, attribute, stacklevel + 1)
        value = module if module.__name__ == f"{package}.{name}" else getattr(module, attribute)
        setattr(home, name, value)  # so that Python does not ask again
        return value

    return load, lambda: sorted({*vars(home), *names, *(load("__all__") if classes else ())} - moved.keys())


def by_module(modules: Mapping[str, str]) -> dict[str, str]:
    """Return the module of each name, given the names of each module, separated by spaces."""
    return {name: module for module, names in modules.items() for name in names.split()}


def warn_of_former(path: str, module: str, name: str, stacklevel: int = 3) -> None:
    """Warn that a name at a former path is now in a module; ``stacklevel`` is that of `warnings.warn` here."""
    warnings.warn(f"{path} is deprecated: import {name} from {module}", DeprecationWarning, stacklevel=stacklevel)


def with_former_keywords(**new: str) -> Callable[[Callable[_P, _R]], Callable[_P, _R]]:
    """Let a function take keywords by their former names, ``former="new"``, after a warning that names the new one."""

    def decorate(function: Callable[_P, _R]) -> Callable[_P, _R]:
        @wraps(function)
        def call(*args: _P.args, **kwargs: _P.kwargs) -> _R:
            for name in new.keys() & kwargs.keys():
                message = f"{name}= of {function.__name__} is deprecated: use {new[name]}="
                warnings.warn(message, DeprecationWarning, stacklevel=2)
                kwargs[new[name]] = kwargs.pop(name)
            return function(*args, **kwargs)

        return call

    return decorate
