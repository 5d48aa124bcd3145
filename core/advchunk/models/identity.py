"""Names of resources for fingerprints and caches: a cache may miss, but never lies."""

from __future__ import annotations

import os
import pickle
from functools import partial
from hashlib import sha256
from types import CodeType, ModuleType
from typing import Any, Final
from uuid import uuid4


def identity(resource: Any) -> str:
    """Name a resource for fingerprints and caches, so that two which may answer differently have different names.

    It is the type or function, and the model's name if it has one, else a digest of what it does and holds. What
    cannot be read has another name in each process: a cache then misses, but never lies. Nothing held is shown.
    """
    return _identity(resource, ())


_PROCESS: Final = uuid4().hex  # process ids come again


def _identity(resource: Any, within: tuple[Any, ...]) -> str:
    if resource is None or isinstance(resource, (str, int, float)):
        return repr(resource)
    if isinstance(resource, (tuple, list)):
        return _digest([_identity(one, within) for one in resource])
    if isinstance(resource, partial):
        given = [_identity(value, within) for value in resource.args]
        named = [(name, _identity(value, within)) for name, value in resource.keywords.items()]
        return f"{_identity(resource.func, within)}({_digest(given, named)})"
    if hasattr(resource, "to_str"):  # tokenizers.Tokenizer
        return _digest(resource.to_str())
    kind = resource if hasattr(resource, "__qualname__") else type(resource)
    name = f"{getattr(kind, '__module__', None)}.{kind.__qualname__}"
    if said := model_name(resource):
        return f"{name}:{said}{_settings(resource)}"
    return f"{name}:{_content(resource, within)}"


# How a framework's model is called, which changes no answer.
_CALLED = frozenset(
    {"batch_size", "embed_batch_size", "chunk_size", "num_workers", "timeout", "max_retries", "show_progress"}
)


def _settings(model: Any) -> str:
    """Tell apart a framework's models (pydantic's) of one name that were given other settings, such as dimensions."""
    said = {
        name: getattr(model, name, None) for name in getattr(type(model), "model_fields", ()) if name not in _CALLED
    }
    plain = {name: value for name, value in said.items() if _is_plain(value)}
    return f" {_digest(sorted(plain.items()))}" if plain else ""


def _is_plain(value: Any) -> bool:
    if isinstance(value, dict):
        return all(map(_is_plain, (*value, *value.values())))
    if isinstance(value, (list, tuple)):
        return all(map(_is_plain, value))
    return value is None or isinstance(value, (str, int, float))


def _content(resource: Any, within: tuple[Any, ...]) -> str:
    """Tell apart what goes by one name, by what it does and holds."""
    if any(resource is one for one in within):  # a function may hold itself
        return ""
    within = (*within, resource)
    owner = getattr(resource, "__self__", None)
    bound = "" if owner is None or isinstance(owner, ModuleType) else _identity(owner, within)
    if code := getattr(resource, "__code__", None):
        held = [_held(cell, within) for cell in resource.__closure__ or ()]
        defaults = (*(resource.__defaults__ or ()), *(resource.__kwdefaults__ or {}).values())
        return _digest(_does(code), held, [_identity(value, within) for value in defaults], bound)
    if bound:
        return _digest(bound)
    try:
        return sha256(pickle.dumps(resource)).hexdigest()[:16]
    except (pickle.PicklingError, TypeError, AttributeError, ValueError, RuntimeError):
        return _digest(_PROCESS, os.getpid(), id(resource))


def _digest(*parts: Any) -> str:
    return sha256(repr(parts).encode("utf-8", "surrogatepass")).hexdigest()[:16]


def _does(code: CodeType) -> tuple[Any, ...]:
    # What stands inside, such as a comprehension, is a constant; its repr would be an address.
    constants = [_does(c) if isinstance(c, CodeType) else repr(c) for c in code.co_consts]
    return code.co_code, code.co_names, constants


def _held(cell: Any, within: tuple[Any, ...]) -> str:
    try:
        return _identity(cell.cell_contents, within)
    except ValueError:  # not given a value yet
        return ""


def model_name(model: Any) -> str:
    """Return the name a model goes by, or nothing."""
    for attribute in ("model_name", "model", "model_name_or_path", "name_or_path", "name"):
        value = getattr(model, attribute, None)
        if isinstance(value, str):
            return value
    encoder = sentence_transformer(model)
    try:
        return str(encoder[0].auto_model.config.name_or_path)
    except (AttributeError, TypeError, IndexError):
        return ""


def sentence_transformer(model: Any) -> Any:
    """Return the SentenceTransformer that a model is, or that LangChain's or LlamaIndex's wrapper holds."""
    for candidate in (model, *(getattr(model, name, None) for name in ("_client", "client", "_model"))):
        if hasattr(candidate, "max_seq_length") and hasattr(candidate, "encode"):
            return candidate
    return None
