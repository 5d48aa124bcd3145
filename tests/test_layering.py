"""The core stays free of frameworks, and each stage sees only the ones before it."""

import ast
import os
import subprocess
import sys
from pathlib import Path

import pytest

CORE = Path(__file__).parents[1] / "core" / "advchunk"
ORDER = [
    "errors",
    "gate",
    "reranking",
    "records",
    "explain",
    "engine",
    "ids",
    "tiling",
    "discourse",
    "quantities",
    "claims",
    "terms",
    "topics",
    "headings",
    "readers",
    "signals",
    "bands",
    "costs",
    "boundaries",
    "passages",
    "graphs",
    "vectors",
    "models",
    "cache",
    "prompts",
    "sizes",
    "reading",
    "layout",
    "prechunk",
    "chunkers",
    "biomcp",
    "enrich",
    "registry",
    "evaluation",
    "__init__",
    "cli",
    "__main__",
]


@pytest.mark.parametrize("path", sorted(CORE.rglob("*.py")), ids=lambda path: str(path.relative_to(CORE)))
def test_imports_point_down(path):
    here = path.relative_to(CORE).parts[0].removesuffix(".py")
    for node in ast.walk(ast.parse(path.read_text(encoding="utf-8"))):
        if isinstance(node, ast.ImportFrom) and node.module and node.module.startswith("advchunk"):
            parts = node.module.split(".")
            for there in parts[1:2] or [alias.name if alias.name in ORDER else "__init__" for alias in node.names]:
                assert ORDER.index(there) <= ORDER.index(here), f"{here} imports {there}"


def test_importing_the_core_loads_numpy_and_nothing_heavier():
    code = "import advchunk, sys; print(*{name.split('.')[0] for name in sys.modules})"
    said = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True, cwd=CORE.parent)
    loaded = {name for name in said.stdout.split() if name not in sys.stdlib_module_names and not name.startswith("_")}
    assert loaded - {"sitecustomize", "usercustomize", "editables"} <= {"advchunk", "numpy"}


def test_importing_the_core_takes_little_more_than_importing_numpy():
    # Of CPU time, and in one process, for machines differ and may be busy with other tests.
    code = (
        "import time; a = time.process_time(); import numpy; b = time.process_time(); import advchunk; "
        "print((time.process_time() - b) / (b - a))"
    )
    compiled = {name: value for name, value in os.environ.items() if name != "PYTHONDONTWRITEBYTECODE"}
    runs = [
        subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True, env=compiled)
        for _ in range(5)
    ]
    assert min(float(run.stdout) for run in runs) < 2.5
