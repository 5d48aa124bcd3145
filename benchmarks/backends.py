"""Measure MiniLM in all precisions and in ONNX, batches by tokens, and what chunkers add. See EMBEDDING.md.

OPENBLAS_NUM_THREADS=1 python benchmarks/backends.py FILE ... [--characters N] [--repeat N]
"""

from __future__ import annotations

import argparse
import re
import time
import warnings
from collections.abc import Callable, Mapping, Sequence
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import Any, TypeAlias

from advchunk import create
from advchunk.models.embedders import CheckedEmbedder, as_embedder
from advchunk.models.onnx_embedder import OnnxEmbedder

Task: TypeAlias = Callable[[], Any]

PRECISIONS = ("float32", "bfloat16", "float16")
CHUNKERS: Mapping[str, Mapping[str, Any]] = {
    "universal-semantic": {},
    "mst-semantic": {},
    "semantic-threshold": {},
    "optimal-semantic": {},
}


def export(encoder: Any, folder: Path) -> Path:
    """Save a SentenceTransformer of an encoder such as BERT with its ONNX graph; return the folder."""
    import torch

    encoder.save_pretrained(str(folder))
    (folder / "onnx").mkdir()
    features = dict(encoder.tokenizer(["A text.", "Another short text."], padding=True, return_tensors="pt"))
    names = [name for name in ("input_ids", "attention_mask", "token_type_ids") if name in features]
    shapes = {name: {0: torch.export.Dim.DYNAMIC, 1: torch.export.Dim.DYNAMIC} for name in names}
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        torch.onnx.export(
            encoder[0].auto_model.eval(),
            kwargs={name: features[name] for name in names},
            f=str(folder / "onnx" / "model.onnx"),
            input_names=names,
            output_names=["last_hidden_state"],
            dynamic_shapes=shapes,
            verbose=False,
        )
    return folder


def cpu_seconds(tasks: Mapping[str, Task], repeat: int) -> dict[str, float]:
    """Return the least processor seconds of each task; tasks take turns."""
    seconds = dict.fromkeys(tasks, float("inf"))
    for _ in range(repeat):
        for name, task in tasks.items():
            start = time.process_time()
            task()
            seconds[name] = min(seconds[name], time.process_time() - start)
    return seconds


def backends(texts: list[str], repeat: int) -> list[str]:
    """Return rows of a table: processor seconds, and the lowest cosine with float32."""
    embedders = {name: as_embedder(f"minilm:{name}") for name in PRECISIONS}
    with TemporaryDirectory() as folder:
        path = export(embedders["float32"].model, Path(folder) / "minilm")
        embedders["onnx"] = as_embedder(OnnxEmbedder(path, threads=1))
        seconds = cpu_seconds({name: lambda e=e: e.embed(texts) for name, e in embedders.items()}, repeat)  # type: ignore[misc]
        reference = embedders["float32"].embed(texts)
        lowest = {name: float((e.embed(texts) * reference).sum(1).min()) for name, e in embedders.items()}
    return [f"| {name} | {seconds[name]:.2f} | {lowest[name]:.5f} |" for name in embedders]


def batches(sets: Mapping[str, list[str]], embedder: CheckedEmbedder, repeat: int) -> list[str]:
    """Return rows of a table: processor seconds in batches of 32 texts, and by tokens."""
    rows = []
    for name, texts in sets.items():
        tasks: dict[str, Task] = {
            "fixed": lambda texts=texts: embedder.model.encode(texts, show_progress_bar=False),
            "tokens": lambda texts=texts: embedder.embed(texts),
        }
        seconds = cpu_seconds(tasks, repeat)
        ratio = seconds["fixed"] / seconds["tokens"]
        rows.append(f"| {name} ({len(texts)}) | {seconds['fixed']:.2f} | {seconds['tokens']:.2f} | {ratio:.2f} |")
    return rows


class Recorded:
    """An embedder that keeps the time of its calls."""

    def __init__(self, embedder: CheckedEmbedder) -> None:
        self._embedder, self.seconds = embedder, 0.0
        self.tokenizer, self.max_tokens = embedder.tokenizer, embedder.max_tokens

    def embed(self, texts: Sequence[str]) -> Any:
        """Embed, and add the processor seconds that it takes."""
        start = time.process_time()
        rows = self._embedder.embed(texts)
        self.seconds += time.process_time() - start
        return rows


def overhead(texts: list[str], embedder: CheckedEmbedder, repeat: int) -> list[str]:
    """Return rows of a table: processor seconds of each chunker, and its ratio to the calls of the model alone."""
    rows = []
    for name, settings in CHUNKERS.items():
        ratios = []
        for _ in range(repeat):
            recorded = Recorded(embedder)
            start = time.process_time()
            create(name, embedder=recorded, **settings).chunk_many(texts)
            ratios.append(((time.process_time() - start) / recorded.seconds, recorded.seconds))
        ratio, seconds = min(ratios)
        rows.append(f"| {name} | {seconds:.2f} | {ratio:.3f} |")
    return rows


def main() -> None:
    """Print three tables."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("files", nargs="+", type=Path)
    parser.add_argument("--characters", type=int, default=12_000, help="of each file")
    parser.add_argument("--repeat", type=int, default=3)
    args = parser.parse_args()
    import torch

    torch.set_num_threads(1)
    texts = [path.read_text(encoding="utf-8")[: args.characters] for path in args.files]
    sentences = list(dict.fromkeys(s for text in texts for s in re.split(r"(?<=[.?!])\s+", text) if s.strip()))
    paragraphs = list(dict.fromkeys(p for text in texts for p in text.split("\n\n") if p.strip()))
    mixed = list(dict.fromkeys([*sentences, *paragraphs]))
    minilm = as_embedder("minilm")
    sets = {"sentences": sentences, "sentences and paragraphs": mixed}
    print(
        "| texts | batches of 32, s | by tokens, s | ratio |\n|---|---|---|---|",
        *batches(sets, minilm, args.repeat),
        sep="\n",
    )
    print("\n| chunker | model, s | chunker / model |\n|---|---|---|", *overhead(texts, minilm, args.repeat), sep="\n")
    print("\n| MiniLM | s | least cosine |\n|---|---|---|", *backends(mixed, args.repeat), sep="\n")


if __name__ == "__main__":
    main()
