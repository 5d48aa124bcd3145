"""The benchmark of embedders runs on texts so small that its figures are meaningless."""

import json
from itertools import pairwise
from pathlib import Path

from advchunk.evaluation import synthetic
from scripts import run

ROOT = Path(__file__).parents[2]


def test_the_tables_have_a_row_for_each_embedder_and_chunker(tmp_path):
    (tmp_path / "small" / "de").mkdir(parents=True)
    (tmp_path / "choi" / "3-11").mkdir(parents=True)
    questions = []
    for seed in range(2):
        text = synthetic(seed, segments=8, overlap=0.3)
        (tmp_path / "small" / "de" / f"{seed}.md").write_text(text.units.text, "utf-8")
        edges = text.units.edges.tolist()
        references = [{"document": f"{seed}.md", "start": edges[1], "end": edges[2] - 1}]
        questions.append({"question": text.units.strings()[0].strip(), "references": references})
        cuts, strings = text.cuts.tolist(), [sentence.strip() for sentence in text.units.strings()]
        segments = ["\n".join(strings[a:b]) for a, b in pairwise(cuts)]
        (tmp_path / "choi" / "3-11" / f"{seed}.ref").write_text(
            "==========\n".join(["", *(f"{s}\n" for s in segments), ""])
        )
    (tmp_path / "small" / "de" / "questions.jsonl").write_text("\n".join(map(json.dumps, questions)))
    table = ROOT / "core/advchunk/models/assets/minilm_static_256.npz"
    lines = run("embedding", "--data", tmp_path, "--first", table, "--set", "small/de").splitlines()
    rows = {cells[1].strip(): cells[2:-1] for line in lines if len(cells := line.split("|")) > 3}
    assert {"first version", "built-in", "built-in, hybrid", "words alone", "BM25", "optimal-semantic"} <= rows.keys()
    assert rows["optimal-semantic"][2].strip() == "+0.0 [+0.0, +0.0]"  # of one table
