"""Repeat calls that failed for the moment, as tenacity does it."""

from __future__ import annotations

import time
from email.utils import parsedate_to_datetime
from random import uniform
from typing import Any, Literal

from advchunk.errors import ModelUnavailable, import_extra


class Passing(ModelUnavailable):
    """What may succeed when it is done again, after ``wait`` seconds if the endpoint says so."""

    def __init__(self, said: str, wait: float | None = None) -> None:
        super().__init__(said)
        self.wait = wait


def repeating(of: Any, kind: Literal["Retrying", "AsyncRetrying"], extra: str) -> Any:
    """Return what calls again after each `Passing`, as often and as patiently as ``of`` says.

    Parameters
    ----------
    of : has ``retries``, ``backoff`` and ``longest_wait``.
    extra : brings tenacity.
    """
    tenacity = import_extra("tenacity", extra)
    spread = tenacity.wait_random_exponential(multiplier=of.backoff, max=of.longest_wait)

    def wait(state: Any) -> float:
        said = state.outcome.exception().wait
        return float(spread(state)) if said is None else float(said * uniform(1, 1.25))

    return getattr(tenacity, kind)(
        stop=tenacity.stop_after_attempt(1 + of.retries),
        retry=tenacity.retry_if_exception_type(Passing),
        wait=wait,
        reraise=True,
    )


def retry_after(response: Any) -> float | None:
    """Return the seconds that an endpoint asks to wait, given as such or as a date (RFC 9110, 10.2.3)."""
    said = response.headers.get("retry-after") if response is not None else None
    if said is None:
        return None
    try:
        return max(0.0, float(said))  # in this order 0 also of "nan", for which nobody can wait
    except ValueError:
        pass
    try:
        return max(parsedate_to_datetime(said).timestamp() - time.time(), 0.0)
    except ValueError:
        return None
