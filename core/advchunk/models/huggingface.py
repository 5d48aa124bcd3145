"""A causal language model of Hugging Face transformers that reads texts of any length, in memory that does not grow."""

from __future__ import annotations

import re
from collections.abc import Sequence
from dataclasses import dataclass, field
from typing import Any

import numpy as np

from advchunk.errors import import_extra, require
from advchunk.models.reader import Reader
from advchunk.models.rolling import Window, as_prefix, plain
from advchunk.records import Floats, Ints

# Tokens, of a model that could read more: if memory decided, values would follow from the machine.
USUAL_CONTEXT = 8192
LOGITS = 2**28  # bytes of logits at a time, but for
LEAST_BLOCK = 64  # tokens
PROMPTS = 4  # kept, with their keys and values, for prompts that begin like them

_HALF = re.compile("[\ud800-\udfff]")  # of a surrogate pair, which UTF-8 cannot say


@dataclass(frozen=True, slots=True)
class HuggingFaceLM:
    """A `models.causal.LanguageModel` of transformers.

    A text is tokenized whole and read once, in blocks, each given the keys and values of the ones before. When the
    next block would not fit, the oldest share of them is dropped, but for the first few tokens, without which a model
    is lost (Xiao et al. 2024). The kept keys are turned to the positions they then have, so that no position is past
    what the model was trained on; a model whose positions cannot be turned reads what is kept again.

    To forget has a price: SmolLM2-135M, on 1,930 tokens of an encyclopedia, is .15 nats a token more surprised with 512
    tokens at hand than with all, and 7 of 10 minima of units of 25 tokens are the same; with 256, .33 nats and 5 of 10. Read
    again it would be as much; with the first tokens dropped, .85 and 1.12; with positions left as they were, 2.2
    (``benchmarks/perplexity.py``). So the context should be as long as memory allows.

    Parameters
    ----------
    max_context : tokens that a token is predicted from at most, >= 16; None is the model's limit, or 8192 if that is less.
    max_memory : MiB that keys and values may take, >= 1, if that is less; None is unlimited.
    evict : share of the keys and values that is dropped when there is no room, > 0 and < 1; the rest is kept.

    References
    ----------
    Zhao et al. 2024, "Meta-Chunking", section 3.1 (key-value caching); Xiao et al. 2024, "Efficient streaming language
    models with attention sinks".
    """

    reader: Reader = field(repr=False)
    max_context: int | None = None
    max_memory: int | None = None
    evict: float = 0.3

    def __eq__(self, other: object) -> bool:
        mine = (self.max_context, self.max_memory, self.evict)
        return (
            isinstance(other, HuggingFaceLM)
            and self.reader.model is other.reader.model
            and mine == (other.max_context, other.max_memory, other.evict)
        )

    def __hash__(self) -> int:
        return id(self.reader.model)

    @property
    def model_name(self) -> str:
        """What the model goes by."""
        return str(getattr(self.reader.model, "name_or_path", ""))

    @property
    def context(self) -> int:
        """The most tokens that are read together."""
        reader, most = self.reader, [self.max_context or USUAL_CONTEXT]
        if reader.limit:
            most.append(reader.limit)
        if self.max_memory is not None:
            most.append(self.max_memory * 2**20 // reader.token_bytes)
            rule = f"max_memory must hold the keys and values of 16 tokens, {reader.token_bytes} bytes each"
            require(most[-1] >= 16, rule, self.max_memory)
        require(min(most) >= 16, "a language model must read >= 16 tokens at a time", min(most))
        return min(most)

    def surprise(self, text: str) -> tuple[Ints, Floats]:
        """Return where each token of a text ends, and its surprise in nats given what the context holds before it."""
        torch, reader = import_extra("torch", "transformers"), self.reader
        said = reader.plain.encode(_HALF.sub("\ufffd", text), add_special_tokens=False)
        tokens = torch.tensor([*reader.lead, *said.ids], dtype=torch.long)
        nats = np.full(len(tokens), np.nan)
        block = max(LOGITS // (4 * int(reader.config.vocab_size)), LEAST_BLOCK)
        if len(tokens) > self.context:
            block = max(min(block, int(self.context * self.evict)), 1)
        with torch.inference_mode():
            window = Window(reader, self.context, self.evict)
            for start in range(0, len(tokens) - 1, block):
                logits = window.read(tokens[start : start + block])
                following = tokens[start + 1 : start + block + 1].to(logits.device)
                nats[start + 1 : start + block + 1] = _nats(logits, following)
        return np.array([end for _, end in said.offsets], dtype=np.int64), nats[len(reader.lead) :]

    def choose(self, prompt: str, options: Sequence[str]) -> Floats:
        """Return how likely the answer to a prompt begins with each option, with a space before it or without.

        One forward pass, whatever the tokenizer makes of the options: of each, the tokens count that tell it from the
        others. What the prompt shares with the last few prompts is not read again.

        Returns
        -------
        (k,), which sum up to 1 less the probability of all other answers.
        """
        torch, reader = import_extra("torch", "transformers"), self.reader
        require(len(set(options)) > 1, "options must be >= 2 different ones", options)
        paths = decisive([(i, self._answered(prompt, s + o)) for s in ("", " ") for i, o in enumerate(options)])
        base = _shared([path for _, path in paths])
        require(base > 0, "a prompt must have a token that no option is part of", prompt)
        # What is read: each path without its last token, unless it is part of another.
        rows = sorted({tuple(path[:-1]) for _, path in paths}, reverse=True)
        rows = [row for i, row in enumerate(rows) if not any(other[: len(row)] == row for other in rows[:i])]
        longest = max(map(len, rows))
        rule = f"a prompt must be <= {reader.limit} tokens, all that the model reads: make chunks smaller"
        require(longest <= (reader.limit or longest), rule, longest)
        padded = torch.tensor([[*row, *[row[-1]] * (longest - len(row))] for row in rows])  # behind: nothing sees it
        with torch.inference_mode():
            known, cache = self._known(padded[0, : base - 1].tolist(), len(rows))
            logits, cache = reader.run(padded[:, known:], cache, longest - base + 1)
            chances = torch.log_softmax(logits.float(), dim=-1).cpu()
        if len(rows) == 1:
            self._remember(list(rows[0]), cache)
        found = np.zeros(len(options))
        for option, path in paths:
            row = next(i for i, row in enumerate(rows) if list(row[: len(path) - 1]) == path[:-1])
            found[option] += np.exp(sum(float(chances[row, at - base, path[at]]) for at in range(base, len(path))))
        return found

    def _answered(self, prompt: str, answer: str) -> list[int]:
        """Return the tokens of a prompt with an answer to it, as a dialogue if the model was trained for that."""
        reader, prompt = self.reader, _HALF.sub("\ufffd", prompt)
        if reader.frame is None:
            return [*reader.lead, *reader.plain.encode(prompt + answer, add_special_tokens=False).ids]
        before, after = reader.frame
        parts = (reader.special, before), (reader.plain, prompt), (reader.special, after + answer)
        return [token for tokenizer, text in parts for token in tokenizer.encode(text, add_special_tokens=False).ids]

    def _known(self, tokens: Sequence[int], rows: int) -> tuple[int, Any]:
        """Return how many first tokens are remembered from another prompt, and a cache of them for so many rows."""
        with self.reader.lock:
            shared = [(_shared([tokens, known]), cache) for known, cache in self.reader.prompts]
        length, cache = max(shared, key=lambda one: one[0], default=(0, None))
        return length, as_prefix(cache, length, rows) if length else None

    def _remember(self, tokens: list[int], cache: Any) -> None:
        """Keep a prompt, in place of one that it shares half of, or of the oldest."""
        if plain(cache):
            with self.reader.lock:
                others = [one for one in self.reader.prompts if 2 * _shared([one[0], tokens]) < len(one[0])]
                self.reader.prompts = [*others[-PROMPTS + 1 :], (tokens, cache)]


def decisive(sequences: Sequence[tuple[int, list[int]]]) -> list[tuple[int, list[int]]]:
    """Cut the sequence of each option after the first token that none of another option shares.

    >>> decisive([(0, [7, 1, 5]), (1, [7, 2]), (0, [8, 3]), (1, [8, 4, 6])])
    [(0, [7, 1]), (1, [7, 2]), (0, [8, 3]), (1, [8, 4])]

    Raises
    ------
    ConfigurationError : an option begins another, so that no token tells.
    """
    found = []
    for option, tokens in sequences:
        length = 1 + max(_shared([tokens, others]) for other, others in sequences if other != option)
        require(length <= len(tokens), "no option may be what another begins with", option)
        if (option, tokens[:length]) not in found:
            found.append((option, tokens[:length]))
    return found


def _shared(sequences: Sequence[Sequence[int]]) -> int:
    """Return how many first tokens all sequences share."""
    length = min(map(len, sequences))
    first = sequences[0]
    return next((i for i in range(length) if any(other[i] != first[i] for other in sequences)), length)


def _nats(logits: Any, following: Any) -> Floats:
    """Return the (t,) surprise of the tokens that follow, a few rows at a time: (t, v) is large."""
    torch = import_extra("torch", "transformers")
    parts = zip(logits[: len(following)].split(64), following.split(64), strict=True)
    losses = [torch.nn.functional.cross_entropy(rows.float(), tokens, reduction="none") for rows, tokens in parts]
    return np.asarray(torch.cat(losses).cpu().numpy(), dtype=np.float64)
