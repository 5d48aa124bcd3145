"""Split text into sentences."""
# ruff: noqa: RUF001, RUF003 - the punctuation of many scripts is the subject here

import json
import re
from collections.abc import Iterator
from functools import cache
from importlib.resources import files
from itertools import pairwise
from typing import Any

from advchunk.records import Units
from advchunk.text.tiling import OWN_SPACE, after, leading_space, next_non_space, owning_space, paragraphs

_PLAIN_SENTENCE_END = re.compile(rf"(?<=[.!?]){OWN_SPACE}")


def plain_sentences(text: str) -> Units:
    """Split after ``.``, ``!`` or ``?`` and white space, the rule of universal chunking.

    The rule ignores abbreviations and closing quotes. Use it to reproduce that method; otherwise use `sentences`.

    >>> plain_sentences("Dr. Smith left. Why?").strings()
    ['Dr. ', 'Smith left. ', 'Why?']
    """
    return after(text, _PLAIN_SENTENCE_END)


# Characters that sentencex handles badly, each replaced by one character so that offsets hold: it cannot encode lone
# surrogates, treats "p < 0.05. We ... n > 3" as a bracket, breaks "\r\n", and ignores "…" (its replacement, the
# stenographic full stop, is very rare).
_UNREADABLE = re.compile("[\ud800-\udfff<>\r]|…(?=\\s)")
_REPLACEMENTS = {"<": "=", ">": "=", "\r": " ", "…": "⸼"}

# sentencex never ends a sentence between a quote or bracket and its match, however far away that is. A sentence of more
# characters than this is split again without these marks.
_MAX_PAIRED = 1000
# sentencex takes quadratic time: 947,000 characters take 20 times as long whole as in windows.
_WINDOW = 2**13
_PAIRED = re.compile(r"""["'`“”„‟‘’‚‛«»‹›「」《》()\[\]{}（）]""")
# Marks that belong to a sentence after its terminator: closing quotes and brackets, references.
_CLOSING = re.compile(r"""["'”’»›)\]）」』】》]*(?:\[\d[\d,;–\- ]*\])*[⁰¹²³⁴-⁹]*""")
_OPENING = "([{\"'“‘„«‹¿¡"
# A whole sentence in brackets, which sentencex joins to the next sentence.
_ASIDE = re.compile(r"(?:\([^()]*(?:\([^()]*\)[^()]*)*[.!?]\)|\[[^\[\]]*[.!?]\])\s+|（[^（）]*[。！？]）\s*")
# A number, a letter or both after a label: "Eq. 2", "Fig. S1", "Tab. A", "no. (3)".
_NUMBER = re.compile(r"[(\[#~≈≤≥=±+−-]*(?:\d|[A-Z]{1,2}\d*\b)")
_MARKER = re.compile(r"\W*(?:\d{1,3}|\w)\.\s*")  # "1." or "b.": a list item, not a sentence


# Ordinals before a capital, in languages that write them with a period: "im 19. Jahrhundert".
_ORDINAL = {"de": re.compile(r"\b(?:d(?:er|ie|as|em|en|es)|im|zu[mr]|vom|beim)\s+\d{1,3}\.\s*\Z", re.IGNORECASE)}
# Particles that continue a quotation: "「はい。」と言った".
_PARTICLES = {"ja": ("と", "って")}


@cache
def _abbreviations(code: str) -> tuple[frozenset[str], frozenset[str]]:
    """Return the abbreviations after which a sentence never ends, and those after which it does not end before a number.

    sentencex gets both wrong. The latter may end a sentence elsewhere ("He said no. Then"). Case counts: "M." is Monsieur
    in French, but "5 m." may end a sentence.
    """
    table = json.loads(files("advchunk.text").joinpath("abbreviations.json").read_text(encoding="utf-8"))
    return frozenset(table["any"] + table.get(code, [])), frozenset(table["before a number"])


def language_code(language: str) -> str:
    """Return the two- or three-letter code of a language, without its region.

    >>> language_code("pt-BR")
    'pt'
    """
    return re.split("[-_]", language.lower())[0]


def sentences(text: str, language: str = "en") -> Units:
    """Split into sentences with sentencex, and rules that correct its errors.

    A blank line always ends a sentence; a line end alone never does. Paragraphs are split separately, so an edit to
    one does not affect another. sentencex has rules for some 35 languages and their close relatives; for any other
    code the rules of English apply. ``pt-BR`` counts as ``pt``.

    >>> sentences("Dr. Smith saw Fig. 3. She left... Why? See 1.5 mg (p = 0.03).").strings()
    ['Dr. Smith saw Fig. 3. ', 'She left... ', 'Why? ', 'See 1.5 mg (p = 0.03).']
    """
    code, seen, ends = language_code(language), readable(text), list[int]()
    for start, end in pairwise(paragraphs(text).edges.tolist()):
        ends += (start + inner for inner in _sentence_ends(seen[start:end], code))
        ends.append(end)
    return owning_space(text, ends)


def readable(text: str) -> str:
    """Replace each character that sentence splitters cannot handle with another character."""
    return _UNREADABLE.sub(lambda match: _REPLACEMENTS.get(match[0], "\ufffd"), text)


def _candidates(paragraph: str, code: str) -> Iterator[int]:
    import sentencex

    for start, end in _boundaries(paragraph, code):
        if end - start > _MAX_PAIRED:
            again = sentencex.get_sentence_boundaries(code, _PAIRED.sub("-", paragraph[start:end]))
            yield from (start + inner["end_index"] for inner in again)
        yield end


def _boundaries(paragraph: str, code: str) -> Iterator[tuple[int, int]]:
    """Yield the start and the end of each sentence that sentencex finds, in windows of the paragraph."""
    import sentencex

    at, size = 0, _WINDOW
    while at < len(paragraph):
        boundaries = sentencex.get_sentence_boundaries(code, paragraph[at : at + size])
        spans = [(at + boundary["start_index"], at + boundary["end_index"]) for boundary in boundaries]
        is_last = at + size >= len(paragraph)
        # A sentence that ends in the first half has half a window after it, in which a bracket may be closed.
        spans = spans if is_last else [span for span in spans if span[1] <= at + size // 2]
        yield from spans
        if is_last:
            return
        at, size = (spans[-1][1], _WINDOW) if spans else (at, 2 * size)


def spacy_documents(text: str, seen: str, nlp: Any) -> Iterator[tuple[int, Any]]:
    """Yield the offset and the spaCy document of each paragraph, split where it exceeds the pipeline's ``max_length``.

    The pipeline reads ``seen``, which is as long as ``text``.
    """
    edges = paragraphs(text).edges.tolist()
    starts = [at for start, end in pairwise(edges) for at in range(start, end, nlp.max_length)]
    docs = nlp.pipe(seen[start:end] for start, end in pairwise([*starts, len(text)]))
    return zip(starts, docs, strict=True)


def _sentence_ends(paragraph: str, code: str) -> Iterator[int]:
    start = leading_space(paragraph)
    for candidate in _candidates(paragraph, code):
        if candidate <= start:
            continue
        closing = None if paragraph[candidate - 1].isspace() else _CLOSING.match(paragraph, candidate)
        end = next_non_space(paragraph, closing.end() if closing else candidate)
        if end < len(paragraph) and _continues(paragraph, start, end, code):
            continue
        while (aside := _ASIDE.match(paragraph, start, end)) and not paragraph[aside.end() : aside.end() + 1].islower():
            start = aside.end()
            yield start
        start = end
        yield end


def _continues(paragraph: str, start: int, end: int, code: str) -> bool:
    """Return True if the sentence from ``start`` continues after ``end``, where sentencex ends it."""
    before, following = paragraph[end - 1], paragraph[end]
    if not before.isspace():  # "os.Path", "３．１４"
        return (
            before in ".!?"
            or following in ".,;:"  # "et al. [42]."
            or (before == "．" and following.isdigit())
            or paragraph.startswith(_PARTICLES.get(code, ()), end)
        )
    word = paragraph[max(start, end - 40) : end].split()[-1:]
    if not word or word[0][-1] not in ".⸼":
        return False
    name, (never_last, labels) = word[0].lstrip(_OPENING)[:-1], _abbreviations(code)
    return (
        following.islower()
        or _MARKER.fullmatch(paragraph, start, end) is not None
        or not {name, name.lower()}.isdisjoint(never_last)
        or (name.lower() in labels and _NUMBER.match(paragraph, end) is not None)
        or (code in _ORDINAL and _ORDINAL[code].search(paragraph, max(start, end - 40), end) is not None)
    )
