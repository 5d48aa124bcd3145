"""Words in every script: what stands between spaces, and parts of what is written without spaces."""
# ruff: noqa: RUF001 - the letters of many scripts are the subject here

from typing import Final

from advchunk.text.patterns import lazy_pattern

HAN: Final = "\u2e80-\u2fd5々〇〡-〩㐀-䶿一-鿿豈-龎\U00020000-\U000323af"
KANA: Final = "ぁ-ゖゝ-ゟァ-ヺー-ヿㇰ-ㇿｦ-ﾟㄅ-ㄯ"
# Scripts of Southeast Asia whose words only a dictionary can tell (Line_Break=Complex_Context), without their digits.
COMPLEX: Final = "ก-ฺเ-๎ກ-ຽເ-ໍໜ-ໟက-ဿၐ-ႏႚ-႟ꩠ-ꩿꧠ-ꧯꧺ-ꧾក-៓ៗៜ៝ᥐ-ᥴᦀ-ᧉᨠ-᩿ꪀ-ꫂꫛ-ꫝ"
_MARKED = "ༀཀ-ྼሀ-ፚ"  # Tibetan marks the ends of syllables, and Ethiopic those of words, instead of spaces

UNSPACED: Final = f"{HAN}{KANA}{COMPLEX}"
"""The letters of scripts without spaces between words, for a class of a regular expression."""

_LETTER = lazy_pattern(f"[{UNSPACED}{_MARKED}]")
# The declaration of human rights has 1.5 (Chinese) and 2.2 (Japanese) characters for each English word, 5.2 to 8
# elsewhere.
_WORD = lazy_pattern(
    f"[{HAN}{KANA}]{{1,2}}|[{COMPLEX}]{{1,6}}|[{_MARKED}]++|(?![{UNSPACED}{_MARKED}])\\w[^\\s{UNSPACED}{_MARKED}]*+"
)
# In Japanese most words, but few of their endings, begin with a Chinese letter or in katakana after hiragana.
_PLACE = lazy_pattern(
    f"(?<=[，、；：。！？」』）】》〉・…፡\u200b])(?=[{UNSPACED}{_MARKED}「『（【《〈“A-Za-z0-9])"
    f"|(?<=[{HAN}{KANA}][,;:!?])(?=[{HAN}{KANA}])"
    f"|(?<=[ぁ-ゖ])(?<![おごぉっ])(?=[{HAN}ァ-ヺ「『（])"
)
_SYLLABLE = lazy_pattern(
    r"(?<=[ก-๎ກ-ໍ])(?=[เ-ไເ-ໄ])"  # Thai and Lao write some vowels first
    # no consonant below another, or last in its syllable
    r"|(?<=[ក-៓])(?<!្)(?=[ក-ឳ])|(?<=[က-႟])(?<!္)(?=[က-အဿ](?![့်္]))"
    r"|(?<=་)(?=[ༀཀ-ྼ])"
)


def has_unspaced(text: str) -> bool:
    """Return True if some of a text is in a script without spaces between words."""
    return not text.isascii() and _LETTER.search(text) is not None


def count_words(text: str) -> int:
    """Return the number of words between white space; two characters of Chinese and Japanese count as a word, six of
    Thai, Lao, Khmer, Burmese and their kin, and in Tibetan a syllable.
    """
    runs = text.split()
    if not has_unspaced(text):
        return len(runs)
    return sum(len(_WORD.findall(run)) if _LETTER.search(run) else 1 for run in runs)


def word_places(text: str) -> list[int]:
    """Return the offsets in a text without spaces that are in no word: after marks, and where scripts change.

    >>> word_places("東京は、日本の首都である。")
    [4, 7]
    """
    return [match.start() for match in _PLACE.finditer(text)] if has_unspaced(text) else []


def syllable_places(text: str) -> list[int]:
    """Return offsets that are not inside a syllable, in scripts that write several in a row."""
    return [match.start() for match in _SYLLABLE.finditer(text)] if has_unspaced(text) else []
