"""Cut retrieved texts again when the question is known: passages of the sentences that answer it, within a budget."""

from __future__ import annotations

import logging
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass, field, fields, replace
from functools import cached_property, partial
from pathlib import PurePath
from types import MappingProxyType
from typing import Any, NamedTuple, Self

import numpy as np

from advchunk.building.positions import ChunkPositions
from advchunk.errors import check_fields, checked, is_integer, is_number, require
from advchunk.models.counters import TokenizerLike, as_counter
from advchunk.records import Floats, Span, with_context
from advchunk.retrieval.evidence import WindowScoring
from advchunk.retrieval.locating import Finder, is_whole, place_in_text
from advchunk.retrieval.neighbors import TEMPERATURE
from advchunk.retrieval.passage_units import (
    AskedTerms,
    Excerpt,
    Piece,
    Reading,
    UnitReader,
    UnitTable,
    record_of,
    runs_in_text,
    runs_of_chunks,
)
from advchunk.retrieval.passages import Hit, Passage, PassageOrder, check_hits, check_order, sort_passages, with_lines
from advchunk.retrieval.surroundings import Neighborhood, SurroundingsLike, as_surroundings, characters_of
from advchunk.retrieval.warning_log import WarningLog
from advchunk.text.counters import Counter
from advchunk.text.detection import AUTO
from advchunk.text.terms import check_language, language_of_all

DEPTH_TO_CUT = 200
"""Hits that are cut again: with the text around them, they do as well as the whole index."""

_AROUND = 350.0
_HIT_WEIGHT = 0.1  # of the scores of the hits, where the words of the question have 1
_MAX_REFUSED = 20  # sentences in a row that do not fit
_log = logging.getLogger("advchunk")


class ScoredSentence(NamedTuple):
    """A sentence, or another unit of passages, and the evidence for it.

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

    Where a splitter cuts hardly matters once search is good, and no size is right for every question. So the text of
    the first hits, and the text around them, is cut again: windows of several lengths start at every sentence, and are
    scored by BM25 for the words of the question, and for pairs of them that follow each other; a sentence has the mean
    score of the windows that contain it; sentences nearby support each other (`WindowScoring`). The best sentences fill
    the budget, and those that touch are one passage.

    Needs no model and no index: frequencies of words are those in the hits, which is as good. Ours; it joins passages
    of arbitrary place and length (Callan 1994; Kaszkiel and Zobel 2001, Effective ranking with arbitrary passages) with
    the spread of evidence to its neighbors (Lv and Zhai 2009, Positional language models). See benchmarks/RETRIEVAL.md.

    Units are sentences, table rows, records of JSON and YAML, code blocks and, in source code, definitions. A row or a
    record that fits in the budget is taken whole or not at all; blocks and definitions have up to a third of the budget
    and 300 tokens. The words of a table's head count for each of its rows, but not for their length. A heading stays
    with the sentence below it. No passage crosses a gap in the known text.

    Parameters
    ----------
    language : code of the language of sentences; None is that of the retriever, or "auto":
        that of most of the hits.
    tokenizer : counts tokens (`models.counters.as_counter`); None is that of the retriever, or the built-in WordPiece.
    around : tokens on either side of a hit that passages may extend to, where the text is known, or of which chunks
        beside it have the middle, at the tokens per character of the hits, >= 0.
    hit_weight : of the scores of the hits, where the words of the question have 1, >= 0.
    context : put the headings above a passage, and the head of the table that it starts in, before it, within the
        budget.
    min_tokens : of a passage, unless the text around it has fewer, >= 0.
    max_passages : at most so many, >= 1; None for any number.
    scoring : how windows score sentences.

    >>> from advchunk import RecursiveChunker
    >>> text = "Boil the water. Add green tea. Wait two minutes. Pour it into cups."
    >>> hits = [Hit(chunk, "guide.txt", 1.0) for chunk in RecursiveChunker().chunk(text)]
    >>> for passage in PassageCutter().cut("How long should I wait?", hits, budget=5):
    ...     print(passage.text, "|", passage.citation)
    Wait two minutes. | guide.txt, line 1, characters 31-48
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
        check_fields(self)
        _ = self.language is None or check_language(self.language)
        require(isinstance(self.scoring, WindowScoring), "scoring must be a WindowScoring", self.scoring)
        for name, value in {"around": self.around, "hit_weight": self.hit_weight}.items():
            require(is_number(value), f"{name} must be finite and >= 0", value)
        require(is_integer(self.min_tokens, 0), "min_tokens must be a whole number >= 0", self.min_tokens)
        valid = self.max_passages is None or is_integer(self.max_passages, 1)
        require(valid, "max_passages must be a whole number >= 1 or None", self.max_passages)

    @checked
    def cut(
        self,
        question: str,
        hits: Iterable[Hit],
        budget: int = 1000,
        *,
        beside: Iterable[Hit] = (),
        texts: SurroundingsLike | None = None,
        order: PassageOrder = "rank",
        files: Mapping[str, str] | None = None,
    ) -> list[Passage]:
        """Return passages for a question, of at most ``budget`` >= 1 tokens in all, from hits in any order.

        Sentences are taken in the order of their scores while they fit, until twenty in a row do not. Headings that
        alone do not fit are left out.

        Hits may overlap, repeat each other, and be parts of each other. A hit that is not the text of its spans in
        ``texts`` is found again there by its text, or stands alone and is cited without offsets; a warning in the log
        says so.

        Parameters
        ----------
        hits : as they were found; their scores may be on any scale, higher is better.
        beside : other chunks of the same documents; those around hits count, but not their scores.
        texts : the texts of the documents of hits, by name, or another source of the text around them
            (`as_surroundings`); documents without a text are known as far as chunks have them.
        order : "rank" sorts passages by their best sentence; "document" by their document and place.
        files : the names of files by the names of documents, if they differ; a suffix may say that a text is source
            code.
        """
        require(is_integer(budget, 1), "budget must be a whole number >= 1", budget)
        check_order(order)
        rule = "files must be a mapping from the names of documents to those of files"
        is_mapping = isinstance(files, Mapping) and all(isinstance(name, str) for name in files.values())
        require(files is None or is_mapping, rule, files)
        hits = check_hits(hits, "hits")
        around = self._around(hits, beside, texts)
        evidence = self._evidence(question, hits, around, budget, files or {})
        room, excess, passages = budget, 1, list[Passage]()
        while excess > 0:  # for a tokenizer whose counts of sentences do not add up to those of passages
            passages = [evidence.passage(*place) for place in self._fill(evidence, room)] if room > 0 else []
            excess = sum(passage.tokens for passage in passages) - budget
            room -= excess
        if not passages and evidence.scores.any():
            _log.warning("no sentence that answers fits into a budget of %d tokens", budget)
        return with_lines(sort_passages(passages, order), around.texts.get)

    def sentences(
        self,
        question: str,
        hits: Iterable[Hit],
        *,
        beside: Iterable[Hit] = (),
        texts: SurroundingsLike | None = None,
        budget: int = 0,
    ) -> list[ScoredSentence]:
        """Return all sentences of hits, and of the text around them, with their scores, by document and place.

        See `cut` for the parameters; the scores are those by which it chooses at the same ``budget``.
        """
        hits = check_hits(hits, "hits")
        evidence = self._evidence(question, hits, self._around(hits, beside, texts), budget)
        return [evidence.sentence(unit) for unit in range(len(evidence.scores))]

    def reach(self, hits: Iterable[Hit]) -> float:
        """Return ``around`` in characters, by the texts of hits."""
        return characters_of(self.around, hits, self._counter)

    def within(self, language: str, counter: Counter) -> Self:
        """Return the cutter with a retriever's language and counter in place of those that it leaves open."""
        return replace(self, language=self.language or check_language(language), tokenizer=self.tokenizer or counter)

    def highlights(self, question: str, hits: Iterable[Hit]) -> list[Hit]:
        """Return hits with their ``highlights``: the spans of the sentences that matter most for a question.

        They have at least half of the evidence of their hit's best sentence. Hits without a place, and those in which
        nothing matters, have none.
        """
        hits = check_hits(hits, "hits")
        evidence = self._evidence(question, hits, Neighborhood())
        return [replace(hit, highlights=evidence.highlights(hit)) for hit in hits]

    @cached_property
    def _warnings(self) -> WarningLog:
        return WarningLog()

    @cached_property
    def _counter(self) -> Counter:
        return as_counter(self.tokenizer)

    def __getstate__(self) -> dict[str, Any]:
        """Return the parameters, without what has been read."""
        return {own.name: getattr(self, own.name) for own in fields(self)}

    def _reader(self, hits: Sequence[Hit]) -> UnitReader:
        """Return a reader that remembers texts, in the language of hits; a new one if it has become too large."""
        language = self.language or AUTO
        language = language_of_all([hit.chunk.text for hit in hits]) if language == AUTO else language
        readers: dict[str, UnitReader] = self.__dict__.setdefault("readers", {})
        if language not in readers or readers[language].is_full:
            readers[language] = UnitReader(self._counter, language)
        return readers[language]

    def _around(self, hits: Sequence[Hit], beside: Iterable[Hit], texts: SurroundingsLike | None) -> Neighborhood:
        """Return the texts of the documents of hits, and of those without one, the chunks near hits."""
        source, beside = as_surroundings(texts, self._warnings), check_hits(beside, "beside")
        if not (source.sources or beside):
            return Neighborhood()
        reach = self.reach(hits)
        around = source.read(hits, reach)
        chunks = [hit for hit in (*beside, *around.beside) if hit.document not in around.texts]
        return Neighborhood(_near(hits, chunks, reach), around.texts)

    def _evidence(
        self,
        question: str,
        hits: Sequence[Hit],
        around: Neighborhood,
        budget: int = 0,
        files: Mapping[str, str] = MappingProxyType({}),
    ) -> _Evidence:
        """Return the sentences of hits and of the text around them, scored for a question."""
        require(isinstance(question, str), "question must be a string", question)
        reader = self._reader(hits)
        pairs = [*zip(hits, soften_hits(hits), strict=True), *((hit, 0.0) for hit in around.beside)]
        sources = self._sources(pairs, around.texts, partial(reader.read, budget=budget), files)
        numbers = [number for number, source in enumerate(sources) for _ in source.runs]
        runs = reader.read_runs([run for source in sources for run in source.runs], budget)
        table = UnitTable([*zip(numbers, runs, strict=True)])
        postings = table.postings(AskedTerms.of(question, reader.vocabulary))
        scores = self.scoring.score(postings, table.regions, table.tokens, table.own_words)
        scores += self.hit_weight * _spread(sources, table)
        scores = self.scoring.support(scores, table.documents, table.tokens, table.middles, budget)
        return _Evidence(sources, table, scores, reader.counter, self.context)

    def _sources(
        self,
        hits: Iterable[tuple[Hit, float]],
        texts: Mapping[str, str],
        read: Callable[[Sequence[Excerpt]], Sequence[Reading]],
        files: Mapping[str, str],
    ) -> list[_Source]:
        """Return the texts of hits, in an order that does not depend on theirs."""
        groups = dict[str, list[tuple[Hit, float]]]()
        for hit, evidence in hits:
            groups.setdefault(hit.document, []).append((hit, evidence))
        sources = list[_Source]()
        for document, group in sorted(groups.items()):
            text, placed, alone = texts.get(document), list[tuple[Hit, float]](), list[tuple[Hit, float]]()
            finder, name = None if text is None else Finder(text), PurePath(files.get(document, document)).name
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
                runs: Sequence[Sequence[Piece | Excerpt]]
                if text is None:
                    runs = runs_of_chunks(chunks, name)
                else:
                    spans = [span for chunk in chunks for span in chunk.spans]
                    record = record_of(chunks[0], is_cut=True)
                    (whole,) = read([Excerpt(text, source=name, record=record)])
                    runs = runs_in_text(whole, spans, self.around)
                sources.append(_Source(document, placed, runs))
            sources += [_alone(hit, evidence, name) for hit, evidence in _in_reading_order(alone)]
        return sources

    def _fill(self, evidence: _Evidence, budget: int) -> list[tuple[int, int, bool]]:
        """Return the places of the passages that fill a budget (`_Passages.places`)."""
        passages, refused = _Passages(evidence, budget), 0
        for unit in np.argsort(-evidence.scores, kind="stable").tolist():
            if evidence.scores[unit] <= 0 or refused == _MAX_REFUSED:
                break
            if not passages.has(unit):
                is_taken = passages.take(unit, self.min_tokens, self.max_passages)
                refused = 0 if is_taken else refused + 1
        return passages.places


@dataclass(frozen=True, eq=False)
class _Source:
    """A document with its hits, in reading order, and their evidence; or one hit whose place in its document is not
    known.
    """

    document: str
    hits: Sequence[tuple[Hit, float]]
    runs: Sequence[Sequence[Piece | Excerpt]]
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

    def passage(self, start: int, end: int, has_context: bool) -> Passage:
        """Return the passage of units ``start`` to ``end``."""
        source = self.sources[int(self.table.documents[start])]
        text, span = self.table.text(start, end)
        hits = [hit for hit, _ in source.hits if not source.is_placed or _distance(hit.chunk.spans, span) < 0]
        if not hits:  # it is beside one
            hits = [min((hit for hit, _ in source.hits), key=lambda hit: _distance(hit.chunk.spans, span))]
        context = self.context(start)[0] if has_context else ""
        tokens, score = self.counter(with_context(context, text)), float(self.scores[start:end].max())
        own_spans = (span,) if source.is_placed else ()
        section = " > ".join(self.table.path(start)) or None  # the headings of HTML or PDF are in metadata alone
        return Passage(text, source.document, own_spans, tuple(hits), score, tokens, context, section)

    def sentence(self, unit: int) -> ScoredSentence:
        """Return a unit with its score."""
        source = self.sources[int(self.table.documents[unit])]
        text, span = self.table.text(unit, unit + 1)
        own_spans = (span,) if source.is_placed else ()
        return ScoredSentence(text, source.document, own_spans, float(self.scores[unit]), int(self.table.tokens[unit]))

    def highlights(self, hit: Hit) -> tuple[Span, ...]:
        """Return the spans of the sentences of a hit that matter most, as far as they are in it."""
        numbers = [n for n, source in enumerate(self.sources) if source.is_placed and source.document == hit.document]
        pairs = [(span, self.table.overlapping(n, span)) for n in numbers for span in hit.chunk.spans]
        least = max((float(self.scores[units].max(initial=0)) for _, units in pairs), default=0.0) / 2
        best = list[Span]()
        for span, units in pairs:
            for unit in range(len(self.scores))[units]:
                if self.scores[unit] >= least > 0:
                    own = self.table.text(unit, unit + 1)[1]
                    best.append(Span(max(own.start, span.start), min(own.end, span.end)))
        return tuple(sorted({own for own in best if own.start < own.end}))


class _Passages:
    """Disjoint runs of units within a budget; those that touch are one.

    Parameters
    ----------
    evidence : has the units and their contexts.
    budget : tokens of all runs, with their contexts.
    """

    def __init__(self, evidence: _Evidence, budget: int) -> None:
        self._evidence, self._room = evidence, budget
        self._tokens = evidence.table.tokens.tolist()
        self._ends, self._starts = dict[int, int](), dict[int, int]()  # of each run, by its start; by its end
        self._taken, self._bare = set[int](), set[int]()  # units; starts of runs without their context

    @property
    def places(self) -> list[tuple[int, int, bool]]:
        """The first unit of each run, the one after its last, and True if it has its context."""
        return [(start, end, start not in self._bare) for start, end in sorted(self._ends.items())]

    def has(self, unit: int) -> bool:
        """Return True if a unit is in a run."""
        return unit in self._taken

    def take(self, unit: int, min_tokens: int, max_runs: int | None) -> bool:
        """Add a unit, with as many beside it as make a run of ``min_tokens``, and fit; return False if the unit does
        not fit.

        A run whose context alone does not fit goes without it.
        """
        place = self._fit(unit, unit + 1)
        if place is None or (place.is_new and max_runs is not None and len(self._ends) >= max_runs):
            return False
        size = sum(self._tokens[place.first : place.last])
        while size < min_tokens and (beside := self._better_side(place.first, place.last)) is not None:
            wider = self._fit(min(place.start, beside), max(place.end, beside + 1))
            if wider is None:
                break
            place, size = wider, sum(self._tokens[wider.first : wider.last])
        for start in place.inside:
            del self._starts[self._ends.pop(start)]
            self._bare.discard(start)
        self._ends[place.first], self._starts[place.last] = place.last, place.first
        if not place.has_context:
            self._bare.add(place.first)
        self._taken.update(range(place.start, place.end))
        self._room -= place.cost
        return True

    def _fit(self, start: int, end: int) -> _Fit | None:
        """Return units ``start`` to ``end`` with the runs that they touch, and their cost; None if there is no room for
        them.
        """
        touch = self._evidence.table.touch
        first = self._starts[start] if start in self._starts and touch(start) else start
        last = self._ends[end] if end in self._ends and touch(end) else end
        inside = ([first] if first < start else []) + ([end] if last > end else [])
        tokens = sum(self._tokens[start:end]) - sum(map(self._context, inside))
        context = 0 if first in self._bare else self._evidence.context(first)[1]
        has_context = tokens + context <= self._room and first not in self._bare
        if not has_context and (not inside or self._bare.issuperset(inside)):
            context = 0  # a run that has none yet
        if tokens + context <= self._room:
            return _Fit(start, end, first, last, tuple(inside), tokens + context, has_context)
        return None

    def _context(self, start: int) -> int:
        """Return the tokens of the context that a run has."""
        return 0 if start in self._bare else self._evidence.context(start)[1]

    def _better_side(self, first: int, last: int) -> int | None:
        """Return the unit that touches a range and has the higher score; None if there is none."""
        table, scores = self._evidence.table, self._evidence.scores
        sides = [first - 1] if first > 0 and table.touch(first) else []
        sides += [last] if last < len(table) and table.touch(last) else []
        return max(sides, key=lambda unit: scores[unit], default=None)


class _Fit(NamedTuple):
    """Units ``start`` to ``end``, which make a run of ``first`` to ``last`` with the runs ``inside`` it, named by their
    starts.
    """

    start: int
    end: int
    first: int
    last: int
    inside: tuple[int, ...]
    cost: int
    has_context: bool

    @property
    def is_new(self) -> bool:
        """True if it touches no run."""
        return not self.inside


def _alone(hit: Hit, evidence: float, name: str) -> _Source:
    """Return a hit whose place in its document is not known."""
    chunk = replace(hit.chunk, spans=(Span(0, len(hit.chunk.text)),))
    return _Source(hit.document, [(hit, evidence)], runs_of_chunks([chunk], name), is_placed=False)


def as_cutter(cutter: PassageCutter | Mapping[str, Any] | None) -> PassageCutter:
    """Return a cutter: the usual one for None, or one with the parameters that a mapping has, such as one from JSON.

    Raises `ConfigurationError` for anything else.

    >>> from dataclasses import asdict
    >>> as_cutter(asdict(PassageCutter(around=50))) == PassageCutter(around=50)
    True
    """
    if isinstance(cutter, Mapping):
        values = dict(_parameters_of(PassageCutter, cutter))
        if isinstance(scoring := values.get("scoring"), Mapping):
            own = dict(_parameters_of(WindowScoring, scoring))
            if isinstance(own.get("lengths"), list):  # of JSON
                own["lengths"] = tuple(own["lengths"])
            values["scoring"] = WindowScoring(**own)
        return PassageCutter(**values)
    require(cutter is None or isinstance(cutter, PassageCutter), "cutter must be a PassageCutter or None", cutter)
    return cutter or PassageCutter()


def _parameters_of(cls: type, values: Mapping[str, Any]) -> Mapping[str, Any]:
    """Return values of a mapping; raise `ConfigurationError` for one that a class does not have."""
    names = {own.name for own in fields(cls)}
    require(values.keys() <= names, f"a mapping must have parameters of {cls.__name__} only", values)
    return values


def soften_hits(hits: Sequence[Hit]) -> list[float]:
    """Return the scores of hits as evidence, from 1 for the best to near 0 for the worst."""
    scores = np.array([hit.score for hit in hits], dtype=np.float64)
    require(bool(np.isfinite(scores).all()), "scores of hits must be finite", scores)
    spread = float(np.ptp(scores)) if len(scores) else 0.0
    softened: Floats = (
        np.exp((scores - scores.max(initial=-np.inf)) / (TEMPERATURE * spread)) if spread else np.ones(len(scores))
    )
    return softened.tolist()  # type: ignore[no-any-return]


def _near(hits: Iterable[Hit], beside: Sequence[Hit], reach: float) -> list[Hit]:
    """Return the chunks whose middles are within ``reach`` characters of that of a hit with a place in their
    document.
    """
    hits = [hit for hit in hits if hit.chunk.spans]
    if not beside or not hits:
        return []
    documents = {hit.document: number for number, hit in enumerate(hits)}
    chunks = [hit for hit in beside if hit.document in documents]
    middles = np.array([hit.chunk.middle for hit in (*hits, *chunks)])
    numbers = np.array([documents[hit.document] for hit in (*hits, *chunks)], dtype=np.int64)
    positions = ChunkPositions(numbers, middles)
    count = len(chunks)
    near = positions.near(np.arange(len(positions) - count), reach)
    return [chunks[i - len(positions) + count] for i in near.tolist() if i >= len(positions) - count]


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


def _distance(spans: Sequence[Span], other: Span) -> int:
    """Return the characters between a span and the nearest of others; less than 0 if it overlaps one."""
    return min(max(span.start - other.end, other.start - span.end) for span in spans)
