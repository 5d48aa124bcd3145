"""Synthetic texts with true segment boundaries, of any difficulty."""

from itertools import pairwise

import numpy as np

from advchunk.errors import require
from advchunk.evaluation.data.segmented_text import SegmentedText, join_sentences

# A word is three of these; since none ends in "e" or "s", no stemmer changes them.
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
) -> SegmentedText:
    """Generate a text of segments with one topic each, different from those of its neighbors.

    A topic is a vocabulary of invented words with frequencies proportional to 1 / rank, as in natural language. Only
    the words mark the boundaries: the text is one paragraph. The same seed and parameters give the same text in any
    process; ``overlap`` and ``noise`` change words only.

    Parameters
    ----------
    seed : >= 0; determines words, lengths and order.
    segments : number of segments, >= 1.
    sentences, words : minimum and maximum per segment, and per sentence, uniformly distributed.
    topics : number of topics, >= 2; they recur if there are fewer than segments. None for one per segment.
    vocabulary : words of each topic, and of the vocabulary that all topics share.
    overlap : share of words from the shared vocabulary, 0..1: at 0 topics have no word in common, at 1 all words.
    noise : share of sentences on a random topic, 0..1.

    >>> synthetic(3, sentences=(1, 3), words=(3, 5)).units.strings()[:2]
    ['Duminu fosodi fosodi pasika funuta. ', 'Huviso bakuma mafami vibosu. ']
    """
    no_recurrence, topics = topics is None, segments if topics is None else topics
    largest = len(_SYLLABLES) ** 3 // (topics + 1)
    require(1 <= vocabulary <= largest, f"vocabulary must be in 1..{largest} for {topics} topics", vocabulary)
    require(no_recurrence or topics >= 2, "topics must be >= 2", topics)
    rng = np.random.default_rng(seed)
    size = (topics + 1) * vocabulary
    syllables = np.unravel_index(rng.choice(len(_SYLLABLES) ** 3, size, replace=False), [len(_SYLLABLES)] * 3)
    lexicon = ["".join(word) for word in zip(*(_SYLLABLES[part].tolist() for part in syllables), strict=True)]
    lengths = rng.integers(*sentences, size=segments, endpoint=True)
    # Steps of 1 ... topics - 1 around a ring reach every other topic with equal probability.
    steps = np.ones(segments, dtype=np.int64) if no_recurrence else rng.integers(1, topics, size=segments)
    topic = np.repeat(np.cumsum(steps) % topics, lengths)
    topic = np.where(rng.random(len(topic)) < noise, rng.integers(topics, size=len(topic)), topic)
    counts = rng.integers(*words, size=len(topic), endpoint=True)
    source = np.repeat(topic, counts)
    source[rng.random(len(source)) < overlap] = topics
    share = 1 / np.arange(1, vocabulary + 1)
    sampled = source * vocabulary + rng.choice(vocabulary, len(source), p=share / share.sum())
    sampled_words = [lexicon[word] for word in sampled.tolist()]
    ends = np.cumsum([0, *counts]).tolist()
    texts = [" ".join(sampled_words[a:b]).capitalize() + ". " for a, b in pairwise(ends)]
    return join_sentences(texts, np.cumsum([0, *lengths]).tolist(), f"synthetic-{seed}")
