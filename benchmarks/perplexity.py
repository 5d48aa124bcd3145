"""Measure perplexity chunking with a causal language model on the processor: values, speed, memory, where it cuts.

python benchmarks/perplexity.py [--golden DIR] [--data DIR] [--lm smollm2] [--only golden speed long forgetting quality]

DIR of golden holds the values of one pass of the same model and their texts (NAME.json); DIR of data the folders
``choi`` and ``clinical`` of texts whose segments are known, and ``chroma``, of long ones. JSON on stdout. The exit
status is 1 when values differ, or a speed is less than promised. One thread; processor time, of several runs in turn
the least.
"""

from __future__ import annotations

import argparse
import json
import random
import resource
import subprocess
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

from advchunk import UniversalSemanticChunker
from advchunk.chunkers.language import combined
from advchunk.chunkers.margin import MarginSamplingChunker
from advchunk.chunkers.perplexity import PerplexityChunker, drops
from advchunk.evaluation import (
    Segmented,
    even_split,
    mean_interval,
    no_boundary,
    paired_difference,
    pk,
    read_folder,
    window_diff,
)
from advchunk.models import rolling
from advchunk.models.causal import CausalLM, as_causal, per_unit
from advchunk.models.counters import as_counter
from advchunk.models.huggingface import HuggingFaceLM
from advchunk.records import Floats, Ints, Units
from advchunk.sizes import Limits

Json: TypeAlias = dict[str, Any]

DOCUMENTS = ("ancient_rome", "state_of_the_union", "wikitexts")
SPEED, TIMES = 0.9, 10.0  # of a bare pass, and of naive recomputation: what was promised
LENGTHS = (2500, 5000, 20_000)
WINDOW = 1024  # tokens, of long texts
CHARACTERS, SEED = 13_000, 5  # of the texts with known segments: the longest that are drawn


def model_of(lm: str, **settings: Any) -> HuggingFaceLM:
    """Return the model that is measured."""
    model: HuggingFaceLM = as_causal(lm, **settings).model
    return model


def golden(lm: str, folder: Path) -> Json:
    """Compare the surprise of sentences joined by spaces with that of one pass of the same model."""
    found = {}
    for name in DOCUMENTS:
        said = json.loads((folder / f"{name}.json").read_text(encoding="utf-8"))
        text, lengths = " ".join(said["sentences"]), [len(sentence) + 1 for sentence in said["sentences"]]
        edges = np.minimum(np.cumsum([0, *lengths]), len(text))
        (values,) = as_causal(lm).score([(text, edges.tolist())])
        gaps = drops(values)
        same = {
            theta: np.flatnonzero((gaps > 0) & (gaps >= float(theta))).tolist() == minima
            for theta, minima in said["minima_space_joined"].items()
        }
        found[name] = {
            "sentences": len(values),
            "greatest difference": float(np.abs(values - said["mean_ce_space_joined"]).max()),
            "equal minima": same,
        }
    return found


def least(task: Callable[[], object], repeat: int) -> float:
    """Return the least processor seconds of several runs."""
    seconds = []
    for _ in range(repeat):
        began = time.process_time()
        task()
        seconds.append(time.process_time() - began)
    return min(seconds)


def naive(model: HuggingFaceLM, ids: list[int], ends: Ints) -> list[float]:
    """Return the surprise of each sentence by a pass over all text up to its end."""
    found, last = [], 0
    for end in ends.tolist():
        with torch.inference_mode():
            tokens = torch.tensor([ids[:end]])
            chances = model.reader.model(tokens).logits[0].log_softmax(-1)
        first = max(last, 1)
        own = -chances[first - 1 : end - 1].gather(1, tokens[0, first:end, None])
        found.append(float(own.mean()))
        last = end
    return found


def speed(lm: str, folder: Path) -> Json:
    """Compare scoring with a bare forward pass on the same text, and with the naive way, in one run."""
    said = json.loads((folder / f"{DOCUMENTS[0]}.json").read_text(encoding="utf-8"))
    text, lengths = " ".join(said["sentences"]), [len(sentence) + 1 for sentence in said["sentences"]]
    edges = np.minimum(np.cumsum([0, *lengths]), len(text)).tolist()
    model = model_of(lm)
    ids: list[int] = model.reader.tokenizer(text, add_special_tokens=False).input_ids
    tokens = torch.tensor([ids])
    coerced = as_causal(lm)

    def bare() -> object:
        with torch.inference_mode():
            return model.reader.model(tokens, use_cache=False).logits

    bare()
    # In turn, so that what else the machine does slows both.
    pairs = [(least(bare, 1), least(partial(coerced.score, [(text, edges)]), 1)) for _ in range(5)]
    passes, ours = (min(seconds) for seconds in zip(*pairs, strict=True))
    began = time.process_time()
    values = naive(model, ids, np.cumsum(said["token_lens_space_joined"]))
    recomputed = time.process_time() - began
    (quick,) = coerced.score([(text, edges)])
    return {
        "tokens": len(ids),
        "sentences": len(edges) - 1,
        "bare pass, s": passes,
        "ours, s": ours,
        "naive, s": recomputed,
        "throughput, of the bare pass": passes / ours,
        "times the naive way": recomputed / ours,
        "greatest difference": float(np.abs(np.array(values) - quick).max()),
    }


def words_of(folder: Path) -> str:
    """Return a long text."""
    return (folder / "chroma" / "wikitexts.md").read_text(encoding="utf-8")


def one_length(lm: str, folder: Path, tokens: int) -> Json:
    """Read so many tokens through a window, in this process."""
    model, text = model_of(lm, max_context=WINDOW), words_of(folder)
    model.surprise(text[:2000])
    before = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss
    ends = [end for _, end in model.reader.plain.encode(text[: tokens * 8], add_special_tokens=False).offsets]
    began = time.process_time()
    _, nats = model.surprise(text[: ends[tokens - 1]])
    seconds = time.process_time() - began
    peak = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss
    return {"tokens": len(nats), "ms a token": 1000 * seconds / len(nats), "peak MB": peak // 1024,
            "over a short text, MB": (peak - before) // 1024}  # fmt: skip


def long(lm: str, folder: Path) -> Json:
    """Read longer and longer texts through a window, each in a process of its own, for its peak memory."""
    found = {}
    for tokens in LENGTHS:
        command = [
            sys.executable,
            __file__,
            "--lm",
            lm,
            "--data",
            str(folder),
            "--only",
            "one",
            "--tokens",
            str(tokens),
        ]
        found[str(tokens)] = json.loads(subprocess.run(command, capture_output=True, check=True, text=True).stdout)[
            "one"
        ]
    return found


def forgetting(lm: str, folder: Path) -> Json:
    """Compare what is said of a text through a window with what is said with all of it at hand."""
    text = words_of(folder)[:9000]
    whole = model_of(lm).surprise(text)[1]
    found: Json = {"tokens": len(whole)}
    units = np.arange(0, len(whole) + 1, 25)
    ends = np.arange(1, len(whole) + 1)

    def beside(read: Floats, window: int) -> Json:
        after = slice(window, None)
        full, rolled = (per_unit(ends, nats, units) for nats in (whole, read))
        minima, others = (set(np.flatnonzero(drops(v) > 0)) for v in (full, rolled))
        return {
            "mean nats": float(read[after].mean()),
            "more than with all text": float((read - whole)[after].mean()),
            "correlation of units of 25 tokens": float(np.corrcoef(full, rolled)[0, 1]),
            "minima in common": len(minima & others) / len(minima | others),
        }

    for window in (256, 512):
        figures: Json = {"all text": float(whole[window:].mean())}
        figures["turned"] = beside(model_of(lm, max_context=window).surprise(text)[1], window)
        turns = model_of(lm).reader.rotations
        known, sinks = turns[window], rolling.SINKS
        for label, wrong, kept in (("read again", None, sinks), ("positions left as they were", [None] * len(known), sinks),
                                   ("first tokens dropped", known, 0)):  # fmt: skip
            turns[window], rolling.SINKS = wrong, kept
            figures[label] = beside(model_of(lm, max_context=window).surprise(text)[1], window)
        turns[window], rolling.SINKS = known, sinks
        found[str(window)] = figures
    return found


def best(gaps: Floats, k: int) -> Ints:
    """Return the cuts at the k - 1 highest gaps, of equals the first."""
    inner = np.sort(np.argsort(-gaps, kind="stable")[: k - 1]) + 1
    return np.asarray(np.r_[0, inner, len(gaps) + 1])


def together(cuts: Ints, units: Units, k: int) -> Ints:
    """Put segments together up to the budget that leaves as near to k of them as any."""
    counter = as_counter()
    sizes = counter.counts(units.strings())
    counted = replace(units, sizes=sizes)

    def within(budget: int) -> Ints:
        return combined(cuts, counted, Limits(budget, 0, 0, counter))

    # The larger the budget, the fewer segments: the first that leaves no more than k, and the last that leaves more.
    enough = 1 + bisect_left(range(1, int(sizes.sum()) + 1), -k, key=lambda budget: 1 - len(within(budget)))
    return min((within(enough), within(max(enough - 1, 1))), key=lambda found: abs(len(found) - 1 - k))


def segmentations(lm: CausalLM, text: Segmented) -> dict[str, Ints]:
    """Return where each way cuts a text: put together to chunks as many as its segments, and at its likeliest gaps."""
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
        "perplexity, K greatest rises": np.diff(raw.figures["surprise"]),
        "margin-sampling, pairs, K greatest margins": pairs.gaps,
        "universal-semantic, K least alike": similar.gaps,
    }
    return {
        "no boundary": no_boundary(len(units)),
        "even split": even_split(len(units), k),
        **{label: together(cuts, units, k) for label, cuts in whole.items()},
        **{label: best(np.asarray(found), k) for label, found in gaps.items()},
    }


def quality(lm: str, folder: Path, texts: int) -> Json:
    """Compare cuts with known segments, of texts drawn with a seed."""
    found: Json = {}
    for name in ("choi/3-11", "clinical"):
        scores: dict[str, list[tuple[float, float, int]]] = {}
        every = [text for text in read_folder(folder / name, "*") if len(text.units.text) <= CHARACTERS]
        known = random.Random(SEED).sample(every, min(texts, len(every)))
        began = time.process_time()
        for text in known:
            for label, cuts in segmentations(as_causal(lm), text).items():
                scores.setdefault(label, []).append((pk(text.cuts, cuts), window_diff(text.cuts, cuts), len(cuts) - 1))
            print(name, text.name, file=sys.stderr)
        found[name] = {
            "texts": [text.name for text in known],
            "of": len(every),
            "true segments": float(np.mean([len(text.cuts) - 1 for text in known])),
            "processor seconds": time.process_time() - began,
        } | {label: _beside(rows, scores["recursive"]) for label, rows in scores.items()}
    return found


def _beside(rows: list[tuple[float, float, int]], baseline: list[tuple[float, float, int]]) -> Json:
    ours, theirs = np.array(rows, dtype=float), np.array(baseline, dtype=float)
    means = dict(zip(("Pk", "WindowDiff", "segments"), map(float, ours.mean(axis=0)), strict=True))
    if len(rows) < 2:
        return means
    pks, less = mean_interval(ours[:, 0]), paired_difference(ours[:, 0], theirs[:, 0])
    return means | {"Pk, 95 %": (pks.low, pks.high), "Pk, to recursive": (less.mean, less.low, less.high)}


def missed(found: Json) -> list[str]:
    """Return what is worse than promised."""
    said = []
    for name, figures in found.get("golden", {}).items():
        if figures["greatest difference"] > 1e-3 or not all(figures["equal minima"].values()):
            said.append(f"{name}: values differ by {figures['greatest difference']:.2g}")
    if figures := found.get("speed"):
        if figures["throughput, of the bare pass"] < SPEED:
            said.append(f"throughput is {figures['throughput, of the bare pass']:.2f} of a bare pass")
        if figures["times the naive way"] < TIMES:
            said.append(f"only {figures['times the naive way']:.1f} times as fast as the naive way")
    return said


def main() -> None:
    """Measure what is asked for."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    sections = ("golden", "speed", "long", "forgetting", "quality")
    parser.add_argument("--golden", type=Path)
    parser.add_argument("--data", type=Path)
    parser.add_argument("--lm", default="smollm2")
    parser.add_argument("--only", nargs="+", choices=(*sections, "one"), default=sections)
    parser.add_argument("--texts", type=int, default=10)
    parser.add_argument("--tokens", type=int, default=LENGTHS[0])
    given = parser.parse_args()
    torch.set_num_threads(1)
    tasks: dict[str, Callable[[], Json]] = {
        "golden": lambda: golden(given.lm, given.golden),
        "speed": lambda: speed(given.lm, given.golden),
        "long": lambda: long(given.lm, given.data),
        "one": lambda: one_length(given.lm, given.data, given.tokens),
        "forgetting": lambda: forgetting(given.lm, given.data),
        "quality": lambda: quality(given.lm, given.data, given.texts),
    }
    needs = {"golden": given.golden, "speed": given.golden}
    found = {name: tasks[name]() for name in given.only if needs.get(name, given.data) is not None}
    json.dump(found, sys.stdout, indent=1)
    print()
    if worse := missed(found):
        raise SystemExit("\n".join(worse))


if __name__ == "__main__":
    main()
