"""Calls in daemon threads, with timeouts, and the exceptions that end one plan or the whole run."""

from __future__ import annotations

import os
import threading
import time
from collections.abc import Callable, Coroutine
from contextvars import copy_context
from functools import lru_cache
from typing import TYPE_CHECKING, Any, TypeVar

if TYPE_CHECKING:
    from asyncio import AbstractEventLoop
    from concurrent.futures import Future

_R = TypeVar("_R")
_LOCK = threading.Lock()  # on the creation of the event loop


def call_with_timeout(seconds: float | None, call: Callable[..., _R], *args: Any) -> _R:
    """Call, or raise `TimeoutError` after ``seconds``; a late call, which nothing can stop, ends in a daemon thread."""
    if seconds is None:
        return call(*args)
    if seconds > 0:
        from concurrent.futures import wait  # slow to import, as below

        start, future = time.monotonic(), run_in_thread(call, *args)
        wait([future], min(seconds, threading.TIMEOUT_MAX))
        if future.done() and time.monotonic() - start <= seconds:  # a short wait may end late
            return future.result()
    msg = f"not done in the time allowed ({max(seconds, 0):.3g} s were left)"
    raise TimeoutError(msg)


async def call_in_thread(call: Callable[..., _R], *args: Any) -> _R:
    """Await a call in its own thread: abandoned calls would block `asyncio.to_thread`, which joins its few threads."""
    from asyncio import wrap_future

    return await wrap_future(run_in_thread(call, *args))


def run_in_thread(call: Callable[..., _R], *args: Any) -> Future[_R]:
    """Start a call in a daemon thread."""
    from concurrent.futures import Future

    future: Future[_R] = Future()
    future.set_running_or_notify_cancel()  # the call can no longer be canceled
    context = copy_context()  # the frameworks pass callbacks in context variables

    def work() -> None:
        try:
            result = context.run(call, *args)
        except BaseException as error:  # noqa: BLE001 - raised again where the result is awaited
            # A future cannot carry StopIteration.
            future.set_exception(as_exception(error) if isinstance(error, StopIteration) else error)
        else:
            future.set_result(result)

    threading.Thread(target=work, daemon=True).start()
    return future


def run_coroutine(coroutine: Coroutine[Any, Any, _R]) -> _R:
    """Run a coroutine on `background_loop`, also from a thread that runs an event loop itself, as in notebooks."""
    from asyncio import run_coroutine_threadsafe

    future = run_coroutine_threadsafe(coroutine, background_loop())
    try:
        return future.result()
    finally:
        future.cancel()  # if the wait was interrupted


def background_loop() -> AbstractEventLoop:
    """Return the event loop that runs in a daemon thread of this process, for calls that sync and async code share."""
    with _LOCK:
        return _start_loop(os.getpid())


@lru_cache(maxsize=1)
def _start_loop(_process: int) -> AbstractEventLoop:  # a fork has no threads
    from asyncio import new_event_loop

    loop = new_event_loop()
    threading.Thread(target=loop.run_forever, daemon=True, name="advchunk-calls").start()
    return loop


def as_exception(error: BaseException) -> Exception:
    """Return an exception that ends one plan; re-raise an error that must end the run, such as `KeyboardInterrupt`."""
    if isinstance(error, Exception) and not isinstance(error, StopIteration):
        return error
    from asyncio import CancelledError

    if isinstance(error, (KeyboardInterrupt, SystemExit, GeneratorExit, CancelledError)):
        raise error
    wrapped = RuntimeError(f"{type(error).__name__}: {error}")  # such as a panic in a Rust library
    wrapped.__cause__ = error
    return wrapped
