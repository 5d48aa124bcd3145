"""Modules and names at their former places: they work, with one warning that names the new place."""

import subprocess
import sys
import warnings
from importlib import import_module
from importlib.util import find_spec
from pathlib import Path

import pytest

import advchunk
from advchunk.moved import MOVED, new_path

# The modules of the release before the rooms.
FORMER = (Path(__file__).parent / "data/former_modules.txt").read_text("utf-8").split()
GONE = {"advchunk.evaluation.comparison.robustness"}  # a script, benchmarks/sensitivity.py


def test_each_former_module_is_somewhere():
    assert {name for name in FORMER if not find_spec(new_path(name) or name)} == GONE


def test_no_module_that_is_there_counts_as_moved():
    assert not {name for name in FORMER if new_path(name) and Path(advchunk.__file__).parent.joinpath(*name.split(".")[1:]).with_suffix(".py").exists()}  # fmt: skip
    assert all(find_spec(f"advchunk.{path}") for path in MOVED.values())


@pytest.mark.slow
def test_a_former_module_is_the_module_and_warns_once():
    code = """if True:
        import warnings
        with warnings.catch_warnings(record=True) as caught:
            warnings.simplefilter("always")
            import advchunk.chunkers.mst.chunker as former
            from advchunk.chunkers.mst.distances import MSTSemanticParams
            import advchunk.readers.pdf
        import advchunk.semantic.mst.chunker as new
        assert former is new and new.__spec__.name == "advchunk.semantic.mst.chunker"
        print(*(f"{warning.category.__name__}: {warning.message}" for warning in caught), sep="\\n")
    """
    run = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)
    assert run.stdout.splitlines() == [
        "DeprecationWarning: advchunk.chunkers.mst is deprecated: import advchunk.semantic.mst",
        "DeprecationWarning: advchunk.readers.pdf is deprecated: import advchunk.pages.pdf",
    ]


NAMES = [*advchunk._MOVED, "MSTSemanticParams", "RecursiveParams"]


@pytest.mark.parametrize("name", NAMES)
def test_a_name_that_left_the_top_works_and_warns(name):
    vars(advchunk).pop(name, None)
    with pytest.warns(
        DeprecationWarning, match=rf"advchunk\.{name} is deprecated: import {name} from advchunk\."
    ) as caught:
        value = getattr(advchunk, name)
    module = str(caught[0].message).rpartition(" ")[2]
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        assert getattr(import_module(module), name) is value
    assert Path(caught[0].filename) == Path(__file__)
    assert name not in advchunk.__all__
