"""Lexicons of languages: discourse connectives, and words that distinguish clauses from phrases."""

import json
import re
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field, replace
from functools import cache, cached_property, lru_cache
from importlib.resources import files
from itertools import dropwhile
from typing import Any, Literal, NamedTuple, TypeAlias

from advchunk.errors import require
from advchunk.text.sentences import language_code

Strength: TypeAlias = Literal["strong", "weak"]
Kind: TypeAlias = Literal["adverb", "conjunction", "subordinator", "preposition", "relative"]
Mark: TypeAlias = Literal["", "before", "after"]

COMMAS = frozenset(",，")
SPACED_BREAKS = frozenset(";:")  # not inside "12:30" and "https://"
BREAKS = SPACED_BREAKS | frozenset("；：—–")

_NUMBER = r"\d[\d.,:/]*\d"
_UNSPACED = r"[\u3400-\u9fff\u3040-\u30ff]"  # each character of a script without spaces is a token
_WORD = r"[^\W_]+(?:['’‐-][^\W_]+)*"  # noqa: RUF001
_ELIDED = r"[^\W_]+['’](?=[^\W_]|\Z)"
_PATTERNS = {
    elision: re.compile("|".join([_NUMBER, _UNSPACED, *([_ELIDED] if elision else []), _WORD, r"\S"]))
    for elision in (False, True)
}
_HEAD = 160  # characters of a unit within which its opening connective must start


class Token(NamedTuple):
    """A word in lower case, a number or a punctuation mark, and its span."""

    text: str
    start: int
    end: int


@dataclass(frozen=True, slots=True)
class Connective:
    """A word or phrase that relates the text after it to other text."""

    words: str  # in lower case
    strength: Strength  # "strong" opens a segment; "weak" does not
    # An "adverb" is at the start of a sentence or after a semicolon, colon or dash; a "conjunction" before a clause
    # with its own subject; a "subordinator" before any clause; a "preposition" before a phrase that is a unit even
    # though it has no verb; a "relative" after a comma.
    kind: Kind = "adverb"
    comma: Mark = ""  # "before" or "after" to require a comma there; the start of a sentence counts as one before
    not_before: Sequence[str] = ()  # words after it that rule it out, such as "to" after "in contrast"
    not_after: Sequence[str] = ()  # words before it that rule it out


@dataclass(frozen=True)
class Lexicon:
    """The connectives of a language, and words that mark clauses; without ``verbs``, any two words are a clause."""

    connectives: Mapping[str, Connective] = field(default_factory=dict)
    complementizers: frozenset[str] = frozenset()  # words that open the clause of a verb of attribution: "that"
    attribution: frozenset[str] = frozenset()  # forms of verbs of saying and thinking
    addressing: frozenset[str] = frozenset()  # those of them that take an addressee: "told"
    subjects: frozenset[str] = frozenset()  # words that can be the subject of a clause by themselves: "nobody"
    determiners: frozenset[str] = frozenset()  # words that open a noun phrase: "the"
    pronouns: frozenset[str] = frozenset()  # the subjects that are always subjects, and followed by a verb: "he"
    verbs: frozenset[str] = frozenset()  # finite forms that are rarely anything else
    stems: frozenset[str] = frozenset()  # verbs whose forms in -s are finite, and whose stem is finite after a plural
    not_verbs: frozenset[str] = frozenset()  # exceptions to the endings in ``past``
    prepositions: frozenset[str] = frozenset()  # words that no finite verb directly follows: "to", "of"
    past: tuple[str, ...] = ()  # endings of finite verbs
    participle: tuple[str, ...] = ()  # endings of participles that open a clause
    not_participles: frozenset[str] = frozenset()  # exceptions to these
    elision: bool = False  # whether an apostrophe separates words: "qu'il"

    def tokens(self, text: str) -> list[Token]:
        """Split a text into words, numbers and punctuation marks.

        >>> [token.text for token in Lexicon().tokens("Don’t pay 1,000 a.m.")]
        ["don't", 'pay', '1,000', 'a', '.', 'm', '.']
        """
        matches = _PATTERNS[self.elision].finditer(text)
        return [Token(match[0].lower().replace("’", "'"), *match.span()) for match in matches]

    def at(self, tokens: Sequence[Token], i: int) -> tuple[Connective, int] | None:
        """Return the longest connective at token ``i`` in a valid position, and the index after it; else None."""
        for words, connective in self._phrases.get(tokens[i].text, ()):
            end = i + len(words)
            if tuple(token.text for token in tokens[i:end]) == words and _is_valid(connective, tokens, i, end):
                return connective, end
        return None

    def opening(self, text: str) -> Connective | None:
        """Return the connective that opens a unit; a strong one may follow a conjunction."""
        tokens = list(dropwhile(lambda token: not token.text[0].isalnum(), self.tokens(text[:_HEAD])))
        if not (match := self.at(tokens, 0) if tokens else None):
            return None
        connective, end = match
        if connective.kind == "conjunction" and connective.strength == "weak":
            rest = tokens[end:]
            rest = rest[1:] if rest and rest[0].text in COMMAS else rest
            second = self.at(rest, 0) if rest else None
            if second and second[0].strength == "strong" and second[0].kind == "adverb":
                return second[0]
        return connective

    def finite(self, words: Sequence[str], i: int) -> bool:
        """Return True if word ``i`` is probably a finite verb."""
        word, before = words[i], words[i - 1] if i else ""
        if before in self.determiners or before in self.prepositions:
            return False
        if word in self.verbs:
            return True
        if before in self.pronouns:
            return word.isalpha() and word not in self.not_verbs and not word.endswith("ly")
        if word in self.not_verbs:
            return False
        if word in self.stems:
            return before in self.subjects or before.endswith("s")
        third = word.endswith("s") and (
            before in self.subjects
            or word[:-1] in self.stems
            or word.removesuffix("es") in self.stems
            or (word.endswith("ies") and f"{word[:-3]}y" in self.stems)
        )
        return third or (len(word) > 4 and word.endswith(self.past))

    def is_participle(self, words: Sequence[str], i: int) -> bool:
        """Return True if word ``i`` exists and is probably a participle."""
        word = words[i] if i < len(words) else ""
        return len(word) > 4 and word.endswith(self.participle) and word not in self.not_participles

    @cached_property
    def _phrases(self) -> Mapping[str, list[tuple[tuple[str, ...], Connective]]]:
        """Connectives and their words, by the first word, longest first."""
        phrases: dict[str, list[tuple[tuple[str, ...], Connective]]] = {}
        for words, connective in self.connectives.items():
            phrase = tuple(token.text for token in self.tokens(words))
            phrases.setdefault(phrase[0], []).append((phrase, connective))
        return {first: sorted(group, key=lambda pair: -len(pair[0])) for first, group in phrases.items()}


def _is_valid(connective: Connective, tokens: Sequence[Token], start: int, end: int) -> bool:
    before, after = tokens[start - 1].text if start else "", tokens[end].text if end < len(tokens) else ""
    if before in connective.not_after or after in connective.not_before:
        return False
    if connective.comma == "after":
        return after in COMMAS
    return connective.comma != "before" or not before or not before[0].isalnum()


@cache
def load_lexicon(language: str = "en") -> Lexicon:
    """Load the lexicon of a language; an empty one for a language without a lexicon.

    Strong connectives turn the argument: contrast, concession, result, conclusion, a change of subject (comparison and
    contingency among the classes of Prasad et al. 2008). Weak ones continue it: addition, example, restatement, time.
    """
    path = files("advchunk.chunkers.experimental.edus").joinpath("lexicons", f"{language_code(language)}.json")
    if not path.is_file():
        return Lexicon()
    data = json.loads(path.read_text(encoding="utf-8"))
    connectives, elision = data.pop("connectives"), data.pop("elision", False)
    endings = {"past", "participle"}
    lists: dict[str, Any] = {name: (tuple if name in endings else frozenset)(own) for name, own in data.items()}
    return Lexicon({words: Connective(words, **own) for words, own in connectives.items()}, elision=elision, **lists)


def get_lexicon(language: str = "en", connectives: Mapping[str, Any] | None = None) -> Lexicon:
    """Return a lexicon changed by ``connectives``: "strong", "weak", or "none" to remove; new ones are adverbs."""
    for words, strength in (connectives or {}).items():
        require(words.strip()[:1].isalnum(), "a connective must begin with a letter", words)
        rule = f"connective {words!r} must be 'strong', 'weak' or 'none'"
        require(strength in ("strong", "weak", "none"), rule, strength)
    return _changed_lexicon(language, tuple((connectives or {}).items()))


@lru_cache(maxsize=64)  # building one takes longer than chunking most documents
def _changed_lexicon(language: str, strengths: tuple[tuple[str, Any], ...]) -> Lexicon:
    lexicon = load_lexicon(language)
    connectives = dict(lexicon.connectives)
    for key, strength in strengths:
        words = key.lower().replace("’", "'").strip()
        old = connectives.pop(words, Connective(words, "weak"))
        if strength != "none":
            connectives[words] = replace(old, strength=strength)
    return replace(lexicon, connectives=connectives) if strengths else lexicon
