"""Texts with true segment boundaries: made up, or read from files in Choi's format."""

import re
from dataclasses import dataclass, replace
from itertools import pairwise
from pathlib import Path

import numpy as np

from advchunk.errors import ConfigurationError, check_fields, checked, require
from advchunk.evaluation.metrics.boundaries import check_cuts
from advchunk.records import Document, Ints, Units

_MOST = 100_000  # segments, and sentences or words of one
# A word is three of these; since none ends in "e" or "s", no stemmer changes them.
_SYLLABLES = np.array([consonant + vowel for consonant in "bdfghklmnprstvz" for vowel in "aiou"])


@dataclass(frozen=True, slots=True, eq=False)
class SegmentedText:
    """A text with its units and the (k + 1,) boundaries of its k true segments (see `records`)."""

    units: Units
    cuts: Ints
    name: str = ""

    def __post_init__(self) -> None:
        check_fields(self)
        last = int(check_cuts(self.cuts)[-1])
        require(last == len(self.units), f"cuts must end at {len(self.units)}, the number of units", last)

    def document(self) -> Document:
        """Return the text as a document."""
        return Document(self.units.text, self.name)

    def words(self, pattern: str = r"\S+") -> Ints:
        r"""Return the number of words in each unit, as weights for `pk` and `window_diff`.

        Choi's scorer splits at white space; that of bayes-seg counts ``[a-zA-Z0-9$]+`` other than "inaudible".

        >>> join_sentences(["It's 2. ", "Three? "], [0, 2]).words().tolist()
        [2, 1]
        """
        return np.array([len(re.findall(pattern, text)) for text in self.units.strings()], dtype=np.int64)


def join_sentences(sentences: list[str], cuts: list[int], name: str = "") -> SegmentedText:
    """Return the text made of ``sentences`` joined as they are, with ``cuts`` as its segment boundaries."""
    edges = np.cumsum([0, *map(len, sentences)], dtype=np.int64)
    return SegmentedText(Units("".join(sentences), edges), np.array(cuts, dtype=np.int64), name)


@checked
def read_choi(path: str | Path, *, encoding: str = "utf-8-sig") -> SegmentedText:
    r"""Read a file with one sentence per line and lines of ten or more "=" between segments.

    The text is made of the sentences, each with a line feed. The first and the last separator are optional, and several
    in a row are one. Blank lines are skipped. See Choi (2000), whose data has this format.
    """
    path = Path(path)
    raw = path.read_bytes()
    try:
        text = raw.decode(encoding)
    except UnicodeDecodeError as error:
        before = len(re.findall(rb"\r\n?|\n", raw[: error.start]))
        msg = f"{path}, line {before + 1}: not {encoding}, pass the right encoding ({error.reason})"
        raise ConfigurationError(msg) from error
    except (LookupError, ValueError) as error:
        msg = f"encoding must be the name of a text encoding, such as 'cp1252', got {encoding!r}"
        raise ConfigurationError(msg) from error
    sentences, cuts = list[str](), {0}
    # Not splitlines, which also splits at characters that sentences contain, such as U+2028 and U+0085.
    for number, line in enumerate(re.split(r"\r\n?|\n", text), start=1):
        if line.startswith("====="):
            valid = re.fullmatch(r"={10,}\s*", line) is not None
            require(valid, f'{path}, line {number}: a separator must be ten or more "=", alone', line)
            cuts.add(len(sentences))
        elif line.strip():
            sentences.append(line + "\n")
    require(bool(sentences), f"{path}: a file must have a sentence", f"{len(raw)} bytes")
    return join_sentences(sentences, sorted({*cuts, len(sentences)}), path.name)


@checked
def read_folder(folder: str | Path, pattern: str = "*.ref") -> list[SegmentedText]:
    """Read the files of a folder that match a pattern (`pathlib.Path.glob`), named by their paths, in natural order."""
    folder = Path(folder)
    paths = {path.relative_to(folder).as_posix(): path for path in folder.glob(pattern or "-") if path.is_file()}
    require(bool(paths), f"{folder} must contain a file that matches", pattern)
    parts = {name: re.findall(r"([^0-9]*)([0-9]*)", name) for name in sorted(paths)}
    order = sorted(parts, key=lambda name: [(rest, int(digits or 0)) for rest, digits in parts[name]])
    return [replace(read_choi(paths[name]), name=name) for name in order]


@checked
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
    require(seed >= 0, "seed must be >= 0", seed)
    require(1 <= segments <= _MOST, f"segments must be in 1..{_MOST}", segments)
    require(topics is None or topics >= 2, "topics must be >= 2", topics)
    no_recurrence, topics = topics is None, segments if topics is None else topics
    largest = len(_SYLLABLES) ** 3 // (topics + 1)
    require(1 <= vocabulary <= largest, f"vocabulary must be in 1..{largest} for {topics} topics", vocabulary)
    for (low, high), name in ((sentences, "sentences"), (words, "words")):
        require(1 <= low <= high <= _MOST, f"{name} must be two numbers in 1..{_MOST} that rise", (low, high))
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
