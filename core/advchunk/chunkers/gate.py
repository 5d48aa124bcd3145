"""Allow experimental chunkers, whose results may still change."""

import os

from advchunk.errors import ConfigurationError

_SWITCH = "ADVCHUNK_EXPERIMENTAL"


def settings(*, experimental: bool) -> None:
    """Allow or forbid experimental chunkers in this process and those it starts (sets ``ADVCHUNK_EXPERIMENTAL``)."""
    os.environ[_SWITCH] = "1" if experimental else "0"


def require_experimental(name: str, experimental: bool | None) -> None:
    """Raise `ConfigurationError` unless experimental chunkers are allowed; None follows `settings`."""
    if os.environ.get(_SWITCH) == "1" if experimental is None else experimental:
        return
    msg = f"{name} is experimental: pass experimental=True (--experimental on the command line), or set {_SWITCH}=1"
    raise ConfigurationError(msg)
