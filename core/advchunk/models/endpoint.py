"""A chat model behind an endpoint that speaks OpenAI's protocol; the ``openai`` client is imported at the first call."""

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
from advchunk.models.chat import (
    Budget,
    Chat,
    ChatModelLike,
    Refused,
    RefusedForNow,
    Reply,
    Usage,
    as_chat,
    counted,
    dicts,
    is_number,
    is_whole,
)
from advchunk.models.retrying import Passing, retry_after

_SECRET = 8  # characters from which on a key is no word that a text may have by chance
_SAID = 300  # characters of what an endpoint says of a failure
_FORMATS = ("json_schema", "json_object", "text")  # from the strictest
# Perhaps because of the format; llama.cpp's server answers 500 to one that it does not know.
_FORMAT_REFUSED = (400, 404, 415, 422, 500, 501)


class _Clients:
    """The clients of the ``openai`` library, which hold the key. A copy in another process makes its own."""

    def __init__(self) -> None:
        self.lock = threading.Lock()
        self.keys: set[str] = set()
        self.called: Any = None
        self.awaited: WeakKeyDictionary[Any, Any] = WeakKeyDictionary()  # by event loop, which connections belong to

    def __reduce__(self) -> tuple[type[_Clients], tuple[()]]:
        return _Clients, ()

    def hidden(self, text: str) -> str:
        """Return a text without the key, should an endpoint have echoed it."""
        for key in self.keys:
            text = text.replace(key, "***")
        return text


@dataclass(eq=False)
class OpenAIChat(Chat):
    """A model behind any endpoint that speaks OpenAI's protocol: vLLM, llama.cpp, Ollama, or a hosted one.

    The key is read from the environment when the first call is made. It stands in no field, and in no log, error, cache or
    pickle. Structured output is asked for as strictly as the endpoint takes it: a JSON Schema, JSON, or the prompt alone;
    what it takes is found out once and remembered.

    Parameters
    ----------
    base_url : such as ``http://localhost:8000/v1``; without a key in it.
    model : the name that the endpoint knows it by.
    api_key_env : the environment variable that holds the key; an endpoint that needs none is sent "none".
    timeout : seconds of one call, > 0. One that is not awaited cannot be interrupted: it ends unheard in a thread of its own, when
        the endpoint has been silent for as long.
    retries, backoff, longest_wait : see `Chat`; repeated are HTTP 408, 409, 425, 429 and 5xx, broken answers and connections,
        and calls out of time.
    concurrency : calls at a time, >= 1.
    budget : see `Budget`; None is unlimited.
    options : more fields of a request, such as ``{"top_p": 0.9}``; None leaves a field out, as in
        ``{"max_tokens": None, "max_completion_tokens": 2048}``.

    Raises
    ------
    ConfigurationError : a parameter breaks its rule.
    MissingExtra : ``openai`` or ``tenacity`` is not installed; when the first call is made.

    Examples
    --------
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
    _format: int = field(default=0, init=False, repr=False)  # of _FORMATS
    _proven: bool = field(default=False, init=False, repr=False)  # whether an answer came in that format
    _clients: _Clients = field(default_factory=_Clients, init=False, repr=False)

    def __post_init__(self) -> None:
        # Values are not shown where somebody may have put a key, who should not find it in a log.
        plain = _is_plain(self.base_url)
        require(plain, "base_url must be http(s)://host/..., without user, password or query", "another")
        for name in ("model", "api_key_env"):
            value = getattr(self, name)
            require(isinstance(value, str) and value != "", f"{name} must be a name", type(value).__name__)
        require(is_number(self.timeout) and self.timeout > 0, "timeout must be > 0 seconds", self.timeout)
        require(is_whole(self.retries, 0), "retries must be a whole number >= 0", self.retries)
        for name in ("backoff", "longest_wait"):
            require(is_number(getattr(self, name)), f"{name} must be >= 0 seconds", getattr(self, name))
        require(is_whole(self.concurrency, 1), "concurrency must be a whole number >= 1", self.concurrency)
        require(self.budget is None or isinstance(self.budget, Budget), "budget must be a Budget or None", self.budget)
        require(_is_json(self.options), "options must be a mapping that JSON can hold", type(self.options).__name__)

    def load(self) -> None:
        """Load the client, and what repeats calls."""
        import_extra("openai", "llm")
        if self.retries:
            import_extra("tenacity", "llm")

    @property
    def identity(self) -> str:
        """What names the model and its settings in a cache."""
        said = f" {json.dumps(dict(self.options), sort_keys=True)}" if self.options else ""
        return f"{self.model} at {self.base_url}{said}"

    def _told(self, request: ChatRequest) -> ChatRequest:
        limits = [self.options.get(name) for name in ("max_completion_tokens", "max_tokens")]
        most = next((limit for limit in limits if isinstance(limit, int)), request.max_tokens)
        return replace(super()._told(request), max_tokens=most)  # which a budget sets aside

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
        raise failure  # here, and not from the error: what it holds, holds the key

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
        forms = (
            {"type": "json_schema", "json_schema": {"name": "answer", "strict": True, "schema": schema}},
            {"type": "json_object"},
            None,
        )
        body = {
            "max_tokens": request.max_tokens,
            "temperature": request.temperature,
            "seed": request.seed,
            "response_format": forms[form] if schema else None,
            **self.options,
        }
        return {
            "model": self.model,
            "messages": dicts(request),
            "extra_body": {name: value for name, value in body.items() if value is not None},
        }

    def _reply(self, answer: Any, request: ChatRequest, form: int) -> Reply:
        choices = getattr(answer, "choices", None)
        choice = choices[0] if isinstance(choices, list) and choices else None
        message = getattr(choice, "message", None)
        text, refusal = getattr(message, "content", None), getattr(message, "refusal", None)
        if getattr(choice, "finish_reason", None) == "content_filter":
            text, refusal = None, "a filter of contents"
        if not isinstance(text, str):
            msg = self._said(f"refused: {refusal}" if isinstance(refusal, str) else "answered without a text")
            raise BadModelOutput(msg)
        if request.schema and not self._proven:
            self._format, self._proven = form, True
        usage = getattr(answer, "usage", None)
        read, written = (counted(getattr(usage, name, None)) for name in ("prompt_tokens", "completion_tokens"))
        return Reply(self._clients.hidden(text), read, written)

    def _failure(self, error: Exception, request: ChatRequest, form: int) -> ModelUnavailable:
        """Return what an error of the client means, without what it holds."""
        status = getattr(error, "status_code", 0)
        if isinstance(error, TimeoutError) or "Timeout" in type(error).__name__:
            return Passing(self._said(f"no answer in {self.timeout:g} s"))
        if status < 400:  # no connection, or an answer cut off or garbled
            return Passing(self._said(f"{type(error).__name__}: {first_line(error)}"))
        said = self._said(f"HTTP {status}: {first_line(error).removeprefix(f'Error code: {status} - ')}")
        if status in (401, 403) and not os.environ.get(self.api_key_env):
            said += f" (the key is read from {self.api_key_env}, which is not set)"
        if request.schema and not self._proven and status in _FORMAT_REFUSED:
            last = form == len(_FORMATS) - 1
            self._format = 0 if last else max(self._format, form + 1)
            if not last:
                return RefusedForNow(said, 0.0)
        wait = retry_after(getattr(error, "response", None))
        passing = status in (408, 409, 425, 429) or status >= 500
        if not passing or getattr(error, "code", None) == "insufficient_quota":
            return Refused(said)
        if wait and wait > self.longest_wait:
            return Refused(f"{said} (again in {wait:.0f} s, which is longer than longest_wait)")
        return RefusedForNow(said, wait)

    def _said(self, why: str) -> str:
        return f"{self.model} at {self.base_url}: {self._clients.hidden(why)[:_SAID]}"

    def _client(self) -> Any:
        with self._clients.lock:
            if self._clients.called is None:
                self._clients.called = import_extra("openai", "llm").OpenAI(**self._settings())
                finalize(self._clients, self._clients.called.close)  # or Python warns of its connections
            return self._clients.called

    def _aclient(self) -> Any:
        loop = asyncio.get_running_loop()
        with self._clients.lock:
            if loop not in self._clients.awaited:
                # A connection that is kept would outlive its loop, and nothing says when a loop ends.
                settings = {**self._settings(), "default_headers": {"Connection": "close"}}
                self._clients.awaited[loop] = import_extra("openai", "llm").AsyncOpenAI(**settings)
            return self._clients.awaited[loop]

    def _settings(self) -> dict[str, Any]:
        key = os.environ.get(self.api_key_env, "").strip()
        rule = f"{self.api_key_env} must hold a key of ASCII characters, such as an HTTP header can carry"
        require(key.isascii() and key.isprintable(), rule, "another")
        if len(key) >= _SECRET:
            self._clients.keys.add(key)
        return {"api_key": key or "none", "base_url": self.base_url, "timeout": self.timeout, "max_retries": 0}


def _is_plain(base_url: Any) -> bool:
    """Whether this is the URL of an endpoint, and nothing that might be secret is in it."""
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
    """Coerce a chat model as `as_chat` does, or the base URL of an endpoint, where it goes by ``name``."""
    return _shared(llm, name) if isinstance(llm, str) else as_chat(llm)


@lru_cache(maxsize=16)
def _shared(base_url: str, model: str) -> OpenAIChat:
    """Return one model for all calls, so that they share its connections and are never more at a time than it takes."""
    return OpenAIChat(base_url, model)
