"""What commands share: how errors are said, and which resources a name will do for."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager

import click

from advchunk.errors import ConfigurationError, MissingExtra, ModelUnavailable

NAMED = ("embedder", "tokenizer", "cache", "fallback", "lm", "llm")
"""The resources that a name will do for."""


@contextmanager
def errors_said() -> Iterator[None]:
    """Say what a user did wrong as click says it, and what is not here in one line."""
    try:
        yield
    except ConfigurationError as error:
        raise click.UsageError(str(error)) from error
    except (MissingExtra, ModelUnavailable) as error:
        raise click.ClickException(line(error)) from error
    except OSError as error:
        msg = f"{error.filename}: {error.strerror}" if error.filename else str(error)
        raise click.ClickException(msg) from error


def line(error: Exception) -> str:
    """Return what an error says in one line."""
    return " ".join(str(error).split())
