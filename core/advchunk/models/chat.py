"""Anything that chats, behind one face, and what it may cost. Libraries are recognized by method, never imported."""

from __future__ import annotations

import asyncio
import copy
import json
import math
import re
import threading
import time
from abc import ABC, abstractmethod
from collections.abc import Awaitable, Callable, Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, field, replace
from hashlib import sha256
from inspect import isawaitable, iscoroutine, signature
from typing import Any, ClassVar, Protocol, TypeAlias

from advchunk.engine import ChatRequest, call_in_thread
from advchunk.errors import (
    BadModelOutput,
    BudgetExceeded,
    ConfigurationError,
    MissingModel,
    ModelUnavailable,
    require,
)
from advchunk.models.counters import as_counter, replace_surrogates
from advchunk.models.identity import identity, model_name
from advchunk.models.retrying import Passing, repeating

_LEDGER = threading.Lock()  # of all budgets and usages: what is done under it takes a microsecond
_PAUSE = 0.02  # seconds between looks at a budget of which calls under way may leave something
_AROUND_MESSAGE = 16  # tokens that a chat template puts around a message, at most
# What a model thinks before it answers: perhaps without the tag that opens it, which some templates write, or without an end.
_THOUGHTS = re.compile(r"\s*<think>.*?(?:</think>|\Z)|(?:(?!<think>).)*?^</think>[ \t]*$", re.DOTALL | re.MULTILINE)


@dataclass
class Usage:
    """What was spent: calls, with those that failed or were repeated, and tokens as the endpoint counts them."""

    requests: int = 0
    tokens_in: int = 0
    tokens_out: int = 0

    @property
    def tokens(self) -> int:
        """Tokens read and written."""
        return self.tokens_in + self.tokens_out


@dataclass(eq=False)
class Budget:
    """What calls may cost together. It is not passed while models keep to ``max_tokens``; threads and tasks may share one.

    Before a call the most that it can cost is set aside: a token for each byte of the prompt, of which no tokenizer in
    use makes more, and ``max_tokens`` of the answer. After it, what it did cost is counted. A call whose answer never
    came counts in full, for it may be on the bill.

    Parameters
    ----------
    requests : calls, repeated ones too, >= 0; None is unlimited.
    tokens : read and written, >= 0; None is unlimited.
    tokenizer : anything `models.counters.as_counter` takes, for a closer estimate of prompts; None counts bytes.

    Examples
    --------
    >>> budget = Budget(tokens=100_000)
    >>> chat = as_chat(lambda prompt: prompt.upper(), budget=budget)
    >>> chat.complete([ChatRequest((("user", "hello"),), max_tokens=10)])
    ['HELLO']
    >>> budget.spent
    Usage(requests=1, tokens_in=21, tokens_out=10)
    """

    requests: int | None = None
    tokens: int | None = None
    tokenizer: Any = field(default=None, repr=False)
    spent: Usage = field(default_factory=Usage, init=False)
    _aside: int = field(default=0, init=False, repr=False)

    def __post_init__(self) -> None:
        for name in ("requests", "tokens"):
            most = getattr(self, name)
            require(most is None or is_whole(most, 0), f"{name} must be a whole number >= 0 or None", most)
        _ = self.tokenizer is None or as_counter(self.tokenizer)  # raises on what is none

    def most(self, request: ChatRequest) -> tuple[int, int]:
        """Return how many tokens a request may read and write."""
        count = as_counter(self.tokenizer) if self.tokenizer else _bytes
        return sum(count(text) + _AROUND_MESSAGE for _, text in request.messages), request.max_tokens

    def take(self, tokens: int) -> bool:
        """Set tokens aside for a call; False if it must wait until calls under way say what they cost.

        Raises
        ------
        BudgetExceeded : the call may pass the budget, whatever they cost.
        """
        with _LEDGER:
            if self.requests is not None and self.spent.requests >= self.requests:
                msg = f"the budget of {self.requests} requests is spent"
                raise BudgetExceeded(msg)
            if self.tokens is not None and self.spent.tokens + tokens > self.tokens:
                msg = f"{self.spent.tokens} tokens of a budget of {self.tokens} are spent, and the next call may take {tokens}"
                raise BudgetExceeded(msg)
            if self.tokens is not None and self.spent.tokens + self._aside + tokens > self.tokens:
                return False
            self.spent.requests += 1
            self._aside += tokens
            return True

    def settle(self, aside: int, tokens_in: int, tokens_out: int) -> None:
        """Count what a call did cost, for which tokens were set ``aside``."""
        with _LEDGER:
            self._aside -= aside
            self.spent.tokens_in += tokens_in
            self.spent.tokens_out += tokens_out


@dataclass(frozen=True, slots=True)
class Reply:
    """A model's answer; tokens are None where it does not say them."""

    text: str
    tokens_in: int | None = None
    tokens_out: int | None = None


class Refused(ModelUnavailable):
    """An endpoint answered that it will not; that costs nothing."""


class RefusedForNow(Passing, Refused):
    """Both, such as HTTP 429."""


_Row: TypeAlias = str | Exception


class Chat(ABC):
    """What answers `engine.Complete`. A subclass writes `ask`, and `aask` if it can await.

    To a request with a schema the answer is JSON, without what the model wrote around it. The prompt says the schema too,
    for many an endpoint ignores a response format without a word. Whether the JSON is what the schema asks for is for the
    reader to check.

    Parameters
    ----------
    concurrency : calls at a time, >= 1.
    budget : what calls may cost; None is unlimited.
    usage : what calls did cost, in this process.
    retries : how often a call that failed for the moment is repeated, >= 0.
    backoff, longest_wait : seconds before the first repetition, and before any, at most. Each waits up to twice as long
        as the one before, at random; or as long as the endpoint says, and a little more.
    """

    batch_size: ClassVar[int] = 1
    concurrency: int
    budget: Budget | None
    usage: Usage
    retries: int = 0
    backoff: float = 0.5
    longest_wait: float = 60.0

    @property
    @abstractmethod
    def identity(self) -> str:
        """What names the model and its settings in a cache; empty if it has no name."""

    def load(self) -> None:  # noqa: B027 - most models call by nothing that could be missing
        """Raise `MissingExtra` if what it calls by is not here, so that this is one error, and not one of each call."""

    @abstractmethod
    def ask(self, request: ChatRequest) -> Reply:
        """Answer a request, or raise."""

    async def aask(self, request: ChatRequest) -> Reply:
        """Await `ask`."""
        return await call_in_thread(self.ask, request)

    def complete(self, requests: Sequence[ChatRequest]) -> list[_Row]:
        """Return the answer to each request, or why there is none."""
        return [self._one(self._told(request)) for request in requests]

    async def acomplete(self, requests: Sequence[ChatRequest]) -> list[_Row]:
        """Await `complete`."""
        return [await self._aone(self._told(request)) for request in requests]

    def _told(self, request: ChatRequest) -> ChatRequest:
        """Return a request whose prompt says the schema, in what UTF-8 can say."""
        messages = [(role, replace_surrogates(text)) for role, text in request.messages]
        if request.schema:
            role, text = messages[-1]
            messages[-1] = role, f"{text}\n\nAnswer with JSON alone, of this schema:\n{request.schema}"
        return replace(request, messages=tuple(messages))

    def _one(self, request: ChatRequest) -> _Row:
        try:
            return repeating(self, "Retrying", "llm")(self._once, request) if self.retries else self._once(request)
        except (ModelUnavailable, BadModelOutput, BudgetExceeded) as error:
            return _plain(error)

    async def _aone(self, request: ChatRequest) -> _Row:
        try:
            return await (
                repeating(self, "AsyncRetrying", "llm")(self._aonce, request) if self.retries else self._aonce(request)
            )
        except (ModelUnavailable, BadModelOutput, BudgetExceeded) as error:
            return _plain(error)

    def _once(self, request: ChatRequest) -> str:
        most = self.budget.most(request) if self.budget else (0, 0)
        while self.budget and not self.budget.take(sum(most)):
            time.sleep(_PAUSE)
        with self._counted(most) as replies:
            replies.append(self.ask(request))
        return _read(replies[0].text, request.schema)

    async def _aonce(self, request: ChatRequest) -> str:
        most = self.budget.most(request) if self.budget else (0, 0)
        while self.budget and not self.budget.take(sum(most)):
            await asyncio.sleep(_PAUSE)
        with self._counted(most) as replies:
            replies.append(await self.aask(request))
        return _read(replies[0].text, request.schema)

    @contextmanager
    def _counted(self, most: tuple[int, int]) -> Iterator[list[Reply]]:
        """Count a call, whatever becomes of it; its reply is put into the list."""
        replies: list[Reply] = []
        cost = most
        try:
            yield replies
        except Refused:
            cost = 0, 0
            raise
        finally:
            said = (replies[0].tokens_in, replies[0].tokens_out) if replies else (None, None)
            with _LEDGER:
                self.usage.requests += 1
                self.usage.tokens_in += said[0] or 0
                self.usage.tokens_out += said[1] or 0
            if self.budget:
                known = [tokens if tokens is not None else mine for tokens, mine in zip(said, cost, strict=True)]
                self.budget.settle(sum(most), *known)


@dataclass(eq=False)
class CalledChat(Chat):
    """A model of a framework, or a function, which keeps its own settings: temperature, repetitions, time limits.

    Two are equal if they wrap the same model, so that the engine can merge their asks.
    """

    model: Any
    call: Callable[[Any], Any] = field(repr=False)
    acall: Callable[[Any], Awaitable[Any]] | None = field(repr=False)
    shape: Callable[[ChatRequest], Any] = field(repr=False)
    concurrency: int = 1
    budget: Budget | None = None
    usage: Usage = field(default_factory=Usage, init=False, repr=False)

    def __repr__(self) -> str:
        return f"CalledChat({identity(self.model)})"

    def __eq__(self, other: object) -> bool:
        if not isinstance(other, CalledChat) or self.budget is not other.budget:
            return False
        return self.model is other.model or bool(self.model == other.model)

    def __hash__(self) -> int:
        return hash(type(self.model))

    @property
    def identity(self) -> str:
        """What names the model and its settings in a cache; empty if it has no name."""
        if not model_name(self.model):
            return ""
        said = {name: repr(getattr(self.model, name)) for name in _SETTINGS if hasattr(self.model, name)}
        return f"{identity(self.model)} {sha256(json.dumps(said).encode()).hexdigest()[:16]}"

    def ask(self, request: ChatRequest) -> Reply:
        """Answer a request, or raise."""
        reply = self.call(self.shape(request))
        if iscoroutine(reply):
            reply.close()  # or Python warns that nobody awaited it
            msg = "an async llm needs an async call, such as achunk or achunk_many"
            raise ConfigurationError(msg)
        return _reply(reply)

    async def aask(self, request: ChatRequest) -> Reply:
        """Await `ask`; a model without an async method works in a thread."""
        shaped = self.shape(request)
        reply = await (self.acall(shaped) if self.acall else call_in_thread(self.call, shaped))
        return _reply(await reply if isawaitable(reply) else reply)


class _LangChainChatModel(Protocol):
    def invoke(self, messages: list[tuple[str, str]], /) -> Any: ...


class _LlamaIndexLLM(Protocol):
    def chat(self, messages: list[Any], /) -> Any: ...


# What `as_chat` takes. A function returns a text, or an awaitable of one.
ChatModelLike: TypeAlias = (
    Chat
    | _LangChainChatModel
    | _LlamaIndexLLM
    | Callable[[str], Any]
    | Callable[[list[dict[str, str]]], Any]
    | Callable[[list[dict[str, Any]]], Any]
)


def as_chat(llm: ChatModelLike | None, *, budget: Budget | None = None, concurrency: int | None = None) -> Chat:
    """Coerce a chat model.

    Parameters
    ----------
    llm : an `OpenAIChat` or another `Chat`; a LangChain chat model; a LlamaIndex ``LLM``; a function (an async one for
        async calls only) of a prompt, or of a list of ``{"role": ..., "content": ...}`` if its parameter is named
        ``messages``, that returns a text.
    budget : what its calls may cost; None is what it has.
    concurrency : calls at a time, >= 1; None is what it says, else 4 of a framework's model and 1 of a function.

    Raises
    ------
    MissingModel : None.
    ConfigurationError : anything else.

    >>> as_chat(lambda prompt: prompt[::-1]).complete([ChatRequest((("user", "abc"),))])
    ['cba']
    """
    if llm is None:
        raise MissingModel("llm", _TAKEN, "llm")  # noqa: EM101
    rule = "concurrency must be a whole number >= 1 or None"
    require(concurrency is None or is_whole(concurrency, 1), rule, concurrency)
    require(budget is None or isinstance(budget, Budget), "budget must be a Budget or None", budget)
    if isinstance(llm, Chat):
        chat = copy.copy(llm) if budget or concurrency else llm  # both count on one usage
        chat.budget, chat.concurrency = budget or llm.budget, concurrency or llm.concurrency
        return chat
    for now, later, shape, calls in _KINDS:
        if (call := getattr(llm, now, None)) and not isinstance(llm, type):
            acall = getattr(llm, later, None) if later else None
            slots = concurrency or getattr(llm, "concurrency", None) or calls
            return CalledChat(llm, call, acall, shape(llm), slots, budget)
    msg = f"an llm is {_TAKEN}, got {type(llm).__qualname__}"
    raise ConfigurationError(msg)


def is_whole(value: Any, least: int) -> bool:
    """Whether a value is a whole number of ``least`` or more."""
    return isinstance(value, int) and not isinstance(value, bool) and value >= least


def is_number(value: Any) -> bool:
    """Whether a value is a number >= 0."""
    return isinstance(value, (int, float)) and not isinstance(value, bool) and 0 <= value < math.inf


def _prompt(request: ChatRequest) -> str:
    return "\n\n".join(text for _, text in request.messages)


def dicts(request: ChatRequest) -> list[dict[str, str]]:
    """Return messages as OpenAI's protocol has them."""
    return [{"role": role, "content": text} for role, text in request.messages]


def _pairs(request: ChatRequest) -> list[tuple[str, str]]:
    return list(request.messages)


def _of_llamaindex(request: ChatRequest) -> list[Any]:
    from llama_index.core.llms import ChatMessage

    return [ChatMessage(role=role, content=text) for role, text in request.messages]


def _of_function(function: Callable[..., Any]) -> Callable[[ChatRequest], Any]:
    try:
        first = next(iter(signature(function).parameters), "")
    except (TypeError, ValueError):  # some of C have none
        first = ""
    return dicts if first == "messages" else _prompt


# How to call each kind of model, its async twin, what to call it with, and how many calls at a time. The first row whose
# method an object has is used.
_KINDS: tuple[tuple[str, str | None, Callable[[Any], Callable[[ChatRequest], Any]], int], ...] = (
    ("invoke", "ainvoke", lambda _: _pairs, 4),  # LangChain
    ("chat", "achat", lambda _: _of_llamaindex, 4),  # LlamaIndex
    ("__call__", None, _of_function, 1),
)
_TAKEN = "an OpenAIChat(base_url, model), a chat model of LangChain or LlamaIndex, or a function of a prompt"
# What else a framework's model may be given that changes its answers.
_SETTINGS = ("temperature", "top_p", "max_tokens", "num_predict", "seed", "stop", "model_kwargs", "additional_kwargs")


def _read(text: str, schema: str | None) -> str:
    """Return the answer in what a model wrote."""
    thoughts = _THOUGHTS.match(text)
    text = text[thoughts.end() :] if thoughts else text
    if schema:
        return _json(text, "[" if json.loads(schema).get("type") == "array" else "{")
    if not text.strip():
        msg = "a chat model must answer with text, got none"
        raise BadModelOutput(msg)
    return text


def _json(text: str, opening: str) -> str:
    decoder, at = json.JSONDecoder(), text.find(opening)
    while at >= 0:
        try:
            return text[at : decoder.raw_decode(text, at)[1]]
        except ValueError:
            at = text.find(opening, at + 1)
        except RecursionError:  # and so on at each of the brackets
            break
    msg = f"a chat model must answer with JSON, got {text[:80]!r}"
    raise BadModelOutput(msg)


def _reply(reply: Any) -> Reply:
    """Return what LangChain, LlamaIndex or a function answered."""
    message = getattr(reply, "message", reply)
    content = message if isinstance(message, str) else getattr(message, "content", None)
    if isinstance(content, list):
        content = "".join(part if isinstance(part, str) else part.get("text", "") for part in content)
    if not isinstance(content, str):
        msg = f"a chat model must answer with text, got {type(reply).__name__}"
        raise BadModelOutput(msg)
    usage = getattr(reply, "usage_metadata", None) or getattr(reply, "additional_kwargs", None) or {}
    read, written = usage.get("input_tokens"), usage.get("output_tokens")
    if read is None:
        read, written = usage.get("prompt_tokens"), usage.get("completion_tokens")
    return Reply(content, counted(read), counted(written))


def _plain(error: Exception) -> Exception:
    """Return an error without its traceback, in whose frames an answer may have echoed a key."""
    return (ModelUnavailable if isinstance(error, ModelUnavailable) else type(error))(str(error))


def counted(said: Any) -> int | None:
    """Return a number of tokens, if it is one."""
    return said if isinstance(said, int) and said >= 0 else None


def _bytes(text: str) -> int:
    return len(text.encode("utf-8", "replace"))
