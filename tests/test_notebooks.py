"""The notebooks run from a clean kernel and are committed without outputs."""

from pathlib import Path

import nbformat
import pytest
from nbclient import NotebookClient

FOLDER = Path(__file__).parents[1] / "notebooks"
notebooks = pytest.mark.parametrize("path", sorted(FOLDER.glob("*.ipynb")), ids=lambda path: path.stem)


def test_there_are_notebooks():
    assert list(FOLDER.glob("*.ipynb"))


@notebooks
def test_is_stripped(path):
    for cell in nbformat.read(path, as_version=4).cells:
        assert not cell.get("outputs"), cell.source
        assert cell.get("execution_count") is None, cell.source


@notebooks
def test_runs(path):
    notebook = nbformat.read(path, as_version=4)
    NotebookClient(notebook, timeout=600, resources={"metadata": {"path": FOLDER}}).execute()
