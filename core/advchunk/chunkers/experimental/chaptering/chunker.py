"""Chapters by a chat model: it answers with sentence numbers only, and the text's coherence must support them."""

import logging
from collections.abc import Mapping
from dataclasses import dataclass, field, replace
from functools import cache, partial
from importlib.resources import files
from itertools import cycle
from typing import Annotated, Any, ClassVar, Final, Literal

import numpy as np

from advchunk.building.layout import Headings, keep_headings
from advchunk.building.sizes import Limits
from advchunk.chunkers.base import VectorsChunker
from advchunk.chunkers.experimental.chaptering import chapters
from advchunk.chunkers.experimental.chaptering.chapters import Answer, ChapterWindow, Coherence
from advchunk.chunkers.experimental_base import ExperimentalChunker
from advchunk.chunkers.explanations import Explanation
from advchunk.chunkers.model_bases import ChatChunker, ChatParams
from advchunk.chunkers.numerics import cutting
from advchunk.chunkers.params import Bounds
from advchunk.engine import ChatRequest, Plan, gather
from advchunk.errors import BadModelOutput
from advchunk.models import signals
from advchunk.models.chat import usable_answer
from advchunk.models.prompts import fill_prompt, fit_outline
from advchunk.records import Chunk, Document, Segmentation, Units

CHAPTERING_VERSION: Final = "chaptering-1"  # of the default prompt; part of the cache key of answers
_MAX_ANSWER, _MAX_OUTLINE = 2048, 1024  # tokens: about 150 headings, and as many titles
_MAX_SECTIONS = 128  # per window, of the largest size, so that no answer is cut off
_MIN_WINDOW = 256  # tokens
_LINE_NUMBER = 4  # tokens of "[123]"
_MAX_LINE = 600  # characters shown of a unit
_log = logging.getLogger("advchunk")


@cache
def chaptering_prompt() -> tuple[tuple[str, str], ...]:
    """Return the default prompt: examples that small models imitate; no system message, as some models accept none."""
    text = files("advchunk.chunkers.experimental.chaptering").joinpath("prompt.txt").read_text("utf-8")
    return tuple(zip(cycle(("user", "assistant")), text.removesuffix("\n").split("\n-----\n"), strict=False))


@dataclass(kw_only=True)
class LLMChapteringParams(ChatParams):
    """Cut where a chat model begins a section, if the text is less coherent there.

    The model is shown numbered sentences under an outline of the document's headings, and answers with Markdown
    headings such as ``## 12 Title``. Nothing else in its answer is read. Only the longest ascending run of numbers is
    used; if other headings are ignored, a warning is logged, and ``chapter_status`` in the metadata is "misnumbered". A
    boundary is discarded if the sentences around it, within the two sections that it divides, are more alike than most
    in the document, unless there is a heading: one by one, that between the most coherent sections first. The remaining
    ones move to a nearby heading. Titles are written into metadata as ``chapter``.

    Whatever the answer, the text of the chunks is the document's. A title is the model's: one line of at most 120
    characters. Instructions in a document can move its boundaries and dictate its titles, and nothing else.

    A text longer than ``window_tokens`` is shown in overlapping windows; each counts up to the middle of the overlap.

    A document goes to the fallback, with a warning in the log, if the endpoint fails; if no answer about a window has
    ascending numbers of that window in at least half of its headings; or if no boundary remains in the document
    although some were proposed, or although it is longer than a section.

    ``support_width`` was chosen on half of 48 Wikipedia articles in four languages. In the others, 87 % of the wrong
    boundaries (two sentences or more from a change of article) are discarded, and .7 % of the right ones. The quality
    is the chat model's, and none large enough was measured.

    Departs from the specification by default: numbered units are headings (``outline``), to which boundaries move;
    ``preset="published"`` sets this back. The ``layout_weight`` has no effect here.

    Ours. Numbered lines and an answer in numbers: Duarte et al. 2024, "LumberChunker", Findings of EMNLP.

    Parameters
    ----------
    preset : "published", the specification.
    max_section_tokens : maximum tokens of a section to ask for, 1..max_tokens; None is ``max_tokens``, at which longer
        ones are cut.
    window_tokens : tokens of text per call, >= 256, counted like those of chunks; fewer if sections are so short that
        their headings would not fit into an answer. The rest takes up to 4096 more. The model may count more.
    window_overlap : share of a window that the next one repeats, 0..0.5, but at least two sentences.
    attempts : maximum requests per window, >= 1, until an answer can be used; each uses the next ``seed``.
    support : percentile (0..100) of the document's similarities that a boundary must be below; 100 discards none.
    support_width : maximum sentences on each side that are compared, >= 1: the mean of four and more up to this.
    heading_reach : maximum sentences that a boundary moves to a heading, >= 0; a heading takes the nearest boundary.
    """

    algorithm: ClassVar[str] = "llm-chaptering"
    version: ClassVar[int] = 4
    presets: ClassVar[Mapping[str, Mapping[str, Any]]] = {"published": {"outline": False, "layout_weight": 0.0}}
    preset: Literal["published"] | None = None
    max_section_tokens: Annotated[int | None, Bounds(1, in_chunk=True)] = None
    window_tokens: Annotated[int, Bounds(_MIN_WINDOW)] = 12_288
    window_overlap: Annotated[float, Bounds(0, 0.5)] = 0.1
    attempts: Annotated[int, Bounds(1)] = 2
    support: Annotated[float, Bounds(0, 100)] = 50.0
    support_width: Annotated[int, Bounds(1)] = 8
    heading_reach: Annotated[int, Bounds(0)] = 2


@dataclass(frozen=True, slots=True, eq=False)
class OutlinedUnits(Units):
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
        first, headings = document.text_start, Headings(document.text, blocks)
        starts = {block.span.start for block in blocks if block.kind == "heading"}
        # The first unit owns the white space before it.
        unit_starts = [max(edge, first) for edge in units.edges[:-1].tolist()]
        paths = {unit: headings.path(start) for unit, start in enumerate(unit_starts) if start in starts}
        return OutlinedUnits(units.text, units.edges, units.sizes, units.strength, paths)

    def plan(self, document: Document) -> Plan[Explanation]:
        """Add the chapter's title to each chunk."""
        explanation = yield from super().plan(document)
        if ignored := explanation.figures.get("misnumbered"):
            message = "document %r: %d misnumbered headings of %s are ignored"
            _log.warning(message, document.source, ignored, self.algorithm)
        return replace(explanation, chunks=_add_titles(explanation))

    def fit_to_layout(self, units: Units, segmentation: Segmentation) -> Segmentation:
        """Return a segmentation whose chapters begin at headings: those near have been moved by ``heading_reach``."""
        return keep_headings(units, segmentation)

    def decide(self, units: Units, limits: Limits) -> Plan[Segmentation]:
        """Ask for chapters, discard those without support, move the others to headings."""
        paths = getattr(units, "paths", {})
        windows = self._windows(units, paths, limits)
        answers = yield from gather(map(self._ask, windows))
        merged = chapters.merge_windows(windows, [answer.chapters for answer in answers], len(units))
        # Of headings above one another, a chapter begins with the first.
        firsts = np.maximum.accumulate(np.where(units.strength[:-1] < 0, 0, np.arange(len(units)))).tolist()
        proposed = [chapter._replace(unit=firsts[chapter.unit]) for chapter in merged]
        headings = sorted(unit for unit in paths if firsts[unit] == unit)
        rows = yield from self.embed_units(units)
        windows_around = Coherence(rows, self.support_width)
        coherence = windows_around.gaps()
        discards = self.support < 100
        threshold = round(float(np.percentile(coherence, self.support)), signals.DIGITS) if discards else 1.0
        boundaries = sorted({unit for unit, _ in proposed if unit})
        at_boundaries = windows_around.discard(boundaries, {*headings}, threshold)
        for unit, value in at_boundaries.items():
            coherence[unit - 1] = value
        supported = {0, *headings, *(unit for unit, value in at_boundaries.items() if value <= threshold)}
        kept = [chapter for chapter in proposed if chapter.unit in supported]
        titles = dict[int, str]()
        for chapter in chapters.snap_to_headings(kept, headings, self.heading_reach):
            titles.setdefault(chapter.unit, chapter.title)
        cuts = cutting.cuts_at(np.array([*titles], dtype=np.int64), len(units))
        if len(cuts) == 2 and (boundaries or units.token_counts().sum() > self._section_tokens):
            answered = f"{len(boundaries)} without support" if boundaries else "none"
            msg = f"a chat model must propose a boundary that the text supports, got {answered}"
            raise BadModelOutput(msg)
        figures = {
            "windows": len(windows),
            "proposed": np.array(boundaries, dtype=np.int64),
            "misnumbered": sum(answer.ignored for answer in answers),
            "unsupported": np.array([unit for unit in boundaries if unit not in supported], dtype=np.int64),
            "coherence": coherence,
            "threshold": threshold,
            "titles": tuple(titles.get(unit, "") for unit in cuts[:-1].tolist()),
        }
        least = 1 - threshold
        return Segmentation(cuts, reason="chapter", gaps=1 - coherence, threshold=least, figures=figures, rows=rows)

    def _windows(self, units: Units, paths: Mapping[int, tuple[str, ...]], limits: Limits) -> list[ChapterWindow]:
        max_tokens, sizes = self._section_tokens, units.token_counts()
        headings = [(len(path), f"[{unit + 1}] {_flatten(' > '.join(path))}") for unit, path in paths.items() if path]
        values = {
            "max_section_tokens": str(max_tokens),
            "max_section_lines": str(max(max_tokens * len(units) // max(int(sizes.sum()), 1), 1)),
            "outline": fit_outline(headings, _MAX_OUTLINE, limits.counter) or "none",
        }
        lines = [f"[{number}] {_flatten(text)}" for number, text in enumerate(units.strings(), 1)]

        def messages(start: int, end: int) -> tuple[tuple[str, str], ...]:
            shown = "\n".join(lines[start:end])
            return tuple((role, fill_prompt(text, lines=shown, **values)) for role, text in chaptering_prompt())

        shown_sizes = np.minimum(sizes, _MAX_LINE) + _LINE_NUMBER
        max_size = min(self.window_tokens, max(_MAX_SECTIONS * max_tokens, _MIN_WINDOW))
        places = chapters.split_windows(shown_sizes, max_size, int(self.window_overlap * max_size))
        return [ChapterWindow(start, end, messages(start, end)) for start, end in places]

    def _ask(self, window: ChapterWindow) -> Plan[Answer]:
        settings = _MAX_ANSWER, self.temperature, self.seed, CHAPTERING_VERSION
        parse = partial(chapters.parse_answer, start=window.start, end=window.end)
        return usable_answer(self.chat, ChatRequest(window.messages, None, *settings), parse, self.attempts)

    @property
    def _section_tokens(self) -> int:
        return self.max_section_tokens or self.max_tokens


def _flatten(text: str) -> str:
    """Return a text as one line that is not parsed as a heading if an answer repeats it."""
    return chapters.truncate(" ".join(text.split()).lstrip("# "), _MAX_LINE)


def _add_titles(explanation: Explanation) -> list[Chunk]:
    """Return the chunks with the title of the chapter in which their text, after any repeated part, starts."""
    chunks, units, segmentation = explanation.chunks, explanation.units, explanation.segmentation
    if units is None or segmentation is None or "titles" not in explanation.figures:
        return chunks
    starts, titles = units.edges[segmentation.cuts[:-1]], explanation.figures["titles"]
    own_starts = [0, *(chunk.end for chunk in chunks[:-1])]  # the text before is repeated
    own = [titles[place - 1] for place in np.searchsorted(starts, own_starts, "right").tolist()]
    status = {"chapter_status": "misnumbered"} if explanation.figures["misnumbered"] else {}
    parts = [({"chapter": title} if title else {}) | status for title in own]
    return [replace(chunk, metadata={**chunk.metadata, **part}) for chunk, part in zip(chunks, parts, strict=True)]
