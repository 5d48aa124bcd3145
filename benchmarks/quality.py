"""Score the cuts of chunkers on texts with known segments, with trivial baselines and published figures.

python benchmarks/quality.py --data DIR [--set lectures meetings abstracts clinical choi joined manifesto synthetic]
    [--only NAME ...] [--every N] [--minilm] [--json]
python benchmarks/quality.py --data DIR --set lectures meetings clinical --sizes 200 400

DIR holds a folder of files in Choi's format for each set (``synthetic`` needs none; ``joined`` concatenates ten of
Choi's texts). ``meetings`` are `qmsum/topics.json` and the texts it names, in turns of speakers; ``abstracts`` those of
`pubmedqa/*.json`, with at least four sentences, whose sections are labeled. Scored are the algorithm's own cuts, before
size limits, on the annotators' sentences. Pk and WindowDiff count sentences; "- none" is the mean difference in Pk, and
WindowDiff, from no boundary, with its paired 95 % bootstrap interval over texts. "word Pk" is Choi's scorer, the only
one comparable with published figures. The exit status is 1 if a figure is worse than its limit (`MOST`, `REAL`,
`WORD_PK`) or a preset for real texts no better on them than the default (`PRESETS`).

--sizes compares chunks of at most so many tokens instead: those of `optimal-semantic`, with both kinds of evidence, and
as many that are filled to one size.
"""

from __future__ import annotations

import argparse
import gzip
import json
import sys
import time
from collections.abc import Callable, Iterator, Mapping, Sequence
from functools import partial
from itertools import groupby, pairwise
from math import nan
from pathlib import Path
from typing import Any, NamedTuple, TypeAlias

import numpy as np
from runner import argument_parser

from advchunk import create
from advchunk.errors import did_you_mean, require
from advchunk.evaluation import SegmentedText, boundary_scores, even_split, pk, read_folder, synthetic, window_diff
from advchunk.evaluation.data.segmented_text import join_sentences
from advchunk.evaluation.metrics.statistics import mean_interval
from advchunk.records import Ints
from advchunk.text.sentences import sentences
from algorithms import ALGORITHMS

Segmenter: TypeAlias = Callable[[SegmentedText], Ints]
CHOI = ("3-11", "3-5", "6-8", "9-11")
JOINED = 10  # texts concatenated into a long one
RANDOM = 10  # draws of the random baseline
FOUND = "optimal-semantic"  # evenly spaced cuts of its own number are a baseline
STEMS: Mapping[str, Any] = {"stop_words": "none", "stemmer": "none", "lowercase": False}


def split_stems(text: str) -> list[str]:
    """Return the nonempty stems: C99 counts "--" as a word, the program of Utiyama and Isahara does not."""
    return [stem for stem in text.split() if stem != "<EMPTY>"]


class Row(NamedTuple):
    """A configuration: its label, chunker, and parameters; "K" stands for the true number of segments."""

    label: str
    chunker: str
    params: Mapping[str, Any] = {}


ROWS = [
    Row(label, name, params) for name, algorithm in ALGORITHMS.items() for label, params in algorithm.quality.items()
]

# Largest acceptable sentence Pk on Choi's groups, K unknown; nan where there is no limit.
MOST: dict[str, tuple[float, float, float, float]] = {
    "texttiling, fine": (0.24, nan, nan, nan),
    "c99, its stems": (0.150, 0.203, 0.122, 0.116),
    "bayesseg, no minimum size": (0.11, 0.11, 0.08, 0.08),
    "utiyama-isahara, glasgow": (0.117, 0.135, 0.064, 0.046),
    "optimal-semantic": (0.08, 0.13, 0.06, 0.04),
    "optimal-semantic, independent": (0.075, nan, nan, nan),
    "optimal-semantic, MiniLM": (0.06, 0.07, 0.04, 0.05),
}
# The same for real texts. A chunker of `BETTER` must also beat no boundary beyond noise.
REAL: dict[str, dict[str, float]] = {
    "lectures": {"optimal-semantic": 0.345, "optimal-semantic, MiniLM": 0.345},
    "meetings": {"optimal-semantic": 0.325},
    "abstracts": {"optimal-semantic": 0.42},
    "clinical": {"optimal-semantic": 0.395},
}
BETTER = {"lectures": ("optimal-semantic", "optimal-semantic, MiniLM")}
# A preset for real texts, and the default that must have a higher Pk on them.
PRESETS = {
    "universal-semantic, relative": "universal-semantic",
    **{
        f"{name}, coarse": f"{name}, default"
        for name in ("texttiling", "c99", "lda-topic", "semantic-cluster", "graph-partition")
    },
}
# Word Pk of the original programs on the same documents; from the original stems, ours must be within 0.003.
WORD_PK: dict[str, tuple[float, float, float, float]] = {
    "c99, its stems": (0.126, 0.175, 0.097, 0.095),
    "c99, its stems, K known": (0.115, 0.119, 0.095, 0.081),
    "utiyama-isahara, its stems": (0.104, 0.119, 0.057, 0.045),
    "utiyama-isahara, its stems, K known": (0.106, 0.079, 0.060, 0.038),
}
STEM_ROWS = [
    Row("c99, its stems", "c99", {"min_segment_length": 0, "word_splitter": str.split, **STEMS}),
    Row("c99, its stems, K known", "c99",
        {"min_segment_length": 0, "n_segments": "K", "word_splitter": str.split, **STEMS}),
    Row("utiyama-isahara, its stems", "bayesseg",
        {"min_segment_tokens": 0, "likelihood": "utiyama-isahara", "word_splitter": split_stems, **STEMS}),
    Row("utiyama-isahara, its stems, K known", "bayesseg",
        {"min_segment_tokens": 0, "likelihood": "utiyama-isahara", "n_segments": "K", "word_splitter": split_stems, **STEMS}),  # noqa: E501
]  # fmt: skip
# Published word Pk of whole groups (400 or 100 documents); the first three come from the authors' own logs.
PUBLISHED = {
    "C99, K unknown": (0.129, 0.177, 0.099, 0.099),
    "Utiyama-Isahara, K unknown": (0.108, 0.130, 0.064, 0.057),
    "Utiyama-Isahara, K = 10": (0.103, 0.086, 0.066, 0.049),
    "TextTiling (Choi 2000)": (0.46, 0.44, 0.43, 0.48),
}


def segmenters(rows: Sequence[Row], only: Sequence[str]) -> Iterator[tuple[str, Segmenter]]:
    """Yield the label and the segmenter of each baseline and configuration."""
    baselines: dict[str, Segmenter] = {
        "no boundary": lambda text: even_split(len(text.units), 1),
        "even split, K known": lambda text: even_split(len(text.units), len(text.cuts) - 1),
    }
    yield from baselines.items()
    for seed in range(RANDOM):
        yield f"random, K known #{seed}", partial(random_segmentation, seed)
    for row in rows:
        if not only or row.chunker in only or row.label in only:
            yield row.label, make_segmenter(row)


def random_segmentation(seed: int, text: SegmentedText) -> Ints:
    """Return the true number of cuts at random places."""
    n = len(text.units)
    inner = np.random.default_rng(seed).choice(n - 1, len(text.cuts) - 2, replace=False) + 1
    return np.array([0, *sorted(inner.tolist()), n])


def split_evenly(segment: Segmenter, text: SegmentedText) -> Ints:
    """Return as many segments as a segmenter does, of equal length."""
    return even_split(len(text.units), len(segment(text)) - 1)


def make_segmenter(row: Row) -> Segmenter:
    """Return a function that returns a chunker's cuts before size limits."""

    def cuts(text: SegmentedText) -> Ints:
        numbers = {name: len(text.cuts) - 1 for name, value in row.params.items() if value == "K"}
        chunker: Any = create(row.chunker, experimental=True, **{**row.params, **numbers})
        result: Ints = chunker.segmentation(text.units).cuts
        return result

    return cuts


def measure(texts: Sequence[SegmentedText], words: Sequence[Ints], segment: Segmenter) -> dict[str, float]:
    """Return the mean scores of a segmenter over texts."""
    start = time.process_time()
    segmentations = [segment(text) for text in texts]
    seconds = time.process_time() - start
    pairs = list(zip(texts, segmentations, strict=True))
    scores = [boundary_scores(text.cuts, cuts, tolerance=1) for text, cuts in pairs]
    nothing = [(text.cuts, even_split(len(text.units), 1)) for text in texts]
    figures: dict[str, list[float]] = {
        "Pk": [pk(text.cuts, cuts) for text, cuts in pairs],
        "WindowDiff": [window_diff(text.cuts, cuts) for text, cuts in pairs],
        "word Pk": [pk(t.cuts, c, weights=w, convention="choi") for (t, c), w in zip(pairs, words, strict=True)],
        "precision": [score.precision for score in scores],
        "recall": [score.recall for score in scores],
        "segments": [score.hypothesis_segments for score in scores],
        "true segments": [score.reference_segments for score in scores],
    }
    means = {name: float(np.mean(values)) for name, values in figures.items()}
    for name, metric in (("Pk", pk), ("WindowDiff", window_diff)):
        difference = np.array(figures[name]) - [metric(*pair) for pair in nothing]
        mean, low, high = mean_interval(difference) if len(texts) > 1 else 3 * (float(np.mean(difference)),)
        means |= {f"{name} - none": mean, f"{name} low": low, f"{name} high": high}
    return {**means, "seconds": seconds}


def read_groups(data: Path | None, which: str, most: int | None, every: int = 1) -> dict[str, list[SegmentedText]]:
    """Return the texts of a set by group: each ``every``-th, at most so many."""
    if which == "synthetic":
        results = {f"overlap {o}": [synthetic(seed, overlap=o) for seed in range(20)] for o in (0.25, 0.5, 0.7)}
    elif data is None:
        msg = f"--set {which} needs --data DIR"
        raise SystemExit(msg)
    elif which in ("choi", "joined"):
        results = {group: read_folder(data / "choi" / group) for group in CHOI}
        if which == "joined":
            results = {f"{group}, joined": join_texts(texts) for group, texts in results.items()}
    elif which == "meetings":
        results = {which: read_meetings(data / "qmsum")}
    elif which == "abstracts":
        results = {which: read_abstracts(data / "pubmedqa")}
    else:
        results = {which: read_folder(data / which, "*")}
    return {name: texts[::every][:most] for name, texts in results.items()}


def read_meetings(folder: Path) -> list[SegmentedText]:
    """Return meetings, whose units are turns."""
    results = []
    for meeting in json.loads((folder / "topics.json").read_text("utf-8")):
        text = (folder / meeting["document"]).read_bytes().decode()
        turns = [text[a:b] for a, b in pairwise(sorted({*meeting["turns"], len(text)}))]
        results.append(join_sentences(turns, sorted({0, *meeting["boundaries"], len(turns)}), meeting["document"]))
    return results


def read_abstracts(folder: Path) -> list[SegmentedText]:
    """Return abstracts, whose segments are their labeled sections."""
    results = []
    for path in sorted(folder.glob("*.json")):
        for name, abstract in json.loads(path.read_text("utf-8")).items():
            sections = [[f"{sentence} " for sentence in sentences(text).strings()] for text in abstract["CONTEXTS"]]
            cuts = np.cumsum([0, *map(len, sections)]).tolist()
            if len(sections) > 1 and cuts[-1] >= 4:
                results.append(join_sentences([sentence for section in sections for sentence in section], cuts, name))
    return results


def join_texts(texts: Sequence[SegmentedText]) -> list[SegmentedText]:
    """Return texts that each concatenate ten texts."""
    results = []
    for i in range(0, len(texts) - JOINED + 1, JOINED):
        some = texts[i : i + JOINED]
        cuts = np.cumsum([0, *(length for text in some for length in np.diff(text.cuts).tolist())])
        results.append(join_sentences([s for text in some for s in text.units.strings()], cuts.tolist(), some[0].name))
    return results


def stem_texts(path: Path, group: str, texts: Sequence[SegmentedText]) -> list[SegmentedText]:
    """Return the texts as the stems of the original programs."""
    with gzip.open(path, "rt", encoding="utf-8") as file:
        stems = json.load(file)
    sentences_by_text = [stems[f"1_{group}_{Path(text.name).stem}"] for text in texts]
    return [
        join_sentences([" ".join(sentence) + "\n" for sentence in sentences], text.cuts.tolist(), text.name)
        for sentences, text in zip(sentences_by_text, texts, strict=True)
    ]


def run(
    texts: Sequence[SegmentedText], words: Sequence[Ints], rows: Sequence[Row], only: Sequence[str]
) -> dict[str, Any]:
    """Return the scores of every configuration on a group, averaged over random draws."""
    results = {}
    for label, draws in groupby(segmenters(rows, only), lambda pair: pair[0].partition(" #")[0]):
        print(f"  {label}", file=sys.stderr)
        figures = [measure(texts, words, segment) for _, segment in draws]
        results[label] = {name: float(np.mean([row[name] for row in figures])) for name in figures[0]}
    for row in rows:
        if row.label == FOUND and row.label in results:
            results[f"even split, as many as {row.label}"] = measure(
                texts, words, partial(split_evenly, make_segmenter(row))
            )
    return results


def list_unchecked(results: Mapping[str, Mapping[str, Mapping[str, float]]]) -> list[str]:
    """Return the labels with limits for which nothing was measured."""
    return [label for label in {**MOST, **WORD_PK} if not any(label in results.get(group, {}) for group in CHOI)]


def list_regressions(results: Mapping[str, Mapping[str, Mapping[str, float]]]) -> list[str]:
    """Return a message for each figure that is worse than its limit."""
    messages = []
    for i, group in enumerate(CHOI):
        for label, figures in results.get(group, {}).items():
            if label in MOST and round(figures["Pk"], 3) > MOST[label][i]:
                messages.append(f"{group}: {label}: Pk {figures['Pk']:.3f} is over {MOST[label][i]}")
            if label in WORD_PK and abs(figures["word Pk"] - WORD_PK[label][i]) > 0.0035:  # both are rounded
                messages.append(
                    f"{group}: {label}: word Pk {figures['word Pk']:.4f} is not {WORD_PK[label][i]} +- 0.003"
                )
    for group, limits in REAL.items():
        for label, most in limits.items():
            if (row := results.get(group, {}).get(label)) and round(row["Pk"], 3) > most:
                messages.append(f"{group}: {label}: Pk {row['Pk']:.3f} is over {most}")
        messages += [
            f"{group}: {label}: Pk is not below that of no boundary, but up to {row['Pk high']:+.3f} from it"
            for label in BETTER.get(group, ())
            if (row := results.get(group, {}).get(label)) and row["Pk high"] >= 0
        ]
        rows = {} if group == "abstracts" else results.get(group, {})  # whose topics are short
        messages += [
            f"{group}: {label}: Pk {rows[label]['Pk']:.3f} is not below that of {default}"
            for label, default in PRESETS.items()
            if {label, default} <= rows.keys() and rows[label]["Pk"] >= rows[default]["Pk"]
        ]
    return messages


def table(group: str, texts: Sequence[SegmentedText], figures: Mapping[str, Mapping[str, float]]) -> str:
    """Return the scores of a group as a Markdown table."""
    names = ["Pk", "WindowDiff", "word Pk", "precision", "recall", "segments", "seconds"]
    columns = [*names, "Pk - none", "WindowDiff - none"]
    lines = [f"{group}: {len(texts)} texts", "", "| | " + " | ".join(columns) + " |", "|---" * (len(columns) + 1) + "|"]
    for label, row in figures.items():
        lines.append(
            f"| {label} | "
            + " | ".join(f"{row[name]:.3g}" if name == "seconds" else f"{row[name]:.3f}" for name in names)
            + "".join(
                f" | {row[f'{name} - none']:+.3f} [{row[f'{name} low']:+.3f}, {row[f'{name} high']:+.3f}]"
                for name in names[:2]
            )
            + " |"
        )
    return "\n".join([*lines, ""])


def check_names(only: Sequence[str]) -> None:
    """Raise ConfigurationError unless all are names or labels of chunkers."""
    valid = {name for row in (*ROWS, *STEM_ROWS) for name in (row.label, row.chunker)}
    for name in only:
        require(name in valid, f"--only accepts names and labels of chunkers{did_you_mean(name, valid)}", name)


def arguments() -> argparse.Namespace:
    """Return the arguments of the command line."""
    parser = argument_parser(__doc__, data=False)
    parser.add_argument(
        "--set",
        nargs="+",
        choices=["lectures", "meetings", "abstracts", "clinical", "choi", "joined", "manifesto", "synthetic"],
        default=["choi"],
    )
    parser.add_argument("--only", nargs="+", default=[], help="names or labels of chunkers")
    parser.add_argument("--texts", type=int, help="maximum number of texts per group")
    parser.add_argument("--every", type=int, default=1, help="take every N-th text of each group")
    parser.add_argument("--minilm", action="store_true", help="also run the embedding chunkers with MiniLM")
    parser.add_argument("--stems", type=Path, help="stems_c99_java.json.gz, to compare with the original programs")
    parser.add_argument("--json", action="store_true")
    return parser.parse_args()


def rows_of(minilm: bool) -> list[Row]:
    """Return the configurations; with ``minilm``, also those of the embedding chunkers with it."""
    shared = {"embedder": "minilm", "cache": dict[str, Any]()}
    chunkers = ("optimal-semantic", "semantic-cluster", "graph-partition") if minilm else ()
    return [
        *ROWS,
        *(
            Row(f"{row.label}, MiniLM", row.chunker, {**row.params, **shared})
            for row in ROWS
            if row.chunker in chunkers
        ),
    ]


def measure_all(args: argparse.Namespace) -> dict[str, dict[str, Any]]:
    """Return the scores by group and configuration, printed as tables unless as JSON later."""
    rows, results = rows_of(args.minilm), dict[str, dict[str, Any]]()
    for which in args.set:
        for group, texts in read_groups(args.data, which, args.texts, args.every).items():
            print(group, file=sys.stderr)
            words = [text.words() for text in texts]
            results[group] = run(texts, words, rows, args.only)
            if args.stems and which == "choi":
                original = run(stem_texts(args.stems, group, texts), words, STEM_ROWS, args.only)
                results[group] |= {label: figures for label, figures in original.items() if "stems" in label}
            if not args.json:
                print(table(group, texts, results[group]))
    return results


def main() -> None:
    """Measure, print, and check the limits."""
    args = arguments()
    check_names(args.only)
    results = measure_all(args)
    if args.json:
        print(json.dumps({"figures": results, "published word Pk": PUBLISHED}, indent=1))
    elif "choi" in args.set:
        print("Published word Pk:", *(f"- {name}: {figures}" for name, figures in PUBLISHED.items()), sep="\n")
    if "choi" in args.set and (unchecked := list_unchecked(results)):
        print("Not checked:", "; ".join(unchecked), file=sys.stderr)
    if not args.texts and args.every == 1 and (regressions := list_regressions(results)):
        raise SystemExit("\n".join(regressions))


if __name__ == "__main__":
    main()
