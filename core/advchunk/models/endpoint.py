"""Chat models and embedders behind OpenAI-compatible endpoints; ``openai`` is imported at the first call."""

import json
from collections.abc import Sequence
from dataclasses import KW_ONLY, dataclass, field, replace
from functools import lru_cache
from typing import Any

from advchunk.engine import ChatRequest
from advchunk.engine.threads import run_coroutine
from advchunk.errors import is_integer, mask_known, require, require_answer
from advchunk.models import chat
from advchunk.models.chat import Budget, Chat, ChatModelLike, RefusedError, Reply, Usage
from advchunk.models.connection import Endpoint, TransientRefusalError, retrying

_FORMATS = ("json_schema", "json_object", "text")  # strictest first
# Perhaps because of the format; llama.cpp's server answers 500 to an unknown one.
_FORMAT_REFUSED = (400, 404, 415, 422, 500, 501)


@dataclass(eq=False, kw_only=True)
class OpenAIChat(Endpoint, Chat):
    """A model behind any OpenAI-compatible endpoint: vLLM, llama.cpp, Ollama, or a hosted one.

    Structured output is requested in the strictest format that the endpoint takes: a JSON Schema, JSON, or the prompt.

    Parameters
    ----------
    base_url : such as ``http://localhost:8000/v1``, without a key.
    model : name of the model at the endpoint.
    api_key_env : environment variable with the key, which is read at the first call and appears in no field, log,
        error, cache or pickle; "none" is sent if it is not set.
    timeout : seconds per call, > 0.
    retries : retries of a call, >= 0, after HTTP 408, 409, 425, 429, 5xx, a broken answer or connection, or a timeout.
    backoff, longest_wait : seconds before the first retry, and the maximum before any. Each waits up to twice as long
        as the one before, at random, or slightly longer than the endpoint asks for.
    concurrency : maximum concurrent calls, >= 1.
    budget : see `Budget`; None is unlimited.
    options : more fields of a request, such as ``{"top_p": 0.9}``; None removes a field, as in
        ``{"max_tokens": None, "max_completion_tokens": 2048}``. ``extra_headers`` are HTTP headers.

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
        return run_coroutine(self.aask(request))

    async def aask(self, request: ChatRequest) -> Reply:
        """Await `ask`."""
        form = self._format
        try:
            answer = await self._request(
                "chat.completions.create",
                {"messages": chat.message_dicts(request)},
                **{name: getattr(request, name) for name in ("max_tokens", "temperature", "seed")},
                response_format=_response_format(request, form),
            )
        except RefusedError as refusal:
            raise self._chat_refusal(refusal, request, form) from None
        return self._reply(answer, request, form)

    def complete(self, requests: Sequence[ChatRequest]) -> list[str | Exception]:
        """Return the answer to each request, or an error."""
        return run_coroutine(self.acomplete(requests))

    async def _attempt(self, request: ChatRequest) -> str:
        answer: str = await retrying(self, "llm")(super()._attempt, request)
        return answer

    def _reply(self, answer: Any, request: ChatRequest, form: int) -> Reply:
        choices = getattr(answer, "choices", None)
        choice = choices[0] if isinstance(choices, list) and choices else None
        message = getattr(choice, "message", None)
        text: Any = getattr(message, "content", None)
        refusal = getattr(message, "refusal", None)
        if getattr(choice, "finish_reason", None) == "content_filter":
            text, refusal = None, "a content filter"
        problem = f"refused: {refusal}" if isinstance(refusal, str) else "answered without text"
        require_answer(isinstance(text, str), self._message(problem))
        if request.schema and not self._proven:
            self._format, self._proven = form, True
        usage = getattr(answer, "usage", None)
        counts = (chat.as_token_count(getattr(usage, name, None)) for name in ("prompt_tokens", "completion_tokens"))
        return Reply(mask_known(text), *counts)

    def _chat_refusal(self, refusal: RefusedError, request: ChatRequest, form: int) -> RefusedError:
        """Return a refusal that the format may have caused as one that is followed by a try in the next format."""
        if request.schema and not self._proven and refusal.status in _FORMAT_REFUSED:
            last = form == len(_FORMATS) - 1
            self._format = 0 if last else max(self._format, form + 1)
            if not last:
                return TransientRefusalError(str(refusal), 0.0)
        return refusal


def _response_format(request: ChatRequest, form: int) -> dict[str, Any] | None:
    if request.schema is None or _FORMATS[form] == "text":
        return None
    schema = {"name": "answer", "strict": True, "schema": json.loads(request.schema)}
    return {"type": _FORMATS[form]} | ({"json_schema": schema} if _FORMATS[form] == "json_schema" else {})


def chat_model(llm: ChatModelLike | str | None, name: str, budget: Budget | None = None) -> Chat:
    """Coerce a chat model as `as_chat` does; a string is the URL of an endpoint that has a model of this ``name``."""
    return chat.as_chat(_shared_endpoint(llm, name) if isinstance(llm, str) else llm, budget=budget)


# One model for all callers, so that they share its connections and its limit on concurrency.
_shared_endpoint = lru_cache(maxsize=16)(OpenAIChat)


@dataclass(eq=False)
class OpenAIEmbedder(Endpoint):
    """An embedding model behind any OpenAI-compatible endpoint: vLLM, llama.cpp, Ollama, or a hosted one.

    Parameters
    ----------
    dimensions : length of the vectors, >= 1, which is requested and checked; None is the model's own.
    batch_size : maximum texts per call, >= 1.
    max_tokens : tokens of the longest text the model reads, >= 1, or None; longer texts are embedded in parts.
    tokenizer : counts the tokens of the model (see `counters.as_counter`); None is the built-in WordPiece.
    base_url, model, api_key_env, timeout, retries, backoff, longest_wait, options : see `OpenAIChat`.

    >>> OpenAIEmbedder("https://api.openai.com/v1", "text-embedding-3-small", dimensions=256).identity
    'text-embedding-3-small at https://api.openai.com/v1, 256 dimensions'
    """

    _: KW_ONLY
    dimensions: int | None = None
    batch_size: int = 128
    max_tokens: int | None = None
    tokenizer: Any = None

    def __post_init__(self) -> None:
        super().__post_init__()
        for name in ("dimensions", "batch_size", "max_tokens"):
            value = getattr(self, name)
            optional = value is None and name != "batch_size"
            require(optional or is_integer(value, 1), f"{name} must be a whole number >= 1", value)
        self.load()

    @property
    def identity(self) -> str:
        """Name of the model and its settings in a cache."""
        return super().identity + (f", {self.dimensions} dimensions" if self.dimensions else "")

    def embed(self, texts: Sequence[str]) -> list[list[float]]:
        """Return a row for each text, or raise `ModelUnavailable` or `BadModelOutput`."""
        return run_coroutine(self.aembed(texts))

    async def aembed(self, texts: Sequence[str]) -> list[list[float]]:
        """Await `embed`."""
        filled = [text or " " for text in texts]  # endpoints refuse an empty text
        batches = [filled[i : i + self.batch_size] for i in range(0, len(filled), self.batch_size)]
        call = retrying(self, "llm")
        return [row for batch in batches for row in await call(self._embed_batch, batch)]

    async def _embed_batch(self, texts: list[str]) -> list[list[float]]:
        fields = {"input": texts, "encoding_format": "float"}
        answer = await self._request("embeddings.create", fields, dimensions=self.dimensions)
        rows = {getattr(item, "index", None): item.embedding for item in getattr(answer, "data", None) or ()}
        is_complete = rows.keys() == set(range(len(texts)))
        require_answer(is_complete, self._message(f"answered {len(texts)} texts with {len(rows)} vectors"))
        lengths = sorted({len(row) for row in rows.values()})
        rule = f"must return vectors of length {self.dimensions}, got {lengths}"
        require_answer(not self.dimensions or lengths == [self.dimensions], self._message(rule))
        return [rows[i] for i in range(len(texts))]
