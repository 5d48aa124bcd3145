"""Read a small language model of the Llama family from a GGUF file, which transformers parses three times in 20 seconds.

References
----------
"GGUF", https://github.com/ggml-org/ggml/blob/master/docs/gguf.md.
"""

import struct
from collections.abc import Sequence
from math import prod
from pathlib import Path
from typing import Any

import numpy as np
import numpy.typing as npt

from advchunk.errors import import_extra, require

_SCALARS = {0: "B", 1: "b", 2: "H", 3: "h", 4: "I", 5: "i", 6: "f", 7: "?", 10: "Q", 11: "q", 12: "d"}
_STRING, _ARRAY, _SPECIAL = 8, 9, 3  # types of values, and a type of tokens
_ALIGNMENT = 32  # bytes, unless the file says otherwise
_SETTINGS = {
    "vocab_size": "vocab_size",
    "hidden_size": "embedding_length",
    "intermediate_size": "feed_forward_length",
    "num_hidden_layers": "block_count",
    "num_attention_heads": "attention.head_count",
    "num_key_value_heads": "attention.head_count_kv",
    "max_position_embeddings": "context_length",
    "rms_norm_eps": "attention.layer_norm_rms_epsilon",
    "rope_theta": "rope.freq_base",
}
_NAMED_TOKENS = {"bos": "bos", "eos": "eos", "unk": "unknown", "pad": "padding"}


class _File:
    """The metadata and the tensors of a GGUF file, which is mapped."""

    def __init__(self, path: Path) -> None:
        self._bytes: Any = np.memmap(path, dtype=np.uint8, mode="r").view(np.ndarray)
        self._at = 0
        magic, version, tensors, pairs = self._unpack("4sIQQ")
        require(magic == b"GGUF" and version in (2, 3), "a GGUF file must have version 2 or 3", (magic, version))
        self.metadata: dict[str, Any] = {}
        for _ in range(pairs):
            name, (kind,) = self._string(), self._unpack("I")
            self.metadata[name] = self._value(kind)
        self.tensors = dict(self._tensor_info() for _ in range(tensors))
        self._start = self._at + -self._at % self.metadata.get("general.alignment", _ALIGNMENT)

    def _unpack(self, form: str) -> tuple[Any, ...]:
        values = struct.unpack_from(f"<{form}", self._bytes, self._at)
        self._at += struct.calcsize(f"<{form}")
        return values

    def _string(self) -> str:
        (length,) = self._unpack("Q")
        self._at += length
        return bytes(self._bytes[self._at - length : self._at]).decode()

    def _value(self, kind: int) -> Any:
        if kind == _STRING:
            return self._string()
        if kind == _ARRAY:
            kind, length = self._unpack("IQ")
            scalar = _SCALARS.get(kind)
            return self._unpack(f"{length}{scalar}") if scalar else [self._value(kind) for _ in range(length)]
        return self._unpack(_SCALARS[kind])[0]

    def _tensor_info(self) -> tuple[str, tuple[tuple[int, ...], int, int]]:
        name, (dimensions,) = self._string(), self._unpack("I")
        shape = self._unpack(f"{dimensions}Q")[::-1]
        kind, offset = self._unpack("IQ")
        return name, (shape, kind, offset)

    def tensor(self, name: str) -> npt.NDArray[np.float32]:
        """Return a tensor in float32."""
        gguf = import_extra("gguf", "gguf")
        shape, number, offset = self.tensors[name]
        kind = gguf.GGMLQuantizationType(number)
        values, size = gguf.GGML_QUANT_SIZES[kind]  # of a block
        start = self._start + offset
        blocks = self._bytes[start : start + prod(shape) // values * size].reshape(*shape[:-1], -1)
        weights: npt.NDArray[np.float32] = gguf.dequantize(blocks, kind)
        return weights


def load_llama(path: Path, dtype: Any) -> tuple[Any, Any]:
    """Return the model, dequantized, and its byte-level tokenizer: those of `transformers.AutoModelForCausalLM`, bit for bit."""
    file = _File(path)
    model, tokenizer = _model(file, dtype), _tokenizer(file.metadata)
    model.name_or_path = tokenizer.name_or_path = str(path.parent)
    return model, tokenizer


def _model(file: _File, dtype: Any) -> Any:
    transformers, torch, gguf = (import_extra(name, "gguf") for name in ("transformers", "torch", "gguf"))
    config = transformers.LlamaConfig(
        **{name: file.metadata[f"llama.{key}"] for name, key in _SETTINGS.items()},
        **{f"{name}_token_id": _token_id(file.metadata, name) for name in ("bos", "eos", "pad")},
        tie_word_embeddings="output.weight" not in file.tensors,
    )
    with torch.device("meta"):
        names = transformers.LlamaForCausalLM(config).state_dict()
    stored = gguf.get_tensor_name_map(gguf.MODEL_ARCH.LLAMA, config.num_hidden_layers)
    heads = {"q_proj": config.num_attention_heads, "k_proj": config.num_key_value_heads}
    weights = {}
    for name in names:
        stem = name.removesuffix(".weight")
        if (key := f"{stored.get_name(stem)}.weight") in file.tensors:
            weights[name] = torch.tensor(_unpair(file.tensor(key), heads.get(stem.rpartition(".")[2])), dtype=dtype)
    return transformers.LlamaForCausalLM.from_pretrained(None, config=config, state_dict=weights, dtype=dtype)


def _unpair(weights: npt.NDArray[np.float32], heads: int | None) -> npt.NDArray[np.float32]:
    """Return the rows of queries or keys in halves, as transformers rotates them; in the file, rotated pairs are neighbors."""
    if heads is None:
        return weights
    return weights.reshape(heads, -1, 2, weights.shape[1]).swapaxes(1, 2).reshape(weights.shape)


def _tokenizer(metadata: dict[str, Any]) -> Any:
    transformers, tokenizers = (import_extra(name, "gguf") for name in ("transformers", "tokenizers"))
    tokens: Sequence[str] = metadata["tokenizer.ggml.tokens"]
    merges = [tuple(merge.split(" ")) for merge in metadata["tokenizer.ggml.merges"]]
    core = tokenizers.Tokenizer(tokenizers.models.BPE({token: i for i, token in enumerate(tokens)}, merges))
    core.pre_tokenizer = tokenizers.pre_tokenizers.ByteLevel(add_prefix_space=False)
    core.decoder = tokenizers.decoders.ByteLevel()
    kinds = metadata.get("tokenizer.ggml.token_type", ())
    special = [token for token, kind in zip(tokens, kinds, strict=False) if kind == _SPECIAL]
    core.add_special_tokens([tokenizers.AddedToken(token, normalized=False, special=True) for token in special])
    ids = {f"{name}_token": _token_id(metadata, name) for name in _NAMED_TOKENS}
    named = {name: tokens[i] for name, i in ids.items() if i is not None}
    template = metadata.get("tokenizer.chat_template")
    return transformers.PreTrainedTokenizerFast(tokenizer_object=core, chat_template=template, **named)


def _token_id(metadata: dict[str, Any], name: str) -> int | None:
    return metadata.get(f"tokenizer.ggml.{_NAMED_TOKENS[name]}_token_id")
