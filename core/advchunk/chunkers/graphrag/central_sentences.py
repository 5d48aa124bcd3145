"""Summaries made of the most central sentences, verbatim."""

from collections.abc import Mapping, Sequence
from heapq import heapify, heappop, heappush
from itertools import takewhile
from typing import NamedTuple

import numpy as np

from advchunk.building import sizes
from advchunk.building.sizes import Limits
from advchunk.records import Span, Units
from advchunk.text.counters import Counter

_TITLE_NAMES = 3


class Sentence(NamedTuple):
    """A sentence of a document."""

    document: str
    span: Span  # without white space around it
    text: str
    entities: frozenset[str]  # canonical names


class Summary(NamedTuple):
    """A summary of a part of a corpus."""

    title: str
    text: str  # sentences of the corpus, one a line, or of a model
    sources: tuple[tuple[str, Span], ...]  # documents and spans of the sentences, or of those that a model was shown
    by: str = "sentences"  # or "model"
    status: str = ""  # why there is no summary by a model; empty if there is one or none was asked for


def summarize(
    sentences: Sequence[Sentence],
    strengths: Mapping[str, float],
    names: Mapping[str, str],
    max_tokens: int,
    counter: Counter,
) -> Summary:
    """Return the most central sentences, in their order, that fit.

    A sentence is worth the summed ``strengths`` (weighted degrees >= 0, by canonical name) of its entities that no
    chosen sentence has. The one worth most is chosen (ties to the first) until none is worth anything or the next does
    not fit. A text without entities is summarized by its first sentences.
    """
    chosen = _cover(sentences, strengths, max_tokens, counter)
    chosen = chosen or _first(sentences, max_tokens, counter) or [_shortened(sentences[0], max_tokens, counter)]
    strongest = sorted(strengths, key=lambda name: (-strengths[name], name))[:_TITLE_NAMES]
    text, sources = _join(chosen), tuple((sentence.document, sentence.span) for sentence in chosen)
    return Summary(", ".join(names[name] for name in strongest), text, sources)


def _cover(
    sentences: Sequence[Sentence], strengths: Mapping[str, float], max_tokens: int, counter: Counter
) -> list[Sentence]:
    """Choose greedily: a worth can only fall, so one that is still the highest after an update is the highest."""

    def worth(i: int) -> float:
        return round(sum(strengths.get(name, 0.0) for name in sorted(sentences[i].entities - covered)), 9)

    covered, chosen = set[str](), set[int]()
    queue = [(-worth(i), i) for i in range(len(sentences))]
    heapify(queue)
    while queue:
        highest, i = heappop(queue)
        current = -worth(i)
        if current > highest:
            heappush(queue, (current, i))
            continue
        if not current:
            break
        if counter(_join([sentences[k] for k in sorted({*chosen, i})])) <= max_tokens:
            chosen.add(i)
            covered |= sentences[i].entities
        elif chosen:
            break
    return [sentences[i] for i in sorted(chosen)]


def _first(sentences: Sequence[Sentence], max_tokens: int, counter: Counter) -> list[Sentence]:
    fitting = takewhile(lambda n: counter(_join(sentences[:n])) <= max_tokens, range(1, len(sentences) + 1))
    return list(sentences[: max(fitting, default=0)])


def beginning(text: str, max_tokens: int, counter: Counter) -> str:
    """Return as much of the beginning of a text as fits."""
    whole = Units(text, np.array([0, len(text)]))
    return sizes.fit(whole, Limits(max_tokens, 0, 0, counter)).strings()[0].rstrip()


def _shortened(sentence: Sentence, max_tokens: int, counter: Counter) -> Sentence:
    text = beginning(sentence.text, max_tokens, counter)
    return sentence._replace(text=text, span=Span(sentence.span.start, sentence.span.start + len(text)))


def _join(sentences: Sequence[Sentence]) -> str:
    return "\n".join(sentence.text for sentence in sentences)
