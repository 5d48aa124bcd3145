"""Texts whose segments are known, and the file format that the field shares them in."""

from __future__ import annotations

import re
from dataclasses import dataclass, replace
from pathlib import Path

import numpy as np

from advchunk.errors import ConfigurationError, require
from advchunk.evaluation.metrics.boundaries import rising
from advchunk.records import Document, Ints, Units


@dataclass(frozen=True, slots=True, eq=False)
class Segmented:
    """A text, its units, and where its segments meet.

    Parameters
    ----------
    units : the text and its sentences.
    cuts : (k + 1,) where the k true segments meet (see `records`).
    name : says which text it is.

    Raises
    ------
    ConfigurationError : cuts that do not rise from 0 to the number of units.
    """

    units: Units
    cuts: Ints
    name: str = ""

    def __post_init__(self) -> None:
        last = int(rising(self.cuts)[-1])
        require(last == len(self.units), f"cuts must end at {len(self.units)}, the number of units", last)

    def document(self) -> Document:
        """Return the text as a chunker takes it."""
        return Document(self.units.text, self.name)

    def words(self, pattern: str = r"\S+") -> Ints:
        r"""Return the words of each unit, the weights of scorers in words.

        Parameters
        ----------
        pattern : what a word is. Choi's scorer parts them at white space; bayes-seg's takes ``[a-zA-Z0-9$]+``, but
            for the word "inaudible".

        >>> segmented(["It's 2. ", "Three? "], [0, 2]).words().tolist()
        [2, 1]
        """
        return np.array([len(re.findall(pattern, text)) for text in self.units.strings()], dtype=np.int64)


def segmented(sentences: list[str], cuts: list[int], name: str = "") -> Segmented:
    """Return the text that the sentences make when joined as they are, cut where ``cuts`` says."""
    edges = np.cumsum([0, *map(len, sentences)], dtype=np.int64)
    return Segmented(Units("".join(sentences), edges), np.array(cuts, dtype=np.int64), name)


def read_choi(path: str | Path, *, encoding: str = "utf-8-sig") -> Segmented:
    r"""Read a file of one sentence a line, its segments parted by lines of ten or more "=".

    The text is the file's sentences as they stand, each with a line feed, whatever the line ends of the file. The
    first separator and the last may be missing. Lines of white space are left out.

    Parameters
    ----------
    encoding : of the file; the default is UTF-8, with or without its mark.

    Raises
    ------
    ConfigurationError : with file and line, where bytes do not decode, a segment is empty, or a line that begins
        with "=====" is not a separator; and for a file without sentences.

    References
    ----------
    Choi (2000), Advances in domain independent linear text segmentation, whose data this is the format of.
    """
    path = Path(path)
    raw = path.read_bytes()
    try:
        text = raw.decode(encoding)
    except UnicodeDecodeError as error:
        before = len(re.findall(rb"\r\n?|\n", raw[: error.start]))
        msg = f"{path}, line {before + 1}: not {encoding}, pass the right encoding ({error.reason})"
        raise ConfigurationError(msg) from error
    sentences, cuts, last = list[str](), [0], 0
    # Not splitlines, which also ends a line at characters that sentences contain, such as U+2028 and U+0085.
    for number, line in enumerate(re.split(r"\r\n?|\n", text), start=1):
        if line.startswith("====="):
            right = re.fullmatch(r"={10,}\s*", line) is not None
            require(right, f'{path}, line {number}: a separator must be ten or more "=", alone', line)
            empty = last and len(sentences) == cuts[-1]
            require(not empty, f"{path}, line {number}: a segment must have a sentence", f"none since line {last}")
            if sentences:
                cuts.append(len(sentences))
            last = number
        elif line.strip():
            sentences.append(line + "\n")
    require(bool(sentences), f"{path}: a file must have a sentence", f"{len(raw)} bytes")
    if len(sentences) > cuts[-1]:
        cuts.append(len(sentences))
    return segmented(sentences, cuts, path.name)


def read_folder(folder: str | Path, pattern: str = "*.ref", *, encoding: str = "utf-8-sig") -> list[Segmented]:
    """Read the files of a folder that match, 2.ref before 10.ref; each is named by its path within the folder.

    Parameters
    ----------
    pattern : which files, as `pathlib.Path.glob` takes it; "**/*.ref" for those in folders below, too.
    encoding : of the files (see `read_choi`).

    Raises
    ------
    ConfigurationError : for a folder without such a file, and as `read_choi` does.
    """
    folder = Path(folder)
    paths = {path.relative_to(folder).as_posix(): path for path in folder.glob(pattern) if path.is_file()}
    require(bool(paths), f"{folder} must hold a file that matches", pattern)
    return [replace(read_choi(paths[name], encoding=encoding), name=name) for name in sorted(paths, key=_natural)]


def _natural(name: str) -> tuple[list[tuple[str, int]], str]:
    """Order numbers within names by value; and equal ones, such as 1 and 01, by name."""
    return [(rest, int(digits or 0)) for rest, digits in re.findall(r"([^0-9]*)([0-9]*)", name)], name
