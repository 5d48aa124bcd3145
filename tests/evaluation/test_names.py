"""The names of `advchunk.evaluation`: loaded on first use, known to type checkers, and where former ones are."""

import ast
import subprocess
import sys
from importlib import import_module
from pathlib import Path

from advchunk import evaluation


def test_importing_the_package_loads_none_of_its_modules():
    code = "import advchunk.evaluation, sys; print(*[m for m in sys.modules if m.startswith('advchunk.evaluation')])"
    run = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)
    assert run.stdout.split() == ["advchunk.evaluation"]


def test_type_checkers_see_the_same_names():
    stub = ast.parse(Path(evaluation.__file__).with_suffix(".pyi").read_text("utf-8"))
    places = {alias.name: node.module for node in stub.body for alias in node.names}
    assert {name: import_module(module).__dict__[name] for name, module in places.items()} == {
        name: getattr(evaluation, name) for name in evaluation.__all__
    }
