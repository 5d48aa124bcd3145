"""Cut a text into units. Every function returns a tiling: no character is lost.

A unit owns the white space after it up to the last line end in it, or all of it where there is none: indentation
stays with its line. White space at the start of the text is the first unit's, at its end the last one's.
"""
# ruff: noqa: RUF001, RUF003 - the punctuation of many scripts is the subject here

from __future__ import annotations

import re
from collections.abc import Callable, Iterable, Iterator
from dataclasses import dataclass
from functools import partial
from importlib import import_module
from itertools import pairwise
from typing import Any, TypeAlias

import numpy as np

from advchunk.errors import ConfigurationError, nearest, require
from advchunk.records import Units

Tiler: TypeAlias = Callable[[str], Units]

# Each pattern matches where a unit ends, with the white space that the unit then owns. (?>...) keeps "\r\n" whole.
_OWN = r"(?:\s++\Z|\s*[\r\n]|\s++)"
_LINES_OWN = r"[\r\n](?:\s++\Z|\s*[\r\n])?"
_PARAGRAPH_END = re.compile(rf"(?>\r\n?|\n)[^\S\r\n]*{_LINES_OWN}")
_LINE_END = re.compile(_LINES_OWN)
_CLAUSE_END = re.compile(rf"""[,;:]["'”’)\]]*{_OWN}|[，；：、][”’」』）]*{_OWN}?|{_LINES_OWN}""")
_WORD_END = re.compile(rf"(?<=\S){_OWN}")
_PLAIN_SENTENCE_END = re.compile(rf"(?<=[.!?]){_OWN}")
_SPACE = re.compile(rf"(?P<own>{_OWN}?)\s*+")


def from_ends(text: str, ends: Iterable[int]) -> Units:
    """Tile ``text`` with units that end at ``ends``, in any order; the end of the text is understood.

    >>> from_ends("abcd", [3, 1]).strings()
    ['a', 'bc', 'd']
    """
    return Units(text, np.unique(np.array([0, *ends, len(text)], dtype=np.int64)))


def _lead(text: str) -> int:
    """Length of the leading white space: it belongs to the first unit, so no unit may end in it."""
    return len(text) - len(text.lstrip())


def past_space(text: str, ink: int) -> int:
    r"""Return where a unit ends whose last character that is not white space stands before ``ink``.

    >>> past_space("One. Two.", 4), past_space("One.\n  Two.", 4)
    (5, 5)
    """
    return _SPACE.match(text, ink).end("own")  # type: ignore[union-attr]  # it matches everywhere


def next_ink(text: str, offset: int) -> int:
    """Return the offset of the first character from ``offset`` on that is not white space."""
    return _SPACE.match(text, offset).end()  # type: ignore[union-attr]


def _after(text: str, pattern: re.Pattern[str]) -> Units:
    return from_ends(text, (match.end() for match in pattern.finditer(text, _lead(text))))


def _owning_space(text: str, ends: Iterable[int]) -> Units:
    """Tile with ascending ``ends``, each moved to where the white space it touches is divided."""

    def moved() -> Iterator[int]:
        at = _lead(text)
        for end in ends:
            if end > at:  # else inside white space that is divided already
                yield (own := past_space(text, at + len(text[at:end].rstrip())))
                at = next_ink(text, own)

    return from_ends(text, moved())


def paragraphs(text: str) -> Units:
    r"""Split at blank lines.

    >>> paragraphs("One.\nStill one.\n\n  Two.").strings()
    ['One.\nStill one.\n\n', '  Two.']
    """
    return _after(text, _PARAGRAPH_END)


def lines(text: str) -> Units:
    r"""Split at line ends; a line keeps its indentation and owns the blank lines after it.

    >>> lines("if x:\r\n    y\n\nz").strings()
    ['if x:\r\n', '    y\n\n', 'z']
    """
    return _after(text, _LINE_END)


def clauses(text: str) -> Units:
    """Split after commas, semicolons, colons and line ends.

    >>> clauses("Once, twice; then no more").strings()
    ['Once, ', 'twice; ', 'then no more']
    """
    return _after(text, _CLAUSE_END)


def words(text: str) -> Units:
    """Split after runs of white space.

    >>> words("to  be or").strings()
    ['to  ', 'be ', 'or']
    """
    return _after(text, _WORD_END)


def graphemes(text: str) -> Units:
    r"""Split between user-perceived characters (Unicode extended grapheme clusters, UAX 29).

    >>> graphemes("e\u0301a").strings() == ["e\u0301", "a"]
    True
    """
    import regex

    return from_ends(text, (match.end() for match in regex.finditer(r"\X", text)))


def characters(text: str) -> Units:
    """Split between code points: the last resort, when one grapheme is over the budget.

    >>> characters("abc").strings()
    ['a', 'b', 'c']
    """
    return Units(text, np.arange(len(text) + 1, dtype=np.int64))


def plain_sentences(text: str) -> Units:
    """Split after ``.``, ``!`` or ``?`` and white space: the rule of universal chunking, and nothing more.

    It knows no abbreviation and no closing quote: use it to reproduce that source, else `sentences`.

    >>> plain_sentences("Dr. Smith left. Why?").strings()
    ['Dr. ', 'Smith left. ', 'Why?']
    """
    return _after(text, _PLAIN_SENTENCE_END)


# What sentencex must not see, replaced one character for one so that its offsets hold:
# it cannot encode lone surrogates, takes "p < 0.05. We ... n > 3" for a bracket, breaks "\r\n", and
# knows no "…" (the stand-in, a full stop of shorthand, is hardly in any text).
_UNSEEN = re.compile("[\ud800-\udfff<>\r]|…(?=\\s)")
_STAND_IN = {"<": "=", ">": "=", "\r": " ", "…": "⸼"}

# sentencex ends no sentence between a quote or bracket and its partner, however far that is. When nothing
# ended for so many characters, they are split again without these marks.
_SILENCED = 1000
# Its time grows with the square of what it is given: 947,000 characters in one paragraph take 20 times as long whole.
_WINDOW = 2**13
_PAIRED = re.compile(r"""["'`“”„‟‘’‚‛«»‹›「」《》()\[\]{}（）]""")
# What still belongs to a sentence after its terminator: closing quotes and brackets, references.
_CLOSING = re.compile(r"""["'”’»›)\]）」』】》]*(?:\[\d[\d,;–\- ]*\])*[⁰¹²³⁴-⁹]*""")
_OPENING = "([{\"'“‘„«‹¿¡"
# A whole sentence in brackets, which sentencex joins to the next one.
_ASIDE = re.compile(r"(?:\([^()]*(?:\([^()]*\)[^()]*)*[.!?]\)|\[[^\[\]]*[.!?]\])\s+|（[^（）]*[。！？]）\s*")
# A number, a letter or both after a label: "Eq. 2", "Fig. S1", "Tab. A", "no. (3)".
_NUMBER = re.compile(r"[(\[#~≈≤≥=±+−-]*(?:\d|[A-Z]{1,2}\d*\b)")
_MARKER = re.compile(r"\W*(?:\d{1,3}|\w)\.\s*")  # "1." or "b.": a list item, not a sentence

# Abbreviations that sentencex lets end a sentence: in any language, and in one.
_NEVER_LAST = {
    code: frozenset(abbreviations.split())
    for code, abbreviations in {
        "": "approx assoc ca cf e.g eq eqn eqns eqs fig figs i.e incl viz vs",
        "bs": "br dr gđa gosp mr npr odn prof sl str sv tj tzv ul usp čl",
        "de": "abb bzw d.h evtl nr u.a vgl z.b",
        "es": "art ej núm p.ej pág sr sra",
        "fr": "M Mgr av chap dr env ex p.ex",  # "M." is Monsieur, "5 m." may end
        "hr": "br dr gđa gosp mr npr odn prof sl str sv tj tzv ul usp čl",
        "it": "art dott es pag prof sig",
        "pl": "dr np prof rys str tj tzw ul",
        "pt": "art dr dra ex núm pág sr sra",
        "ru": "г им напр рис см стр табл ул",
        "sr": "br dr gđa gosp mr npr odn prof sl str sv tj tzv ul usp čl",
    }.items()
}
# Words that a number follows; elsewhere they may end a sentence ("He said no. Then").
_LABEL = frozenset(
    """alg app art ch chap chaps cor def ex lem n no nos nr p pp prop ref refs sec sect suppl
    tab tabs thm vol vols""".split()  # noqa: SIM905
)
# Ordinals before a capital, where the language writes them with a full stop: "im 19. Jahrhundert".
_ORDINAL = {"de": re.compile(r"\b(?:d(?:er|ie|as|em|en|es)|im|zu[mr]|vom|beim)\s+\d{1,3}\.\s*\Z", re.IGNORECASE)}
# What carries on a quotation: "「はい。」と言った".
_CARRY_ON = {"ja": ("と", "って")}


def language_code(language: str) -> str:
    """Return the two or three letters of a language, without its region.

    >>> language_code("pt-BR")
    'pt'
    """
    return re.split("[-_]", language.lower())[0]


def sentences(text: str, language: str = "en") -> Units:
    """Split into sentences: sentencex, and a few rules where it errs.

    A blank line always ends a sentence, a single line end alone never does. Every paragraph is
    split by itself, so an edit changes no sentence outside its own paragraph.

    Parameters
    ----------
    language : a language code; ``pt-BR`` counts as ``pt``. sentencex has rules for some 35 languages
        and near relatives of theirs; any other code gets those of English.

    >>> sentences("Dr. Smith saw Fig. 3. She left... Why? See 1.5 mg (p = 0.03).").strings()
    ['Dr. Smith saw Fig. 3. ', 'She left... ', 'Why? ', 'See 1.5 mg (p = 0.03).']
    """
    code = language_code(language)
    seen = _seen(text)
    ends: list[int] = []
    for start, end in pairwise(paragraphs(text).edges.tolist()):
        ends += (start + inner for inner in _sentence_ends(seen[start:end], code))
        ends.append(end)
    return _owning_space(text, ends)


def _seen(text: str) -> str:
    return _UNSEEN.sub(lambda match: _STAND_IN.get(match[0], "\ufffd"), text)


def _candidates(paragraph: str, code: str) -> Iterator[int]:
    import sentencex

    for start, end in _boundaries(paragraph, code):
        if end - start > _SILENCED:
            again = sentencex.get_sentence_boundaries(code, _PAIRED.sub("-", paragraph[start:end]))
            yield from (start + inner["end_index"] for inner in again)
        yield end


def _boundaries(paragraph: str, code: str) -> Iterator[tuple[int, int]]:
    """Yield start and end of sentencex's sentences, of which it is shown a window at a time."""
    import sentencex

    at, size = 0, _WINDOW
    while at < len(paragraph):
        seen = sentencex.get_sentence_boundaries(code, paragraph[at : at + size])
        found = [(at + sentence["start_index"], at + sentence["end_index"]) for sentence in seen]
        whole = at + size >= len(paragraph)
        # What ends in the first half has half a window after it, in which a quote or bracket may find its partner.
        kept = found if whole else [span for span in found if span[1] <= at + size // 2]
        yield from kept
        if whole:
            return
        at, size = (kept[-1][1], _WINDOW) if kept else (at, 2 * size)


def _sentence_ends(paragraph: str, code: str) -> Iterator[int]:
    start = _lead(paragraph)
    for candidate in _candidates(paragraph, code):
        if candidate <= start:
            continue
        end = candidate
        if not paragraph[end - 1].isspace():
            end = _CLOSING.match(paragraph, end).end()  # type: ignore[union-attr]  # it matches everywhere
        end = next_ink(paragraph, end)
        if end < len(paragraph) and _goes_on(paragraph, start, end, code):
            continue
        while (aside := _ASIDE.match(paragraph, start, end)) and not paragraph[aside.end() : aside.end() + 1].islower():
            start = aside.end()
            yield start
        start = end
        yield end


def _goes_on(paragraph: str, start: int, end: int, code: str) -> bool:
    """Tell whether the sentence from ``start`` goes on after ``end``, where sentencex ends it."""
    before, following = paragraph[end - 1], paragraph[end]
    if not before.isspace():  # "os.Path", "３．１４"
        return (
            before in ".!?"
            or following in ".,;:"  # "et al. [42]."
            or (before == "．" and following.isdigit())
            or paragraph.startswith(_CARRY_ON.get(code, ()), end)
        )
    word = paragraph[max(start, end - 40) : end].split()[-1:]
    if not word or word[0][-1] not in ".⸼":
        return False
    name = word[0].lstrip(_OPENING)[:-1]
    return (
        following.islower()
        or _MARKER.fullmatch(paragraph, start, end) is not None
        or not {name, name.lower()}.isdisjoint(_NEVER_LAST[""] | _NEVER_LAST.get(code, frozenset()))
        or (name.lower() in _LABEL and _NUMBER.match(paragraph, end) is not None)
        or (code in _ORDINAL and _ORDINAL[code].search(paragraph, max(start, end - 40), end) is not None)
    )


@dataclass(frozen=True)
class _SpacySentences:
    nlp: Any

    def __call__(self, text: str) -> Units:
        edges = paragraphs(text).edges.tolist()
        # A piece is a paragraph, or as much of one as the pipeline takes at a time.
        starts = [at for start, end in pairwise(edges) for at in range(start, end, self.nlp.max_length)]
        seen = _seen(text)
        docs = self.nlp.pipe(seen[start:end] for start, end in pairwise([*starts, len(text)]))
        ends = set(edges)
        for start, doc in zip(starts, docs, strict=True):
            known = doc.has_annotation("SENT_START") or len(doc) <= 1
            require(known, "the spaCy pipeline must find sentences: add a parser or a sentencizer", self.nlp.pipe_names)
            ends.update(start + sent.end_char for sent in list(doc.sents)[:-1])  # the last ends with its paragraph
        return _owning_space(text, sorted(ends))


def spacy_sentences(nlp: Any) -> Tiler:
    """Return a tiler that splits into the sentences of a spaCy pipeline.

    Paragraphs go through ``nlp.pipe`` one by one: faster than one long document, and no text is too long.

    Parameters
    ----------
    nlp : a spaCy ``Language`` with a parser, a senter or a sentencizer.
    """
    return _SpacySentences(nlp)


def align(text: str, pieces: Iterable[str]) -> Units:
    """Locate verbatim ``pieces`` of ``text``, in order, and tile the text with them.

    White space between two pieces goes to the first, indentation to the second.

    Raises
    ------
    ConfigurationError : a piece that is not where it should be, or text that no piece holds.

    >>> align("One.  Two. ", ["One.", "Two."]).strings()
    ['One.  ', 'Two. ']
    """
    return from_spans(text, _located(text, pieces))


def _located(text: str, pieces: Iterable[str]) -> Iterator[tuple[int, int]]:
    at = 0
    for piece in pieces:
        start = text.find(piece, at)
        require(start >= 0, f"a splitter's pieces must be verbatim and in order after character {at}", piece[:80])
        at = start + len(piece)
        yield start, at


def from_spans(text: str, spans: Iterable[tuple[int, int]]) -> Units:
    """Tile ``text`` with ascending ``spans`` that leave out white space only.

    It goes to the span before, indentation to the span after.

    >>> from_spans("One.  Two. ", [(0, 4), (6, 10)]).strings()
    ['One.  ', 'Two. ']
    """
    ends, at = [], 0
    for start, end in [*spans, (len(text), len(text))]:
        require(at <= start <= end <= len(text), f"a splitter's spans must ascend from {at} in the text", (start, end))
        left_out = text[at:start].strip()
        require(not left_out, f"a splitter must leave out white space only before {text[start:end][:80]!r}", left_out)
        ends.append(end)
        at = end
    return _owning_space(text, ends)


@dataclass(frozen=True)
class _Coerced:
    splitter: Callable[[str], Any]

    def __call__(self, text: str) -> Units:
        answer = self.splitter(text)
        if isinstance(answer, Units):
            require(answer.text == text, "a splitter must return Units of the text it was given", answer.text[:80])
            return answer
        rule = "a splitter must return Units, edges, (start, end) spans or strings"
        require(isinstance(answer, Iterable) and not isinstance(answer, str | bytes), rule, answer)
        items = list(answer)
        if all(isinstance(item, str) for item in items):
            return align(text, items)
        try:
            numbers = np.asarray(items)
        except ValueError:  # items of several shapes
            msg = f"{rule}, got {items[:3]!r} ..."
            raise ConfigurationError(msg) from None
        spans = numbers.ndim == 2 and numbers.shape[1] == 2
        require(numbers.dtype.kind in "iu" and (spans or numbers.ndim == 1), rule, items[:3])
        return from_spans(text, numbers.tolist()) if spans else Units(text, numbers.astype(np.int64))


def as_tiler(splitter: Any = None, language: str = "en") -> Tiler:
    """Turn what a user may give for a sentence splitter into a tiler. It pickles whenever ``splitter`` does.

    Parameters
    ----------
    splitter : None for `sentences` in ``language``; ``"plain"`` for `plain_sentences`; ``"edus"`` for clauses, with the
        defaults of `discourse.Edus`; a spaCy ``Language``; or a callable from a text to `Units`, edges, ``(start, end)``
        spans, or strings that stand in the text verbatim and in order, with white space at most between them.

    Raises
    ------
    ConfigurationError : anything else; and, when the tiler is called, a splitter that loses,
        reorders or rewrites text (the message says which piece could not be found).

    >>> as_tiler(str.split)("to be  or").strings()
    ['to ', 'be  ', 'or']
    """
    if splitter is None:
        return partial(sentences, language=language)
    if isinstance(splitter, str):
        names = ["plain", "edus"]
        require(
            splitter in names, f"a splitter by name can only be 'plain' or 'edus'{nearest(splitter, names)}", splitter
        )
        if splitter == "edus":  # which is built on this module, so it is looked up late
            edus: Tiler = import_module("advchunk.discourse").Edus(language)
            return edus
        return plain_sentences
    if hasattr(splitter, "pipe") and hasattr(splitter, "pipe_names"):
        return spacy_sentences(splitter)
    require(callable(splitter), "a splitter must be None, 'plain', 'edus', a spaCy Language or a callable", splitter)
    return _Coerced(splitter)
