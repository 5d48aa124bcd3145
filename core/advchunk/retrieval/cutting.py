"""Cut retrieved texts again when the question is known: passages of the sentences that answer it, within a budget."""

from __future__ import annotations

import logging
from collections import defaultdict
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field, fields, replace
from functools import cached_property, lru_cache, partial
from pathlib import PurePath
from types import MappingProxyType
from typing import Any, NamedTuple, Self, TypeVar

import numpy as np

from advchunk.errors import check_fields, checked, is_integer, is_number, require
from advchunk.models.counters import TokenizerLike, as_counter
from advchunk.models.embedders import as_embedder
from advchunk.models.scorers import Scorer, as_scorer, is_embedder
from advchunk.models.signals import unit_rows
from advchunk.records import Floats, Ints, Span, with_context, written_metadata
from advchunk.retrieval.evidence import WindowScoring, soften, window_ends
from advchunk.retrieval.locating import Finder, is_whole, place_in_text
from advchunk.retrieval.neighbors import TEMPERATURE
from advchunk.retrieval.passage_units import (
    AskedTerms,
    Excerpt,
    Run,
    UnitReader,
    UnitTable,
    headings_of,
    runs_in_text,
    runs_of_chunks,
    share_of_words,
)
from advchunk.retrieval.passages import Hit, Passage, PassageOrder, check_hits, check_sizes, sort_passages, with_lines
from advchunk.retrieval.surroundings import Neighborhood, SurroundingsLike, as_surroundings, characters_of
from advchunk.retrieval.warning_log import WarningLog
from advchunk.text.counters import CallableCounter, Counter
from advchunk.text.detection import AUTO
from advchunk.text.search_terms import WordTerms
from advchunk.text.terms import check_language, language_of_all

DEPTH_TO_CUT = 200
"""Hits that are cut again: with the text around them, they do as well as the whole index."""

_AROUND = 350.0
_HIT_WEIGHT = 0.1  # of the scores of the hits, where the words of the question have 1
_MAX_REFUSED = 20  # sentences in a row that do not fit
SCORER_WEIGHT = 0.4
_SHARE_OF_ROWS = 0.5  # of the weight of a scorer, for the vectors of sentences that an index keeps
_JUDGED = 75.0  # tokens of the windows that a scorer is given
_COUNTED = 4096  # texts whose tokens are remembered
_EMBEDDED = 2**14  # sentences whose vectors are remembered
_SCRAP = 8  # tokens of a passage that says nothing alone
_Kind = TypeVar("_Kind")
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

    The text of the first hits, and the text around them, is cut again: windows of several lengths start at every
    sentence, and are scored by BM25 for the words of the question, and for pairs of them that follow each other; a
    sentence has the mean score of the windows that contain it; sentences nearby support each other (`WindowScoring`).
    The best sentences fill the budget, and those that touch are one passage.

    Needs no model and no index: frequencies of words are those in the hits. Ours (benchmarks/RETRIEVAL.md); it joins
    passages of arbitrary place and length (Kaszkiel and Zobel 2001, Effective ranking with arbitrary passages) with the
    spread of evidence to its neighbors (Lv and Zhai 2009, Positional language models).

    Units are sentences, table rows, records of JSON and YAML, code blocks and, in source code, definitions. A row or a
    record that fits in the budget is taken whole or not at all; so is a block or definition of at most 300 tokens that
    fits in a third of it. The words of a table's head count for each of its rows, but not for their length. A heading
    stays with the sentence below it. No passage crosses a gap in the known text.

    Parameters
    ----------
    language : code of the language of the sentences; None is the retriever's, or "auto", the language of most hits.
    tokenizer : counts tokens (`models.counters.as_counter`); None is the retriever's, or the built-in WordPiece.
    around : tokens on either side of a hit that passages may extend to, where the text is known, or of which chunks
        beside it have the middle, at the tokens per character of the hits, >= 0.
    hit_weight : weight of the scores of the hits, >= 0; the words of the question have 1.
    context : put the headings above a passage, and the head of a table that it starts in, within the budget.
    min_tokens : minimum tokens of a passage, >= 0, unless the text around it has fewer.
    max_passages : maximum number of passages, >= 1; None is unlimited.
    min_coverage : minimum ``coverage`` of a passage, 0..1; the log says so if none has as much.
    scoring : how windows score sentences.
    scorer : a model that knows more than words, such as a cross-encoder (`models.scorers.as_scorer`) or an embedder. It
        scores the windows of 75 tokens that start at the 300 best sentences by words, so its time is that of 300 texts,
        of an embedder that of their sentences, whose mean vector a window has, less those of earlier questions.
    scorer_weight : weight of the scores of the scorer, >= 0, where words have 1. It falls with the share of the
        question's words that the best 225 tokens have: from twice the weight for none, over the weight for .8, to .75
        times the weight for all. None puts the scorer in place of words. Without a scorer, the vectors of sentences
        that an index keeps (``vectors="units"``) have half the weight, but those of the built-in embedder none.

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
    min_coverage: float = 0.0
    scoring: WindowScoring = field(default_factory=WindowScoring)
    scorer: Any = None
    scorer_weight: float | None = SCORER_WEIGHT

    def __post_init__(self) -> None:
        check_fields(self)
        _ = self.language is None or check_language(self.language)
        _check_coverage(self.min_coverage)
        _ = self.scorer is None or is_embedder(self.scorer) or self._scorer
        weights = {"hit_weight": self.hit_weight, "scorer_weight": self.scorer_weight or 0.0}
        for name, value in {"around": self.around, **weights}.items():
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
        min_coverage: float | None = None,
    ) -> list[Passage]:
        """Return passages for a question, of at most ``budget`` >= 1 tokens in all, from hits in any order.

        Sentences are taken in the order of their scores while they fit, until twenty in a row do not; one of up to 8
        tokens, but no row, comes with those beside it. So the best sentence is in every budget that it fits into.
        Headings that alone do not fit are left out.

        Hits may overlap, repeat each other, and be parts of each other. A hit that is not the text of its spans in
        ``texts`` is found again there by its text, or stands alone and is cited without offsets; the log says so.

        Parameters
        ----------
        hits : as they were found; their scores may be on any scale, higher is better.
        beside : other chunks of the same documents; those around hits count, but not their scores.
        texts : the texts of the documents of hits, by name, or another source of the text around them
            (`as_surroundings`); documents without a text are known as far as chunks have them.
        order : "rank" sorts passages by their best sentence; "document" by their document and place.
        files : names of files by names of documents, if they differ; a suffix may say that a text is source code.
        min_coverage : as that of the cutter, which None is.
        """
        check_sizes(budget=budget)
        hits = check_hits(hits, "hits")
        around = self._around(hits, beside, texts)
        evidence = self._evidence(question, hits, around, budget, files or {})
        room, excess, passages = budget, 1, list[Passage]()
        while excess > 0:  # for a tokenizer whose counts of sentences do not add up to those of passages
            passages = [evidence.passage(run) for run in self._fill(evidence, budget, room)] if room > 0 else []
            excess = sum(passage.tokens for passage in passages) - budget
            room -= excess
        if evidence.scores.max(initial=0) > max((passage.score for passage in passages), default=0):
            _log.warning("the best sentence does not fit into a budget of %d tokens", budget)
        passages = self._covering(passages, evidence.table.word_weights(evidence.asked), min_coverage)
        return with_lines(sort_passages(passages, order), around.texts.get)

    @checked
    def covering(
        self, question: str, hits: Iterable[Hit], passages: Sequence[Passage], min_coverage: float | None = None
    ) -> list[Passage]:
        """Return those of other passages from hits that have enough ``coverage`` of a question (`cut`)."""
        _, table, asked = self._read(question, list(hits), Neighborhood(), {})
        return self._covering(passages, table.word_weights(asked), min_coverage)

    @checked
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

        See `cut` for the parameters. `cut` chooses by these scores, which are the same for all budgets up to 1,000.
        """
        hits = check_hits(hits, "hits")
        evidence = self._evidence(question, hits, self._around(hits, beside, texts), budget)
        return [evidence.sentence(unit) for unit in range(len(evidence.scores))]

    def reach(self, hits: Iterable[Hit], tokens: float | None = None) -> float:
        """Return ``around``, or as many ``tokens``, in characters, by the texts of hits."""
        return characters_of(self.around if tokens is None else tokens, hits, self._known_counts)

    def within(self, language: str, embedder: object = None, tokenizer: TokenizerLike = None) -> Self:
        """Return the cutter with a retriever's language, and its tokenizer or its embedder's, where it has none."""
        counter = as_counter(tokenizer if self.tokenizer is None else self.tokenizer, embedder)
        return replace(self, language=self.language or check_language(language), tokenizer=counter)

    @checked
    def highlights(self, question: str, hits: Iterable[Hit]) -> list[Hit]:
        """Return hits with their ``highlights``: the spans of the sentences that matter most for a question.

        They have at least half of the evidence of their hit's best sentence. Hits without a place, and those in which
        nothing matters, have none.
        """
        hits, sentences = check_hits(hits, "hits"), defaultdict[str, list[tuple[Span, float]]](list)
        for own in self.sentences(question, hits):
            sentences[own.document] += [(span, own.score) for span in own.spans]
        return [replace(hit, highlights=_highlights(hit, sentences[hit.document])) for hit in hits]

    @cached_property
    def _warnings(self) -> WarningLog:
        return WarningLog()

    @cached_property
    def _scorer(self) -> Scorer:
        return as_scorer(self.scorer)

    @cached_property
    def counter(self) -> Counter:
        """The tokenizer as a counter."""
        return as_counter(self.tokenizer)

    @cached_property
    def _vectors(self) -> dict[str, Floats]:
        return {}

    @cached_property
    def _known_counts(self) -> Counter:
        return CallableCounter(lru_cache(_COUNTED)(self.counter))

    def __getstate__(self) -> dict[str, Any]:
        """Return the parameters, without what has been read."""
        return {own.name: getattr(self, own.name) for own in fields(self)}

    def _reader(self, hits: Sequence[Hit]) -> UnitReader:
        """Return a reader that remembers texts, in the language of hits; a new one if it has become too large."""
        language = self.language or AUTO
        language = language_of_all([hit.chunk.text for hit in hits]) if language == AUTO else language
        readers: dict[str, UnitReader] = self.__dict__.setdefault("readers", {})
        if language not in readers or readers[language].is_full:
            readers[language] = UnitReader(self.counter, language)
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
        sources, table, asked = self._read(question, hits, around, files)
        scores = self.scoring.score(table.postings(asked), table.regions, table.tokens, table.own_words)
        of_hits = self.hit_weight * _spread([source.evidence for source in sources], table)
        cosines = _spread([source.row_scores for source in sources], table, -np.inf)
        if self.scorer is not None or (is_known := np.isfinite(cosines)).any():
            score = partial(self._score_windows, question, table, cosines)
            length, weight = _JUDGED, self.scorer_weight
            if self.scorer is None:
                cosines[~is_known] = cosines[is_known].min()
                length, weight = 0.0, _SHARE_OF_ROWS * (SCORER_WEIGHT if weight is None else weight)
            own = self.scoring.judge(scores + of_hits, score, table.regions, table.tokens, length)
            if weight is not None and len(scores):
                best = int((scores + of_hits).argmax())
                text, _ = table.text(best, int(window_ends(table.regions, table.tokens, 3 * _JUDGED)[best]))
                coverage = share_of_words(text, table.word_weights(asked))
                own = scores + weight * (2.0 - 1.25 * coverage) * own
            scores = own
        scores = self.scoring.support(scores + of_hits, table.documents, table.tokens, table.middles, budget)
        return _Evidence(sources, table, asked, scores, self.counter, self.context)

    def _read(
        self, question: str, hits: Sequence[Hit], around: Neighborhood, files: Mapping[str, str]
    ) -> tuple[Sequence[_Source], UnitTable, AskedTerms]:
        """Return the texts of hits and around them, their units, and the terms of a question among them."""
        reader = self._reader(hits)
        pairs = [*zip(hits, soften_hits(hits), strict=True), *((hit, 0.0) for hit in around.beside)]
        sources = [*self._sources(pairs, around.texts, reader, files)]
        table = UnitTable([(number, run) for number, source in enumerate(sources) for run in source.runs])
        return sources, table, AskedTerms.of(question, reader.vocabulary)

    def _covering(
        self, passages: Iterable[Passage], weights: Mapping[WordTerms, float], least: float | None
    ) -> list[Passage]:
        """Return the passages that have so much of the weights of a question's words, with their ``coverage``."""
        least = self.min_coverage if least is None else least
        _check_coverage(least)
        rated = [replace(passage, coverage=share_of_words(passage.prompt_text, weights)) for passage in passages]
        kept = [passage for passage in rated if passage.coverage >= least]
        if rated and not kept:
            best = max(passage.coverage for passage in rated)
            _log.warning("no passage has a coverage of %g of the question's words; the best has %.2f", least, best)
        return kept

    def _score_windows(self, question: str, table: UnitTable, cosines: Floats, starts: Ints, ends: Ints) -> Floats:
        """Return the score of each window: without a scorer, the cosine of its first sentence. An embedder reads each
        sentence once, also for several questions, and a window has their mean vector.
        """
        if self.scorer is None:
            return cosines[starts]
        windows = [*zip(starts.tolist(), ends.tolist(), strict=True)]
        if not is_embedder(self.scorer):
            scores: Floats = self._scorer(question, [table.text(*window)[0] for window in windows])
            return scores
        embedder, units = as_embedder(self.scorer), sorted({unit for window in windows for unit in range(*window)})
        texts, vectors = [table.text(unit, unit + 1)[0] for unit in units], self._vectors
        if missing := [text for text in dict.fromkeys(texts) if text not in vectors]:
            vectors |= zip(missing, embedder.embed(missing), strict=True)
        rows = np.stack([vectors[text] for text in texts]) * table.tokens[units][:, None]
        if len(vectors) > _EMBEDDED:
            self.__dict__["_vectors"] = {}
        sums = np.cumsum(np.insert(rows, 0, 0, axis=0), axis=0, dtype=np.float64)
        starts, ends = np.searchsorted(units, windows).T
        own: Floats = unit_rows(sums[ends] - sums[starts]) @ embedder.for_questions().embed([question])[0]
        return own

    def _sources(
        self, hits: Iterable[tuple[Hit, float]], texts: Mapping[str, str], reader: UnitReader, files: Mapping[str, str]
    ) -> Iterator[_Source]:
        """Yield the texts of hits, in an order that does not depend on theirs."""
        groups = defaultdict[str, list[tuple[Hit, float]]](list)
        for hit, evidence in hits:
            if hit.chunk.text.strip():
                groups[hit.document].append((hit, evidence))
        for document, group in sorted(groups.items()):
            text, name = texts.get(document), PurePath(files.get(document, document)).name
            own = group
            if text is not None:
                finder = Finder(text)
                own = [(replace(hit, chunk=place_in_text(hit.chunk, finder)), evidence) for hit, evidence in group]
            own.sort(key=lambda pair: (pair[0].chunk.spans, pair[0].chunk.text, pair[0].chunk.index))
            placed, alone = ([pair for pair in own if is_whole(pair[0].chunk) is whole] for whole in (True, False))
            if alone and text is not None:
                reason = "%d of %d hits are not in the text of %r, such as %r, so they have no offsets"
                self._warnings.warn("texts", reason, len(alone), len(group), document, alone[0][0].chunk.text[:60])
            chunks = [hit.chunk for hit, _ in placed]
            if chunks and text is not None:
                is_of_records = isinstance(written_metadata(chunks[0].metadata).get("json_path"), str)
                whole = reader.read(Excerpt(text, source=name, record="" if is_of_records else None))
                spans = [span for chunk in chunks for span in chunk.spans]
                yield _Source(document, placed, runs_in_text(whole, spans, self.around))
            elif chunks:
                yield _Source(document, placed, runs_of_chunks(chunks, reader, name))
            for hit, evidence in alone:
                chunk = replace(hit.chunk, spans=(Span(0, len(hit.chunk.text)),))
                yield _Source(document, [(hit, evidence)], runs_of_chunks([chunk], reader, name), is_placed=False)

    def _fill(self, evidence: _Evidence, budget: int, room: int) -> list[_Run]:
        """Return the runs of units that fill the ``room`` in a budget, in their order."""
        filling, refused, tried = _Filling(evidence, budget, room), 0, set[int]()
        ranked = np.argsort(-evidence.scores, kind="stable")[: np.count_nonzero(evidence.scores > 0)]
        for part in map(filling.starts.__getitem__, ranked.tolist()):
            if refused == _MAX_REFUSED:
                break
            if part not in tried and not filling.has(part):
                refused = 0 if filling.take(part, self.min_tokens, self.max_passages) else refused + 1
            tried.add(part)
        return sorted(filling.runs)


@dataclass(frozen=True, eq=False)
class _Source:
    """A document with its hits in reading order and their evidence; or one hit whose place in it is not known."""

    document: str
    hits: Sequence[tuple[Hit, float]]
    runs: Sequence[Run]
    is_placed: bool = True

    @property
    def evidence(self) -> list[tuple[int, int, float]]:
        """The spans of its hits, and their evidence."""
        spans = [hit.chunk.spans if self.is_placed else (Span(0, len(hit.chunk.text)),) for hit, _ in self.hits]
        return [(*span, value) for own, (_, value) in zip(spans, self.hits, strict=True) if value for span in own]

    @property
    def row_scores(self) -> list[tuple[int, int, float]]:
        """The spans of the sentences of its hits, and their scores."""
        hits = [hit for hit, _ in self.hits if self.is_placed and hit.chunk.row_spans]  # none if it was found elsewhere
        pairs = (zip(hit.chunk.row_spans, hit.row_scores, strict=False) for hit in hits)
        return [(*span, score) for own in pairs for span, score in own]


@dataclass(frozen=True, eq=False)
class _Evidence:
    """The units of sources, and the score of each for a question: (n,)."""

    sources: Sequence[_Source]
    table: UnitTable
    asked: AskedTerms
    scores: Floats
    counter: Counter
    has_context: bool

    def context(self, unit: int) -> tuple[str, int]:
        """Return the context of a passage that starts with a unit, and its tokens."""
        return self.table.context(unit) if self.has_context else ("", 0)

    def passage(self, run: _Run) -> Passage:
        """Return the passage of a run."""
        start, end, _, has_context = run
        source = self.sources[int(self.table.documents[start])]
        text, span = self.table.text(start, end)
        hits = [hit for hit, _ in source.hits if not source.is_placed or _distance(hit.chunk.spans, span) < 0]
        if not hits:  # it is beside one
            hits = [min((hit for hit, _ in source.hits), key=lambda hit: _distance(hit.chunk.spans, span))]
        context = self.context(start)[0] if has_context else ""
        tokens, score = self.counter(with_context(context, text)), float(self.scores[start:end].max())
        own_spans = (span,) if source.is_placed else ()
        places = (start, hits[0].chunk, span.start), (end - 1, hits[-1].chunk, span.end - 1)
        section, last_section = (
            " > ".join(self.table.path(unit) or headings_of(chunk, offset, written_metadata(chunk.metadata))[0])
            for unit, chunk, offset in places
        )
        return Passage(
            text, source.document, own_spans, tuple(hits), score, tokens, context, section, last_section=last_section
        )

    def sentence(self, unit: int) -> ScoredSentence:
        """Return a unit with its score."""
        source = self.sources[int(self.table.documents[unit])]
        text, span = self.table.text(unit, unit + 1)
        own_spans = (span,) if source.is_placed else ()
        return ScoredSentence(text, source.document, own_spans, float(self.scores[unit]), int(self.table.tokens[unit]))


class _Run(NamedTuple):
    """Units ``start`` to ``end``, which are one passage, and their tokens, with those of its context if it has one."""

    start: int
    end: int
    tokens: int
    has_context: bool


class _Filling:
    """Disjoint runs of units within a budget; those that touch are one."""

    def __init__(self, evidence: _Evidence, budget: int, room: int) -> None:
        self.runs = list[_Run]()
        self._evidence, self._room = evidence, room
        self._tokens = evidence.table.tokens.tolist()
        self.starts, self._ends = (own.tolist() for own in evidence.table.taken_together(budget))

    def has(self, unit: int) -> bool:
        """Return True if a unit is in a run."""
        return any(run.start <= unit < run.end for run in self.runs)

    def take(self, part: int, min_tokens: int, max_runs: int | None) -> bool:
        """Add the part that starts at a unit, with those beside it that make a run of ``min_tokens``, and fit; return
        False if it does not fit.

        A run whose context alone does not fit goes without it. One of few words takes those beside it, or no room.
        """
        run, inside = self._fit(part, self._ends[part])
        if run is None or (not inside and max_runs is not None and len(self.runs) >= max_runs):
            return False
        least = min_tokens if self._evidence.table.rows[part] else max(min_tokens, _SCRAP + 1)
        while (size := sum(self._tokens[run.start : run.end])) < least:
            if (beside := self._better_side(run)) is None:
                break
            wider, within = self._fit(min(run.start, self.starts[beside]), max(run.end, self._ends[beside]))
            if wider is None:
                if size <= _SCRAP < least and self.runs:
                    return False
                break
            run, inside = wider, within
        self.runs = [*(own for own in self.runs if own not in inside), run]
        self._room -= run.tokens - sum(own.tokens for own in inside)
        return True

    def _fit(self, start: int, end: int) -> tuple[_Run | None, list[_Run]]:
        """Return the run of units with the runs that it touches, and these; None if there is no room for it."""
        touch = self._evidence.table.touch
        before, after = start - (start > 0 and touch(start)), end + (end < len(self._tokens) and touch(end))
        inside = [run for run in self.runs if run.start < after and before < run.end]
        start, end = min([start, *(run.start for run in inside)]), max([end, *(run.end for run in inside)])
        room = self._room + sum(run.tokens for run in inside)
        tokens, context = sum(self._tokens[start:end]), self._evidence.context(start)[1]
        has_context = tokens + context <= room and all(run.has_context for run in inside if run.start == start)
        if not has_context and (tokens > room or any(run.has_context for run in inside)):
            return None, inside
        return _Run(start, end, tokens + context * has_context, has_context), inside

    def _better_side(self, run: _Run) -> int | None:
        """Return the unit that touches a run and has the higher score; None if there is none."""
        table, scores = self._evidence.table, self._evidence.scores
        sides = [run.start - 1] if run.start > 0 and table.touch(run.start) else []
        sides += [run.end] if run.end < len(table) and table.touch(run.end) else []
        return max(sides, key=lambda unit: scores[unit], default=None)


def as_cutter(cutter: PassageCutter | Mapping[str, Any] | None) -> PassageCutter:
    """Return the cutter, the usual for None, or one with a mapping's parameters; else raise `ConfigurationError`."""
    if not isinstance(cutter, Mapping):
        require(cutter is None or isinstance(cutter, PassageCutter), "cutter must be a PassageCutter or None", cutter)
        return cutter or PassageCutter()
    scoring = cutter.get("scoring")
    if isinstance(scoring, Mapping):
        scoring = {name: tuple(value) if isinstance(value, list) else value for name, value in scoring.items()}
        cutter = {**cutter, "scoring": _made(WindowScoring, scoring)}
    return _made(PassageCutter, cutter)


def _made(kind: type[_Kind], values: Mapping[str, Any]) -> _Kind:
    names = {own.name for own in fields(kind)}  # type: ignore[arg-type]  # both are dataclasses
    require(values.keys() <= names, f"a mapping must have parameters of {kind.__name__} only", values)
    return kind(**values)


def soften_hits(hits: Sequence[Hit]) -> list[float]:
    """Return the scores of hits as evidence, from 1 for the best to near 0 for the worst."""
    scores = np.array([hit.score for hit in hits], dtype=np.float64)
    require(bool(np.isfinite(scores).all()), "scores of hits must be finite", scores)
    softened: list[float] = soften(scores, scores.min(initial=np.inf), TEMPERATURE).tolist()
    return softened


def _check_coverage(least: float) -> None:
    require(is_number(least) and least <= 1, "min_coverage must be between 0 and 1", least)


def _near(hits: Iterable[Hit], beside: Sequence[Hit], reach: float) -> list[Hit]:
    """Return the chunks whose middles are within ``reach`` characters of that of a hit with a place."""
    middles = defaultdict[str, list[float]](list)
    for hit in hits:
        if hit.chunk.spans:
            middles[hit.document].append(hit.chunk.middle)
    arrays = {document: np.array(own) for document, own in middles.items()}
    chunks = [hit for hit in beside if hit.document in arrays]
    return [hit for hit in chunks if np.abs(arrays[hit.document] - hit.chunk.middle).min() <= reach]


def _spread(places: Iterable[Sequence[tuple[int, int, float]]], table: UnitTable, least: float = 0.0) -> Floats:
    """Return the highest value of the places that each unit overlaps, or ``least``: (n,). Each source has places, which
    are starts, ends, and values.
    """
    spread = np.full(len(table), least)
    for number, own in enumerate(places):
        if own:
            starts, ends, values = np.array(own).T
            units, many = table.overlapping(number, starts, ends)
            np.maximum.at(spread, units, np.repeat(values, many))
    return spread


def _highlights(hit: Hit, sentences: Iterable[tuple[Span, float]]) -> tuple[Span, ...]:
    """Return the parts of sentences in a hit that have at least half of the score of the best."""
    parts = {
        Span(max(own.start, span.start), min(own.end, span.end)): score
        for span in hit.chunk.spans
        for own, score in sentences
        if own.start < span.end and span.start < own.end
    }
    least = max(parts.values(), default=0.0) / 2
    return tuple(sorted(part for part, score in parts.items() if score >= least > 0))


def _distance(spans: Sequence[Span], other: Span) -> int:
    """Return the characters between a span and the nearest of others; less than 0 if it overlaps one."""
    return min(max(span.start - other.end, other.start - span.end) for span in spans)
