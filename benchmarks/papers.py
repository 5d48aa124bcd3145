"""Try what the papers behind the chunkers claim, and write the page of what came out. See PAPERS.md.

python benchmarks/papers.py [--data DIR] [--golden DIR] [--only NAME ...] [--limit 600] [--page]

papers.toml has the claims, each with the command that tries it: a benchmark, or tests. DIR of --data holds the texts of all
benchmarks, DIR of --golden the outputs of the original programs; commands that need a folder that is not given are not run.
What a command printed is kept in build/papers, the figures of the page in papers.json: a run that was stopped goes on where it
was, and a command that was tried is not run again unless --only names it. --page runs nothing and writes the page.
"""

from __future__ import annotations

import argparse
import json
import re
import shlex
import subprocess
import sys
import time
import tomllib
from collections import Counter
from collections.abc import Iterator, Mapping
from pathlib import Path
from typing import Any, TypeAlias
from xml.etree import ElementTree

from figures import circumstances

from advchunk import registry
from advchunk.errors import ConfigurationError, require

Json: TypeAlias = dict[str, Any]
HERE = Path(__file__).parent
ROOT, BUILD = HERE.parent, HERE.parent / "build" / "papers"
CLAIMS, RESULTS, PAGE = HERE / "papers.toml", HERE / "papers.json", HERE / "PAPERS.md"
VERDICTS = ("holds", "holds partly", "does not hold", "measured", "not run")
NUMBER = re.compile(r"[-+]?(?:\d[\d,]*)?\.?\d+(?:e[-+]?\d+)?")


def claims_of(papers: Json) -> Iterator[Json]:
    """Yield the claims of all sources."""
    for source in papers["sources"]:
        yield from source["claims"]


def commands(papers: Json) -> dict[str, str]:
    """Return the commands by name: the benchmarks, and for each file of tests those that claims name."""
    tests: dict[str, list[str]] = {}
    for claim in claims_of(papers):
        for test in claim.get("tests", ()):
            file, name = test.split("::")
            tests.setdefault(file, []).append(name)
    named = {
        file: f"-m pytest -q {' '.join(f'tests/{file}::{name}' for name in sorted(set(names)))}"
        for file, names in tests.items()
    }
    return {name: f"benchmarks/{command}" for name, command in papers["runs"].items()} | named


def places(claim: Json) -> dict[str, dict[str, str]]:
    """Return where the values of a claim stand in the outputs: paths by label, for "at", "minus" and "over"."""
    published = claim.get("published")
    labels = list(published) if isinstance(published, dict) else claim.get("labels", [""])
    return {
        part: {label: claim[part].replace("{}", label) for label in labels}
        for part in ("at", "minus", "over")
        if part in claim
    }


def needed(papers: Json) -> dict[str, set[str]]:
    """Return the paths that claims take from the output of each command."""
    paths: dict[str, set[str]] = {name: set() for name in commands(papers)}
    for claim in claims_of(papers):
        for test in claim.get("tests", ()):
            file, name = test.split("::")
            paths[file] |= {f"{name} > passed", f"{name} > not passed"}
        for by_label in places(claim).values():
            paths[claim["run"]] |= {*by_label.values()}
    return paths


def read_output(output: str) -> Any:
    """Return JSON as it is, a line of JSON each by its number, or the cells of Markdown tables: heading > row > column."""
    try:
        return json.loads(output)
    except ValueError:
        pass
    lines = [line.strip() for line in output.splitlines()]
    if (written := [line for line in lines if line]) and all(line.startswith("{") for line in written):
        return {str(i): json.loads(line) for i, line in enumerate(written)}
    results: Json = {}
    heading, head, name = "", list[str](), ""
    for line in lines:
        if not line.startswith("|"):
            heading, head = line.strip("#* :") or heading, []
            continue
        cells = [re.sub(r"[*`]", "", cell).strip() for cell in line.strip("|").split("|")]
        if not head:
            head = [f"{c} {cells[:i].count(c) + 1}" if c in cells[:i] else c for i, c in enumerate(cells)]
            name = next(f"{heading} {i}".strip() for i in range(1, 99) if f"{heading} {i}".strip() not in results)
        elif not set(line) <= set("|-: "):
            results.setdefault(name, {})[cells[0]] = dict(zip(head[1:], cells[1:], strict=False))
    require(bool(results), "the output must be JSON or Markdown tables", output[:80])
    return results


def take(output: Any, path: str) -> float:
    """Return the number at a path of keys; of a text, its first number."""
    for key in path.split(" > "):
        output = output[int(key)] if isinstance(output, list) else output[key]
    if isinstance(output, str):
        output = NUMBER.findall(output)[0].replace(",", "")
    return round(float(output), 6)


def read_tests(report: Path) -> Json:
    """Return how many cases of each test passed, and how many did not."""
    results: dict[str, Counter[str]] = {}
    for case in ElementTree.parse(report).iter("testcase"):
        passed = not any(case.find(kind) is not None for kind in ("failure", "error", "skipped"))
        counts = results.setdefault(case.attrib["name"].partition("[")[0], Counter({"passed": 0, "not passed": 0}))
        counts["passed" if passed else "not passed"] += 1
    return dict(results)


def execute(name: str, command: str, folders: Mapping[str, Path | None], limit: float) -> Json | None:
    """Run a command and return what it printed with the circumstances; None if it cannot be run or exceeds the limit."""
    filled = command
    for key, folder in folders.items():
        if f"{{{key}}}" in filled and folder is None:
            print(f"{name}: needs --{key}", file=sys.stderr)
            return None
        filled = filled.replace(f"{{{key}}}", str(folder))
    report = BUILD / "tests.xml"
    tests = filled.startswith("-m pytest")
    words = [sys.executable, *shlex.split(filled), *([f"--junitxml={report}"] if tests else [])]
    report.unlink(missing_ok=True)
    around, start = circumstances(), time.monotonic()
    try:
        done = subprocess.run(words, cwd=ROOT, stdout=subprocess.PIPE, text=True, timeout=limit, check=False)
    except subprocess.TimeoutExpired:
        print(f"{name}: takes over {limit:.0f} s", file=sys.stderr)
        return None
    try:  # whatever the exit status: limits of a benchmark are none of a paper
        output = read_tests(report) if tests else read_output(done.stdout)
    except (ConfigurationError, OSError) as error:
        print(f"{name}: exit status {done.returncode}: {error}", file=sys.stderr)
        return None
    seconds = round(time.monotonic() - start)
    versions = ", ".join(f"{name} {number}" for name, number in around["packages"].items() if number)
    where = f"{around['machine']}; Python {around['python']}, {versions}"
    at = {key: around[key] for key in ("date", "commit")}
    return {"command": command, **at, "where": where, "seconds": seconds, "output": output}


def measure(papers: Json, results: Json, args: argparse.Namespace) -> None:
    """Run what has no result yet, or what is named, and keep the values after each command."""
    BUILD.mkdir(parents=True, exist_ok=True)
    for name, paths in needed(papers).items():
        command, old = commands(papers)[name], results.get(name, {})
        is_done = old.get("command") == command and paths <= old["values"].keys()
        if name not in args.only if args.only else is_done:
            continue
        kept = BUILD / f"{name.replace('/', '_')}.json"
        record = json.loads(kept.read_text("utf-8")) if kept.exists() and not args.only else {}
        if record.get("command") != command:
            print(name, file=sys.stderr, flush=True)
            made = execute(name, command, {"data": args.data, "golden": args.golden}, args.limit)
            if made is None:
                continue
            kept.write_text(json.dumps(record := made), "utf-8")
        output = record.pop("output")
        results[name] = {**record, "values": {path: take(output, path) for path in sorted(paths)}}
        RESULTS.write_text(json.dumps(dict(sorted(results.items())), indent=1) + "\n", "utf-8")


def values_of(claim: Json, results: Json) -> dict[str, float] | None:
    """Return the values found by label: one minus, or over, the other where the claim says so; None if they are missing."""
    taken, parts = results.get(claim.get("run", ""), {}).get("values", {}), places(claim)
    if not parts or any(path not in taken for by_label in parts.values() for path in by_label.values()):
        return None
    values = {label: taken[path] for label, path in parts["at"].items()}
    for label in values:
        values[label] -= taken[parts["minus"][label]] if "minus" in parts else 0
        values[label] /= taken[parts["over"][label]] if "over" in parts else 1
    return values


def count_tests(claim: Json, results: Json) -> tuple[int, int] | None:
    """Return how many cases of the tests of a claim passed, and of how many; None if one was not run."""
    passed = total = 0
    for test in claim["tests"]:
        file, name = test.split("::")
        taken = results.get(file, {}).get("values", {})
        if f"{name} > passed" not in taken:
            return None
        passed += int(taken[f"{name} > passed"])
        total += int(taken[f"{name} > passed"] + taken[f"{name} > not passed"])
    return passed, total


def judge(claim: Json, results: Json) -> str:
    """Return the verdict of a claim."""
    if "tests" in claim:
        counts = count_tests(claim, results)
        kept = [] if counts is None else [counts[0] == counts[1] and not claim.get("refuted")]
    else:
        values = values_of(claim, results) or {}
        if values and "rule" not in claim:
            return "measured"
        kept = [holds(claim, label, value) for label, value in values.items()]
    if not kept:
        return "not run"
    return "holds" if all(kept) else "holds partly" if any(kept) else "does not hold"


def holds(claim: Json, label: str, value: float) -> bool:
    """Tell whether a value keeps the rule: "within 0.01", "within 5 %", "at least 2", or "at most 2"."""
    kind, number, percent = re.fullmatch(r"(within|at least|at most) ([-\d.]+)( %)?", claim["rule"]).groups()  # type: ignore[union-attr]
    if kind != "within":
        return value >= float(number) if kind == "at least" else value <= float(number)
    published = claim["published"][label] if isinstance(claim["published"], dict) else claim["published"]
    return bool(abs(value - published) <= float(number) * (abs(published) / 100 if percent else 1) + 1e-9)


def write(value: Any) -> str:
    """Return a value, or values by label, for a cell."""
    if isinstance(value, dict):
        return ", ".join(f"{label} {write(number)}".strip() for label, number in value.items())
    if isinstance(value, str):
        return value
    return f"{value:,.0f}" if float(value).is_integer() or abs(value) >= 1000 else f"{value:.3g}"


def row(claim: Json, results: Json) -> list[str]:
    """Return the cells of a claim."""
    verdict = judge(claim, results)
    if "tests" in claim:
        counts = count_tests(claim, results)
        here = "" if counts is None else f"{counts[0]} of {counts[1]} tests pass"
        by = ", ".join(f"`{test}`" for test in claim["tests"])
    else:
        here = write(values_of(claim, results) or "")
        by = f"`{claim['run']}`" if "run" in claim else ""
    rule = f"{verdict}, {claim['rule']}" if here and "rule" in claim else verdict
    why = claim.get("missing") or claim.get("why", "")
    return [f"{claim['claim']} ({claim['place']})", write(claim.get("published", "")), here, rule, by, why]


def table(head: list[str], rows: list[list[str]]) -> str:
    """Return a Markdown table."""
    lines = [head, ["---"] * len(head), *([cell.replace("|", "\\|") for cell in cells] for cells in rows)]
    return "".join(f"| {' | '.join(cells)} |\n" for cells in lines)


def chunker_row(chunker: registry.Registration, papers: Json, results: Json) -> list[str]:
    """Return the cells of a chunker: what it cites, and the verdicts of the claims about it, or why there are none."""
    claims = [
        claim
        for source in papers["sources"]
        for claim in source["claims"]
        if chunker.name in claim.get("chunkers", source.get("chunkers", ()))
    ]
    counts = Counter(judge(claim, results) for claim in claims)
    verdicts = "; ".join(f"{verdict}: {counts[verdict]}" for verdict in VERDICTS if counts[verdict])
    return [f"`{chunker.name}`", chunker.source, verdicts or papers["no_claims"][chunker.name]]


def page(papers: Json, results: Json) -> str:
    """Return the page: counts, chunkers, a table for each source, and the commands with their circumstances."""
    counts = [Counter(judge(claim, results) for claim in source["claims"]) for source in papers["sources"]]
    titles, sums = [*(source["title"] for source in papers["sources"]), "all"], [*counts, sum(counts, Counter())]
    summary = [[title, *(str(sums_of[v] or "") for v in VERDICTS)] for title, sums_of in zip(titles, sums, strict=True)]
    chunkers = [chunker_row(chunker, papers, results) for chunker in registry.rows("chunker", ours=True)]
    parts = [papers["introduction"], table(["", *VERDICTS], summary)]
    parts += ["## By chunker", table(["chunker", "source", "claims"], chunkers)]
    for source in papers["sources"]:
        rows = [row(claim, results) for claim in source["claims"]]
        parts += [f"## {source['title']}", source["about"]]
        parts.append(table(["claim", "published", "here", "verdict", "tried by", "why, or what is missing"], rows))
    records = {name: results.get(name, {}) for name in commands(papers)}
    done = [
        [name, f"`python {command}`", *(str(records[name].get(key, "")) for key in ("date", "commit", "seconds"))]
        for name, command in commands(papers).items()
    ]
    where = sorted({record["where"] for record in records.values() if record})
    parts += ["## Commands", papers["commands"], *where]
    parts.append(table(["name", "command", "date", "commit", "seconds"], done))
    return "\n\n".join(part.strip() for part in parts) + "\n"


def main() -> None:
    """Measure what is missing, and write the page."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--data", type=Path, help="folder with the texts of the benchmarks")
    parser.add_argument("--golden", type=Path, help="folder with the outputs of the original programs")
    parser.add_argument("--only", nargs="+", default=[], help="names of commands to run, also again")
    parser.add_argument("--limit", type=float, default=600, help="seconds a command may take")
    parser.add_argument("--page", action="store_true", help="run nothing, write the page from papers.json")
    args = parser.parse_args()
    papers = tomllib.loads(CLAIMS.read_text("utf-8"))
    if unknown := {*args.only} - commands(papers).keys():
        parser.error(f"--only accepts names of commands: {', '.join(sorted(unknown))}")
    results = json.loads(RESULTS.read_text("utf-8")) if RESULTS.exists() else {}
    if not args.page:
        measure(papers, results, args)
    PAGE.write_text(page(papers, results), "utf-8")


if __name__ == "__main__":
    main()
