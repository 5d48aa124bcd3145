"""Embedders that show the vector of each token, or of each chunk, in its document: late chunking."""

from collections.abc import Iterable, Sequence
from dataclasses import dataclass, field
from itertools import takewhile
from typing import Any, Protocol

import numpy as np

from advchunk.errors import ConfigurationError, import_extra, require_answer
from advchunk.models.counters import replace_surrogates, untruncated
from advchunk.models.embedders import EmbedderLike, as_embedder
from advchunk.models.identity import identity, prompt_of, sentence_transformer, type_name
from advchunk.models.signals import unit_rows
from advchunk.records import Floats, Ints

_BATCH_SIZE = 32  # windows per call


class TokenEmbedder(Protocol):
    """The further methods of a custom embedder that shows token vectors.

    ``max_tokens`` is the longest window it reads, without the special tokens that it adds itself; None is unlimited.
    """

    max_tokens: int | None

    def tokenize(self, text: str, /) -> tuple[Sequence[int], Sequence[tuple[int, int]]]:
        """Return the t token ids of a text, without special tokens, and the (start, end) of each in the text."""

    def embed_tokens(self, windows: Sequence[tuple[int, ...]], /) -> Iterable[Any]:
        """Return the (t, d) vectors of the tokens of each window of t token ids."""


class DocumentEmbedder(Protocol):
    """The further method of a custom embedder that reads the chunks of a document together."""

    def embed_document(self, texts: Sequence[str], /) -> Any:
        """Return the (n, d) vectors of the n chunks of a document, in their order."""


@dataclass(frozen=True, slots=True)
class CheckedTokenEmbedder:
    """A token embedder that returns what it must or raises `BadModelOutput`; equal to another of the same model."""

    model: Any
    owner: Any = field(repr=False)  # the embedder it belongs to
    batch_size: int = field(default=_BATCH_SIZE, compare=False)

    def __eq__(self, other: object) -> bool:
        return isinstance(other, CheckedTokenEmbedder) and self.owner is other.owner

    def __hash__(self) -> int:
        return hash(type(self.owner))

    @property
    def model_name(self) -> str:
        """The name of the embedder, for the record of costs."""
        return identity(self.owner)

    @property
    def max_tokens(self) -> int | None:
        """The tokens of the longest window; None if unlimited."""
        limit: int | None = self.model.max_tokens
        return limit

    def tokenize(self, text: str) -> tuple[tuple[int, ...], Ints]:
        """Return the t token ids of a text, and the (t,) non-decreasing offsets just past each token."""
        ids, offsets = self.model.tokenize(replace_surrogates(text))
        ends = np.array([end for _, end in offsets], dtype=np.int64)
        is_valid = len(ids) == len(ends) and not np.any(np.diff(ends, prepend=0, append=len(text)) < 0)
        rule = f"tokenize must return ids and as many ascending offsets within {len(text)} characters"
        require_answer(is_valid, f"{rule}, got {len(ids)} ids")
        return tuple(map(int, ids)), ends

    def embed_tokens(self, windows: Sequence[tuple[int, ...]]) -> list[Floats]:
        """Return the (t, d) float32 vectors of the tokens of each window."""
        rule = "embed_tokens must return finite (t, d) vectors for windows of t"
        return _checked(self.model.embed_tokens(windows), windows, rule)


class CheckedDocumentEmbedder(CheckedTokenEmbedder):
    """A document embedder behind the interface of a token embedder: a document is a window of chunks as tokens."""

    __slots__ = ()

    def embed_tokens(self, windows: Sequence[tuple[Any, ...]]) -> list[Floats]:
        """Return the (n, d) float32 unit rows of the chunks of each document."""
        answer = [self.model.embed_document(list(texts)) for texts in windows]
        rule = "embed_document must return finite (n, d) vectors for documents of n chunks, n"
        return [unit_rows(rows) for rows in _checked(answer, windows, rule)]


def _checked(answer: Iterable[Any], windows: Sequence[Sequence[Any]], rule: str) -> list[Floats]:
    """Return the vectors of each window as float32; `BadModelOutput` if they are not a finite row for each member."""
    rows = [np.asarray(own, dtype=np.float32) for own in answer]
    shapes, lengths = [own.shape for own in rows], [len(window) for window in windows]
    is_valid = all(len(shape) == 2 for shape in shapes) and [shape[0] for shape in shapes] == lengths
    is_valid = is_valid and len({shape[1] for shape in shapes}) <= 1 and all(np.isfinite(own).all() for own in rows)
    require_answer(is_valid, f"{rule} = {lengths}, got {shapes}")
    return rows


def as_token_embedder(embedder: EmbedderLike = None, batch_size: int | None = None) -> CheckedTokenEmbedder:
    """Return an embedder that shows token vectors: a mean-pooling SentenceTransformer with a fast tokenizer, its name,
    a wrapper of one, or an object with the methods of `TokenEmbedder` or `DocumentEmbedder`, too.

    ``batch_size`` is in windows, >= 1; None is 32. Raises `ConfigurationError` for others, such as the built-in
    default, whose token vectors do not depend on the text around them.
    """
    model = as_embedder(embedder, batch_size).model
    batch_size = batch_size or _BATCH_SIZE
    if hasattr(model, "embed_document"):
        return CheckedDocumentEmbedder(model, model, 1)
    if hasattr(model, "embed_tokens") and hasattr(model, "tokenize"):
        return CheckedTokenEmbedder(model, model, batch_size)
    encoder = sentence_transformer(model)
    modules = list(encoder) if isinstance(encoder, Iterable) else []
    kinds = [type(module).__name__ for module in modules]
    has_tokenizer = getattr(getattr(encoder, "tokenizer", None), "is_fast", False)
    is_pooled = kinds[1:2] == ["Pooling"] and {*kinds[2:]} <= {"Normalize"}
    mode = is_pooled and (getattr(modules[1], "pooling_mode", None) or modules[1].get_pooling_mode_str())
    if has_tokenizer and mode == "mean":
        return CheckedTokenEmbedder(_Transformer(encoder, prompt_of(model)), encoder, batch_size)
    msg = (
        "late vectors need an embedder that shows token vectors: a SentenceTransformer with a fast tokenizer and mean "
        'pooling, such as embedder="minilm", or an object with tokenize and embed_tokens, or with embed_document, got '
        f"{type_name(model)}"
    )
    raise ConfigurationError(msg)


class _Transformer:
    """The transformer of a SentenceTransformer, before pooling."""

    def __init__(self, encoder: Any, prompt: str) -> None:
        self._encoder = encoder
        self._tokenizer = untruncated(encoder.tokenizer.backend_tokenizer)
        self._tokenizer.encode_special_tokens = True  # special tokens in a text are text
        mask, ids = (sample := self._tokenizer.encode("a")).special_tokens_mask, sample.ids
        n_before, n_after = (len(list(takewhile(bool, some))) for some in (mask, mask[::-1]))
        self._before = [*ids[:n_before], *self.tokenize(prompt)[0]]
        self._after = ids[len(ids) - n_after :]
        limit = encoder.max_seq_length
        self.max_tokens = max(limit - len(self._before) - len(self._after), 1) if limit else None

    def tokenize(self, text: str) -> tuple[list[int], list[tuple[int, int]]]:
        encoding = self._tokenizer.encode(text, add_special_tokens=False)
        return encoding.ids, encoding.offsets

    def embed_tokens(self, windows: Sequence[tuple[int, ...]]) -> list[Any]:
        torch = import_extra("torch", "transformers")
        rows = [[*self._before, *window, *self._after] for window in windows]
        width, pad = max(map(len, rows)), self._encoder.tokenizer.pad_token_id or 0
        features = {
            "input_ids": torch.tensor([row + [pad] * (width - len(row)) for row in rows]),
            "attention_mask": torch.tensor([[1] * len(row) + [0] * (width - len(row)) for row in rows]),
        }
        self._encoder.eval()
        with torch.inference_mode():
            moved = {name: tensor.to(self._encoder.device) for name, tensor in features.items()}
            tokens = self._encoder[0](moved)["token_embeddings"].float().cpu().numpy()
        first = len(self._before)
        return [some[first : first + len(window)] for some, window in zip(tokens, windows, strict=True)]
