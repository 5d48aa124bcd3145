"""The benchmarks run on texts so small that their figures are meaningless."""

import json
import os
import re
import subprocess
import sys
from itertools import pairwise
from pathlib import Path

import pytest
from quality import list_regressions

from advchunk import ConfigurationError
from advchunk.evaluation import synthetic
from advchunk.registry import find, names_of
from scripts import run

FOLDER = Path(__file__).parents[2] / "benchmarks"


def test_every_script_starts_on_its_own():
    """One process for all, without the folders of the tests; the other tests run the scripts in their own process."""
    start = """if True:
        import runpy, sys
        for path in sys.argv[1:]:
            sys.argv = [path, "--help"]
            try:
                runpy.run_path(path, run_name="__main__")
            except SystemExit as end:
                assert end.code == 0, path
            else:
                raise AssertionError(path)
    """
    paths = [path for path in sorted(FOLDER.glob("*.py")) if "__main__" in path.read_text("utf-8")]
    assert len(paths) > 20
    environment = {**os.environ, "PYTHONPATH": os.pathsep.join([str(FOLDER), os.environ.get("PYTHONPATH", "")])}
    command = [sys.executable, "-W", "ignore", "-c", start, *paths]
    done = subprocess.run(command, capture_output=True, check=False, text=True, env=environment)
    assert done.returncode == 0, done.stderr


@pytest.fixture
def choi(tmp_path):
    for group in ("3-11", "3-5", "6-8", "9-11"):
        (tmp_path / "choi" / group).mkdir(parents=True)
        for seed in range(10 if group == "3-5" else 1):
            sample = synthetic(seed, segments=4, sentences=(4, 6), overlap=0.1)
            sentences, bar = [text.strip() for text in sample.units.strings()], "=" * 10
            segments = ["\n".join(sentences[a:b]) for a, b in pairwise(sample.cuts.tolist())]
            (tmp_path / "choi" / group / f"{seed}.ref").write_text(f"\n{bar}\n".join(["", *segments, ""]), "utf-8")
    return tmp_path


def fails(*args):
    """Return what the benchmark of quality fails with."""
    with pytest.raises(SystemExit) as failure:
        run("quality", "--json", *args)
    return str(failure.value)


def test_quality(choi):
    with pytest.raises(ConfigurationError, match="nonsense"):
        run("quality", "--only", "nonsense")
    labels = ["bayesseg, K known", "texttiling, fine", "optimal-semantic, K known"]
    sets = ["--set", "choi", "joined", "synthetic", "--texts", 1]
    figures = json.loads(run("quality", "--json", "--data", choi, *sets, "--only", *labels))["figures"]
    baselines = ["no boundary", "even split, K known", "random, K known"]
    assert list(figures["3-11"]) == [*baselines, labels[1], labels[0], labels[2]]
    assert figures["3-11"]["bayesseg, K known"]["Pk"] < 0.1 < figures["3-11"]["no boundary"]["Pk"]
    assert figures["3-5, joined"]["no boundary"]["true segments"] == 40
    assert 0 < figures["overlap 0.5"]["even split, K known"]["Pk"] < 1


def test_quality_reports_regressions(choi, capsys):
    for group in ("3-11", "9-11"):  # no topic changes, so no cuts can be found
        text = "\n".join([("=" * 10 + "\n" if i % 5 == 0 else "") + f"Cats nap here {'x' * i}." for i in range(20)])
        (choi / "choi" / group / "0.ref").write_text(text, "utf-8")
    message = fails("--data", choi, "--only", "bayesseg, no minimum size")
    assert "3-11: bayesseg, no minimum size: Pk" in message
    assert "is over 0.11" in message
    assert "Not checked: texttiling, fine; c99, its stems;" in capsys.readouterr().err


def test_quality_reports_regressions_on_real_texts(choi):
    (choi / "lectures").mkdir()
    for number in range(3):  # no topic changes, so no preset finds any
        text = "\n".join([("=" * 10 + "\n" if i % 2 == 0 else "") + f"Cats nap here {'x' * i}." for i in range(20)])
        (choi / "lectures" / f"{number}.txt").write_text(text, "utf-8")
    only = ["optimal-semantic", "texttiling, default", "texttiling, coarse"]
    message = fails("--data", choi, "--set", "lectures", "--only", *only)
    assert "lectures: optimal-semantic: Pk" in message
    assert "is over 0.345" in message
    assert "lectures: texttiling, coarse: Pk" in message
    assert "is not below that of texttiling, default" in message
    noise = {"optimal-semantic": {"Pk": 0.3, "Pk high": 0.01}}
    assert list_regressions({"lectures": noise}) == [
        "lectures: optimal-semantic: Pk is not below that of no boundary, but up to +0.010 from it"
    ]


def test_retrieval(choi):
    pytest.importorskip("chonkie")
    pytest.importorskip("semchunk")
    folder = choi / "texts"
    folder.mkdir()
    lines = []
    for seed in range(2):
        sample = synthetic(seed, segments=8, overlap=0.3)
        (folder / f"{seed}.md").write_text(sample.units.text, "utf-8")
        edges = sample.units.edges.tolist()
        for a in sample.cuts[:-1].tolist():
            answer = {"document": f"{seed}.md", "start": edges[a + 1], "end": edges[a + 2]}
            lines.append(json.dumps({"question": sample.units.text[edges[a] : edges[a + 1]], "references": [answer]}))
    (folder / "questions.jsonl").write_text("\n".join(lines), "utf-8")
    labels = [
        "optimal-semantic, units", "even-split", "semchunk", "chonkie SemanticChunker", "Chroma ClusterSemanticChunker",
    ]  # fmt: skip

    def tables(*args, only=labels):
        output = run("retrieval", "--data", folder, "--chroma", *args, "--only", *only)
        assert "| ClusterSemanticChunker, 200: here | 16 |" in output
        return output.split("## ")[2:]

    own, matched = tables("--published", "--mean", "40")
    for table in (own, matched):
        assert all(table.count(f"\n| {label} |") == 1 for label in ("recursive", *labels))
    rows = [line.split(" | ") for line in matched.splitlines() if line.startswith("| ")][2:]
    assert all(36 <= int(cells[1]) <= 44 for cells in rows if "Chroma" not in cells[0])
    only = ["recursive", "recursive, with context vectors"]
    with_context = tables("--mean", "40", "--set", "with-context", only=only)[0]
    assert with_context.count("\n| recursive, with context vectors |") == 1


PRESETS = [
    (name, preset) for name in names_of("chunker") for preset in getattr(find("chunker", name).load(), "presets", {})
]


@pytest.mark.parametrize(("name", "preset"), PRESETS)
def test_every_preset_is_measured(name, preset):
    pages = [page.read_text("utf-8") for page in FOLDER.glob("*.md")]
    either = rf"\b({name}|{find('chunker', name).load().__name__})\b"
    sections = [section for page in pages for section in page.split("\n## ") if re.search(either, section)]
    assert any(re.search(rf"^\|.*\b{preset}\b.*\d", section, re.MULTILINE) for section in sections)
