"""A chat model behind an OpenAI-compatible endpoint; the ``openai`` client is imported at the first call."""

from __future__ import annotations

import asyncio
import json
from dataclasses import dataclass, field, replace
from functools import lru_cache
from typing import Any

from advchunk.engine import ChatRequest, call_with_timeout
from advchunk.errors import BadModelOutput, ModelUnavailable, import_extra, is_integer, require
from advchunk.models import chat
from advchunk.models.chat import (
    Budget,
    Chat,
    ChatModelLike,
    Reply,
    TransientRefusalError,
    Usage,
)
from advchunk.models.connection import Endpoint

_FORMATS = ("json_schema", "json_object", "text")  # strictest first
# Perhaps because of the format; llama.cpp's server answers 500 to an unknown one.
_FORMAT_REFUSED = (400, 404, 415, 422, 500, 501)


@dataclass(eq=False, kw_only=True)
class OpenAIChat(Endpoint, Chat):
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

    concurrency: int = 8
    budget: Budget | None = None
    usage: Usage = field(default_factory=Usage, init=False, repr=False)
    _format: int = field(default=0, init=False, repr=False)  # index into _FORMATS
    _proven: bool = field(default=False, init=False, repr=False)  # True once an answer came in that format

    def __post_init__(self) -> None:
        super().__post_init__()
        require(is_integer(self.concurrency, 1), "concurrency must be a whole number >= 1", self.concurrency)
        require(self.budget is None or isinstance(self.budget, Budget), "budget must be a Budget or None", self.budget)

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
            failure = self._chat_failure(error, request, form)
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
            failure = self._chat_failure(error, request, form)
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

    def _chat_failure(self, error: Exception, request: ChatRequest, form: int) -> ModelUnavailable:
        """Convert an error of the client; one that the format may have caused is followed by a try in the next format."""
        failure = self._failure(error)
        if request.schema and not self._proven and getattr(error, "status_code", 0) in _FORMAT_REFUSED:
            last = form == len(_FORMATS) - 1
            self._format = 0 if last else max(self._format, form + 1)
            if not last:
                return TransientRefusalError(str(failure), 0.0)
        return failure


def chat_model(llm: ChatModelLike | str | None, name: str) -> Chat:
    """Coerce a chat model as `as_chat` does; a string is the base URL of an endpoint that has a model of this ``name``."""
    return _shared_endpoint(llm, name) if isinstance(llm, str) else chat.as_chat(llm)


@lru_cache(maxsize=16)
def _shared_endpoint(base_url: str, model: str) -> OpenAIChat:
    """Return one model for all callers, so that they share its connections and its limit on concurrency."""
    return OpenAIChat(base_url, model)
