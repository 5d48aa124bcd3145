"""Discourse connectives, how strongly they part a text, and what else tells clauses from phrases in a language."""

from __future__ import annotations

import json
import re
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field, fields, replace
from functools import cache, cached_property, lru_cache
from importlib.resources import files
from typing import Any, Literal, NamedTuple, TypeAlias, get_args

from advchunk.errors import ConfigurationError, did_you_mean, require
from advchunk.text.sentences import language_code

Strength: TypeAlias = Literal["strong", "weak"]
Kind: TypeAlias = Literal["adverb", "conjunction", "subordinator", "preposition", "relative"]
Mark: TypeAlias = Literal["", "before", "after"]

COMMAS = frozenset(",，")
SPACED_BREAKS = frozenset(";:")  # within "12:30" and "https://" they are none
BREAKS = SPACED_BREAKS | frozenset("；：—–")

_NUMBER = r"\d[\d.,:/]*\d"
_UNSPACED = r"[\u3400-\u9fff\u3040-\u30ff]"  # each character of a script without spaces is a token
_WORD = r"[^\W_]+(?:['’‐-][^\W_]+)*"  # noqa: RUF001
_ELIDED = r"[^\W_]+['’](?=[^\W_]|\Z)"
_PATTERNS = {
    elision: re.compile("|".join([_NUMBER, _UNSPACED, *([_ELIDED] if elision else []), _WORD, r"\S"]))
    for elision in (False, True)
}
_LOOK = 160  # characters of a unit in which a connective that opens it must stand


class Token(NamedTuple):
    """A word in lower case, a number or a mark, and where it stands."""

    text: str
    start: int
    end: int


@dataclass(frozen=True, slots=True, kw_only=True)
class Connective:
    """A word or phrase that says how what follows is related to something else.

    Parameters
    ----------
    words : itself, in lower case.
    strength : "strong" opens a segment; "weak" does not.
    kind : where it may stand. An "adverb" at the start of a sentence or after a semicolon, colon or dash; a "conjunction"
        before any clause that has its own subject; a "subordinator" before any clause; a "preposition" before a phrase
        that counts as a unit though it has no verb; a "relative" after a comma.
    comma : "before" or "after" if it counts only with a comma there; the start of a sentence does for one before.
    not_before, not_after : words beside which it is something else, as "in contrast" is before "to".
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
            require(_are_words(words), f"connective {self.words!r} must not stand beside a list of words", words)


@dataclass(frozen=True)
class Lexicon:
    """The connectives of a language, and what tells a clause from a phrase; JSON-able but for their classes.

    Parameters
    ----------
    connectives : by their words.
    complementisers : what opens the clause that a verb of attribution has: "that".
    attribution : forms of verbs of saying and thinking.
    addressing : of these, the ones that say to whom: "told".
    subjects : words that may be the subject of a clause by themselves: "nobody".
    pronouns : of these, the ones that are nothing else: a verb follows "he".
    determiners : words that open a noun phrase: "the".
    verbs : finite forms that are hardly ever anything else.
    stems : verbs whose forms in -s are finite, and the stem itself after a plural.
    past, participle : endings of finite verbs, and of participles that open a clause.
    not_verbs, not_participles : words that only end like one.
    prepositions : words that no finite verb comes right after: "to", "of".
    elision : whether an apostrophe parts words: "qu'il".

    Where a language has no ``verbs``, any two words count for a clause.
    """

    connectives: Mapping[str, Connective] = field(default_factory=dict)
    complementisers: frozenset[str] = frozenset()
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
        """Return words, numbers and marks.

        >>> [token.text for token in Lexicon().tokens("Don’t pay 1,000 a.m.")]
        ["don't", 'pay', '1,000', 'a', '.', 'm', '.']
        """
        found = _PATTERNS[self.elision].finditer(text)
        return [Token(match[0].lower().replace("’", "'"), match.start(), match.end()) for match in found]

    def at(self, tokens: Sequence[Token], i: int) -> tuple[Connective, int] | None:
        """Return the longest connective that stands at token ``i`` in its right, and where it ends; else None."""
        for words, connective in self._phrases.get(tokens[i].text, ()):
            end = i + len(words)
            if tuple(token.text for token in tokens[i:end]) == words and _in_its_right(connective, tokens, i, end):
                return connective, end
        return None

    def opening(self, text: str) -> Connective | None:
        """Return the connective that a unit opens with; a strong one may stand after a conjunction.

        >>> load_lexicon("en").opening("But, nevertheless, he came.").words
        'nevertheless'
        """
        tokens = self.tokens(text[:_LOOK])
        first = next((i for i, token in enumerate(tokens) if token.text[0].isalnum()), None)
        found = None if first is None else self.at(tokens[first:], 0)
        if first is None or found is None:
            return None
        connective, end = found
        if connective.kind == "conjunction" and connective.strength == "weak":
            rest = tokens[first + end :]
            rest = rest[1:] if rest and rest[0].text in COMMAS else rest
            second = self.at(rest, 0) if rest else None
            if second and second[0].strength == "strong" and second[0].kind == "adverb":
                return second[0]
        return connective

    def finite(self, words: Sequence[str], i: int) -> bool:
        """Tell whether a word is likely to be a finite verb.

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
        """Tell whether there is a word at ``i`` that is likely to be a participle."""
        word = words[i] if i < len(words) else ""
        return len(word) > 4 and word.endswith(self.participle) and word not in self.not_participles

    @cached_property
    def _phrases(self) -> Mapping[str, list[tuple[tuple[str, ...], Connective]]]:
        """The words of each connective, by the first of them, longest first."""
        found: dict[str, list[tuple[tuple[str, ...], Connective]]] = {}
        for words, connective in self.connectives.items():
            phrase = tuple(token.text for token in self.tokens(words))
            found.setdefault(phrase[0], []).append((phrase, connective))
        return {first: sorted(phrases, key=lambda one: -len(one[0])) for first, phrases in found.items()}


def _in_its_right(connective: Connective, tokens: Sequence[Token], start: int, end: int) -> bool:
    before = tokens[start - 1].text if start else ""
    after = tokens[end].text if end < len(tokens) else ""
    if before in connective.not_after or after in connective.not_before:
        return False
    if connective.comma == "after":
        return after in COMMAS
    return connective.comma != "before" or not before or not before[0].isalnum()


@cache
def load_lexicon(language: str = "en") -> Lexicon:
    """Return what is known of a language; of some, nothing is.

    Strong connectives turn from what was said: contrast, concession, result, conclusion, a change of subject (comparison and
    contingency among the classes of Prasad et al. 2008). Weak ones carry it on: addition, example, restatement, time.

    >>> load_lexicon("en-GB").connectives["therefore"].strength, len(lexicon("xx").connectives)
    ('strong', 0)
    """
    path = files("advchunk.text.edus").joinpath("lexicons", f"{language_code(language)}.json")
    return parse_lexicon(json.loads(path.read_text(encoding="utf-8"))) if path.is_file() else Lexicon()


def parse_lexicon(said: Mapping[str, Any]) -> Lexicon:
    """Build a lexicon from the shape of the files that come with the package: the fields of `Lexicon`, all optional.

    Raises
    ------
    ConfigurationError : a name or a value that is none.

    >>> parse_lexicon({"connectives": {"but": {"strength": "strong", "kind": "conjunction"}}}).opening("But he came.").kind
    'conjunction'
    """
    names = [f.name for f in fields(Lexicon)]
    for name in said:
        require(
            name in names, f"a lexicon has no {name!r}{did_you_mean(str(name), names)}; it has {', '.join(names)}", name
        )
    given: dict[str, Any] = {"elision": bool(said.get("elision"))}
    for name in said.keys() - {"connectives", "elision"}:
        require(_are_words(said[name]), f"{name} of a lexicon must be a list of words", said[name])
        given[name] = (tuple if name in {"past", "participle"} else frozenset)(said[name])
    base = Lexicon(**given)
    return update_connectives(base, said.get("connectives", {}))


def _are_words(value: object) -> bool:
    return isinstance(value, list | tuple) and all(isinstance(word, str) for word in value)


def update_connectives(base: Lexicon, said: Mapping[str, Any]) -> Lexicon:
    """Return a lexicon with connectives added or changed.

    Parameters
    ----------
    said : by words, a strength; or "none", which takes it out; or a mapping of fields of `Connective`. What is not said
        stays as it is; a new one is an adverb.

    >>> update_connectives(load_lexicon("en"), {"however": "weak", "by the by": "strong"}).connectives["however"].strength
    'weak'
    """
    require(isinstance(said, Mapping), "connectives must be a mapping", said)
    known = dict(base.connectives)
    names = [f.name for f in fields(Connective)]
    for key, value in said.items():
        words = str(key).lower().replace("’", "'").strip()
        require(words[:1].isalnum(), "a connective must begin with a letter", key)
        if value == "none":
            known.pop(words, None)
            continue
        given = {"strength": value} if isinstance(value, str) else value
        rule = f"connective {key!r} must be 'strong', 'weak', 'none' or a mapping of {', '.join(names[1:])}"
        known_strength = not isinstance(value, str) or value in get_args(Strength)
        require(known_strength and isinstance(given, Mapping) and set(given) <= set(names[1:]), rule, value)
        before = known.get(words)
        old = {name: getattr(before, name) for name in names} if before else {"strength": "weak"}
        known[words] = Connective(**{**old, **given, "words": words})
    return replace(base, connectives=known)


def get_lexicon(
    language: str = "en", connectives: Mapping[str, Any] | None = None, own: Mapping[str, Any] | None = None
) -> Lexicon:
    """Return the lexicon of a language, with changes.

    Parameters
    ----------
    connectives : by words, "strong", "weak", "none" to take one out, or a mapping of fields of `Connective`.
    own : a whole lexicon instead of the language's, in the shape of the package's files: fields of `Lexicon`.

    >>> get_lexicon("en", {"by the by": "strong"}).opening("By the by, he came.").strength
    'strong'
    """
    if connectives is None and own is None:
        return load_lexicon(language)
    try:
        return _built(language, json.dumps(connectives or {}), json.dumps(own))
    except TypeError as error:
        msg = f"connectives and lexicon must be JSON-able: {error}"
        raise ConfigurationError(msg) from None


@lru_cache(maxsize=64)  # for it takes longer than most documents
def _built(language: str, connectives: str, own: str) -> Lexicon:
    said = json.loads(own)
    base = load_lexicon(language) if said is None else parse_lexicon(said)
    return update_connectives(base, json.loads(connectives))
