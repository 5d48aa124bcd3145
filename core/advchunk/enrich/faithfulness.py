"""Compare a rewritten text with its source, without a model: word by word."""

import re
import tomllib
from collections.abc import Callable, Iterable, Iterator, Sequence
from dataclasses import dataclass
from difflib import SequenceMatcher
from functools import cache, lru_cache
from importlib.resources import files
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
    "的了是在和與与及其等為为以于於被把對对从從到由這这那之者所而且但或也都就他她它们們个個有中"
)
_VOICES: Final = frozenset("是被把由")  # function characters that decide who does what
_KANA_NEGATION = re.compile("ない|なか|なく|ませ|ずに|ぬ")
_CLAUSE = re.compile(r"[,;:.!?()]+(?=\s|$)|[、，。；：！？\uff08\uff09]")
_SENTENCE_START = re.compile(r"(?:^|[.!?:\n\"“„«»(•*-])\s*$")
_VERB_SECOND: Final = frozenset(("de", "nl", "sv", "da", "no"))  # languages in which a phrase in front moves the verb
_MAX_QUOTED: Final = 5  # tokens in a message
_LONGEST_PHRASE: Final = 8  # tokens of a phrase that moves
_LONGEST_NOUN: Final = 3  # characters of a noun in a script without spaces
_SHORT: Final = 3  # letters of a word that may be a function word, in a language without a list


class Word(NamedTuple):
    """A word, number or sign: its stem, as it is compared with the source, as it is written, and if it is a name."""

    form: str
    exact: str
    written: str
    is_name: bool


@dataclass(frozen=True, slots=True, kw_only=True)
class Wordlist:
    """The words of a language that may change, that add nothing, and that decide what a text says (wording.toml)."""

    code: str
    pattern: re.Pattern[str]
    stem: Callable[[str], str]
    stop: frozenset[str]
    decisive: frozenset[str]
    free: frozenset[str]
    referring: frozenset[str]
    pointing: frozenset[str]
    openers: frozenset[str]
    same: dict[str, str]

    def tokens(self, text: str) -> list[Word]:
        """Return the tokens of a text, without free words."""
        if self.code == "en":
            text = _SHORT_IS.sub(r"\1 is", _CONTRACTION.sub(" not", text))
        words = list[Word]()
        for match in self.pattern.finditer(text):
            written, start, end = match[0], *match.span()
            lowered = written.lower().replace("−", "-")
            inside = not _SENTENCE_START.search(text[max(start - 4, 0) : start]) or text[end + 1 : end + 2].isdigit()
            is_name = written.istitle() and inside and self.code != "de"  # such as the month of May
            words.append(Word(self.stem(lowered), self.same.get(lowered, lowered), written, is_name))
        return [word for word in words if word.exact not in self.free]

    def is_decisive(self, token: Word) -> bool:
        """Return True for a number, a sign, or a word such as "not" or "only"."""
        word = token.written
        listed = word.lower() in self.decisive and not token.is_name
        return bool(_SIGN.match(word) or listed or _KANA_NEGATION.search(word))

    def is_function_word(self, token: Word) -> bool:
        """Return True for a word that adds nothing: in a language without stop words, for any without a capital."""
        word = token.written
        if self.is_decisive(token) or token.is_name or (word.isupper() and len(word) > 1):
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
        is_written_as_name = token.is_name or (len(word) > 1 and word.isupper())
        return word[0].isdigit() or (word[0].isalpha() and (is_plain or is_written_as_name))


@lru_cache(maxsize=32)
def wordlist(language: str) -> Wordlist:
    """Return the word list of a language; without one, nothing may change but what facts add."""
    code = language_code(language)
    own = _lists().get(code, {})
    kinds = ("free", "referring", "pointing", "openers", "decisive")
    words = {name: frozenset(own.get(name, "").split()) for name in kinds}
    groups = [group.split() for group in own.get("same", "").split(";")]
    same = {word: group[0] for group in groups for word in group}
    listed = {*own.get("whole", "").split(), *words["referring"], *words["openers"], *same}
    unspaced = sorted((word for word in listed if len(word) > 1 and _UNSPACED.match(word)), key=len, reverse=True)
    return Wordlist(
        code=code,
        pattern=re.compile("|".join([*unspaced, _TOKEN])),
        stem=make_stemmer("snowball", language),
        stop=stop_words("snowball", language) | common_words(code),
        same=same,
        **words,
    )


@cache
def _lists() -> dict[str, dict[str, str]]:
    return tomllib.loads(files("advchunk.enrich").joinpath("wording.toml").read_text(encoding="utf-8"))


def invented(text: str, sources: Iterable[str], language: str) -> list[str]:
    """Return the words, numbers and signs of a text that none of its sources has, function words aside.

    A decisive word of the first source between two words that the text takes from the same clause, or right before the
    first or after the last, must be in the text, too.

    >>> invented("Ada naps", ["Ada never naps."], "en")
    ['never']
    """
    words, (quote, *others) = wordlist(language), list(sources)
    tokens = words.tokens(text)
    forms = {token.form for source in (quote, *others) for token in words.tokens(source)}
    own = {token.form for token in tokens}
    strange = [token.written for token in tokens if token.form not in forms and not words.is_function_word(token)]
    return strange or [token.written for clause in _CLAUSE.split(quote) for token in _left_out(clause, own, words)]


def _left_out(clause: str, own: set[str], words: Wordlist) -> Iterator[Word]:
    """Yield the decisive words of a clause, numbers aside, of which a text has what they are about and not them."""
    tokens = words.tokens(clause)
    taken = [i for i, token in enumerate(tokens) if token.form in own and words.has_content(token)]
    for i, token in enumerate(tokens):
        is_denied = bool(taken) and (taken[0] < i < taken[-1] or i + 1 == taken[0])
        if is_denied and token.form not in own and words.is_decisive(token) and not _SIGN.match(token.written):
            yield token


def unfaithful_edit(before: str, after: str, additions: Sequence[str], language: str) -> str:
    """Return the first edit from one text to another that may change what it says; "" if there is none.

    Each word must stay where it is, with these exceptions, by the lists of wording.toml. Words of one meaning take each
    other's place, and articles come and go. Words of the ``additions`` come in, with function words between them; a
    number or a decisive word only beside the same word as in the addition. A pronoun, an abbreviation, and "this" with
    the word after it give way to an addition. A phrase of time or place moves to the other end of its sentence, and in
    German and its like the verb with it. A language without a list has only the additions.
    """
    words = wordlist(language)
    facts = list(map(words.tokens, additions))
    for old, new in _sentence_pairs(before, after, language, words):
        if problem := _first_problem(old, new, facts, words):
            orders = [(own, new) for own in _orders(old, words)] + [(old, own) for own in _orders(new, words)]
            if all(_first_problem(*pair, facts, words) for pair in orders):
                return problem
    return ""


def _sentence_pairs(before: str, after: str, language: str, words: Wordlist) -> Iterable[tuple[list[Word], list[Word]]]:
    """Return the tokens of each sentence of two texts; of the whole texts if they have another number."""
    old, new = (sentences(text, language).strings() for text in (before, after))
    if len(old) != len(new):
        old, new = [before], [after]
    return [(words.tokens(own), words.tokens(other)) for own, other in zip(old, new, strict=True)]


def _orders(tokens: list[Word], words: Wordlist) -> Iterator[list[Word]]:
    """Yield a sentence with a phrase of time or place, and where this moves the verb with a word, moved."""
    openers = {at for at, token in enumerate(tokens) if token.written.lower() in words.openers}
    turned = [(tokens, 0)]  # and the length of the phrase in front
    for at in openers:
        for end in range(at + 1, min(at + _LONGEST_PHRASE, len(tokens)) + 1):
            phrase, others = tokens[at:end], [*tokens[:at], *tokens[end:]]
            if any(words.is_decisive(token) and not token.written[0].isdigit() for token in phrase[1:]):
                break
            if at == 0 or end == len(tokens) or not openers - {*range(at, end)}:  # the only one, if it is in the middle
                turned += [([*phrase, *others], len(phrase)), ([*others, *phrase], 0)]
    for order, front in turned:
        yield order
        if words.code in _VERB_SECOND:
            for at in range(front + 1, min(front + _LONGEST_PHRASE, len(order))):
                if not words.is_decisive(order[at]):
                    yield [*order[:front], order[at], *order[front:at], *order[at + 1 :]]


def _first_problem(old: list[Word], new: list[Word], facts: Sequence[Sequence[Word]], words: Wordlist) -> str:
    matcher = SequenceMatcher(None, [token.exact for token in old], [token.exact for token in new], autojunk=False)
    edits = [edit for edit in matcher.get_opcodes() if edit[0] != "equal"]
    forms = {token.form for fact in facts for token in fact if words.has_content(token)}
    gained = [token for _, _, _, c, d in edits for token in new[c:d]]
    has_fact = any(token.form in forms for token in gained)
    for _, _, _, c, d in edits:
        refers = has_fact and all(token.exact in words.referring for token in new[c:d])
        if not refers and (strange := _not_of(new, c, d, facts, words)):
            return f"adds {_quoted(strange)}"
    for _, a, b, _, _ in edits:
        if lost := [token for i, token in enumerate(old[a:b], a) if not _gives_way(old, i, a, gained, words)]:
            return f"removes {_quoted(lost)}"
    return ""


def _not_of(
    new: Sequence[Word], start: int, end: int, facts: Sequence[Sequence[Word]], words: Wordlist
) -> Sequence[Word]:
    """Return the words of an insertion that no fact has, or has beside others; function words come with content."""
    run, forms = new[start:end], {token.form for fact in facts for token in fact}
    has_content = any(words.has_content(token) and token.form in forms for token in run)

    def is_strange(at: int) -> bool:
        token = new[at]
        if words.is_decisive(token):
            return not any(_is_beside(new, at, fact) for fact in facts)
        if words.is_function_word(token):
            return not has_content
        return token.form not in forms

    if strange := [new[at] for at in range(start, end) if is_strange(at)]:
        return strange
    last = run[-1:]  # such as "was", which may belong to the next word
    trails = last and not words.has_content(last[0]) and not words.is_decisive(last[0])
    allowed = words.referring if not last or not _UNSPACED.match(last[0].written) else _FUNCTION_CHARACTERS - _VOICES
    return last if trails and last[0].exact not in allowed and last[0].written[0] != "の" else ()


def _is_beside(new: Sequence[Word], at: int, fact: Sequence[Word]) -> bool:
    """Return True if a fact has a word alone, or before or after it the same word as the text."""
    around = {token.form for token in (*new[max(at - 1, 0) : at], *new[at + 1 : at + 2])}
    for i, token in enumerate(fact):
        if token.form == new[at].form:
            beside = {other.form for other in (*fact[max(i - 1, 0) : i], *fact[i + 1 : i + 2])}
            needed = {fact[i + 1].form} if i + 1 < len(fact) and not _SIGN.match(token.written) else beside
            if not beside or needed & around:
                return True
    return False


def _gives_way(old: Sequence[Word], at: int, start: int, facts: Sequence[Word], words: Wordlist) -> bool:
    """Return True if the word at a place may be left out, given the words of the facts that come in."""
    token = old[at]
    if not facts:
        return False
    if token.exact in words.referring:
        return True
    if token.written.isupper() and len(token.written) > 1:
        return token.written in "".join(fact.written[0].upper() for fact in facts)  # their initials
    reach = _LONGEST_NOUN if _UNSPACED.match(token.written) else 1
    follows = any(word.exact in words.pointing for word in old[max(at - reach, start) : at])
    return follows and not token.is_name and not words.is_decisive(token)


def _quoted(tokens: Sequence[Word]) -> str:
    return ", ".join(repr(token.written) for token in tokens[:_MAX_QUOTED])
