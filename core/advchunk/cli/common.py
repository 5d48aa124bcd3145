"""Error reporting and options that the commands share."""

import json
import signal
import sys
import threading
from collections.abc import Iterator
from contextlib import contextmanager
from typing import Any

import click

from advchunk.errors import ConfigurationError, MissingExtra, ModelUnavailable, mask, require

RESOURCE_OPTIONS = ("embedder", "tokenizer", "cache", "fallback", "lm", "llm")
"""Resources with an option of their own."""
RESOURCE_PARAMS = ("detector", "levels")
"""Resources that ``-p`` sets by name, or by a list of names and sizes; the others need Python."""

format_option = click.option(
    "-f", "--format", "form", type=click.Choice(["text", "json"]), default="text", show_default=True, help="Output format."  # noqa: E501
)  # fmt: skip


@contextmanager
def report_errors() -> Iterator[None]:
    """Report configuration errors as usage errors, and missing dependencies and files in one line."""
    try:
        yield
    except ConfigurationError as error:
        raise click.UsageError(str(error)) from error
    except (MissingExtra, ModelUnavailable) as error:
        raise click.ClickException(one_line(error)) from error
    except OSError as error:
        msg = f"{error.filename}: {error.strerror}" if error.filename else mask(str(error))
        raise click.ClickException(msg) from error


@contextmanager
def exit_on_termination() -> Iterator[None]:
    """Exit at SIGTERM and SIGHUP as at an error, so that unfinished files are removed."""
    numbers = [getattr(signal, name) for name in ("SIGTERM", "SIGHUP") if hasattr(signal, name)]
    numbers = [number for number in numbers if signal.getsignal(number) is signal.SIG_DFL]  # nohup ignores SIGHUP
    if threading.current_thread() is not threading.main_thread():  # which alone can set handlers
        numbers = []
    for number in numbers:
        signal.signal(number, lambda number, _: sys.exit(128 + number))
    try:
        yield
    finally:
        for number in numbers:
            signal.signal(number, signal.SIG_DFL)


def reason_of(error: Exception) -> str:
    """Return the reason for which a file failed, as one line: with the kind of an error, unless it is one that explains
    itself.
    """
    if isinstance(error, OSError) and error.strerror:
        return error.strerror
    kind = "" if isinstance(error, (OSError, ConfigurationError, MissingExtra)) else f"{type(error).__name__}: "
    return kind + one_line(error)


def one_line(error: Exception) -> str:
    """Return an error message as one line."""
    return mask(" ".join(str(error).split()))


def split_method(text: str) -> tuple[str, list[str]]:
    """Split NAME:K=V:K=V, a method with parameters, into its name and the assignments.

    >>> split_method("mst-semantic:preset=published")
    ('mst-semantic', ['preset=published'])
    """
    name, *pairs = text.split(":")
    return name, pairs


def parse_assignment(text: str, usage: str) -> tuple[str, Any]:
    """Split NAME=VALUE, where VALUE is JSON or else a string; raise `ConfigurationError` with ``usage`` if it has no
    "=".
    """
    name, equals, value = text.partition("=")
    require(bool(equals), usage, text)
    try:
        return name, json.loads(value)
    except json.JSONDecodeError:
        return name, value
