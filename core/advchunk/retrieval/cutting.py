"""Cut retrieved texts again when the question is known: passages of the sentences that answer it, within a budget."""

from __future__ import annotations

import logging
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass, field, fields, replace
from functools import cached_property
from typing import Any, NamedTuple, Self, TypeAlias

import numpy as np

from advchunk.errors import is_integer, require
from advchunk.models.counters import TokenizerLike, as_counter
from advchunk.records import Floats, Span, with_context
from advchunk.retrieval.evidence import WindowScoring
from advchunk.retrieval.locating import Finder, is_whole, place_in_text
from advchunk.retrieval.neighbors import TEMPERATURE
from advchunk.retrieval.passage_units import Run, UnitReader, UnitTable, runs_in_text, runs_of_chunks
from advchunk.retrieval.passages import Hit, Passage, PassageOrder, check_order, sort_passages
from advchunk.retrieval.warning_log import WarningLog
from advchunk.text.counters import Counter
from advchunk.text.terms import check_language

Texts: TypeAlias = Mapping[str, str] | Callable[[str], str | None]
"""The texts of documents by name."""

DEPTH_TO_CUT = 200
"""Hits that are cut again: with what stands around them, they do as well as the whole index."""

_AROUND = 350.0
_HIT_WEIGHT = 0.1  # of the scores of the hits, where the words of the question have 1
_MAX_REFUSED = 20  # sentences in a row that do not fit
_log = logging.getLogger("advchunk")


class ScoredSentence(NamedTuple):
    """A sentence, or another unit of passages, and how much speaks for it.

    Parameters
    ----------
    text : without the white space after it.
    document : name of the document.
    spans : of ``text``; () if its place is not known.
    score : comparable within one question only.
    tokens : with the white space after it.
    """

    text: str
    document: str
    spans: tuple[Span, ...]
    score: float
    tokens: int


@dataclass(frozen=True, kw_only=True)
class PassageCutter:
    r"""Cuts passages from retrieved chunks, whatever retriever and splitter they are from, when the question is known.

    Where a splitter cuts hardly matters once search is good, and no size is right for every question. So the text of the
    first hits, and what stands around them, is cut again: windows of several lengths start at every sentence, and are
    scored by BM25 for the words of the question, and for pairs of them that follow each other; a sentence has the mean score
    of the windows that contain it; sentences nearby support each other (`WindowScoring`). The best sentences fill the budget, and those that touch are one passage.

    Needs no model and no index: frequencies of words are those in the hits, which is as good. Ours; it joins passages of
    arbitrary place and length (Callan 1994; Kaszkiel and Zobel 2001, Effective ranking with arbitrary passages) with the
    spread of evidence to its neighbors (Lv and Zhai 2009, Positional language models). See benchmarks/RETRIEVERS.md.

    Units are sentences, table rows, code blocks and, in source code, definitions, of up to a third of the budget and 300 tokens. A heading stays with the
    sentence below it. No passage crosses a gap in the known text.

    Parameters
    ----------
    language : code of the language of sentences, stems and stop words; None is that of the retriever, or "en".
    tokenizer : counts tokens (`models.counters.as_counter`); None is that of the retriever, or the embedded WordPiece.
    around : tokens on either side of a hit that passages may extend to, where the text is known, >= 0.
    hit_weight : of the scores of the hits, where the words of the question have 1, >= 0.
    context : put the headings above a passage, and the head of the table that it starts in, before it, within the budget.
    min_tokens : of a passage, unless the text around it has fewer, >= 0.
    max_passages : at most so many, >= 1; None for any number.
    scoring : how windows score sentences.

    >>> from advchunk import RecursiveChunker
    >>> text = "Boil the water. Add green tea. Wait two minutes. Pour it into cups."
    >>> hits = [Hit(chunk, "guide.txt", 1.0) for chunk in RecursiveChunker().chunk(text)]
    >>> for passage in PassageCutter().cut("How long should I wait?", hits, budget=5):
    ...     print(passage.text, "|", passage.citation)
    Wait two minutes. | guide.txt, characters 31-48
    """

    language: str | None = None
    tokenizer: TokenizerLike = None
    around: float = _AROUND
    hit_weight: float = _HIT_WEIGHT
    context: bool = True
    min_tokens: int = 0
    max_passages: int | None = None
    scoring: WindowScoring = field(default_factory=WindowScoring)

    def __post_init__(self) -> None:
        _ = self.language is None or check_language(self.language)
        require(0 <= self.around < np.inf, "around must be finite and >= 0", self.around)
        require(0 <= self.hit_weight < np.inf, "hit_weight must be finite and >= 0", self.hit_weight)
        require(is_integer(self.min_tokens, 0), "min_tokens must be a whole number >= 0", self.min_tokens)
        valid = self.max_passages is None or is_integer(self.max_passages, 1)
        require(valid, "max_passages must be a whole number >= 1 or None", self.max_passages)

    def cut(
        self,
        question: str,
        hits: Iterable[Hit],
        budget: int = 1000,
        *,
        beside: Iterable[Hit] = (),
        texts: Texts | None = None,
        order: PassageOrder = "rank",
    ) -> list[Passage]:
        """Return passages for a question, of at most ``budget`` >= 1 tokens in all, from hits in any order.

        Hits may overlap, repeat each other, and be parts of each other. A hit that is not the text of its spans in ``texts`` is
        found again there by its text, or stands alone and is cited without offsets; a warning in the log says so.

        Parameters
        ----------
        hits : as they were found; their scores may be on any scale, higher is better.
        beside : other chunks of the same documents, which stand around hits; their scores do not count.
        texts : the texts of the documents of hits, by name; documents without one are known as far as chunks have them.
        order : "rank" sorts passages by their best sentence; "document" by their document and place.
        """
        require(is_integer(budget, 1), "budget must be a whole number >= 1", budget)
        check_order(order)
        evidence = self._evidence(question, hits, beside, texts, budget)
        room, passages = budget, list[Passage]()
        while room > 0:
            passages = [evidence.passage(start, end) for start, end in self._fill(evidence, room)]
            excess = sum(passage.tokens for passage in passages) - budget
            if excess <= 0:
                break
            room -= excess  # of a tokenizer whose counts of sentences do not add up to those of passages
        if not passages and evidence.scores.any():
            _log.warning("no sentence that answers fits into a budget of %d tokens", budget)
        return sort_passages(passages, order)

    def sentences(
        self,
        question: str,
        hits: Iterable[Hit],
        *,
        beside: Iterable[Hit] = (),
        texts: Texts | None = None,
        budget: int = 0,
    ) -> list[ScoredSentence]:
        """Return all sentences of hits, and of what stands around them, with their scores, by document and place.

        See `cut` for the parameters; the scores are those by which it chooses at the same ``budget``.
        """
        evidence = self._evidence(question, hits, beside, texts, budget)
        return [evidence.sentence(unit) for unit in range(len(evidence.scores))]

    def within(self, language: str, counter: Counter) -> Self:
        """Return the cutter with a retriever's language and counter in place of those that it leaves open."""
        return replace(self, language=self.language or check_language(language), tokenizer=self.tokenizer or counter)

    def highlights(self, question: str, hits: Iterable[Hit]) -> list[Hit]:
        """Return hits with their ``highlights``: the spans of the sentences that matter most for a question.

        They have at least half of the evidence of their hit's best sentence. Hits without a place, and those in which nothing
        matters, have none.
        """
        hits = list(hits)
        evidence = self._evidence(question, hits, (), None)
        return [replace(hit, highlights=evidence.highlights(hit)) for hit in hits]

    @cached_property
    def _warnings(self) -> WarningLog:
        return WarningLog()

    def __getstate__(self) -> dict[str, Any]:
        """Return the parameters, without what has been read."""
        return {own.name: getattr(self, own.name) for own in fields(self)}

    @property
    def _reader(self) -> UnitReader:
        """A reader that remembers texts; a new one if it has become too large."""
        reader: UnitReader | None = self.__dict__.get("reader")
        if reader is None or reader.is_full:
            reader = UnitReader(as_counter(self.tokenizer), self.language or "en")
            self.__dict__["reader"] = reader
        return reader

    def _evidence(
        self, question: str, hits: Iterable[Hit], beside: Iterable[Hit], texts: Texts | None, budget: int = 0
    ) -> _Evidence:
        """Return the sentences of hits and of what stands around them, scored for a question."""
        require(isinstance(question, str), "question must be a string", question)
        hits, reader = list(hits), self._reader
        pairs = [*zip(hits, soften_hits(hits), strict=True), *((hit, 0.0) for hit in beside)]
        sources = self._sources(pairs, texts, reader, budget)
        table = UnitTable([(number, run) for number, source in enumerate(sources) for run in source.runs])
        postings = table.postings(reader.vocabulary.look_up(question))
        scores = self.scoring.score(postings, table.regions, table.tokens, table.words)
        scores += self.hit_weight * _spread(sources, table)
        scores = self.scoring.support(scores, table.documents, table.tokens, table.middles, budget)
        return _Evidence(sources, table, scores, reader.counter, self.context)

    def _sources(
        self, hits: Iterable[tuple[Hit, float]], texts: Texts | None, reader: UnitReader, budget: int
    ) -> list[_Source]:
        """Return the texts of hits, in an order that does not depend on theirs."""
        groups = dict[str, list[tuple[Hit, float]]]()
        for hit, evidence in hits:
            groups.setdefault(hit.document, []).append((hit, evidence))
        sources = list[_Source]()
        for document, group in sorted(groups.items()):
            text, placed, alone = find_text(texts, document), list[tuple[Hit, float]](), list[tuple[Hit, float]]()
            finder = None if text is None else Finder(text)
            for hit, evidence in group:
                if not hit.chunk.text.strip():
                    continue
                chunk = hit.chunk if finder is None else place_in_text(hit.chunk, finder)
                is_placed = is_whole(chunk)
                own = hit if chunk is hit.chunk else replace(hit, chunk=chunk)
                (placed if is_placed else alone).append((own, evidence))
            if alone and text is not None:
                reason = "%d of %d hits are not in the text of %r, such as %r, so they have no offsets"
                self._warnings.warn("texts", reason, len(alone), len(group), document, alone[0][0].chunk.text[:60])
            if placed:
                placed = _in_reading_order(placed)
                chunks = [hit.chunk for hit, _ in placed]
                if text is None:
                    runs = runs_of_chunks(chunks, reader, document, budget)
                else:
                    spans = [span for chunk in chunks for span in chunk.spans]
                    runs = runs_in_text(text, spans, self.around, reader, document, budget)
                sources.append(_Source(document, placed, runs))
            sources += [_read_alone(hit, evidence, reader, budget) for hit, evidence in _in_reading_order(alone)]
        return sources

    def _fill(self, evidence: _Evidence, budget: int) -> list[tuple[int, int]]:
        """Return the units of the passages that fill a budget, each as its first and the one after its last."""
        passages, refused = _Passages(evidence, budget), 0
        for unit in np.argsort(-evidence.scores, kind="stable").tolist():
            if evidence.scores[unit] <= 0 or refused == _MAX_REFUSED:
                break
            if not passages.has(unit):
                is_taken = passages.take(unit, self.min_tokens, self.max_passages)
                refused = 0 if is_taken else refused + 1
        return passages.ranges


@dataclass(frozen=True, eq=False)
class _Source:
    """A document with its hits, in reading order, and their evidence; or one hit whose place in its document is not known."""

    document: str
    hits: Sequence[tuple[Hit, float]]
    runs: Sequence[Run]
    is_placed: bool = True


@dataclass(frozen=True, eq=False)
class _Evidence:
    """The units of sources, and the score of each for a question: (n,)."""

    sources: Sequence[_Source]
    table: UnitTable
    scores: Floats
    counter: Counter
    has_context: bool

    def context(self, unit: int) -> tuple[str, int]:
        """Return the context of a passage that starts with a unit, and its tokens."""
        return self.table.context(unit) if self.has_context else ("", 0)

    def passage(self, start: int, end: int) -> Passage:
        """Return the passage of units ``start`` to ``end``."""
        source = self.sources[int(self.table.documents[start])]
        text, spans = self.table.text(start, end)
        hits = [hit for hit, _ in source.hits if not source.is_placed or _distance(hit.chunk.spans, spans) < 0]
        if not hits:  # it stands beside one
            hits = [min((hit for hit, _ in source.hits), key=lambda hit: _distance(hit.chunk.spans, spans))]
        context, _ = self.context(start)
        tokens, score = self.counter(with_context(context, text)), float(self.scores[start:end].max())
        own_spans = spans if source.is_placed else ()
        section = " > ".join(self.table.path(start)) or None  # the headings of HTML or PDF are in metadata alone
        return Passage(text, source.document, own_spans, tuple(hits), score, tokens, context, section)

    def sentence(self, unit: int) -> ScoredSentence:
        """Return a unit with its score."""
        source = self.sources[int(self.table.documents[unit])]
        text, spans = self.table.text(unit, unit + 1)
        own_spans = spans if source.is_placed else ()
        return ScoredSentence(text, source.document, own_spans, float(self.scores[unit]), int(self.table.tokens[unit]))

    def highlights(self, hit: Hit) -> tuple[Span, ...]:
        """Return the spans of the sentences of a hit that matter most."""
        numbers = [n for n, source in enumerate(self.sources) if source.is_placed and source.document == hit.document]
        best = list[Span]()
        units = [
            i
            for n in numbers
            for span in hit.chunk.spans
            for i in range(len(self.scores))[self.table.overlapping(n, span)]
        ]
        least = max((self.scores[i] for i in units), default=0) / 2
        for i in units:
            if self.scores[i] >= least > 0:
                best += self.table.text(i, i + 1)[1]
        return tuple(best)


class _Passages:
    """Disjoint runs of units within a budget; those that touch are one.

    Parameters
    ----------
    evidence : has the units and their contexts.
    budget : tokens of all runs, with their contexts.
    """

    def __init__(self, evidence: _Evidence, budget: int) -> None:
        self._evidence, self._room = evidence, budget
        self._tokens, self._regions = evidence.table.tokens.tolist(), evidence.table.regions.tolist()
        self._ends, self._starts = dict[int, int](), dict[int, int]()  # of each run, by its start; by its end
        self._taken = set[int]()

    @property
    def ranges(self) -> list[tuple[int, int]]:
        """The first unit of each run, and the one after its last."""
        return sorted(self._ends.items())

    def has(self, unit: int) -> bool:
        """Return True if a unit is in a run."""
        return unit in self._taken

    def take(self, unit: int, min_tokens: int, max_runs: int | None) -> bool:
        """Add a unit, with as many beside it as make a run of ``min_tokens``; return False, and add none, if there is no room."""
        start, end = unit, unit + 1
        first, last = self._joined(start, end)
        while sum(self._tokens[first:last]) < min_tokens and (beside := self._better_side(first, last)) is not None:
            start, end = min(start, beside), max(end, beside + 1)
            first, last = self._joined(start, end)
        inside = ([first] if first < start else []) + ([end] if last > end else [])
        cost = sum(self._tokens[start:end]) + self._evidence.context(first)[1]
        cost -= sum(self._evidence.context(s)[1] for s in inside)
        is_new = not inside
        if cost > self._room or (is_new and max_runs is not None and len(self._ends) >= max_runs):
            return False
        for s in inside:
            del self._starts[self._ends.pop(s)]
        self._ends[first], self._starts[last] = last, first
        self._taken.update(range(start, end))
        self._room -= cost
        return True

    def _joined(self, start: int, end: int) -> tuple[int, int]:
        """Return the range of units ``start`` to ``end`` with the runs that they touch."""
        first, last = start, end
        if start in self._starts and self._regions[start - 1] == self._regions[start]:
            first = self._starts[start]
        if end in self._ends and self._regions[end] == self._regions[end - 1]:
            last = self._ends[end]
        return first, last

    def _better_side(self, first: int, last: int) -> int | None:
        """Return the unit beside a range in its region that has the higher score; None if there is none."""
        region, scores = self._regions[first], self._evidence.scores
        sides = [i for i in (first - 1, last) if 0 <= i < len(self._regions) and self._regions[i] == region]
        return max(sides, key=lambda i: scores[i], default=None)


def _read_alone(hit: Hit, evidence: float, reader: UnitReader, budget: int) -> _Source:
    """Return the text of a hit whose place in its document is not known."""
    chunk = replace(hit.chunk, spans=(Span(0, len(hit.chunk.text)),))
    runs = runs_of_chunks([chunk], reader, hit.document, budget)
    return _Source(hit.document, [(hit, evidence)], runs, is_placed=False)


def as_cutter(cutter: PassageCutter | None) -> PassageCutter:
    """Return a cutter, the usual one for None; raise `ConfigurationError` for anything else."""
    require(cutter is None or isinstance(cutter, PassageCutter), "cutter must be a PassageCutter or None", cutter)
    return cutter or PassageCutter()


def find_text(texts: Texts | None, document: str) -> str | None:
    """Return the text of a document, None if it is not known."""
    return None if texts is None else texts(document) if callable(texts) else texts.get(document)


def soften_hits(hits: Sequence[Hit]) -> list[float]:
    """Return the scores of hits as evidence, from 1 for the best to near 0 for the worst."""
    scores = np.array([hit.score for hit in hits], dtype=np.float64)
    spread = float(np.ptp(scores)) if len(scores) else 0.0
    softened: Floats = (
        np.exp((scores - scores.max(initial=-np.inf)) / (TEMPERATURE * spread)) if spread else np.ones(len(scores))
    )
    return softened.tolist()  # type: ignore[no-any-return]


def _spread(sources: Sequence[_Source], table: UnitTable) -> Floats:
    """Return the evidence of the best hit that each unit is in: (n,)."""
    spread = np.zeros(len(table))
    for number, source in enumerate(sources):
        for hit, evidence in source.hits:
            if not evidence:
                continue
            for span in hit.chunk.spans if source.is_placed else (Span(0, len(hit.chunk.text)),):
                units = table.overlapping(number, span)
                spread[units] = np.maximum(spread[units], evidence)
    return spread


def _in_reading_order(hits: Iterable[tuple[Hit, float]]) -> list[tuple[Hit, float]]:
    return sorted(hits, key=lambda pair: (pair[0].chunk.spans, pair[0].chunk.text, pair[0].chunk.index))


def _distance(spans: Sequence[Span], others: Sequence[Span]) -> int:
    """Return the characters between the nearest of two sequences of spans; less than 0 if they overlap."""
    return min(max(a.start - b.end, b.start - a.end) for a in spans for b in others)
