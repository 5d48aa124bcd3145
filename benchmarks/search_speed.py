"""Time the index of words and a hybrid query with neighbors, beyond the answer of the vector store. Prints JSON.

python benchmarks/search_speed.py [--chunks 100000] [--queries 200]

Texts are random words with Zipf's frequencies, 70 to a chunk (about 90 tokens), 50 chunks to a document. A store's answer is a random ranking of a hundred chunks of
ten documents. The exit status is 1 if indexing takes over 20 seconds or the median query over 20 milliseconds.
"""

import argparse
import json
import resource
import statistics
import time
from collections.abc import Callable
from functools import partial
from pathlib import Path

import numpy as np

from advchunk.retrieval import ChunkPositions, LexicalIndex, Ranking, combine

WORDS, DOCUMENT, VOCABULARY = 70, 50, 200_000
MOST_SECONDS, MOST_MILLISECONDS = 20.0, 20.0


def make_texts(chunks: int, rng: np.random.Generator) -> list[str]:
    """Return texts of random words."""
    ids = rng.zipf(1.2, size=(chunks, WORDS)) % VOCABULARY
    words = np.array([f"{'abcdefghij'[i % 10]}{'klmnopqrst'[i // 10 % 10]}word{i}" for i in range(VOCABULARY)])
    return [" ".join(row) for row in words[ids]]


def seconds(work: Callable[[], object]) -> float:
    """Return the processor time of some work."""
    start = time.process_time()
    work()
    return time.process_time() - start


def build(index: LexicalIndex, texts: list[str]) -> None:
    """Add texts to an index and make it ready."""
    index.add(texts)
    index.search("warm up")


def resident_megabytes() -> float:
    """Return the memory of this process."""
    pages = int(Path("/proc/self/statm").read_text().split()[1])
    return pages * resource.getpagesize() / 2**20


def main() -> None:
    """Measure and print."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--chunks", type=int, default=100_000)
    parser.add_argument("--queries", type=int, default=200)
    args = parser.parse_args()
    rng = np.random.default_rng(0)
    texts = make_texts(args.chunks, rng)
    before = resident_megabytes()
    index = LexicalIndex()
    indexing = seconds(partial(build, index, texts))
    after = resident_megabytes()
    positions = ChunkPositions(np.arange(args.chunks) // DOCUMENT, np.arange(args.chunks) % DOCUMENT * 90.0)
    positions.near(np.arange(1), 1.0)
    times = dict[str, list[float]](lexical=[], fusion_and_neighbors=[], both=[])
    for _ in range(args.queries):
        query = " ".join(texts[int(rng.integers(args.chunks))].split()[:8])
        documents = rng.integers(args.chunks // DOCUMENT, size=10)
        near = np.unique(documents[rng.integers(10, size=100)] * DOCUMENT + rng.integers(DOCUMENT, size=100))
        store = Ranking(rng.permutation(near), np.sort(rng.random(len(near)))[::-1])
        times["lexical"].append(seconds(partial(index.search, query)))
        times["fusion_and_neighbors"].append(seconds(partial(combine, store, index.search(query), positions)))
        times["both"].append(times["lexical"][-1] + times["fusion_and_neighbors"][-1])
    medians = {f"{name}_ms": round(1000 * statistics.median(values), 2) for name, values in times.items()}
    result = {
        "chunks": args.chunks,
        "index_seconds": round(indexing, 2),
        "index_megabytes": round(after - before),
        **medians,
        "slowest_query_ms": round(1000 * max(times["both"]), 2),
    }
    print(json.dumps(result, indent=1))
    if indexing > MOST_SECONDS or medians["both_ms"] > MOST_MILLISECONDS:
        raise SystemExit(1)


if __name__ == "__main__":
    main()
