"""Measure what chunking takes per MB. Prints Markdown.

python benchmarks/cluster.py --data DIR [--minilm] [--only METHOD ...]

DIR has text files. Seconds are of the processor, one thread, models loaded, embedding included. Memory is the peak of a
process that does nothing else.
"""

from __future__ import annotations

import argparse
import json
import os
import subprocess
import sys
import time
from pathlib import Path
from typing import Any

import pyarrow as pa
import pyarrow.parquet as pq
from runner import argument_parser, table
from speed import peak_mb

from advchunk import Document, create
from advchunk.models.embedders import as_embedder
from advchunk.tables import chunk_batches

METHODS: dict[str, dict[str, Any]] = {
    "recursive": {},
    "recursive, vectors": {"vectors": "plain"},
    "sliding-window": {},
    "semantic-threshold": {},
    "universal-semantic": {},
    "mst-semantic": {},
    "optimal-semantic": {},
}
EMBEDS = [name for name in METHODS if name not in ("recursive", "sliding-window")]


class _Counted:
    """Counts the texts that a model embeds."""

    def __init__(self, model: Any) -> None:
        self._model, self.texts, self.calls = model, 0, 0

    def __getattr__(self, name: str) -> Any:
        return getattr(self._model, name)  # its tokenizer and limits

    def embed(self, texts: list[str]) -> Any:
        """Embed and count."""
        self.texts, self.calls = self.texts + len(texts), self.calls + 1
        return self._model.embed(texts)


def measure(method: str, embedder: str | None, paths: list[Path]) -> dict[str, Any]:
    """Return the seconds of each document, its size in bytes, the texts and calls of the embedder, the bytes of the
    chunks in Parquet, and the memory in MB.
    """
    model = _Counted(as_embedder(embedder))
    resources: dict[str, Any] = {"embedder": model} if method in EMBEDS else {}
    chunker = create(method.partition(",")[0], **METHODS[method], **resources)
    texts = [path.read_text(encoding="utf-8") for path in paths]
    chunker.chunk(texts[0][:2000])
    seconds, model.texts, model.calls = list[float](), 0, 0
    for path, text in zip(paths, texts, strict=True):
        start = time.process_time()
        chunker.chunk(Document(text, path.name))
        seconds.append(time.process_time() - start)
    memory, counts = peak_mb(), (model.texts, model.calls)
    texts_of = pa.table({"id": [path.name for path in paths], "text": texts})
    pq.write_table(pa.Table.from_batches(chunk_batches(texts_of, chunker)), written := pa.BufferOutputStream())
    return {
        "seconds": seconds,
        "bytes": [len(text.encode()) for text in texts],
        "texts": counts[0],
        "calls": counts[1],
        "written": written.getvalue().size,
        "memory": memory,
    }


def main() -> None:
    """Measure each method in a process of its own, and print the table."""
    parser = argument_parser(__doc__)
    parser.add_argument("--only", nargs="+", default=list(METHODS), choices=METHODS)
    parser.add_argument("--minilm", action="store_true", help="embed 10 documents with MiniLM, too")
    parser.add_argument("--method", help=argparse.SUPPRESS)
    parser.add_argument("--embedder", help=argparse.SUPPRESS)
    args = parser.parse_args()
    paths = sorted(args.data.rglob("*.txt"))
    if args.method:
        few = 10 if args.embedder else len(paths)
        print(json.dumps(measure(args.method, args.embedder, paths[:few])))
        return
    cases: list[tuple[str, str | None]] = [(method, None) for method in args.only]
    cases += [(method, "minilm") for method in EMBEDS if args.minilm and method in args.only]
    rows = list[list[str]]()
    for method, embedder in cases:
        row = measure_apart(args.data, method, embedder)
        megabytes, seconds = sum(row["bytes"]) / 1e6, sum(row["seconds"])
        rows.append([
            method, (embedder or "built-in") if method in EMBEDS else "", f"{seconds / megabytes:.2f}",
            f"{len(row['seconds']) / seconds:.1f}", *(f"{row[key] / megabytes:,.0f}" for key in ("texts", "calls")),
            f"{row['memory']:.0f}", f"{row['written'] / sum(row['bytes']):.2f}",
        ])  # fmt: skip
    head = [
        "method",
        "embedder",
        "s/MB",
        "documents/s and core",
        "texts/MB",
        "calls/MB",
        "memory, MB",
        "output / input",
    ]
    print(table(head, rows), end="")


def measure_apart(data: Path, method: str, embedder: str | None = None) -> dict[str, Any]:
    """Return the figures of `measure` for the text files in a folder, from a process that does nothing else."""
    command = [sys.executable, __file__, "--data", str(data), "--method", method]
    command += ["--embedder", embedder] if embedder else []
    environment = {**os.environ, "OPENBLAS_NUM_THREADS": "1", "OMP_NUM_THREADS": "1"}
    done = subprocess.run(command, capture_output=True, text=True, check=True, env=environment)
    result: dict[str, Any] = json.loads(done.stdout)
    return result


if __name__ == "__main__":
    main()
