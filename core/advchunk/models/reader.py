"""A causal language model of Hugging Face transformers with its tokenizer."""

from __future__ import annotations

import threading
from functools import cached_property, lru_cache
from inspect import signature
from itertools import takewhile
from typing import Any

from advchunk.errors import ConfigurationError

_SAID = "\ue000"  # where a prompt stands in the frame of a dialogue


class Reader:
    """A model and its tokenizer, and what is found out about them once."""

    def __init__(self, model: Any, tokenizer: Any) -> None:
        if not getattr(tokenizer, "is_fast", False):
            msg = f"a language model needs a fast tokenizer, which tells where tokens stand, got {type(tokenizer).__name__}"
            raise ConfigurationError(msg)
        self.model, self.tokenizer = model.eval(), tokenizer
        self.prompts: list[tuple[list[int], Any]] = []  # tokens, and their keys and values; the latest last
        self.lock = threading.Lock()
        self.turns: dict[int, Any] = {}

    @property
    def plain(self) -> Any:
        """The tokenizer's own core, to which what looks like a special token is text."""
        return _core(self.tokenizer, special=False)

    @property
    def special(self) -> Any:
        """The same, to which special tokens are special."""
        return _core(self.tokenizer, special=True)

    @cached_property
    def lead(self) -> list[int]:
        """What the tokenizer puts before a text, such as a sign of its beginning."""
        said = self.special.encode("a")
        signs = zip(said.ids, said.special_tokens_mask, strict=True)
        return [token for token, _ in takewhile(lambda sign: sign[1], signs)]

    @cached_property
    def frame(self) -> tuple[str, str] | None:
        """What stands before and after what a user says in a dialogue, if the model was trained for one."""
        if not getattr(self.tokenizer, "chat_template", None):
            return None
        said = [{"role": "user", "content": _SAID}]
        dialogue = self.tokenizer.apply_chat_template(
            said, tokenize=False, add_generation_prompt=True, enable_thinking=False
        )
        before, found, after = dialogue.partition(_SAID)
        return (before, after) if found else None

    @cached_property
    def config(self) -> Any:
        """What is known of the model that reads text, which may be part of one that sees too."""
        return self.model.config.get_text_config()

    @property
    def limit(self) -> int | None:
        """The most tokens the model can read; None if it has no limit."""
        return getattr(self.config, "max_position_embeddings", None)

    @cached_property
    def token_bytes(self) -> int:
        """What the keys and values of a token take."""
        heads = getattr(self.config, "num_key_value_heads", None) or self.config.num_attention_heads
        width = getattr(self.config, "head_dim", None) or self.config.hidden_size // self.config.num_attention_heads
        return 2 * int(self.config.num_hidden_layers * heads * width * self.model.dtype.itemsize)

    @cached_property
    def _keeps(self) -> bool:
        return "logits_to_keep" in signature(self.model.forward).parameters

    def run(self, rows: Any, cache: Any, last: int) -> tuple[Any, Any]:
        """Read (b, t) tokens after what is cached; return the (b, last, v) logits of the last, and the new cache."""
        kept = {"logits_to_keep": last} if self._keeps else {}
        out = self.model(input_ids=rows.to(self.model.device), past_key_values=cache, use_cache=True, **kept)
        cache = getattr(out, "past_key_values", None)
        if cache is None:
            msg = f"a language model must keep keys and values, which {type(self.model).__name__} does not"
            raise ConfigurationError(msg)
        return out.logits[:, -last:], cache


@lru_cache(maxsize=8)
def _core(tokenizer: Any, *, special: bool) -> Any:
    backend = tokenizer.backend_tokenizer
    copy = type(backend).from_str(backend.to_str())  # the user's own goes on truncating and padding
    copy.no_truncation()
    copy.no_padding()
    copy.encode_special_tokens = not special
    return copy
