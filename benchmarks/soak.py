"""Run for long what tests run briefly: calls in flat memory, threads, and killed writers. See RELIABILITY.md.

python benchmarks/soak.py [--calls 10000] [--minutes 30] [--kills 200] [--seed 0]

Prints a table, and exits with 1 if memory grows by more than `MOST` after the first tenth of the calls, if a thread
gets another answer than one thread alone or an error, or if an index is not whole after its writer was killed.
"""

from __future__ import annotations

import logging
import multiprocessing
import os
import random
import re
import signal
import sys
import tempfile
import time
from collections.abc import Callable, Iterator
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path

from runner import argument_parser, table

from advchunk import Document, RecursiveChunker, create, names
from advchunk.retrieval import PassageCutter, Retriever, StoredRetriever
from algorithms import ALGORITHMS

TEXT = (Path(__file__).parents[1] / "tests" / "data" / "harbour_town.md").read_text("utf-8")
MOST = 16.0  # MB
QUESTION = "When does the late ferry leave?"
QUICK = [name for name in names("stable") if not ALGORITHMS[name].models]


def resident_mb() -> float:
    """Return the memory of this process that is in use."""
    return int(re.findall(r"VmRSS:\s+(\d+)", Path("/proc/self/status").read_text())[0]) / 1024


def calls(number: int, seed: int) -> tuple[str, bool]:
    """Chunk, search, and cut parts of a text many times; return what memory did, and whether that is fine."""
    draw, chunkers = random.Random(seed), [create(name, max_tokens=60) for name in QUICK]
    retriever, cutter = Retriever({"town": RecursiveChunker(max_tokens=60).chunk(TEXT)}), PassageCutter()
    start = 0.0
    for i in range(number):
        if i == number // 10:
            start = resident_mb()
        at = draw.randrange(len(TEXT) - 2000)
        draw.choice(chunkers).chunk(Document(TEXT[at : at + draw.randint(0, 2000)], f"{i}"))
        question = " ".join(draw.sample(TEXT.split(), 5))
        cutter.cut(question, retriever.search(question, 10), 100)
    grown = resident_mb() - start
    return f"memory grew by {grown:.1f} MB", grown <= MOST


def jobs(folder: Path) -> Iterator[Callable[[], object]]:
    """Yield things to do in threads; each does the same every time."""
    stored = StoredRetriever(folder / "threads.index")
    stored.add("town", RecursiveChunker(max_tokens=60).chunk(TEXT))
    yield lambda: [(p.citation, p.text) for p in stored.passages(QUESTION, 100)]
    retriever = Retriever({"town": RecursiveChunker(max_tokens=60).chunk(TEXT)})
    yield lambda: [(p.citation, p.text) for p in retriever.passages(QUESTION, 100)]
    for name in QUICK:
        chunker = create(name, max_tokens=60)
        yield lambda chunker=chunker: [(chunk.id, chunk.text) for chunk in chunker.chunk(TEXT[:4000])]  # type: ignore[misc]


def threads(minutes: float) -> tuple[str, bool]:
    """Do the same things in eight threads; return how many answers there were, and whether all were the same."""
    with tempfile.TemporaryDirectory() as folder, ThreadPoolExecutor(8) as pool:
        own = [(job, job()) for job in jobs(Path(folder))]
        end, done, others = time.monotonic() + 60 * minutes, 0, 0
        while time.monotonic() < end:
            answers = [(pool.submit(job), expected) for job, expected in own * 4]
            others += sum(answer.result() != expected for answer, expected in answers)
            done += len(answers)
    return f"{done:,} answers, {others} that differ", others == 0


def write(path: str) -> None:
    """Change an index forever: document i has i + 1 sentences."""
    retriever, chunker, i = StoredRetriever(path, mode="lexical"), RecursiveChunker(max_tokens=8), 0
    while True:
        chunks = chunker.chunk("A ferry leaves at nine. " * (i % 9 + 1))
        retriever.change({f"{i % 9}": chunks}, removed=[f"{(i + 4) % 9}"])
        i += 1


def kills(number: int, seed: int) -> tuple[str, bool]:
    """Kill a writer at random moments; return how many times the index was not whole, and whether it always was."""
    draw, broken, context = random.Random(seed), 0, multiprocessing.get_context("spawn")
    with tempfile.TemporaryDirectory() as folder:
        path = Path(folder) / "killed.index"
        for _ in range(number):
            writer = context.Process(target=write, args=(str(path),))
            writer.start()
            while not path.exists():
                time.sleep(0.01)
            time.sleep(draw.uniform(0, 0.5))
            os.kill(writer.pid or 0, signal.SIGKILL)
            writer.join()
            retriever = StoredRetriever(path)
            texts = {name: "".join(hit.chunk.text for hit in retriever.search("ferry", 99) if hit.document == name)
                     for name in retriever.documents}  # fmt: skip
            broken += any(text.count("ferry") != int(name) + 1 for name, text in texts.items())
    return f"{number} kills, {broken} times not whole", broken == 0


def main() -> None:
    """Run, and print."""
    parser = argument_parser(__doc__, data=None)
    parser.add_argument("--calls", type=int, default=10_000)
    parser.add_argument("--minutes", type=float, default=30.0)
    parser.add_argument("--kills", type=int, default=200)
    parser.add_argument("--seed", type=int, default=0)
    args = parser.parse_args()
    logging.disable(logging.WARNING)  # on chunkers that cut by size
    results = {
        "calls": calls(args.calls, args.seed),
        "threads": threads(args.minutes),
        "kills": kills(args.kills, args.seed),
    }
    print(table(("run", "result"), [(name, text) for name, (text, _) in results.items()]), end="")
    if not all(is_fine for _, is_fine in results.values()):
        sys.exit(1)


if __name__ == "__main__":
    main()
