"""Pack results of bayes-seg and textseg for tests/chunkers/reference/test_bayesseg.py: numbers only.

    python tools/pack_bayesseg.py --golden DIR --data DIR

The golden folder holds the output of the unmodified programs, Eisenstein's (bayesseg/) and Utiyama's (choi/u00_*); the
data folder holds the segmented texts. A text becomes the numbers of its stems. The stop list of bayes-seg is Glasgow's
plus five words; textseg was given the stems of Choi's program.
"""

from __future__ import annotations

import argparse
import gzip
import json
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import numpy as np
from nltk.stem.porter import PorterStemmer
from numpy.typing import NDArray

from advchunk.evaluation import read_choi
from advchunk.text.terms import Terms, stop_words, terms_of

TARGET = Path(__file__).parents[1] / "tests/data/golden_bayesseg.npz"
SETS = {"choi_3-11": 4, "choi_3-5": 4, "choi_9-11": 3, "clinical": 4}
MORE_STOP_WORDS = ("said", "yes", "computer", "vice", "versa")


def stems(path: Path) -> Terms:
    """Return the stems of a text as bayes-seg computes them: ASCII words and numbers, stop words matched by stem."""
    stem = PorterStemmer(mode=PorterStemmer.MARTIN_EXTENSIONS).stem
    left_out = {stem(word) for word in [*stop_words("glasgow", "en"), *MORE_STOP_WORDS]}
    sentences = read_choi(path).units.strings()
    words = [
        "".join(c if c.isascii() and (c.isalnum() or c == "$") else " " for c in text).lower() for text in sentences
    ]
    return terms_of([[stem(w) for w in text.replace("inaudible", "").split()] for text in words], left_out=left_out)


def read_results(golden: Path, name: str, mode: str) -> dict[str, Any]:
    """Return the results of bayes-seg in a mode, by file."""
    name = "clinical_dpconfig" if (name, mode) == ("clinical", "known") else name
    documents = json.loads((golden / "bayesseg" / f"{name}_{mode}.json").read_text(encoding="utf-8"))["docs"]
    return {doc["file"]: doc for doc in documents}


def pack(golden: Path, data: Path) -> Iterator[tuple[str, NDArray[Any]]]:
    """Yield the name and array of each result."""
    for name, many in SETS.items():
        left = many
        modes = {mode: read_results(golden, name, mode) for mode in ("known", "unknown_nodur", "unknown_dur")}
        documents = modes["known"]
        mean = sum(doc["T"] for doc in documents.values()) / sum(len(doc["ref"]) for doc in documents.values())
        for file, doc in documents.items():
            path = data / file.removeprefix("data/books/").replace("choi/1/", "choi/")
            if "/2/" in file or "/3/" in file or not path.exists() or doc["T"] > 200 or not left:
                continue
            words, left = stems(path), left - 1
            if (words.size, len(words.ids)) != (doc["W"], doc["content_tokens"]):
                msg = f"{path} is not normalized as the program normalizes it"
                raise SystemExit(msg)
            key = f"{name}/{path.stem}"
            yield from {f"{key}/ids": words.ids.astype(np.int16), f"{key}/edges": words.edges.astype(np.int16)}.items()
            yield f"{key}/size", np.array([words.size])
            yield f"{key}/mean", np.array([mean])
            for mode, docs in modes.items():
                yield f"{key}/{mode}/cuts", np.array([0, *docs[file]["hyp"]], dtype=np.int16)
                yield f"{key}/{mode}/log_likelihood", np.array([docs[file]["loglik"]])


def pack_em(golden: Path, data: Path) -> Iterator[tuple[str, NDArray[Any]]]:
    """Yield the arrays of fifty texts, their segmentations, and the prior learned by EM."""
    reference = json.loads((golden / "bayesseg/choi50_3-11_known_em.json").read_text(encoding="utf-8"))
    texts = [stems(data / doc["file"].replace("choi/1/", "choi/")) for doc in reference["docs"]]
    yield "em/ids", np.concatenate([words.ids for words in texts]).astype(np.int16)
    yield "em/counts", np.concatenate([np.diff(words.edges) for words in texts]).astype(np.uint8)
    yield "em/sizes", np.array([[len(words), words.size] for words in texts])
    yield "em/cuts", np.array([[0, *doc["hyp"]] for doc in reference["docs"]], dtype=np.int16)
    yield "em/strength", np.array(reference["settings"]["final_prior"])


def pack_textseg(golden: Path) -> Iterator[tuple[str, NDArray[Any]]]:
    """Yield the name and array of each result of textseg."""
    with gzip.open(golden / "choi/stems_c99_java.json.gz", "rt", encoding="utf-8") as file:
        texts = json.load(file)
    for group in ("3-11", "3-5", "9-11"):
        for mode in ("auto", "n10"):
            docs = json.loads((golden / f"choi/u00_rerun_{mode}_{group}.json").read_text(encoding="utf-8"))["docs"]
            for doc in docs[:4]:
                key = doc["file"].removeprefix("choi/").removesuffix(".ref").replace("/", "_")
                words = terms_of([[stem for stem in sentence if stem != "<EMPTY>"] for sentence in texts[key]])
                yield f"textseg/{key}/words", words.ids.astype(np.int16)
                yield f"textseg/{key}/edges", words.edges.astype(np.int16)
                yield f"textseg/{key}/{mode}", np.array([0, *doc["hyp"], doc["T"]], dtype=np.int16)


def main() -> None:
    """Write the golden file."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--golden", type=Path, required=True)
    parser.add_argument("--data", type=Path, required=True)
    args = parser.parse_args()
    arrays: dict[str, Any] = dict(
        [*pack(args.golden, args.data), *pack_em(args.golden, args.data), *pack_textseg(args.golden)]
    )
    np.savez_compressed(TARGET, **arrays)
    print(TARGET, TARGET.stat().st_size)


if __name__ == "__main__":
    main()
