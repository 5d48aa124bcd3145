"""Lexicons of languages: discourse connectives, and words that distinguish clauses from phrases."""

import json
import re
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field, fields, replace
from functools import cache, cached_property, lru_cache
from importlib.resources import files
from itertools import dropwhile
from typing import Any, Literal, NamedTuple, TypeAlias, get_args

from advchunk.errors import ConfigurationError, did_you_mean, require
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


@dataclass(frozen=True, slots=True, kw_only=True)
class Connective:
    """A word or phrase that relates the text after it to other text.

    Parameters
    ----------
    words : in lower case.
    strength : "strong" opens a segment; "weak" does not.
    kind : position. An "adverb" is at the start of a sentence or after a semicolon, colon or dash; a "conjunction"
        before a clause with its own subject; a "subordinator" before any clause; a "preposition" before a phrase that is a
        unit even though it has no verb; a "relative" after a comma.
    comma : "before" or "after" to require a comma there; the start of a sentence counts as one before.
    not_before, not_after : neighboring words that rule it out, such as "to" after "in contrast".
    """

    words: str
    strength: Strength
    kind: Kind = "adverb"
    comma: Mark = ""
    not_before: Sequence[str] = ()
    not_after: Sequence[str] = ()

    def __post_init__(self) -> None:
        for name, options in (("strength", Strength), ("kind", Kind), ("comma", Mark)):
            value = getattr(self, name)
            rule = f"{name} of connective {self.words!r} must be one of {', '.join(map(repr, get_args(options)))}"
            require(value in get_args(options), rule, value)
        for words in (self.not_before, self.not_after):
            rule = f"not_before and not_after of connective {self.words!r} must be lists of words"
            require(_are_words(words), rule, words)


@dataclass(frozen=True)
class Lexicon:
    """The connectives of a language, and words that distinguish clauses from phrases.

    Without ``verbs``, any two words count as a clause.

    Parameters
    ----------
    complementizers : words that open the clause of a verb of attribution: "that".
    attribution, addressing : forms of verbs of saying and thinking, and those that take an addressee: "told".
    subjects : words that can be the subject of a clause by themselves: "nobody".
    pronouns : the ``subjects`` that are always subjects, and followed by a verb: "he".
    determiners : words that open a noun phrase: "the".
    verbs : finite forms that are rarely anything else.
    stems : verbs whose forms in -s are finite, and whose stem is finite after a plural.
    past, participle : endings of finite verbs, and of participles that open a clause.
    not_verbs, not_participles : exceptions to these endings.
    prepositions : words that no finite verb directly follows: "to", "of".
    elision : whether an apostrophe separates words: "qu'il".
    """

    connectives: Mapping[str, Connective] = field(default_factory=dict)
    complementizers: frozenset[str] = frozenset()
    attribution: frozenset[str] = frozenset()
    addressing: frozenset[str] = frozenset()
    subjects: frozenset[str] = frozenset()
    determiners: frozenset[str] = frozenset()
    pronouns: frozenset[str] = frozenset()
    verbs: frozenset[str] = frozenset()
    stems: frozenset[str] = frozenset()
    not_verbs: frozenset[str] = frozenset()
    prepositions: frozenset[str] = frozenset()
    past: tuple[str, ...] = ()
    participle: tuple[str, ...] = ()
    not_participles: frozenset[str] = frozenset()
    elision: bool = False

    def tokens(self, text: str) -> list[Token]:
        """Split a text into words, numbers and punctuation marks.

        >>> [token.text for token in Lexicon().tokens("Don’t pay 1,000 a.m.")]
        ["don't", 'pay', '1,000', 'a', '.', 'm', '.']
        """
        matches = _PATTERNS[self.elision].finditer(text)
        return [Token(match[0].lower().replace("’", "'"), *match.span()) for match in matches]

    def at(self, tokens: Sequence[Token], i: int) -> tuple[Connective, int] | None:
        """Return the longest connective at token ``i`` in a valid position, and the index after its last token; else None."""
        for words, connective in self._phrases.get(tokens[i].text, ()):
            end = i + len(words)
            if tuple(token.text for token in tokens[i:end]) == words and _is_valid(connective, tokens, i, end):
                return connective, end
        return None

    def opening(self, text: str) -> Connective | None:
        """Return the connective that opens a unit; a strong one may follow a conjunction.

        >>> load_lexicon("en").opening("But, nevertheless, he came.").words
        'nevertheless'
        """
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
        """Return True if word ``i`` is probably a finite verb.

        >>> english = load_lexicon("en")
        >>> [english.finite(["the", "used", "boats", "leave"], i) for i in range(4)]
        [False, False, False, True]
        """
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

    >>> load_lexicon("en-GB").connectives["therefore"].strength, len(load_lexicon("xx").connectives)
    ('strong', 0)
    """
    path = files("advchunk.chunkers.experimental.edus").joinpath("lexicons", f"{language_code(language)}.json")
    return parse_lexicon(json.loads(path.read_text(encoding="utf-8"))) if path.is_file() else Lexicon()


def parse_lexicon(data: Mapping[str, Any]) -> Lexicon:
    """Build a lexicon from the data of a lexicon file, fields of `Lexicon`; raise `ConfigurationError` for other data.

    >>> parse_lexicon({"connectives": {"but": {"strength": "strong", "kind": "conjunction"}}}).opening("But he came.").kind
    'conjunction'
    """
    names = [f.name for f in fields(Lexicon)]
    for name in data:
        rule = f"a lexicon has no {name!r}{did_you_mean(str(name), names)}; it has {', '.join(names)}"
        require(name in names, rule, name)
    values: dict[str, Any] = {"elision": bool(data.get("elision"))}
    for name in data.keys() - {"connectives", "elision"}:
        require(_are_words(data[name]), f"{name} of a lexicon must be a list of words", data[name])
        values[name] = (tuple if name in {"past", "participle"} else frozenset)(data[name])
    return update_connectives(Lexicon(**values), data.get("connectives", {}))


def _are_words(value: object) -> bool:
    return isinstance(value, list | tuple) and all(isinstance(word, str) for word in value)


def update_connectives(lexicon: Lexicon, changes: Mapping[str, Any]) -> Lexicon:
    """Return a lexicon with connectives added, changed or removed.

    Changes are, by words, a strength, "none" to remove the connective, or a mapping of fields of `Connective`. Other
    fields keep their values; a new connective is an adverb by default.

    >>> update_connectives(load_lexicon("en"), {"however": "weak", "by the by": "strong"}).connectives["however"].strength
    'weak'
    """
    require(isinstance(changes, Mapping), "connectives must be a mapping", changes)
    connectives = dict(lexicon.connectives)
    names = [f.name for f in fields(Connective)]
    for key, value in changes.items():
        words = str(key).lower().replace("’", "'").strip()
        require(words[:1].isalnum(), "a connective must begin with a letter", key)
        if value == "none":
            connectives.pop(words, None)
            continue
        new = {"strength": value} if isinstance(value, str) else value
        rule = f"connective {key!r} must be 'strong', 'weak', 'none' or a mapping of {', '.join(names[1:])}"
        valid = isinstance(new, Mapping) and set(new) <= set(names[1:])
        require(valid and (not isinstance(value, str) or value in get_args(Strength)), rule, value)
        old = connectives.get(words)
        defaults = {name: getattr(old, name) for name in names} if old else {"strength": "weak"}
        connectives[words] = Connective(**{**defaults, **new, "words": words})
    return replace(lexicon, connectives=connectives)


def get_lexicon(
    language: str = "en", connectives: Mapping[str, Any] | None = None, lexicon: Mapping[str, Any] | None = None
) -> Lexicon:
    """Return the lexicon of a language, or that of some data (`parse_lexicon`), with changes (`update_connectives`).

    >>> get_lexicon("en", {"by the by": "strong"}).opening("By the by, he came.").strength
    'strong'
    """
    if connectives is None and lexicon is None:
        return load_lexicon(language)
    try:
        return _build_lexicon(language, json.dumps(connectives or {}), json.dumps(lexicon))
    except TypeError as error:
        msg = f"connectives and lexicon must be JSON-able: {error}"
        raise ConfigurationError(msg) from None


@lru_cache(maxsize=64)  # building one takes longer than chunking most documents
def _build_lexicon(language: str, connectives: str, lexicon: str) -> Lexicon:
    data = json.loads(lexicon)
    base = load_lexicon(language) if data is None else parse_lexicon(data)
    return update_connectives(base, json.loads(connectives))
