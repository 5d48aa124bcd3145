"""Fill in prompts for chat models."""

import re
from collections.abc import Sequence

from advchunk.text.counters import Counter


def fill_prompt(prompt: str, **values: str) -> str:
    """Replace the ``{placeholders}`` of a prompt; those in the values are left alone.

    >>> fill_prompt("{outline}|{lines}", outline="a {lines}", lines="b")
    'a {lines}|b'
    """
    return re.sub(r"\{(\w+)\}", lambda match: values.get(match[1], match[0]), prompt)


def fit_outline(headings: Sequence[tuple[int, str]], max_tokens: int, counter: Counter) -> str:
    """Return an outline of headings (level, line), without the deepest levels if it would exceed ``max_tokens``.

    >>> fit_outline([(1, "Guide"), (2, "Guide > Install")], 9, len)
    'Guide'
    """
    for deepest in sorted({level for level, _ in headings}, reverse=True):
        outline = "\n".join(line for level, line in headings if level <= deepest)
        if counter(outline) <= max_tokens:
            return outline
    return ""
