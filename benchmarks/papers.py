"""Compare the systems of the five documents, and of papers, with their originals, and print the table of PAPERS.md.

python benchmarks/papers.py --data DIR [--only NAME ...]

papers.toml has a row for each system, with the tests that compare it. A chunker that tests/chunkers/test_published.py
has an original of (transcribed, or its algorithm alone, on units without a layout) is compared with that on real texts
of DIR too, with the built-in embedder: how many chunks of the original the preset "published" gives, and how many the
defaults.
"""

from __future__ import annotations

import argparse
import importlib.util
import re
import subprocess
import sys
import tomllib
from collections import Counter
from collections.abc import Iterable, Mapping
from pathlib import Path
from types import ModuleType
from typing import Any

from advchunk import create
from advchunk.models.embedders import as_embedder

HERE = Path(__file__).parent
SYSTEMS: list[dict[str, Any]] = tomllib.loads((HERE / "papers.toml").read_text("utf-8"))["systems"]
TESTS = HERE.parent / "tests"
TEXTS = ("ohr/manual/*.md", "qmsum/*.txt", "xquad/zh/*.txt")  # Markdown, prose, and Chinese
FILES, CHARACTERS = 3, 20_000  # of each kind; the originals compare all pairs of sentences
HEAD = ["system", "where", "published setting", "compared with", "tests", "chunks of the original", "at defaults"]


def published_tests() -> ModuleType:
    """Return the module with the transcribed originals, which embed with the built-in model here."""
    spec = importlib.util.spec_from_file_location("published", TESTS / "chunkers" / "test_published.py")
    module = importlib.util.module_from_spec(spec)  # type: ignore[arg-type]  # the file is there
    spec.loader.exec_module(module)  # type: ignore[union-attr]
    module.embed = as_embedder(None).embed  # type: ignore[attr-defined]  # a name of the module
    return module


def real_texts(data: Path) -> list[str]:
    """Return the beginnings of some texts of each kind."""
    paths = [path for pattern in TEXTS for path in sorted(data.glob(pattern))[:FILES]]
    return [path.read_text("utf-8")[:CHARACTERS] for path in paths]


def count_tests(tests: Iterable[str]) -> str:
    """Run tests, and return "all pass", or how many of how many do."""
    command = [sys.executable, "-m", "pytest", "-q", "-n", "0", *(str(TESTS / test) for test in tests)]
    output = subprocess.run(command, cwd=HERE.parent, capture_output=True, encoding="utf-8", check=False).stdout
    counts = {kind: int(number) for number, kind in re.findall(r"(\d+) (passed|failed|error|skipped)", output)}
    passed, total = counts.get("passed", 0), sum(counts.values())
    return "all pass" if passed == total > 0 else f"{passed:,} of {total:,}"


def compare(system: Mapping[str, Any], module: ModuleType, texts: Iterable[str]) -> list[str]:
    """Return how many chunks of the original the preset gives, and how many the defaults."""
    name = system["original"]
    original, params = module.ORIGINALS[name]
    params = {**params, **system.get("sizes", {})}
    models = {"lm": module.Language()} if name in {"perplexity", "margin-sampling"} else {"embedder": module.Letters()}
    total, common = 0, [0, 0]
    for text in texts:
        chunkers = [create(name, experimental=True, preset=p, **params, **models) for p in ("published", None)]
        explained = [chunker.explain(text) for chunker in chunkers]
        published = chunkers[0].in_language_of(explained[0].document)
        expected = Counter(module.bare(original(text, published, explained[0].units)))
        total += expected.total()
        for i, explanation in enumerate(explained):
            chunks = [chunk.text for chunk in explanation.chunks]
            chunks = list(map(module.without_short, chunks)) if original is module.universal else chunks
            common[i] += (expected & Counter(module.bare(chunks))).total()
    return [f"{common[0]:,} of {total:,}", f"{common[1]:,}"]


def row(system: Mapping[str, Any], module: ModuleType, texts: list[str]) -> list[str]:
    """Return the cells of a system."""
    chunks = compare(system, module, texts) if "original" in system else ["", ""]
    tests = ", ".join(f"`{test}`" for test in system["tests"])
    counted = f"{count_tests(system['tests'])}: {tests}" if system["tests"] else ""
    return [system["name"], system["where"], system.get("setting", ""), system["compared"], counted, *chunks]


def main() -> None:
    """Print the table."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--data", type=Path, required=True, help="folder with the texts of the benchmarks")
    parser.add_argument("--only", nargs="+", choices=[system["name"] for system in SYSTEMS], metavar="NAME")
    args = parser.parse_args()
    module, texts = published_tests(), real_texts(args.data)
    chosen = [system for system in SYSTEMS if not args.only or system["name"] in args.only]
    for cells in [HEAD, ["---"] * len(HEAD), *(row(system, module, texts) for system in chosen)]:
        print("|", " | ".join(cells), "|", flush=True)


if __name__ == "__main__":
    main()
