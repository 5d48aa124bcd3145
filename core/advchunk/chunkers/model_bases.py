"""Bases of the chunkers that need a causal language model or a chat model."""

from dataclasses import dataclass, field
from itertools import pairwise
from pathlib import Path
from typing import Annotated, Any, ClassVar, Literal

import numpy as np

from advchunk.building.sizes import Limits, RunSizes
from advchunk.chunkers.base import SegmentingChunker
from advchunk.chunkers.numerics import cutting
from advchunk.chunkers.params import RESOURCE, Bounds, Params
from advchunk.errors import require
from advchunk.models.cache import with_cache
from advchunk.models.causal import CausalLM, CausalLMLike, as_causal
from advchunk.models.chat import ChatModelLike
from advchunk.models.endpoint import chat_model
from advchunk.records import Ints, Units
from advchunk.text.sentences import split_semicolons
from advchunk.text.tiling import Tiler


@dataclass(kw_only=True)
class LanguageModelParams(Params):
    """Hyper-parameters of the chunkers of Meta-Chunking, which need a causal language model.

    Parameters
    ----------
    combine : join neighboring meta-chunks, from the left, while they fit ``max_tokens``.
    semicolons : True ends a sentence at a full-width semicolon too, as the published code does in Chinese; not with a
        ``sentence_splitter``.
    """

    combine: bool = True
    semicolons: bool = False


@dataclass(kw_only=True)
class LanguageModelChunker(LanguageModelParams, SegmentingChunker):
    """Needs a causal language model: a subclass implements `decide`, which yields `engine.Score` or `engine.Choose`.

    Parameters
    ----------
    lm : anything `models.causal.as_causal` accepts; required.
    """

    lm_method: ClassVar[Literal["surprise", "choose"]]  # that the model must have
    lm: CausalLMLike | None = field(default=None, repr=False, metadata=RESOURCE)

    def check(self) -> None:
        """Add the rule for ``lm``."""
        super().check()
        if not (self.lm is None or isinstance(self.lm, (str, Path))):  # names are resolved on first use
            as_causal(self.lm)

    def load(self) -> None:
        """Load the language model too."""
        super().load()
        model, rule = self.model.model, f"the lm of {self.algorithm} must have {self.lm_method}"
        require(hasattr(model, self.lm_method), rule, type(model).__name__)

    @property
    def sentence_tiler(self) -> Tiler:
        """The sentence splitter."""
        tiler = super().sentence_tiler
        if not self.semicolons or self.sentence_splitter is not None:
            return tiler
        return lambda text: split_semicolons(tiler(text))

    @property
    def model(self) -> CausalLM:
        """The language model."""
        return as_causal(self.lm)


@dataclass(kw_only=True)
class ChatParams(Params):
    """Hyper-parameters of the chunkers that need a chat model.

    Parameters
    ----------
    llm_model : name of the model at the endpoint, if ``llm`` is a base URL.
    temperature : sampling temperature, 0..2; not used by a function or a framework's model, which have their own.
    seed : sampling seed, >= 0, if the endpoint supports it.
    """

    llm_model: str = "Qwen/Qwen2.5-7B-Instruct"
    temperature: Annotated[float, Bounds(0, 2)] = 0.1
    seed: Annotated[int, Bounds(0)] = 0


@dataclass(kw_only=True)
class ChatChunker(ChatParams, SegmentingChunker):
    """Needs a chat model: a subclass implements `decide`, which yields `engine.Complete`.

    Parameters
    ----------
    llm : base URL of an OpenAI-compatible endpoint, such as vLLM's ``http://localhost:8000/v1``, or anything
        `models.chat.as_chat` accepts; required.
    cache : keeps answers, and embeddings, between runs: the path of a file, the URL of a Redis, a ``dict``, or a
        `cache.Store`.
    """

    llm: ChatModelLike | str | None = field(default=None, repr=False, metadata=RESOURCE)

    def check(self) -> None:
        """Add the rule for ``llm``."""
        super().check()
        if self.llm is not None:
            _ = self.chat

    def load(self) -> None:
        """Load the client of an endpoint too; otherwise every document would go to the fallback."""
        super().load()
        chat_model(self.llm, self.llm_model).load()

    @property
    def chat(self) -> Any:
        """The chat model."""
        return with_cache(chat_model(self.llm, self.llm_model), self.cache)


def join_segments(cuts: Ints, units: Units, limits: Limits) -> Ints:
    """Join neighboring segments, from the left, while they are within the budget; one over it stays alone."""
    sizes, starts, full = RunSizes(units, limits.counter), list[int](), 0
    for start, end in pairwise(cuts.tolist()):
        if end > full:
            starts.append(start)
            full = sizes.furthest(start, len(units), limits.budget(int(units.edges[start])))
    return cutting.cuts_at(np.array(starts), len(units))
