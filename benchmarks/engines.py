"""Compare the engines of `chunk_shards`, processes and Ray, and one process with two, start-up apart. Prints JSON.

python benchmarks/engines.py --data DIR [--method mst-semantic] [--embedder minilm] [--shards 12] [--documents 4]

DIR has texts, of which documents of 1,000 characters are made. An engine has two workers. It is measured from the end of the
second shard, when both workers have loaded their models, to the end of the last: wall time, and the processor time of this
process and all below it, which other load on the machine does not change. Ray's workers get the priority of other processes, not
their lower one of 15. It needs the extra `ray` and psutil.
"""

from __future__ import annotations

import json
import os
import tempfile
import time
from pathlib import Path
from typing import Any, Literal, NamedTuple

import psutil
import pyarrow as pa
import pyarrow.parquet as pq
from runner import argument_parser
from speed import read_texts

from advchunk import create
from advchunk.errors import import_extra
from advchunk.tables import chunk_shards

SIZE = 1000  # characters of a document
WORKERS = 2


class Moment(NamedTuple):
    """Wall time and the processor time of all processes, in seconds."""

    wall: float
    cpu: float


def now() -> Moment:
    """Return the time, and the processor time of this process and all below it, ended ones included."""
    own = psutil.Process()
    seconds = sum(own.cpu_times()[:4])
    for process in own.children(recursive=True):
        try:
            seconds += sum(process.cpu_times()[:4])
        except psutil.NoSuchProcess:
            continue
    return Moment(time.perf_counter(), seconds)


def make_documents(texts: list[str], number: int) -> list[str]:
    """Return documents of equal length, no two of them equal."""
    whole = "\n\n".join(texts)
    starts = (at % max(len(whole) - SIZE, 1) for at in range(0, 997 * number, 997))
    return [f"{i}. {whole[at : at + SIZE]}" for i, at in enumerate(starts)]


def run_shards(
    engine: Literal["processes", "ray"], table: Path, folder: Path, method: str, **params: Any
) -> dict[str, float]:
    """Return the seconds of one engine between the end of the second shard and the last."""
    moments: list[Moment] = []
    start = now()
    chunk_shards(
        table, folder, method, engine=engine, workers=WORKERS, progress=lambda _: moments.append(now()), **params
    )
    first, last = moments[WORKERS - 1], moments[-1]
    return {
        "start and first shards, wall": round(first.wall - start.wall, 2),
        "wall": round(last.wall - first.wall, 3),
        "cpu": round(last.cpu - first.cpu, 3),
    }


def engines(texts: list[str], shards: int, documents: int, method: str, **params: Any) -> dict[str, Any]:
    """Return the seconds of each engine, and what Ray takes more, as a share."""
    ray = import_extra("ray", "ray")
    own = {"PYTHONPATH": os.pathsep.join([str(Path(__file__).parent), os.environ.get("PYTHONPATH", "")])}
    os.environ |= {"OMP_NUM_THREADS": "1", "RAY_USAGE_STATS_ENABLED": "0", "RAY_worker_niceness": "0", **own}
    rows = make_documents(texts, shards * documents)
    results: dict[str, Any] = {"documents": len(rows), "shards": shards, "method": method, **params}
    with tempfile.TemporaryDirectory() as folder:
        table = Path(folder) / "texts.parquet"
        pq.write_table(
            pa.table({"id": [str(i) for i in range(len(rows))], "text": rows}), table, row_group_size=documents
        )
        results["processes"] = run_shards("processes", table, Path(folder) / "processes", method, **params)
        ray.init(num_cpus=WORKERS, include_dashboard=False, log_to_driver=False, object_store_memory=100_000_000)
        try:
            results["ray"] = run_shards("ray", table, Path(folder) / "ray", method, **params)
        finally:
            ray.shutdown()
        chunks = [pq.read_table(Path(folder) / engine)["chunk_id"] for engine in ("processes", "ray")]
    results["same ids"] = chunks[0].equals(chunks[1])
    for kind in ("wall", "cpu"):
        results[f"more with Ray, {kind}"] = round(results["ray"][kind] / results["processes"][kind] - 1, 3)
    return results


def workers(texts: list[str], documents: int, method: str, **params: Any) -> dict[str, Any]:
    """Return the wall seconds of one process and of two, start-up included, and their ratio."""
    chunker, rows, seconds = create(method, **params), make_documents(texts, documents), []
    for number in (1, WORKERS):
        start = time.perf_counter()
        for _ in chunker.stream(rows, workers=number):
            pass
        seconds.append(time.perf_counter() - start)
    return {
        "documents": documents,
        "method": method,
        "one process, s": round(seconds[0], 3),
        f"{WORKERS} processes, s": round(seconds[1], 3),
        "times as fast": round(seconds[0] / seconds[1], 2),
    }


def main() -> None:
    """Measure, and print JSON."""
    parser = argument_parser(__doc__)
    parser.add_argument("--method", default="mst-semantic")
    parser.add_argument("--embedder", default="minilm")
    parser.add_argument("--shards", type=int, default=12)
    parser.add_argument("--documents", type=int, default=4, help="of a shard")
    args = parser.parse_args()
    texts = read_texts(args.data)
    print(json.dumps(engines(texts, args.shards, args.documents, args.method, embedder=args.embedder), indent=1))


if __name__ == "__main__":
    main()
