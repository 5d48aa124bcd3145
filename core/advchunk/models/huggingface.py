"""A causal language model of Hugging Face transformers that reads texts of any length in bounded memory."""

import threading
from collections.abc import Sequence
from dataclasses import dataclass, field
from functools import cached_property, lru_cache
from inspect import signature
from itertools import takewhile
from typing import Any

import numpy as np

from advchunk.errors import import_extra, require
from advchunk.models.counters import replace_surrogates, untruncated
from advchunk.records import Floats, Ints

# Tokens, even for models that could read more: values must not depend on a machine's memory.
DEFAULT_CONTEXT = 8192
MAX_LOGIT_BYTES = 2**28  # per block
MIN_BLOCK = 64  # tokens, even if these exceed MAX_LOGIT_BYTES
MAX_PROMPTS = 4  # whose keys and values are cached, for prompts with the same beginning

_PLACEHOLDER = "\ue000"  # for the prompt in a chat template


class TokenReader:
    """Runs a model over tokens, and caches its properties; equal to another of the same model."""

    def __init__(self, model: Any, tokenizer: Any) -> None:
        rule = "a language model must have a fast tokenizer, with offsets"
        require(getattr(tokenizer, "is_fast", False), rule, type(tokenizer).__name__)
        self.model, self.tokenizer = model.eval(), tokenizer
        self.prompts: list[tuple[list[int], Any]] = []  # tokens, and their keys and values; the latest last
        self.lock = threading.Lock()

    def __eq__(self, other: object) -> bool:
        return isinstance(other, TokenReader) and self.model is other.model

    def __hash__(self) -> int:
        return id(self.model)

    @cached_property
    def lead(self) -> list[int]:
        """Special tokens in front of each text, such as BOS."""
        encoding = _backend(self.tokenizer, special=True).encode("a")
        tokens = zip(encoding.ids, encoding.special_tokens_mask, strict=True)
        return [token for token, _ in takewhile(lambda pair: pair[1], tokens)]

    @cached_property
    def frame(self) -> tuple[str, str] | None:
        """The chat template's text before and after a user message; None without a template."""
        if not getattr(self.tokenizer, "chat_template", None):
            return None
        message = {"role": "user", "content": _PLACEHOLDER}
        options = {"tokenize": False, "add_generation_prompt": True, "enable_thinking": False}
        dialogue = self.tokenizer.apply_chat_template([message], **options)
        before, placeholder, after = dialogue.partition(_PLACEHOLDER)
        return (before, after) if placeholder else None

    def encode(self, text: str, *, special: bool = False) -> Any:
        """Return the encoding of a text, in which special tokens are text unless they are ``special``."""
        return _backend(self.tokenizer, special=special).encode(replace_surrogates(text), add_special_tokens=False)

    @property
    def limit(self) -> int | None:
        """The model's maximum number of tokens; None if it has no limit."""
        return getattr(self.model.config.get_text_config(), "max_position_embeddings", None)

    def run(self, rows: Any, cache: Any, last: int) -> tuple[Any, Any]:
        """Read (b, t) tokens after the cached ones; return the (b, last, v) logits of the last, and the new cache."""
        options = {"logits_to_keep": last} if "logits_to_keep" in signature(self.model.forward).parameters else {}
        out = self.model(input_ids=rows.to(self.model.device), past_key_values=cache, use_cache=True, **options)
        cache = getattr(out, "past_key_values", None)
        require(cache is not None, "a language model must keep keys and values", type(self.model).__name__)
        return out.logits[:, -last:], cache


@lru_cache(maxsize=8)
def _backend(tokenizer: Any, *, special: bool) -> Any:
    copy = untruncated(tokenizer.backend_tokenizer)
    copy.encode_special_tokens = not special
    return copy


def _copy_prefix(cache: Any, length: int, rows: int) -> Any:
    """Return the cache of the first ``length`` tokens of a plain cache, repeated for ``rows`` rows."""
    copy = import_extra("transformers", "transformers").DynamicCache()
    for i, layer in enumerate(cache.layers):
        keys, values = (tensor[..., :length, :].expand(rows, -1, -1, -1) for tensor in (layer.keys, layer.values))
        copy.update(keys, values, i)
    return copy


@dataclass(frozen=True, slots=True)
class HuggingFaceLM:
    """A `models.causal.LanguageModel` of transformers.

    A text that fits the context is read once, in blocks with cached keys and values. A longer one is read in
    overlapping windows: each drops the oldest ``evict`` (a share, > 0 and < 1) of the previous window, and predicts as
    many new tokens. This costs accuracy (``benchmarks/MODELS.md``) and time: each token is read about 1 / ``evict``
    times. ``max_context`` is in tokens, >= 16; None is the model's limit, at most 8192.

    Zhao et al. 2024, "Meta-Chunking", section 3.1; https://huggingface.co/docs/transformers/perplexity.
    """

    reader: TokenReader = field(repr=False)
    max_context: int | None = None
    evict: float = 0.3

    @property
    def model_name(self) -> str:
        """The model's name or path."""
        return str(getattr(self.reader.model, "name_or_path", ""))

    @property
    def context(self) -> int:
        """Maximum number of tokens in a window."""
        limits = [self.max_context or DEFAULT_CONTEXT, *([self.reader.limit] if self.reader.limit else [])]
        require(min(limits) >= 16, "a language model must read >= 16 tokens at a time", min(limits))
        return min(limits)

    def surprise(self, text: str) -> tuple[Ints, Floats]:
        """Return the end of each token of a text, and its surprise in nats given the context before it."""
        torch, reader = import_extra("torch", "transformers"), self.reader
        encoding = reader.encode(text)
        ids, room = encoding.ids, self.context - len(reader.lead)
        stride = max(min(int(self.context * self.evict), room - 1), 1)
        nats, end = np.full(len(ids), np.nan), 0
        with torch.inference_mode():
            while end < len(ids):
                start, end = end, min(end + stride if end else room, len(ids))
                own = self._read([*reader.lead, *ids[max(end - room, 0) : end]])[start - end :]
                nats[end - len(own) : end] = own
        return np.array([end for _, end in encoding.offsets], dtype=np.int64), nats

    def _read(self, ids: Sequence[int]) -> Floats:
        """Return the (t - 1,) surprise of each of t tokens but the first."""
        torch, reader = import_extra("torch", "transformers"), self.reader
        vocabulary = int(reader.model.config.get_text_config().vocab_size)
        block = max(MAX_LOGIT_BYTES // (4 * vocabulary), MIN_BLOCK)
        tokens, cache, nats = torch.tensor(ids), None, list[Floats]([np.zeros(0)])
        for start in range(0, len(ids) - 1, block):
            following = tokens[start + 1 : start + block + 1]
            logits, cache = reader.run(tokens[None, start : start + len(following)], cache, len(following))
            nats.append(_nats(logits[0], following.to(logits.device)))
        return np.concatenate(nats)

    def choose(self, prompt: str, options: Sequence[str]) -> Floats:
        """Return the (k,) probabilities that the answer begins with each option, with or without a space first. Takes
        one forward pass: tokens of an option count up to the first that distinguishes it from the others.
        """
        torch, reader = import_extra("torch", "transformers"), self.reader
        require(len(set(options)) > 1, "options must have >= 2 different values", options)
        answers = [(i, self._tokenize_answer(prompt, s + o)) for s in ("", " ") for i, o in enumerate(options)]
        paths = distinguishing_prefixes(answers)
        base = _shared_length([path for _, path in paths])
        require(base > 0, "a prompt must have a token that no option is part of", prompt)
        # Read each path without its last token, unless it is part of another.
        rows = sorted({tuple(path[:-1]) for _, path in paths}, reverse=True)
        rows = [row for i, row in enumerate(rows) if not any(other[: len(row)] == row for other in rows[:i])]
        longest = max(map(len, rows))
        rule = f"a prompt must be <= {reader.limit} tokens, the model's limit: make chunks smaller"
        require(longest <= (reader.limit or longest), rule, longest)
        # Tokens attend only to earlier ones.
        padded = torch.tensor([[*row, *[row[-1]] * (longest - len(row))] for row in rows])
        with torch.inference_mode():
            length, cache = self._cached_prefix(padded[0, : base - 1].tolist(), len(rows))
            logits, cache = reader.run(padded[:, length:], cache, longest - base + 1)
            logs = torch.log_softmax(logits.float(), dim=-1).cpu()
        if len(rows) == 1:
            self._cache_prompt(list(rows[0]), cache)
        probabilities = np.zeros(len(options))
        for option, path in paths:
            row = next(i for i, row in enumerate(rows) if list(row[: len(path) - 1]) == path[:-1])
            total = sum(float(logs[row, at - base, path[at]]) for at in range(base, len(path)))
            probabilities[option] += np.exp(total)
        return probabilities

    def _tokenize_answer(self, prompt: str, answer: str) -> list[int]:
        """Return the tokens of a prompt and its answer, in the chat template if there is one."""
        reader = self.reader
        if reader.frame is None:
            return [*reader.lead, *reader.encode(prompt + answer).ids]
        before, after = (reader.encode(text, special=True).ids for text in (reader.frame[0], reader.frame[1] + answer))
        return [*before, *reader.encode(prompt).ids, *after]

    def _cached_prefix(self, tokens: Sequence[int], rows: int) -> tuple[int, Any]:
        """Return the length of the longest prefix shared with a cached prompt, and its cache for ``rows`` rows."""
        with self.reader.lock:
            prefixes = [(_shared_length([tokens, prompt]), cache) for prompt, cache in self.reader.prompts]
        length, cache = max(prefixes, key=lambda prefix: prefix[0], default=(0, None))
        return length, _copy_prefix(cache, length, rows) if length else None

    def _cache_prompt(self, tokens: list[int], cache: Any) -> None:
        """Cache a prompt, in place of those that share half of their tokens with it, or of the oldest."""
        plain = import_extra("transformers", "transformers").cache_utils.DynamicLayer  # of all tokens, and nothing else
        if all(type(layer) is plain for layer in getattr(cache, "layers", [None])):
            with self.reader.lock:
                others = [old for old in self.reader.prompts if 2 * _shared_length([old[0], tokens]) < len(old[0])]
                self.reader.prompts = [*others[-MAX_PROMPTS + 1 :], (tokens, cache)]


def distinguishing_prefixes(sequences: Sequence[tuple[int, list[int]]]) -> list[tuple[int, list[int]]]:
    """Cut each option's sequences after the token that sets it apart; a prefix of another is a `ConfigurationError`.

    >>> distinguishing_prefixes([(0, [7, 1, 5]), (1, [7, 2]), (0, [8, 3]), (1, [8, 4, 6])])
    [(0, [7, 1]), (1, [7, 2]), (0, [8, 3]), (1, [8, 4])]
    """
    prefixes = []
    for option, tokens in sequences:
        length = 1 + max(_shared_length([tokens, others]) for other, others in sequences if other != option)
        require(length <= len(tokens), "no option may be a prefix of another", option)
        if (option, tokens[:length]) not in prefixes:
            prefixes.append((option, tokens[:length]))
    return prefixes


def _shared_length(sequences: Sequence[Sequence[int]]) -> int:
    length = min(map(len, sequences))
    return next((i for i in range(length) if len({tokens[i] for tokens in sequences}) > 1), length)


def _nats(logits: Any, following: Any) -> Floats:
    """Return the (t,) surprise of the following tokens, a few rows at a time because (t, v) is large."""
    torch = import_extra("torch", "transformers")
    parts = zip(logits[: len(following)].split(64), following.split(64), strict=True)
    losses = [torch.nn.functional.cross_entropy(rows.float(), tokens, reduction="none") for rows, tokens in parts]
    return np.asarray(torch.cat(losses).cpu().numpy(), dtype=np.float64)
