"""Extract the entities and relations of a text by rules."""

import re
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass
from functools import cache
from itertools import combinations, groupby
from typing import Any, NamedTuple

from advchunk.chunkers.graphrag.graph import Extraction, Mention, Relation, canonical_name
from advchunk.records import Span
from advchunk.text.terms import stop_words

_MAX_WORDS = 4  # of a noun phrase; the last ones are kept
_MAX_NAME = 8  # words of a name
_LINKS = frozenset({"of", "de", "del", "di", "da", "do", "la", "van", "von", "der", "for"})  # inside a name
_NOT_FIRST = re.compile(r".*(?:ly|ing|ed)")  # of a noun phrase
_NOT_LAST = re.compile(r".*(?:ly|ed)")
_SPACE = re.compile(r"[^\S\n]+|[^\S\n]*\n[^\S\n]*")  # between the words of a phrase
_BETWEEN = re.compile(r"\s+|,\s*|\s*[(\[/]\s*")  # after which a capital begins a name, and no sentence
_FILLERS = frozenset({*("ah", "alright", "hello", "hmm", "mm", "mm-hmm", "mmm", "oh", "okay", "ok", "right", "thank", "thanks"),  # noqa: E501
                      *("uh", "uh-huh", "um", "well", "yeah", "yep", "yes")})  # fmt: skip


class LeafText(NamedTuple):
    """A leaf to extract from: its text, and the spans of its sentences in it."""

    text: str
    sentences: tuple[Span, ...]


@dataclass(frozen=True)
class RuleExtractor:
    """Extracts names and noun phrases by light rules; those of a sentence are related.

    A name is a run of capitalized words, also around "of" and the like; the first word of a sentence alone counts only
    with a second capital or a digit, as in "COVID-19". A noun phrase is a run of two to four other words between stop
    words, without adverbs and participles at its ends. Both are noisy: leave out what is mentioned once. A language
    without a list of stop words, or without spaces, has names only.
    """

    language: str = "en"

    def extract(self, passage: LeafText) -> Extraction:
        """Return the entities of each sentence, related to one another."""
        by_sentence = [(span, list(self._mentions(passage.text, span))) for span in passage.sentences]
        return relate(by_sentence, self.language)

    def _mentions(self, text: str, sentence: Span) -> Iterator[Mention]:
        for run in _runs(text, _words(text, sentence, stop_words("snowball", self.language))):
            for is_name, group in groupby(run, lambda word: word.is_name):
                trim = _trim_name if is_name else _trim_phrase
                if words := trim(list(group)):
                    start, end = words[0].start, words[-1].end
                    yield Mention(" ".join(text[start:end].split()), start, end)


def relate(by_sentence: Iterable[tuple[Span, Sequence[Mention]]], language: str = "en") -> Extraction:
    """Return the entities of sentences, and a relation for each pair of distinct ones in a sentence."""
    mentions, relations = list[Mention](), list[Relation]()
    for span, own in by_sentence:
        mentions += own
        distinct = {canonical_name(mention.name, language): mention.name for mention in reversed(own)}
        relations += [Relation(a, b, *span) for a, b in combinations(sorted(distinct.values()), 2)]
    return Extraction(tuple(mentions), tuple(relations))


class _Word(NamedTuple):
    start: int
    end: int
    text: str
    is_stop: bool
    is_name: bool  # part of a name


def _words(text: str, sentence: Span, left_out: frozenset[str]) -> list[_Word]:
    """Return the words of a sentence; a word that links capitalized ones, such as "of", is part of their name."""
    words, end = list[_Word](), -1
    for match in _word_pattern().finditer(text, *sentence):
        string, start = match.group(), match.start()
        is_acronym = string[0].isupper() and (string[1:].lower() != string[1:] or any(map(str.isdigit, string)))
        lower = string.lower()
        bare = lower.partition("'")[0].partition("’")[0]  # of a contraction, such as "that's"
        is_stop = not is_acronym and (not left_out.isdisjoint((lower, bare)) or lower in _FILLERS)
        # A capital alone is no evidence where a sentence or a clause starts.
        begins = end < 0 or not _BETWEEN.fullmatch(text, end, start)
        is_name = not is_stop and string[0].isupper() and (is_acronym or not begins)
        if is_name and words and not words[-1].is_name and start == end + 1:
            _extend_name(words)
        words.append(_Word(start, match.end(), string, is_stop, is_name))
        end = match.end()
    return words


def _extend_name(words: list[_Word]) -> None:
    """Make the last word, the capitalized start of a sentence or a link of two names, part of the name after it."""
    *_, last = words
    is_link = last.text in _LINKS and len(words) > 1 and words[-2].is_name
    if is_link or (last.text[0].isupper() and not last.is_stop):
        words[-1] = last._replace(is_name=True, is_stop=False)


@cache
def _word_pattern() -> Any:
    import regex

    return regex.compile(r"[\p{L}\p{N}][\p{L}\p{M}\p{N}]*+(?:[-–’'&./][\p{L}\p{N}][\p{L}\p{M}\p{N}]*+)*+")


def _runs(text: str, words: Iterable[_Word]) -> Iterator[list[_Word]]:
    """Yield runs of words with nothing but white space between them, and without stop words."""
    run = list[_Word]()
    for word in words:
        if run and (word.is_stop or not _SPACE.fullmatch(text, run[-1].end, word.start)):
            yield run
            run = []
        if not word.is_stop:
            run.append(word)
    if run:
        yield run


def _trim_name(words: list[_Word]) -> list[_Word]:
    """Return the words of a name; none if it is a single letter, or has too many words to be one."""
    return words if len(words) <= _MAX_NAME and words[-1].end - words[0].start > 1 else []


def _trim_phrase(words: list[_Word]) -> list[_Word]:
    """Return the last words of a noun phrase, without adverbs and participles at its ends; none if fewer than two."""
    start, end = 0, len(words)
    while start < end and (_NOT_FIRST.fullmatch(words[start].text) or words[start].text.isdigit()):
        start += 1
    while start < end and (_NOT_LAST.fullmatch(words[end - 1].text) or len(words[end - 1].text) < 3):
        end -= 1
    return words[max(start, end - _MAX_WORDS) : end] if end - start > 1 else []
