"""Texts with true segment boundaries, and Choi's file format for them."""

import re
from dataclasses import dataclass, replace
from pathlib import Path

import numpy as np

from advchunk.errors import ConfigurationError, require
from advchunk.evaluation.metrics.boundaries import check_cuts
from advchunk.records import Document, Ints, Units


@dataclass(frozen=True, slots=True, eq=False)
class SegmentedText:
    """A text with its units and the (k + 1,) boundaries of its k true segments (see `records`)."""

    units: Units
    cuts: Ints
    name: str = ""

    def __post_init__(self) -> None:
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


def read_choi(path: str | Path, *, encoding: str = "utf-8-sig") -> SegmentedText:
    r"""Read a file with one sentence per line and lines of ten or more "=" between segments.

    The text is made of the sentences, each with a line feed. The first and the last separator are optional, and several
    in a row are one. Blank lines are skipped. See Choi (2000), Advances in domain independent linear text segmentation,
    whose data has this format.
    """
    path = Path(path)
    raw = path.read_bytes()
    try:
        text = raw.decode(encoding)
    except UnicodeDecodeError as error:
        before = len(re.findall(rb"\r\n?|\n", raw[: error.start]))
        msg = f"{path}, line {before + 1}: not {encoding}, pass the right encoding ({error.reason})"
        raise ConfigurationError(msg) from error
    sentences, cuts = list[str](), [0]
    # Not splitlines, which also splits at characters that sentences contain, such as U+2028 and U+0085.
    for number, line in enumerate(re.split(r"\r\n?|\n", text), start=1):
        if line.startswith("====="):
            valid = re.fullmatch(r"={10,}\s*", line) is not None
            require(valid, f'{path}, line {number}: a separator must be ten or more "=", alone', line)
            if len(sentences) > cuts[-1]:
                cuts.append(len(sentences))
        elif line.strip():
            sentences.append(line + "\n")
    require(bool(sentences), f"{path}: a file must have a sentence", f"{len(raw)} bytes")
    if len(sentences) > cuts[-1]:
        cuts.append(len(sentences))
    return join_sentences(sentences, cuts, path.name)


def read_folder(folder: str | Path, pattern: str = "*.ref") -> list[SegmentedText]:
    """Read the files of a folder that match a pattern (`pathlib.Path.glob`), named by their paths, in natural order."""
    folder = Path(folder)
    paths = {path.relative_to(folder).as_posix(): path for path in folder.glob(pattern) if path.is_file()}
    require(bool(paths), f"{folder} must contain a file that matches", pattern)
    return [replace(read_choi(paths[name]), name=name) for name in sorted(paths, key=_natural_key)]


def _natural_key(name: str) -> tuple[list[tuple[str, int]], str]:
    """Return a sort key that orders 2.ref before 10.ref, and equal numbers such as 1 and 01 by name."""
    return [(rest, int(digits or 0)) for rest, digits in re.findall(r"([^0-9]*)([0-9]*)", name)], name
