"""Anything that counts tokens, behind one face. Libraries are recognized by method, never imported."""

from __future__ import annotations

import re
from collections.abc import Callable, Sized
from dataclasses import dataclass
from functools import lru_cache, partial
from importlib.util import find_spec
from typing import Any, Protocol, SupportsIndex, TypeAlias

from advchunk.errors import (
    ConfigurationError,
    MissingExtra,
    ModelUnavailable,
    check_spelling,
    first_line,
)
from advchunk.models.static import default_embedder
from advchunk.text.counters import CHARACTERS, WORDS, CallableCounter, Counter


class _Encoder(Protocol):  # tiktoken, tokenizers, transformers
    def encode(self, text: str, /) -> Sized: ...


# What `as_counter` takes.
TokenizerLike: TypeAlias = str | Counter | _Encoder | Callable[[str], Sized | SupportsIndex] | None


def as_counter(tokenizer: TokenizerLike = None, embedder: object = None) -> Counter:
    """Coerce a tokenizer to a `Counter`.

    Parameters
    ----------
    tokenizer : "tokens" (the embedded WordPiece, with one token for every two characters of a word
        unknown to it), "words" or "characters"; the name of a tiktoken encoding or model, or else of
        a Hugging Face tokenizer; a tokenizer object of tiktoken, ``tokenizers`` or ``transformers``;
        a callable that returns the tokens of a text or their number. None follows the embedder, if
        that has a ``tokenizer``.

    Raises
    ------
    ConfigurationError : anything else, or a name nearly one of these.
    MissingExtra, ModelUnavailable : a name whose library or files are not here.

    >>> as_counter("words")("two words"), as_counter(len)("four"), as_counter()("It works.")
    (2, 4, 3)
    """
    if tokenizer is None:
        tokenizer = getattr(embedder, "tokenizer", None) or "tokens"
    if tokenizer is len:
        tokenizer = "characters"
    if isinstance(tokenizer, str):
        tokenizer = _named(tokenizer)
    for method, make in _KINDS.items():
        if hasattr(tokenizer, method):
            return make(tokenizer)
    call = tokenizer if callable(tokenizer) else getattr(tokenizer, "encode", None)
    if call is None:
        msg = f"a tokenizer is a name, a callable or has encode, got {type(tokenizer).__qualname__}"
        raise ConfigurationError(msg)
    return CallableCounter(call)


def replace_surrogates(text: str) -> str:
    """Return what UTF-8 can say of a text: half a surrogate pair is U+FFFD."""
    return text if text.isascii() else text.encode("utf-16", "surrogatepass").decode("utf-16", "replace")


@dataclass(frozen=True, slots=True)
class _Fast:
    """Counts with a copy of a ``tokenizers.Tokenizer``, kept as JSON when pickled."""

    tokenizer: Any

    def __call__(self, text: str) -> Any:
        return self.batch([text])[0]

    def batch(self, texts: list[str]) -> Any:
        return self.tokenizer.encode_batch_fast([replace_surrogates(text) for text in texts], add_special_tokens=False)


@lru_cache(maxsize=8)
def _of_tokenizers(tokenizer: Any) -> Counter:
    copy = type(tokenizer).from_str(tokenizer.to_str())  # the user's own goes on truncating and padding
    copy.no_truncation()
    copy.no_padding()
    fast = _Fast(copy)
    # BERT's pre-tokenizer ends every token at white space.
    return CallableCounter(fast, adds_up="BertPreTokenizer" in repr(copy.pre_tokenizer), batch=fast.batch)


def _of_transformers(tokenizer: Any) -> Counter:
    if fast := getattr(tokenizer, "backend_tokenizer", None):
        return _of_tokenizers(fast)
    return CallableCounter(partial(tokenizer.encode, add_special_tokens=False, truncation=False, verbose=False))


def _of_tiktoken(encoding: Any) -> Counter:
    # "Ordinary": what looks like a special token in a text is just text.
    return CallableCounter(encoding.encode_ordinary, batch=partial(encoding.encode_ordinary_batch, num_threads=1))


# What makes a counter of an object that has this method.
_KINDS: dict[str, Callable[[Any], Counter]] = {
    "counts": lambda counter: counter,
    "encode_ordinary": _of_tiktoken,
    "no_truncation": _of_tokenizers,
    "convert_tokens_to_ids": _of_transformers,
}
_PLAIN: dict[str, Callable[[], Counter]] = {
    "tokens": lambda: default_embedder().tokenizer,
    "words": lambda: WORDS,
    "characters": lambda: CHARACTERS,
}


_TIKTOKENS = re.compile(r"gpt-|o[134](-|$)|cl100k_base|o200k_base|p50k|r50k|text-embedding-")


@lru_cache(maxsize=8)
def _named(name: str) -> Any:
    if name in _PLAIN:
        return _PLAIN[name]()
    known = [*_PLAIN]
    if find_spec("tiktoken"):
        import tiktoken

        if encoding := _encoding_of(name):
            try:
                return tiktoken.get_encoding(encoding)
            except OSError as error:  # of requests
                msg = f"tiktoken could not fetch the vocabulary of {encoding!r}; TIKTOKEN_CACHE_DIR is where it looks first"
                raise ModelUnavailable(msg) from error
        known += [*tiktoken.list_encoding_names(), *tiktoken.model.MODEL_TO_ENCODING]
    elif _TIKTOKENS.match(name):
        raise MissingExtra(f"what tokenizes {name!r}", "tiktoken")  # noqa: EM102
    check_spelling(name, known)
    try:
        from transformers import AutoTokenizer
    except ImportError:
        raise MissingExtra(f"what tokenizes {name!r}", "transformers") from None  # noqa: EM102
    try:
        return AutoTokenizer.from_pretrained(name)
    except (OSError, ValueError) as error:
        why = first_line(error)
        msg = f"tokenizer {name!r} is no tiktoken name, and Hugging Face has or reaches none of that name: {why}"
        raise ModelUnavailable(msg) from error


def _encoding_of(name: str) -> str | None:
    """Return the tiktoken encoding that a name says or that a model of that name uses."""
    import tiktoken

    if name in tiktoken.list_encoding_names():
        return name
    try:
        return tiktoken.model.encoding_name_for_model(name)  # knows "gpt-4o-mini" by how it begins
    except KeyError:
        return None
