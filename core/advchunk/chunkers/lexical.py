"""Base of the chunkers that count words: normalization and its parameters."""

from abc import abstractmethod
from collections.abc import Sequence
from dataclasses import dataclass, field, replace

import numpy as np

from advchunk.building.sizes import Limits
from advchunk.chunkers.base import LinearChunker
from advchunk.chunkers.params import RESOURCE, Params
from advchunk.chunkers.windows import WindowedParams, segment_windows
from advchunk.errors import require
from advchunk.records import Document, Segmentation, Units
from advchunk.text.detection import AUTO
from advchunk.text.sentences import language_code
from advchunk.text.terms import Stemmer, StopWords, Terms, Wording, WordSplitter, stop_words


@dataclass(kw_only=True)
class LexicalParams(Params):
    """Hyper-parameters of the chunkers that count words.

    Parameters
    ----------
    lowercase : True counts "Cats" and "cats" as one word.
    stop_words : list of common words that are not counted: "snowball" (short lists for thirteen languages), "glasgow"
        (a longer one for English) or "none".
    stemmer : algorithm that removes endings, so that "cats" and "cat" count as one word: "snowball" (about thirty
        languages), "porter" (the original, for English) or "none".
    """

    lowercase: bool = True
    stop_words: StopWords = "snowball"
    stemmer: Stemmer = "snowball"

    def check(self) -> None:
        """Check that options for English only are used for English."""
        super().check()
        for name, english in (("stop_words", "glasgow"), ("stemmer", "porter")):
            is_valid = getattr(self, name) != english or language_code(self.language) in {"en", AUTO}
            require(is_valid, f"{name}={english!r} must be for English, language='en' or 'auto'", self.language)

    @property
    def wording(self) -> Wording:
        """The normalization of words."""
        return Wording(
            lowercase=self.lowercase, stop_words=self.stop_words, stemmer=self.stemmer, language=self.language
        )


@dataclass(kw_only=True)
class LexicalChunker(LexicalParams, LinearChunker):
    """Base of the chunkers that count words; a subclass implements `segment_terms`.

    Parameters
    ----------
    word_splitter : callable that returns the words of a text, in order; None is `terms.word_tokens`.
    """

    word_splitter: WordSplitter | None = field(default=None, repr=False, metadata=RESOURCE)

    @abstractmethod
    def segment_terms(self, units: Units, words: Terms, limits: Limits) -> Segmentation:
        """Return the segmentation of at least two units that contain at least one word."""

    def check(self) -> None:
        """Check ``word_splitter`` too."""
        super().check()
        rule = "word_splitter must be a callable or None"
        require(self.word_splitter is None or callable(self.word_splitter), rule, self.word_splitter)

    def language_for(self, document: Document) -> str:
        """Return English for the options that are for English only."""
        return "en" if self.stop_words == "glasgow" or self.stemmer == "porter" else super().language_for(document)

    def load(self) -> None:
        """Load the stop words too, so that a missing extra raises instead of triggering the fallback."""
        super().load()
        stop_words(self.stop_words, self.language)

    def segment(self, units: Units, limits: Limits) -> Segmentation:
        """Count the words of the units and segment them; a text without words is one segment."""
        words = self.terms(units.strings())
        if not len(words.ids):
            unknown = np.ones(len(units), dtype=bool)
            whole = np.array([0, len(units)])
            return Segmentation(whole, reason="words", figures={"words": 0}, unknown=unknown)
        return replace(self.segment_terms(units, words, limits), unknown=np.diff(words.edges) == 0)

    def terms(self, texts: Sequence[str]) -> Terms:
        """Return the normalized words of each text."""
        return self.wording.encode(texts, self.word_splitter)[0]


@dataclass(kw_only=True)
class WindowedLexicalChunker(WindowedParams, LexicalChunker):
    """Base of the chunkers that count words and segment long texts in windows."""

    def segment(self, units: Units, limits: Limits) -> Segmentation:
        """Segment the units at once, or each window with the words in it; ``limits`` are not shifted."""

        def segment(start: int, end: int) -> Segmentation:
            return LexicalChunker.segment(self, units.part(start, end), limits)

        return segment_windows(self, len(units), segment, number="n_segments")
