"""Calls in threads of their own, which may be given up; and which errors end one plan, not all."""

from __future__ import annotations

import asyncio
import threading
from collections.abc import Callable
from concurrent.futures import Future, wait
from contextvars import copy_context
from typing import Any, TypeVar

R = TypeVar("R")


def call_with_timeout(seconds: float | None, call: Callable[..., R], *args: Any) -> R:
    """Call, and raise `TimeoutError` if that takes longer than ``seconds``.

    Python cannot stop a computation from outside: one that is too late runs to its end in a
    daemon thread, and its result is dropped.
    """
    if seconds is None:
        return call(*args)
    if seconds > 0:
        future = run_in_thread(call, *args)
        wait([future], min(seconds, threading.TIMEOUT_MAX))
        if future.done():
            return future.result()
    msg = f"not done in the time allowed ({max(seconds, 0):.3g} s were left)"
    raise TimeoutError(msg)


async def call_in_thread(call: Callable[..., R], *args: Any) -> R:
    """Await a call in a thread of its own.

    The threads of `asyncio.to_thread` are few, and all are waited for when the loop ends: calls
    that were given up would stop the others, and then the program.
    """
    return await asyncio.wrap_future(run_in_thread(call, *args))


def run_in_thread(call: Callable[..., R], *args: Any) -> Future[R]:
    """Begin a call in a daemon thread."""
    future: Future[R] = Future()
    future.set_running_or_notify_cancel()  # from here on nobody can cancel it
    context = copy_context()  # callbacks of the frameworks travel in context variables

    def work() -> None:
        try:
            result = context.run(call, *args)
        except BaseException as error:  # noqa: BLE001 - raised again by who waits for it
            future.set_exception(
                as_exception(error) if isinstance(error, StopIteration) else error
            )  # may not cross a thread
        else:
            future.set_result(result)

    threading.Thread(target=work, daemon=True).start()
    return future


def as_exception(error: BaseException) -> Exception:
    """Return what ends one plan; raise again what ends all."""
    if isinstance(error, Exception) and not isinstance(error, StopIteration):
        return error
    if isinstance(error, (KeyboardInterrupt, SystemExit, GeneratorExit, asyncio.CancelledError)):
        raise error
    survivable = RuntimeError(f"{type(error).__name__}: {error}")  # such as a panic of a library in Rust
    survivable.__cause__ = error
    return survivable
