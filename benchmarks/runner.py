"""What the benchmarks share: the parser of their arguments, Markdown tables, and paired differences."""

import argparse
import os
from collections.abc import Iterable, Sequence
from pathlib import Path
from typing import Any

from advchunk.evaluation.metrics.statistics import paired_difference
from advchunk.records import Floats


def argument_parser(description: str | None, *, data: bool | None = True) -> argparse.ArgumentParser:
    """Return a parser of the arguments of a benchmark, which runs without the model hub.

    Parameters
    ----------
    description : of the benchmark, as it is written.
    data : True if the folder of texts, ``--data``, is required, False if it may be left out, None if there is none.
    """
    os.environ["HF_HUB_OFFLINE"] = "1"
    parser = argparse.ArgumentParser(description=description, formatter_class=argparse.RawDescriptionHelpFormatter)
    if data is not None:
        parser.add_argument("--data", type=Path, required=data, help="folder of the texts")
    return parser


def table(head: Sequence[str], rows: Iterable[Sequence[Any]]) -> str:
    r"""Return a Markdown table, which ends with a line break.

    >>> table(["size", "recall"], [[100, "78.2"]])
    '| size | recall |\n| --- | --- |\n| 100 | 78.2 |\n'
    """
    return "".join(f"| {' | '.join(map(str, row))} |\n" for row in (head, ["---"] * len(head), *rows))


def difference(scores: Floats, base: Floats, digits: int = 1) -> str:
    """Return the mean paired difference with its 95 % bootstrap interval, in bold if that excludes 0."""
    result = paired_difference(scores, base)
    text = f"{result.mean:+.{digits}f} [{result.low:+.{digits}f}, {result.high:+.{digits}f}]"
    return f"**{text}**" if result.low * result.high > 0 else text
