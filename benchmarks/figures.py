"""Run the benchmarks of figures.toml, keep what they print, and put their tables into the pages.

python benchmarks/figures.py --data DIR [--only NAME ...] [--jobs N] [--again]
python benchmarks/figures.py --fill
python benchmarks/figures.py --check

DIR has a folder for each set. What a benchmark prints goes to figures/NAME.json when it ends, with the date, the
commit, and the versions; a run that is interrupted goes on with the benchmarks that have no such file, or one of
another version of what it measured. --again runs them all, and --only those of some names; "smoke" stands for `SMOKE`,
which need no data.

Tables stand in the pages between two comments, `<!-- figures: NAME -->` and `<!-- end -->`. After NAME may follow
"/ SECTION", for the tables below a heading; "; columns 0 2", for some columns; and "; rows REGEX", for the rows in
which the expression is found. --fill writes the tables, and draws the pictures. --check finds tables and pictures that
are not those of the files, names that are in no page, and chunkers whose version is not the one that was measured, if
the page does not say it; it lists what was measured before the code was changed, which may matter or not.
"""

from __future__ import annotations

import argparse
import json
import os
import platform
import re
import shlex
import subprocess
import sys
import time
import tomllib
from collections.abc import Iterator, Mapping, Sequence
from concurrent.futures import ThreadPoolExecutor, as_completed
from datetime import UTC, datetime
from importlib.metadata import PackageNotFoundError, version
from pathlib import Path
from typing import Any, NamedTuple

from advchunk.chunkers.catalog import chunker_class, names
from advchunk.models.static import default_embedder

ROOT = Path(__file__).parents[1]
PAGES = [ROOT / "README.md", *sorted((ROOT / "benchmarks").glob("*.md")), *sorted((ROOT / "docs").rglob("*.md"))]
RECORDS = ROOT / "benchmarks" / "figures"
MANIFEST: Mapping[str, Mapping[str, Any]] = tomllib.loads((ROOT / "benchmarks" / "figures.toml").read_text("utf-8"))
SMOKE = [name for name, row in MANIFEST.items() if "{data}" not in row["run"]]
PACKAGES = ("chonkie", "langchain-experimental", "langchain-text-splitters", "llama-index-core", "numpy",
            "semantic-text-splitter", "semchunk", "sentence-transformers", "torch")  # fmt: skip
REGION = re.compile(
    r"(<!-- figures: (?P<name>[\w-]+)(?: / (?P<section>[^;\n]+?))?"
    r"(?:; columns (?P<columns>[\d ]+?))?(?:; rows (?P<rows>.+?))? -->\n).*?(?P<end><!-- end -->)",
    re.DOTALL,
)
HEADING = re.compile(r"^#+ (.*)$", re.MULTILINE)
TABLE = re.compile(r"(?:^\|.*\n?)+", re.MULTILINE)

Record = dict[str, Any]


def main() -> None:
    """Run, fill, or check."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--data", type=Path)
    parser.add_argument("--only", nargs="+", choices=[*MANIFEST, "smoke"], metavar="NAME")
    parser.add_argument("--jobs", type=int, default=1, help="benchmarks that run at a time")
    parser.add_argument("--again", action="store_true")
    parser.add_argument("--fill", action="store_true")
    parser.add_argument("--check", action="store_true")
    args = parser.parse_args()
    if args.check:
        notes, faults = check()
        print(*notes, *faults, sep="\n")
        sys.exit(bool(faults))
    if not args.fill:
        run_all(args.data, SMOKE if args.only == ["smoke"] else args.only, args.jobs, args.again)
    for path in PAGES:
        path.write_text(filled(path.read_text("utf-8")), "utf-8")
    for name, picture in pictures().items():
        subprocess.run([sys.executable, ROOT / "benchmarks" / f"{name}.py", picture], check=True)


def pictures() -> Record:
    """Return the files of the pictures of what was measured, which NAME.py draws."""
    return {name: ROOT / row["picture"] for name, row in MANIFEST.items() if "picture" in row and read(name)}


def run_all(data: Path | None, only: Sequence[str] | None, jobs: int, again: bool) -> None:
    """Run those whose figures are not there or not of the present versions, the longest first; print what each took."""
    chosen = [name for name in only or MANIFEST if data or name in SMOKE]
    if left_out := [name for name in only or MANIFEST if name not in chosen]:
        print(f"Without --data, left out: {', '.join(left_out)}.")
    due = [name for name in chosen if again or only or not (record := read(name)) or former_versions(record)]
    due.sort(key=lambda name: -MANIFEST[name]["minutes"])
    print(
        f"{len(due)} of {len(chosen)} to run, about {sum(MANIFEST[name]['minutes'] for name in due)} minutes of a core."
    )
    with ThreadPoolExecutor(jobs) as pool:
        runs = {pool.submit(run, name, data, max(1, (os.cpu_count() or 1) // jobs)): name for name in due}
        for i, done in enumerate(as_completed(runs), 1):
            print(f"{i} of {len(due)}: {runs[done]}: {done.result()}", flush=True)


def run(name: str, data: Path | None, processes: int) -> str:
    """Run a benchmark, and write its file unless it fails; return the time that it took, or the error."""
    command, record = MANIFEST[name]["run"], circumstances()
    script, *params = shlex.split(command.format(data=data, processes=processes))
    start = time.monotonic()
    environment = {**os.environ, "OPENBLAS_NUM_THREADS": "1", "HF_HUB_OFFLINE": "1"}
    done = subprocess.run(
        [sys.executable, "-W", "ignore", ROOT / "benchmarks" / script, *params],
        cwd=ROOT, env=environment, capture_output=True, encoding="utf-8", check=False,
    )  # fmt: skip
    failures = [line for line in done.stderr.splitlines() if "has no result" in line or line.startswith("Traceback")]
    if failures or not (TABLE.search(done.stdout) or done.stdout.startswith("{")):
        return "; ".join([f"exit status {done.returncode}", *failures, done.stderr.strip().rpartition("\n")[2]])
    seconds = round(time.monotonic() - start)
    record = {
        "command": command.format(data="DIR", processes=processes),
        "seconds": seconds,
        **record,
        "output": done.stdout.splitlines(),
    }
    RECORDS.mkdir(exist_ok=True)
    (RECORDS / f"{name}.json").write_text(json.dumps(record, indent=1, ensure_ascii=False) + "\n", "utf-8")
    return f"{seconds} s"


def circumstances() -> Record:
    """Return the date, the commit, the machine, and the versions."""
    processor = re.search(
        r"model name\s*: (.*)", Path("/proc/cpuinfo").read_text() if Path("/proc/cpuinfo").exists() else ""
    )
    return {
        "date": datetime.now(UTC).date().isoformat(),
        "commit": os.environ.get("COMMIT") or _git("rev-parse", "--short=8", "HEAD"),
        "machine": f"{processor[1] if processor else platform.machine()}, {os.cpu_count()} cores",
        "python": platform.python_version(),
        "packages": {name: _version(name) for name in PACKAGES},
        "embedder": default_embedder().model_name,
        "chunkers": {name: chunker_class(name).version for name in names()},
    }


def read(name: str) -> Record:
    """Return what was measured; empty if nothing was."""
    path = RECORDS / f"{name}.json"
    record: Record = json.loads(path.read_text("utf-8")) if path.exists() else {}
    return record


def former_versions(record: Record) -> list[str]:
    """Return the chunkers, and the embedder, that are in the output and were of another version."""
    output = "\n".join(record["output"])
    now = {name: chunker_class(name).version for name in names()}
    former = [
        f"{name} {measured}"
        for name, measured in record["chunkers"].items()
        if now.get(name) != measured and re.search(rf"(?<![\w-]){re.escape(name)}(?![\w-])", output)
    ]
    return former + [record["embedder"]] * (record["embedder"] != default_embedder().model_name)


class Table(NamedTuple):
    """A table, the heading of its section, and the lines between."""

    heading: str
    lines: str
    text: str


def tables(output: Sequence[str]) -> list[Table]:
    r"""Return the tables that a benchmark printed.

    >>> tables(["## Sizes", "", "In tokens", "", "| a |", "|---|", "| 1 |"])
    [Table(heading='Sizes', lines='In tokens', text='| a |\n|---|\n| 1 |\n')]
    """
    text, listed, heading, end = "".join(f"{line}\n" for line in output), [], "", 0
    for match in TABLE.finditer(text):
        before = text[end : match.start()]
        if sections := HEADING.findall(before):
            heading = sections[-1]
        listed.append(Table(heading, HEADING.split(before)[-1].strip(), match[0]))
        end = match.end()
    return listed


def selected(table: str, columns: str | None, rows: str | None) -> str:
    r"""Return some columns of a table, by number, and the rows in which a regular expression is found.

    >>> print(selected("| | a | b |\n|---|---|---|\n| x | 1 | 2 |\n| y | 3 | 4 |\n", "0 2", "y"), end="")
    |  | b |
    | --- | --- |
    | y | 4 |
    """
    if not columns and not rows:
        return table
    lines = table.splitlines()
    kept = [line for number, line in enumerate(lines) if number < 2 or not rows or re.search(rows, line)]
    if not columns:
        return "".join(f"{line}\n" for line in kept)
    cells = [[cell.strip() for cell in line.strip("|").split("|")] for line in kept]
    chosen = [int(column) for column in columns.split()]
    return "".join(f"| {' | '.join(row[column] for column in chosen)} |\n" for row in cells)


def shown(name: str, section: str | None, columns: str | None = None, rows: str | None = None) -> str:
    """Return what a page shows: the tables, or those of a section, and how they were measured."""
    record = read(name)
    chosen = [table for table in tables(record["output"]) if section in (None, table.heading)]
    if not chosen:
        sections = sorted({table.heading for table in tables(record["output"])})
        sys.exit(f"{name} has no section {section!r}, but {sections}")
    parts = (
        (
            f"**{table.heading}**" * (not section and bool(table.heading)),
            table.lines,
            selected(table.text, columns, rows),
        )
        for table in chosen
    )
    text = "".join("\n\n".join(filter(None, part)) + "\n" for part in parts)
    measured = source(record)
    if former := former_versions(record):
        measured += f"; of former versions: {', '.join(former)}"
    return f"{text}(`{record['command']}`, {measured})\n"


def source(record: Record) -> str:
    """Return when and where something was measured."""
    return f"{record['date']}, commit {record['commit']}, {record['machine']}, {record['seconds']:,} s"


def filled(page: str) -> str:
    """Return a page with the tables of the files."""

    def fill(match: re.Match[str]) -> str:
        if not read(match["name"]):
            return match[0]
        table = shown(match["name"], match["section"], match["columns"], match["rows"])
        return f"{match[1]}{table}{match['end']}"

    return REGION.sub(fill, page)


def check() -> tuple[list[str], list[str]]:
    """Return notes, and faults."""
    return list(_notes()), list(_faults())


def _notes() -> Iterator[str]:
    for name, row in MANIFEST.items():
        if not (record := read(name)):
            yield f"{name}: not measured"
        elif commits := _git("log", "--format=%h", f"--since={record['date']} 23:59", "--", *row["code"]).split():
            yield f"{name}: measured on {record['date']}; {len(commits)} later commits to {', '.join(row['code'])}"


def _faults() -> Iterator[str]:
    placed = set()
    for path in PAGES:
        page = path.read_text("utf-8")
        if filled(page) != page:
            yield f"{path.relative_to(ROOT)}: not the tables of figures/*.json: make figures"
        regions = {match["name"] for match in REGION.finditer(page)}
        yield from (f"{path.relative_to(ROOT)}: {name} has not been measured" for name in regions if not read(name))
        placed |= regions
    for name, picture in pictures().items():
        if not picture.exists() or source(read(name)) not in picture.read_text("utf-8"):
            yield f"{picture.relative_to(ROOT)}: not of figures/{name}.json: make figures"
    yield from (f"{name}: in no page" for name in MANIFEST if read(name) and name not in placed)
    yield from (f"{path.name}: not in figures.toml" for path in RECORDS.glob("*.json") if path.stem not in MANIFEST)


def _git(*args: str) -> str:
    return subprocess.run(["git", *args], cwd=ROOT, capture_output=True, encoding="utf-8", check=False).stdout.strip()


def _version(name: str) -> str:
    try:
        return version(name)
    except PackageNotFoundError:
        return ""


if __name__ == "__main__":
    main()
