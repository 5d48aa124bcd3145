"""Undo what typesetting did to an abstract, with a way back to where each character stood.

References
----------
Bio-MCP, "Chunking Strategy", 2025, step 1.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Iterable, Iterator
from functools import cache
from html import unescape
from itertools import groupby
from typing import NamedTuple
from unicodedata import decomposition, is_normalized, normalize

import numpy as np

from advchunk.readers.abstracts.labels import find_labels
from advchunk.readers.hyphens import HYPHENATED, keeps_hyphen
from advchunk.readers.inline import RAISED
from advchunk.records import Ints

_BREAKING = "(?:jats:)?(?:p|sec|title)|br|dd|div|dt|h[1-6]|hr|li|ol|pre|section|table|tr|ul|AbstractText"
_TAG = re.compile(
    rf"""</?(?:(?P<breaking>{_BREAKING})
        | abbr|a|big|bold|b|center|cite|code|del|em|font|img|ins|italic|i|kbd|mark|q|samp|small|span|strike|strong|sub|sup|s
        | tbody|td|tfoot|thead|th|tt|u|var|(?:jats|mml):\w+)
        (?:\s+[\w:-]+\s*=\s*(?:"[^"]*"|'[^']*'|[^\s"'<>]+))*+\s*/?> | <!--[^<>]*+>""",
    re.VERBOSE | re.IGNORECASE | re.DOTALL,
)
_POWER = re.compile(r"(?<=\d)<sup>\s*([+−-]?\d+)\s*</sup>", re.IGNORECASE)
_ENTITY = re.compile(r"&(?:#\d{1,7}|#x[0-9a-f]{1,6}|\w{2,31});", re.IGNORECASE)
_UNSEEN = re.compile("\u00ad(?:[^\\S\n]*\n\\s*)?|[\u200b\ufeff]")
_FOREIGN = re.compile(r"[\x00-\x7f]?[^\x00-\x7f]+")
_LINE_HYPHEN = re.compile(r"(?<!\w)(?P<left>\w++)(?P<hyphen>-)[^\S\n]*+\n\s*+(?=(?P<right>\w++))")
_SPACE = re.compile(r"\s+")

Edit = tuple[int, int, str]


class AlignedText(NamedTuple):
    """A text, and where each of its characters and its end stand in the original: ``Document.offsets``."""

    text: str
    offsets: Ints

    def edited(self, edits: Iterable[Edit]) -> AlignedText:
        """Return the text with ranges replaced, ascending and disjoint."""
        texts, places, at = list[str](), list[Ints](), 0
        for start, end, new in edits:
            texts += [self.text[at:start], new]
            places += [self.offsets[at:start], np.repeat(self.offsets[start], len(new))]
            at = end
        if not texts:
            return self
        return AlignedText("".join([*texts, self.text[at:]]), np.concatenate([*places, self.offsets[at:]]))

    def replaced(self, pattern: re.Pattern[str], new: Callable[[re.Match[str]], str] | str) -> AlignedText:
        """Return the text with what a pattern matches replaced."""
        said = (lambda _: new) if isinstance(new, str) else new
        return self.edited((*match.span(), said(match)) for match in pattern.finditer(self.text))

    def part(self, start: int, end: int) -> AlignedText:
        """Return a piece of it."""
        return AlignedText(self.text[start:end], self.offsets[start : end + 1])


def plain(text: str) -> AlignedText:
    """Return a text as it is."""
    return AlignedText(text, np.arange(len(text) + 1))


def normalize_abstract(text: str | AlignedText) -> AlignedText:
    r"""Return an abstract without what typesetting put into it.

    HTML is stripped, characters are in NFKC, words divided at the end of a line are joined, white space is one space, or
    one line end before a label, or a blank line. What NFKC would make another number of stays: the exponent of 10⁹, and ½;
    so do ™ and ª.

    >>> normalize_abstract("Weight\u2009fell   by 2&nbsp;kg/m<sup>2</sup>\n(p&lt;0.05) in the pla-\ncebo group.").text
    'Weight fell by 2 kg/m2 (p<0.05) in the placebo group.'
    >>> derived = normalize_abstract("10<sup>9</sup>/L  of \ufb01brin")
    >>> derived.text, derived.offsets[-6:].tolist()
    ('10⁹/L of fibrin', [21, 22, 23, 24, 25, 26])
    """
    said = plain(text) if isinstance(text, str) else text
    if "<" in said.text:
        said = said.replaced(_POWER, lambda match: match[1].translate(RAISED))
        said = said.replaced(_TAG, lambda match: "\n" if match["breaking"] else "")
    if "&" in said.text:
        said = said.replaced(_ENTITY, lambda match: unescape(match[0]))
    said = said.replaced(_UNSEEN, "")
    if not is_normalized("NFKC", said.text):
        said = said.edited(_compatible(said.text))
    written = frozenset(HYPHENATED.findall(said.text.lower())) if "-" in said.text else frozenset()
    hyphens = ((match, keeps_hyphen(match, written)) for match in _LINE_HYPHEN.finditer(said.text))
    said = said.edited((match.start("hyphen"), match.end(), "-" * kept) for match, kept in hyphens)
    return said.edited(_collapsed(said.text))


def _compatible(text: str) -> Iterator[Edit]:
    """Yield what NFKC changes, piece by piece: the pieces compose with nothing around them."""
    import regex

    for run in _FOREIGN.finditer(text):
        if is_normalized("NFKC", run[0]):
            continue
        pieces = list[str]()
        for cluster in regex.findall(r"\X", run[0]):
            if pieces and _nfkc(pieces[-1] + cluster) != _nfkc(pieces[-1]) + _nfkc(cluster):
                pieces[-1] += cluster
            else:
                pieces.append(cluster)
        at = run.start()
        for piece in pieces:
            if (new := _nfkc(piece)) != piece:
                yield at, at + len(piece), new
            at += len(piece)


def _nfkc(text: str) -> str:
    runs = (("".join(run), kept) for kept, run in groupby(text, _is_number_sign))
    return "".join(run if kept else normalize("NFKC", run) for run, kept in runs)


@cache
def _is_number_sign(character: str) -> bool:
    return decomposition(character).startswith(("<super>", "<sub>", "<fraction>"))


def _collapsed(text: str) -> Iterator[Edit]:
    found = find_labels(text)
    before = {start for start, _, _ in found}
    behind = {end for _, end, _ in found}
    for match in _SPACE.finditer(text):
        start, end = match.span()
        if start == 0 or end == len(text):
            new = ""
        elif text.count("\n", start, end) > 1:
            new = "\n\n"
        elif "\n" in match[0] and (end in before or (start in behind and text[start - 1].isalpha())):
            new = "\n"
        else:
            new = " "
        if new != match[0]:
            yield start, end, new
