"""Checks of what every chunker promises, shared by `reliability.py` and the contract tests.

A check takes the text that was chunked and its chunks, anything with ``text``, ``spans`` and ``tokens``, and returns a
message for each breach of the promise.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Sequence
from itertools import pairwise
from typing import Protocol

from advchunk.records import Span


class Piece(Protocol):
    """A chunk of any front end."""

    @property
    def text(self) -> str: ...  # noqa: D102
    @property
    def spans(self) -> Sequence[Span]: ...  # noqa: D102
    @property
    def tokens(self) -> int: ...  # noqa: D102


def merged_spans(pieces: Iterable[Piece]) -> list[tuple[int, int]]:
    """Return the spans of all pieces in reading order, joined where they touch.

    Spans that overlap, as those of `sliding-window` do, stay apart.
    """
    merged = list[tuple[int, int]]()
    for start, end in sorted((start, end) for piece in pieces for start, end in piece.spans):
        if merged and merged[-1][1] == start:
            merged[-1] = (merged[-1][0], end)
        else:
            merged.append((start, end))
    return merged


def inexact(text: str, pieces: Iterable[Piece]) -> list[str]:
    """Check that a piece is the join of its spans, which rise, are not empty, and are within the text."""
    problems = list[str]()
    for piece in pieces:
        if piece.text != "".join(text[start:end] for start, end in piece.spans):
            problems.append(f"the text of {list(piece.spans)} is not {piece.text[:60]!r}")
        edges = [edge for span in piece.spans for edge in span]
        rising = all(a < b for a, b in piece.spans) and all(a <= b for a, b in pairwise(edges))
        if not (edges and rising and edges[0] >= 0 and edges[-1] <= len(text)):
            problems.append(f"spans must rise within 0..{len(text)}, got {list(piece.spans)}")
    return problems


def lost(text: str, pieces: Iterable[Piece]) -> list[str]:
    """Check that every character but white space is in a piece."""
    covered = bytearray(len(text))
    for piece in pieces:
        for start, end in piece.spans:
            covered[start:end] = b"\1" * (end - start)
    places = [i for i, character in enumerate(text) if not covered[i] and not character.isspace()]
    return [f"{len(places)} characters are in no chunk, such as {text[i : i + 40]!r} at {i}" for i in places[:1]]


def over(
    pieces: Iterable[Piece],
    limit: int,
    count: Callable[[str], int],
    embedded: Callable[[Piece], str],
    unit: str = "tokens",
) -> list[str]:
    """Check that no piece has more than ``limit`` tokens as it is embedded; a single character cannot be split."""
    sizes = [(count(embedded(piece)), piece.text) for piece in pieces]
    return [f"{size} {unit}, at most {limit}: {text[:60]!r}" for size, text in sizes if size > limit and len(text) > 1]
