"""A causal language model of Hugging Face transformers with its tokenizer."""

import threading
from functools import cached_property, lru_cache
from inspect import signature
from itertools import takewhile
from typing import Any

from advchunk.errors import ConfigurationError, import_extra
from advchunk.models.counters import untruncated

_PLACEHOLDER = "\ue000"  # for the prompt in a chat template


class TokenReader:
    """Runs a model over tokens, and caches its properties."""

    def __init__(self, model: Any, tokenizer: Any) -> None:
        if not getattr(tokenizer, "is_fast", False):
            msg = f"a language model needs a fast tokenizer, with offsets, got {type(tokenizer).__name__}"
            raise ConfigurationError(msg)
        self.model, self.tokenizer = model.eval(), tokenizer
        self.prompts: list[tuple[list[int], Any]] = []  # tokens, and their keys and values; the latest last
        self.lock = threading.Lock()

    @property
    def plain(self) -> Any:
        """The tokenizer's backend, with special tokens in a text read as text."""
        return _backend(self.tokenizer, special=False)

    @property
    def special(self) -> Any:
        """The tokenizer's backend, with special tokens in a text read as special tokens."""
        return _backend(self.tokenizer, special=True)

    @cached_property
    def lead(self) -> list[int]:
        """Special tokens in front of each text, such as BOS."""
        encoding = self.special.encode("a")
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

    @cached_property
    def config(self) -> Any:
        """The configuration of the text model, which may be part of a multimodal one."""
        return self.model.config.get_text_config()

    @property
    def limit(self) -> int | None:
        """The model's maximum number of tokens; None if it has no limit."""
        return getattr(self.config, "max_position_embeddings", None)

    def run(self, rows: Any, cache: Any, last: int) -> tuple[Any, Any]:
        """Read (b, t) tokens after the cached ones; return the (b, last, v) logits of the last, and the new cache."""
        options = {"logits_to_keep": last} if "logits_to_keep" in signature(self.model.forward).parameters else {}
        out = self.model(input_ids=rows.to(self.model.device), past_key_values=cache, use_cache=True, **options)
        if (cache := getattr(out, "past_key_values", None)) is None:
            msg = f"a language model must keep keys and values, which {type(self.model).__name__} does not"
            raise ConfigurationError(msg)
        return out.logits[:, -last:], cache


@lru_cache(maxsize=8)
def _backend(tokenizer: Any, *, special: bool) -> Any:
    copy = untruncated(tokenizer.backend_tokenizer)
    copy.encode_special_tokens = not special
    return copy


def is_plain_cache(cache: Any) -> bool:
    """Return True if every layer holds the keys and values of all tokens, and nothing else."""
    dynamic = import_extra("transformers", "transformers").cache_utils.DynamicLayer
    return all(type(layer) is dynamic for layer in getattr(cache, "layers", [None]))


def copy_prefix(cache: Any, length: int, rows: int) -> Any:
    """Return the cache of the first ``length`` tokens of a plain cache, repeated for ``rows`` rows."""
    copy = import_extra("transformers", "transformers").DynamicCache()
    for i, layer in enumerate(cache.layers):
        keys, values = (tensor[..., :length, :].expand(rows, -1, -1, -1) for tensor in (layer.keys, layer.values))
        copy.update(keys, values, i)
    return copy
