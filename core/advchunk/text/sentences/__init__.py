"""Split text into sentences."""

import re
from bisect import bisect_left
from collections.abc import Iterator, Sequence
from functools import cache
from itertools import chain, islice, pairwise
from typing import Any

import numpy as np

from advchunk.records import Units
from advchunk.text.detection import AUTO, language_of, tell_language
from advchunk.text.patterns import lazy_pattern
from advchunk.text.sentences.brackets import is_enclosed, opening_marks
from advchunk.text.sentences.stops import (
    CLOSING_MARKS,
    MAX_WORD,
    PLAIN_STOP,
    STOP,
    WIDE_STOPS,
    Habits,
    Paragraph,
    Stop,
    find_stops,
    get_habits,
)
from advchunk.text.sentences.words import Words, get_words
from advchunk.text.tiling import OWN_SPACE, after, owning_space, paragraph_edges

_PLAIN_SENTENCE_END = lazy_pattern(rf"[.!?]{OWN_SPACE}|[{WIDE_STOPS}]++{CLOSING_MARKS}*+{OWN_SPACE}?")
_PUBLISHED_SENTENCE_END = lazy_pattern(r"(?<=[.!?])\s+")
_FULL_WIDTH_SEMICOLON = lazy_pattern(r"；\s*")
_TELLING = 200  # characters of a paragraph that tell its own language
_SURROGATE = lazy_pattern("[\ud800-\udfff]")
# A list item or the header of a message is not the continuation of the line before. To search for "\n" alone is faster.
_LINE = r"(?=[^\S\r\n]{0,20}(?:[-*•‣◦▪–]\s|\(?\d{1,3}[.)]\s|[A-Z][\w-]{1,20}:\s))"
_BEFORE_LINE, _BEFORE_UNIX_LINE = lazy_pattern(rf"(?:\r\n?|\n){_LINE}"), lazy_pattern(rf"\n{_LINE}")
# An entry of a table of contents ends with dots and a page number. Matches start where no dot is before.
LEADERS = lazy_pattern(
    r"(?<![.…])(?<![.…][ \t])(?<![.…][ \t]{2})(?<![.…][ \t]{3})(?:[.…](?:[ \t]{0,3}[.…]){3,}+|\.?[ \t]{0,3}…{2,}+)"
    r"[ \t]{0,20}+(?:\d{1,5}|[ivxlcIVXLC]{1,8})[ \t]{0,20}+(?=[\r\n]|\Z)"
)
LEADER_SIGNS = ("....", ". . .", "……")
# A stretch of more characters without a stop is divided into pieces. The longest of 4,882 annotated sentences has 499.
_MAX_SENTENCE, _MIN_PIECE, _MAX_PIECE = 600, 100, 300
_BREAKS = (lazy_pattern(r"[\r\n]"), lazy_pattern(r"[;:](?=\s)|[；：]"), lazy_pattern(r",(?=\s)|[，、]"))
_SPACE = lazy_pattern(r"\s++")
# Thai and Lao have no stops: spaces stand between phrases. A unit is as many phrases as make so many characters.
_THAI = lazy_pattern(r"[\u0e01-\u0edf]")
_PHRASE_END = lazy_pattern(r"(?<=[\u0e01-\u0edf])\s++(?=[\u0e01-\u0edf])")
_MIN_PHRASES = 40


def plain_sentences(text: str) -> Units:
    """Split after ``.``, ``!`` or ``?`` and white space, and after the stops of all scripts; the rule knows no
    abbreviations or closing quotes. Thai and Lao, which have no stops, are split at spaces.
    """
    units = after(text, _PLAIN_SENTENCE_END)
    if text.isascii() or not _THAI.search(text):
        return units
    ends = (end for start, stop in pairwise(units.edges.tolist()) for end in (*_phrase_ends(text, start, stop), stop))
    return owning_space(text, ends)


def published_sentences(text: str) -> Units:
    r"""Split at ``(?<=[.!?])\s+`` alone, the rule of universal chunking and of LangChain's SemanticChunker."""
    return after(text, _PUBLISHED_SENTENCE_END)


def split_semicolons(units: Units) -> Units:
    """Return units that also end after each full-width semicolon, as those of Meta-Chunking do in Chinese."""
    ends = after(units.text, _FULL_WIDTH_SEMICOLON).edges
    return Units(units.text, np.union1d(units.edges, ends))


@cache
def language_code(language: str) -> str:
    """Return the two- or three-letter code of a language, without its region."""
    return re.split("[-_]", language.lower())[0]


def sentences(text: str, language: str = AUTO, *, by_paragraph: bool = False, starts: Sequence[int] = ()) -> Units:
    """Split into sentences by rules, in time linear in the text.

    A blank line always ends a sentence; a line end alone does so only before a list item or a mail header, and after an
    entry of a table of contents ("Tea ..... 22"). Letter case only breaks ties. Brackets and quotes of up to 300
    characters stay whole. A stretch of more than 600 characters without a stop is divided into pieces of 100 to 300.
    Paragraphs are split separately, so an edit to one does not affect another.

    There are abbreviations and openers for 24 languages; the words of English apply to others. ``by_paragraph`` tells
    the language of each paragraph of 200 characters or more (`detection.language_of`). ``starts`` are ascending offsets
    of lines that are split like paragraphs, such as items of a list.

    >>> sentences("Dr. Smith saw Fig. 3. She left... Why? See 1.5 mg (p = 0.03).").strings()
    ['Dr. Smith saw Fig. 3. ', 'She left... ', 'Why? ', 'See 1.5 mg (p = 0.03).']
    """
    by_paragraph = by_paragraph or language == AUTO
    code = language_code(language_of(text, language))
    seen = text.replace(";", "\u037e") if code == "el" else text  # the question mark of Greek
    stops, own_words, own_habits, ends = find_stops(seen), get_words(code), get_habits(code), list[int]()
    signs, marks = [sign for sign in LEADER_SIGNS if sign in text], opening_marks(text, 0, len(text))
    edges = paragraph_edges(text)
    for start, end in pairwise(sorted({*edges, *starts}) if starts else edges):
        piece = text[start:end]
        first, last = end - len(piece.lstrip()), start + len(piece.rstrip())
        if first >= last:
            continue
        words, habits = own_words, own_habits
        if by_paragraph and last - first >= _TELLING:
            detected = tell_language(text[first : first + _TELLING], code)
            words, habits = get_words(detected), get_habits(detected)
        ends += _sentence_ends(Paragraph(seen, first, last, words, marks), stops, habits, signs)
    return owning_space(text, ends, starts)


def _sentence_ends(paragraph: Paragraph, stops: Sequence[int], habits: Habits, signs: Sequence[str]) -> list[int]:
    """Return the ends of the sentences of a paragraph without white space around it, by its stops and signs."""
    text, at, ends = paragraph.text, paragraph.start, list[int]()
    edges = _parts(text, at, paragraph.end)
    if signs and any(text.find(sign, at, paragraph.end) >= 0 for sign in signs):
        leaders = [match.span() for match in LEADERS.finditer(text, at, paragraph.end)]
        edges = sorted({*edges, *(end for _, end in leaders)})
        between = pairwise([at, *chain.from_iterable(leaders), paragraph.end])
        outside = [stops[bisect_left(stops, a) : bisect_left(stops, b)] for a, b in islice(between, 0, None, 2)]
        stops = [*chain.from_iterable(outside)]
    for first, last in pairwise(edges):
        inner = stops[bisect_left(stops, first) : bisect_left(stops, last - 1)]  # a stop at the end decides nothing
        for stop in [*_stop_ends(paragraph, first, last, inner, habits), last]:
            if stop - at > _MAX_SENTENCE:
                ends += _breaks(text, at, stop, paragraph.words)
            ends.append(at := stop)
    return ends


def _breaks(text: str, start: int, end: int, words: Words) -> Iterator[int]:
    """Yield ends of pieces of a long stretch without stops: at a line end, a mark, a spoken opener, or white space."""
    while end - start > _MAX_SENTENCE:
        low, high = start + _MIN_PIECE, start + _MAX_PIECE
        matches = (pattern.search(text, low, high) for pattern in (*_BREAKS, words.spoken_openers, _SPACE))
        match = next(filter(None, matches), None) or _SPACE.search(text, high, end)
        if match is None:
            return
        yield (start := match.end())


def _parts(text: str, start: int, end: int) -> list[int]:
    """Return the edges of the parts that end without a stop: at lines before list items and headers, at Thai spaces."""
    has_returns = text.find("\r", start, end) >= 0
    if has_returns or text.find("\n", start, end) >= 0:
        pattern = _BEFORE_LINE if has_returns else _BEFORE_UNIX_LINE
        return [start, *[match.start() for match in pattern.finditer(text, start, end)], end]
    if not text[start:end].isascii() and _THAI.search(text, start, end):
        return [start, *_phrase_ends(text, start, end), end]
    return [start, end]


def _phrase_ends(text: str, start: int, end: int) -> Iterator[int]:
    """Yield the ends of the units of Thai or Lao in a part of a text, except the last."""
    at = start
    for match in _PHRASE_END.finditer(text, start, end):
        if match.start() - at >= _MIN_PHRASES:
            yield (at := match.start())


def _stop_ends(paragraph: Paragraph, start: int, end: int, stops: Sequence[int], habits: Habits) -> list[int]:
    """Return the ends of the sentences in ``text[start:end]`` that end with one of the ``stops`` in it."""
    if not stops:
        return []
    first, text, matched, openers, ends = start, paragraph.text, start, paragraph.words.openers, list[int]()
    marks = opening_marks(text, start, end, paragraph.marks)
    for at in stops:
        if at < matched:  # within the last match
            continue
        before = text[max(first, at - MAX_WORD) : at].rpartition(" ")[2]
        plain = PLAIN_STOP.match(text, at, end)
        habit = habits[before] if plain else None
        if plain and habit is False and plain["following"].lower() not in openers:
            continue
        if habit:
            if at == first:
                continue
            stop_end = at + 1
        elif match := STOP.match(text, at, end):
            matched, stop = match.end(), Stop(paragraph, match, first, before)
            if not stop.ends_sentence():
                continue
            stop_end = stop.end
        else:
            continue
        if stop_end > first and not (marks and is_enclosed(text, marks, first, stop_end, end)):
            ends.append(first := stop_end)
    return ends


def spacy_documents(text: str, nlp: Any) -> Iterator[tuple[int, Any]]:
    """Yield the offset and the spaCy document of each paragraph, or part of one within ``max_length``."""
    seen = _SURROGATE.sub("\ufffd", text)  # which spaCy cannot encode
    edges = paragraph_edges(text)
    starts = [at for start, end in pairwise(edges) for at in range(start, end, nlp.max_length)]
    docs = nlp.pipe(seen[start:end] for start, end in pairwise([*starts, len(text)]))
    return zip(starts, docs, strict=True)
