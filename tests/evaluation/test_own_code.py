"""Chunkers of one's own: their code is part of what a stored result is known by, and their names are their own."""

import importlib
import os
import subprocess
import sys
from functools import partial

import pytest

from advchunk import ConfigurationError, Document, create, registry
from advchunk.chunkers.catalog import register
from advchunk.evaluation import EvaluationTask, candidate
from advchunk.evaluation.data.questions import Question, Reference
from advchunk.models.identity import code_identity
from advchunk.records import Span

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
    registry.rows("chunker")  # reads all tables
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


def test_the_fingerprint_of_a_candidate_follows_its_code(own):
    register(own())
    first = candidate("own-code").fingerprint
    assert candidate("own-code").fingerprint == first
    register(own(cut=2))
    assert candidate("own-code").fingerprint != first
    assert candidate("recursive").fingerprint == create("recursive", fallback=None).fingerprint()


def test_code_without_a_file_counts_too():
    fingerprints = set()
    for cut in (1, 2, 2):
        space = {"__name__": "cell"}
        exec(SOURCE.format(cut=cut, cls="Cell", name="own-cell"), space)
        space["Cell"].__module__ = "cell"
        register(space["Cell"])
        fingerprints.add(candidate("own-cell").fingerprint)
    assert len(fingerprints) == 2


def test_a_class_that_is_older_than_its_file_has_another_fingerprint(own):
    old = own()
    new = own(cut=2)
    assert old is not new
    assert code_identity(old) != code_identity(new)  # both are asked after the file has changed


def test_the_identity_of_code_is_the_same_in_every_process(own, tmp_path):
    own()
    script = "import own_chunkers, advchunk.models.identity as i; print(i.code_identity(own_chunkers.Own))"
    run = partial(
        subprocess.run, [sys.executable, "-c", script], cwd=tmp_path, capture_output=True, text=True, check=True
    )
    assert len({run(env={**os.environ, "PYTHONHASHSEED": seed}).stdout for seed in "123"}) == 1


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


def test_references_outside_of_a_document_are_an_error():
    documents = [Document("Cats nap.", "cats")]
    questions = [Question("Who naps?", (Reference("cats", Span(5, end)),)) for end in (9, 10)]
    EvaluationTask(documents, questions[:1] * 2)
    rule = r"references must be in the 9 characters of 'cats', got \(5, 10\)"
    with pytest.raises(ConfigurationError, match=rule):
        EvaluationTask(documents, questions)
