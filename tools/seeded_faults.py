"""Seed small faults in a copy of a checkout, one at a time, and report which the tests catch.

    python tools/seeded_faults.py --name after --out benchmarks/seeded_faults.json

The faults are those of `seeded_faults.toml`: slips that a change may bring, of the kinds found so far. The text of a
fault is searched in all of the source, so that the table can be run on any commit that has it, wherever its modules and
tests are::

    git worktree add ../before d1e0a55
    python tools/seeded_faults.py ../before --name before --out benchmarks/seeded_faults.json

Each fault runs the few tests that should catch it; those that fail must pass without it. The script
exits with 1 if a fault is not caught.
"""

import argparse
import json
import os
import shutil
import sys
import tempfile
import time
import tomllib
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from importlib import import_module
from multiprocessing import get_context
from pathlib import Path
from typing import Any

HERE = Path(__file__).parent
PACKAGES = ("core", "langchain_advchunk", "llamaindex_advchunk")
_COPIED = (*PACKAGES, "tests", "benchmarks", "tools", "docs", "pyproject.toml", "README.md")
_LIBRARIES = ("hypothesis", "langchain_core.documents", "llama_index.core", "numpy", "pytest", "regex", "scipy.sparse")
_MOST = 600  # seconds that the tests of a fault may take
_TIME_OUT = "time-out"


@dataclass(frozen=True, kw_only=True)
class Fault:
    """A replacement of an exact piece of the source.

    Parameters
    ----------
    kind, slip : what it is an example of, and what goes wrong.
    old, new : the piece, which is in the source once, and what replaces it.
    before, then : the same in the source before its modules were moved, if they were other.
    tests : the names of the files of tests that should catch it, as patterns, wherever they are.
    only : selects among these, as pytest's ``-k`` does.
    """

    kind: str
    slip: str
    old: str
    new: str
    tests: str
    before: str = ""
    then: str = ""
    only: str = ""

    def place(self, sources: Mapping[Path, str]) -> tuple[Path, str]:
        """Return the file that the fault is in, and the text of that file with the fault.

        Raises `LookupError` unless the piece is found once.
        """
        for old, new in ((self.old, self.new), (self.before, self.then)):
            places = [path for path, text in sources.items() if old and old in text]
            if len(places) == 1 and sources[places[0]].count(old) == 1:
                return places[0], sources[places[0]].replace(old, new)
            if places:
                break
        msg = f"{self.slip}: {self.old!r} must be in the source once, got {list(map(str, places))}"
        raise LookupError(msg)

    def selection(self, root: Path) -> list[str]:
        """Return the arguments of pytest for the tests of the fault."""
        tests = sorted(path for path in (root / "tests").rglob("test_*.py") if path.parent.name != "reference")
        paths = {name: [str(path) for path in tests if path.match(name)] for name in self.tests.split()}
        if missing := [name for name in paths if not paths[name]]:
            msg = f"{self.slip}: no tests {missing} in {root}"
            raise LookupError(msg)
        return [*(path for own in paths.values() for path in own), *(["-k", self.only] if self.only else [])]


def read_faults() -> list[Fault]:
    """Return the faults of the table."""
    return [Fault(**row) for row in tomllib.loads((HERE / "seeded_faults.toml").read_text("utf-8"))["fault"]]


def read_sources(root: Path) -> dict[Path, str]:
    """Return the text of each module of the packages in a checkout."""
    return {path: path.read_text("utf-8") for name in PACKAGES for path in sorted((root / name).rglob("*.py"))}


def run_tests(root: Path, selection: Sequence[str]) -> tuple[str, float]:
    """Run tests in a copy until one fails; return the one that failed, "" if none did, and the seconds.

    They run in a fork of this process, which has loaded the libraries that they need (`load_libraries`).
    """
    start = time.monotonic()
    with tempfile.NamedTemporaryFile("r", encoding="utf-8") as log:
        process = get_context("fork").Process(target=_run_pytest, args=(root, selection, log.name))
        process.start()
        process.join(_MOST)
        seconds = time.monotonic() - start
        if process.exitcode is None:
            process.kill()
            process.join()
            return _TIME_OUT, seconds
        output = log.read()
    if process.exitcode == 0:
        return "", seconds
    lines = (line.partition(" ") for line in output.splitlines())
    failed = next((rest.partition(" - ")[0] for word, _, rest in lines if word in {"FAILED", "ERROR"}), "")
    if not failed:
        msg = f"pytest could not run {' '.join(selection)}: {output[-1000:]}"
        raise RuntimeError(msg)
    return failed, seconds


def _run_pytest(root: Path, selection: Sequence[str], log: str) -> None:
    import pytest

    output = os.open(log, os.O_WRONLY)
    os.dup2(output, 1)
    os.dup2(output, 2)
    os.chdir(root)
    sys.path[:0] = paths = [str(root / "core"), str(root)]
    os.environ["PYTHONPATH"] = os.pathsep.join(paths)  # for processes that tests start
    options = ["-x", "-q", "-p", "no:cacheprovider", "--tb=no", "--hypothesis-seed=0"]
    options += ["-W", "ignore::pytest.PytestAssertRewriteWarning"]  # of libraries that are loaded
    if '"all"' in (root / "tests" / "conftest.py").read_text("utf-8"):
        options += ["--hypothesis-profile", "all"]  # as many examples as in CI
    code = int(pytest.main([*options, *selection]))
    sys.stdout.flush()
    os._exit(code)


def load_libraries() -> None:
    """Load what most tests need, once for all runs, and none of our modules."""
    os.environ |= {"HF_HUB_OFFLINE": "1", "OMP_NUM_THREADS": "1"}
    for name in _LIBRARIES:
        import_module(name)
    from hypothesis import Phase, settings

    # Any example that fails will do: the smallest is not searched for. Profiles of the tests inherit this.
    settings.register_profile("seeded", phases=[Phase.explicit, Phase.reuse, Phase.generate])
    settings.load_profile("seeded")


def try_fault(root: Path, fault: Fault) -> dict[str, Any]:
    """Seed a fault in a copy, run its tests, and take it out again."""
    sources = read_sources(root)
    path, seeded = fault.place(sources)
    try:
        path.write_text(seeded, "utf-8")
        failed, seconds = run_tests(root, fault.selection(root))
    finally:
        path.write_text(sources[path], "utf-8")
    return {"kind": fault.kind, "slip": fault.slip, "caught": bool(failed), "by": failed, "seconds": round(seconds, 1)}


def try_faults(checkout: Path, faults: Iterable[Fault]) -> Iterator[dict[str, Any]]:
    """Seed faults in a copy of a checkout, and yield what the tests make of each; raise if these fail without a
    fault.
    """
    with tempfile.TemporaryDirectory() as folder:
        root, caught = _copy(checkout, Path(folder, "copy")), set[str]()
        for fault in faults:
            yield (result := try_fault(root, fault))
            caught.add(result["by"])
        failed, _ = run_tests(root, sorted(caught - {"", _TIME_OUT})) if caught - {"", _TIME_OUT} else ("", 0)
        if failed:
            msg = f"{failed} fails without a fault"
            raise RuntimeError(msg)


def _copy(checkout: Path, folder: Path) -> Path:
    folder.mkdir()
    for name in _COPIED:
        source = checkout / name
        if source.is_dir():
            shutil.copytree(source, folder / name)
        elif source.exists():
            shutil.copy(source, folder / name)
    return folder


def table(runs: Mapping[str, Sequence[Mapping[str, Any]]]) -> Iterator[str]:
    """Yield the lines of a Markdown table: how many faults of each kind were seeded, and caught in each run."""
    yield "| kind | " + " | ".join(["seeded", *(f"caught {name}" for name in runs)]) + " |"
    yield "|---" * (2 + len(runs)) + "|"
    kinds = list(dict.fromkeys(result["kind"] for run in runs.values() for result in run))

    def row(label: str, chosen: Iterable[str]) -> str:
        own = [[result["caught"] for result in run if result["kind"] in chosen] for run in runs.values()]
        return f"| {label} | " + " | ".join(map(str, [max(map(len, own)), *map(sum, own)])) + " |"

    yield from (row(kind, [kind]) for kind in kinds)
    yield row("all", kinds)


def main() -> int:
    """Run the script."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("checkout", nargs="?", type=Path, default=HERE.parent)
    parser.add_argument("--only", default="", help="seed the faults whose kind or slip has this text")
    parser.add_argument("--name", default="now", help="of the run, in the file")
    parser.add_argument(
        "--out", type=Path, help="JSON file of several runs, in which the results of this one are replaced"
    )
    options = parser.parse_args()
    load_libraries()
    faults = [fault for fault in read_faults() if options.only in f"{fault.kind}: {fault.slip}"]
    results = list[dict[str, Any]]()
    for result in try_faults(options.checkout.resolve(), faults):
        print(json.dumps(result), file=sys.stderr, flush=True)
        results.append(result)
    runs = json.loads(options.out.read_text("utf-8")) if options.out and options.out.exists() else {}
    latest = {result["slip"]: result for result in [*runs.get(options.name, ()), *results]}
    runs[options.name] = [latest[fault.slip] for fault in read_faults() if fault.slip in latest]
    if options.out:
        options.out.write_text(json.dumps(runs, indent=1) + "\n", "utf-8")
    print("\n".join(table(runs)))
    return not all(result["caught"] for result in results)


if __name__ == "__main__":
    sys.exit(main())
