"""Compare a rewritten text with its source, without a model: word by word."""

import re
import tomllib
from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass
from difflib import SequenceMatcher
from functools import cache, lru_cache
from importlib.resources import files
from itertools import pairwise
from typing import Final, NamedTuple

from advchunk.text.detection import common_words
from advchunk.text.scripts import UNSPACED
from advchunk.text.sentences import language_code, sentences
from advchunk.text.terms import make_stemmer, stop_words

# Numbers, signs, runs of kana, single characters of other scripts written without spaces, words.
_SIGNS = "<>≤≥=≠±%‰°$€£¥₹₽+×÷²³?？؟"
_TOKEN = rf"(?:(?<!\w)[-−])?\d+(?:[.,:]\d+)*|[{_SIGNS}]|[\u3041-\u309f]+|[{UNSPACED}]|(?:(?![{UNSPACED}])[^\W\d_])+"
_CONTRACTION = re.compile(r"(?<=can)(?:not|['’]t)\b|(?<!\bca)n['’]t\b", re.IGNORECASE)  # of English
_SHORT_IS = re.compile(r"\b(it|he|she|who|that|what|there|here)['’]s\b", re.IGNORECASE)
_SIGN = re.compile(rf"[-−\d{_SIGNS}]")
_UNSPACED = re.compile(f"[{UNSPACED}]")
_FUNCTION_CHARACTERS: Final = frozenset(
    "的了是在和與与及其等为為以于於被把對对从從到由這这那之者所而且但或也都就他她它们們个個有中"
)
_KANA_NEGATION = re.compile("ない|なか|なく|ませ|ずに|ぬ")
_MAX_QUOTED: Final = 5  # tokens in a message
_NEAR: Final = 8  # tokens between a fact and the word that gives way to it
_LONGEST_PHRASE: Final = 8  # tokens of a phrase that moves
_SHORT: Final = 3  # letters of a word that may be a function word, in a language without a list


class Word(NamedTuple):
    """A word, number or sign: its stem, as it is compared with the source, and as it is written."""

    form: str
    exact: str
    written: str


@dataclass(frozen=True, slots=True, kw_only=True)
class Wordlist:
    """The words of a language that may change, those that add nothing, and those that decide what a text says (wording.toml)."""

    pattern: re.Pattern[str]
    stem: Callable[[str], str]
    stop: frozenset[str]
    decisive: frozenset[str]
    free: frozenset[str]
    referring: frozenset[str]
    pointing: frozenset[str]
    linking: frozenset[str]
    openers: frozenset[str]
    verbs: frozenset[str]
    passive: frozenset[str]
    agent: frozenset[str]
    same: dict[str, str]
    is_english: bool

    def tokens(self, text: str) -> list[Word]:
        """Return the tokens of a text."""
        if self.is_english:
            text = _SHORT_IS.sub(r"\1 is", _CONTRACTION.sub(" not", text))
        written = self.pattern.findall(text)
        lowered = [word.lower().replace("−", "-") for word in written]
        return [
            Word(self.stem(word), self.same.get(word, word), own) for word, own in zip(lowered, written, strict=True)
        ]

    def is_decisive(self, token: Word) -> bool:
        """Return True for a number, a sign, or a word such as "not" or "only"."""
        word = token.written
        return bool(_SIGN.match(word) or word.lower() in self.decisive or _KANA_NEGATION.search(word))

    def is_function_word(self, token: Word) -> bool:
        """Return True for a word that adds nothing: in a language without stop words, for any without a capital."""
        word = token.written
        if self.is_decisive(token) or (word.isupper() and len(word) > 1):
            return False
        if _UNSPACED.match(word):
            return word in _FUNCTION_CHARACTERS or not ("\u30a0" <= word[0] <= "\u9fff")
        return len(word) == 1 or (word.lower() in self.stop if self.stop else word.islower())

    def has_content(self, token: Word) -> bool:
        """Return True for a number, a name, or a word that is neither common nor decisive."""
        word = token.written
        if _UNSPACED.match(word):
            return not (word in _FUNCTION_CHARACTERS or word in self.decisive or "\u3041" <= word[0] <= "\u309f")
        is_plain = word.lower() not in self.stop | self.decisive and (bool(self.stop) or len(word) > _SHORT)
        return word[0].isdigit() or (word[0].isalpha() and (is_plain or (len(word) > 1 and word.isupper())))


@lru_cache(maxsize=32)
def wordlist(language: str) -> Wordlist:
    """Return the word list of a language; without one, nothing may change but what facts add."""
    code = language_code(language)
    own = _lists().get(code, {})
    words = {
        name: frozenset(own.get(name, "").split())
        for name in ("free", "referring", "pointing", "linking", "openers", "verbs", "decisive")
    }
    verbs, _, agents = own.get("passive", "").partition(",")
    groups = [group.split() for group in own.get("same", "").split(";")]
    same = {word: group[0] for group in groups for word in group}
    listed = {*own.get("whole", "").split(), *words["referring"], *words["openers"], *same}
    unspaced = sorted((word for word in listed if len(word) > 1 and _UNSPACED.match(word)), key=len, reverse=True)
    return Wordlist(
        pattern=re.compile("|".join([*unspaced, _TOKEN])),
        stem=make_stemmer("snowball", language),
        stop=stop_words("snowball", language) | common_words(code),
        passive=frozenset(same.get(verb, verb) for verb in verbs.split()),
        agent=frozenset(agents.split()),
        same=same,
        is_english=code == "en",
        **words,
    )


@cache
def _lists() -> dict[str, dict[str, str]]:
    return tomllib.loads(files("advchunk.enrich").joinpath("wording.toml").read_text(encoding="utf-8"))


def invented(text: str, sources: Iterable[str], language: str) -> list[str]:
    """Return the words, numbers and signs of a text that none of its sources has, function words aside.

    A decisive word that a source has between two words of the text, or right before the first, must be in the text, too.

    >>> invented("Ada naps, Napoleon does not", ["Ada is a cat", "She naps."], "en")
    ['Napoleon', 'not']
    >>> invented("Ada naps", ["Ada never naps."], "en")
    ['never']
    """
    words, sources = wordlist(language), list(sources)
    tokens, read = words.tokens(text), list(map(words.tokens, sources))
    forms = {token.form for source in read for token in source}
    own = {token.form for token in tokens}
    strange = [token.written for token in tokens if token.form not in forms and not words.is_function_word(token)]
    return strange or [token.written for source in read[:1] for token in _left_out(source, own, words)]


def _left_out(source: Sequence[Word], own: set[str], words: Wordlist) -> list[Word]:
    """Return the decisive words of a source, numbers aside, among the words that a text takes from it."""
    places = [i for i, token in enumerate(source) if token.form in own and words.has_content(token)]
    if not places:
        return []
    among = source[max(places[0] - 1, 0) : places[-1]]
    return [
        token
        for token in among
        if token.form not in own and words.is_decisive(token) and not _SIGN.match(token.written)
    ]


def unfaithful_edit(before: str, after: str, additions: Sequence[str], language: str) -> str:
    """Return the first edit from one text to another that may change what it says; an empty string if there is none.

    Each word must stay where it is, with these exceptions, by the lists of wording.toml: words of one meaning take each other's place;
    articles come and go; words of the ``additions`` come in, in their order, with words that link them; a pronoun, an
    abbreviation of them, and "this" with the word after it give way to them; a phrase of time or place moves to the other end of
    its sentence; and a sentence that says by whom something is done is active or passive. A language without a list has only
    the additions.

    >>> unfaithful_edit("She may nap.", "Ada, a cat, may nap.", ["Ada, a cat"], "en")
    ''
    >>> unfaithful_edit("She may nap.", "Ada naps.", ["Ada"], "en")
    "adds 'naps'"
    """
    words = wordlist(language)
    pairs = list(_sentence_pairs(before, after, language, words))
    old = [token for sentence, _ in pairs for token in sentence]
    new = [token for own, other in pairs for token in _in_order_of(own, other, words)]
    added = [[token for token in words.tokens(text) if token.exact not in words.free] for text in additions]
    matcher = SequenceMatcher(None, [token.exact for token in old], [token.exact for token in new], autojunk=False)
    edits = [edit for edit in matcher.get_opcodes() if edit[0] != "equal"]
    facts = list[tuple[int, list[Word]]]()  # where they come in
    for _, _, _, c, d in edits:
        gained = new[c:d]
        content = [token for token in gained if token.exact not in words.linking]
        if content:
            *_, last = gained
            if last.exact in words.linking - words.referring:
                return f"adds {_quoted([last])}"  # such as "was", which may belong to the next word
            if strange := _not_of(gained, content, added, words):
                return f"adds {_quoted(strange)}"
            facts.append((c, content))
        elif any(token.exact not in words.referring for token in gained):
            return f"adds {_quoted(gained)}"
    for _, a, b, c, _ in edits:
        near = [token for at, content in facts if abs(at - c) <= _NEAR for token in content]
        if lost := [token for i, token in enumerate(old[a:b], a) if not _gives_way(old, i, a, near, words)]:
            return f"removes {_quoted(lost)}"
    return ""


def _sentence_pairs(before: str, after: str, language: str, words: Wordlist) -> Iterable[tuple[list[Word], list[Word]]]:
    """Return the tokens of each sentence of two texts, without free words; of the whole texts if they have another number."""

    def read(text: str) -> list[Word]:
        return [token for token in words.tokens(text) if token.exact not in words.free]

    parts = [
        [text[start:end] for start, end in pairwise(sentences(text, language).edges.tolist())]
        for text in (before, after)
    ]
    old, new = parts if len(parts[0]) == len(parts[1]) else ([before], [after])
    return [(read(own), read(other)) for own, other in zip(old, new, strict=True)]


def _in_order_of(old: list[Word], new: list[Word], words: Wordlist) -> list[Word]:
    """Return the words of a sentence in the order of another that it repeats with a phrase moved, or in the other voice."""
    own, other = [token.exact for token in old], [token.exact for token in new]
    if own == other:
        return new
    if _is_passive_of(old, new, words) or _is_passive_of(new, old, words):
        return old
    for length in range(min(_LONGEST_PHRASE, len(own), len(other)), 0, -1):
        for phrase, rest, moved, is_first in (
            (old[:length], other[:-length], other[-length:], True),
            (old[-length:], other[length:], other[:length], False),
        ):
            exact = [token.exact for token in phrase]
            if exact == moved and rest and _is_movable(phrase, words):
                size = len(rest)
                return [*new[size:], *new[:size]] if is_first else [*new[length:], *new[:length]]
        if words.verbs and (
            _is_inverted(old, own, other, length, words) or _is_inverted(new, other, own, length, words)
        ):
            return old
    return new


def _is_movable(phrase: Sequence[Word], words: Wordlist) -> bool:
    first, *others = phrase
    is_plain = not any(words.is_decisive(token) and not token.written[0].isdigit() for token in others)
    return first.written.lower() in words.openers and is_plain


def _is_inverted(old: Sequence[Word], own: list[str], other: list[str], length: int, words: Wordlist) -> bool:
    """Return True if a sentence begins with a phrase and a verb that another has, in this order, after its subject."""
    rest = own[length:]
    if not rest or rest[0] not in words.verbs or not _is_movable(old[:length], words):
        return False
    verb, *rest = rest
    return any(
        other[:at] == rest[:at] and other[at:] == [verb, *own[:length], *rest[at:]] for at in range(1, len(rest) + 1)
    )


def _is_passive_of(active: Sequence[Word], passive: Sequence[Word], words: Wordlist) -> bool:
    """Return True if a sentence of who, a verb, whom, and a rest has the other voice: whom, the verb, by whom, the rest."""
    marks = [i for i, token in enumerate(passive) if token.written.lower() in words.agent]
    if not words.agent or len(marks) != 1:
        return False
    by = marks[0]
    subject = [token for token in passive[:by] if token.exact not in words.passive]
    if len(subject) not in (by - 1, by - 2) or not subject:
        return False
    *whom, verb = (token.form for token in subject)
    doer, forms = [token.form for token in passive[by + 1 :]], [token.form for token in active]
    return any(
        forms == [*doer[:k], verb, *whom, *doer[k:]] and all(map(words.has_content, [*passive[by + 1 : by + 1 + k]]))
        for k in range(1, len(doer) + 1)
    )


def _not_of(
    gained: Sequence[Word], content: Sequence[Word], additions: Sequence[Sequence[Word]], words: Wordlist
) -> list[Word]:
    """Return the words of an insertion that are not part of an addition, where a part has a word of content."""
    runs = [[token.form for token in addition] for addition in additions]
    at, tokens = 0, list(content) if len(content) < len(gained) else list(gained)
    while at < len(tokens):
        for length in range(len(tokens) - at, 0, -1):
            part = tokens[at : at + length]
            forms = [token.form for token in part]
            swapped = [forms, forms[::-1]] if length == 2 else [forms]
            if any(map(words.has_content, part)) and any(_contains(run, own) for run in runs for own in swapped):
                break
        else:
            return tokens[at : at + 1]
        at += length
    return []


def _contains(run: Sequence[str], part: Sequence[str]) -> bool:
    return any(run[at : at + len(part)] == part for at in range(len(run) - len(part) + 1))


def _gives_way(old: Sequence[Word], at: int, start: int, facts: Sequence[Word], words: Wordlist) -> bool:
    """Return True if the word at a place may be left out, given the words of the facts that come in nearby."""
    token = old[at]
    if not facts:
        return False
    if token.exact in words.referring:
        return True
    if token.written.isupper() and len(token.written) > 1:
        initials = "".join(fact.written[0].upper() for fact in facts)
        return token.written in initials
    follows = at > start and old[at - 1].exact in words.pointing
    return follows and token.written.islower() and not words.is_decisive(token)


def _quoted(tokens: Sequence[Word]) -> str:
    return ", ".join(repr(token.written) for token in tokens[:_MAX_QUOTED])
