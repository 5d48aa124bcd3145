"""Names of resources for fingerprints and caches: a cache may miss, but it never returns another model's answer."""

import logging
import os
import pickle
import sys
from contextlib import suppress
from functools import cache, partial
from hashlib import sha256
from inspect import iscoroutine
from types import ModuleType
from typing import Any, Final
from uuid import uuid4
from weakref import WeakKeyDictionary

from advchunk.errors import ConfigurationError, mask

_PROCESS: Final = uuid4().hex  # process ids are reused
_GIVEN: WeakKeyDictionary[Any, str] = WeakKeyDictionary()  # names of resources without a lasting one
_log = logging.getLogger("advchunk")
# Fields of a framework's model that do not change its answers.
_NEUTRAL = {"batch_size", "embed_batch_size", "chunk_size", "num_workers", "timeout", "max_retries", "show_progress"}


def identity(resource: Any) -> str:
    """Name a resource for fingerprints and caches: two that may answer differently have two names.

    The name is that of the type or function, and the model's with its plain settings, else a digest of the pickled
    state; a function's code does not count. What cannot be pickled, or a notebook defines, has another name in each
    process, and one warning says so. The name reveals nothing that the resource holds.
    """
    if resource is None or isinstance(resource, (str, int, float)):
        return repr(resource)
    if isinstance(resource, partial):
        resource = resource.func, resource.args, *resource.keywords.items()
    if isinstance(resource, (tuple, list)):
        return _digest([identity(item) for item in resource])
    if hasattr(resource, "to_str"):  # tokenizers.Tokenizer
        return _digest(resource.to_str())
    name = type_name(resource)
    if label := own_identity(resource) or model_name(resource):
        return f"{name}:{label}{_settings(resource)}{_variant(resource)}"
    owner = getattr(resource, "__self__", None)
    if owner is not None and not isinstance(owner, ModuleType):
        return f"{name}:{_digest(identity(owner))}"
    return f"{name}:{_lasting_digest(resource) or _process_digest(resource, name)}"


def type_name(resource: Any) -> str:
    """Return the name of a function or class, else of a resource's type, with its module."""
    kind = resource if hasattr(resource, "__qualname__") else type(resource)
    return f"{getattr(kind, '__module__', None)}.{kind.__qualname__}"


def _lasting_digest(resource: Any) -> str:
    """Return a digest of the pickled state; an empty string if another process would not know it."""
    notebook = not hasattr(sys.modules["__main__"], "__file__")  # or a console, which may define a name again
    with suppress(pickle.PicklingError, TypeError, AttributeError, ValueError, RuntimeError):
        if not notebook or getattr(resource, "__module__", "") != "__main__":
            return sha256(pickle.dumps(resource)).hexdigest()[:16]
    return ""


def _process_digest(resource: Any, name: str) -> str:
    """Return a digest that no other resource has, here or in another process."""
    _warn_of_short_name(name)
    try:
        return _GIVEN.setdefault(resource, uuid4().hex[:16])
    except TypeError:  # no hash, or no weak references
        return _digest(_PROCESS, os.getpid(), id(resource))


@cache
def _warn_of_short_name(name: str) -> None:
    _log.warning("%s has another name in each process, so caches do not last: set its model_name, or import it", name)


def _settings(model: Any) -> str:
    """Return a digest of the plain fields of a framework's model (pydantic's), such as its dimensions."""
    names = [name for name in getattr(type(model), "model_fields", ()) if name not in _NEUTRAL]
    values = {name: value for name in names if _is_plain(value := getattr(model, name, None))}
    return f" {_digest(sorted(values.items()))}" if values else ""


def _variant(model: Any) -> str:
    """Return a digest of the settings of a SentenceTransformer, or of a wrapped one, that change its vectors."""
    if (encoder := sentence_transformer(model)) is None:
        return ""
    settings = [getattr(encoder, name, None) for name in ("backend", "truncate_dim", "max_seq_length")]
    return f" {_digest(precision(encoder), *settings, prompt_of(model))}"


def _is_plain(value: Any) -> bool:
    if isinstance(value, (dict, list, tuple)):
        return all(map(_is_plain, (*value, *(value.values() if isinstance(value, dict) else ()))))
    return value is None or isinstance(value, (str, int, float))


def _digest(*parts: Any) -> str:
    return sha256(repr(parts).encode("utf-8", "surrogatepass")).hexdigest()[:16]


def own_identity(model: Any) -> str:
    """Return the name that a model of this package gives itself and its settings, or an empty string."""
    return name if isinstance(name := getattr(model, "identity", None), str) else ""


def lasting_identity(model: Any) -> str:
    """Return the name that a model gives itself, or its `identity`; an empty string if it has no name."""
    return own_identity(model) or (identity(model) if model_name(model) else "")


def not_awaitable(answer: Any, kind: str) -> Any:
    """Return the answer of a user's function to a synchronous call; raise `ConfigurationError` for a coroutine."""
    if iscoroutine(answer):
        answer.close()  # or Python warns that it was never awaited
        msg = f"an async {kind} needs an async call, such as achunk or achunk_many"
        raise ConfigurationError(msg)
    return answer


def model_name(model: Any) -> str:
    """Return the name of a model, or an empty string."""
    for attribute in ("model_name", "model", "model_name_or_path", "name_or_path", "name"):
        if isinstance(value := getattr(model, attribute, None), str):
            return mask(value)  # it may be an address
    with suppress(AttributeError, TypeError, IndexError):
        return str(sentence_transformer(model)[0].auto_model.config.name_or_path)
    return ""


def sentence_transformer(model: Any) -> Any:
    """Return a SentenceTransformer, or the one inside LangChain's or LlamaIndex's wrapper; None if there is none."""
    for candidate in (model, *(getattr(model, name, None) for name in ("_client", "client", "_model"))):
        if hasattr(candidate, "max_seq_length") and hasattr(candidate, "encode"):
            return candidate
    return None


def prompt_of(model: Any) -> str:
    """Return the prompt before each text of a SentenceTransformer, or of a framework's wrapper of one."""
    encoder = sentence_transformer(model)
    instruction = getattr(model, "text_instruction", None)  # of LlamaIndex
    default = (getattr(encoder, "prompts", None) or {}).get(getattr(encoder, "default_prompt_name", None))
    return "".join(prompt for prompt in (instruction, default) if isinstance(prompt, str))


def precision(encoder: Any) -> str:
    """Return the type of a SentenceTransformer's weights, such as "float16"; an empty string if it holds none."""
    weights = next(encoder.parameters(), None) if hasattr(encoder, "parameters") else None
    return "" if weights is None else str(weights.dtype).removeprefix("torch.")
