"""Allow experimental chunkers, whose results may still change."""

import os

from advchunk.errors import ConfigurationError, require

_SWITCH = "ADVCHUNK_EXPERIMENTAL"
_SPELLINGS = dict.fromkeys(("1", "true", "yes", "on"), True) | dict.fromkeys(("0", "false", "no", "off", ""), False)


def settings(*, experimental: bool) -> None:
    """Allow or forbid experimental chunkers in this process and those it starts (sets ``ADVCHUNK_EXPERIMENTAL``)."""
    require(isinstance(experimental, bool), "experimental must be True or False", experimental)
    os.environ[_SWITCH] = "1" if experimental else "0"


def check_experimental(experimental: object) -> None:
    """Raise `ConfigurationError` unless the value of a parameter ``experimental`` is True, False or None."""
    valid = experimental is None or isinstance(experimental, bool)
    require(valid, "experimental must be True, False or None", experimental)


def allows_experimental(experimental: bool | None) -> bool:
    """Return True if experimental chunkers are allowed; None follows `settings`."""
    check_experimental(experimental)
    if experimental is not None:
        return experimental
    value = os.environ.get(_SWITCH, "").strip().lower()
    require(value in _SPELLINGS, f"{_SWITCH} must be 1, true, yes or on, or else 0, false, no or off", value)
    return _SPELLINGS[value]


def require_experimental(name: str, experimental: bool | None) -> None:
    """Raise `ConfigurationError` unless experimental chunkers are allowed; None follows `settings`."""
    if allows_experimental(experimental):
        return
    msg = f"{name} is experimental: pass experimental=True (--experimental on the command line), or set {_SWITCH}=1"
    raise ConfigurationError(msg)


def to_compare() -> bool | None:
    """Return the value of ``experimental`` where chunkers are compared: allowed, unless `settings` forbids them."""
    return None if os.environ.get(_SWITCH, "").strip() else True
