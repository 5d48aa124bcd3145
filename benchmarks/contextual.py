"""Measure what a context for each chunk gains: by the document's own words, and by a small chat model. See VECTORS.md.

python benchmarks/contextual.py --data DIR [--sets chroma ...] [--model --documents state_of_the_union.md]

DIR holds a folder for each set, with texts and questions.jsonl. Chunks are those of `recursive`, of at most 130 tokens. A context is
embedded and searched, and is not returned: the budget is of the chunks' own text, in whole chunks. Rows are ways of search; each
cell has the recall without a context, and the paired difference with it, with its 95 % interval over questions. --model asks
SmolLM2-135M about each chunk of some documents, and prints what it costs.
"""

from __future__ import annotations

import argparse
import time
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any, get_args

import numpy as np
import torch
from question_time import EVERY, SETS, SIZE, Piece, Set, fill, scores

from advchunk import Chunk, RecursiveChunker
from advchunk.enrich import ContextualEnricher
from advchunk.evaluation.metrics.statistics import paired_difference
from advchunk.models.causal import load_reader
from advchunk.models.embedders import as_embedder
from advchunk.records import Floats
from advchunk.retrieval import Retriever
from advchunk.retrieval.search import SearchMode

BUDGETS = (200, 1000)
WAYS = {
    f"{mode}{', neighbors' * neighbors}": (mode, neighbors)
    for mode in get_args(SearchMode)
    for neighbors in (False, True)
}
DEPTH = 100


@dataclass
class SmallModel:
    """SmolLM2-135M-Instruct as a function of a prompt."""

    model_name = "smollm2"
    reader: Any = field(default_factory=lambda: load_reader("smollm2"))
    seconds: float = 0.0
    prompt_tokens: int = 0
    answer_tokens: int = 0

    def __call__(self, prompt: str) -> str:
        """Return the most likely answer of at most 60 tokens."""
        start = time.perf_counter()
        text = f"<|im_start|>user\n{prompt}<|im_end|>\n<|im_start|>assistant\n"
        ids = self.reader.tokenizer(text, return_tensors="pt").input_ids
        with torch.inference_mode():
            answer = self.reader.model.generate(ids, max_new_tokens=60, do_sample=False)[0, ids.shape[1] :]
        self.seconds += time.perf_counter() - start
        self.prompt_tokens += ids.shape[1]
        self.answer_tokens += len(answer)
        return str(self.reader.tokenizer.decode(answer, skip_special_tokens=True))


def recalls(data: Set, chunks: Mapping[str, Sequence[Chunk]]) -> dict[str, Floats]:
    """Return the recall of each question, (questions, budgets), by the way of search."""
    sizes = {chunk.id: data.embedder.counter(chunk.text) for own in chunks.values() for chunk in own}
    results = {}
    for way, (mode, neighbors) in WAYS.items():
        retriever = Retriever(chunks, embedder=data.embedder, mode=mode, neighbors=neighbors, language=data.language)
        rows = []
        for question in data.questions:
            hits = retriever.search(question.text, DEPTH)
            pieces = [Piece(hit.document, hit.chunk.spans, sizes[hit.chunk.id]) for hit in hits]
            rows.append([scores(fill(pieces, budget), question)[0] for budget in BUDGETS])
        results[way] = np.array(rows)
    return results


def table(data: Set, contexts: Mapping[str, ContextualEnricher]) -> str:
    """Return a table of the gains of each kind of context."""
    groups = RecursiveChunker(max_tokens=SIZE, language=data.language).chunk_many(data.documents)
    plain = recalls(data, {document.id: group for document, group in zip(data.documents, groups, strict=True)})
    head = [
        "",
        *(f"recall in {budget:,}{kind}" for budget in BUDGETS for kind in ("", *(f", {name}" for name in contexts))),
    ]
    columns = {}
    for name, enricher in contexts.items():
        enriched = enricher.enrich_many(zip(data.documents, groups, strict=True))
        named = {document.id: group for document, group in zip(data.documents, enriched, strict=True)}
        columns[name] = recalls(data, named)
    rows = []
    for way, before in plain.items():
        cells = [way]
        for i in range(len(BUDGETS)):
            cells.append(f"{100 * before[:, i].mean():.1f}")
            for after in columns.values():
                mean, low, high = (100 * value for value in paired_difference(after[way][:, i], before[:, i])[:3])
                cell = f"{mean:+.1f} [{low:+.1f}, {high:+.1f}]"
                cells.append(f"**{cell}**" if low > 0 or high < 0 else cell)
        rows.append(cells)
    return "".join(f"| {' | '.join(cells)} |\n" for cells in (head, ["---"] * len(head), *rows))


def main() -> None:
    """Measure and print."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--data", type=Path, required=True)
    parser.add_argument("--sets", nargs="+", default=SETS)
    parser.add_argument("--model", action="store_true", help="also ask SmolLM2-135M")
    parser.add_argument("--documents", nargs="+", help="names of the documents to use")
    args = parser.parse_args()
    model = SmallModel() if args.model else None
    for name in args.sets:
        data = Set.read(args.data, name, as_embedder(), 1 if args.documents else EVERY.get(name, 1))
        if args.documents:
            data.documents = [document for document in data.documents if document.id in args.documents]
            data.questions = [
                q for q in data.questions if {document for document, _ in q.references} <= {*args.documents}
            ]
        contexts = {"own words": ContextualEnricher()} | ({"model": ContextualEnricher(llm=model)} if model else {})
        print(f"## {name}: {len(data.questions)} questions\n\n{table(data, contexts)}", flush=True)
    if model:
        print(f"{model.prompt_tokens:,} tokens of prompts, {model.answer_tokens:,} of answers, {model.seconds:.0f} s")


if __name__ == "__main__":
    main()
