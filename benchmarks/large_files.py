"""Measure the memory and the seconds of chunking one large file of data. See STRUCTURE.md.

python benchmarks/large_files.py csv|jsonl [--gigabytes 1] [--folder DIR]

Writes the file by a rule into the folder, and deletes it afterwards. Prints a JSON line.
"""

from __future__ import annotations

import argparse
import json
import resource
import time
from collections.abc import Iterator
from itertools import count
from pathlib import Path
from tempfile import TemporaryDirectory

from advchunk import RecursiveChunker, chunk_files

WORDS = ["valve", "pump", "hall", "oil", "weekly", "brass", "steel", "green", "pressure", "north"]


def rows(form: str) -> Iterator[str]:
    """Yield the lines of a file."""
    if form == "csv":
        yield "id,name,note,pressure\n"
    for i in count():
        note = " ".join(WORDS[(i * 7 + k * k) % 10] for k in range(12)) + f", hall {i % 97}"
        row = {"id": i, "name": f"Pump {i}", "note": note, "pressure": i % 1000 / 10}
        yield f'{i},Pump {i},"{note}",{i % 1000 / 10}\n' if form == "csv" else json.dumps(row) + "\n"


def main() -> None:
    """Measure and print."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("form", choices=["csv", "jsonl"])
    parser.add_argument("--gigabytes", type=float, default=1)
    parser.add_argument("--folder", type=Path)
    args = parser.parse_args()
    with TemporaryDirectory(dir=args.folder) as folder:
        path, size = Path(folder, f"large.{args.form}"), 0
        with path.open("w", encoding="utf-8") as file:
            for row in rows(args.form):
                size += file.write(row)
                if size >= args.gigabytes * 2**30:
                    break
        start, files = time.process_time(), chunk_files(path, RecursiveChunker())
        documents = chunks = 0
        for _, own in files:
            documents, chunks = documents + 1, chunks + len(own)
        seconds = time.process_time() - start
    peak = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss // 1024
    print(
        json.dumps(
            {
                "form": args.form, "bytes": size, "documents": documents, "chunks": chunks,
                "failures": len(files.failures), "seconds": round(seconds), "peak MB": peak,
            }
        )
    )  # fmt: skip


if __name__ == "__main__":
    main()
