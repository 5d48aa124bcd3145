"""Names of resources for fingerprints and caches: a cache may miss, but it never returns another model's answer."""

import os
import pickle
from functools import partial
from hashlib import sha256
from types import CodeType, ModuleType
from typing import Any, Final
from uuid import uuid4

_PROCESS: Final = uuid4().hex  # process ids are reused
# Fields of a framework's model that do not change its answers.
_CALL_SETTINGS = {
    "batch_size",
    "embed_batch_size",
    "chunk_size",
    "num_workers",
    "timeout",
    "max_retries",
    "show_progress",
}


def identity(resource: Any, _seen: tuple[Any, ...] = ()) -> str:
    """Name a resource for fingerprints and caches, so that two that may answer differently have different names.

    The name is that of the type or function, and the model's name if it has one, else a digest of its state. A resource
    that cannot be pickled has a different name in each process. The name reveals nothing that the resource holds.
    """
    if resource is None or isinstance(resource, (str, int, float)):
        return repr(resource)
    if isinstance(resource, (tuple, list)):
        return _digest([identity(item, _seen) for item in resource])
    if isinstance(resource, partial):
        args = [identity(value, _seen) for value in resource.args]
        keywords = [(name, identity(value, _seen)) for name, value in resource.keywords.items()]
        return f"{identity(resource.func, _seen)}({_digest(args, keywords)})"
    if hasattr(resource, "to_str"):  # tokenizers.Tokenizer
        return _digest(resource.to_str())
    kind = resource if hasattr(resource, "__qualname__") else type(resource)
    name = f"{getattr(kind, '__module__', None)}.{kind.__qualname__}"
    if label := own_identity(resource) or model_name(resource):
        return f"{name}:{label}{_settings(resource)}{_variant(resource)}"
    return f"{name}:{_digest_state(resource, _seen)}"


def _settings(model: Any) -> str:
    """Return a digest of the plain fields of a framework's model (pydantic's), such as its dimensions."""
    names = [name for name in getattr(type(model), "model_fields", ()) if name not in _CALL_SETTINGS]
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


def _digest_state(resource: Any, seen: tuple[Any, ...]) -> str:
    if any(resource is other for other in seen):  # a function may hold itself
        return ""
    seen = (*seen, resource)
    owner = getattr(resource, "__self__", None)
    if owner is not None and not isinstance(owner, ModuleType):
        return _digest(identity(owner, seen))
    code = getattr(resource, "__code__", None)
    try:
        if not (code and resource.__module__ == "__main__"):  # where a notebook may define a name again
            return sha256(pickle.dumps(resource)).hexdigest()[:16]
    except (pickle.PicklingError, TypeError, AttributeError, ValueError, RuntimeError):
        if not code:
            return _digest(_PROCESS, os.getpid(), id(resource))
    # A lambda or a local function has no unique name.
    values = [_cell_identity(cell, seen) for cell in resource.__closure__ or ()]
    defaults = (*(resource.__defaults__ or ()), *(resource.__kwdefaults__ or {}).values())
    return _digest(_code_parts(code), values, [identity(value, seen) for value in defaults])


def _digest(*parts: Any) -> str:
    return sha256(repr(parts).encode("utf-8", "surrogatepass")).hexdigest()[:16]


def _code_parts(code: CodeType) -> tuple[Any, ...]:
    # Nested code, such as a lambda, is a constant whose repr holds an address.
    constants = [_code_parts(value) if isinstance(value, CodeType) else repr(value) for value in code.co_consts]
    return code.co_code, code.co_names, constants


def _cell_identity(cell: Any, seen: tuple[Any, ...]) -> str:
    try:
        return identity(cell.cell_contents, seen)
    except ValueError:  # an empty cell
        return ""


def own_identity(model: Any) -> str:
    """Return the name that a model of this package gives itself and its settings, or an empty string."""
    return name if isinstance(name := getattr(model, "identity", None), str) else ""


def model_name(model: Any) -> str:
    """Return the name of a model, or an empty string."""
    for attribute in ("model_name", "model", "model_name_or_path", "name_or_path", "name"):
        if isinstance(value := getattr(model, attribute, None), str):
            return value
    try:
        return str(sentence_transformer(model)[0].auto_model.config.name_or_path)
    except (AttributeError, TypeError, IndexError):
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
