"""Measure what a context for each chunk gains and costs: by the document's own words, and by a small chat model. See
RETRIEVAL.md.

python benchmarks/contextual.py --data DIR [--sets chroma ...] [--model --documents state_of_the_union.md ...]

DIR holds a folder for each set, with texts and questions.jsonl. Chunks are those of `recursive`, of at most 130 tokens.
A context is embedded and searched, and is not returned: the budget is of the chunks' own text, in whole chunks. Rows
are ways of search; each cell has the recall without a context, and the paired difference with it, with its 95 %
interval over questions. --model asks SmolLM2-135M about each chunk of some documents. The last table has the cost of a
model: as estimated, and with --model as it was.
"""

from __future__ import annotations

import time
from collections.abc import Mapping, Sequence
from os.path import commonprefix
from typing import Any, get_args

import numpy as np
import torch
from question_time import EVERY, SETS, SIZE, Piece, Set, fill, scores
from runner import argument_parser, difference, table
from transformers import DynamicCache

from advchunk import Chunk, RecursiveChunker
from advchunk.enrich import ContextualEnricher
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


class SmallModel:
    """SmolLM2-135M-Instruct as a function of a prompt. Like a server with a prefix cache, it keeps what two prompts
    begin with.
    """

    model_name = "smollm2"

    def __init__(self) -> None:
        self.reader: Any = load_reader("smollm2")
        self.kept, self.cache = list[int](), DynamicCache()
        self.seconds, self.answer_tokens = 0.0, 0

    def __call__(self, prompt: str) -> str:
        """Return the most likely answer of at most 60 tokens."""
        start = time.perf_counter()
        text = f"<|im_start|>user\n{prompt}<|im_end|>\n<|im_start|>assistant\n"
        ids = self.reader.tokenizer(text).input_ids
        shared = len(commonprefix((ids, self.kept)))  # noqa: RUF071 - tokens are compared
        if (others := self.cache.get_seq_length() - shared) > 0:
            self.cache.crop(-others)
        self.kept = ids
        with torch.inference_mode():
            rows = self.reader.model.generate(
                torch.tensor([ids]), past_key_values=self.cache, max_new_tokens=60, do_sample=False
            )
        answer = rows[0, len(ids) :]
        self.seconds += time.perf_counter() - start
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


def gains(data: Set, groups: Sequence[Sequence[Chunk]], contexts: Mapping[str, ContextualEnricher]) -> str:
    """Return a table of the gains of each kind of context."""
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
            cells += [difference(100 * after[way][:, i], 100 * before[:, i]) for after in columns.values()]
        rows.append(cells)
    return table(head, rows)


def costs(data: Set, groups: Sequence[Sequence[Chunk]], model: SmallModel | None) -> list[str]:
    """Return the cost of asking a model about each chunk: as estimated, and by a model as it was."""
    count = data.embedder.counter
    estimate = ContextualEnricher(llm=lambda prompt: prompt).estimate(zip(data.documents, groups, strict=True))
    tokens = [count(document.text) for document in data.documents]
    own, whole = sum(tokens), sum(n * len(group) for n, group in zip(tokens, groups, strict=True))
    cells = [data.name, f"{own:,}", f"{estimate.requests:,}", f"{estimate.prompt_tokens:,}"]
    cells += [f"{number:,.1f}" for number in (estimate.prompt_tokens / own, whole / own)]
    cells.append(f"{100 * estimate.prefix_tokens / estimate.prompt_tokens:.0f}")
    return cells + ([f"{model.answer_tokens:,}", f"{model.seconds:.0f}"] if model else [])


def main() -> None:
    """Measure and print."""
    parser = argument_parser(__doc__)
    parser.add_argument("--sets", nargs="+", default=SETS)
    parser.add_argument("--model", action="store_true", help="also ask SmolLM2-135M")
    parser.add_argument("--documents", nargs="+", help="names of the documents to use")
    args = parser.parse_args()
    cost = []
    for name in args.sets:
        data = Set.read(args.data, name, as_embedder(), 1 if args.documents else EVERY.get(name, 1))
        if args.documents:
            used = {*args.documents}
            data.documents = [document for document in data.documents if document.id in used]
            data.questions = [q for q in data.questions if {document for document, _ in q.references} <= used]
        groups = RecursiveChunker(max_tokens=SIZE, language=data.language).chunk_many(data.documents)
        model = SmallModel() if args.model else None
        contexts = {"own words": ContextualEnricher()} | ({"model": ContextualEnricher(llm=model)} if model else {})
        print(f"## {name}: {len(data.questions)} questions\n\n{gains(data, groups, contexts)}", flush=True)
        cost.append(costs(data, groups, model))
    head = ["", "tokens", "calls", "tokens of prompts", "times the text", "with whole documents", "shared, %"]
    head += ["tokens of answers", "seconds"] if args.model else []
    print(f"## The cost of a model\n\n{table(head, cost)}")


if __name__ == "__main__":
    main()
