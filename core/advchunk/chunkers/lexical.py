"""What the chunkers that count words share: one normalizer, its parameters, and a base."""

from __future__ import annotations

from abc import abstractmethod
from collections.abc import Sequence
from dataclasses import dataclass, field
from typing import Any

import numpy as np

from advchunk.chunkers.base import LinearChunker
from advchunk.chunkers.params import RESOURCE, Params
from advchunk.errors import require
from advchunk.records import Segmentation, Units
from advchunk.sizes import Limits
from advchunk.text.sentences import language_code
from advchunk.text.terms import Stemmer, StopWords, Terms, Wording, stop_words


@dataclass(kw_only=True)
class LexicalParams(Params):
    """Hyper-parameters of the chunkers that count words.

    Parameters
    ----------
    lowercase : whether "Cats" and "cats" are one word.
    stop_words : the words that say nothing of a topic, and are not counted: "snowball" has a short list
        for each of thirteen languages, "glasgow" a longer one of English; "none" counts all.
    stemmer : what takes the endings off, so that "cats" and "cat" are one word: "snowball" knows some
        thirty languages, "porter" is the original for English; "none" leaves them.
    """

    lowercase: bool = True
    stop_words: StopWords = "snowball"
    stemmer: Stemmer = "snowball"

    def check(self) -> None:
        """Add the rules for what is English only."""
        super().check()
        for name, only in (("stop_words", "glasgow"), ("stemmer", "porter")):
            value = getattr(self, name)
            right = value != only or language_code(self.language) == "en"
            require(right, f"{name}={only!r} must be for English, language='en'", self.language)

    @property
    def wording(self) -> Wording:
        """How words are normalized."""
        return Wording(
            lowercase=self.lowercase, stop_words=self.stop_words, stemmer=self.stemmer, language=self.language
        )


@dataclass(kw_only=True)
class LexicalChunker(LexicalParams, LinearChunker):
    """Counts words: a subclass writes `segment_terms` of units, given their terms.

    Parameters
    ----------
    word_splitter : a callable that returns the words of a text, in order; None is `terms.word_tokens`.
    """

    word_splitter: Any = field(default=None, repr=False, metadata=RESOURCE)

    @abstractmethod
    def segment_terms(self, units: Units, words: Terms, limits: Limits) -> Segmentation:
        """Return the segmentation of at least two units, which have some word between them."""

    def check(self) -> None:
        """Add the rule for ``word_splitter``."""
        super().check()
        rule = "word_splitter must be a callable or None"
        require(self.word_splitter is None or callable(self.word_splitter), rule, self.word_splitter)

    def load(self) -> None:
        """Load the stop words too: without them every document would go to the fallback."""
        super().load()
        stop_words(self.stop_words, self.language)

    def segment(self, units: Units, limits: Limits) -> Segmentation:
        """Count the words of the units, then divide them; where there are no words, there is no boundary."""
        words = self.terms(units.strings())
        if not len(words.ids):
            return Segmentation(np.array([0, len(units)]), reason="words", figures={"words": 0})
        return self.segment_terms(units, words, limits)

    def terms(self, texts: Sequence[str]) -> Terms:
        """Return the normalized words of each text."""
        return self.wording.encode(texts, self.word_splitter)[0]
