"""Draw what each way to answer brings, and what it costs.

python benchmarks/cost.py FILE

Recall in 200 and in 1,000 tokens, means over the sets of figures/question-time.json, beside the milliseconds of a
question and the seconds of indexing a megabyte, of figures/cost.json, whose questions were asked in one process.
"""

from __future__ import annotations

from pathlib import Path

from figures import read, source, tables
from matplotlib import pyplot
from runner import argument_parser

OURS = "tab:blue"
NAMES = {
    "hits as they are": "hits of a store",
    "with the chunk on either side": "… with the chunk on either side",
    "LlamaIndex SentenceEmbeddingOptimizer": "… by SentenceEmbeddingOptimizer",
    "LangChain EmbeddingsFilter": "… by EmbeddingsFilter",
    "sentences by BM25": "… their sentences by BM25",
    "and by neighbors among them": "… re-ranked by words and neighbors",
    "cut again, nothing around": "… cut again",
    "cut again, with the texts": "… cut again, with the texts",
    "chunks of 512": "our index, chunks of 512 tokens",
    "chunks of 260": "… of 260",
    "chunks of 130": "… of 130",
    "chunks of 60": "… of 60",
    "the four sizes, fused by rank": "… of all four sizes",
    "question time": "… of 130, cut for the question",
}


def costs(name: str) -> dict[str, list[float]]:
    """Return recall in 200 and in 1,000 tokens, milliseconds, and seconds, by row."""
    (text,) = (table.text for table in tables(read(name)["output"]) if table.heading == "Cost")
    rows = (line.strip("| ").split(" | ") for line in text.splitlines()[2:])
    return {label: [float(number) for number in numbers] for label, *numbers in rows}


def draw(file: Path) -> None:
    """Draw three panels, ours in another color; a number stands for a row."""
    recall, cost = costs("question-time"), costs("cost")
    panels = (
        ("recall in 200 tokens", 0, "milliseconds a question", 2),
        ("recall in 1,000 tokens", 1, "milliseconds a question", 2),
        ("recall in 1,000 tokens", 1, "seconds of indexing a megabyte", 3),
    )
    pyplot.rcParams.update({"svg.fonttype": "none", "svg.hashsalt": "cost", "font.size": 9})
    fig, row = pyplot.subplots(1, 3, figsize=(12, 4), layout="constrained")
    for axes, (ylabel, y, xlabel, x) in zip(row, panels, strict=True):
        for number, (label, name) in enumerate(NAMES.items(), 1):
            color = OURS if "cut" in label or label == "question time" else "0.4"
            point = cost[label][x], recall[label][y]
            axes.plot(*point, "o", color=color, label=f"{number} {name}", markersize=4)
            axes.annotate(str(number), point, (4, 3), textcoords="offset points", color=color)
        axes.set(xscale="log", xlabel=xlabel, ylabel=ylabel)
        axes.minorticks_off()
        ticks = (2, 5, 10, 20, 50) if x == 2 else (0.3, 0.5, 1, 2)
        axes.set_xticks(ticks, map(str, ticks))
        axes.grid(alpha=0.3)
    fig.legend(*row[0].get_legend_handles_labels(), loc="outside right upper", handlelength=0.5, labelcolor="linecolor")
    fig.savefig(file, metadata={"Date": None, "Description": source(read("cost"))} if file.suffix == ".svg" else None)
    pyplot.close(fig)


if __name__ == "__main__":
    parser = argument_parser(__doc__, data=None)
    parser.add_argument("file", type=Path, help="an .svg or a .png file")
    draw(parser.parse_args().file)
