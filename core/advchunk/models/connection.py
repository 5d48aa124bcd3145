"""A connection to an OpenAI-compatible endpoint; the ``openai`` client is imported at the first call."""

from __future__ import annotations

import asyncio
import json
import os
import re
import threading
from collections.abc import Mapping
from dataclasses import KW_ONLY, dataclass, field
from typing import Any
from urllib.parse import urlsplit
from weakref import WeakKeyDictionary, finalize

from advchunk.errors import ModelUnavailable, first_line, import_extra, is_integer, require
from advchunk.models.chat import RefusedError, TransientRefusalError, is_number
from advchunk.models.retrying import TransientError, retry_after

_MIN_KEY_LENGTH = 8  # characters; a shorter key may be a common word, which is not masked
_MAX_MESSAGE_LENGTH = 300  # characters of an endpoint's error message


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
class Endpoint:
    """The settings of a connection, its clients, and its errors. The key appears in no field, log, error, cache or pickle."""

    base_url: str
    model: str
    _: KW_ONLY
    api_key_env: str = "OPENAI_API_KEY"
    timeout: float = 120.0
    retries: int = 5
    backoff: float = 0.5
    longest_wait: float = 60.0
    options: Mapping[str, Any] = field(default_factory=dict, repr=False)
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


def _reason(error: Exception, status: int) -> str:
    """Return the endpoint's message, without the rest of its answer, which old versions of the client show."""
    body = getattr(error, "body", None)
    message = body.get("message") if isinstance(body, Mapping) else None
    return first_line(message or str(error).removeprefix(f"Error code: {status} - "))
