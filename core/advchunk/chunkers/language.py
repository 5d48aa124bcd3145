"""What chunkers that ask a language model share: a causal one for what it computes, a chat model for what it writes."""

from __future__ import annotations

from dataclasses import dataclass, field
from itertools import pairwise
from pathlib import Path
from typing import Any, ClassVar, Literal

import numpy as np

from advchunk.chunkers.base import SegmentingChunker
from advchunk.chunkers.params import OPERATION, RESOURCE, Params, at_least
from advchunk.errors import require
from advchunk.models.cache import with_cache
from advchunk.models.causal import CausalLM, as_causal
from advchunk.models.endpoint import chat_model
from advchunk.numerics import search
from advchunk.records import Ints, Units
from advchunk.sizes import Limits, RunSizes


@dataclass(kw_only=True)
class LanguageModelChunker(SegmentingChunker):
    """Needs a causal language model: a subclass writes `decide`, and yields `engine.Score` or `engine.Choose`.

    Parameters
    ----------
    lm : anything `models.causal.as_causal` takes. There is no default.
    """

    does: ClassVar[Literal["surprise", "choose"]]  # what the model must be able to do
    lm: Any = field(default=None, repr=False, metadata=RESOURCE)

    def check(self) -> None:
        """Add the rule for ``lm``."""
        super().check()
        if not (self.lm is None or isinstance(self.lm, (str, Path))):  # a name is looked up when it is needed
            as_causal(self.lm)

    def load(self) -> None:
        """Load the language model too."""
        super().load()
        model = self.model.model
        able = hasattr(model, self.does)
        require(able, f"the lm of {self.algorithm} must have {self.does}", type(model).__name__)

    @property
    def model(self) -> CausalLM:
        """The language model that is asked."""
        return as_causal(self.lm)


@dataclass(kw_only=True)
class ChatParams(Params):
    """Hyper-parameters of the chunkers that ask a chat model.

    Parameters
    ----------
    llm_model : the name of the model at the endpoint, where ``llm`` is its base URL.
    temperature : of what the model draws, >= 0; 0 for the likeliest. A model of a framework and a function keep their own.
    seed : of what the model draws, >= 0, where the endpoint heeds it.
    """

    llm_model: str = "Qwen/Qwen2.5-7B-Instruct"
    temperature: float = 0.1
    seed: int = 0

    def check(self) -> None:
        """Add the rules for temperature and seed."""
        super().check()
        at_least(0, self, "temperature", "seed")


@dataclass(kw_only=True)
class ChatChunker(ChatParams, SegmentingChunker):
    """Needs a chat model: a subclass writes `decide`, and yields `engine.Complete`.

    Parameters
    ----------
    llm : the base URL of an endpoint that speaks OpenAI's protocol, such as vLLM's ``http://localhost:8000/v1``; or
        anything `models.chat.as_chat` takes. There is no default.
    cache : keeps answers between runs: the path of a file, the URL of a Redis, a ``dict``, or a `cache.Store`.
    """

    llm: Any = field(default=None, repr=False, metadata=RESOURCE)
    cache: Any = field(default=None, repr=False, metadata=OPERATION)

    def check(self) -> None:
        """Add the rule for ``llm``."""
        super().check()
        if self.llm is not None:
            _ = self.chat

    def load(self) -> None:
        """Load the client of an endpoint too: without it every document would go to the fallback."""
        super().load()
        chat_model(self.llm, self.llm_model).load()

    @property
    def chat(self) -> Any:
        """The chat model that is asked."""
        return with_cache(chat_model(self.llm, self.llm_model), self.cache)


def combined(cuts: Ints, units: Units, limits: Limits, *, repeat: bool = False) -> Ints:
    """Put segments together from the left while they are within the budget; one that is not stands alone.

    Parameters
    ----------
    repeat : count the unit before each run with it.
    """
    ruler, kept, full = RunSizes(units, limits.counter), list[int](), 0
    for start, end in pairwise(cuts.tolist()):
        if end > full:
            kept.append(start)
            full = ruler.furthest(start - (repeat and start > 0), len(units), limits.budget(int(units.edges[start])))
    return search.cuts_at(np.array(kept), len(units))
