"""Measure how chunkers scale with text length. Prints JSON, or a table of all chunkers.

python benchmarks/growth.py [--only NAME ...] [--sizes 500 1000 ...] [--plot FILE]
python benchmarks/growth.py --data DIR [--only NAME ...] [--sizes 100000 1000000 ...]

Without ``--data``, the published segmenters decide on sentences, and are compared with other libraries.

C99 is compared with uts (pip install --no-build-isolation uts==0.0.4); --plot needs matplotlib. Each run has its own
process, to measure its peak memory; vectors are precomputed, so no embedder is measured. The exponent is fitted to the
larger half of the sizes. The exit status is 1 if a limit is exceeded (`MOST`) or a speedup is too small (`AT_LEAST`).

With ``--data``, each chunker that needs no language model chunks the texts of DIR, *.md and *.txt, joined, and repeated
up to each number of characters: processor seconds after a first short text, and what they are per character relative to
the smallest size; the memory that is in use at most beyond that of the short text, divided by the largest text. A size
that would take more than two minutes is left out.
"""

from __future__ import annotations

import argparse
import json
import logging
import subprocess
import sys
import time
from collections.abc import Callable, Iterable, Mapping, Sequence
from functools import partial
from importlib.util import find_spec
from pathlib import Path
from typing import Any, NamedTuple

import numpy as np
from runner import argument_parser
from speed import peak_mb, read_texts

from advchunk import create, names
from advchunk.evaluation import SegmentedText, synthetic
from algorithms import ALGORITHMS, Growth

SIZES = (250, 500, 1000, 2500, 5000, 10000)
LENGTHS = (100_000, 1_000_000, 10_000_000)  # characters
LONGEST = 120.0  # seconds
WORDS = 12  # per sentence
SEGMENT = 20  # sentences per segment
DIMENSIONS = 256
WITHOUT_MODELS = [name for name in names() if not ALGORITHMS[name].models]


class Case(NamedTuple):
    """A configuration of a chunker."""

    chunker: str
    growth: Growth


CASES = {
    label: Case(name, growth) for name, algorithm in ALGORITHMS.items() for label, growth in algorithm.growth.items()
}
# Limits in seconds and MB, by configuration and number of sentences.
MOST = {
    ("bayesseg, K unknown", 1000): (0.5, 2000),
    ("bayesseg, K unknown", 10000): (20.0, 2000),
    ("c99", 5000): (60.0, 2000),
    ("graph-partition", 5000): (20.0, 2000),
    ("semantic-cluster, chain", 10000): (10.0, 2000),
}
AT_LEAST = {"texttiling": 50.0, "c99": 10.0}  # speedup over the other library


def make_text(n: int) -> SegmentedText:
    """Return a text of n sentences of a dozen words each."""
    many = (SEGMENT, SEGMENT)
    return synthetic(
        n, segments=n // SEGMENT, sentences=many, words=(WORDS, WORDS), topics=40, vocabulary=200, overlap=0.3
    )


def embedder(text: SegmentedText) -> Callable[[list[str]], Any]:
    """Return an embedder that gives each sentence a vector near that of its segment."""
    rng = np.random.default_rng(len(text.units))
    topics = rng.standard_normal((len(text.cuts) - 1, DIMENSIONS))
    rows = np.repeat(topics, np.diff(text.cuts), axis=0) + 0.7 * rng.standard_normal((len(text.units), DIMENSIONS))
    vectors = dict(zip(text.units.strings(), rows.astype(np.float32), strict=True))
    return lambda texts: np.array([vectors[sentence] for sentence in texts])


def build(name: str, **params: Any) -> Any:
    """Return a chunker without a fallback."""
    return create(name, experimental=True, fallback=None, **params)


def run_once(label: str, n: int) -> dict[str, float]:
    """Segment a text of n sentences in this process."""
    case, text = CASES[label], make_text(n)
    params = {name: len(text.cuts) - 1 if value == "K" else value for name, value in case.growth.params.items()}
    if case.chunker in ("semantic-cluster", "graph-partition", "optimal-semantic"):
        params["embedder"] = embedder(text)
    chunker = build(case.chunker, **params)
    if "embedder" not in params:
        chunker.segmentation(make_text(SEGMENT * 3).units)  # import modules and warm caches
    start = time.process_time()
    segmentation = chunker.segmentation(text.units)
    seconds = time.process_time() - start
    return {"seconds": seconds, "MB": peak_mb(), "segments": len(segmentation.cuts) - 1}


def chunk_once(name: str, length: int, data: Path) -> dict[str, float]:
    """Chunk a text of a length in this process."""
    logging.disable(logging.WARNING)  # windows are logged
    whole = "\n\n".join(read_texts(data))
    text = (whole * (length // len(whole) + 1))[:length]
    markup = {} if name == "biomedical-abstract" else {"markup": "markdown"}  # a reader of its own
    chunker = build(name, **markup)
    chunker.chunk(text[:30_000])  # import modules and load models
    before, start = peak_mb(), time.process_time()
    chunks = len(chunker.chunk(text))
    seconds, grown = time.process_time() - start, peak_mb() - before
    return {"seconds": seconds, "memory / text": grown * 2**20 / length, "chunks": chunks}


def measure_chunkers(only: Iterable[str], lengths: Iterable[int], data: Path) -> dict[str, dict[int, dict[str, float]]]:
    """Return the figures of `chunk_once` for each chunker and length."""
    results: dict[str, dict[int, dict[str, float]]] = {}
    for name in only:
        runs: dict[int, dict[str, float]] = {}
        for length in sorted(lengths):
            rate = max((run["seconds"] / size for size, run in runs.items()), default=0.0)
            if rate * length < LONGEST:
                runs[length] = run_in_subprocess(name, length, "--data", str(data))
        results[name] = runs
    return results


def summary(runs: Mapping[int, Mapping[str, float]]) -> dict[str, float]:
    """Return the exponent, and of the largest size the time per character, relative to the smallest, and the bytes per
    character.
    """
    first, last = min(runs), max(runs)
    linear = runs[first]["seconds"] * last / first
    return {
        "exponent": round(exponent(runs), 2),
        "x linear": round(runs[last]["seconds"] / linear, 2),
        "memory / text": round(runs[last]["memory / text"]),
    }


def table(results: Mapping[str, Mapping[int, Mapping[str, float]]], lengths: Sequence[int]) -> str:
    """Return a Markdown table of the figures of `measure_chunkers`."""
    columns = ["seconds: " + " / ".join(f"{length:,}" for length in lengths), "exponent", "x linear", "memory / text"]
    lines = ["| " + " | ".join(["chunker", *columns]) + " |", "|---" * (len(columns) + 1) + "|"]
    for name, runs in results.items():
        seconds = " / ".join(f"{runs[length]['seconds']:.2f}" if length in runs else "–" for length in lengths)
        lines.append("| " + " | ".join([name, seconds, *map(str, summary(runs).values())]) + " |")
    return "\n".join(lines) + "\n"


def run_in_subprocess(label: str, n: int, *options: str) -> dict[str, float]:
    """Run `run_once`, or with ``--data`` `chunk_once`, in a separate process."""
    command = [sys.executable, __file__, "--one", label, str(n), *options]
    figures: dict[str, float] = json.loads(subprocess.run(command, check=True, capture_output=True, text=True).stdout)
    print(f"{label}, {n}: {figures}", file=sys.stderr)
    return figures


def exponent(runs: Mapping[int, Mapping[str, float]]) -> float:
    """Fit seconds = a * n ** exponent to the larger half of the sizes."""
    larger = sorted(runs)[len(runs) // 2 - (len(runs) > 1) :]
    slope, _ = np.polyfit(np.log(larger), np.log([max(runs[n]["seconds"], 1e-6) for n in larger]), 1)
    return float(slope)


def least_seconds(call: Callable[[], object], repeat: int) -> float:
    """Return the shortest processor time of several calls."""
    best = np.inf
    for _ in range(repeat):
        start = time.process_time()
        call()
        best = min(best, time.process_time() - start)
    return float(best)


def compare_with_peers(n: int = 400) -> dict[str, dict[str, float]]:
    """Return our processor seconds, those of the installed other libraries on the same text, and the ratios."""
    text = make_text(n)
    peers = {"texttiling": ("nltk", nltk_texttiling), "c99": ("uts", uts_c99)}
    results = {}
    for name, (package, peer) in peers.items():
        if not find_spec(package):
            print(f"{package} is not installed: {name} is not compared", file=sys.stderr)
            continue
        own = least_seconds(partial(build(name).segmentation, text.units), 5)
        external = least_seconds(peer(text), 2)
        results[name] = {"ours": own, "peer": external, "peer / ours": external / own}
    return results


def nltk_texttiling(text: SegmentedText) -> Callable[[], object]:
    """Return a call that runs nltk's TextTiling, which requires paragraphs of at least 100 characters."""
    from nltk.tokenize import TextTilingTokenizer

    from advchunk.text.terms import stop_words

    tiler = TextTilingTokenizer(stopwords=stop_words("snowball", "en"))
    paragraphs = ["".join(text.units.strings()[i : i + 4]).strip() for i in range(0, len(text.units), 4)]
    return lambda: tiler.tokenize("\n\n".join(paragraphs))


def uts_c99(text: SegmentedText) -> Callable[[], object]:
    """Return a call that runs the C99 of uts with the paper's mask; each call needs a new one, as it changes its
    window.
    """
    from uts import C99

    sentences = [sentence.strip() for sentence in text.units.strings()]
    return lambda: C99(window=6).segment(sentences)


def plot(results: Mapping[str, Mapping[str, Any]], file: Path) -> None:
    """Plot seconds against sentences on logarithmic axes."""
    from matplotlib import pyplot

    figure, axes = pyplot.subplots(figsize=(8, 5))
    for label, figures in results.items():
        sizes = sorted(figures["sizes"])
        seconds = [figures["sizes"][n]["seconds"] for n in sizes]
        axes.loglog(sizes, seconds, marker="o", label=f"{label} (n^{figures['exponent']:.1f})")
    axes.set(xlabel="sentences", ylabel="processor seconds")
    axes.legend(fontsize="small")
    figure.tight_layout()
    figure.savefig(file)


def main() -> None:
    """Measure, print, and check the limits."""
    parser = argument_parser(__doc__, data=None)
    parser.add_argument("--data", type=Path, metavar="DIR")
    parser.add_argument("--only", nargs="+", choices=[*CASES, *WITHOUT_MODELS], metavar="NAME")
    parser.add_argument("--sizes", nargs="+", type=int)
    parser.add_argument("--no-peers", action="store_true")
    parser.add_argument("--plot", type=Path)
    parser.add_argument("--one", nargs=2, help=argparse.SUPPRESS)
    args = parser.parse_args()
    if args.one:
        label, n = args.one[0], int(args.one[1])
        print(json.dumps(chunk_once(label, n, args.data) if args.data else run_once(label, n)))
        return
    if args.data:
        lengths = args.sizes or LENGTHS
        print(table(measure_chunkers(args.only or WITHOUT_MODELS, lengths, args.data), lengths), end="")
        return
    results: dict[str, dict[str, Any]] = {}
    for label in args.only or CASES:
        sizes = {n: run_in_subprocess(label, n) for n in args.sizes or SIZES if n <= CASES[label].growth.most}
        results[label] = {"sizes": sizes, "exponent": exponent(sizes)}
    peers = {} if args.no_peers else compare_with_peers()
    print(json.dumps({"growth": results, "compared with peers, 400 sentences": peers}, indent=1))
    if args.plot:
        plot(results, args.plot)
    missed = [
        f"{label}, {n} sentences: {figures} is over {seconds} s or {most} MB"
        for (label, n), (seconds, most) in MOST.items()
        if (figures := results.get(label, {}).get("sizes", {}).get(n))
        and (figures["seconds"] > seconds or figures["MB"] > most)
    ]
    missed += [
        f"{name}: {figures} is under {AT_LEAST[name]} x"
        for name, figures in peers.items()
        if figures["peer / ours"] < AT_LEAST[name]
    ]
    if missed:
        raise SystemExit("\n".join(missed))


if __name__ == "__main__":
    main()
