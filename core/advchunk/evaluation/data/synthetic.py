"""Make texts whose segments are known by construction, from trivial to hopeless."""

from __future__ import annotations

from itertools import pairwise

import numpy as np

from advchunk.errors import require
from advchunk.evaluation.data.datasets import Segmented, segmented

# Words are three of these; without "e" and "s" at their end no stemmer takes them for inflected.
_SYLLABLES = np.array([consonant + vowel for consonant in "bdfghklmnprstvz" for vowel in "aiou"])


def synthetic(
    seed: int,
    *,
    segments: int = 10,
    sentences: tuple[int, int] = (3, 11),
    words: tuple[int, int] = (6, 20),
    topics: int | None = None,
    vocabulary: int = 100,
    overlap: float = 0.5,
    noise: float = 0.0,
) -> Segmented:
    """Make a text of segments that each keep to a topic, and neighbors never to the same.

    A topic is a vocabulary of invented words, of which few are frequent and most rare (the r-th has a share in
    proportion to 1 / r), as in language. Nothing but the words tells where a segment ends: it is all one paragraph.
    The same seed and parameters give the same text in any process; ``overlap`` and ``noise`` change words only.

    Parameters
    ----------
    seed : >= 0; another one changes words, lengths and order.
    segments : how many, >= 1.
    sentences : fewest and most in a segment, each number equally likely.
    words : fewest and most in a sentence, likewise.
    topics : how many there are, >= 2, so that they recur if there are fewer than segments; None for one a segment.
    vocabulary : words of each topic, and of what all have in common.
    overlap : share of words from what all topics have in common, 0..1: at 0 the topics share no word, at 1 there
        is nothing to find.
    noise : share of sentences that stray to any of the topics, 0..1.

    Raises
    ------
    ConfigurationError : what is out of range.

    >>> synthetic(3, sentences=(1, 3), words=(3, 5)).units.strings()[:2]
    ['Duminu fosodi fosodi pasika funuta. ', 'Huviso bakuma mafami vibosu. ']
    """
    own, topics = topics is None, segments if topics is None else topics
    _check(seed, segments, sentences, words, topics, vocabulary, overlap, noise)
    require(own or topics >= 2, "topics must be >= 2", topics)
    rng = np.random.default_rng(seed)
    size = (topics + 1) * vocabulary
    syllables = np.unravel_index(rng.choice(len(_SYLLABLES) ** 3, size, replace=False), [len(_SYLLABLES)] * 3)
    lexicon = ["".join(word) for word in zip(*(_SYLLABLES[part].tolist() for part in syllables), strict=True)]

    lengths = rng.integers(*sentences, size=segments, endpoint=True)
    # To go on by 1 ... topics - 1, in a ring, is to reach each of the others alike.
    steps = np.ones(segments, dtype=np.int64) if own else rng.integers(1, topics, size=segments)
    topic = np.repeat(np.cumsum(steps) % topics, lengths)
    topic = np.where(rng.random(len(topic)) < noise, rng.integers(topics, size=len(topic)), topic)

    counts = rng.integers(*words, size=len(topic), endpoint=True)
    source = np.repeat(topic, counts)
    source[rng.random(len(source)) < overlap] = topics
    share = 1 / np.arange(1, vocabulary + 1)
    drawn = source * vocabulary + rng.choice(vocabulary, len(source), p=share / share.sum())

    said = [lexicon[word] for word in drawn.tolist()]
    ends = np.cumsum([0, *counts]).tolist()
    made = [" ".join(said[a:b]).capitalize() + ". " for a, b in pairwise(ends)]
    return segmented(made, np.cumsum([0, *lengths]).tolist(), f"synthetic-{seed}")


def _check(
    seed: int,
    segments: int,
    sentences: tuple[int, int],
    words: tuple[int, int],
    topics: int,
    vocabulary: int,
    overlap: float,
    noise: float,
) -> None:
    """Raise what `synthetic` says it does."""
    require(seed >= 0, "seed must be >= 0", seed)
    require(segments >= 1, "segments must be >= 1", segments)
    require(1 <= sentences[0] <= sentences[1], "sentences must be (fewest, most), 1 <= fewest <= most", sentences)
    require(1 <= words[0] <= words[1], "words must be (fewest, most), 1 <= fewest <= most", words)
    most = len(_SYLLABLES) ** 3 // (topics + 1)
    require(1 <= vocabulary <= most, f"vocabulary must be in 1..{most} for {topics} topics", vocabulary)
    require(0 <= overlap <= 1, "overlap must be in 0..1", overlap)
    require(0 <= noise <= 1, "noise must be in 0..1", noise)
