"""The notebooks are committed with their outputs, and print the same in a new process."""

import copy
import runpy
from pathlib import Path

import nbformat
import pytest

from cells import execute

pytestmark = pytest.mark.slow

ROOT = Path(__file__).parents[1]
tool = runpy.run_path(str(ROOT / "tools" / "run_notebooks.py"))
notebooks = pytest.mark.parametrize("path", sorted(tool["FOLDER"].glob("*.ipynb")), ids=lambda path: path.stem)


def shown(notebook):
    """Return each cell with what it prints and shows; pictures and pages only by their types."""
    return [
        (cell.source, output.get("text"), data.get("text/plain"), data.get("text/markdown"), sorted(data))
        for cell in notebook.cells
        for output in cell.get("outputs", [])
        for data in [output.get("data", {})]
    ]


def test_there_are_notebooks():
    assert list(tool["FOLDER"].glob("*.ipynb"))


@notebooks
def test_is_stripped(path):
    notebook = nbformat.read(path, as_version=4)
    assert tool["strip"](copy.deepcopy(notebook)) == notebook
    assert shown(notebook), "run tools/run_notebooks.py"


@notebooks
def test_prints_what_is_committed(path, tmp_path):
    """After a change that is meant, tools/run_notebooks.py renews the outputs."""
    assert shown(execute(path, tmp_path)) == shown(nbformat.read(path, as_version=4))
