"""A connection to an OpenAI-compatible endpoint, with retries; ``openai`` and ``tenacity`` are imported when needed."""

import asyncio
import json
import os
import re
import time
from collections.abc import Mapping
from contextlib import suppress
from dataclasses import KW_ONLY, dataclass, field
from email.utils import parsedate_to_datetime
from hashlib import sha256
from operator import attrgetter
from random import uniform
from typing import Any
from urllib.parse import urlsplit
from weakref import finalize

from advchunk import errors
from advchunk.engine.threads import background_loop
from advchunk.errors import ModelUnavailable, first_line, import_extra, is_integer, is_number, require
from advchunk.models.chat import RefusedError

_MAX_MESSAGE_LENGTH = 300  # characters of an endpoint's error message


class TransientError(ModelUnavailable):
    """A failure that a retry may fix, after ``wait`` seconds if the endpoint specifies them."""

    def __init__(self, message: str, wait: float | None = None) -> None:
        super().__init__(message)
        self.wait = wait


class TransientRefusalError(TransientError, RefusedError):
    """A refusal that may be retried, such as HTTP 429."""


class _Client:
    """The client of the ``openai`` library, which holds the key. A pickled copy and a forked process make their own."""

    client: Any = None
    loop: Any = None  # which owns the connections

    def __reduce__(self) -> "tuple[type[_Client], tuple[()]]":
        return _Client, ()


@dataclass(eq=False)
class Endpoint:
    """The settings of a connection, its client and its errors. The key is in no field, log, error, cache or pickle."""

    base_url: str
    model: str
    _: KW_ONLY
    api_key_env: str = "OPENAI_API_KEY"
    timeout: float = 120.0
    retries: int = 5
    backoff: float = 0.5
    longest_wait: float = 60.0
    options: Mapping[str, Any] = field(default_factory=dict, repr=False)
    _client: _Client = field(default_factory=_Client, init=False, repr=False)

    def __post_init__(self) -> None:
        # A value that may contain a key is not shown, so that it does not get into a log.
        rule = "base_url must be http(s)://host/..., without user, password or query"
        require(is_plain_url(self.base_url), rule, "another")
        for name, value in (("model", self.model), ("api_key_env", self.api_key_env)):
            require(isinstance(value, str) and value != "", f"{name} must be a name", type(value).__name__)
        require(is_number(self.timeout) and self.timeout > 0, "timeout must be > 0 seconds", self.timeout)
        require(is_integer(self.retries, 0), "retries must be a whole number >= 0", self.retries)
        for name in ("backoff", "longest_wait"):
            require(is_number(getattr(self, name)), f"{name} must be >= 0 seconds", getattr(self, name))
        require(_is_json(self.options), "options must be a JSON-serializable mapping", type(self.options).__name__)

    def load(self) -> None:
        """Import ``openai``, and ``tenacity`` for retries."""
        import_extra("openai", "llm")
        if self.retries:
            import_extra("tenacity", "llm")

    @property
    def identity(self) -> str:
        """Name of the model and its settings in a cache."""
        options = json.dumps(dict(self.options), sort_keys=True)  # which may hold keys
        digest = f" {sha256(options.encode()).hexdigest()[:16]}" if self.options else ""
        return f"{self.model} at {self.base_url}{digest}"

    async def _request(self, method: str, fields: Mapping[str, Any], **body: Any) -> Any:
        """Return the answer to a method of the client, such as "embeddings.create", or raise `ModelUnavailable`."""
        extra_body = {name: value for name, value in (body | dict(self.options)).items() if value is not None}
        headers = extra_body.pop("extra_headers", None)
        request = {"model": self.model, **fields, "extra_body": extra_body, "extra_headers": headers}
        call = asyncio.run_coroutine_threadsafe(self._send(method, request), background_loop())
        return await asyncio.wrap_future(call)

    async def _send(self, method: str, fields: Mapping[str, Any]) -> Any:
        openai, client = import_extra("openai", "llm"), self._connect()
        try:
            async with asyncio.timeout(self.timeout):  # Python 3.11's wait_for may lose a cancellation
                return await attrgetter(method)(client)(**fields)
        except (openai.OpenAIError, OSError, ValueError) as error:
            failure = self._failure(error)
        raise failure  # not from the client's own error, which holds the key

    def _failure(self, error: Exception) -> ModelUnavailable:
        """Convert an error of the client into one that does not contain the key."""
        status = getattr(error, "status_code", 0)
        if isinstance(error, TimeoutError) or "Timeout" in type(error).__name__:
            return TransientError(self._message(f"no answer in {self.timeout:g} s"))
        if status < 400:  # no connection, or a truncated or garbled answer
            return TransientError(self._message(f"{type(error).__name__}: {first_line(error)}"))
        message = self._message(f"HTTP {status}: {_reason(error, status)}")
        if status in (401, 403) and not os.environ.get(self.api_key_env):
            message += f" (the key is read from {self.api_key_env}, which is not set)"
        wait = retry_after(getattr(error, "response", None))
        transient = status in (408, 409, 425, 429) or status >= 500
        if not transient or getattr(error, "code", None) == "insufficient_quota":
            refusal = RefusedError(message)
        elif wait and wait > self.longest_wait:
            refusal = RefusedError(f"{message} (retry after {wait:.0f} s, longer than longest_wait)")
        else:
            refusal = TransientRefusalError(message, wait)
        refusal.status = status
        return refusal

    def _message(self, reason: str) -> str:
        return f"{self.model} at {self.base_url}: {errors.mask(reason)[:_MAX_MESSAGE_LENGTH]}"

    def _connect(self) -> Any:
        """Return the client, whose connections belong to the running event loop."""
        own, loop = self._client, asyncio.get_running_loop()
        if own.loop is not loop:
            settings = {"base_url": self.base_url, "timeout": self.timeout, "max_retries": 0}
            own.client = import_extra("openai", "llm").AsyncOpenAI(api_key=self._read_key(), **settings)
            own.loop = loop
            finalize(own, _disconnect, own.client, loop).atexit = False
        return own.client

    def _read_key(self) -> str:
        key = os.environ.get(self.api_key_env, "").strip()
        rule = f"{self.api_key_env} must contain a key of ASCII characters, as HTTP headers require"
        require(key.isascii() and key.isprintable(), rule, "another")
        errors.hide(key)
        headers = self.options.get("extra_headers")
        for name, value in headers.items() if isinstance(headers, Mapping) else ():
            if re.search(f"key|token|auth|cookie|{errors.SECRET_NAME}", name, re.IGNORECASE):
                errors.hide(str(value).rpartition(" ")[2])  # after such as "Bearer"
        return key or "none"


def _disconnect(client: Any, loop: asyncio.AbstractEventLoop) -> None:
    asyncio.run_coroutine_threadsafe(client.close(), loop)


def is_plain_url(base_url: Any) -> bool:
    """Return True if this is the URL of an endpoint without anything that might be secret."""
    with suppress(ValueError, TypeError, AttributeError):
        url = urlsplit(base_url)
        bare = "@" not in url.netloc and not url.query and not url.fragment and (url.port is None or url.port > 0)
        return url.scheme in ("http", "https") and bool(url.hostname) and bare and not re.search(r"\s", base_url)
    return False


def _is_json(options: Any) -> bool:
    with suppress(ValueError, TypeError):
        return isinstance(options, Mapping) and bool(json.dumps(dict(options), allow_nan=False))
    return False


def _reason(error: Exception, status: int) -> str:
    """Return the endpoint's message, without the rest of its answer, which old versions of the client show."""
    body = getattr(error, "body", None)
    message = body.get("message") if isinstance(body, Mapping) else None
    return first_line(message or str(error).removeprefix(f"Error code: {status} - "))


def retrying(settings: Any, extra: str) -> Any:
    """Return a tenacity caller that retries after each `TransientError`, by the ``retries`` and waits of settings."""
    if not settings.retries:
        return lambda call, *args: call(*args)
    tenacity = import_extra("tenacity", extra)
    spread = tenacity.wait_random_exponential(multiplier=settings.backoff, max=settings.longest_wait)

    def wait(state: Any) -> float:
        seconds = state.outcome.exception().wait
        return float(spread(state)) if seconds is None else float(seconds * uniform(1, 1.25))

    return tenacity.AsyncRetrying(
        stop=tenacity.stop_after_attempt(1 + settings.retries),
        retry=tenacity.retry_if_exception_type(TransientError),
        wait=wait,
        sleep=asyncio.sleep,
        reraise=True,
    )


def retry_after(response: Any) -> float | None:
    """Return the seconds in a ``Retry-After`` header, a number or a date (RFC 9110, 10.2.3); None without one."""
    header = response.headers.get("retry-after") if response is not None else None
    if header is not None:
        with suppress(ValueError):
            return max(0.0, float(header))  # in this order "nan" is 0 too
        with suppress(ValueError):
            return max(parsedate_to_datetime(header).timestamp() - time.time(), 0.0)
    return None
