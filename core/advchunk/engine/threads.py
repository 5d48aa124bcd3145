"""Calls in daemon threads, with timeouts, and the exceptions that end one plan or the whole run."""

import threading
from collections.abc import Callable
from concurrent.futures import Future, wait
from contextvars import copy_context
from typing import Any, TypeVar

_R = TypeVar("_R")


def call_with_timeout(seconds: float | None, call: Callable[..., _R], *args: Any) -> _R:
    """Call a function, and raise `TimeoutError` if it takes longer than ``seconds``.

    Python cannot stop a computation from outside, so a late call runs to its end in a daemon thread and its result is
    dropped.
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


async def call_in_thread(call: Callable[..., _R], *args: Any) -> _R:
    """Await a call in its own thread.

    `asyncio.to_thread` has few threads and joins them all when the loop ends, so abandoned calls would block other calls
    and then the exit of the program.
    """
    from asyncio import wrap_future  # slow to import, as below

    return await wrap_future(run_in_thread(call, *args))


def run_in_thread(call: Callable[..., _R], *args: Any) -> Future[_R]:
    """Start a call in a daemon thread."""
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
