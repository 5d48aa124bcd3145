"""Parameters of LangChain's models, checked as those of the core."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any, Self

from pydantic import BaseModel, ConfigDict, ValidationError

from advchunk.chunkers.other_names import check_names
from advchunk.errors import first_line, require


class CheckedModel(BaseModel):
    """Base of models that raise `ConfigurationError`, and whose parameters are not assigned but changed in copies."""

    model_config = ConfigDict(extra="forbid", frozen=True, arbitrary_types_allowed=True)

    def __init__(self, **kwargs: Any) -> None:
        """Take the parameters that the class documents."""
        check_names(type(self).__name__, kwargs, type(self).model_fields)
        try:
            super().__init__(**kwargs)
        except ValidationError as error:
            first = error.errors()[0]
            require(False, f"{'.'.join(map(str, first['loc']))}: {first['msg']}", first["input"])
        except TypeError as error:  # of pydantic, which makes an object of a mapping
            require(False, f"parameters must be objects ({first_line(error)})", kwargs)

    def __setattr__(self, name: str, value: Any) -> None:
        rule = "parameters cannot be assigned: call model_copy(update={...}), or make a new one"
        require(name not in type(self).model_fields, rule, name)
        super().__setattr__(name, value)

    def model_copy(self, *, update: Mapping[str, Any] | None = None, deep: bool = False) -> Self:
        """Return a copy; with ``update``, a new object, whose other parameters are those of this one."""
        copy = super().model_copy(deep=deep)
        return type(self)(**dict(copy) | dict(update)) if update else copy
