"""Packages that declare chunkers, readers and embedders as entry points."""

import json
import os
import subprocess
import sys

import pytest

MODULE = '''
from dataclasses import dataclass
from typing import ClassVar

from advchunk import Block, Document, RecursiveChunker, Span
from advchunk.chunkers.baselines import RecursiveParams

class DashParams(RecursiveParams):
    algorithm: ClassVar[str] = "dashes"

@dataclass(kw_only=True)
class DashChunker(RecursiveChunker):
    """Chunk at dashes."""
    algorithm: ClassVar[str] = "dashes"
    max_tokens: int = 3

class reader:
    suffixes = (".dash",)

    @staticmethod
    def read(text, *, id="", metadata=None):
        return Document(text.replace("-", " "), id, metadata={"format": "dash", **(metadata or {})}, blocks=())

class eager:
    suffixes = (".txt",)

class Company:
    model_name = "company"

    def __init__(self):
        from advchunk import HybridEmbedder
        self._inner = HybridEmbedder("lengths")

    def embed(self, texts):
        return self._inner.embed(texts)

class Lengths:
    model_name = "lengths"

    def embed(self, texts):
        return [[len(text), 1.0] for text in texts]
'''
POINTS = """
[advchunk.chunkers]
dashes = dashes:DashChunker
broken = no_such_module:Chunker
recursive = dashes:DashChunker
wrong = dashes:Lengths

[advchunk.readers]
dash = dashes:reader
eager = dashes:eager
html = dashes:reader

[advchunk.embedders]
lengths = dashes:Lengths
company = dashes:Company
minilm = dashes:Lengths
text-embedding-3-broken = no_such_module:Embedder
"""


@pytest.fixture
def run(tmp_path, monkeypatch):
    """Return a function that runs Python where a package with plugins is installed, and returns its output and errors."""
    info = tmp_path / "site" / "dashes-1.2.dist-info"
    info.mkdir(parents=True)
    (info / "METADATA").write_text("Metadata-Version: 2.1\nName: dashes\nVersion: 1.2\n")
    (info / "entry_points.txt").write_text(POINTS)
    (info.parent / "dashes.py").write_text(MODULE)
    monkeypatch.setenv("PYTHONPATH", os.pathsep.join([str(info.parent), *filter(None, sys.path)]))
    monkeypatch.chdir(tmp_path)

    def run(*args):
        done = subprocess.run([sys.executable, *args], capture_output=True, text=True, check=True)
        return done.stdout, done.stderr

    return run


def test_a_chunker_of_a_plugin_is_like_ours(run):
    out, err = run("-c", "import advchunk; print(advchunk.create('dashes').max_tokens, 'dashes' in advchunk.names())")
    assert (out, err.count("is not used")) == ("3 True\n", 3)
    out, _ = run("-m", "advchunk", "list")
    assert "dashes" in out
    out, _ = run("-c", "import advchunk; print(advchunk.describe('dashes')['source'])")
    assert out == "dashes 1.2\n"


def test_what_is_not_used_is_said_once_and_why(run):
    _, err = run("-c", "import advchunk; advchunk.names(); advchunk.names()")
    assert sorted(err.splitlines()) == [
        "advchunk.chunkers: 'broken' of dashes 1.2 is not used: ModuleNotFoundError: No module named 'no_such_module'",
        "advchunk.chunkers: 'recursive' of dashes 1.2 is not used: this is a name of advchunk",
        "advchunk.chunkers: 'wrong' of dashes 1.2 is not used: it must be a subclass of Chunker with algorithm = 'wrong'",
    ]


def test_names_of_ours_load_no_plugin(run):
    out, err = run(
        "-c", "import advchunk, sys; advchunk.create('recursive').chunk('A.'); print('dashes' in sys.modules)"
    )
    assert (out, err) == ("False\n", "")


def test_a_reader_of_a_plugin_reads_its_files(run, tmp_path):
    (tmp_path / "tea.dash").write_text("green-tea")
    out, err = run("-m", "advchunk", "chunk", "tea.dash", "-m", "recursive", "--format", "jsonl")
    (chunk,) = map(json.loads, out.splitlines())
    assert (chunk["text"], chunk["metadata"]["format"]) == ("green tea", "dash")
    assert sorted(err.splitlines()) == [
        "advchunk.readers: 'eager' of dashes 1.2 is not used: its suffixes must be a tuple of new ones with a dot, got ('.txt',)",
        "advchunk.readers: 'html' of dashes 1.2 is not used: this is a name of advchunk",
    ]
    out, _ = run("-c", "from advchunk import RecursiveChunker as R; print(R(markup='dash').chunk('a-b')[0].text)")
    assert out == "a b\n"


def test_an_embedder_of_a_plugin_has_a_name(run):
    code = "from advchunk import RecursiveChunker as R; print(R(vectors='plain', embedder='lengths').chunk('abc')[0].vector)"
    out, _ = run("-c", code)
    assert out.startswith("[0.94")


def test_an_embedder_of_a_plugin_may_use_another(run):
    out, _ = run(
        "-c", "from advchunk.models.embedders import as_embedder; print(as_embedder('company').embed(['abc']).shape)"
    )
    assert out.startswith("(1, ")


def test_an_embedder_that_does_not_load_is_not_sought_elsewhere(run):
    code = "from advchunk.models.embedders import as_embedder\ntry: as_embedder('text-embedding-3-broken')\nexcept ValueError as e: print(e)"
    out, err = run("-c", code)
    assert out.startswith("an embedder of another package must load")
    assert "No module named 'no_such_module'" in err
    assert "'minilm' of dashes 1.2 is not used: this is a name of advchunk" in err
