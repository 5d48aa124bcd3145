"""Numeric claims: sentences with a statistic and its comparator.

"12.4 %" means little without "vs 2.1 % on placebo": a cut between them loses the claim. Rules for each sentence:

* a *statistic* is a percentage, a p-value, a confidence interval, an effect size (HR 0.7, OR = 2, Δ = 3, β, r, Cohen's
  d ...), a mean with its deviation (3 ± 1), or a multiple (2-fold, 3 times higher);
* a *comparator* is a word such as than, vs, compared with, relative to, placebo, control, baseline, whereas,
  respectively, or from one number to another; in English and, less completely, in ten other languages;
* a sentence with both is a claim. A sentence with a statistic only is a claim together with a neighbor in its paragraph
  that has a comparator: the sentence before it, unless that is a claim of its own, else the one after it. Without such
  a neighbor, a p-value, an interval or an effect size is still a claim, because it compares; a percentage is not.

Digits may be of any script.

Ours, motivated by Bio-MCP's chunking strategy (2025), steps 6 and 10: "Recall@K of numeric claims".
"""
# ruff: noqa: RUF001 - signs of many scripts

import re
from typing import NamedTuple

from advchunk.records import Span, Units
from advchunk.text import tiling
from advchunk.text.sentences import sentences as split_sentences

_NUMBER = r"(?:(?<![\d.,])(?:[+−–-]\s?)?(?:\d+(?:[.,٫·’]\d+)*|[.·]\d+))"
_PERCENT = r"(?:[%％٪﹪‰]|\bper\s?cent|percentage points?|\bpp\b|Prozent|pour cent|por ciento|por cento|процент)"
# Compiled on first use and cached by `re`, so that ``import advchunk`` is fast.
_SHARE = rf"{_NUMBER}(?:\s|-)?{_PERCENT}"
# These imply a comparison.
_INFERENTIAL = rf"""(?x)
    \b[pPР]\s?(?:-?values?)?\s?(?:[<>=≤≥≦≧]|of\b|was\b|is\b)\s?{_NUMBER}                     # p < 0.05
    | (?:\bC(?:r)?I\b|\bIC\b|\bKI\b|ДИ|confidence\ intervals?|信頼区間|置信区间)[^\d\n]{{0,20}}{_NUMBER}  # 95 % CI 0.5 to 0.9
    | (?:\b(?:[aA]?HR|[aA]?OR|I?RR|SMD|WMD|MD|NNT|AUC|ES)|(?i:(?:hazard|odds|risk|rate)\ ratio|relative\ risk
        |mean\ difference|effect\ size|correlation\ coefficient))\b(?:\s?\([^()\d]*\))?[\s:,=≈]*(?:of|was|is)?\s?{_NUMBER}
    # d = 0.3, F(1, 20) = 4.1
    | (?:\bCohen['’]s\ d|\b[drtFz]|\bR2|R²|Δ|β|\bbeta|η²|χ²)(?:\s?\([^()]*\))?\s?[=≈]\s?{_NUMBER}
    | {_NUMBER}\s?±\s?{_NUMBER}
    | {_NUMBER}[\s-]?fold\b
    | {_NUMBER}\s?(?:times|×|x)\s(?:as|more|less|higher|lower|greater|larger|smaller|faster|slower|fewer)\b
    """  # noqa: E501
_COMPARATOR = rf"""(?xis)
    \b(?: vs?\. | vs | versus | than | compar(?:ed|ing|ison|able)\w* | relative\ to | in\ contrast | as\ against | whereas
        | respectively | controls? | placebo | sham | baseline | from\s{_NUMBER}.{{0,200}}?\bto\s{_NUMBER}
        | between\b.{{1,200}}\band | verglichen | Vergleich | gegenüber | comparé\w* | par\ rapport | comparad[oa]s? | frente\ a
        | respecto\ a | rispetto | confronto | сравнени\w* | сравнению | контрол\w* )(?!\w)
    | 相比 | 相较 | 相較 | 对照 | 對照 | 比べ | 対照 | より | 대비 | 비해 | مقارنة | तुलना
    """  # noqa: E501


class Claim(NamedTuple):
    """A numeric claim, and the statistics in it."""

    span: Span
    statistics: tuple[Span, ...]


def numeric_claims(text: str, sentences: Units | None = None) -> list[Claim]:
    """Find the numeric claims of a text (see the module); ``sentences`` defaults to `sentences.sentences` of it."""
    units = split_sentences(text) if sentences is None else sentences
    edges, texts = units.edges.tolist(), units.strings()
    compares = [bool(re.search(_COMPARATOR, sentence)) for sentence in texts]
    ends_paragraph = [sentence[len(sentence.rstrip()) :].count("\n") > 1 for sentence in texts]
    inferential = [_find(_INFERENTIAL, *pair) for pair in zip(texts, edges, strict=False)]
    shares = [_find(_SHARE, *pair) for pair in zip(texts, edges, strict=False)]
    statistics = [[*first, *second] for first, second in zip(inferential, shares, strict=True)]
    claims = []
    for i, spans in enumerate(statistics):
        first = last = i
        if spans and not compares[i]:
            if i and compares[i - 1] and not statistics[i - 1] and not ends_paragraph[i - 1]:
                first = i - 1
            elif i + 1 < len(texts) and compares[i + 1] and not ends_paragraph[i]:
                last = i + 1
            elif not inferential[i]:
                continue
        if spans:
            start, end = tiling.next_non_space(text, edges[first]), edges[last] + len(texts[last].rstrip())
            claims.append(Claim(Span(start, end), tuple(sorted(spans))))
    return claims


def _find(pattern: str, text: str, offset: int) -> list[Span]:
    return [Span(offset + match.start(), offset + match.end()) for match in re.finditer(pattern, text)]
