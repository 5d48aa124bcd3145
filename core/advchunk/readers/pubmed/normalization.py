"""Undo the typesetting of an abstract, and keep original positions (Bio-MCP, "Chunking Strategy", 2025, step 1)."""

from __future__ import annotations

import re
from collections.abc import Callable, Iterable, Iterator
from functools import cache
from html import unescape
from itertools import groupby
from typing import NamedTuple
from unicodedata import decomposition, is_normalized, normalize

import numpy as np

from advchunk.readers.hyphens import HYPHENATED, keeps_hyphen
from advchunk.readers.inline import SUPERSCRIPTS
from advchunk.readers.pubmed.labels import find_labels
from advchunk.records import Ints

_BREAKING = "(?:jats:)?(?:p|sec|title)|br|dd|div|dt|h[1-6]|hr|li|ol|pre|section|table|tr|ul|AbstractText"
_TAG = re.compile(
    rf"""</?(?:(?P<breaking>{_BREAKING})
        | abbr|a|big|bold|b|center|cite|code|del|em|font|img|ins|italic|i|kbd|mark|q|samp|small|span|strike|strong|sub|sup|s
        | tbody|td|tfoot|thead|th|tt|u|var|(?:jats|mml):\w+)
        (?:\s+[\w:-]+\s*=\s*(?:"[^"]*"|'[^']*'|[^\s"'<>]+))*+\s*/?> | <!--[^<>]*+>""",  # noqa: E501
    re.VERBOSE | re.IGNORECASE | re.DOTALL,
)
_POWER = re.compile(r"(?<=\d)<sup>\s*([+−-]?\d+)\s*</sup>", re.IGNORECASE)
_ENTITY = re.compile(r"&(?:#\d{1,7}|#x[0-9a-f]{1,6}|\w{2,31});", re.IGNORECASE)
_INVISIBLE = re.compile("\u00ad(?:[^\\S\n]*\n\\s*)?|[\u200b\ufeff]")
_NON_ASCII = re.compile(r"[\x00-\x7f]?[^\x00-\x7f]+")
_LINE_HYPHEN = re.compile(r"(?<!\w)(?P<left>\w++)(?P<hyphen>-)[^\S\n]*+\n\s*+(?=(?P<right>\w++))")
_SPACE = re.compile(r"\s+")

_Edit = tuple[int, int, str]


class AlignedText(NamedTuple):
    """A text, and the original position of each of its characters and of its end: ``Document.offsets``."""

    text: str
    offsets: Ints

    @classmethod
    def of(cls, text: str) -> AlignedText:
        """Return a text aligned with itself."""
        return cls(text, np.arange(len(text) + 1))

    def edit(self, edits: Iterable[_Edit]) -> AlignedText:
        """Replace ranges, given as (start, end, replacement), ascending and disjoint."""
        texts, offsets, position = list[str](), list[Ints](), 0
        for start, end, new in edits:
            texts += [self.text[position:start], new]
            offsets += [self.offsets[position:start], np.repeat(self.offsets[start], len(new))]
            position = end
        if not texts:
            return self
        return AlignedText("".join([*texts, self.text[position:]]), np.concatenate([*offsets, self.offsets[position:]]))

    def sub(self, pattern: re.Pattern[str], new: Callable[[re.Match[str]], str]) -> AlignedText:
        """Replace the matches of a pattern, as ``re.sub`` does."""
        return self.edit((*match.span(), new(match)) for match in pattern.finditer(self.text))

    def slice(self, start: int, end: int) -> AlignedText:
        """Return a part of the text."""
        return AlignedText(self.text[start:end], self.offsets[start : end + 1])


def normalize_abstract(source: str | AlignedText) -> AlignedText:
    """Return an abstract without HTML, in NFKC, with words joined at line ends; white space is one space, or one line
    end before a label, or a blank line. Characters that NFKC would turn into another number stay, such as the exponent
    of 10⁹, and ½; so do ™ and ª.
    """
    abstract = AlignedText.of(source) if isinstance(source, str) else source
    if "<" in abstract.text:
        abstract = abstract.sub(_POWER, lambda match: match[1].translate(SUPERSCRIPTS))
        abstract = abstract.sub(_TAG, lambda match: "\n" if match["breaking"] else "")
    if "&" in abstract.text:
        abstract = abstract.sub(_ENTITY, lambda match: unescape(match[0]))
    abstract = abstract.sub(_INVISIBLE, lambda _: "")
    if not is_normalized("NFKC", abstract.text):
        abstract = abstract.edit(_nfkc_edits(abstract.text))
    abstract = abstract.edit(_hyphen_edits(abstract.text))
    return abstract.edit(_space_edits(abstract.text))


def _hyphen_edits(text: str) -> Iterator[_Edit]:
    """Yield the joints of words divided at line ends; a label that ends in a hyphen is none."""
    matches = list(_LINE_HYPHEN.finditer(text))
    hyphenated = frozenset(HYPHENATED.findall(text.lower())) if matches else frozenset()
    labels = {label.end for label in find_labels(text)} if matches else set()
    for match in matches:
        if match.end("hyphen") not in labels:
            yield match.start("hyphen"), match.end(), "-" * keeps_hyphen(match, hyphenated)


def _nfkc_edits(text: str) -> Iterator[_Edit]:
    """Yield the changes of NFKC by pieces that do not compose with their neighbors."""
    import regex

    for run in _NON_ASCII.finditer(text):
        if is_normalized("NFKC", run[0]):
            continue
        pieces = list[str]()
        for cluster in regex.findall(r"\X", run[0]):
            if pieces and _nfkc(pieces[-1] + cluster) != _nfkc(pieces[-1]) + _nfkc(cluster):
                pieces[-1] += cluster
            else:
                pieces.append(cluster)
        start = run.start()
        for piece in pieces:
            if (new := _nfkc(piece)) != piece:
                yield start, start + len(piece), new
            start += len(piece)


def _nfkc(text: str) -> str:
    runs = (("".join(run), kept) for kept, run in groupby(text, _is_number_sign))
    return "".join(run if kept else normalize("NFKC", run) for run, kept in runs)


@cache
def _is_number_sign(character: str) -> bool:
    return decomposition(character).startswith(("<super>", "<sub>", "<fraction>"))


def _space_edits(text: str) -> Iterator[_Edit]:
    labels = find_labels(text)
    starts, ends = {label.start for label in labels}, {label.end for label in labels}
    for match in _SPACE.finditer(text):
        start, end = match.span()
        is_edge, line_ends = start == 0 or end == len(text), match[0].count("\n")
        at_label = line_ends and (end in starts or (start in ends and text[start - 1].isalpha()))
        new = "" if is_edge else "\n\n" if line_ends > 1 else "\n" if at_label else " "
        if new != match[0]:
            yield start, end, new
