"""Any room can be deleted: what is left imports, chunks, knows nothing of it, and passes its tests."""

import os
import subprocess
import sys

import pytest
from try_rooms import CORE, KERNEL, ROOMS, ROOT, copy_without, rooms_of, run_tests

from without_rooms import NAMES, Finder, room_of

# What is left: every module imports, every chunker that needs no model or extra chunks, files are read, the command line lists.
LEFT = """
from importlib import import_module
from importlib.util import find_spec
from pathlib import Path
from pkgutil import walk_packages

import advchunk
from advchunk import registry

root = Path(advchunk.__file__).parent
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
assert {"recursive", "sliding-window", "auto"} <= set(advchunk.names())
for name in advchunk.names():
    row = registry.find("chunker", name)
    if row.needs or name in ("layout-aware", "grobid-section", "biomedical-abstract"):
        continue
    chunks = advchunk.create(name, experimental=True).chunk(text)
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
"""

# In a fork for each room, of a process that has loaded the libraries.
EACH = """
import os, sys, traceback, warnings
import bm25s, click.testing, jinja2, langchain_core.retrievers, langchain_text_splitters, llama_index.core, scipy.sparse

left, *rooms = sys.argv[1:]
for room in rooms:
    if child := os.fork():
        if os.waitpid(child, 0)[1]:
            print(room, "cannot be deleted")
        continue
    try:
        os.chdir(room)
        sys.path.insert(0, os.getcwd())
        warnings.simplefilter("error")
        exec(left)
    except BaseException:
        traceback.print_exc()
        os._exit(1)
    os._exit(0)
"""


@pytest.mark.slow
def test_any_room_can_be_deleted(tmp_path):
    for room in ROOMS:
        copy_without([room], tmp_path / room)
    run = subprocess.run(
        [sys.executable, "-c", EACH, LEFT, *ROOMS],
        env={**os.environ, "PYTHONPATH": str(ROOT)}, cwd=tmp_path, capture_output=True, text=True, check=True,
    )  # fmt: skip
    assert run.stdout == "", run.stderr


@pytest.mark.slow
def test_the_kernel_passes_its_tests_without_any_room():
    selection = "-m", "not slow and not another_chunker", "--hypothesis-profile", "quick"
    folders = [f"tests/{name}" for name in ("adapters", "contract", *sorted(KERNEL))]
    files = [f"tests/test_{name}.py" for name in ("lazy", "plugins", "records", "sizes")]
    numbers = run_tests(*selection, *folders, *files, without=ROOMS)
    assert numbers["passed"] > 2 * numbers["skipped"]


@pytest.fixture
def absent(monkeypatch):
    """Return what a test imports from an absent room."""
    monkeypatch.setitem(NAMES, "advchunk.chunkers.by_topic", "semantic")
    assert room_of("advchunk.chunkers.by_topic.mst") == room_of("langchain_advchunk.semantic") == "semantic"
    assert room_of("advchunk.building.sizes") is room_of("other.semantic") is None
    return Finder.create_module(Finder.find_spec("advchunk.chunkers.by_topic.mst")).Chunker


@pytest.mark.parametrize("use", ["absent()", "absent.algorithm", "isinstance(1, absent)", "class A(absent): ..."])
def test_what_uses_an_absent_room_is_skipped_or_of_ours_and_fails(absent, use):
    with pytest.raises(pytest.skip.Exception, match="needs semantic"):
        exec(compile(use, __file__, "exec"), {"absent": absent})
    with pytest.raises(AssertionError, match="uses Chunker of semantic, which is absent"):
        exec(compile(use, str(CORE / "sizes.py"), "exec"), {"absent": absent})


def test_the_script_tries_the_rooms_it_is_told(capsys):
    assert rooms_of([]) == ROOMS
    assert rooms_of(["code", "pages"]) == ["code", "pages"]
    with pytest.raises(SystemExit):
        rooms_of(["kitchen"])
    assert "no room is named kitchen" in capsys.readouterr().err
