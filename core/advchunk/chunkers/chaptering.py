"""Chapters by a chat model: it says where sections begin, in numbers alone, and the text's own coherence must bear it out."""

from __future__ import annotations

import re
from bisect import bisect_left
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field, replace
from functools import partial
from itertools import pairwise
from typing import ClassVar, NamedTuple

import numpy as np

from advchunk.chunkers.base import VectorsChunker
from advchunk.chunkers.experimental import ExperimentalChunker
from advchunk.chunkers.language import ChatChunker, ChatParams
from advchunk.chunkers.params import at_least
from advchunk.engine import ChatRequest, Complete, Plan
from advchunk.errors import BadModelOutput, require
from advchunk.layout import Headings
from advchunk.models import prompts
from advchunk.numerics import search, signals
from advchunk.records import Chunk, Document, Explanation, Floats, Ints, Segmentation, Units
from advchunk.sizes import Limits
from advchunk.text import tiling
from advchunk.text.counters import Counter

_ANSWER, _OUTLINE = 2048, 1024  # tokens: of some 150 headings, and of as many titles
_SECTIONS = 128  # of a window, at most, as large as they may be: an answer that is cut off lacks the last of them
_WINDOW, _LEAST = 256, 4  # tokens of a window, and units, of which two are repeated, so that each goes on from the last
_NUMBER = 4  # tokens of what a line of a window has besides its text, such as "[123]"
_LINE, _TITLE = 600, 120  # characters of a unit that the model is shown, and of a title that it gives
_SAID = 80  # characters of an answer, in an error
_PLACES = ("{max_section_tokens}", "{outline}", "{lines}")

_HEADING = re.compile(
    r"^ {0,3}\#{1,6}[ \t]*"
    r"[\[(*]{0,3}(?P<number>[0-9]{1,9})(?:[-–][0-9]{1,9})?[\])*.:]{0,3}"  # "12", as asked; "**[12]**", "12-17:" as met
    r"[ \t]+(?P<title>\S.*)$",  # without a title the answer may have broken off within the number
    re.MULTILINE,
)


@dataclass(kw_only=True)
class LLMChapteringParams(ChatParams):
    """Cut where a chat model begins a section, if the text is less coherent there.

    The model is shown the sentences with their numbers, under the outline that the document's headings make, and answers
    with Markdown headings such as ``## 12 Title``. Nothing else is read of its answer, so it cannot change the text; what
    a document says to it can move a boundary, and no more. Of the numbers the longest ascending run counts. One is
    discarded if the sentences around it are as like each other as most in the document, unless a heading stands there,
    which the author put; what remains moves to a heading near by. Titles are kept in metadata, as ``chapter``.

    A text longer than ``window_tokens`` is shown in windows that overlap. Of what two say of one place, that holds in which
    the place lies further from the end.

    A document goes to the fallback if the endpoint fails, or if an answer has no heading with a number it was shown.

    Support was fitted on Choi's group 3-11, with the embedded embedder: 99 % of the boundaries between texts have it, and 28 %
    of the gaps more than a sentence away. In the first 12 chapters of a clinical textbook it is 86 % and 48 %.

    Parameters
    ----------
    max_section_tokens : tokens of a section, as the model is told, >= 1; None is ``max_tokens``, to which a longer one is
        cut in any case.
    window_tokens : tokens of text that the model is shown in a call, >= 256, counted as those of chunks are; less where sections
        are so short that their headings would not fit an answer. Instructions, outline and answer take up to 4096 more; its own
        tokenizer may make more of all.
    window_overlap : share of a window that the next one repeats, 0..0.5, but two sentences at least.
    attempts : how often a window is asked for, >= 1, if its answer has no heading; each time with the next ``seed``.
    support : a boundary needs neighbors less alike than this percentile (0..100) of the document's; 100 discards none.
    support_width : sentences on each side that are compared, >= 1; one is what universal-semantic compares.
    heading_reach : sentences within which a boundary moves to the nearest heading, >= 0; a heading takes the nearest boundary.
    prompt : what is asked, with ``{max_section_tokens}``, ``{outline}`` and ``{lines}`` in it, and perhaps
        ``{max_section_lines}``; None is ours (`prompts.CHAPTERING`), with three examples as turns of a conversation.

    References
    ----------
    Ours. Numbered lines and an answer in numbers: Duarte et al. 2024, "LumberChunker: Long-form narrative document
    segmentation", Findings of EMNLP.
    """

    algorithm: ClassVar[str] = "llm-chaptering"
    max_section_tokens: int | None = None
    window_tokens: int = 12_288
    window_overlap: float = 0.1
    attempts: int = 2
    support: float = 50.0
    support_width: int = 3
    heading_reach: int = 2
    prompt: str | None = None

    def check(self) -> None:
        """Add the rules for sections, windows, support and prompt."""
        super().check()
        at_least(1, self, "max_section_tokens", "attempts", "support_width")
        at_least(_WINDOW, self, "window_tokens")
        at_least(0, self, "heading_reach")
        require(0 <= self.window_overlap <= 0.5, "window_overlap must be in 0..0.5", self.window_overlap)
        require(0 <= self.support <= 100, "support must be in 0..100", self.support)
        whole = self.prompt is None or all(place in self.prompt for place in _PLACES)
        require(whole, f"prompt must have {', '.join(_PLACES)} in it", self.prompt)


class Heading(NamedTuple):
    """A section that the model begins with a unit."""

    unit: int
    title: str


class View(NamedTuple):
    """Units ``first`` to ``end``, and what the model is asked about them."""

    first: int
    end: int
    turns: tuple[tuple[str, str], ...]


@dataclass(frozen=True, slots=True, eq=False)
class Outlined(Units):
    """Units, and the title path of each that is a heading."""

    paths: Mapping[int, tuple[str, ...]] = field(default_factory=dict)


@dataclass(kw_only=True)
class LLMChapteringChunker(LLMChapteringParams, ExperimentalChunker, ChatChunker, VectorsChunker):
    """Cut where a chat model begins a section (`LLMChapteringParams`).

    >>> text = "Cats purr. Cats nap all day. Judges sit in court. Courts rule on law."
    >>> chunker = LLMChapteringChunker(llm=lambda prompt: "## 1 Cats" + chr(10) + "## 3 Courts of law")
    >>> [(c.text, c.metadata["chapter"]) for c in chunker.chunk(text)]
    [('Cats purr. Cats nap all day. ', 'Cats'), ('Judges sit in court. Courts rule on law.', 'Courts of law')]
    """

    def tile(self, document: Document, limits: Limits) -> Units:
        """Return sentences, and the title paths of headings."""
        units, blocks = super().tile(document, limits), document.blocks or ()
        first, headings = tiling.next_non_space(document.text, 0), Headings(document.text, blocks)
        starts = {block.span.start for block in blocks if block.kind == "heading"}
        # The first unit owns the white space before it.
        begins = [max(edge, first) for edge in units.edges[:-1].tolist()]
        paths = {unit: headings.path(begin) for unit, begin in enumerate(begins) if begin in starts}
        return Outlined(units.text, units.edges, units.sizes, units.strength, paths)

    def plan(self, document: Document) -> Plan[Explanation]:
        """Write the title of its chapter into each chunk."""
        found = yield from super().plan(document)
        return replace(found, chunks=_titled(found))

    def decide(self, units: Units, limits: Limits) -> Plan[Segmentation]:
        """Ask for headings, discard those without support, align the others."""
        paths = units.paths if isinstance(units, Outlined) else {}
        views = self._views(units, paths, limits)
        said, read = yield from self._answers(views)
        found = [heading._replace(unit=_top(heading.unit, units)) for heading in reconciled(views, said, len(units))]
        tops = sorted(unit for unit in paths if _top(unit, units) == unit)
        rows = yield from self.embed_units(units)
        alike = np.round(coherence(rows, self.support_width), signals.DIGITS)
        least = round(float(np.percentile(alike, self.support)), signals.DIGITS)
        borne = {0, *tops, *(np.flatnonzero(alike <= least) + 1).tolist()}
        kept = [heading for heading in found if heading.unit in borne]
        titles = dict[int, str]()
        for heading in aligned(kept, tops, self.heading_reach):
            titles.setdefault(heading.unit, heading.title)
        cuts = search.cuts_at(np.array([*titles], dtype=np.int64), len(units))
        figures = {
            "windows": len(views),
            "proposed": np.array([heading.unit for heading in found if heading.unit], dtype=np.int64),
            "misnumbered": read - sum(map(len, said)),
            "unsupported": np.array([heading.unit for heading in found if heading.unit not in borne], dtype=np.int64),
            "coherence": alike,
            "threshold": least,
            "titles": tuple(titles.get(unit, "") for unit in cuts[:-1].tolist()),
        }
        return Segmentation(cuts, reason="chapter", gaps=1 - alike, figures=figures, rows=rows)

    def _views(self, units: Units, paths: Mapping[int, tuple[str, ...]], limits: Limits) -> list[View]:
        most, sizes = self.max_section_tokens or self.max_tokens, units.token_counts()
        said = {
            "max_section_tokens": str(most),
            "max_section_lines": str(max(most * len(units) // max(int(sizes.sum()), 1), 1)),
            "outline": outline(paths, _OUTLINE, limits.counter) or "none",
        }
        turns = prompts.CHAPTERING if self.prompt is None else (("user", self.prompt),)
        lines = [f"[{number}] {_shown(text)}" for number, text in enumerate(units.strings(), 1)]
        shown = np.minimum(sizes, _LINE) + _NUMBER
        room = min(self.window_tokens, max(_SECTIONS * most, _WINDOW))
        places = windows(shown, room, int(self.window_overlap * room))
        return [
            View(
                a,
                b,
                tuple((role, prompts.fill_prompt(turn, lines="\n".join(lines[a:b]), **said)) for role, turn in turns),
            )
            for a, b in places
        ]

    def _answers(self, views: Sequence[View]) -> Plan[tuple[list[list[Heading]], int]]:
        """Return the headings of each window, and how many were read in all."""
        known, read = dict[View, list[Heading]](), 0
        for attempt in range(self.attempts):
            lacking = [view for view in views if view not in known]
            answers = yield Complete(tuple(self._request(view, attempt) for view in lacking), self.chat)
            for view, answer in zip(lacking, answers, strict=True):
                found = headings(answer)
                if run := ascending(found, view.first, view.end):
                    known[view] = run
                    read += len(found)
            if len(known) == len(views):
                return [known[view] for view in views], read
        msg = f"a chat model must answer with headings such as '## 12 Title', got {answer[:_SAID]!r}"
        raise BadModelOutput(msg)

    def _request(self, view: View, attempt: int) -> ChatRequest:
        return ChatRequest(
            view.turns,
            max_tokens=_ANSWER,
            temperature=self.temperature,
            seed=self.seed + attempt,
            version=prompts.CHAPTERING_VERSION,
        )


def headings(answer: str) -> list[Heading]:
    r"""Return the numbered headings of an answer, whatever stands around them.

    >>> headings("Sure:\n## 1 Cats\n## Dogs\n### **7.** Of *courts*")
    [Heading(unit=0, title='Cats'), Heading(unit=6, title='Of courts')]
    """
    return [Heading(int(found["number"]) - 1, _cleaned(found["title"])) for found in _HEADING.finditer(answer)]


def ascending(found: Sequence[Heading], first: int, end: int) -> list[Heading]:
    """Return the longest ascending run of the headings whose units are in ``first`` to ``end``.

    So one wild number does not take those after it along. Of runs as long, the one that is said first.

    References
    ----------
    Fredman 1975, "On computing the length of longest increasing subsequences", Discrete Mathematics 11.
    """
    inside = [heading for heading in found if first <= heading.unit < end]
    highest = list[int]()  # minus the highest start of a run of each length
    lengths = list[int]()  # of the longest run from each, the last first
    for heading in inside[::-1]:
        place = bisect_left(highest, -heading.unit)
        highest[place : place + 1] = [-heading.unit]
        lengths.append(place + 1)
    run = list[Heading]()
    for heading, length in zip(inside, lengths[::-1], strict=True):
        if length == len(highest) - len(run) and (not run or heading.unit > run[-1].unit):
            run.append(heading)
    return run


def windows(sizes: Ints, room: int, overlap: int) -> list[tuple[int, int]]:
    """Return runs of units that fit ``room`` and repeat ``overlap`` of the one before, but at most half of it.

    However large the units, a window has four, and repeats two.

    >>> windows(np.full(10, 5), 30, 10)
    [(0, 6), (4, 10)]
    """
    n, total, start = len(sizes), np.r_[0, np.cumsum(sizes)], 0
    found = list[tuple[int, int]]()
    while True:
        end = int(np.searchsorted(total, total[start] + room, "right")) - 1
        end = min(max(end, start + _LEAST), n)
        found.append((start, end))
        if end == n:
            return found
        repeated = int(np.searchsorted(total, total[end] - overlap))
        further = int(np.searchsorted(total, total[end + 1] - room))  # from where the next unit fits, too
        start = min(max(repeated, (start + end) // 2, further), end - _LEAST // 2)


def reconciled(views: Sequence[View], said: Sequence[Iterable[Heading]], n: int) -> list[Heading]:
    """Return what windows say of ``n`` units: of what two say of one unit, that of the one whose end is further from it.

    Of equals, the first. So no window but the first speaks of its own first unit, which has a heading because one was
    asked for.
    """
    meets = [0, *((before.end + after.first + 1) // 2 for before, after in pairwise(views)), n]
    return [
        heading
        for found, (start, end) in zip(said, pairwise(meets), strict=True)
        for heading in found
        if start <= heading.unit < end
    ]


def coherence(rows: Floats, width: int) -> Floats:
    """Return how alike up to ``width`` units before each gap and after it are: the cosine of their centered sums.

    At width 1 this is what universal-semantic compares, centered.

    Returns
    -------
    (n - 1,)
    """
    before, after = signals.window_sums(signals.center_rows(rows).astype(np.float64), width)
    return np.asarray(np.einsum("ij,ij->i", signals.unit_rows(before), signals.unit_rows(after)))


def aligned(found: Sequence[Heading], titles: Sequence[int], reach: int) -> list[Heading]:
    """Move headings to the nearest of the units ``titles`` (ascending) within ``reach``; each draws the nearest, of equals the first.

    >>> aligned([Heading(4, "a"), Heading(6, "b"), Heading(9, "c")], [5], 2)
    [Heading(unit=5, title='a'), Heading(unit=6, title='b'), Heading(unit=9, title='c')]
    """
    if not titles:
        return list(found)
    places = [bisect_left(titles, heading.unit) for heading in found]
    nearest = [
        min(titles[max(place - 1, 0) : place + 1], key=partial(_distance, heading.unit))
        for heading, place in zip(found, places, strict=True)
    ]
    moved = dict[int, int]()  # a title, and the place of the heading that it draws
    for i in sorted(range(len(found)), key=lambda i: abs(nearest[i] - found[i].unit)):
        if abs(nearest[i] - found[i].unit) <= reach:
            moved.setdefault(nearest[i], i)
    return [
        heading._replace(unit=at) if moved.get(at) == i else heading
        for i, (heading, at) in enumerate(zip(found, nearest, strict=True))
    ]


def _distance(unit: int, title: int) -> tuple[int, int]:
    """Return how far a title is from a unit; of two as far, the first is nearer."""
    return abs(title - unit), title


def outline(paths: Mapping[int, tuple[str, ...]], most: int, counter: Counter) -> str:
    """Return the title paths with their numbers, the deepest left out until they have at most so many tokens.

    >>> outline({0: ("Guide",), 4: ("Guide", "Install")}, 9, len)
    '[1] Guide'
    """
    for depth in range(max(map(len, paths.values()), default=0), 0, -1):
        shown = [f"[{unit + 1}] {_shown(' > '.join(path))}" for unit, path in paths.items() if 0 < len(path) <= depth]
        if counter(said := "\n".join(shown)) <= most:
            return said
    return ""


def _shown(text: str) -> str:
    """Return a text as one line that no answer which repeats it could be read as a heading by."""
    flat = " ".join(text.split()).lstrip("# ")
    return flat if len(flat) <= _LINE else f"{flat[: _LINE - 1]}…"


def _cleaned(title: str) -> str:
    """Return a title as flat text: no markup around it, nothing that cannot be seen."""
    seen = "".join(letter if letter.isprintable() else " " for letter in re.sub(r"[*_`#]+", "", title))
    flat = " ".join(seen.split()).lstrip("-–—:. ")
    return flat if len(flat) <= _TITLE else f"{flat[: _TITLE - 1]}…"


def _top(unit: int, units: Units) -> int:
    """Return the first of the headings that a unit stands right below, else the unit."""
    while units.strength is not None and units.strength[unit] < 0:
        unit -= 1
    return unit


def _titled(found: Explanation) -> list[Chunk]:
    """Return the chunks, each with the title of the chapter in which its own text starts, if it has one."""
    if found.units is None or found.segmentation is None or "titles" not in found.figures:
        return found.chunks
    starts, titles = found.units.edges[found.segmentation.cuts[:-1]], found.figures["titles"]
    own = [0, *(chunk.end for chunk in found.chunks[:-1])]  # what stands before is repeated
    chapters = [titles[place - 1] for place in np.searchsorted(starts, own, "right").tolist()]
    return [
        replace(chunk, metadata={**chunk.metadata, "chapter": title}) if title else chunk
        for chunk, title in zip(found.chunks, chapters, strict=True)
    ]
