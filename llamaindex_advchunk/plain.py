"""Fields that LlamaIndex's components keep, as far as their values are plain."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import fields
from pathlib import Path
from typing import Any

from llama_index.core.callbacks import CallbackManager
from llama_index.core.schema import BaseComponent
from pydantic import BaseModel, GetCoreSchemaHandler, ValidationError
from pydantic_core import core_schema

from advchunk.chunkers.other_names import check_names
from advchunk.errors import ConfigurationError, require
from advchunk.retrieval import PassageCutter, WindowScoring


class Resource:
    """Validates a field by its class alone, or leaves it to the core, because pydantic cannot validate Protocols."""

    def __init__(self, cls: type | None = None) -> None:
        self._cls = cls

    def __get_pydantic_core_schema__(self, source: Any, handler: GetCoreSchemaHandler) -> core_schema.CoreSchema:
        return core_schema.is_instance_schema(self._cls) if self._cls else core_schema.any_schema()


UNCHECKED = Resource()


class Named(BaseComponent):
    """Base of components with a name of ours."""

    @classmethod
    def class_name(cls) -> str:
        """Return the name under which LlamaIndex serializes this component."""
        return f"advchunk.{cls.__name__}"


class PlainFields(Named):
    """Base of components with fields that may be objects, which pydantic leaves out (``exclude=True``).

    `to_dict` has those whose values are plain: names, numbers, texts, lists of these, and settings of the core.
    """

    def __init__(self, **data: Any) -> None:
        """Raise `advchunk.ConfigurationError` instead of pydantic's error, which repeats all input."""
        check_names(type(self).__name__, data, type(self).model_fields)
        try:
            super().__init__(**data)
        except ValidationError as error:
            first = error.errors()[0]
        else:
            return
        cause = first.get("ctx", {}).get("error")
        if isinstance(cause, ConfigurationError):
            raise cause
        require(False, f"{'.'.join(map(str, first['loc']))}: {first['msg']}", first["input"])

    # LlamaIndex drops attributes that cannot be pickled, from the original too; pydantic raises instead.
    def __getstate__(self) -> dict[str, Any]:
        state = BaseModel.__getstate__(self)
        attributes = {name: value for name, value in self.__dict__.items() if name != "callback_manager"}
        return {**state, "__dict__": attributes}

    def __setstate__(self, state: dict[str, Any]) -> None:
        manager = {"callback_manager": CallbackManager([])} if "callback_manager" in type(self).model_fields else {}
        BaseModel.__setstate__(self, {**state, "__dict__": {**state["__dict__"], **manager}})

    def to_dict(self, **kwargs: Any) -> dict[str, Any]:
        """Return the fields with plain values; objects, such as models and stores, and URLs of caches are left out."""
        values = {
            name: plain(getattr(self, name))
            for name, info in type(self).model_fields.items()
            if info.exclude and getattr(self, name) != info.default and not _is_private(name, getattr(self, name))
        }
        own = {name: value for name, value in values.items() if value is not _OBJECT}
        return {**super().to_dict(**kwargs), **own}


_OBJECT: Any = object()


def plain(value: Any) -> Any:
    """Return a value as JSON has it; ``_OBJECT`` if it has none.

    >>> plain([512, Path("docs")]), plain(len) is _OBJECT
    ([512, 'docs'], True)
    """
    if value is None or isinstance(value, (bool, int, float, str)):
        return value
    if isinstance(value, Path):
        return str(value)
    if isinstance(value, (PassageCutter, WindowScoring)):
        pairs = [(own.name, plain(getattr(value, own.name))) for own in fields(value)]
        return {name: item for name, item in pairs if item is not _OBJECT}
    if isinstance(value, (list, tuple)):
        items = list(map(plain, value))
        return _OBJECT if any(item is _OBJECT for item in items) else items
    if isinstance(value, Mapping) and all(isinstance(key, str) for key in value):
        items = plain(list(value.values()))
        return _OBJECT if items is _OBJECT else dict(zip(value, items, strict=True))
    return _OBJECT


def _is_private(name: str, value: Any) -> bool:
    """Return True for the contents of a cache, or its URL, which may hold a password."""
    return name == "cache" and (isinstance(value, Mapping) or (isinstance(value, str) and "://" in value))
