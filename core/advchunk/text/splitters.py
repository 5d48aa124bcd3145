"""Sentence splitters by name, spaCy pipeline or callable, and the splitter into elementary discourse units."""

from collections.abc import Callable, Iterable, Mapping
from dataclasses import dataclass
from functools import partial
from itertools import pairwise
from typing import Any, Literal, TypeAlias

import numpy as np

from advchunk.errors import ConfigurationError, did_you_mean, require
from advchunk.records import Units
from advchunk.text.edus.lexicon import get_lexicon
from advchunk.text.edus.parsed import parsed_edus
from advchunk.text.edus.rules import clause_ends
from advchunk.text.sentences import plain_sentences, sentences, spacy_documents
from advchunk.text.tiling import Tiler, align, from_ends, from_spans, owning_space, paragraphs, unit_end

# The splitters that `as_tiler` takes; a spaCy Language is a callable.
SplitterLike: TypeAlias = Literal["plain", "edus"] | Callable[[str], Any] | None


def spacy_sentences(text: str, nlp: Any) -> Units:
    """Tile a text with the sentences of a spaCy ``Language`` with a parser, a senter or a sentencizer.

    Paragraphs go through ``nlp.pipe`` separately, which is faster than one long document, and has no length limit.
    """
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


def as_tiler(splitter: SplitterLike = None, language: str = "en") -> Tiler:
    """Coerce a sentence splitter to a tiler, which can be pickled if ``splitter`` can.

    Parameters
    ----------
    splitter : None for `sentences` in ``language``; ``"plain"`` for `plain_sentences`; ``"edus"`` for clauses, with the
        defaults of `Edus`; a spaCy ``Language``; or a callable that takes a text and returns `Units`, edges,
        ``(start, end)`` spans, or strings that are verbatim parts of the text, in order, with only white space between.

    Anything else raises `ConfigurationError`. The tiler raises it too, naming the piece, if the splitter loses, reorders
    or rewrites text.

    >>> as_tiler(str.split)("to be  or").strings()
    ['to ', 'be  ', 'or']
    """
    if splitter is None:
        return partial(sentences, language=language)
    if isinstance(splitter, str):
        rule = f"the name of a splitter must be 'plain' or 'edus'{did_you_mean(splitter, ['plain', 'edus'])}"
        require(splitter in {"plain", "edus"}, rule, splitter)
        return Edus(language) if splitter == "edus" else plain_sentences
    if hasattr(splitter, "pipe") and hasattr(splitter, "pipe_names"):
        return partial(spacy_sentences, nlp=splitter)
    require(callable(splitter), "a splitter must be None, 'plain', 'edus', a spaCy Language or a callable", splitter)
    return _Coerced(splitter)


@dataclass(frozen=True)
class Edus:
    """Tile a text with its elementary discourse units; usable as the ``sentence_splitter`` of any chunker.

    Units are those of the RST Discourse Treebank, with the departures below: sentences; clauses with their own subject that
    are coordinated by "and", "but", a semicolon or a colon; adverbial clauses, also with a participle ("without telling
    anyone"); the clause reported by a verb of saying or thinking, and ", he said" after it; relative clauses after a comma;
    and phrases that open with a strong cue ("because of", "according to").

    Departures: units tile the text, so clauses in the middle of another unit stay in it; so do restrictive relative clauses
    and clausal subjects, as in Mann and Thompson. Brackets and quotations are kept whole. Bare infinitives of purpose, and
    second predicates of one subject, are not units.

    On 26 of our English sentences, annotated by hand, connectives and punctuation have a recall of .91 and a precision of
    .95; parses of spaCy's small model .96 and 1. Without a parser, 1 to 2 million characters take a second. Verbs are
    recognized in English only: in other languages any two words count as a clause, and commas decide.

    Parameters
    ----------
    language : code of the language whose connectives are used; without a lexicon, only sentences and semicolons count.
    connectives, lexicon : changes to the language's lexicon, or another lexicon (see `get_lexicon`).
    sentences : splitter into the sentences that contain the units (see `as_tiler`).
    nlp : a spaCy ``Language`` with a parser, to find sentences and clauses by its parses instead of by connectives and
        punctuation.

    See Carlson & Marcu 2001, "Discourse Tagging Reference Manual", ISI-TR-545. Carlson, Marcu & Okurowski 2001, "Building a
    discourse-tagged corpus in the framework of Rhetorical Structure Theory", SIGdial. Mann & Thompson 1988, "Rhetorical
    Structure Theory", Text 8(3). Prasad et al. 2008, "The Penn Discourse TreeBank 2.0", LREC, for connectives.

    >>> Edus()("If it rains, we stay, but she said that it would not.").strings()
    ['If it rains, ', 'we stay, ', 'but she said ', 'that it would not.']
    """

    language: str = "en"
    connectives: Mapping[str, Any] | None = None
    lexicon: Mapping[str, Any] | None = None
    sentences: Any = None
    nlp: Any = None

    def __post_init__(self) -> None:
        valid = self.nlp is None or hasattr(self.nlp, "pipe_names")
        require(valid, "nlp must be a spaCy Language with a parser, or None", self.nlp)

    def __call__(self, text: str) -> Units:
        """Tile a text."""
        lexicon = get_lexicon(self.language, self.connectives, self.lexicon)
        if self.nlp is not None:
            return parsed_edus(text, self.nlp, lexicon)
        edges = as_tiler(self.sentences, self.language)(text).edges.tolist()
        inner = (start + i for start, end in pairwise(edges) for i in clause_ends(text[start:end], lexicon))
        return from_ends(text, [*edges, *(unit_end(text, end) for end in inner)])
