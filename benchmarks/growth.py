"""Measure what the segmenters of the literature cost as a text grows, and beside peers. JSON on stdout.

python benchmarks/growth.py [--only NAME ...] [--sizes 500 1000 ...] [--plot FILE]

The peer of C99 is uts (pip install --no-build-isolation uts==0.0.4); --plot needs matplotlib. Each run is a process of
its own, for its peak memory; vectors are given, so that no embedder is measured. The exponent is fitted to the larger
half of the sizes. The exit status is 1 when a limit is passed (`MOST`) or a peer is nearer than it may be (`AT_LEAST`).
"""

from __future__ import annotations

import argparse
import json
import resource
import subprocess
import sys
import time
from collections.abc import Callable, Mapping
from functools import partial
from importlib.util import find_spec
from pathlib import Path
from typing import Any, NamedTuple

import numpy as np

from advchunk import create
from advchunk.evaluation import SegmentedText, synthetic

SIZES = (250, 500, 1000, 2500, 5000, 10000)
WORDS = 12  # of a sentence
SEGMENT = 20  # sentences
DIMENSIONS = 256


class Case(NamedTuple):
    """A configuration, and the most sentences it is tried with."""

    chunker: str
    params: Mapping[str, Any] = {}
    most: int = 10_000


CASES = {
    "texttiling": Case("texttiling", {"preset": "hearst"}),
    "c99": Case("c99"),
    "bayesseg, K unknown": Case("bayesseg"),
    "bayesseg, K known": Case("bayesseg", {"n_segments": "K", "min_segment_tokens": 0}),
    "utiyama-isahara": Case("bayesseg", {"likelihood": "utiyama-isahara"}),
    "lda-topic": Case("lda-topic", {}, 2500),
    "semantic-cluster, ward": Case("semantic-cluster", {}, 5000),
    "semantic-cluster, chain": Case("semantic-cluster", {"connectivity": "chain"}),
    "semantic-cluster, hdbscan": Case("semantic-cluster", {"method": "hdbscan"}, 2500),
    "graph-partition": Case("graph-partition"),
    "graph-partition, leiden": Case("graph-partition", {"method": "leiden"}),
    "optimal-semantic": Case("optimal-semantic"),
}
# Seconds and MB that a size may take.
MOST = {
    ("bayesseg, K unknown", 1000): (0.5, 2000),
    ("bayesseg, K unknown", 10000): (20.0, 2000),
    ("c99", 5000): (60.0, 2000),
    ("graph-partition", 5000): (20.0, 2000),
    ("semantic-cluster, chain", 10000): (10.0, 2000),
}
AT_LEAST = {"texttiling": 50.0, "c99": 10.0}  # times as fast as the peer


def text_of(n: int) -> SegmentedText:
    """Return a text of n sentences, of a dozen words each."""
    many = (SEGMENT, SEGMENT)
    return synthetic(
        n, segments=n // SEGMENT, sentences=many, words=(WORDS, WORDS), topics=40, vocabulary=200, overlap=0.3
    )


def embedder(text: SegmentedText) -> Callable[[list[str]], Any]:
    """Return what gives each sentence a vector near that of its segment."""
    rng = np.random.default_rng(len(text.units))
    topics = rng.standard_normal((len(text.cuts) - 1, DIMENSIONS))
    rows = np.repeat(topics, np.diff(text.cuts), axis=0) + 0.7 * rng.standard_normal((len(text.units), DIMENSIONS))
    known = dict(zip(text.units.strings(), rows.astype(np.float32), strict=True))
    return lambda texts: np.array([known[one] for one in texts])


def build(name: str, **params: Any) -> Any:
    """Return a chunker that raises its errors."""
    return create(name, experimental=True, fallback=None, **params)


def once(label: str, n: int) -> dict[str, float]:
    """Segment a text of n sentences, in this process."""
    case, text = CASES[label], text_of(n)
    params = {name: len(text.cuts) - 1 if value == "K" else value for name, value in case.params.items()}
    if case.chunker in ("semantic-cluster", "graph-partition", "optimal-semantic"):
        params["embedder"] = embedder(text)
    chunker = build(case.chunker, **params)
    if "embedder" not in params:
        chunker.segmentation(text_of(SEGMENT * 3).units)  # imports, and warms caches
    began = time.process_time()
    found = chunker.segmentation(text.units)
    seconds = time.process_time() - began
    most = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss / 1024
    return {"seconds": seconds, "MB": most, "segments": len(found.cuts) - 1}


def apart(label: str, n: int) -> dict[str, float]:
    """Run `once` in a process of its own."""
    command = [sys.executable, __file__, "--one", label, str(n)]
    found: dict[str, float] = json.loads(subprocess.run(command, check=True, capture_output=True, text=True).stdout)
    print(f"{label}, {n}: {found}", file=sys.stderr)
    return found


def exponent(found: Mapping[int, Mapping[str, float]]) -> float:
    """Fit seconds = a * n ** exponent to the larger half of the sizes."""
    larger = sorted(found)[len(found) // 2 - (len(found) > 1) :]
    slope, _ = np.polyfit(np.log(larger), np.log([max(found[n]["seconds"], 1e-6) for n in larger]), 1)
    return float(slope)


def timed(call: Callable[[], object], repeat: int) -> float:
    """Return the least processor seconds of some calls."""
    best = np.inf
    for _ in range(repeat):
        began = time.process_time()
        call()
        best = min(best, time.process_time() - began)
    return float(best)


def beside_peers(n: int = 400) -> dict[str, dict[str, float]]:
    """Return our seconds and the peers' on one text, and the ratio; without the peers that are not installed."""
    text = text_of(n)
    peers = {"texttiling": ("nltk", nltk_texttiling), "c99": ("uts", uts_c99)}
    found = {}
    for name, (package, peer) in peers.items():
        if not find_spec(package):
            print(f"{package} is not installed, so {name} has no peer", file=sys.stderr)
            continue
        mine = timed(partial(build(name).segmentation, text.units), 5)
        theirs = timed(peer(text), 2)
        found[name] = {"ours": mine, "peer": theirs, "peer / ours": theirs / mine}
    return found


def nltk_texttiling(text: SegmentedText) -> Callable[[], object]:
    """Return nltk's TextTiling of a text; its paragraphs must be 100 characters apart."""
    from nltk.tokenize import TextTilingTokenizer

    from advchunk.text.terms import stop_words

    tiler = TextTilingTokenizer(stopwords=stop_words("snowball", "en"))
    paragraphs = ["".join(text.units.strings()[i : i + 4]).strip() for i in range(0, len(text.units), 4)]
    return lambda: tiler.tokenize("\n\n".join(paragraphs))


def uts_c99(text: SegmentedText) -> Callable[[], object]:
    """Return the C99 of uts on a text, with the paper's mask; it changes its own window, so each call makes one."""
    from uts import C99

    sentences = [sentence.strip() for sentence in text.units.strings()]
    return lambda: C99(window=6).segment(sentences)


def plot(found: Mapping[str, Mapping[str, Any]], file: Path) -> None:
    """Draw seconds against sentences, both logarithmic."""
    from matplotlib import pyplot

    figure, axes = pyplot.subplots(figsize=(8, 5))
    for label, said in found.items():
        sizes = sorted(said["sizes"])
        seconds = [said["sizes"][n]["seconds"] for n in sizes]
        axes.loglog(sizes, seconds, marker="o", label=f"{label} (n^{said['exponent']:.1f})")
    axes.set(xlabel="sentences", ylabel="processor seconds")
    axes.legend(fontsize="small")
    figure.tight_layout()
    figure.savefig(file)


def main() -> None:
    """Measure, print, and compare."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--only", nargs="+", choices=list(CASES), default=list(CASES), metavar="NAME")
    parser.add_argument("--sizes", nargs="+", type=int, default=list(SIZES))
    parser.add_argument("--no-peers", action="store_true")
    parser.add_argument("--plot", type=Path)
    parser.add_argument("--one", nargs=2, help=argparse.SUPPRESS)
    given = parser.parse_args()
    if given.one:
        print(json.dumps(once(given.one[0], int(given.one[1]))))
        return
    found: dict[str, dict[str, Any]] = {}
    for label in given.only:
        sizes = {n: apart(label, n) for n in given.sizes if n <= CASES[label].most}
        found[label] = {"sizes": sizes, "exponent": exponent(sizes)}
    peers = {} if given.no_peers else beside_peers()
    print(json.dumps({"growth": found, "beside peers, 400 sentences": peers}, indent=1))
    if given.plot:
        plot(found, given.plot)
    missed = [
        f"{label}, {n} sentences: {figures} is over {seconds} s or {most} MB"
        for (label, n), (seconds, most) in MOST.items()
        if (figures := found.get(label, {}).get("sizes", {}).get(n))
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
