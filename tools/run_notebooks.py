"""Run notebooks and write their outputs, without anything that differs between runs.

``tools/run_notebooks.py`` runs all of them, ``tools/run_notebooks.py notebooks/01_five_minutes.ipynb`` only this one.
"""

from __future__ import annotations

import sys
from pathlib import Path
from tempfile import TemporaryDirectory

import nbformat
from nbclient import NotebookClient
from nbformat import NotebookNode

FOLDER = Path(__file__).parents[1] / "notebooks"


def main() -> None:
    """Run the notebooks named as arguments, or all of them."""
    for path in list(map(Path, sys.argv[1:])) or sorted(FOLDER.glob("*.ipynb")):
        nbformat.write(run(path), path)
        print(path.name)


def run(path: Path) -> NotebookNode:
    """Return a notebook with its outputs, run in a new kernel in an empty folder: it brings or writes all that it
    reads.
    """
    notebook = nbformat.read(path, as_version=4)
    with TemporaryDirectory() as folder:
        resources = {"metadata": {"path": folder}}
        NotebookClient(notebook, timeout=600, coalesce_streams=True, resources=resources).execute()
    return strip(notebook)


def strip(notebook: NotebookNode) -> NotebookNode:
    """Remove counts, times, versions, and warnings, which name paths of the machine; these are printed instead."""
    notebook.metadata.language_info = NotebookNode(name="python")
    for cell in notebook.cells:
        cell.metadata = NotebookNode()
        if cell.cell_type != "code":
            continue
        cell.execution_count = None
        for output in cell.outputs:
            if output.get("name") == "stderr":
                print(output.text, file=sys.stderr)
            if "execution_count" in output:
                output.execution_count = None
        cell.outputs = [output for output in cell.outputs if output.get("name") != "stderr"]
    return notebook


if __name__ == "__main__":
    main()
