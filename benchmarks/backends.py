"""Measure MiniLM in batches of tokens, under chunkers, in half precision, and as ONNX. See MODELS.md.

OPENBLAS_NUM_THREADS=1 python benchmarks/backends.py FILE ... [--characters N] [--repeat N]
"""

from __future__ import annotations

import subprocess
import sys
import time
import warnings
from collections.abc import Mapping, Sequence
from functools import partial
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import Any

from runner import argument_parser
from speed import PLAIN_SENTENCE, time_tasks

from advchunk import OnnxEmbedder, create
from advchunk.models.embedders import CheckedEmbedder, as_embedder

PRECISIONS = ("float32", "bfloat16", "float16")
CHUNKERS = ("universal-semantic", "mst-semantic", "semantic-threshold", "optimal-semantic")
LOAD = r"""
import re, time
from pathlib import Path
from advchunk import OnnxEmbedder
from advchunk.models.embedders import as_embedder
as_embedder({}).embed(["a text"])
peak = re.search(r"VmHWM:\s*(\d+)", Path("/proc/self/status").read_text())[1]  # ru_maxrss counts the parent's memory
print(time.process_time(), int(peak) // 1024)
"""


def export(encoder: Any, folder: Path) -> Path:
    """Save a SentenceTransformer of an encoder such as BERT with its ONNX graph; return the folder."""
    import torch

    class Tokens(torch.nn.Module):  # the vectors of tokens, and no other output
        def __init__(self) -> None:
            super().__init__()
            self.model = encoder[0].auto_model

        def forward(self, *features: Any) -> Any:
            return self.model(**dict(zip(names, features, strict=True))).last_hidden_state

    encoder.save_pretrained(str(folder))
    (folder / "onnx").mkdir()
    features = encoder.tokenizer(["A text.", "Another short text."], return_tensors="pt", padding=True)
    names = [*features]
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        torch.onnx.export(
            Tokens().eval(),
            tuple(features.values()),
            str(folder / "onnx" / "model.onnx"),
            input_names=names,
            output_names=["last_hidden_state"],
            dynamic_axes={name: {0: "texts", 1: "tokens"} for name in [*names, "last_hidden_state"]},
            dynamo=False,  # it takes a tenth of the time, and onnxruntime is faster with the graph
        )
    return folder


def lowest(tasks: Mapping[str, Any], repeat: int) -> dict[str, float]:
    """Return the lowest processor seconds of each task."""
    return {name: times["cpu"]["min"] for name, times in time_tasks(tasks, repeat).items()}


def batches(texts: list[str], embedder: CheckedEmbedder, repeat: int) -> list[str]:
    """Return the row of a table: processor seconds in sentence-transformers' batches of 32 texts, and by tokens."""
    encode = partial(embedder.model.encode, texts, show_progress_bar=False)
    seconds = lowest({"fixed": encode, "tokens": partial(embedder.embed, texts)}, repeat)
    ratio = seconds["fixed"] / seconds["tokens"]
    return [f"{len(texts)}", f"{seconds['fixed']:.2f}", f"{seconds['tokens']:.2f}", f"{ratio:.2f}"]


class Recorded:
    """An embedder that records the processor seconds of its calls."""

    def __init__(self, embedder: CheckedEmbedder) -> None:
        self._embedder, self.seconds = embedder, 0.0
        self.tokenizer, self.max_tokens = embedder.tokenizer, embedder.max_tokens

    def embed(self, texts: Sequence[str]) -> Any:
        """Embed, and add the processor seconds that it takes."""
        start = time.process_time()
        rows = self._embedder.embed(texts)
        self.seconds += time.process_time() - start
        return rows


def overhead(chunker: str, texts: list[str], embedder: CheckedEmbedder, repeat: int) -> list[str]:
    """Return the row of a table: processor seconds of the model's calls, and the ratio of the whole to them."""
    runs = []
    for _ in range(repeat):
        recorded = Recorded(embedder)
        start = time.process_time()
        create(chunker, embedder=recorded).chunk_many(texts)
        runs.append(((time.process_time() - start) / recorded.seconds, recorded.seconds))
    ratio, seconds = min(runs)
    return [chunker, f"{seconds:.2f}", f"{ratio:.3f}"]


def backends(texts: list[str], folder: Path, repeat: int) -> list[list[str]]:
    """Return the rows of a table: processor seconds, cosines with float32, and what it takes to load."""
    from onnxruntime.quantization import quantize_dynamic

    sources = {name: f"'minilm:{name}'" for name in PRECISIONS}
    embedders = {name: as_embedder(f"minilm:{name}") for name in PRECISIONS}
    export(embedders["float32"].model, folder)
    quantize_dynamic(folder / "onnx" / "model.onnx", folder / "onnx" / "model_int8.onnx")
    for name, file in ("ONNX", "onnx/model.onnx"), ("ONNX, 8 bits", "onnx/model_int8.onnx"):
        embedders[name] = as_embedder(OnnxEmbedder(folder, file, threads=1))
        sources[name] = f"OnnxEmbedder({str(folder)!r}, {file!r}, threads=1)"
    seconds = lowest({name: partial(embedder.embed, texts) for name, embedder in embedders.items()}, repeat)
    reference = embedders["float32"].embed(texts)
    rows = []
    for name, embedder in embedders.items():
        cosines = (embedder.embed(texts) * reference).sum(1)
        command = [sys.executable, "-c", LOAD.format(sources[name])]
        load, memory = subprocess.run(command, capture_output=True, check=True, text=True).stdout.split()
        least, mean = f"{cosines.min():.4f}", f"{cosines.mean():.4f}"
        rows.append([name, f"{seconds[name]:.2f}", mean, least, f"{float(load):.1f}", memory])
    return rows


def table(*rows: Sequence[str]) -> str:
    """Return rows, the first of which is the head, as a Markdown table."""
    head, *body = (f"| {' | '.join(row)} |" for row in rows)
    return "\n".join([head, "|---" * len(rows[0]) + "|", *body, ""])


def main() -> None:
    """Print three tables."""
    parser = argument_parser(__doc__, data=None)
    parser.add_argument("files", nargs="+", type=Path)
    parser.add_argument("--characters", type=int, default=12_000, help="of each file")
    parser.add_argument("--repeat", type=int, default=3)
    args = parser.parse_args()
    import torch

    torch.set_num_threads(1)
    texts = [path.read_text(encoding="utf-8")[: args.characters] for path in args.files]
    sentences = [sentence for text in texts for sentence in PLAIN_SENTENCE.split(text) if sentence.strip()]
    paragraphs = [paragraph for text in texts for paragraph in text.split("\n\n") if paragraph.strip()]
    minilm, repeat = as_embedder("minilm"), args.repeat
    sets = {"sentences": sentences, "sentences and paragraphs": sentences + paragraphs}
    rows = [[name, *batches(some, minilm, repeat)] for name, some in sets.items()]
    print(table(["texts", "number", "batches of 32, s", "by tokens, s", "ratio"], *rows))
    rows = [overhead(name, texts, minilm, repeat) for name in CHUNKERS]
    print(table(["chunker", "model, s", "chunker / model"], *rows))
    with TemporaryDirectory() as folder:
        rows = backends(sentences, Path(folder) / "minilm", repeat)
    print(table(["MiniLM", "s", "mean cosine", "least cosine", "loading, s", "memory, MB"], *rows))


if __name__ == "__main__":
    main()
