"""The most that reading a file may take: one budget, which every reader asks, and in proportion to which time grows."""

import os
from typing import Final

from advchunk.errors import Unreadable, require

# The most of each unit, which no real document comes near, and its name in messages.
_MOST: Final = {
    "bytes": (256 * 2**20, "bytes"),  # of a member of an archive, or of an Office file unpacked
    "total": (4 * 2**30, "bytes"),  # that an archive unpacks to, with what is hidden in it
    "members": (100_000, "members"),  # of an archive
    "parts": (10_000, "parts"),  # of an Office file
    "characters": (50_000_000, "characters"),  # of XML
    "elements": (500_000, "elements and as many attributes"),  # of XML
    "attributes": (10_000, "attributes"),  # of an element of HTML
    "levels": (200, "levels deep"),  # in which data and XML are nested
    "values": (2_000_000, "values"),  # of JSON and YAML; real ones have at most one per 30 characters
    "columns": (2_000, "columns"),  # of separated values
}


def most(unit: str) -> int:
    """Return the most that reading may take of a unit: ``ADVCHUNK_MAX_<UNIT>`` of the environment, or ours.

    Raises
    ------
    ConfigurationError : the value of the environment is not a whole number.
    """
    name = f"ADVCHUNK_MAX_{unit.upper()}"
    value = os.environ.get(name, "").strip()
    require(not value or value.isdecimal(), f"{name} must be a whole number", value)
    return int(value) if value else _MOST[unit][0]


def check(unit: str, taken: int, rule: str, place: str = "") -> None:
    """Raise `Unreadable` if reading takes more than the budget, with the rule, the value, and how to raise it.

    >>> check("values", 3_000_000, "JSON must have")
    Traceback (most recent call last):
    advchunk.errors.Unreadable: JSON must have at most 2,000,000 values, got 3000000; ADVCHUNK_MAX_VALUES raises it
    """
    if taken > (limit := most(unit)):
        got = place or f", got {taken}"
        msg = f"{rule} at most {limit:,} {_MOST[unit][1]}{got}; ADVCHUNK_MAX_{unit.upper()} raises it"
        raise Unreadable(msg)
