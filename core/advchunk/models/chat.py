"""Adapters that turn any chat model into a `Chat`, and budgets. Libraries are recognized by method, not imported."""

import asyncio
import copy
import json
import re
import threading
import time
from abc import ABC, abstractmethod
from collections.abc import Awaitable, Callable, Iterator, Sequence
from contextlib import contextmanager, suppress
from dataclasses import dataclass, field, replace
from hashlib import sha256
from inspect import isawaitable, signature
from math import inf
from typing import Any, ClassVar, Protocol, TypeAlias, TypeVar

from advchunk import errors
from advchunk.engine import ChatRequest, Complete, Plan, call_in_thread
from advchunk.errors import BadModelOutput, BudgetExceeded, ModelUnavailable, is_integer, require, require_answer
from advchunk.models.counters import replace_surrogates
from advchunk.models.identity import identity, model_name, not_awaitable, type_name

_T = TypeVar("_T")

_LOCK = threading.Lock()  # on all budgets and usages; held for a microsecond
_POLL_INTERVAL = 0.02  # seconds between checks of a budget while other calls are in flight
_MESSAGE_OVERHEAD = 16  # tokens that a chat template adds to a message, at most
# A model's reasoning before its answer. Either tag may be missing, as some templates write it.
_THOUGHTS = re.compile(r"\s*<think>.*?(?:</think>|\Z)|(?:(?!<think>).)*?^</think>[ \t]*$", re.DOTALL | re.MULTILINE)


@dataclass
class Usage:
    """Calls, including retries and failures, and tokens as counted by the endpoint."""

    requests: int = 0
    tokens_in: int = 0
    tokens_out: int = 0

    @property
    def tokens(self) -> int:
        """Input and output tokens."""
        return self.tokens_in + self.tokens_out


@dataclass(eq=False)
class Budget:
    """A limit on the cost of calls, as long as models respect ``max_tokens``. Threads and tasks may share it.

    Before a call its maximum cost is reserved: a token per byte of the prompt, the upper bound for tokenizers, and
    ``max_tokens`` for the answer. After the call its real cost is counted, in full without an answer.

    Parameters
    ----------
    requests : maximum calls, including retries, >= 0; None is unlimited.
    tokens : maximum input and output tokens, >= 0; None is unlimited.

    >>> budget = Budget(tokens=100_000)
    >>> chat = as_chat(lambda prompt: prompt.upper(), budget=budget)
    >>> chat.complete([ChatRequest((("user", "hello"),), max_tokens=10)])
    ['HELLO']
    >>> budget.spent
    Usage(requests=1, tokens_in=21, tokens_out=10)
    """

    requests: int | None = None
    tokens: int | None = None
    spent: Usage = field(default_factory=Usage, init=False)
    _reserved: int = field(default=0, init=False, repr=False)

    def __post_init__(self) -> None:
        for name, limit in (("requests", self.requests), ("tokens", self.tokens)):
            require(limit is None or is_integer(limit, 0), f"{name} must be a whole number >= 0 or None", limit)

    @staticmethod
    def max_cost(request: ChatRequest) -> tuple[int, int]:
        """Return the maximum input and output tokens of a request."""
        texts = [text.encode("utf-8", "replace") for _, text in request.messages]
        return sum(map(len, texts)) + _MESSAGE_OVERHEAD * len(texts), request.max_tokens

    def reserve(self, tokens: int) -> bool:
        """Reserve tokens for a call; False: wait for calls in flight. `BudgetExceeded` if it may exceed the budget."""
        with _LOCK:
            spent, limit = self.spent.tokens, inf if self.tokens is None else self.tokens
            if self.requests is not None and self.spent.requests >= self.requests:
                msg = f"the budget of {self.requests} requests is spent"
                raise BudgetExceeded(msg)
            if spent + tokens > limit:
                msg = f"{spent} tokens of a budget of {limit} are spent, and the next call may take {tokens}"
                raise BudgetExceeded(msg)
            if spent + self._reserved + tokens > limit:
                return False
            self.spent.requests += 1
            self._reserved += tokens
            return True

    def settle(self, reserved: int, tokens_in: int, tokens_out: int) -> None:
        """Replace the ``reserved`` tokens of a call by its real cost."""
        with _LOCK:
            self._reserved -= reserved
            self.spent.tokens_in += tokens_in
            self.spent.tokens_out += tokens_out


@dataclass(frozen=True, slots=True)
class Reply:
    """A model's answer; tokens are None if it does not report them."""

    text: str
    tokens_in: int | None = None
    tokens_out: int | None = None


class RefusedError(ModelUnavailable):
    """The endpoint refused a request, with an HTTP status; that costs nothing."""

    status = 0


_Row: TypeAlias = str | Exception
_FAILURES = (ModelUnavailable, BadModelOutput, BudgetExceeded)


class Chat(ABC):
    """A chat model that answers `engine.Complete`. A subclass defines `ask`, and `aask` if it is async.

    The answer to a request with a schema is JSON, without the text around it, not checked against the schema. The
    schema is also in the prompt, because many endpoints silently ignore a response format. ``concurrency`` is >= 1; a
    ``budget`` of None is unlimited; ``usage`` is the cost of calls so far, in this process.
    """

    batch_size: ClassVar[int] = 1
    concurrency: int
    budget: Budget | None
    usage: Usage

    @property
    @abstractmethod
    def identity(self) -> str:
        """Name of the model and its settings in a cache; empty if it has no name."""

    def load(self) -> None:  # noqa: B027 - most models need no library
        """Import the client's libraries, so that a missing one raises `MissingExtra` once, and not at each call."""

    @abstractmethod
    def ask(self, request: ChatRequest) -> Reply:
        """Answer a request, or raise."""

    async def aask(self, request: ChatRequest) -> Reply:
        """Await `ask`."""
        return await call_in_thread(self.ask, request)

    def complete(self, requests: Sequence[ChatRequest]) -> list[_Row]:
        """Return the answer to each request, or an error."""
        return [self._complete(self._prepare(request)) for request in requests]

    async def acomplete(self, requests: Sequence[ChatRequest]) -> list[_Row]:
        """Await `complete`."""
        return [await self._acomplete(self._prepare(request)) for request in requests]

    def _prepare(self, request: ChatRequest) -> ChatRequest:
        """Add the schema to the prompt and the attempt to the seed, and replace lone surrogates."""
        messages = [(role, replace_surrogates(text)) for role, text in request.messages]
        if request.schema:
            role, text = messages[-1]
            messages[-1] = role, f"{text}\n\nAnswer with JSON alone, of this schema:\n{request.schema}"
        seed = None if request.seed is None else request.seed + request.attempt
        return replace(request, messages=tuple(messages), seed=seed)

    def _complete(self, request: ChatRequest) -> _Row:
        try:
            while not self._reserve(request):
                time.sleep(_POLL_INTERVAL)
            with self._count_cost(request) as replies:
                replies.append(self.ask(request))
            return _extract_answer(replies[0].text, request.schema)
        except _FAILURES as error:
            return _without_traceback(error)

    async def _acomplete(self, request: ChatRequest) -> _Row:
        try:
            return await self._attempt(request)
        except _FAILURES as error:
            return _without_traceback(error)

    async def _attempt(self, request: ChatRequest) -> str:
        while not self._reserve(request):
            await asyncio.sleep(_POLL_INTERVAL)
        with self._count_cost(request) as replies:
            replies.append(await self.aask(request))
        return _extract_answer(replies[0].text, request.schema)

    def _reserve(self, request: ChatRequest) -> bool:
        return self.budget is None or self.budget.reserve(sum(Budget.max_cost(request)))

    @contextmanager
    def _count_cost(self, request: ChatRequest) -> Iterator[list[Reply]]:
        """Count the cost of a call, even if it fails; the caller appends the reply to the list."""
        replies, max_cost = list[Reply](), Budget.max_cost(request)
        cost = max_cost
        try:
            yield replies
        except RefusedError:
            cost = 0, 0
            raise
        finally:
            counts = (replies[0].tokens_in, replies[0].tokens_out) if replies else (None, None)
            with _LOCK:
                self.usage.requests += 1
                self.usage.tokens_in += counts[0] or 0
                self.usage.tokens_out += counts[1] or 0
            if self.budget:
                tokens_in, tokens_out = (b if n is None else n for n, b in zip(counts, cost, strict=True))
                self.budget.settle(sum(max_cost), tokens_in, tokens_out)


@dataclass(eq=False)
class CalledChat(Chat):
    """A framework's model or a function, with its own settings; equal to any other of the same model."""

    model: Any
    call: Callable[[Any], Any] = field(repr=False)
    acall: Callable[[Any], Awaitable[Any]] | None = field(repr=False)
    to_input: Callable[[ChatRequest], Any] = field(repr=False)
    concurrency: int = 1
    budget: Budget | None = None
    usage: Usage = field(default_factory=Usage, init=False, repr=False)

    def __repr__(self) -> str:
        return f"CalledChat({model_name(self.model) or type_name(self.model)})"

    def __eq__(self, other: object) -> bool:
        if not isinstance(other, CalledChat) or self.budget is not other.budget:
            return False
        return self.model is other.model or bool(self.model == other.model)

    def __hash__(self) -> int:
        return hash(type(self.model))

    @property
    def identity(self) -> str:
        """Name of the model and its settings in a cache; empty if it has no name."""
        if not model_name(self.model):
            return ""
        settings = {name: repr(getattr(self.model, name)) for name in _SETTINGS if hasattr(self.model, name)}
        return f"{identity(self.model)} {sha256(json.dumps(settings).encode()).hexdigest()[:16]}"

    def ask(self, request: ChatRequest) -> Reply:
        """Answer a request, or raise."""
        return _reply(not_awaitable(self.call(self.to_input(request)), "llm"))

    async def aask(self, request: ChatRequest) -> Reply:
        """Await `ask`; a model without an async method runs in a thread."""
        prompt = self.to_input(request)
        reply = await (self.acall(prompt) if self.acall else call_in_thread(self.call, prompt))
        return _reply(await reply if isawaitable(reply) else reply)


class _LangChainChatModel(Protocol):
    def invoke(self, messages: list[tuple[str, str]], /) -> Any: ...


class _LlamaIndexLLM(Protocol):
    def chat(self, messages: list[Any], /) -> Any: ...


# A function returns a text or an awaitable of one.
_Function: TypeAlias = (
    Callable[[str], Any] | Callable[[list[dict[str, str]]], Any] | Callable[[list[dict[str, Any]]], Any]
)
ChatModelLike: TypeAlias = Chat | _LangChainChatModel | _LlamaIndexLLM | _Function


def as_chat(llm: ChatModelLike | None, *, budget: Budget | None = None, concurrency: int | None = None) -> Chat:
    """Return a chat model as a `Chat`; None raises `MissingModel`, what is no model `ConfigurationError`.

    A function takes a prompt, or a list of ``{"role": ..., "content": ...}`` if its parameter is named ``messages``; an
    async one is for async calls only. ``concurrency`` None keeps the model's own, else 4, or 1 for a function.
    """
    if llm is None:
        raise errors.MissingModel("llm", _TAKEN, "llm")  # noqa: EM101
    rule = "concurrency must be a whole number >= 1 or None"
    require(concurrency is None or is_integer(concurrency, 1), rule, concurrency)
    require(budget is None or isinstance(budget, Budget), "budget must be a Budget or None", budget)
    if isinstance(llm, Chat):
        chat = copy.copy(llm) if budget or concurrency else llm  # the copy shares its usage
        chat.budget, chat.concurrency = budget or llm.budget, concurrency or llm.concurrency
        return chat
    for method, make_input, calls in _KINDS:
        if (call := getattr(llm, method, None)) and not isinstance(llm, type):
            slots = concurrency or getattr(llm, "concurrency", None) or calls
            return CalledChat(llm, call, getattr(llm, f"a{method}", None), make_input(llm), slots, budget)
    msg = f"an llm must be {_TAKEN}, got {type(llm).__qualname__}"
    raise errors.ConfigurationError(msg)


def usable_answer(chat: Any, request: ChatRequest, parse: Callable[[str], _T], attempts: int) -> Plan[_T]:
    """Return the first answer that ``parse`` takes, of at most ``attempts``, each with the next seed. An answer for
    which it raises `BadModelOutput` is not cached; the last such error is raised.
    """
    for attempt in range(attempts):
        try:
            (answer,) = yield Complete((replace(request, check=parse, attempt=attempt),), chat)
            return parse(answer)
        except BadModelOutput as error:
            last_error = error
    raise last_error


def message_dicts(request: ChatRequest) -> list[dict[str, str]]:
    """Return the messages in OpenAI's format."""
    return [{"role": role, "content": text} for role, text in request.messages]


def _of_llamaindex(request: ChatRequest) -> list[Any]:
    from llama_index.core.llms import ChatMessage

    return [ChatMessage(role=role, content=text) for role, text in request.messages]


def _of_function(function: Callable[..., Any]) -> Callable[[ChatRequest], Any]:
    first = ""
    with suppress(TypeError, ValueError):  # some builtins have no signature
        first = next(iter(signature(function).parameters), "")
    return message_dicts if first == "messages" else lambda request: "\n\n".join(text for _, text in request.messages)


# Method, maker of a converter of requests, and concurrency. The first method that an object has is used.
_KINDS: tuple[tuple[str, Callable[[Any], Callable[[ChatRequest], Any]], int], ...] = (
    ("invoke", lambda _: lambda request: list(request.messages), 4),  # LangChain
    ("chat", lambda _: _of_llamaindex, 4),  # LlamaIndex
    ("__call__", _of_function, 1),
)
_TAKEN = "an OpenAIChat(base_url, model), a chat model of LangChain or LlamaIndex, or a function of a prompt"
_JSON_STARTS = {"{": re.compile(r"\{\s*[\"}]"), "[": re.compile(r"\[\s*[\]\[{\"tfn\d-]")}
_MOST_TRIES = 64  # times the length of an answer that is read in search of JSON
# Settings of a framework's model that change its answers.
_SETTINGS = ("temperature", "top_p", "max_tokens", "num_predict", "seed", "stop", "model_kwargs", "additional_kwargs")


def _extract_answer(text: str, schema: str | None) -> str:
    """Return a model's text without its reasoning, or the JSON in it."""
    text = text[thoughts.end() :] if (thoughts := _THOUGHTS.match(text)) else text
    if schema:
        return _extract_json(text, "[" if json.loads(schema).get("type") == "array" else "{")
    require_answer(bool(text.strip()), "a chat model must answer with text, got none")
    return text


def _extract_json(text: str, opening: str) -> str:
    decoder, tried = json.JSONDecoder(), 0
    for match in _JSON_STARTS[opening].finditer(text):
        try:
            return text[match.start() : decoder.raw_decode(text, match.start())[1]]
        except json.JSONDecodeError as error:
            tried += error.pos
            if tried > _MOST_TRIES * len(text):
                break
        except RecursionError:  # the next brackets are nested as deeply
            break
    msg = f"a chat model must answer with JSON, got {text[:80]!r}"
    raise BadModelOutput(msg)


def _reply(reply: Any) -> Reply:
    message = getattr(reply, "message", reply)
    content: Any = message if isinstance(message, str) else getattr(message, "content", None)
    if isinstance(content, list):
        content = "".join(part if isinstance(part, str) else part.get("text", "") for part in content)
    require_answer(isinstance(content, str), f"a chat model must answer with text, got {type(reply).__name__}")
    usage = getattr(reply, "usage_metadata", None) or getattr(reply, "additional_kwargs", None) or {}
    names = ("prompt_tokens", "completion_tokens") if "prompt_tokens" in usage else ("input_tokens", "output_tokens")
    return Reply(content, *(as_token_count(usage.get(name)) for name in names))


def _without_traceback(error: Exception) -> Exception:
    """Return an error without its traceback, whose frames may hold an answer that echoed a key."""
    return (ModelUnavailable if isinstance(error, ModelUnavailable) else type(error))(str(error))


def as_token_count(value: Any) -> int | None:
    """Return a number of tokens; None if the value is not one."""
    return value if isinstance(value, int) and value >= 0 else None
