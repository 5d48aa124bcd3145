"""A new algorithm takes four places: its file, its row, its tests, and its page (CONTRIBUTING); all else follows from
them."""

import os
import shutil
import subprocess
import sys

import pytest

from test_readme import ROOT, blocks

FOLLOWS = """
import sys
sys.path.insert(0, "tools")
from pathlib import Path

import advchunk, langchain_advchunk, llamaindex_advchunk
from chunker_pages import chunker_facts, chunker_page, draw
from click.testing import CliRunner
from advchunk.cli import main

assert "shared-words" in advchunk.names("experimental")
text = "Cats nap. Cats purr. Courts rule."
chunks = [chunk.text for chunk in advchunk.create("shared-words", experimental=True).chunk(text)]
assert chunks == [chunk.text for chunk in advchunk.SharedWordsChunker().chunk(text)] == ["Cats nap. Cats purr. ", "Courts rule."]
adapters = {"SharedWordsSplitter": langchain_advchunk, "SharedWordsNodeParser": llamaindex_advchunk}
for name, adapter in adapters.items():
    made = getattr(adapter, name)
    assert made().split_text(text) == chunks
    assert name in adapter.__all__
    assert f"class {name}(" in Path(sys.modules[made.__module__].__file__).with_suffix(".pyi").read_text()
assert "SharedWordsChunker" in Path(advchunk.__file__).with_suffix(".pyi").read_text()
assert "shared-words" in CliRunner().invoke(main, ["list"]).output
assert "`shared-words`" in Path("docs/guides/chunkers.md").read_text()
assert "take [optimal-semantic](optimal-semantic.md)" in chunker_page("shared-words")
draw("shared-words", Path("plots"))
assert set(chunker_facts()) == set(advchunk.names())
"""


@pytest.fixture
def copy(tmp_path):
    """Copy what the repository has of chunkers, and return the folder."""
    for folder in ("core", "docs", "benchmarks", "tools", "tests/data", "langchain_advchunk", "llamaindex_advchunk"):
        shutil.copytree(ROOT / folder, tmp_path / folder)  # with what is compiled
    shutil.copy(ROOT / "pyproject.toml", tmp_path)
    return tmp_path


def test_a_new_algorithm_takes_four_places(copy):
    chunker, row = (block["code"] for block in blocks("CONTRIBUTING.md", "python")[:2])
    package = copy / "core" / "advchunk" / "chunkers" / "experimental"
    (package / "shared_words.py").write_text(chunker, encoding="utf-8")
    init = (package / "__init__.py").read_text(encoding="utf-8")
    start, rest = init.split("REGISTRATIONS = (\n")
    (package / "__init__.py").write_text(
        f"{start}REGISTRATIONS = (\n{row.partition('row = ')[2].rstrip()},\n{rest}", encoding="utf-8"
    )
    (entry,) = blocks("CONTRIBUTING.md", "toml")
    with (copy / "docs" / "chunkers.toml").open("a", encoding="utf-8") as page:
        page.write(f"\n{entry['code']}")
    environment = {**os.environ, "PYTHONPATH": os.pathsep.join([str(copy / "core"), str(copy)])}
    for command in (["tools/write_stubs.py"], ["tools/chunker_table.py", "--write"], ["-c", FOLLOWS]):
        done = subprocess.run(
            [sys.executable, *command], cwd=copy, env=environment, capture_output=True, text=True, check=False
        )
        assert done.returncode == 0, done.stderr
