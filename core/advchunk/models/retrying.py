"""Retries of async calls that failed temporarily, with tenacity."""

import asyncio
import time
from contextlib import suppress
from email.utils import parsedate_to_datetime
from random import uniform
from typing import Any

from advchunk.errors import ModelUnavailable, import_extra


class TransientError(ModelUnavailable):
    """A failure that a retry may fix, after ``wait`` seconds if the endpoint specifies them."""

    def __init__(self, message: str, wait: float | None = None) -> None:
        super().__init__(message)
        self.wait = wait


def retrying(settings: Any, extra: str) -> Any:
    """Return a tenacity caller that retries after each `TransientError`. Settings: ``retries``, ``backoff``,
    ``longest_wait``.
    """
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
