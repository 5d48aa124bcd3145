"""Chunk the parts of a document between the user's boundaries, each as a text of its own."""

from collections.abc import Callable, Iterator, Sequence
from dataclasses import replace
from itertools import pairwise

import numpy as np
from numpy.typing import NDArray

from advchunk.building.layout import OpenHeadings
from advchunk.chunkers.explanations import Explanation
from advchunk.engine import Plan, gather
from advchunk.records import Chunk, Document, Ints, Origin, Segmentation, Span, Strength, Units, evolve, origin_of
from advchunk.text.patterns import Patterns, find_all, named


def boundary_offsets(text: str, patterns: Patterns) -> list[int]:
    """Return the offsets of matches with text before and after them, without line ends before a match."""
    offsets = set[int]()
    for name, pattern in named(patterns):
        for match in find_all("boundaries", name, pattern, text):
            start, end = match.span()
            offsets.add(end - len(text[start:end].lstrip("\r\n")))
    edges = [0]
    for offset in sorted(offsets):
        if text[edges[-1] : offset].strip():
            edges.append(offset)
    while len(edges) > 1 and not text[edges[-1] :].strip():
        edges.pop()
    return edges[1:]


def plan_parts(
    plan: Callable[[Document], Plan[Explanation]], document: Document, offsets: Sequence[int]
) -> Plan[Explanation]:
    """Chunk the parts of a document, which start at 0 and at ``offsets``, side by side; return one explanation."""
    parts = list(_parts(document, [0, *offsets, len(document.text)]))
    explanations = yield from gather(plan(part) for part in parts)
    starts = [0, *offsets]
    chunks = list[Chunk]()
    for start, explanation in zip(starts, explanations, strict=True):
        first = len(chunks)
        for chunk in explanation.chunks:
            spans = tuple(Span(start + a, start + b) for a, b in chunk.spans)
            parent = None if chunk.parent is None else first + chunk.parent
            chunks.append(evolve(chunk, spans=spans, parent=parent))
    units = _join_units(document.text, starts, explanations)
    sections = list(pairwise(units.edges.searchsorted([*starts, len(document.text)]).tolist()))
    wholes = (Segmentation(np.array([0, stop - start])) for start, stop in sections)
    segmentations = [e.segmentation or whole for e, whole in zip(explanations, wholes, strict=True)]
    joined = join_segmentations(sections, segmentations, reason="boundary")
    figures = {"parts": [explanation.figures for explanation in explanations]}
    by_size = all(explanation.by_size for explanation in explanations)
    return Explanation(document, chunks, units, replace(joined, figures=figures), by_size=by_size)


def _parts(document: Document, edges: Sequence[int]) -> Iterator[Document]:
    """Yield the parts of a document between edges, each with its blocks and the headings that it is under."""
    blocks, first, headings = document.blocks or (), 0, OpenHeadings(document.text, document.above)
    for start, end in pairwise(edges):
        inside, last = [], first
        above = headings.open
        while last < len(blocks) and blocks[last].span.start < end:
            block = blocks[last]
            inside.append(block.cut(Span(max(block.span.start, start), min(block.span.end, end))).moved(-start))
            if block.span.start >= start:
                headings.enter(block)
            if block.span.end > end:
                break
            last += 1
        text = document.text[start:end]
        yield replace(document, text=text, blocks=tuple(inside), above=above, offsets=None, outline={})
        first = last


def _join_units(text: str, starts: Sequence[int], explanations: Sequence[Explanation]) -> Units:
    edges, strengths = [np.array([0])], list[Ints]()
    for start, explanation in zip(starts, explanations, strict=True):
        length = len(explanation.document.text)
        units = explanation.units or Units(explanation.document.text, np.array([0, length]))
        edges.append(units.edges[1:] + start)
        strengths.append(np.r_[Strength.HARD_BREAK if start else units.strength[0], units.strength[1:-1]])
    return Units(text, np.concatenate(edges), None, np.r_[np.concatenate(strengths), Strength.SENTENCE])


def join_segmentations(
    sections: Sequence[tuple[int, int]], parts: Sequence[Segmentation], reason: str = "section"
) -> Segmentation:
    """Merge the segmentations of sections, given as first and last units; ``reason`` is of the cuts between."""
    n, cuts, reasons, origins, rows, label = sections[-1][1], [0], list[str](), list[Origin](), None, 0
    labels, gaps = np.zeros(n, dtype=np.int64), np.full(n - 1, np.nan)
    for (start, end), part in zip(sections, parts, strict=True):
        reasons += [*([reason] if start else []), *part.reasons]
        origins += ["structure"] if start else []
        own = part.origins
        if own is None or isinstance(own, str):
            own = [own or origin_of(word, first=False) for word in part.reasons]
        origins += own
        cuts += (part.cuts[1:] + start).tolist()
        own_labels = labels_of(part)
        labels[start:end] = label + own_labels
        label += int(own_labels.max()) + 1
        if part.gaps is not None:
            gaps[start : end - 1] = part.gaps
        if part.rows is not None:
            rows = np.zeros((n, part.rows.shape[1]), part.rows.dtype) if rows is None else rows
            rows[start:end] = part.rows
    groups = labels if any(part.labels is not None for part in parts) else None
    return Segmentation(
        np.array(cuts),
        groups,
        reasons,
        None if np.isnan(gaps).all() else gaps,
        rows=rows,
        origins=origins,
        least=_join_least(sections, parts),
        unknown=_join_unknown(sections, parts),
    )


def _join_least(sections: Sequence[tuple[int, int]], parts: Sequence[Segmentation]) -> tuple[Ints, int] | None:
    least = max([part.least[1] for part in parts if part.least], default=0)
    own = [part.least[0] if part.least else np.full(b - a, least) for (a, b), part in zip(sections, parts, strict=True)]
    return (np.concatenate(own), least) if least else None


def _join_unknown(sections: Sequence[tuple[int, int]], parts: Sequence[Segmentation]) -> NDArray[np.bool_] | None:
    blank = [part.blank for part in parts]
    if all(own is None for own in blank):
        return None
    pairs = zip(sections, blank, strict=True)
    return np.concatenate([np.zeros(end - start, bool) if own is None else own for (start, end), own in pairs])


def labels_of(part: Segmentation) -> Ints:
    """Return the labels of a segmentation, from 0; one without labels has those of its segments."""
    if part.labels is None:
        return np.repeat(np.arange(len(part.cuts) - 1), np.diff(part.cuts))
    return np.unique(part.labels, return_inverse=True)[1].astype(np.int64)
