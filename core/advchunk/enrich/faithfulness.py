"""Compare a rewritten text with its source, without a model: word by word."""

import re
from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass
from difflib import SequenceMatcher
from functools import lru_cache
from typing import Final, NamedTuple

from advchunk.text.sentences import language_code
from advchunk.text.terms import make_stemmer, stop_words

# Numbers, comparators, runs of kana, single characters of other scripts written without spaces, words.
_TOKEN = re.compile(
    r"(?:(?<!\w)[-−])?\d+(?:[.,]\d+)*|[<>≤≥=≠±%]|[\u3040-\u309f]+"
    r"|[\u0e00-\u0eff\u1000-\u109f\u1780-\u17ff\u30a0-\u30ff\u3400-\u9fff]|[^\W\d_]+"
)
_CONTRACTION = re.compile(r"(?<=can)(?:not|['’]t)\b|(?<!\bca)n['’]t\b", re.IGNORECASE)  # of English
_SIGN = re.compile(r"[-−\d<>≤≥=≠±%]")
_UNSPACED = re.compile(r"[\u0e00-\u0eff\u1000-\u109f\u1780-\u17ff\u3040-\u30ff\u3400-\u9fff]")
_FUNCTION_CHARACTERS: Final = frozenset(
    "的了是在和与與及其等为為以于於被把对對从從到由这這那之者所而且但或也都就他她它们們个個有中"
)
_KANA_NEGATION = re.compile("ない|なか|なく|ませ|ずに|ぬ")
_MAX_QUOTED: Final = 5  # tokens in a message

# Words by which a statement is denied, or holds for more or less than before, by language.
_DECISIVE: Final = {
    "da": "ikke ej aldrig ingen intet ingenting uden hverken kun",
    "de": "nicht kein keine keinen keinem keiner keines nie niemals nichts niemand ohne weder kaum nur kann können könnte "
    "muss müssen soll sollte darf dürfen vor nach über unter mehr weniger alle einige jeder jede jedes",
    "en": "no nor not never none nobody nothing nowhere neither without hardly barely rarely few fewer little less least "
    "more most all any some both each every either only may might must can could shall should will would before after "
    "above below over under up down until unless except against if",
    "es": "no nunca jamás nada nadie ningún ninguna ninguno ni sin tampoco solo sólo puede debe antes después más menos todos",
    "fr": "ne pas jamais rien aucun aucune ni sans personne guère plus moins seulement peut doit avant après tous toutes",
    "it": "non mai niente nulla nessun nessuno nessuna né senza solo può deve prima dopo più meno tutti",
    "nl": "niet geen nooit niets niemand zonder noch alleen kan moet mag voor na meer minder alle",
    "no": "ikke ei aldri ingen intet ingenting uten verken bare",
    "pt": "não nunca jamais nada ninguém nenhum nenhuma nem sem só pode deve antes depois mais menos todos",
    "ru": "не нет ни без никогда никто ничего нельзя только",
    "sv": "inte ej aldrig ingen inget inga ingenting utan varken bara",
    "ja": "不 無 非 未",
    "zh": "不 没 沒 無 无 未 非 勿 别 莫",
}  # fmt: skip


class Word(NamedTuple):
    """A word, number or sign: as it is compared, and as it is written."""

    form: str
    written: str


@dataclass(frozen=True, slots=True)
class Wordlist:
    """The words of a language that add nothing to a text, and those that decide what it says."""

    stem: Callable[[str], str]
    stop: frozenset[str]
    decisive: frozenset[str]

    def tokens(self, text: str) -> list[Word]:
        """Return the tokens of a text."""
        written = _TOKEN.findall(_CONTRACTION.sub(" not", text))
        return [Word(self.stem(word.lower()).replace("−", "-"), word) for word in written]

    def is_decisive(self, token: Word) -> bool:
        """Return True for a number, a comparator, or a word such as "not" or "only"."""
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


@lru_cache(maxsize=32)
def wordlist(language: str) -> Wordlist:
    """Return the word list of a language."""
    code = language_code(language)
    decisive = frozenset(_DECISIVE.get(code, "").split())
    return Wordlist(make_stemmer("snowball", language), stop_words("snowball", language), decisive)


def invented(text: str, sources: Iterable[str], language: str) -> list[str]:
    """Return the words, numbers and comparators of a text that none of its sources has, function words aside.

    >>> invented("Ada naps, Napoleon does not", ["Ada is a cat", "She naps."], "en")
    ['Napoleon', 'not']
    """
    words = wordlist(language)
    forms = {token.form for source in sources for token in words.tokens(source)}
    return [
        token.written for token in words.tokens(text) if token.form not in forms and not words.is_function_word(token)
    ]


def unfaithful_edit(before: str, after: str, additions: Sequence[str], language: str) -> str:
    """Return the first edit from one text to another that changes what it says; an empty string if there is none.

    An edit may insert words of the text and its ``additions``, and function words. It may remove function words, and
    where it inserts a word of the additions, also lower-case words and abbreviations. Numbers, comparators, and decisive
    words, such as "not", must stay in place; only the additions may bring more of them.

    >>> unfaithful_edit("She may nap.", "Ada, a cat, may nap.", ["Ada, a cat"], "en")
    ''
    >>> unfaithful_edit("She may nap.", "Ada naps.", ["Ada"], "en")
    "removes 'may'"
    """
    words = wordlist(language)
    old, new = words.tokens(before), words.tokens(after)
    added = {token.form for text in additions for token in words.tokens(text)}
    allowed = added | {token.form for token in old if not words.is_decisive(token)}
    matcher = SequenceMatcher(None, [token.form for token in old], [token.form for token in new], autojunk=False)
    for kind, a, b, c, d in matcher.get_opcodes():
        if kind == "equal":
            continue
        gained = [token for token in new[c:d] if not words.is_function_word(token)]
        lost = [token for token in old[a:b] if not words.is_function_word(token)]
        if strange := [token for token in gained if token.form not in allowed]:
            return f"adds {_quoted(strange)}"
        if any(token.form in added for token in gained):
            lost = [token for token in lost if words.is_decisive(token) or _is_name(token)]
        if lost:
            return f"removes {_quoted(lost)}"
    return ""


def _is_name(token: Word) -> bool:
    """Return True for a capitalized word that is not an abbreviation."""
    return token.written[0].isupper() and (len(token.written) == 1 or not token.written[1].isupper())


def _quoted(tokens: Sequence[Word]) -> str:
    return ", ".join(repr(token.written) for token in tokens[:_MAX_QUOTED])
