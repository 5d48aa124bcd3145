"""Measure how chunks respect the layout of parsed documents, with the five metrics of Adaptive Chunking. See
STRUCTURE.md.

python benchmarks/layout.py --data DIR [--sizes 1100 300] [--only NAME ...] [--weights 0 1] [--min-tokens N] [--all]
[--json] python benchmarks/layout.py --data DIR --cost lectures meetings clinical choi ohr/law ohr/manual chroma [--only
NAME ...]

DIR holds ``clair/`` (``adi_parsed/*.json`` and ``mentions/*.parquet``) and ``ohr/``. Of `clair`, each document is
scored by

integrity   share of the parser's blocks that no chunk begins inside, more than 5 characters from either edge.
references  1 less the share of pairs of an entity and its pronoun with a chunk's start or end between them.
size        share of chunks of 100 to 1,100 tokens.
cohesion    mean similarity of a chunk to the parser's blocks in it, of chunks with several.
coherence   mean similarity of a chunk to the windows of 3,000 tokens around it.

and scores are averaged over documents, the second and the first with 95 % bootstrap intervals, from Moura Junior,
Lelong & Blangero 2026, "Adaptive Chunking", LREC. Cohesion and coherence depend on the embedder, which is the built-in
one here: they compare with each other, not with published figures. ``inside`` is the share of cuts, over `clair` and
`ohr`, that are not at the end of a line, of those in lines that fit a chunk. ``--cost`` is the mean difference that
`layout_weight` of 1 makes to one of 0, with its paired 95 % interval: in Pk over texts with known segments (every
eighth of Choi's), from the chunks of the texts as they are written, and in recall over questions, in the first 1,000
tokens. ``--min-tokens`` joins small chunks, to compare the references at about the number of chunks that `recursive`
makes. ``--all`` adds cohesion and coherence.
"""

from __future__ import annotations

import argparse
import json
import re
import sys
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from functools import cached_property
from itertools import pairwise
from pathlib import Path
from typing import Any, TypeAlias

import numpy as np
from runner import argument_parser

from advchunk import create, settings
from advchunk.evaluation.metrics.statistics import Interval, mean_interval
from advchunk.models.embedders import as_embedder
from advchunk.models.wordpiece import default_wordpiece
from advchunk.records import Document, Span

Spans: TypeAlias = Sequence[tuple[int, int]]
Split: TypeAlias = Callable[[str], Spans]

SEGMENTERS = (
    "recursive", "optimal-semantic", "semantic-threshold", "universal-semantic", "mst-semantic", "texttiling", "c99",
    "bayesseg", "lda-topic", "semantic-cluster", "graph-partition", "discourse",
)  # fmt: skip
PUBLISHED = {
    "Adaptive Chunking": (99.9, 68.2, 88.8, 99.4, 99.0),
    "LLM regex (GPT)": (99.6, 70.9, 82.4, 98.1, 98.0),
    "LangChain recursive": (97.7, 65.6, 88.8, 95.0, 96.1),
    "Semantic": (48.1, 69.3, 76.3, 91.3, 97.5),
    "Sentence": (67.2, 78.4, 72.5, 61.9, 86.3),
}
"""Size compliance, cohesion, coherence, integrity, references of 33 documents, of which half are in ``clair``."""
LEAST, MOST, WINDOW, TOLERANCE = 100, 1100, 3000, 5
_LINE_END = re.compile(r"[\r\n]")


@dataclass
class Parsed:
    """A document with the parser's blocks, and the pairs of an entity and a pronoun."""

    name: str
    text: str
    edges: Sequence[int] = ()
    pairs: Sequence[tuple[int, int]] = ()

    @cached_property
    def lines(self) -> list[int]:
        """Offsets of the ends of lines."""
        return [match.end() for match in _LINE_END.finditer(self.text)]


def read_clair(folder: Path) -> list[Parsed]:
    """Return the documents of `clair`; without those that have no mentions."""
    from pyarrow import parquet

    results = []
    for path in sorted((folder / "adi_parsed").glob("*.json")):
        parsed = json.loads(path.read_text("utf-8"))
        text = parsed["full_text"]
        mentions = parquet.read_table(folder / "mentions" / f"{path.stem}.parquet").to_pylist()
        spans = [sorted(pair) for row in mentions for pair in row["entity_pron_mentions"]]
        pairs = [(first[0], last[1]) for first, last in spans]
        edges = sorted({0, *parsed["split_points"], len(text)})
        results.append(Parsed(path.stem, text, edges, pairs))
    return results


def read_ohr(folder: Path) -> list[Parsed]:
    """Return the documents of `ohr`, in both forms."""
    return [Parsed(str(path.relative_to(folder)), path.read_bytes().decode()) for path in sorted(folder.rglob("*.md"))]


# Scores of a document.


def integrity(document: Parsed, spans: Spans) -> float:
    """Return the share of blocks that no chunk begins inside."""
    edges = np.array(document.edges)
    starts = np.unique([start for start, _ in spans[1:]])
    block = np.searchsorted(edges, starts, "right") - 1
    left, right = edges[block], edges[np.minimum(block + 1, len(edges) - 1)]
    is_inside = (starts - left > TOLERANCE) & (right - starts > TOLERANCE)
    return 1 - len(np.unique(block[is_inside])) / (len(edges) - 1)


def references(document: Parsed, spans: Spans) -> float:
    """Return 1 less the share of pairs that a chunk's start or end separates."""
    if not document.pairs:
        return float("nan")
    edges = np.unique([*(start for start, _ in spans[1:]), *(end for _, end in spans[:-1])])
    first, last = np.array(document.pairs).T
    return 1 - float(np.mean(np.searchsorted(edges, last, "right") > np.searchsorted(edges, first, "right")))


def size_compliance(texts: Sequence[str]) -> float:
    """Return the share of chunks of acceptable size."""
    return float(np.mean([LEAST <= default_wordpiece()(text) <= MOST for text in texts]))


def cohesion(document: Parsed, spans: Spans, embed: Callable[[list[str]], Any]) -> float:
    """Return the mean similarity of a chunk to the blocks in it."""
    rows = embed([document.text[a:b] for a, b in spans])
    parts, owners = list[str](), list[int]()
    for i, (start, end) in enumerate(spans):
        inner = [edge for edge in document.edges if start < edge < end]
        if inner:
            parts += [document.text[a:b] for a, b in pairwise([start, *inner, end])]
            owners += [i] * (len(inner) + 1)
    if not parts:
        return float("nan")
    similarity = (embed(parts) * rows[owners]).sum(axis=1)
    numbers = np.array(owners)
    return float(np.mean([similarity[numbers == i].mean() for i in sorted(set(owners))]))


def coherence(document: Parsed, spans: Spans, embed: Callable[[list[str]], Any]) -> float:
    """Return the mean similarity of a chunk to the windows that it is in."""
    if len(spans) < 2:
        return float("nan")
    text, count = document.text, default_wordpiece()
    rows, windows, members, last = embed([text[a:b] for a, b in spans]), list[str](), list[range](), -1
    for first in range(len(spans)):
        end, tokens, at = first, 0, spans[first][0]
        while end < len(spans):
            tokens += count(text[max(at, spans[end][0]) : spans[end][1]])
            if end > first and tokens > WINDOW:
                break
            at, end = max(at, spans[end][1]), end + 1
        if end - first > 1 and end != last:
            windows.append(text[spans[first][0] : at])
            members.append(range(first, end))
            last = end
    if not windows:
        return float("nan")
    means = zip(embed(windows), members, strict=True)
    return float(np.mean(np.concatenate([rows[list(member)] @ window for window, member in means])))


def cuts_inside_lines(document: Parsed, spans: Spans, most: int) -> tuple[int, int]:
    """Return the number of cuts that are not at the end of a line, and of all cuts; without those in lines over
    ``most``.
    """
    text, inside, number, is_short = document.text, 0, 0, dict[int, bool]()
    for start in sorted({start for start, _ in spans if start}):
        before = text[:start].rstrip(" \t") if text[start - 1] in " \t" else text[start - 1 : start]
        if before[-1:] in ("\r", "\n") or text[start] in "\r\n":
            number += 1
            continue
        place = int(np.searchsorted(document.lines, start, "right"))
        if place not in is_short:
            left = document.lines[place - 1] if place else 0
            right = document.lines[place] if place < len(document.lines) else len(text)
            is_short[place] = default_wordpiece()(text[left:right]) <= most
        number += is_short[place]
        inside += is_short[place]
    return inside, number


# Rows.


def segmenter(name: str, embedder: Any, cache: Any, **params: Any) -> Split:
    """Return a chunker of ours as a function that returns spans."""
    chunker = create(name, embedder=embedder, cache=cache, experimental=True, **params)

    def split(text: str) -> Spans:
        return [Span(chunk.start, chunk.end) for chunk in chunker.chunk(Document(text))]

    return split


def langchain(**params: Any) -> Split:
    """Return LangChain's default splitter as a function that returns spans."""
    from langchain_text_splitters import RecursiveCharacterTextSplitter

    splitter = RecursiveCharacterTextSplitter(add_start_index=True, strip_whitespace=False, **params)

    def split(text: str) -> Spans:
        parts = [(part.metadata["start_index"], part.page_content) for part in splitter.create_documents([text])]
        return [(start, start + len(content)) for start, content in parts]

    return split


def rows_of(args: argparse.Namespace) -> Iterator[tuple[str, int, Split]]:
    """Yield the label, the size and the chunker of each row."""
    embedder, cache = as_embedder(None), dict[Any, Any]()
    names = [name for name in SEGMENTERS if not args.only or name in args.only]
    for size in args.sizes:
        for name in names:
            for weight in args.weights or [None]:
                params: dict[str, Any] = {} if weight is None else {"layout_weight": weight}
                params |= {"min_tokens": args.min_tokens} if args.min_tokens else {}
                label = name if weight is None else f"{name}, layout_weight={weight:g}"
                yield label, size, segmenter(name, embedder, cache, max_tokens=size, **params)
        if not args.only:
            yield (
                "LangChain recursive",
                size,
                langchain(chunk_size=size, chunk_overlap=0, length_function=default_wordpiece()),
            )
    if not args.only:
        yield "LangChain recursive, default", 0, langchain()


def measure(
    split: Split, clair: Sequence[Parsed], ohr: Sequence[Parsed], size: int, *, full: bool
) -> dict[str, float | Interval]:
    """Return the scores of a chunker, averaged over documents."""
    embed, scores, inside = as_embedder(None).embed, list[list[float]](), np.zeros((2, 2), dtype=int)
    number = 0
    for document in clair:
        spans = split(document.text)
        number += len(spans)
        texts = [document.text[a:b] for a, b in spans]
        row = [integrity(document, spans), references(document, spans), size_compliance(texts)]
        if full:
            row += [cohesion(document, spans, embed), coherence(document, spans, embed)]
        scores.append(row)
        inside[0] += cuts_inside_lines(document, spans, size)
    for document in ohr:
        inside[1] += cuts_inside_lines(document, split(document.text), size)
    names = ("integrity", "references", "size", "cohesion", "coherence")
    columns = [column[np.isfinite(column)] for column in np.array(scores).T] if scores else []
    means = [mean_interval(column) if i < 2 else float(column.mean()) for i, column in enumerate(columns)]
    shares = inside[:, 0] / np.maximum(inside[:, 1], 1)
    result: dict[str, float | Interval] = {**dict(zip(names, means, strict=False)), "chunks": number}
    return result | {"inside, clair": float(shares[0]), "inside, ohr": float(shares[1])}


def cell(value: float | Interval, factor: float = 100) -> str:
    """Return a score in percent, with its interval if it has one."""
    if isinstance(value, tuple):
        mean, low, high = (factor * part for part in value[:3])
        return f"{mean:.1f} [{low:.1f}, {high:.1f}]"
    return f"{factor * value:.1f}"


def cells(row: Mapping[str, float | Interval]) -> dict[str, str]:
    """Return the cells of a row by column."""
    return {name: f"{value}" if name == "chunks" else cell(value) for name, value in row.items()}


def table(results: Mapping[str, Mapping[str, float | Interval]]) -> str:
    """Return the results as a table in Markdown."""
    names = list(next(iter(results.values())))
    lines = ["| | " + " | ".join(names) + " |", "|---" * (len(names) + 1) + "|"]
    for label, row in results.items():
        lines.append(f"| {label} | " + " | ".join(cells(row).values()) + " |")
    return "\n".join(lines)


def arguments(argv: Sequence[str] | None = None) -> argparse.Namespace:
    """Parse the command line."""
    parser = argument_parser(__doc__)
    parser.add_argument("--sizes", type=int, nargs="+", default=[1100, 300])
    parser.add_argument("--only", nargs="+", default=[])
    parser.add_argument("--weights", type=float, nargs="+")
    parser.add_argument("--min-tokens", type=int, default=0)
    parser.add_argument("--sets", nargs="+", default=["clair", "ohr"])
    parser.add_argument("--all", action="store_true")
    parser.add_argument("--json", action="store_true")
    return parser.parse_args(argv)


def main(argv: Sequence[str] | None = None) -> None:
    """Measure, and print a table."""
    args = arguments(argv)
    clair = read_clair(args.data / "clair") if "clair" in args.sets else []
    ohr = read_ohr(args.data / "ohr") if "ohr" in args.sets else []
    results = dict[str, dict[str, float | Interval]]()
    for label, size, split in rows_of(args):
        results[f"{label}, {size}" if size else label] = row = measure(split, clair, ohr, size, full=args.all)
        print(label, size, cells(row), file=sys.stderr, flush=True)
    print(json.dumps(results, indent=1) if args.json else table(results))


if __name__ == "__main__":
    settings(experimental=True)
    main()
