"""Language models for tests: a real small one, random ones of several builds, and a stand-in that is none."""

import json
import math
import os
import re
import sys
from collections import Counter
from dataclasses import dataclass
from functools import cache
from pathlib import Path

import numpy as np
from filelock import FileLock

from advchunk.models.causal import load_reader


def smollm2():
    """Return the folder of SmolLM2-135M-Instruct in float32, converted from the GGUF file of a package once for all runs."""
    home = Path(sys.prefix) / "models"
    folder, unfinished = home / "smollm2-135m", home / "smollm2-135m.unfinished"
    home.mkdir(exist_ok=True)
    with FileLock(home / "smollm2-135m.lock"):
        if not folder.exists():
            reader = load_reader("smollm2")
            for part in (reader.model, reader.tokenizer):
                part.save_pretrained(unfinished)
            unfinished.rename(folder)
    return str(folder)


@cache
def tokenizer(lead=False, vocabulary=300):
    """A byte-level BPE trained on a few words, with or without a sign of the beginning."""
    from tokenizers import Tokenizer, decoders, models, pre_tokenizers, processors, trainers
    from transformers import PreTrainedTokenizerFast

    core = Tokenizer(models.BPE())
    core.pre_tokenizer = pre_tokenizers.ByteLevel(add_prefix_space=False)
    core.decoder = decoders.ByteLevel()
    letters = pre_tokenizers.ByteLevel.alphabet()
    trainer = trainers.BpeTrainer(
        vocab_size=vocabulary, special_tokens=["<s>", "</s>"], initial_alphabet=letters, show_progress=False
    )
    core.train_from_iterator(["the cat naps and the court rules on the law"] * 3, trainer)
    if lead:
        core.post_processor = processors.TemplateProcessing(single="<s> $A", special_tokens=[("<s>", 0)])
    return PreTrainedTokenizerFast(tokenizer_object=core, bos_token="<s>", eos_token="</s>")


# By what they know of positions: rotated keys (whole, in part, interleaved, only some layers), learned ones, windows.
BUILDS = {
    "llama": ("LlamaConfig", {}),
    "gpt_neox": ("GPTNeoXConfig", {"rotary_pct": 0.5}),
    "cohere": ("CohereConfig", {}),
    "smollm3": ("SmolLM3Config", {"no_rope_layers": [1, 0]}),
    "gpt2": ("GPT2Config", {}),
    "mistral": ("MistralConfig", {"sliding_window": 24}),
}


@cache
def tiny(build="llama", positions=128):
    """A random model of one build."""
    import torch
    import transformers

    kind, params = BUILDS[build]
    sizes = {
        "vocab_size": 300, "hidden_size": 32, "intermediate_size": 48, "num_hidden_layers": 2, "num_attention_heads": 4,
        "num_key_value_heads": 4, "max_position_embeddings": positions, "bos_token_id": 0, "eos_token_id": 1,
        "pad_token_id": 1, "initializer_range": 0.3,
    }  # fmt: skip
    if build == "gpt2":
        sizes = {**sizes, "n_embd": 32, "n_layer": 2, "n_head": 4, "n_positions": positions}
    torch.manual_seed(5)
    return transformers.AutoModelForCausalLM.from_config(getattr(transformers, kind)(**{**sizes, **params})).eval()


LAYERS = {
    "self_attn.q_proj": "attn_q", "self_attn.k_proj": "attn_k", "self_attn.v_proj": "attn_v", "self_attn.o_proj": "attn_output",
    "mlp.gate_proj": "ffn_gate", "mlp.up_proj": "ffn_up", "mlp.down_proj": "ffn_down", "input_layernorm": "attn_norm",
    "post_attention_layernorm": "ffn_norm", "embed_tokens": "token_embd", "norm": "output_norm", "lm_head": "output",
}  # fmt: skip


def gguf(path):
    """Write `tiny` and `tokenizer` as a GGUF file, as llama.cpp converts them."""
    from gguf import GGUFWriter, TokenType

    model, core = tiny(), json.loads(tokenizer().backend_tokenizer.to_str())["model"]
    config, writer = model.config, GGUFWriter(path, "llama")
    writer.add_block_count(config.num_hidden_layers)
    writer.add_context_length(config.max_position_embeddings)
    writer.add_embedding_length(config.hidden_size)
    writer.add_feed_forward_length(config.intermediate_size)
    writer.add_head_count(config.num_attention_heads)
    writer.add_head_count_kv(config.num_key_value_heads)
    writer.add_layer_norm_rms_eps(config.rms_norm_eps)
    writer.add_rope_dimension_count(config.head_dim)
    writer.add_rope_freq_base(10_000.0)
    writer.add_vocab_size(config.vocab_size)
    writer.add_tokenizer_model("gpt2")
    tokens = sorted(core["vocab"], key=core["vocab"].get)
    writer.add_token_list(tokens)
    writer.add_token_types([TokenType.CONTROL if token in ("<s>", "</s>") else TokenType.NORMAL for token in tokens])
    writer.add_token_merges([" ".join(pair) for pair in core["merges"]])
    writer.add_bos_token_id(0)
    writer.add_eos_token_id(1)
    writer.add_add_bos_token(False)
    for name, weights in model.state_dict().items():
        layer, _, part = name.removesuffix(".weight").removeprefix("model.layers.").partition(".")
        values = weights.numpy()
        if part in ("self_attn.q_proj", "self_attn.k_proj"):  # there, pairs that turn together stand side by side
            halves = values.reshape(config.num_attention_heads, 2, config.head_dim // 2, -1)
            values = halves.swapaxes(1, 2).reshape(values.shape)
        called = f"blk.{layer}.{LAYERS[part]}" if layer.isdigit() else LAYERS[part or layer]
        writer.add_tensor(f"{called}.weight", np.ascontiguousarray(values))
    writer.write_header_to_file()
    writer.write_kv_data_to_file()
    writer.write_tensors_to_file()
    writer.close()
    return path


@dataclass(frozen=True)
class Words:
    """A stand-in: a word surprises by how seldom it was met, and it knows whether two texts are both about cats."""

    model_name: str = "words"

    def surprise(self, text):
        met, ends, nats = Counter(), [], []
        for word in re.finditer(r"\S+", text):
            stem = re.sub(r"\W|(?<=\w\w)s\b", "", word[0].lower())
            nats.append(math.log((len(ends) + 2) / (met[stem] + 1)))
            ends.append(word.end())
            met[stem] += 1
        return np.array(ends, dtype=np.int64), np.array(nats)

    def choose(self, prompt, options):
        passage, sentence = re.search("(?s)<(?:passage|文字)>(.*)</.*<(?:sentence|句子)>(.*)</", prompt).groups()
        split, keep = options
        parted = bool(re.search("cat|kitten", passage.lower())) != bool(re.search("cat|kitten", sentence.lower()))
        chances = {split: 0.9, keep: 0.1} if parted else {split: 0.1, keep: 0.9}
        return [chances[option] for option in options]


os.environ.setdefault("TOKENIZERS_PARALLELISM", "false")
