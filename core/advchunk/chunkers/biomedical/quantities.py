"""Quantities, which are never cut: a number with its unit, its comparison, the statistics in its parentheses."""

import re
from dataclasses import dataclass
from itertools import chain

import numpy as np

from advchunk.records import Span, Units
from advchunk.text.tiling import Tiler, from_ends

_NUMBER = r"(?:(?<![\d.,·])[+−–-]?(?:\d++(?:[.,·]\d++)*+|[.·]\d++))"
_UNIT = r"""(?:[%‰°] | °[CF]\b | (?: [fpnuµμmcdkMG]?(?:A|Bq|cal|Da|Eq|eq|g|Gy|Hz|IU|J|kat|L|l|m|M|mol|OsM|Pa|s|Sv|U|V|W) | mmHg | hPa
    | min(?:ute)?s? | sec(?:ond)?s? | h(?:ou)?rs? | h | days? | d | weeks? | wks? | months? | mo | years? | yrs? | y | bpm | bp | kb
    | beats | breaths | cells | copies | doses? | units? | points? | pp | per\s?cent | fold | times | percentage\s points? )\b
    (?: \s?/\s?[\w²³]+ | \s per \s \w+ | \s?[·×]\s?\w+[⁻−-]?[¹²\d] )* )"""  # noqa: E501
_QUANTITY = rf"{_NUMBER}(?:[ -]?{_UNIT})?"

# Compiled on first use and cached by `re`, so that ``import advchunk`` is fast.
_PATTERNS = (
    rf"{_NUMBER}[ -]?{_UNIT}",  # 1.5 mg/kg
    # p = 0.03, 3.1 ± 0.4 kg
    rf"(?<![^\s()\[\]])[^\s()\[\]=<>≤≥≈~±]{{1,40}}+[ ]?(?:[=<>≤≥≈~±]|\+/-|<=|>=)[ ]?{_QUANTITY}",
    rf"{_QUANTITY}[ ](?:vs\.?|versus|to|and|or|[–−×x-])[ ]{_QUANTITY}",  # 12.4% vs 2.1%
    rf"{_NUMBER}[ ]?%[ ]?(?:CI|CrI|confidence[ ]interval)s?[ ]?[:,=]?[ ]?{_NUMBER}(?:(?:[ ]?[-–−,;][ ]?|[ ]to[ "
    rf"]){_NUMBER})?",
)
# Parentheses, with one level of nesting and of limited length, and the number before them.
_BRACKETED = rf"""(?:{_QUANTITY}[ ]?)?(?: \((?:[^()\n]|\n(?!\s*\n)|\([^()]{{0,200}}\)){{0,400}}+\)
    | \[(?:[^\[\]\n]|\n(?!\s*\n)|\[[^\[\]]{{0,200}}\]){{0,400}}+\] )"""
_DIGIT = re.compile(r"\d")


def quantity_spans(text: str) -> list[Span]:
    """Return quantities, comparisons of numbers, and parentheses with or after a number; in any order.

    >>> text = "Given 1.5 mg/kg (n = 30 [15 men]), p = 0.03 (see below)."
    >>> [text[slice(*span)] for span in sorted(quantity_spans(text))]
    ['1.5 mg/kg', '1.5 mg/kg (n = 30 [15 men])', 'n = 30', 'p = 0.03', '0.03 (see below)']
    """
    if not _DIGIT.search(text):
        return []
    matches = chain.from_iterable(re.finditer(pattern, text, re.VERBOSE) for pattern in _PATTERNS)
    bracketed = (match for match in re.finditer(_BRACKETED, text, re.VERBOSE) if _DIGIT.search(match[0]))
    return [Span(*match.span()) for match in chain(matches, bracketed)]


@dataclass(frozen=True)
class QuantityTiler:
    """A tiler without the edges that are within quantities."""

    tiler: Tiler

    def __call__(self, text: str) -> Units:
        """Tile a text."""
        units = self.tiler(text)
        if len(units) == 1:
            return units
        depth = np.zeros(len(text) + 2, dtype=np.int64)
        for start, end in quantity_spans(text):
            depth[start + 1] += 1
            depth[end] -= 1
        edges = units.edges[1:-1]
        return from_ends(text, edges[np.cumsum(depth)[edges] == 0].tolist())
