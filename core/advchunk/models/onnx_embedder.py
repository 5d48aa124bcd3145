"""Models of sentence-transformers in ONNX format, without torch."""

import json
import os
import re
from collections.abc import Callable, Mapping, Sequence
from itertools import pairwise
from pathlib import Path
from typing import Any, TypeVar

import numpy as np

from advchunk.errors import ModelUnavailable, first_line, import_extra, require
from advchunk.models.counters import replace_surrogates
from advchunk.models.signals import unit_rows
from advchunk.records import Floats, Ints

_T = TypeVar("_T")

BUDGET = 1024  # tokens with padding; on a processor, larger batches only add padding (benchmarks/MODELS.md)
_INPUTS = {"input_ids", "attention_mask", "token_type_ids"}


class OnnxEmbedder:
    """A model of sentence-transformers in ONNX format, run by onnxruntime without torch.

    Tokenizer, limit, prompt and pooling are those of the model's folder, so that the vectors are those of
    sentence-transformers. Texts are sorted by length and read in batches of a bounded number of tokens.

    Parameters
    ----------
    model : a folder as sentence-transformers saves it, or its name on the Hugging Face hub.
    file : the graph in that folder, such as a quantized one; its weights may be in files whose names begin with it.
    threads : processor threads, >= 1; None is one per core.
    providers : onnxruntime's execution providers in order of preference, such as "CUDAExecutionProvider".

    Raises
    ------
    ConfigurationError : not a transformer with mean, first-token or last-token pooling, or other inputs than text.
    """

    def __init__(
        self,
        model: str | Path,
        file: str = "onnx/model.onnx",
        threads: int | None = None,
        providers: Sequence[str] = ("CPUExecutionProvider",),
    ) -> None:
        require(threads is None or threads >= 1, "threads must be >= 1 or None", threads)
        self.model_name, self.file, self.threads, self.providers = str(model), file, threads, tuple(providers)
        runtime, tokenizers = import_extra("onnxruntime", "onnx"), import_extra("tokenizers", "onnx")
        folder = self._folder()
        parts, limit, self._pool, self._normalizes = _read_modules(folder)
        self._pad = _read(parts / "config.json").get("pad_token_id") or 0
        options = runtime.SessionOptions()
        of_environment = os.environ.get("OMP_NUM_THREADS", "")  # which onnxruntime does not read
        options.intra_op_num_threads = threads or (int(of_environment) if of_environment.isdecimal() else 0)
        available = runtime.get_available_providers()
        require({*self.providers} <= {*available}, f"providers must be among {available}", [*self.providers])
        try:
            self.tokenizer = tokenizers.Tokenizer.from_file(str(parts / "tokenizer.json"))
            self._session = runtime.InferenceSession(str(folder / file), options, providers=list(self.providers))
        except Exception as error:  # the libraries raise nothing narrower
            msg = f"embedder {self.model_name!r} could not be loaded from {folder}: {first_line(error)}"
            raise ModelUnavailable(msg) from error
        self.tokenizer.no_padding()
        self.tokenizer.enable_truncation(limit)
        config = _read(folder / "config_sentence_transformers.json")
        self.prompt = (config.get("prompts") or {}).get(config.get("default_prompt_name")) or ""
        prompt_tokens = len(self.tokenizer.encode(self.prompt, add_special_tokens=False))
        self.max_tokens = max(limit - self.tokenizer.num_special_tokens_to_add(False) - prompt_tokens, 1)
        self._inputs = [node.name for node in self._session.get_inputs()]
        require(_INPUTS.issuperset(self._inputs), f"the inputs of {file} must be among {sorted(_INPUTS)}", self._inputs)
        output = self._session.get_outputs()[0]
        require(len(output.shape) == 3, f"the first output of {file} must be the vectors of tokens", output.name)
        self._output = output.name

    def __reduce__(self) -> tuple[Any, ...]:
        return OnnxEmbedder, (self.model_name, self.file, self.threads, self.providers)

    @property
    def identity(self) -> str:
        """Name of the model and its graph in a cache."""
        return f"{self.model_name} {self.file}"

    def embed(self, texts: Sequence[str]) -> Floats:
        """Return (n, d) float32 rows."""
        encodings = self.tokenizer.encode_batch([replace_surrogates(self.prompt + text) for text in texts])
        rows = embed_in_batches(self._run, encodings, np.array(list(map(len, encodings)), dtype=np.int64))
        return unit_rows(rows) if self._normalizes else rows

    def _run(self, encodings: list[Any]) -> Floats:
        lengths = np.array(list(map(len, encodings)), dtype=np.int64)
        mask = np.arange(lengths.max(initial=1)) < lengths[:, None]
        ids = np.full(mask.shape, self._pad, dtype=np.int64)
        ids[mask] = [token for encoding in encodings for token in encoding.ids]
        features = {"input_ids": ids, "attention_mask": mask.astype(np.int64), "token_type_ids": np.zeros_like(ids)}
        (tokens,) = self._session.run([self._output], {name: features[name] for name in self._inputs})
        return self._pool(tokens.astype(np.float32), mask)

    def _folder(self) -> Path:
        folder = Path(self.model_name)
        if not folder.is_dir():
            hub = import_extra("huggingface_hub", "onnx")
            try:
                folder = Path(hub.snapshot_download(self.model_name, allow_patterns=["*.json", f"{self.file}*"]))
            except (OSError, ValueError) as error:
                raise not_downloaded(self.model_name, error) from error
        if not (folder / self.file).is_file():
            msg = f"embedder {self.model_name!r} has no {self.file}: export the model to ONNX, or name another file"
            raise ModelUnavailable(msg)
        return folder


def token_batches(tokens: Ints, budget: int = BUDGET) -> list[Ints]:
    """Return the indices of texts of (n,) ``tokens`` in batches of at most ``budget`` with padding, longest first."""
    order = np.argsort(-tokens, kind="stable")
    edges = [0]
    while edges[-1] < len(order):
        edges.append(edges[-1] + max(budget // max(int(tokens[order[edges[-1]]]), 1), 1))
    return [order[start:end] for start, end in pairwise(edges)]


def embed_in_batches(embed: Callable[[list[_T]], Any], texts: Sequence[_T], tokens: Ints) -> Floats:
    """Embed n texts of the given (n,) numbers of tokens in `token_batches`; return their (n, d) rows in order."""
    if not len(texts):
        return np.empty((0, 0), dtype=np.float32)
    batches = token_batches(tokens)
    rows = [np.asarray(embed([texts[i] for i in batch])) for batch in batches]
    return np.concatenate(rows)[np.argsort(np.concatenate(batches))]


def not_downloaded(name: str, error: Exception) -> ModelUnavailable:
    """Return the error for a model that is neither here nor on the hub."""
    absent = f"embedder {name!r} is not on this machine and could not be downloaded from the Hugging Face hub; "
    return ModelUnavailable(f"{absent}for one behind an endpoint, pass an advchunk.OpenAIEmbedder: {first_line(error)}")


def _read_modules(folder: Path) -> tuple[Path, int, Callable[[Floats, Any], Floats], bool]:
    """Return the folder of the transformer, its limit in tokens, the pooling, and if rows are scaled to length 1."""
    modules = _read(folder / "modules.json") or []
    kinds = [str(module["type"]).rpartition(".")[2] for module in modules]
    plain = kinds[:2] == ["Transformer", "Pooling"] and {*kinds[2:]} <= {"Normalize"}
    require(plain, f"the modules in {folder} must be a Transformer, a Pooling and at most a Normalize", kinds)
    transformer, pooling = (folder / module["path"] for module in modules[:2])
    options = _read(pooling / "config.json")
    flags = [name[13:] for name, value in options.items() if name.startswith("pooling_mode_") and value]
    mode = "+".join(re.sub("_tokens?$", "", flag) for flag in flags) or str(options.get("pooling_mode"))
    require(mode in _POOLING, "the pooling must be the mean, the first or the last token", mode)
    require(options.get("include_prompt", True), "the pooling must include the prompt", False)
    settings = _read(transformer / "sentence_bert_config.json")
    require(not settings.get("do_lower_case"), "the tokenizer itself must lowercase, not do_lower_case", True)
    names = {"tokenizer_config.json": "model_max_length", "config.json": "max_position_embeddings"}
    limits = (_read(transformer / file).get(name) for file, name in names.items())
    limit = settings.get("max_seq_length") or min(filter(None, limits), default=0)
    require(0 < limit < 1e9, f"the files in {transformer} must state the limit of the model in tokens", limit)
    return transformer, limit, _POOLING[mode], "Normalize" in kinds


def _read(path: Path) -> Any:
    return json.loads(path.read_text(encoding="utf-8")) if path.is_file() else {}


# By name in the configuration of sentence-transformers; before version 6 there was one "pooling_mode_..." for each.
_POOLING: Mapping[str, Callable[[Floats, Any], Floats]] = {
    "mean": lambda tokens, mask: np.asarray((tokens * mask[..., None]).sum(1) / mask.sum(1, keepdims=True)),
    "cls": lambda tokens, _: np.asarray(tokens[:, 0]),
    "lasttoken": lambda tokens, mask: np.asarray(tokens[np.arange(len(tokens)), mask.sum(1) - 1]),
}
