"""Draw docs/images/question.png: what answers a question in a sample text, with matplotlib."""

from __future__ import annotations

import textwrap
from pathlib import Path

import matplotlib as mpl
import numpy as np
from matplotlib import pyplot
from matplotlib.axes import Axes
from matplotlib.offsetbox import AnnotationBbox, TextArea, VPacker

from advchunk import Explanation, RecursiveChunker, read_file
from advchunk.cli.viewer.page import Evidence, find_evidence, split_chunks
from advchunk.retrieval import Passage

ROOT = Path(__file__).parents[1]
QUESTION, BUDGET = "What is the miller's pay?", 150
MAX_TOKENS = 300  # of a chunk
WIDTH = 45  # of a passage, in characters
MARGIN = 0.03  # beside it, as a share of the text
QUIET, ACCENT = "#59616e", "#a04a00"
BLUE, ORANGE, GRAY = "tab:blue", "tab:orange", "0.55"


def main() -> None:
    """Draw the plot, with the text of each passage beside it."""
    mpl.use("agg")
    mpl.rcParams.update({"font.family": "DejaVu Sans", "font.size": 10, "axes.edgecolor": "#b9c0ca"})
    path = ROOT / "tests" / "data" / "harbour_town.md"
    document = read_file(path)
    explanation = RecursiveChunker(max_tokens=MAX_TOKENS).explain(document)
    (evidence,) = find_evidence([document], QUESTION, BUDGET)
    passages = evidence.passages
    met, _ = split_chunks(explanation, passages)
    figure, ax = pyplot.subplots(figsize=(9, 4), layout="constrained", facecolor="white")
    draw(ax, explanation, evidence)
    tokens = sum(passage.tokens for passage in passages)
    ax.set_title(QUESTION, loc="left", fontsize=14, fontweight="bold", pad=24)
    of_chunks = sum(chunk.tokens for chunk in met)
    facts = (
        f"{len(passages)} passages of {tokens} tokens, cut for this question; the {len(met)} chunks around them "
        f"have {of_chunks}"
    )
    ax.text(0, 1.04, facts, transform=ax.transAxes, color=QUIET)
    for passage in passages:
        annotate(ax, passage, len(document.text))
    ax.set_ylabel("score of the sentence", color=QUIET)
    ax.set_xlabel(f"characters of {path.name}, over its chunks of at most {MAX_TOKENS} tokens", color=QUIET)
    ax.xaxis.set_major_formatter("{x:,.0f}")
    ax.tick_params(axis="x", colors=QUIET)
    figure.savefig(ROOT / "docs" / "images" / "question.png", dpi=200, metadata={"Software": None})


def draw(ax: Axes, explanation: Explanation, evidence: Evidence) -> None:
    """Draw the score of each sentence as a curve, with the passages, and the chunks below."""
    passages, scores = evidence.passages, [sentence.score for sentence in evidence.sentences]
    edges = [*(sentence.spans[0].start for sentence in evidence.sentences), len(explanation.document.text)]
    spans, top = [span for passage in passages for span in passage.spans], max(scores)
    ax.broken_barh([(start, end - start) for start, end in spans], (0, 1.1 * top), facecolor=ORANGE, alpha=0.2)
    inside = np.array([any(start <= edge < end for start, end in spans) for edge in edges[:-1]])
    ax.stairs(np.where(inside, 0, scores), edges, fill=True, color=BLUE, alpha=0.25)
    ax.stairs(np.where(inside, scores, 0), edges, fill=True, color=ORANGE, alpha=0.6)
    ax.stairs(scores, edges, color=BLUE, linewidth=1.2)
    for chunks, color in zip(split_chunks(explanation, passages), (ORANGE, GRAY), strict=True):
        boxes = [(start, end - start) for chunk in chunks for start, end in chunk.spans]
        ax.broken_barh(boxes, (-0.19 * top, 0.11 * top), facecolor=color, edgecolor="white", linewidth=1)
    ax.set(ylim=(-0.24 * top, 1.1 * top), yticks=[], xlim=(0, len(explanation.document.text)))
    ax.spines[["top", "right"]].set_visible(False)


def annotate(ax: Axes, passage: Passage, length: int) -> None:
    """Write the heading and the text of a passage beside it, where there is more room."""
    start, end = passage.spans[0]
    x, side = (end + MARGIN * length, 0) if start < length / 2 else (start - MARGIN * length, 1)
    facts = TextArea(f"{passage.heading.rpartition(' > ')[2]}, {passage.tokens} tokens", textprops={"color": ACCENT})
    text = TextArea(textwrap.fill(passage.text, WIDTH), textprops={"linespacing": 1.35, "fontsize": 9.2})
    box = VPacker(children=[facts, text], align="left", pad=0, sep=6)
    place = (x, 0.96 * ax.get_ylim()[1])
    ax.add_artist(AnnotationBbox(box, place, box_alignment=(side, 1), frameon=False, pad=0))


if __name__ == "__main__":
    main()
