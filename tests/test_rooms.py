"""Any room can be deleted: what is left imports, chunks, and knows nothing of it."""

import json
import os
import shutil
import subprocess
import sys
from pathlib import Path

import pytest

ROOT = Path(__file__).parents[1]
CORE = ROOT / "core" / "advchunk"
KERNEL = {"chunkers", "cli", "engine", "models", "numerics", "readers", "retrieval", "text"}
ROOMS = sorted({path.parent.name for path in CORE.glob("*/__init__.py")} - KERNEL)
# What is left: every module imports, every chunker that needs no model or extra chunks, files are read, the command line lists.
LEFT = """
import json, sys, warnings
from importlib import import_module
from importlib.util import find_spec
from pathlib import Path
from pkgutil import walk_packages

import advchunk
from advchunk import MissingExtra, registry

room, root = sys.argv[1], Path(advchunk.__file__).parent
assert root.parent == Path.cwd(), root
assert find_spec(f"advchunk.{room}") is None
for module in walk_packages([str(root)], "advchunk."):
    if module.name != "advchunk.__main__":
        import_module(module.name)
for kind in "chunker", "reader", "embedder", "splitter", "cache", "engine", "metric", "command":
    for row in registry.rows(kind, ours=True):
        assert row.load() is not None, row
for name in advchunk.__all__:
    getattr(advchunk, name)
text = "# Tea\\n\\nGreen tea is made of leaves. It is drunk hot.\\n\\nMilk is white. Cows give it."
Path("tea.md").write_text(text)
sizes = {}
for name in advchunk.names():
    row = registry.find("chunker", name)
    if row.needs or name in ("layout-aware", "grobid-section", "biomedical-abstract"):
        continue
    chunks = advchunk.create(name, experimental=True).chunk(text)
    sizes[name] = len(chunks)
    assert max(chunk.end for chunk in chunks) == len(text), name
assert "".join(chunk.text for chunk in advchunk.create("auto").chunk(advchunk.read_file("tea.md"))) == text
for package, suffix in ("langchain_advchunk", "Splitter"), ("llamaindex_advchunk", "NodeParser"):
    adapters = import_module(package)
    names = [name for name in adapters.__all__ if name != "ChunkEnricher"]
    assert f"Recursive{suffix}" in names
    for name in names:
        getattr(adapters, name)
from click.testing import CliRunner
from advchunk.cli import main
for command in ["list"], ["--help"], ["chunk", "tea.md", "-m", "recursive"], ["describe", "recursive"]:
    result = CliRunner().invoke(main, command)
    assert result.exit_code == 0, result.output
print(json.dumps(sizes))
"""


def run_without(room, folder):
    path = os.pathsep.join(map(str, [folder, ROOT]))
    run = subprocess.run(
        [sys.executable, "-W", "error", "-c", LEFT, room], env={**os.environ, "PYTHONPATH": path}, cwd=folder, capture_output=True, text=True, check=False,
    )  # fmt: skip
    assert run.returncode == 0, run.stderr
    return run.stdout.splitlines()[-1]


@pytest.mark.parametrize("room", ROOMS)
def test_a_room_can_be_deleted(room, tmp_path):
    shutil.copytree(CORE, tmp_path / "advchunk", ignore=shutil.ignore_patterns("__pycache__", room))
    chunked = json.loads(run_without(room, tmp_path))
    assert {"recursive", "sliding-window", "auto"} <= chunked.keys()


CHUNKER = """
from dataclasses import dataclass
from itertools import pairwise
from typing import ClassVar

import numpy as np

from advchunk.chunkers.base import LinearChunker
from advchunk.chunkers.params import Params
from advchunk.numerics import {search}
from advchunk.records import Segmentation


@dataclass(kw_only=True)
class SharedWordsParams(Params):
    \"""Cut where neighboring sentences share too few words.\"""

    algorithm: ClassVar[str] = "shared-words"


@dataclass(kw_only=True)
class SharedWordsChunker(SharedWordsParams, LinearChunker):
    \"""Cut where neighboring sentences share too few words (`SharedWordsParams`).\"""

    def segment(self, units, limits):
        words = [set(text.lower().split()) for text in units.strings()]
        gaps = np.array([1 - len(a & b) / len(a | b) for a, b in pairwise(words)])
        return Segmentation({search}.cuts_above(gaps, 0.9), reason="words", gaps=gaps)
"""
ROW = """    Registration(
        kind="chunker", name="shared-words", path="advchunk.semantic.shared_words:SharedWordsChunker", summary="Shared words.",
    ),
"""
PAGE = """
[shared-words]
when = ["Words decide."]
avoid = ["They do not."]
plot = "chunks"
params = { max_tokens = 200 }
caption = "Chunks of shared words."
"""
TEST = """
from advchunk import SharedWordsChunker
from langchain_advchunk import SharedWordsSplitter
from llamaindex_advchunk import SharedWordsNodeParser

def test_courts_share_no_words_with_cats():
    text = "Cats nap. Cats purr. Courts rule."
    texts = [chunk.text for chunk in SharedWordsChunker().chunk(text)]
    assert texts == ["Cats nap. Cats purr. ", "Courts rule."]
    assert texts == SharedWordsSplitter().split_text(text) == SharedWordsNodeParser().split_text(text)
"""


def test_a_chunker_is_added_in_four_places(tmp_path):
    for name in ("core", "langchain_advchunk", "llamaindex_advchunk", "tests", "benchmarks", "docs", "tools"):
        shutil.copytree(ROOT / name, tmp_path / name, ignore=shutil.ignore_patterns("__pycache__", "images"))
    shutil.copy(ROOT / "pyproject.toml", tmp_path)
    room = tmp_path / "core/advchunk/semantic"
    cuts = next(name for name in ("cuts", "search") if (CORE / f"numerics/{name}.py").exists())
    (room / "shared_words.py").write_text(CHUNKER.format(search=cuts), "utf-8")
    table = (room / "__init__.py").read_text("utf-8")
    (room / "__init__.py").write_text(table.replace("REGISTRATIONS = (\n", f"REGISTRATIONS = (\n{ROW}", 1), "utf-8")
    with (tmp_path / "docs/chunkers.toml").open("a", encoding="utf-8") as page:
        page.write(PAGE)
    (tmp_path / "tests/semantic/test_shared_words.py").write_text(TEST, "utf-8")
    path = os.pathsep.join(str(tmp_path / part) for part in ("core", ".", "tests"))
    environment = {**os.environ, "PYTHONPATH": path}

    def run(*command):
        return subprocess.run(
            [sys.executable, *command], env=environment, cwd=tmp_path, capture_output=True, text=True, check=False,
        )  # fmt: skip

    tests = "tests/semantic/test_shared_words.py", "tests/contract/test_promises.py"
    done = run("-m", "pytest", "-q", "-p", "no:cacheprovider", *tests, "-k", "shared")
    assert done.returncode == 0, done.stdout
    assert "passed" in done.stdout
    assert "shared-words" in run("-m", "advchunk", "list").stdout
    assert (
        "SharedWordsSplitter"
        in run("tools/write_stubs.py").stdout + (tmp_path / "langchain_advchunk/splitters.pyi").read_text()
    )
    assert "| `shared-words` |" in run("tools/chunker_table.py").stdout
