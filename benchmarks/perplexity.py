"""Measure perplexity chunking with a causal language model on the CPU: values, speed, and segmentation quality.

python benchmarks/perplexity.py [--golden DIR] [--data DIR] [--lm smollm2] [--only golden speed quality]

The golden folder holds the texts and the values of one pass of the same model (NAME.json). The data folder holds
``choi`` and ``clinical``, texts with known segments. Prints JSON. The exit status is 1 if values differ or a speed is
below its minimum. Runs in one thread; times are processor time, the minimum of several interleaved runs.
"""

from __future__ import annotations

import json
import random
import sys
import time
from bisect import bisect_left
from collections.abc import Callable
from dataclasses import replace
from functools import partial
from pathlib import Path
from typing import Any, TypeAlias

import numpy as np
import torch
from runner import argument_parser, time_tasks

from advchunk import UniversalSemanticChunker
from advchunk.building.sizes import Limits
from advchunk.chunkers.by_topic.margin import MarginSamplingChunker
from advchunk.chunkers.by_topic.perplexity import PerplexityChunker, minimum_drops
from advchunk.chunkers.model_bases import join_segments
from advchunk.evaluation import SegmentedText, even_split, pk, read_folder, window_diff
from advchunk.evaluation.metrics.statistics import mean_interval, paired_difference
from advchunk.models.causal import CausalLM, as_causal
from advchunk.models.counters import as_counter
from advchunk.models.huggingface import HuggingFaceLM
from advchunk.records import Floats, Ints, Units

Json: TypeAlias = dict[str, Any]

DOCUMENTS = ("ancient_rome", "state_of_the_union", "wikitexts")
SPEED, TIMES = 0.9, 10.0  # minimum throughput relative to a plain forward pass, and minimum speedup over recomputation
CHARACTERS, SEED = 13_000, 5  # maximum length and sampling seed of the texts with known segments


def model_of(lm: str, **settings: Any) -> HuggingFaceLM:
    """Return the model to measure."""
    model: HuggingFaceLM = as_causal(lm, **settings).model
    return model


def golden(lm: str, folder: Path) -> Json:
    """Compare the surprise of sentences joined by spaces with one pass of the same model."""
    results = {}
    for name in DOCUMENTS:
        reference = json.loads((folder / f"{name}.json").read_text(encoding="utf-8"))
        text, lengths = " ".join(reference["sentences"]), [len(sentence) + 1 for sentence in reference["sentences"]]
        edges = np.minimum(np.cumsum([0, *lengths]), len(text))
        (values,) = as_causal(lm).score([(text, edges.tolist())])
        gaps = minimum_drops(values)
        same = {
            theta: np.flatnonzero((gaps > 0) & (gaps >= float(theta))).tolist() == minima
            for theta, minima in reference["minima_space_joined"].items()
        }
        results[name] = {
            "sentences": len(values),
            "largest difference": float(np.abs(values - reference["mean_ce_space_joined"]).max()),
            "equal minima": same,
        }
    return results


def naive(model: HuggingFaceLM, ids: list[int], ends: Ints) -> list[float]:
    """Return the surprise of each sentence from a separate pass over all text up to its end."""
    surprise, last = [], 0
    for end in ends.tolist():
        with torch.inference_mode():
            tokens = torch.tensor([ids[:end]])
            chances = model.reader.model(tokens).logits[0].log_softmax(-1)
        first = max(last, 1)
        own = -chances[first - 1 : end - 1].gather(1, tokens[0, first:end, None])
        surprise.append(float(own.mean()))
        last = end
    return surprise


def speed(lm: str, folder: Path) -> Json:
    """Compare scoring with a plain forward pass and with recomputation for every sentence, in the same run."""
    reference = json.loads((folder / f"{DOCUMENTS[0]}.json").read_text(encoding="utf-8"))
    text, lengths = " ".join(reference["sentences"]), [len(sentence) + 1 for sentence in reference["sentences"]]
    edges = np.minimum(np.cumsum([0, *lengths]), len(text)).tolist()
    model = model_of(lm)
    ids: list[int] = model.reader.tokenizer(text, add_special_tokens=False).input_ids
    tokens = torch.tensor([ids])
    coerced = as_causal(lm)

    def bare() -> object:
        with torch.inference_mode():
            return model.reader.model(tokens, use_cache=False).logits

    turns = time_tasks({"plain": bare, "ours": partial(coerced.score, [(text, edges)])}, 5)
    passes, ours = min(turns["plain"]), min(turns["ours"])
    start = time.process_time()
    values = naive(model, ids, np.cumsum(reference["token_lens_space_joined"]))
    recomputed = time.process_time() - start
    (quick,) = coerced.score([(text, edges)])
    return {
        "tokens": len(ids),
        "sentences": len(edges) - 1,
        "plain pass, s": passes,
        "ours, s": ours,
        "recomputed, s": recomputed,
        "throughput relative to plain pass": passes / ours,
        "speedup over recomputation": recomputed / ours,
        "largest difference": float(np.abs(np.array(values) - quick).max()),
    }


def top_gaps(gaps: Floats, k: int) -> Ints:
    """Return the cuts at the k - 1 highest gaps; the first ones win ties."""
    inner = np.sort(np.argsort(-gaps, kind="stable")[: k - 1]) + 1
    return np.asarray(np.r_[0, inner, len(gaps) + 1])


def merge_to_count(cuts: Ints, units: Units, k: int) -> Ints:
    """Merge segments up to the token budget whose number of segments is closest to k."""
    counter = as_counter()
    sizes = counter.counts(units.strings())
    counted = replace(units, sizes=sizes)

    def merge(budget: int) -> Ints:
        return join_segments(cuts, counted, Limits(budget, 0, 0, counter))

    # A larger budget leaves fewer segments: compare the first budget with at most k and the last with more.
    enough = 1 + bisect_left(range(1, int(sizes.sum()) + 1), -k, key=lambda budget: 1 - len(merge(budget)))
    return min((merge(enough), merge(max(enough - 1, 1))), key=lambda merged: abs(len(merged) - 1 - k))


def segmentations(lm: CausalLM, text: SegmentedText) -> dict[str, Ints]:
    """Return the cuts of each method: its segments merged to the true number, and its K highest-scoring gaps."""
    units, k = text.units, len(text.cuts) - 1
    raw = PerplexityChunker(lm=lm, combine=False).segmentation(units)
    growing = MarginSamplingChunker(lm=lm, combine=False).segmentation(units)
    pairs = MarginSamplingChunker(lm=lm, combine=False, context="pair").segmentation(units)
    similar = UniversalSemanticChunker(min_chunk_size=0).segmentation(units)
    every = np.arange(len(units) + 1)
    whole = {
        "recursive": every,
        "universal-semantic": similar.cuts,
        "perplexity": raw.cuts,
        "margin-sampling": growing.cuts,
        "margin-sampling, pairs": pairs.cuts,
    }
    gaps = {
        "perplexity, K deepest minima": raw.gaps,
        "perplexity, K largest rises": np.diff(raw.figures["surprise"]),
        "margin-sampling, pairs, K largest margins": pairs.gaps,
        "universal-semantic, K least similar": similar.gaps,
    }
    return {
        "no boundary": even_split(len(units), 1),
        "even split": even_split(len(units), k),
        **{label: merge_to_count(cuts, units, k) for label, cuts in whole.items()},
        **{label: top_gaps(np.asarray(scores), k) for label, scores in gaps.items()},
    }


def quality(lm: str, folder: Path, texts: int) -> Json:
    """Compare cuts with the known segments of a random sample of texts."""
    results: Json = {}
    for name in ("choi/3-11", "clinical"):
        scores: dict[str, list[tuple[float, float, int]]] = {}
        pool = [text for text in read_folder(folder / name, "*") if len(text.units.text) <= CHARACTERS]
        sample = random.Random(SEED).sample(pool, min(texts, len(pool)))
        start = time.process_time()
        for text in sample:
            for label, cuts in segmentations(as_causal(lm), text).items():
                scores.setdefault(label, []).append((pk(text.cuts, cuts), window_diff(text.cuts, cuts), len(cuts) - 1))
            print(name, text.name, file=sys.stderr)
        results[name] = {
            "texts": [text.name for text in sample],
            "sampled from": len(pool),
            "true segments": float(np.mean([len(text.cuts) - 1 for text in sample])),
            "processor seconds": time.process_time() - start,
        } | {label: _summarize(rows, scores["recursive"]) for label, rows in scores.items()}
    return results


def _summarize(rows: list[tuple[float, float, int]], baseline: list[tuple[float, float, int]]) -> Json:
    ours, reference = np.array(rows, dtype=float), np.array(baseline, dtype=float)
    means = dict(zip(("Pk", "WindowDiff", "segments"), map(float, ours.mean(axis=0)), strict=True))
    if len(rows) < 2:
        return means
    pks, less = mean_interval(ours[:, 0]), paired_difference(ours[:, 0], reference[:, 0])
    return means | {"Pk, 95 %": (pks.low, pks.high), "Pk, to recursive": (less.mean, less.low, less.high)}


def missed(results: Json) -> list[str]:
    """Return a message for each figure that is below its minimum."""
    messages = []
    for name, figures in results.get("golden", {}).items():
        if figures["largest difference"] > 1e-3 or not all(figures["equal minima"].values()):
            messages.append(f"{name}: values differ by {figures['largest difference']:.2g}")
    if figures := results.get("speed"):
        if figures["throughput relative to plain pass"] < SPEED:
            messages.append(f"throughput is {figures['throughput relative to plain pass']:.2f} of a plain pass")
        if figures["speedup over recomputation"] < TIMES:
            messages.append(f"only {figures['speedup over recomputation']:.1f} times as fast as recomputation")
    return messages


def main() -> None:
    """Run the selected sections."""
    parser = argument_parser(__doc__, data=None)
    sections = ("golden", "speed", "quality")
    parser.add_argument("--golden", type=Path)
    parser.add_argument("--data", type=Path)
    parser.add_argument("--lm", default="smollm2")
    parser.add_argument("--only", nargs="+", choices=sections, default=sections)
    parser.add_argument("--texts", type=int, default=10)
    args = parser.parse_args()
    torch.set_num_threads(1)
    tasks: dict[str, Callable[[], Json]] = {
        "golden": lambda: golden(args.lm, args.golden),
        "speed": lambda: speed(args.lm, args.golden),
        "quality": lambda: quality(args.lm, args.data, args.texts),
    }
    needs = {"golden": args.golden, "speed": args.golden}
    results = {name: tasks[name]() for name in args.only if needs.get(name, args.data) is not None}
    json.dump(results, sys.stdout, indent=1)
    print()
    if worse := missed(results):
        raise SystemExit("\n".join(worse))


if __name__ == "__main__":
    main()
