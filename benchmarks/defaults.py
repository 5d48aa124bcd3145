"""What people get who choose nothing: planted topics at the defaults, and candidates for the default chunker.

python benchmarks/defaults.py --data DIR [--tables topics candidates]

``topics``: ten documents of 60 sentences on five subjects, from articles of ``xquad/en``, in one paragraph, so that the
layout gives no hint. Each chunker at its defaults, and with the preset that is best on ten other documents, of other
articles. Pk is that of its chunks.

``candidates``: planted topics, ``lectures``, integrity of the parser's blocks in ``clair``, recall of passages in 200
and 1,000 tokens, the largest chunk, and seconds per MB of ``clair``. The default is chosen on the first table: every
other text of each kind, and the questions of ``chroma`` and ``ohr/manual``. The second has the other texts, and
``ohr/law`` and ``qmsum``.
"""

from __future__ import annotations

import argparse
import json
import sys
import time
from collections.abc import Iterator, Mapping, Sequence
from pathlib import Path
from typing import Any

import numpy as np
from layout import Parsed, integrity
from question_time import Set, pieces_of, scores

from advchunk import create, describe
from advchunk.chunkers import catalog
from advchunk.chunkers.base import Chunker
from advchunk.evaluation import SegmentedText, pk, read_folder
from advchunk.evaluation.data.segmented_text import join_sentences
from advchunk.evaluation.metrics.boundaries import even_split
from advchunk.models.embedders import as_embedder
from advchunk.retrieval import Retriever
from advchunk.text.sentences import sentences

DOCUMENTS, SUBJECTS, SHORTEST, LONGEST = 10, 5, 6, 18  # 60 sentences
QUESTIONS = (("chroma", "ohr/manual"), ("ohr/law", "qmsum"))  # on which the default is chosen, and others
HALVES = ("chosen on", "others")
BUDGETS = (200, 1000)
EVERY = 3  # question of a set is asked
CANDIDATES: Mapping[str, tuple[str, Mapping[str, Any]]] = {
    "universal-semantic (before)": ("universal-semantic", {}),
    "universal-semantic, topics": ("universal-semantic", {"preset": "topics", "max_tokens": 512}),
    "optimal-semantic": ("optimal-semantic", {}),
    "optimal-semantic, 256": ("optimal-semantic", {"max_tokens": 256}),
    "mst-semantic, 512": ("mst-semantic", {"max_tokens": 512}),
    "semantic-threshold": ("semantic-threshold", {}),
    "recursive": ("recursive", {}),
    "recursive, 256": ("recursive", {"max_tokens": 256}),
}


def plant(data: Path, half: int) -> list[SegmentedText]:
    """Return the planted texts of every other article."""
    paths = sorted((data / "xquad" / "en").glob("*.txt"))[half::2]
    articles = [[f"{' '.join(s.split())} " for s in sentences(p.read_text("utf-8")).strings()] for p in paths]
    rng, texts = np.random.default_rng(half), list[SegmentedText]()
    articles = [article for article in articles if len(article) >= LONGEST]
    for number in range(DOCUMENTS):
        more = rng.integers(0, LONGEST - SHORTEST + 1, SUBJECTS // 2)
        lengths = rng.permutation([*(SHORTEST + more), *(LONGEST - more), (SHORTEST + LONGEST) // 2])
        parts = list[str]()
        for article, length in zip(rng.permutation(len(articles)), lengths.tolist(), strict=False):
            start = int(rng.integers(0, len(articles[article]) - length + 1))
            parts += articles[article][start : start + length]
        texts.append(join_sentences(parts, np.cumsum([0, *lengths]).tolist(), f"planted-{half}-{number}"))
    return texts


def errors(chunker: Chunker | None, texts: Sequence[SegmentedText]) -> list[float]:
    """Return Pk of the chunks of each text; without a chunker, of the whole text."""
    values = list[float]()
    for text in texts:
        n = len(text.units)
        starts = [chunk.start for chunk in chunker.chunk(text.units.text)] if chunker else []
        cuts = np.unique(np.r_[even_split(n, 1), np.searchsorted(text.units.edges, starts)])
        values.append(pk(text.cuts, cuts))
    return values


def topics(data: Path) -> str:
    """Return the table of planted topics."""
    chosen_on, others = plant(data, 0), plant(data, 1)
    lines = [
        "| | Pk | better preset | Pk |",
        "|---|---|---|---|",
        f"| no cut | {np.mean(errors(None, others)):.2f} | | |",
    ]
    for name in filter(catalog.is_general_purpose, catalog.names()):
        presets = describe(name)["presets"]
        made = {preset: create(name, experimental=True, preset=preset) for preset in presets if preset != "published"}
        best = min(made, key=lambda preset: float(np.mean(errors(made[preset], chosen_on))), default="")
        chunker = create(name, experimental=True)
        is_better = best and np.mean(errors(made[best], chosen_on)) < np.mean(errors(chunker, chosen_on))
        shown = f"`{best}` | {np.mean(errors(made[best], others)):.2f}" if is_better else " | "
        lines.append(f"| `{name}` | {np.mean(errors(chunker, others)):.2f} | {shown} |")
        print(lines[-1], file=sys.stderr, flush=True)
    return "\n".join(lines)


def recalls(chunker: Chunker, data: Set) -> list[float]:
    """Return the mean recall of passages in each budget."""
    groups = chunker.chunk_many(data.documents)
    by_name = {document.id: group for document, group in zip(data.documents, groups, strict=True)}
    retriever = Retriever(by_name, embedder=data.embedder)
    return [
        float(np.mean([scores(pieces_of(retriever.passages(q.text, budget)), q)[0] for q in data.questions]))
        for budget in BUDGETS
    ]


def read_blocks(folder: Path, half: int) -> list[Parsed]:
    """Return every other document of `clair` with the parser's blocks."""
    parsed = [json.loads(path.read_text("utf-8")) for path in sorted(folder.glob("adi_parsed/*.json"))[half::2]]
    return [Parsed("", p["full_text"], sorted({0, *p["split_points"], len(p["full_text"])})) for p in parsed]


def rows(data: Path, half: int) -> Iterator[list[str]]:
    """Yield the cells of the head, and of each candidate."""
    embedder = as_embedder(None)
    sets = [Set.read(data, name, embedder, EVERY) for name in QUESTIONS[half]]
    texts = {"planted": plant(data, half), "lectures": read_folder(data / "lectures", "*")[half::2]}
    clair = read_blocks(data / "clair", half)
    yield ["", *(f"Pk, {name}" for name in texts), "integrity", *QUESTIONS[half], "largest", "s / MB"]
    yield ["no cut", *(f"{np.mean(errors(None, own)):.3f}" for own in texts.values()), "", *("" for _ in sets), "", ""]
    for label, (name, params) in CANDIDATES.items():
        chunker = create(name, **params)
        start = time.process_time()
        chunks = [chunker.chunk(document.text) for document in clair]
        seconds = time.process_time() - start
        spans = [[(chunk.start, chunk.end) for chunk in own] for own in chunks]
        cells = [f"{np.mean(errors(chunker, own)):.3f}" for own in texts.values()]
        cells.append(f"{np.mean([integrity(*pair) for pair in zip(clair, spans, strict=True)]):.3f}")
        cells += [" ".join(f"{100 * value:.1f}" for value in recalls(chunker, own)) for own in sets]
        cells.append(f"{max(chunk.tokens for own in chunks for chunk in own):,}")
        cells.append(f"{seconds / sum(len(document.text) for document in clair) * 1e6:.1f}")
        print(label, *cells, file=sys.stderr, flush=True)
        yield [label, *cells]


def candidates(data: Path) -> str:
    """Return the tables of candidates."""
    tables = list[str]()
    for half, title in enumerate(HALVES):
        head, *body = rows(data, half)
        lines = [head, ["---"] * len(head), *body]
        tables.append("\n".join([f"## {title}\n", *(f"| {' | '.join(line)} |" for line in lines)]))
    return "\n\n".join(tables)


def main() -> None:
    """Measure and print."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--data", type=Path, required=True)
    parser.add_argument("--tables", nargs="+", choices=["topics", "candidates"], default=["topics", "candidates"])
    args = parser.parse_args()
    made = {"topics": topics, "candidates": candidates}
    print("\n\n".join(f"# {name}\n\n{made[name](args.data)}" for name in args.tables))


if __name__ == "__main__":
    main()
