"""Sentence splitters by name, spaCy pipeline or callable."""

from collections.abc import Callable, Iterable
from dataclasses import dataclass
from functools import partial
from typing import Any, Literal, TypeAlias

import numpy as np

from advchunk import registry
from advchunk.errors import ConfigurationError, did_you_mean, is_instance, require
from advchunk.records import Units
from advchunk.text.detection import AUTO
from advchunk.text.sentences import sentences, spacy_documents
from advchunk.text.tiling import Tiler, align, from_spans, owning_space, paragraphs

# The splitters that `as_tiler` takes; a spaCy Language is a callable.
SplitterLike: TypeAlias = Literal["plain", "edus"] | Callable[[str], Any] | None


def spacy_sentences(text: str, nlp: Any) -> Units:
    """Tile a text with the sentences of a spaCy ``Language``; separate paragraphs are faster, and of any length."""
    ends = set(paragraphs(text).edges.tolist())
    for start, doc in spacy_documents(text, nlp):
        rule = "the spaCy pipeline must find sentences: add a parser or a sentencizer"
        require(doc.has_annotation("SENT_START") or len(doc) <= 1, rule, nlp.pipe_names)
        ends.update(start + sent.end_char for sent in list(doc.sents)[:-1])  # the last ends with its paragraph
    return owning_space(text, sorted(ends))


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


def as_tiler(splitter: SplitterLike = None, language: str = AUTO) -> Tiler:
    """Coerce a sentence splitter to a tiler, which can be pickled if ``splitter`` can.

    It is None for `sentences` in ``language``; ``"plain"`` for `plain_sentences`; ``"edus"`` for clauses
    (`chunkers.experimental.edus.Edus`); a spaCy ``Language``; or a callable that returns `Units`, edges, ``(start,
    end)`` spans, or verbatim parts of the text, in order, with only white space between. Anything else raises
    `ConfigurationError`, as does the tiler, naming the piece, if the splitter loses, reorders or rewrites text.
    """
    if splitter is None:
        return partial(sentences, language=language)
    if isinstance(splitter, str):
        return _named(splitter, language)
    if hasattr(splitter, "pipe") and hasattr(splitter, "pipe_names"):
        return partial(spacy_sentences, nlp=splitter)
    rule = "a splitter must be None, 'plain', 'edus', a spaCy Language or a callable"
    require(callable(splitter) and is_instance(splitter), rule, splitter)
    return _Coerced(splitter)


def _named(name: str, language: str) -> Tiler:
    """Return the tiler of a name, for a language if it depends on one."""
    row = registry.find("splitter", name)
    if row is None:
        every = registry.names_of("splitter")
        msg = f"the name of a splitter must be {' or '.join(map(repr, every))}{did_you_mean(name, every)}, got {name!r}"
        raise ConfigurationError(msg)
    splitter = row.load()
    tiler: Tiler = splitter(language) if isinstance(splitter, type) else splitter
    return tiler
