"""Words hyphenated at the ends of lines."""

import re
from collections.abc import Collection

HYPHENATED = re.compile(r"(?<!\w)\w++-\w++")
# First halves that keep their hyphen.
_PREFIXES = frozenset(
    """all case cost cross double dose follow health high in intention long low meta multi non open placebo population post pre
    quasi self short single three two well""".split()  # noqa: SIM905
)


def keeps_hyphen(match: re.Match[str], words: Collection[str]) -> bool:
    """Return True if a word divided at a line end keeps its hyphen when joined.

    It does if the document has it so among its ``words`` (in lower case), or has both halves, but not the joined word.
    """
    left, right = match["left"].lower(), match["right"].lower()
    if left + right in words:
        return False
    divided = left.isalpha() and len(left) > 1 and match["right"][0].islower() and left not in _PREFIXES
    return not divided or f"{left}-{right}" in words or (left in words and right in words)
