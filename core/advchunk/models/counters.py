"""Adapters that turn any tokenizer into a `Counter`. Libraries are recognized by method, not imported."""

from collections.abc import Callable, Sized
from contextlib import suppress
from dataclasses import dataclass, field
from functools import lru_cache, partial
from importlib.util import find_spec
from typing import Any, Protocol, SupportsIndex, TypeAlias

from advchunk.errors import MissingExtra, ModelUnavailable, check_spelling, first_line, is_instance, require
from advchunk.models.wordpiece import default_wordpiece
from advchunk.text.counters import CHARACTERS, WORDS, CallableCounter, Counter
from advchunk.text.patterns import lazy_pattern

_MAX_KNOWN, _MAX_KNOWN_LENGTH = 2**14, 1000  # texts whose lengths are kept, and their characters


class _Encoder(Protocol):  # tiktoken, tokenizers, transformers
    def encode(self, text: str, /) -> Sized: ...


# A name, a tokenizer object, or a callable that returns the tokens of a text or their number; None is the default.
TokenizerLike: TypeAlias = str | Counter | _Encoder | Callable[[str], Sized | SupportsIndex] | None


def as_counter(tokenizer: TokenizerLike = None, embedder: object = None) -> Counter:
    """Return a tokenizer as a `Counter`; None follows the embedder, if that has a ``tokenizer``.

    A name is "tokens" (the built-in WordPiece, one token per two characters of an unknown word), "words", "characters",
    a tiktoken encoding or model, or else a Hugging Face tokenizer. Raises `ConfigurationError` for a name that seems
    misspelled or anything unknown, `MissingExtra` or `ModelUnavailable` if the library or the files are missing.
    """
    if tokenizer is None:
        tokenizer = getattr(embedder, "tokenizer", None) or "tokens"
    tokenizer = "characters" if tokenizer is len else tokenizer
    tokenizer = _named(tokenizer) if isinstance(tokenizer, str) else tokenizer
    if isinstance(tokenizer, CallableCounter):
        return tokenizer
    require(is_instance(tokenizer), "a tokenizer must be an instance, not a class", tokenizer)
    for method, make in _KINDS.items():
        if hasattr(tokenizer, method):
            return make(tokenizer)
    call: Any = tokenizer if callable(tokenizer) else getattr(tokenizer, "encode", None)
    require(call is not None, "a tokenizer must be a name, a callable, or have encode", type(tokenizer).__qualname__)
    return CallableCounter(call)


def replace_surrogates(text: str) -> str:
    """Replace lone surrogates, which UTF-8 cannot encode, by U+FFFD."""
    try:
        text.encode()
    except UnicodeEncodeError:
        return text.encode("utf-16", "surrogatepass").decode("utf-16", "replace")
    return text


@dataclass(frozen=True, slots=True)
class _Lengths:
    """Counts with a copy of a ``tokenizers.Tokenizer``, each text once: sizes, limits, and batches ask for the same."""

    tokenizer: Any
    seen: dict[str, int] = field(default_factory=dict, repr=False, compare=False)

    def __reduce__(self) -> tuple[Any, ...]:
        return _Lengths, (self.tokenizer,)

    def __call__(self, text: str) -> int:
        return self.batch([text])[0]

    def batch(self, texts: list[str]) -> list[int]:
        lengths = {text: self.seen.get(text, -1) for text in texts}
        missing = [text for text, length in lengths.items() if length < 0]
        encodings = self.tokenizer.encode_batch_fast(list(map(replace_surrogates, missing)), add_special_tokens=False)
        new = dict(zip(missing, map(len, encodings), strict=True))
        if len(self.seen) + len(new) > _MAX_KNOWN:
            self.seen.clear()
        self.seen.update((text, length) for text, length in new.items() if len(text) <= _MAX_KNOWN_LENGTH)
        lengths |= new
        return [lengths[text] for text in texts]


def untruncated(tokenizer: Any) -> Any:
    """Return a copy of a ``tokenizers.Tokenizer`` without truncation and padding."""
    copy = type(tokenizer).from_str(tokenizer.to_str())
    copy.no_truncation()
    copy.no_padding()
    return copy


@lru_cache(maxsize=8)
def _of_tokenizers(tokenizer: Any) -> Counter:
    lengths = _Lengths(untruncated(tokenizer))
    adds_up = "BertPreTokenizer" in repr(tokenizer.pre_tokenizer)  # it ends tokens at white space
    return CallableCounter(lengths, adds_up=adds_up, batch=lengths.batch)


def _of_transformers(tokenizer: Any) -> Counter:
    if fast := getattr(tokenizer, "backend_tokenizer", None):
        return _of_tokenizers(fast)
    return CallableCounter(partial(tokenizer.encode, add_special_tokens=False, truncation=False, verbose=False))


def _of_tiktoken(encoding: Any) -> Counter:
    # "Ordinary" treats special tokens in a text as text.
    return CallableCounter(encoding.encode_ordinary, batch=partial(encoding.encode_ordinary_batch, num_threads=1))


# How to make a counter, by the method that an object has.
_KINDS: dict[str, Callable[[Any], Counter]] = {
    "counts": lambda counter: counter,
    "encode_ordinary": _of_tiktoken,
    "no_truncation": _of_tokenizers,
    "convert_tokens_to_ids": _of_transformers,
}
_PLAIN: dict[str, Callable[[], Counter]] = {
    "tokens": default_wordpiece,
    "words": lambda: WORDS,
    "characters": lambda: CHARACTERS,
}
_TIKTOKEN_NAMES = lazy_pattern(r"gpt-|o[134](-|$)|cl100k_base|o200k_base|p50k|r50k|text-embedding-")


@lru_cache(maxsize=8)
def _named(name: str) -> Any:
    if name in _PLAIN:
        return _PLAIN[name]()
    require("://" not in name, "a tokenizer's name must not be a URL", "the address of an endpoint")
    require(not name.isspace() and "\0" not in name and name != "", "a tokenizer must have a name, without NUL", name)
    names = [*_PLAIN]
    if find_spec("tiktoken"):
        import tiktoken

        try:
            if encoding := _encoding_of(name):
                return tiktoken.get_encoding(encoding)
        except OSError as error:  # of requests
            msg = f"tiktoken could not fetch the vocabulary of {encoding!r}; it looks in TIKTOKEN_CACHE_DIR first"
            raise ModelUnavailable(msg) from error
        names += [*tiktoken.list_encoding_names(), *tiktoken.model.MODEL_TO_ENCODING]
    elif _TIKTOKEN_NAMES.match(name):
        raise MissingExtra(f"the tokenizer of {name!r}", "tiktoken")  # noqa: EM102
    check_spelling(name, names)
    try:
        from transformers import AutoTokenizer
    except ImportError:
        raise MissingExtra(f"the tokenizer of {name!r}", "transformers") from None  # noqa: EM102
    try:
        return AutoTokenizer.from_pretrained(name)
    except (OSError, ValueError, RecursionError) as error:
        reason = first_line(error)
        msg = f"tokenizer {name!r} is not a tiktoken name and could not be loaded from Hugging Face: {reason}"
        raise ModelUnavailable(msg) from error


def _encoding_of(name: str) -> str | None:
    import tiktoken

    with suppress(KeyError):
        is_encoding = name in tiktoken.list_encoding_names()
        return name if is_encoding else tiktoken.model.encoding_name_for_model(name)  # by prefixes, as in "gpt-4o-mini"
    return None
