"""Find the section labels of an abstract (Bio-MCP, "Chunking Strategy", 2025, step 2), and its layout by them."""

import json
import re
from bisect import bisect_left
from collections.abc import Iterable, Mapping
from dataclasses import replace
from functools import cache, lru_cache
from importlib.resources import files
from itertools import compress
from typing import NamedTuple

from advchunk.records import Block, Span

UNSTRUCTURED = "Unstructured"

# The section of each word that names one: those of the published table, and of more labels of PubMed.
_TABLE: Mapping[str, list[str]] = json.loads(files(__package__).joinpath("labels.json").read_text("utf-8"))
_NAMES = {word: name for name, words in _TABLE.items() for word in words}
_QUALIFIERS = frozenset(
    """and the of or study studies trial trials main key major primary secondary principal
    clinical research experimental statistical practice data evidence investigation""".split()  # noqa: SIM905
)
_ENDS = frozenset(".!?:;)]\"'”")  # end of a line that a label may follow
_MARKS = {"colon": (":", 2), "dash": ("-", 2), "hyphen": ("-", 1), "word": ("-", 0), "stop": (".", 2), "end": ("", 2)}
_PARAGRAPH = re.compile(r"\S(?:.*?\S)??(?=\s*\Z|\s*?\n[^\S\n]*\n)", re.DOTALL)


class Label(NamedTuple):
    """The span of a label with its colon, and the section that it names."""

    start: int
    end: int
    name: str


class _Candidate(NamedTuple):
    """Known words where a label may be.

    ``mark`` is the colon, dash or full stop that ends them, or "" at the end of a line. ``space`` is 2, but 1 for a
    hyphen right before a capital, a number or the end of the line, and 0 for one within a word in lower case. ``case``
    is 2 for upper case, 1 for a capital, else 0.
    """

    label: Label
    mark: str
    space: int
    case: int
    starts_line: bool
    is_separate: bool

    def stands_alone(self, follows_label: bool) -> bool:
        """Return True for a label by itself, whatever the others look like."""
        if not self.starts_line:
            return self.mark == ":" and self.case > 0
        if self.is_separate or follows_label:
            return self.mark == ":" or (self.case > 0 and self.mark != "." and self.space == 2)
        return self.mark == ":" and self.case == 2

    def resembles(self, first: "_Candidate") -> bool:
        """Return True for a label of the form of the first, or of a clearer one."""
        is_clear = self.case >= first.case and self.space >= min(first.space, 1)
        is_likely = self.space > 0 if self.case else self.is_separate
        return self.mark == first.mark and is_clear and is_likely


@lru_cache(maxsize=1024)
def section_name(label: str) -> str | None:
    """Return the section of a label's last word that names one; None if any word is neither a name nor a qualifier."""
    words = re.findall("[a-z]+", label.lower())
    names = [_NAMES[word] for word in words if word in _NAMES]
    return names[-1] if names and all(word in _NAMES or word in _QUALIFIERS for word in words) else None


def find_labels(text: str) -> list[Label]:
    """Find the labels of an abstract.

    Inside a line, a label is capitalized, follows a sentence, and ends with a colon. At the start of a line after a
    sentence or a blank line it may be in lower case, or end with a dash or the line. If the text begins with a label,
    and labels of other sections have the same form, so may all, inside a line too.

    >>> [label.name for label in find_labels("aim - to see. case-control study. results - none.")]
    ['Objective', 'Results']
    """
    candidates = [_candidate(text, match) for match in _pattern().finditer(text) if section_name(match["label"])]
    first = candidates[0] if candidates and not text[: candidates[0].label.start].strip() else None
    alike = [first is not None and candidate.resembles(first) for candidate in candidates]
    shared = len({candidate.label.name for candidate in compress(candidates, alike)}) > 1
    labels = list[Label]()
    for candidate, is_alike in zip(candidates, alike, strict=True):
        follows_label = bool(labels) and not text[labels[-1].end : candidate.label.start].strip()
        if candidate.stands_alone(follows_label) or (shared and is_alike):
            labels.append(candidate.label)
    return labels


@cache
def _pattern() -> re.Pattern[str]:
    """Return the pattern of known words that start a line, or follow a sentence; then a line may end within them."""
    words = "|".join(sorted({*_NAMES, *_QUALIFIERS}))
    gap = r"[ \t]*+(?(line)|(?:\r?\n[ \t]*+)?+)"
    return re.compile(
        rf"""(?: (?P<line> \A\s*+ | (?<=\S)[^\S\n]*+\n\s*+ ) | (?<=[.!?)\]"”]) (?: [ \t]++ | (?=(?-i:[A-Z]++):) ) )
            (?P<label> (?:{words})\b
                (?: (?: [ ,/&()-]{{1,3}} | (?(line)(?!)|[ ,/&()-]{{0,3}}+[ \t]*+\r?\n[ \t]*+) ) (?:{words})\b ){{0,9}} \)? )
            (?: (?P<colon> {gap}[:：] )
                | (?P<dash> {gap}(?<=\s)[-–—](?=[\s\w]) | [-–—](?=[ \t]) | [–—](?=[\r\n]|(?-i:[A-Z])) | — )
                | (?P<hyphen> [-–](?=[\d\s]|(?-i:[A-Z])) ) | (?P<word> [-–](?=\w) )
                | (?P<stop> \.(?=\s) ) | (?P<end> (?(line)[ \t]*(?=[\r\n])|(?!)) ) )""",  # noqa: E501
        re.VERBOSE | re.IGNORECASE,
    )


def _candidate(text: str, match: re.Match[str]) -> _Candidate:
    words, line = match["label"], match["line"]
    label = Label(match.start("label"), match.end(), section_name(words) or "")
    case = 2 if words.isupper() else int(words[0].isupper())
    before = text[max(match.start("line") - 1, 0) : match.start("line")] if line else ""
    is_separate = not before or before in _ENDS or line.count("\n") > 1
    return _Candidate(label, *_MARKS[match.lastgroup or ""], case, line is not None, is_separate)


def section_blocks(text: str, labels: Iterable[Label], layout: Iterable[Block] = ()) -> tuple[Block, ...]:
    """Return the layout of an abstract: labels are headings, and divide the paragraphs of ``layout`` or of the text."""
    labels, blocks = sorted(labels), list[Block]()
    starts = [label.start for label in labels]
    for block in list(layout) or [Block("paragraph", Span(*match.span())) for match in _PARAGRAPH.finditer(text)]:
        position, end = block.span
        own = labels[bisect_left(starts, position) : bisect_left(starts, end)] if block.kind == "paragraph" else []
        inside = [label for label in own if label.end <= end]
        for label in inside:
            blocks += _strip(text, block, position, label.start)
            blocks.append(Block("heading", Span(label.start, label.end), 1, label.name))
            position = label.end
        blocks += _strip(text, block, position, end) if inside else [block]
    return tuple(blocks)


def _strip(text: str, block: Block, start: int, end: int) -> list[Block]:
    inner = text[start:end].strip()
    start += text[start:end].find(inner)
    return [replace(block, span=Span(start, start + len(inner)))] if inner else []
