"""Measure how often each segmenter has evidence for texts with topics, and for their sentences shuffled.

python benchmarks/chance.py --data DIR [--only LABEL ...] [--tries 200]

DIR holds Choi's group 3-11. The texts with an odd index are scored; with the others, the distance from chance that
counts as evidence was chosen. Each try shuffles all sentences of one of these texts at random. Sentences are the
annotators', sizes the chunkers' own. Printed are the shares of tries without evidence and of texts with evidence, the
median distance from shuffled text of each, and the share of cuts by size or at the first place allowed in the texts,
from which a method cuts like recursive.
"""

from __future__ import annotations

import logging
from collections.abc import Iterator, Mapping
from functools import partial
from statistics import median
from typing import Any, NamedTuple

import numpy as np
from runner import argument_parser

from advchunk import create
from advchunk.chunkers.explanations import Signal
from advchunk.evaluation import SegmentedText, measure_evidence, read_folder
from advchunk.evaluation.metrics.chance import Chance, shuffled

CONFIGURATIONS: Mapping[str, tuple[str, Mapping[str, Any]]] = {
    "universal-semantic": ("universal-semantic", {}),
    "universal-semantic, relative": ("universal-semantic", {"preset": "relative"}),
    "semantic-threshold": ("semantic-threshold", {}),
    "optimal-semantic": ("optimal-semantic", {}),
    "optimal-semantic, independent": ("optimal-semantic", {"evidence": "independent"}),
    "mst-semantic, sentences": ("mst-semantic", {"granularity": "sentence"}),
    "mst-semantic, even, sentences": ("mst-semantic", {"granularity": "sentence", "preset": "even"}),
    "texttiling": ("texttiling", {}),
    "texttiling, hearst": ("texttiling", {"preset": "hearst"}),
    "texttiling, fine": ("texttiling", {"preset": "fine"}),
    "c99": ("c99", {}),
    "bayesseg": ("bayesseg", {}),
    "semantic-cluster": ("semantic-cluster", {}),
    "semantic-cluster, chain": ("semantic-cluster", {"preset": "chain"}),
    "graph-partition": ("graph-partition", {}),
    "graph-partition, neighbors": ("graph-partition", {"preset": "neighbors"}),
    "discourse": ("discourse", {}),
    "lda-topic": ("lda-topic", {}),
    "lda-topic, depth": ("lda-topic", {"preset": "depth"}),
}
"""Label, chunker and parameters."""


class Row(NamedTuple):
    """The results of a configuration: the evidence in each shuffled text, and the evidence and the signal in each
    text.
    """

    shuffled: list[Chance]
    texts: list[Chance]
    signals: list[Signal]

    def __str__(self) -> str:
        total = sum(signal.share("size", "first") for signal in self.signals) / len(self.signals)
        silent = sum(not chance.is_evidence for chance in self.shuffled) / len(self.shuffled)
        heard = sum(chance.is_evidence for chance in self.texts) / len(self.texts)
        near, far = (median(chance.distance for chance in chances) for chances in (self.shuffled, self.texts))
        return f"{100 * silent:.1f} | {100 * heard:.0f} | {near:.1f} | {far:.1f} | {100 * total:.0f}"


def measure(name: str, params: Mapping[str, Any], texts: list[SegmentedText], tries: int) -> Row:
    """Return the results of a configuration on texts, and on as many shuffles of them as there are tries."""
    chunker: Any = create(name, experimental=True, fallback=None, cache={}, **params)
    rng, units = np.random.default_rng(1), [text.units for text in texts]
    evidence: Any = partial(measure_evidence, chunker)
    random = [evidence(shuffled(units[i % len(units)], rng)) for i in range(tries)]
    signals = [chunker.explain(text.document()).signal for text in texts]
    return Row(random, [evidence(own) for own in units], signals)


def rows(texts: list[SegmentedText], only: list[str], tries: int) -> Iterator[str]:
    """Yield the lines of the table."""
    yield f"| configuration | no evidence in {tries} shuffled texts, % | evidence in {len(texts)} texts, % | distance, shuffled | distance | cuts by size or first, % |"  # noqa: E501
    yield "|---|---|---|---|---|---|"
    for label, (name, params) in CONFIGURATIONS.items():
        if not only or label in only:
            yield f"| {label} | {measure(name, params, texts, tries)} |"


def main() -> None:
    """Print the table."""
    parser = argument_parser(__doc__)
    parser.add_argument("--only", nargs="*", default=[], metavar="LABEL", choices=[*CONFIGURATIONS, []])
    parser.add_argument("--tries", type=int, default=200)
    options = parser.parse_args()
    logging.disable(logging.WARNING)  # of cuts by size, which the table shows
    for line in rows(read_folder(options.data)[1::2], options.only, options.tries):
        print(line, flush=True)


if __name__ == "__main__":
    main()
