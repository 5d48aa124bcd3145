"""Measure what chunking takes per MB, and calculate and simulate what a terabyte takes on a cluster. Prints Markdown.

python benchmarks/cluster.py --data DIR [--nodes 100] [--cores 16] [--gigabytes 1000] [--shard 64] [--minilm]
    [--only METHOD ...]

DIR has text files. Seconds are of the processor, one thread, models loaded, embedding included. Memory is the peak of a process that
does nothing else.
"""

from __future__ import annotations

import argparse
import heapq
import json
import os
import subprocess
import sys
import time
from pathlib import Path
from typing import Any

import numpy as np
import pyarrow as pa
import pyarrow.parquet as pq
from numpy.typing import NDArray
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
READ_MB = 200.0  # that a node reads or writes a second, from an object store
DEATHS = 0.01  # per worker and hour
SLOW, SLOWDOWN = 0.05, 3.0  # share of the workers that are slow, and how slow


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
    table = pa.table({"id": [path.name for path in paths], "text": texts})
    pq.write_table(pa.Table.from_batches(chunk_batches(table, chunker)), written := pa.BufferOutputStream())
    return {
        "seconds": seconds,
        "bytes": [len(text.encode()) for text in texts],
        "texts": counts[0],
        "calls": counts[1],
        "written": written.getvalue().size,
        "memory": memory,
    }


def simulate(
    times: NDArray[np.float64], workers: int, deaths: float = DEATHS, slow: float = SLOW, seed: int = 0
) -> tuple[float, float]:
    """Return the hours until all shards are done, and the share of the work that was done twice.

    Shards go to the next free worker. A worker dies at times of an exponential distribution; its shard is done again.

    Parameters
    ----------
    times : hours of each shard on a worker that is not slow.
    workers : number of workers.
    deaths : per worker and hour, >= 0.
    slow : share of the workers that take `SLOWDOWN` times as long, 0..1.
    """
    random = np.random.default_rng(seed)
    pace = np.where(random.random(workers) < slow, SLOWDOWN, 1.0)
    free = [(0.0, worker) for worker in range(workers)]
    queue, lost, end = list(times[::-1]), 0.0, 0.0
    while queue:
        now, worker = heapq.heappop(free)
        hours = queue.pop() * pace[worker]
        life = random.exponential(1 / deaths) if deaths else np.inf
        if life < hours:
            queue.append(hours / pace[worker])
            lost, hours = lost + life, life
        end = max(end, now + hours)
        heapq.heappush(free, (now + hours, worker))
    return end, lost / float(times.sum())


def shard_hours(figures: dict[str, Any], megabytes: float, shards: int, seed: int = 0) -> NDArray[np.float64]:
    """Return the hours of shards whose documents are drawn from the measured ones."""
    random = np.random.default_rng(seed)
    seconds, sizes = np.array(figures["seconds"]), np.array(figures["bytes"]) / 1e6
    number = max(round(megabytes / float(sizes.mean())), 1)
    hours = np.empty(shards)
    for shard in range(shards):
        drawn = random.integers(len(sizes), size=number)
        hours[shard] = seconds[drawn].sum() / sizes[drawn].sum() * megabytes / 3600
    return hours


def main() -> None:
    """Measure each method in a process of its own, and print the tables."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--data", type=Path, required=True)
    parser.add_argument("--nodes", type=int, default=100)
    parser.add_argument("--cores", type=int, default=16)
    parser.add_argument("--gigabytes", type=float, default=1000)
    parser.add_argument("--shard", type=float, default=64, help="MB of a shard")
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
    figures = {case: measure_apart(args.data, *case) for case in cases}
    workers, shards = args.nodes * args.cores, round(args.gigabytes * 1000 / args.shard)
    measured, calculated = list[list[Any]](), list[list[Any]]()
    for (method, embedder), row in figures.items():
        name = [method, (embedder or "built-in") if method in EMBEDS else ""]
        megabytes, seconds = sum(row["bytes"]) / 1e6, sum(row["seconds"])
        ratio, speed = row["written"] / sum(row["bytes"]), len(row["seconds"]) / seconds
        per_mb = [f"{row[key] / megabytes:,.0f}" for key in ("texts", "calls")]
        measured.append(
            [*name, f"{seconds / megabytes:.2f}", f"{speed:.1f}", *per_mb, f"{row['memory']:.0f}", f"{ratio:.2f}"]
        )
        hours = shard_hours(row, args.shard, shards)
        end, again = simulate(hours, workers)
        ideal = float(hours.sum()) / workers
        transfer = (1 + ratio) * args.gigabytes * 1000 / READ_MB / args.nodes / 3600
        totals = [f"{hours.sum():,.0f}", f"{ideal:.2f}", f"{end:.2f}", f"{again:.2%}", f"{transfer:.2f}"]
        calculated.append([*name, *totals, "network" if transfer > ideal else "cores"])
    print_table(
        "method | embedder | s/MB | documents/s and core | texts/MB | calls/MB | memory, MB | output / input", measured
    )
    print(
        f"\n{args.gigabytes:.0f} GB, {args.nodes} nodes of {args.cores} cores, {shards:,} shards of {args.shard:.0f} MB\n"
    )
    print_table(
        "method | embedder | core hours | ideal, h | simulated, h | done twice | transfer, h | first limit", calculated
    )


def print_table(head: str, rows: list[list[Any]]) -> None:
    """Print a Markdown table."""
    for row in [head, " | ".join(["---"] * len(rows[0])), *(" | ".join(map(str, row)) for row in rows)]:
        print(f"| {row} |")


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
