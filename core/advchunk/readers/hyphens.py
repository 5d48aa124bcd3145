"""Words divided at the ends of lines."""

from __future__ import annotations

import re

HYPHENATED = re.compile(r"(?<!\w)\w++-\w++")
# First halves that keep their hyphen.
_KEEPS = frozenset(
    """all case cost cross double dose follow health high in intention long low meta multi non open placebo population post pre
    quasi self short single three two well""".split()  # noqa: SIM905
)


def keeps_hyphen(match: re.Match[str], written: frozenset[str]) -> bool:
    """Return whether a word divided at the end of a line, ``left`` and ``right``, is one with a hyphen, as one of ``written`` is."""
    left, right = match["left"].lower(), match["right"].lower()
    divided = left.isalpha() and len(left) > 1 and match["right"][0].islower() and left not in _KEEPS
    return not divided or f"{left}-{right}" in written
