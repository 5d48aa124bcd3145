"""Words hyphenated at the ends of lines."""

import re

HYPHENATED = re.compile(r"(?<!\w)\w++-\w++")
# First halves that keep their hyphen.
_PREFIXES = frozenset(
    """all case cost cross double dose follow health high in intention long low meta multi non open placebo population post pre
    quasi self short single three two well""".split()  # noqa: E501, SIM905
)


def keeps_hyphen(match: re.Match[str], hyphenated: frozenset[str]) -> bool:
    """Return True if a word divided at a line end keeps its hyphen when joined, as words in ``hyphenated`` do."""
    left, right = match["left"].lower(), match["right"].lower()
    divided = left.isalpha() and len(left) > 1 and match["right"][0].islower() and left not in _PREFIXES
    return not divided or f"{left}-{right}" in hyphenated
