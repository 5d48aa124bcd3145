"""What belongs to a number, and must not be cut from it: its unit, its relation, the statistics in its parentheses."""

from __future__ import annotations

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
    (?: \s?/\s?[\w²³]+ | \s per \s \w+ | \s?[·×]\s?\w+[⁻−-]?[¹²\d] )* )"""
_QUANTITY = rf"{_NUMBER}(?:[ -]?{_UNIT})?"

# Compiled when first used, and kept by `re`: that takes milliseconds, which ``import advchunk`` shall not.
_TIED = (
    rf"{_NUMBER}[ -]?{_UNIT}",  # 1.5 mg/kg
    rf"(?<![^\s()\[\]])[^\s()\[\]=<>≤≥≈~±]{{1,40}}+[ ]?(?:[=<>≤≥≈~±]|\+/-|<=|>=)[ ]?{_QUANTITY}",  # p = 0.03, 3.1 ± 0.4 kg
    rf"{_QUANTITY}[ ](?:vs\.?|versus|to|and|or|[–−×x-])[ ]{_QUANTITY}",  # 12.4% vs 2.1%
    rf"{_NUMBER}[ ]?%[ ]?(?:CI|CrI|confidence[ ]interval)s?[ ]?[:,=]?[ ]?{_NUMBER}(?:(?:[ ]?[-–−,;][ ]?|[ ]to[ ]){_NUMBER})?",
)
# With its own brackets, of one level; further than this no statistics go. Of the number before it, if there is one.
_BRACKETED = rf"""(?:{_QUANTITY}[ ]?)?(?: \((?:[^()\n]|\n(?!\s*\n)|\([^()]{{0,200}}\)){{0,400}}+\)
    | \[(?:[^\[\]\n]|\n(?!\s*\n)|\[[^\[\]]{{0,200}}\]){{0,400}}+\] )"""
_DIGIT = re.compile(r"\d")


def tied(text: str) -> list[Span]:
    """Return what must not be cut, in any order: quantities, comparisons of numbers, parentheses of or behind a number.

    >>> text = "Given 1.5 mg/kg (n = 30 [15 men]), p = 0.03 (see below)."
    >>> [text[slice(*span)] for span in sorted(tied(text))]
    ['1.5 mg/kg', '1.5 mg/kg (n = 30 [15 men])', 'n = 30', 'p = 0.03', '0.03 (see below)']
    """
    if not _DIGIT.search(text):
        return []
    matches = chain.from_iterable(re.finditer(pattern, text, re.VERBOSE) for pattern in _TIED)
    enclosed = (match for match in re.finditer(_BRACKETED, text, re.VERBOSE) if _DIGIT.search(match[0]))
    return [Span(*match.span()) for match in chain(matches, enclosed)]


@dataclass(frozen=True)
class _Keeping:
    tiler: Tiler

    def __call__(self, text: str) -> Units:
        units = self.tiler(text)
        if len(units) == 1:
            return units
        inside = np.zeros(len(text) + 2, dtype=np.int64)
        for start, end in tied(text):
            inside[start + 1] += 1
            inside[end] -= 1
        edges = units.edges[1:-1]
        return from_ends(text, edges[np.cumsum(inside)[edges] == 0].tolist())


def keeping(tiler: Tiler) -> Tiler:
    """Return a tiler that ends no unit within what is `tied`, and else where ``tiler`` does.

    >>> from advchunk.text.tiling import words
    >>> keeping(words)("Give 1.5 mg/kg twice").strings()
    ['Give ', '1.5 mg/kg ', 'twice']
    """
    return _Keeping(tiler)
