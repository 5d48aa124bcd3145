"""Chunkers of one's own: their results are not stored, and their names are their own."""

import importlib
import sys

import pytest

from advchunk import ConfigurationError, create, registry
from advchunk.chunkers.catalog import register
from advchunk.evaluation import candidate

SOURCE = '''
from dataclasses import dataclass
from typing import ClassVar

import numpy as np

from advchunk.chunkers.base import LinearChunker
from advchunk.chunkers.params import Params
from advchunk.records import Segmentation


@dataclass(kw_only=True)
class OwnParams(Params):
    """Cut once."""

    algorithm: ClassVar[str] = "{name}"


@dataclass(kw_only=True)
class {cls}(OwnParams, LinearChunker):
    """Cut once."""

    def segment(self, units, limits):
        assert {cut} in {{1, 2, 3}} and "a" in {{"a", "b", "c"}}
        return Segmentation(np.array([0, {cut}, len(units)]))
'''


@pytest.fixture(autouse=True)
def _names_of_before(monkeypatch):
    registry.rows_of("chunker")  # reads all tables
    monkeypatch.setattr(registry, "_ROWS", dict(registry._ROWS))


@pytest.fixture
def own(tmp_path, monkeypatch):
    monkeypatch.syspath_prepend(tmp_path)
    monkeypatch.setattr(sys, "dont_write_bytecode", True)
    path = tmp_path / "own_chunkers.py"

    def load(cut=1, cls="Own", name="own-code"):
        path.write_text(SOURCE.format(cut=cut, cls=cls, name=name))
        importlib.invalidate_caches()
        sys.modules.pop("own_chunkers", None)
        return getattr(importlib.import_module("own_chunkers"), cls)

    yield load
    sys.modules.pop("own_chunkers", None)


def test_results_of_code_without_a_version_are_not_stored(own):
    register(own())
    assert candidate("own-code").fingerprint == ""
    assert candidate("recursive").fingerprint == create("recursive", fallback=None).fingerprint()


def test_a_class_that_is_defined_again_takes_the_place_of_the_former(own):
    register(own())
    again = own(cut=2)
    register(again)
    assert type(create("own-code")) is again


@pytest.mark.parametrize("name", ["recursive", "own-code"])
def test_a_name_that_is_taken_is_an_error_with_both(own, name):
    register(own())
    path = {"recursive": "advchunk.chunkers.by_size:RecursiveChunker", "own-code": "own_chunkers:Own"}[name]
    with pytest.raises(ConfigurationError, match=f"{name!r} is that of {path}: got own_chunkers:Other"):
        register(own(cls="Other", name=name))
    assert type(create(name)).__name__ != "Other"
