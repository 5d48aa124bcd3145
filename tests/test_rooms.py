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

# Tests of the kernel, which use no room.
TESTS = (
    "tests/test_records.py", "tests/retrieval/test_rankings.py", "tests/readers/test_table_layout.py",
    "tests/retrieval/test_neighbors.py", "tests/retrieval/test_passages.py",
)  # fmt: skip


def run_without(folder, *arguments, cwd):
    """Run Python with the core in a folder in place of the installed one."""
    path = os.pathsep.join(map(str, [folder, ROOT]))
    run = subprocess.run(
        [sys.executable, *arguments], env={**os.environ, "PYTHONPATH": path}, cwd=cwd, capture_output=True, text=True, check=False
    )  # fmt: skip
    assert run.returncode == 0, run.stdout + run.stderr
    return run.stdout


@pytest.mark.parametrize("room", ROOMS)
def test_a_room_can_be_deleted(room, tmp_path):
    shutil.copytree(CORE, tmp_path / "advchunk", ignore=shutil.ignore_patterns("__pycache__", room))
    shown = run_without(tmp_path, "-W", "error", "-c", LEFT, room, cwd=tmp_path)
    assert {"recursive", "sliding-window", "auto"} <= json.loads(shown.splitlines()[-1]).keys()
    quick = "-q", "-x", "-p", "no:cacheprovider", "-m", "not slow", "--hypothesis-profile", "quick"
    assert "passed" in run_without(tmp_path, "-m", "pytest", *quick, *TESTS, cwd=ROOT)
