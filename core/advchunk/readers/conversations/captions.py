"""Read captions, WebVTT and SubRip: cues become turns of speakers, or paragraphs if no speaker is named.

Cues of one speaker are joined up to a pause or the end of a sentence. Time stamps, settings, comments, styles and tags
are left out. Captions that roll, and repeat those on the screen, are read once.
"""

import html
import re
from collections import Counter
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from itertools import pairwise
from typing import Any

from advchunk.errors import require
from advchunk.readers.conversations.derivation import Derivation, times
from advchunk.readers.conversations.heads import find_heads, seconds
from advchunk.readers.writing import squeeze
from advchunk.records import Document, Span
from advchunk.text.tiling import flatten

_ARROW = re.compile(r"^[^\n]*?-->[^\n]*$", re.MULTILINE)
_TIME = r"(\d{1,5}:\d{1,2}:\d{1,2}(?:[.,]\d{1,6})?|\d{1,3}:\d{2}(?:[.,]\d{1,6})?)"
_TIMING = re.compile(rf"[ \t]*+{_TIME}[ \t]*+-->[ \t]*+{_TIME}(?:[ \t][^\n]*)?$")
_BLANK = re.compile(r"(?>\r\n?|\n)(?=[\r\n]|\Z)")  # a line of spaces is none
_NUMBER = re.compile(r"(?:\A|\n)[ \t]*\d+[ \t]*\n*\Z")
# A tag, an entity, a line break that SubRip writes, a position, white space.
_MARKUP = re.compile(
    r"<v(?:\.[^\s>]*)?[ "
    r"\t]+(?P<voice>[^>\n]{1,200})>|</?(?:[bciusv]|em|font|lang|rt|ruby|span|strong)(?:[.\s][^<>\n]{0,200})?>|<(?:\d+:)?\d+:\d+\.\d+>|\{\\[^{}\n]{1,100}\}"
    r"|(?P<entity>&(?:\#\d{1,7}|\#[xX][\da-fA-F]{1,6}|[a-zA-Z]{2,8});)|(?P<space>\s+|\\N)"
)
_ENDS = re.compile(r"""[.?!…。？！]["”'’»)\]]*$""")
_ROLE = re.compile(r"(?<=\S)\s*[(\[].*", re.DOTALL)
_CHEVRONS = re.compile(r"(?:>>+|&gt;&gt;(?:&gt;)*)\s*")
_PAUSE, _LONG_PAUSE = 1.5, 4.0  # seconds between cues that end a paragraph after a sentence, or anywhere
_FEW = 3  # cues that repeat others, at least
_ENOUGH, _MOST = 400, 1200  # characters after which a paragraph ends with a sentence, or with a cue


@dataclass(slots=True)
class _Cue:
    """The words of one speaker in a cue, whose text has a span in the file."""

    span: Span
    start: float
    end: float
    speaker: Span | None = None  # of the name in the file
    opens: bool = False  # begins the words of somebody without a name
    pieces: list[tuple[int, int, str | None]] = field(default_factory=list)


def read(text: str, *, id: str = "", metadata: Mapping[str, Any] | None = None) -> Document:
    """Read captions with the times and speakers of their blocks, and the offset of each character in the file."""
    flat = flatten(text)
    is_vtt = flat.lstrip("\ufeff \t\n").startswith("WEBVTT")
    cues = [part for cue in _cues(text, flat, is_vtt) for part in _voices(flat, cue)]
    _name_speakers(flat, cues)
    _drop_repeated(flat, cues)
    derivation = Derivation(text)
    _write(flat, cues, derivation)
    return derivation.document("vtt" if is_vtt else "srt", id, metadata)


def _cues(text: str, flat: str, is_vtt: bool) -> list[_Cue]:
    """Return the cues, whose text ends at a blank line in WebVTT, and in SubRip before the number of the next cue."""
    timings, cues = [*_ARROW.finditer(flat)], list[_Cue]()
    rule = "captions must have cues: a line hh:mm:ss.mmm --> hh:mm:ss.mmm above each text"
    require(bool(timings) or is_vtt or not flat.strip("\ufeff \t\n"), rule, flat.strip()[:60])
    starts = [*(timing.start() for timing in timings), len(flat)]
    for timing, following in zip(timings, starts[1:], strict=True):
        match = _TIMING.match(timing[0])
        if match is None:
            line = flat.count("\n", 0, timing.start()) + 1
            require(False, f"the times of a cue must be hh:mm:ss.mmm --> hh:mm:ss.mmm, at line {line}", timing[0][:80])
        start, end = min(timing.end() + 1, following), following
        if is_vtt:
            blank = _BLANK.search(text, start - 1, end)
            end = blank.start() if blank else end
        elif following < len(flat) and (number := _NUMBER.search(flat, max(start, end - 40), end)):
            end = number.start()
        first, last = (seconds(clock) for clock in match.groups())  # type: ignore[union-attr]
        cues.append(_Cue(Span(start, max(start, end)), first, max(first, last)))
    return cues


def _voices(flat: str, cue: _Cue) -> Iterator[_Cue]:
    """Yield the words of each voice in a cue, without tags, as pieces to copy, or to write for an entity or space."""
    part, at = _Cue(cue.span, cue.start, cue.end), cue.span.start
    for match in _MARKUP.finditer(flat, *cue.span):
        if match.start() > at:
            part.pieces.append((at, match.start(), None))
        at = match.end()
        if match["voice"]:
            if part.pieces:
                yield part
            part = _Cue(cue.span, cue.start, cue.end, Span(*match.span("voice")))
        elif match["entity"] and not (character := html.unescape(match[0])).isspace():
            part.pieces.append((*match.span(), character))
        elif (match["entity"] or match["space"]) and part.pieces and part.pieces[-1][2] != " ":
            part.pieces.append((*match.span(), " "))
    if at < cue.span.end:
        part.pieces.append((at, cue.span.end, None))
    yield part


def _words(flat: str, cue: _Cue) -> str:
    return "".join(flat[start:end] if text is None else text for start, end, text in cue.pieces)


def _name_speakers(flat: str, cues: Sequence[_Cue]) -> None:
    """Take "Name: " at the start of cues as their speaker, if names recur, and no voice is given; ">>" opens a turn."""
    if any(cue.speaker for cue in cues):
        return
    heads = list[Any]()
    for cue in cues:
        first = cue.pieces[0][0] if cue.pieces else cue.span.end
        chevrons = _CHEVRONS.match(flat, first, cue.span.end)
        cue.opens = chevrons is not None
        at = chevrons.end() if chevrons else first
        head = next(iter(find_heads(flat[at : cue.span.end])), None)
        heads.append((at, head if head and not head.start and head.has_label else None))
    counts = Counter(head.name for _, head in heads if head)
    labeled = counts.total()
    if labeled < 2 or (labeled < len(cues) / 2 and labeled < 2 * len(counts)):
        return
    for cue, (at, head) in zip(cues, heads, strict=True):
        if head:
            cue.speaker = Span(at + head.name_start, at + head.label_end)
            body = at + head.end
            cue.pieces = [(max(a, body), b, text) for a, b, text in cue.pieces if b > body]


def _drop_repeated(flat: str, cues: Sequence[_Cue]) -> None:
    """Drop the words with which a cue repeats the end of the one before, if most cues do so: captions that roll."""
    words = [[(m[0], m.start()) for m in re.finditer(r"\S+", _words(flat, cue))] for cue in cues]
    repeats = [_overlap(a, b) if before.end >= cue.start - 0.1 else 0 for (before, a), (cue, b) in pairwise(zip(cues, words, strict=True))]  # fmt: skip  # noqa: E501
    if sum(map(bool, repeats)) < max(_FEW, len(repeats) / 2):
        return
    for cue, own, count in zip(cues[1:], words[1:], repeats, strict=True):
        left, kept = own[count][1] if count < len(own) else len(_words(flat, cue)), list[tuple[int, int, str | None]]()
        for start, end, text in cue.pieces:
            length = end - start if text is None else len(text)
            if left < length:
                kept.append((start + (left if text is None else 0), end, text))
            left = max(left - length, 0)
        cue.pieces = kept


def _overlap(before: Sequence[tuple[str, int]], after: Sequence[tuple[str, int]]) -> int:
    """Return the number of words with which ``after`` begins and ``before`` ends, in time linear in both."""
    joined = [word for word, _ in after] + [None] + [word for word, _ in before][-len(after) :]
    borders, k = [0] * len(joined), 0
    for i in range(1, len(joined)):
        while k and joined[i] != joined[k]:
            k = borders[k - 1]
        k += joined[i] == joined[k]
        borders[i] = k
    return borders[-1] if before and after else 0


def _speaker(flat: str, cue: _Cue, speaker: str) -> str:
    """Return the speaker of a cue, given the one before, without a role in parentheses."""
    if cue.speaker:
        return squeeze(_ROLE.sub("", html.unescape(flat[slice(*cue.speaker)])))
    return "" if cue.opens else speaker


def _write(flat: str, cues: Sequence[_Cue], derivation: Derivation) -> None:
    """Write the cues as blocks; a block that goes on with a speaker's words has no name in its text."""
    speaker, written, begin, end, is_first = "", "", 0.0, 0.0, True

    def end_block() -> None:
        metadata = ({"speakers": [speaker]} if speaker else {}) | times(begin, end)
        derivation.end_block("turn" if speaker else "paragraph", title=speaker or None, metadata=metadata)

    for cue in cues:
        pieces = cue.pieces[: -1 if cue.pieces and cue.pieces[-1][2] == " " else None]
        if not pieces:
            end = cue.end if written else end
            continue
        name, pause = _speaker(flat, cue, speaker), cue.start - end
        is_over = pause >= _LONG_PAUSE or len(written) >= _MOST
        is_over |= (pause >= _PAUSE or len(written) >= _ENOUGH) and _ENDS.search(written[-8:]) is not None
        if written and (name != speaker or cue.opens or is_over):
            end_block()
            written = ""
        if not written:
            begin, is_first = cue.start, is_first or name != speaker or cue.opens
            if name and cue.speaker and is_first:
                derivation.copy(*cue.speaker)
                derivation.write(": ", cue.speaker.end)
            speaker, is_first = name, False
        else:
            derivation.write(" ", pieces[0][0])
        derivation.begin_part(times(cue.start, cue.end))
        for start, stop, piece in pieces[pieces[0][2] == " " :]:
            if piece is None:
                derivation.copy(start, stop)
            else:
                derivation.write(piece, start, stop)
        written, end = f"{written} {_words(flat, cue).strip()}", cue.end
    end_block()
