"""A chat model behind an OpenAI-compatible endpoint; the ``openai`` client is imported at the first call."""

from __future__ import annotations

import asyncio
import json
import os
import re
import threading
from collections.abc import Mapping
from dataclasses import KW_ONLY, dataclass, field, replace
from functools import lru_cache
from typing import Any
from urllib.parse import urlsplit
from weakref import WeakKeyDictionary, finalize

from advchunk.engine import ChatRequest, call_with_timeout
from advchunk.errors import BadModelOutput, ModelUnavailable, first_line, import_extra, require
from advchunk.models import chat
from advchunk.models.chat import (
    Budget,
    Chat,
    ChatModelLike,
    RefusedError,
    Reply,
    TransientRefusalError,
    Usage,
    is_integer,
    is_number,
)
from advchunk.models.retrying import TransientError, retry_after

_MIN_KEY_LENGTH = 8  # characters; a shorter key may be a common word, which is not masked
_MAX_MESSAGE_LENGTH = 300  # characters of an endpoint's error message
_FORMATS = ("json_schema", "json_object", "text")  # strictest first
# Perhaps because of the format; llama.cpp's server answers 500 to an unknown one.
_FORMAT_REFUSED = (400, 404, 415, 422, 500, 501)


class _Clients:
    """The clients of the ``openai`` library, which hold the key. A pickled copy makes its own."""

    def __init__(self) -> None:
        self.lock = threading.Lock()
        self.keys: set[str] = set()
        self.sync_client: Any = None
        self.async_clients: WeakKeyDictionary[Any, Any] = WeakKeyDictionary()  # by event loop, which owns connections

    def __reduce__(self) -> tuple[type[_Clients], tuple[()]]:
        return _Clients, ()

    def mask(self, text: str) -> str:
        """Replace the key in a text, in case an endpoint echoed it."""
        for key in self.keys:
            text = text.replace(key, "***")
        return text


@dataclass(eq=False)
class OpenAIChat(Chat):
    """A model behind any OpenAI-compatible endpoint: vLLM, llama.cpp, Ollama, or a hosted one.

    The key is read from the environment at the first call. It never appears in a field, log, error, cache or pickle.
    Structured output is requested in the strictest format that the endpoint takes: a JSON Schema, JSON, or the prompt
    alone. The format is determined once.

    Parameters
    ----------
    base_url : such as ``http://localhost:8000/v1``, without a key.
    model : name of the model at the endpoint.
    api_key_env : environment variable that holds the key; "none" is sent if it is not set.
    timeout : seconds per call, > 0. A sync call cannot be interrupted: it goes on in a thread until the endpoint has
        been silent for that long.
    retries, backoff, longest_wait : see `Chat`; HTTP 408, 409, 425, 429 and 5xx, broken answers and connections, and
        timeouts are retried.
    concurrency : maximum concurrent calls, >= 1.
    budget : see `Budget`; None is unlimited.
    options : more fields of a request, such as ``{"top_p": 0.9}``; None removes a field, as in
        ``{"max_tokens": None, "max_completion_tokens": 2048}``.

    Raises
    ------
    MissingExtra : ``openai`` or ``tenacity`` is not installed; raised at the first call.

    >>> OpenAIChat("http://localhost:11434/v1", "qwen2.5:7b", concurrency=2).identity
    'qwen2.5:7b at http://localhost:11434/v1'
    """

    base_url: str
    model: str
    _: KW_ONLY
    api_key_env: str = "OPENAI_API_KEY"
    timeout: float = 120.0
    retries: int = 5
    backoff: float = 0.5
    longest_wait: float = 60.0
    concurrency: int = 8
    budget: Budget | None = None
    options: Mapping[str, Any] = field(default_factory=dict, repr=False)
    usage: Usage = field(default_factory=Usage, init=False, repr=False)
    _format: int = field(default=0, init=False, repr=False)  # index into _FORMATS
    _proven: bool = field(default=False, init=False, repr=False)  # True once an answer came in that format
    _clients: _Clients = field(default_factory=_Clients, init=False, repr=False)

    def __post_init__(self) -> None:
        # A value that may contain a key is not shown, so that it does not get into a log.
        rule = "base_url must be http(s)://host/..., without user, password or query"
        require(_is_plain_url(self.base_url), rule, "another")
        for name in ("model", "api_key_env"):
            value = getattr(self, name)
            require(isinstance(value, str) and value != "", f"{name} must be a name", type(value).__name__)
        require(is_number(self.timeout) and self.timeout > 0, "timeout must be > 0 seconds", self.timeout)
        require(is_integer(self.retries, 0), "retries must be a whole number >= 0", self.retries)
        for name in ("backoff", "longest_wait"):
            require(is_number(getattr(self, name)), f"{name} must be >= 0 seconds", getattr(self, name))
        require(is_integer(self.concurrency, 1), "concurrency must be a whole number >= 1", self.concurrency)
        require(self.budget is None or isinstance(self.budget, Budget), "budget must be a Budget or None", self.budget)
        require(_is_json(self.options), "options must be a JSON-serializable mapping", type(self.options).__name__)

    def load(self) -> None:
        """Import ``openai``, and ``tenacity`` for retries."""
        import_extra("openai", "llm")
        if self.retries:
            import_extra("tenacity", "llm")

    @property
    def identity(self) -> str:
        """Name of the model and its settings in a cache."""
        options = f" {json.dumps(dict(self.options), sort_keys=True)}" if self.options else ""
        return f"{self.model} at {self.base_url}{options}"

    def _prepare(self, request: ChatRequest) -> ChatRequest:
        limits = [self.options.get(name) for name in ("max_completion_tokens", "max_tokens")]
        max_tokens = next((limit for limit in limits if isinstance(limit, int)), request.max_tokens)
        return replace(super()._prepare(request), max_tokens=max_tokens)  # which a budget reserves

    def ask(self, request: ChatRequest) -> Reply:
        """Answer a request, or raise."""
        openai, client, form = import_extra("openai", "llm"), self._client(), self._format
        fields = self._fields(request, form)
        try:
            answer = call_with_timeout(self.timeout, lambda: client.chat.completions.create(**fields))
        except (openai.OpenAIError, OSError, ValueError) as error:
            failure = self._failure(error, request, form)
        else:
            return self._reply(answer, request, form)
        raise failure  # not from the client's own error, which holds the key

    async def aask(self, request: ChatRequest) -> Reply:
        """Await `ask`."""
        openai, client, form = import_extra("openai", "llm"), self._aclient(), self._format
        fields = self._fields(request, form)
        try:
            async with asyncio.timeout(self.timeout):  # Python 3.11's wait_for may lose a cancellation
                answer = await client.chat.completions.create(**fields)
        except (openai.OpenAIError, OSError, ValueError) as error:
            failure = self._failure(error, request, form)
        else:
            return self._reply(answer, request, form)
        raise failure

    def _fields(self, request: ChatRequest, form: int) -> dict[str, Any]:
        schema = json.loads(request.schema) if request.schema else None
        json_schema = {"type": "json_schema", "json_schema": {"name": "answer", "strict": True, "schema": schema}}
        response_format = (json_schema, {"type": "json_object"}, None)[form] if schema else None
        body = {name: getattr(request, name) for name in ("max_tokens", "temperature", "seed")}
        body |= {"response_format": response_format, **self.options}
        extra_body = {name: value for name, value in body.items() if value is not None}
        return {"model": self.model, "messages": chat.message_dicts(request), "extra_body": extra_body}

    def _reply(self, answer: Any, request: ChatRequest, form: int) -> Reply:
        choices = getattr(answer, "choices", None)
        choice = choices[0] if isinstance(choices, list) and choices else None
        message = getattr(choice, "message", None)
        text, refusal = getattr(message, "content", None), getattr(message, "refusal", None)
        if getattr(choice, "finish_reason", None) == "content_filter":
            text, refusal = None, "a content filter"
        if not isinstance(text, str):
            msg = self._message(f"refused: {refusal}" if isinstance(refusal, str) else "answered without text")
            raise BadModelOutput(msg)
        if request.schema and not self._proven:
            self._format, self._proven = form, True
        usage = getattr(answer, "usage", None)
        counts = (chat.as_token_count(getattr(usage, name, None)) for name in ("prompt_tokens", "completion_tokens"))
        return Reply(self._clients.mask(text), *counts)

    def _failure(self, error: Exception, request: ChatRequest, form: int) -> ModelUnavailable:
        """Convert an error of the client into one that does not contain the key."""
        status = getattr(error, "status_code", 0)
        if isinstance(error, TimeoutError) or "Timeout" in type(error).__name__:
            return TransientError(self._message(f"no answer in {self.timeout:g} s"))
        if status < 400:  # no connection, or a truncated or garbled answer
            return TransientError(self._message(f"{type(error).__name__}: {first_line(error)}"))
        message = self._message(f"HTTP {status}: {first_line(error).removeprefix(f'Error code: {status} - ')}")
        if status in (401, 403) and not os.environ.get(self.api_key_env):
            message += f" (the key is read from {self.api_key_env}, which is not set)"
        if request.schema and not self._proven and status in _FORMAT_REFUSED:
            last = form == len(_FORMATS) - 1
            self._format = 0 if last else max(self._format, form + 1)
            if not last:
                return TransientRefusalError(message, 0.0)
        wait = retry_after(getattr(error, "response", None))
        transient = status in (408, 409, 425, 429) or status >= 500
        if not transient or getattr(error, "code", None) == "insufficient_quota":
            return RefusedError(message)
        if wait and wait > self.longest_wait:
            return RefusedError(f"{message} (retry after {wait:.0f} s, longer than longest_wait)")
        return TransientRefusalError(message, wait)

    def _message(self, reason: str) -> str:
        return f"{self.model} at {self.base_url}: {self._clients.mask(reason)[:_MAX_MESSAGE_LENGTH]}"

    def _client(self) -> Any:
        with self._clients.lock:
            if self._clients.sync_client is None:
                self._clients.sync_client = import_extra("openai", "llm").OpenAI(**self._settings())
                finalize(self._clients, self._clients.sync_client.close)  # or Python warns of open connections
            return self._clients.sync_client

    def _aclient(self) -> Any:
        loop = asyncio.get_running_loop()
        with self._clients.lock:
            if loop not in self._clients.async_clients:
                # A persistent connection would outlive its loop, whose end cannot be observed.
                settings = {**self._settings(), "default_headers": {"Connection": "close"}}
                self._clients.async_clients[loop] = import_extra("openai", "llm").AsyncOpenAI(**settings)
            return self._clients.async_clients[loop]

    def _settings(self) -> dict[str, Any]:
        key = os.environ.get(self.api_key_env, "").strip()
        rule = f"{self.api_key_env} must hold a key of ASCII characters, as HTTP headers require"
        require(key.isascii() and key.isprintable(), rule, "another")
        if len(key) >= _MIN_KEY_LENGTH:
            self._clients.keys.add(key)
        return {"api_key": key or "none", "base_url": self.base_url, "timeout": self.timeout, "max_retries": 0}


def _is_plain_url(base_url: Any) -> bool:
    """Return True if this is the URL of an endpoint without anything that might be secret."""
    try:
        url = urlsplit(base_url)
        bare = "@" not in url.netloc and not url.query and not url.fragment and (url.port is None or url.port > 0)
    except (ValueError, TypeError, AttributeError):
        return False
    return url.scheme in ("http", "https") and bool(url.hostname) and bare and not re.search(r"\s", base_url)


def _is_json(options: Any) -> bool:
    try:
        return isinstance(options, Mapping) and bool(json.dumps(dict(options), allow_nan=False))
    except (ValueError, TypeError):
        return False


def chat_model(llm: ChatModelLike | str | None, name: str) -> Chat:
    """Coerce a chat model as `as_chat` does; a string is the base URL of an endpoint that has a model of this ``name``."""
    return _shared_endpoint(llm, name) if isinstance(llm, str) else chat.as_chat(llm)


@lru_cache(maxsize=16)
def _shared_endpoint(base_url: str, model: str) -> OpenAIChat:
    """Return one model for all callers, so that they share its connections and its limit on concurrency."""
    return OpenAIChat(base_url, model)
