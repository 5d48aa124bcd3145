"""What README and CONTRIBUTING show is what happens: their code runs, and prints what they say it prints."""

import re
import shlex
import subprocess
import sys
from contextlib import redirect_stdout
from io import StringIO
from pathlib import Path
from types import ModuleType

import pytest

from advchunk.chunkers import registry

ROOT = Path(__file__).parents[1]
FENCE = re.compile(
    r"(?P<remote><!-- needs the hub -->\n)?```(?P<kind>\w+)\n(?P<code>.*?)^```\n(?:```text\n(?P<said>.*?)^```\n)?",
    re.DOTALL | re.MULTILINE,
)


def blocks(path, kind):
    text = (ROOT / path).read_text(encoding="utf-8")
    return [found for found in FENCE.finditer(text) if found["kind"] == kind and not found["remote"]]


def run(path, monkeypatch, which=slice(None)):
    """Run Python of a page, block after block in one module, each where it stands for the sake of tracebacks."""
    module = ModuleType("shown")
    monkeypatch.setitem(sys.modules, "shown", module)  # where dataclasses look themselves up
    for block in blocks(path, "python")[which]:
        line = block.string.count("\n", 0, block.start("code"))
        code = compile("\n" * line + block["code"], ROOT / path, "exec")
        with redirect_stdout(StringIO()) as out:
            exec(code, module.__dict__)
        if block["said"] is not None:
            assert out.getvalue() == block["said"], f"{path}, line {line}"
    return module


@pytest.fixture(autouse=True)
def elsewhere(tmp_path, monkeypatch):
    """Work in a folder with nothing but a README.md."""
    (tmp_path / "README.md").write_bytes((ROOT / "README.md").read_bytes())
    monkeypatch.chdir(tmp_path)


def test_the_readme_runs_from_top_to_bottom(monkeypatch):
    run("README.md", monkeypatch)


@pytest.mark.parametrize("which", range(3))
def test_each_way_in_runs_by_itself(which, monkeypatch):
    run("README.md", monkeypatch, slice(which, which + 1))


def test_the_guide_to_adding_a_chunker_runs_and_its_chunker_keeps_the_contract(monkeypatch):
    monkeypatch.setattr(registry, "TABLE", dict(registry.TABLE))
    shown = run("CONTRIBUTING.md", monkeypatch)
    text = "Cats purr. Cats nap.\n\nJudges sit. " * 20
    chunks = shown.SharedWordsChunker(max_tokens=30).chunk(text)
    assert "".join(chunk.text for chunk in chunks) == text
    assert max(chunk.tokens for chunk in chunks) <= 30
    assert shown.SharedWordsSplitter(max_tokens=30).split_text(text) == [chunk.text for chunk in chunks]
    assert shown.SharedWordsNodeParser(max_tokens=30).split_text(text) == [chunk.text for chunk in chunks]


@pytest.mark.parametrize(
    "line", [line for block in blocks("README.md", "console") for line in block["code"].splitlines()]
)
def test_the_commands_run(line):
    prompt, program, *args = shlex.split(line)
    assert (prompt, program) == ("$", "advchunk")
    subprocess.run([sys.executable, "-m", "advchunk", *args], check=True, capture_output=True)


def test_the_table_of_chunkers_is_the_registry():
    subprocess.run([sys.executable, ROOT / "tools" / "readme_table.py", "--check"], check=True)
