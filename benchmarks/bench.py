"""Measure speed: beside other libraries, in small and in growing documents, in processes, and per MB. See README.md.

python benchmarks/bench.py [--data DIR] [--out build/bench] [--only SECTION ...]

Writes figures.json, table.md, and speed.svg, and prints the table. DIR has texts, *.md or *.txt; without it they are
those of the tests. Times are the lowest of several runs; those of one section were taken in turn, in one process.
"""

from __future__ import annotations

import json
import tempfile
import time
from collections.abc import Callable, Iterator, Mapping
from datetime import UTC, datetime
from importlib.metadata import version
from pathlib import Path
from typing import Any, NamedTuple

import cluster
import growth
import speed
from runner import argument_parser

from advchunk import create

ROOT = Path(__file__).parents[1]
SIZE = 1000  # characters of a document, for two processes
PACKAGES = ("advchunk", "chonkie", "langchain-experimental", "langchain-text-splitters", "llama-index-core", "numpy",
            "semantic-text-splitter", "semchunk")  # fmt: skip
PEERS = ("LangChain", "LlamaIndex", "chonkie", "semchunk", "semantic-text-splitter")  # how their labels start
TITLES = {"same_work": "size in", "semantic": "semantic, built-in embedder", "small": ""}
PANELS = ("size in characters", "size in words", "size in tokens", "semantic, built-in embedder")


class Row(NamedTuple):
    """A task, its processor seconds, and how many times as long as the fastest of other libraries it takes."""

    section: str
    task: str
    cpu: float
    ratio: float | None


def per_megabyte(texts: list[str]) -> dict[str, Any]:
    """Return what each method of `cluster` takes, each in a process of its own."""
    with tempfile.TemporaryDirectory() as folder:
        for i, text in enumerate(texts):
            (Path(folder) / f"{i}.txt").write_text(text, "utf-8")
        return {method: _per_megabyte(cluster.measure_apart(Path(folder), method)) for method in cluster.METHODS}


def _per_megabyte(figures: Mapping[str, Any]) -> dict[str, float]:
    megabytes, seconds = sum(figures["bytes"]) / 1e6, sum(figures["seconds"])
    return {
        "cpu, s/MB": round(seconds / megabytes, 3),
        "documents/s": round(len(figures["seconds"]) / seconds, 2),
        "texts/MB": round(figures["texts"] / megabytes),
        "calls/MB": round(figures["calls"] / megabytes),
        "memory, MB": round(figures["memory"]),
    }


def timings(figures: Mapping[str, Any]) -> Iterator[tuple[str, Mapping[str, Any]]]:
    """Yield the title and the tasks of everything that was timed in turn with other libraries."""
    for section, title in TITLES.items():
        groups = figures.get(section, {})
        for label, tasks in {"": groups}.items() if section == "semantic" else groups.items():
            yield f"{title} {label}".strip(), {task: row for task, row in tasks.items() if isinstance(row, dict)}


def rows(figures: Mapping[str, Any]) -> Iterator[Row]:
    """Yield the rows of the table."""
    for title, tasks in timings(figures):
        peers = [row for task, row in tasks.items() if task.startswith(PEERS)]
        fastest = min(peers, key=lambda row: row["cpu"]["median"], default=None)
        for task, row in tasks.items():
            yield Row(title, task, row["cpu"]["min"], None if fastest is None else speed.ratio(row, fastest))


def table(figures: Mapping[str, Any]) -> str:
    """Return all figures as one Markdown table."""
    versions = ", ".join(f"{name} {number}" for name, number in figures["versions"].items())
    lines = [
        f"{figures['date']}; {figures['machine']['cpu']}, {figures['machine']['cores']} cores, load "
        f"{figures['machine']['load']}; Python {figures['machine']['python']}, {versions}; {figures['characters']:,} "
        "characters.",
        "",
        "| | | CPU s | times the fastest other library |",
        "|---|---|---|---|",
    ]
    for section, task, cpu, ratio in rows(figures):
        shown = f"**{task}**" if not task.startswith(PEERS) else task
        lines.append(f"| {section} | {shown} | {cpu:.4f} | {'' if ratio is None else f'{ratio:.2f}'} |")
    for section in ("per_megabyte", "asked"):
        for label, row in figures.get(section, {}).items():
            lines.append(f"| {section.replace('_', ' ')} | **{label}** | {_join(row)} | |")
    whole = [section for section in ("workers",) if section in figures]
    lines += [f"| {section} | {_join(figures[section])} | | |" for section in whole]
    if runs := figures.get("growth"):
        lines += ["", growth.table(runs, max(map(list, runs.values()), key=len)).rstrip()]
    return "\n".join(lines) + "\n"


def _join(row: Mapping[str, Any]) -> str:
    return "; ".join(f"{name}: {value}" for name, value in row.items())


def workers(texts: list[str], documents: int, method: str) -> dict[str, Any]:
    """Return the wall seconds of one process and of two, start-up included, and their ratio."""
    whole, chunker, seconds = "\n\n".join(texts), create(method), []
    starts = (at % max(len(whole) - SIZE, 1) for at in range(0, 997 * documents, 997))
    rows = [f"{i}. {whole[at : at + SIZE]}" for i, at in enumerate(starts)]  # no two are equal
    for number in (1, 2):
        start = time.perf_counter()
        for _ in chunker.stream(rows, workers=number):
            pass
        seconds.append(time.perf_counter() - start)
    alone, two = seconds
    return {"documents": documents, "method": method, "one process, s": round(alone, 3),
            "2 processes, s": round(two, 3), "times as fast": round(alone / two, 2)}  # fmt: skip


def plot(figures: Mapping[str, Any], file: Path) -> None:
    """Draw the processor seconds of each task, a panel a section, ours in another color."""
    from matplotlib import pyplot

    panels = {title: tasks for title, tasks in timings(figures) if title in PANELS}
    fig, all_axes = pyplot.subplots(len(panels) or 1, 1, figsize=(8, 3 * len(panels) or 1), squeeze=False)
    for axes, (title, tasks) in zip(all_axes[:, 0], panels.items(), strict=False):
        seconds = dict(sorted(((task, row["cpu"]["min"]) for task, row in tasks.items()), key=lambda item: -item[1]))
        colors = ["tab:gray" if task.startswith((*PEERS, "embedding")) else "tab:blue" for task in seconds]
        axes.barh(list(seconds), list(seconds.values()), color=colors)
        axes.set(title=title, xlabel="processor seconds")
    fig.tight_layout()
    fig.savefig(file)
    pyplot.close(fig)


def main() -> None:
    """Measure, write, and print."""
    parser = argument_parser(__doc__, data=None)
    parser.add_argument("--data", type=Path, default=ROOT / "tests" / "data")
    parser.add_argument("--out", type=Path, default=ROOT / "build" / "bench")
    parser.add_argument("--repeat", type=int, default=5, help="measurements of each time")
    parser.add_argument("--documents", type=int, default=10_000, help="of 1,000 characters, for small and workers")
    parser.add_argument("--lengths", type=int, nargs="+", default=growth.LENGTHS, help="in characters, for growth")
    sections = ("same_work", "semantic", "small", "asked", "per_megabyte", "workers", "growth")
    parser.add_argument("--only", nargs="+", choices=sections, default=sections, metavar="SECTION")
    args = parser.parse_args()
    texts = speed.read_texts(args.data)
    measures: dict[str, Callable[[], Any]] = {
        "same_work": lambda: speed.same_work(texts, args.repeat),
        "semantic": lambda: speed.corpora(texts, ["default"], args.repeat)["default"],
        "small": lambda: speed.small(texts, args.documents, args.repeat),
        "asked": lambda: speed.asked(texts),
        "per_megabyte": lambda: per_megabyte(texts),
        "workers": lambda: workers(texts, args.documents, "optimal-semantic"),
        "growth": lambda: growth.measure_chunkers(growth.WITHOUT_MODELS, args.lengths, args.data),
    }
    figures: dict[str, Any] = {
        "date": datetime.now(UTC).date().isoformat(),
        "machine": speed.machine(),
        "versions": {name: version(name) for name in PACKAGES},
        "characters": sum(map(len, texts)),
        **{section: measures[section]() for section in args.only},
    }
    args.out.mkdir(parents=True, exist_ok=True)
    (args.out / "figures.json").write_text(json.dumps(figures, indent=1), "utf-8")
    (args.out / "table.md").write_text(table(figures), "utf-8")
    plot(figures, args.out / "speed.svg")
    print(table(figures), end="")


if __name__ == "__main__":
    main()
