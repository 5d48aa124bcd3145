"""Tell the language of a text from its script and its most common words.

benchmarks/LANGUAGES.md compares the rule with libraries that do the same.
"""
# ruff: noqa: RUF001 - the letters of many scripts are the subject here

from bisect import bisect_right
from collections import Counter, defaultdict
from collections.abc import Collection, Mapping, Sequence
from functools import cache, lru_cache
from importlib.resources import files
from math import inf, log
from string import ascii_letters
from typing import Any, Final, NamedTuple

from advchunk.text.patterns import lazy_pattern

UNDETERMINED: Final = "und"
"""The code of a language that cannot be told (BCP 47)."""
AUTO: Final = "auto"
"""Stands for the language of each text, in place of a code."""

_SLICES, _SLICE = 4, 150  # a long text is told by so many slices of so many characters
_MANY_WORDS = 30  # in a text of fewer, two of them must speak for a language
_LEAST, _LEAST_SHARE, _LEAST_LEAD = 3.0, 0.15, 0.5  # score of the best language; per word; above the second
_EVIDENT = 5.0  # lead of the language of a short query over those of the texts, as of two words that no other has
_KIN = {"da": "no", "no": "da", "id": "ms", "ms": "id"}  # so alike that either is right
_ENOUGH_ENGLISH = 3  # different words that are common in no other language
_LEAST_KANA, _LEAST_HANGUL = 0.1, 0.1  # share of the letters of Japanese, and of Korean
_CODE = lazy_pattern(r"[A-Za-z]{2,3}(?:[-_][A-Za-z0-9]+)*")
_ASCII, _NO_ASCII_LETTERS = lazy_pattern(r"[\x00-\x7f]+"), bytes({*range(128)}.difference(ascii_letters.encode()))
_OTHER_LETTER = lazy_pattern(r"[^\x00-\x7f\W\d_]")
_LETTERS = 100  # outside ASCII, of a text, that tell its script
_LETTER, _NO_LETTER = 0.5, -1.0  # weight of a letter that a language has, and what one says that it does not have
# The letters of each script, or of a language that alone has one.
_SCRIPTS = {
    "Latin": "ª-ª º-º À-Ö Ø-ö ø-ɏ Ḁ-ỿ", "Cyrillic": "Ѐ-ԯ", "Arabic": "ء-ۓ ۺ-ۿ ݐ-ݿ", "Devanagari": "ऀ-ॣ ॱ-ॿ",
    "ja": "ぁ-ゖ ァ-ヺ ー-ー", "zh": "㐀-䶿 一-鿿 豈-龎 𠀀-𲎯", "ko": "가-힣", "el": "Ͱ-Ͻ Ϳ-Ͽ ἀ-῿", "he": "א-ת", "hy": "Ա-և", "ka": "ა-ჿ",  # noqa: E501
    "am": "ሀ-ፚ", "bn": "ঀ-ৣ", "pa": "ਁ-ੵ", "gu": "ઁ-ૣ", "or": "ଁ-ୣ", "ta": "ஂ-ௗ", "te": "ఀ-ౣ", "kn": "ಀ-ೣ", "ml": "ഀ-ൣ", "si": "ඁ-ෳ",
    "th": "ก-ฺ เ-๎", "lo": "ກ-ຽ ເ-ໍ", "bo": "ༀ-ༀ ཀ-ྼ", "my": "က-ဿ ၐ-ႏ", "km": "ក-៓", "dv": "ހ-ޱ",
}  # fmt: skip
_LATIN_LETTERS = {"ja": 3, "zh": 3, "ko": 3, "am": 2}  # that say as much as one of another script
_LATIN = "Latin"


class _Evidence(NamedTuple):
    """The weights of words, and of letters outside ASCII, for each language of a script, by its number."""

    codes: tuple[str, ...]
    words: dict[str, tuple[tuple[int, float], ...]]
    letters: dict[str, tuple[tuple[int, float], ...]]


def tell_language(text: str, declared: str = "") -> str:
    """Return the two-letter code of the language of a text, else the ``declared`` one, or "und" if it cannot be told.

    The script decides where it has one language. Elsewhere each word that is among the forty most common of a language
    counts for it, and more if it is in fewer lists; so does each letter outside ASCII, and one that it does not have
    counts against it. Long texts are told by 600 characters. Serbian in Latin letters and Bosnian count as Croatian.
    """
    if len(text) > _SLICES * _SLICE:
        step = len(text) // _SLICES
        text = " ".join([text[at : at + _SLICE] for at in range(0, _SLICES * step, step)])
    code = _detect(text)
    return declared if declared and code == UNDETERMINED else code


def language_of(text: str, language: str = AUTO, declared: str = "") -> str:
    """Return the code of the language whose rules apply: that given, or with "auto" the text's own, else English."""
    if language != AUTO:
        return language
    code = tell_language(text, declared)
    return "en" if code == UNDETERMINED else code


def query_language(query: str, languages: Collection[str]) -> str:
    """Return the code of the language of a query over texts in some languages, or "und" if it cannot be told.

    A query of fewer than thirty words is in a language of the texts unless another is evident, by a script that they do
    not use, or by a lead of two words that no other language has.
    """
    code, lowered = tell_language(query), query.lower()
    words, script = _split(lowered), _LATIN if query.isascii() else _script(query)
    if code in languages or code == UNDETERMINED or len(words) >= _MANY_WORDS or script not in _tables():
        return code
    evidence = _evidence(script)
    totals = dict(zip(evidence.codes, _totals(evidence, lowered, words)[0], strict=True))
    scores = {language: totals[language] for language in languages if language in totals}
    best = max(scores.values(), default=0.0)
    if not scores or totals[code] - best >= _EVIDENT:
        return code
    likely = [language for language, total in scores.items() if total == best]
    return likely[0] if len(likely) == 1 else UNDETERMINED


def declared_language(metadata: Mapping[str, Any]) -> str:
    """Return the code of the language that metadata names; "" if they name none."""
    named = metadata.get("language")
    return named if isinstance(named, str) and _CODE.fullmatch(named) else ""


@cache
def common_words(code: str) -> frozenset[str]:
    """Return the forty most common words of a language, in lower case; none for a language without a list."""
    return frozenset(word for table in _tables().values() if code in table for word in table[code][1].split())


@lru_cache(maxsize=1024)
def _detect(sample: str) -> str:
    lowered = sample.lower()
    words = _split(lowered)
    has_ascii_letters = sample.isascii() or not _OTHER_LETTER.search(_ASCII.sub("", sample))
    if has_ascii_letters and len(_only_english().intersection(words)) >= _ENOUGH_ENGLISH:
        return "en"  # the most frequent case, in a tenth of the time
    script = _LATIN if has_ascii_letters else _script(sample)
    if script not in _tables():
        return script
    evidence = _evidence(script)
    totals, witnesses = _totals(evidence, lowered, words)
    best = max(totals)
    code = evidence.codes[totals.index(best)]
    if script != _LATIN:
        return code
    for own in {code, _KIN.get(code, code)}.intersection(evidence.codes):
        totals[evidence.codes.index(own)] = -inf
    is_enough = best >= max(_LEAST, _LEAST_SHARE * len(words)) and best - max(totals) >= _LEAST_LEAD
    return code if is_enough and (len(words) >= _MANY_WORDS or len(witnesses) > 1) else UNDETERMINED


def _split(lowered: str) -> list[str]:
    """Return the words of a text in lower case; one before a mark is rarely a common one."""
    return lowered.replace("'", " ").replace("’", " ").split()


def _totals(evidence: _Evidence, lowered: str, words: Sequence[str]) -> tuple[list[float], set[str]]:
    """Return the score of each language of a script for a text, and the words and letters with a score."""
    totals, witnesses = [0.0] * len(evidence.codes), set[str]()
    letters = "" if lowered.isascii() else _ASCII.sub("", lowered)
    for pieces, table in ((words, evidence.words), (letters, evidence.letters)):
        for piece in filter(table.get, pieces):
            witnesses.add(piece)
            for number, weight in table[piece]:
                totals[number] += weight
    return totals, witnesses


def _script(text: str) -> str:
    """Return the script of most of the letters of a text, or the language that alone uses it; "und" without letters."""
    others = _ASCII.sub("", text)
    step = len(others) // _LETTERS + 1
    counts = Counter(map(_script_of, others[::step]))
    counts[_LATIN] += len(text.encode("ascii", "ignore").translate(None, _NO_ASCII_LETTERS)) // step
    counts.pop("", None)
    if counts["ko"] >= _LEAST_HANGUL * (counts["ko"] + counts["zh"]) > 0:
        counts["ko"] += counts.pop("zh", 0)
    elif counts["ja"] >= _LEAST_KANA * (counts["ja"] + counts["zh"]):
        counts["ja"] += counts.pop("zh", 0)
    name = max(counts, key=lambda name: counts[name] * _LATIN_LETTERS.get(name, 1))
    return name if counts[name] else UNDETERMINED


@cache
def _script_of(letter: str) -> str:
    """Return the name of the script of a letter, or "" for what is no letter of one of them."""
    place = bisect_right(_ranges(), (letter, "\U0010ffff", "")) - 1
    start, end, name = _ranges()[max(place, 0)]
    return name if start <= letter <= end else ""


@cache
def _ranges() -> list[tuple[str, str, str]]:
    """Return the first and last letter of each range of each script, in ascending order."""
    return sorted((own[0], own[2], name) for name, ranges in _SCRIPTS.items() for own in ranges.split())


@cache
def _tables() -> dict[str, dict[str, list[str]]]:
    """Return the letters outside ASCII and the most common words of each language, by script."""
    import json

    return json.loads(files("advchunk.text").joinpath("common_words.json").read_text(encoding="utf-8"))  # type: ignore[no-any-return]


@cache
def _only_english() -> frozenset[str]:
    """Return the words that are common in English and in no other language."""
    english, *others = (set(words.split()) for _, words in _tables()[_LATIN].values())
    return frozenset(english.difference(*others))


@cache
def _evidence(script: str) -> _Evidence:
    table = _tables()[script]
    users, spellers, n = defaultdict[str, list[int]](list), defaultdict[str, list[int]](list), len(table)
    for number, (letters, words) in enumerate(table.values()):
        for word in words.split():
            users[word].append(number)
        for letter in letters:
            spellers[letter].append(number)
    weights = {word: tuple((i, log(1 + n / len(own))) for i in own) for word, own in users.items()}
    spelled = {
        letter: tuple((i, _LETTER * log(1 + n / len(own)) if i in own else _NO_LETTER) for i in range(n))
        for letter, own in spellers.items()
    }
    return _Evidence(tuple(table), weights, spelled)
