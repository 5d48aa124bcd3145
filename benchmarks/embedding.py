"""Compare the built-in embedder with its first version, hashed words, and BM25, and the cuts made with it. See
MODELS.md.

python benchmarks/embedding.py --data DIR --first FILE [--set NAME ...] [--texts N] [--minilm]

DIR holds folders of texts with questions.jsonl, and choi/3-11. `tools/build_embedding.py --first FILE` builds FILE. The
language of a set is English, or the name of its folder inside another, as in xquad/de. Prints tables without any of the
texts.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from functools import partial
from pathlib import Path
from typing import Any, TypeAlias

import numpy as np
from runner import argument_parser, difference

from advchunk import HybridEmbedder, create
from advchunk.evaluation import EvaluationTask, SegmentedText, candidate, pk, read_corpus, read_folder, read_questions
from advchunk.evaluation.comparison.candidates import match_size
from advchunk.evaluation.metrics.retrieval import Overlaps, at_budget, find_overlaps, similarities
from advchunk.models.embedders import as_embedder
from advchunk.models.hashed_words import HashedWords
from advchunk.models.static import StaticEmbedder, default_embedder
from advchunk.records import Floats, Ints
from advchunk.retrieval import LexicalIndex

SETS = ("chroma", "covidqa", "qmsum", "xquad/en", "xquad/de")
MEAN, BUDGET = 90, 1000  # tokens of a chunk, tokens retrieved
REPEATS = 5  # of a timing
NAMES = {"de": "german", "en": "english", "ru": "russian"}  # languages that BM25 can stem
CUTTERS: Mapping[str, tuple[str, Mapping[str, Any]]] = {
    "optimal-semantic": ("optimal-semantic", {"max_tokens": 4000}),
    "optimal-semantic, K known": ("optimal-semantic", {"max_tokens": 4000, "n_segments": "K"}),
    "graph-partition, threshold .7": ("graph-partition", {"threshold": 0.7}),
    "graph-partition": ("graph-partition", {}),
    "graph-partition, neighbors": ("graph-partition", {"preset": "neighbors"}),
    "semantic-cluster": ("semantic-cluster", {}),
    "semantic-cluster, chain": ("semantic-cluster", {"preset": "chain"}),
    "semantic-threshold": ("semantic-threshold", {}),
    "universal-semantic": ("universal-semantic", {}),
    "mst-semantic, sentences": ("mst-semantic", {"granularity": "sentence"}),
}


@dataclass(frozen=True)
class Texts:
    """The chunks of a set and its questions, as texts."""

    chunks: Sequence[str]
    questions: Sequence[str]
    language: str


@dataclass(frozen=True)
class Corpus(Texts):
    """The texts of a set, and how chunks and answers overlap."""

    overlaps: Overlaps

    def recall(self, ranking: Ints) -> Floats:
        """Return the recall of each question within the budget, in percent: (q,)."""
        return 100 * at_budget(self.overlaps, ranking, BUDGET).recall


Ranker: TypeAlias = Callable[[Texts], Ints]


def read(data: Path, name: str) -> Corpus:
    """Read a set and cut it by `universal-semantic`, at the size that gives the mean chunk."""
    documents = read_corpus(data / name)
    questions = read_questions(data / name / "questions.jsonl", documents)
    task = EvaluationTask(tuple(documents), tuple(questions))
    chosen, _ = match_size(lambda size: candidate("universal-semantic", max_tokens=size), MEAN, task)
    pairs = zip(documents, chosen.cut(documents), strict=True)
    chunks = {document.source: [chunk for chunk in cut if chunk.text.strip()] for document, cut in pairs}
    texts = [chunk.embed_text for cut in chunks.values() for chunk in cut]
    overlaps = find_overlaps(chunks, questions, tokens=np.maximum(task.counter.counts(texts), 1))
    language = Path(name).name if len(Path(name).parts) > 1 else "en"
    return Corpus(texts, [question.text for question in questions], language, overlaps)


def rank_by_vectors(embedder: Callable[[str], Any], texts: Texts) -> Ints:
    """Rank by the cosines of the vectors of an embedder for the language of the texts."""
    checked = as_embedder(embedder(texts.language))
    scores = similarities(checked.embed(texts.questions), checked.embed(texts.chunks))
    return np.argsort(-scores, axis=1, kind="stable")


def rank_by_bm25(texts: Texts) -> Ints:
    """Rank by BM25 (`LexicalIndex`)."""
    index = LexicalIndex(texts.chunks)
    return np.argsort(-np.stack([index.scores(question) for question in texts.questions]), axis=1, kind="stable")


def rankers(first: StaticEmbedder, *, minilm: bool) -> dict[str, Ranker]:
    """Return how each row of the table ranks chunks."""
    embedders: dict[str, Callable[[str], Any]] = {
        "first version": lambda _: first,
        "built-in": lambda _: None,
        "first version, hybrid": lambda language: HybridEmbedder(first, language=language),
        "built-in, hybrid": lambda language: HybridEmbedder(language=language),
        "words alone": lambda language: HashedWords(language=language),
    }
    if minilm:
        embedders["MiniLM"] = lambda _: "minilm"
        embedders["MiniLM, hybrid"] = lambda language: HybridEmbedder("minilm", language=language)
    return {label: partial(rank_by_vectors, embedder) for label, embedder in embedders.items()} | {"BM25": rank_by_bm25}


def print_recall(corpora: Mapping[str, Corpus], rankers: Mapping[str, Ranker]) -> None:
    """Print the recall of each way to rank, and differences from the first version and from BM25."""
    recall = {label: [corpus.recall(rank(corpus)) for corpus in corpora.values()] for label, rank in rankers.items()}
    print(f"Recall in {BUDGET:,} tokens, in percent; differences from the first version, with 95 % intervals\n")
    titles = [f"{name} ({len(c.questions)} questions, {len(c.chunks)} chunks)" for name, c in corpora.items()]
    print_row("", *titles)
    print_row(*["---"] * (len(titles) + 1))
    for label, scores in recall.items():
        pairs = zip(scores, recall["first version"], strict=True)
        cells = [f"{own.mean():.1f}" + (f" {difference(own, base)}" if own is not base else "") for own, base in pairs]
        print_row(label, *cells)
    pairs = zip(recall["built-in, hybrid"], recall["BM25"], strict=True)
    print_row("built-in, hybrid, less BM25", *(difference(own, base) for own, base in pairs))
    print()


def print_cuts(texts: Sequence[SegmentedText], first: StaticEmbedder) -> None:
    """Print the Pk of chunkers with the first version and with the built-in embedder."""
    print(f"Pk on {len(texts)} texts of Choi 3-11, in percent (cuts per true cut); lower is better\n")
    print_row("", "first version", "built-in", "difference")
    print_row(*["---"] * 4)
    truth = [text.cuts for text in texts]
    for label, (name, params) in CUTTERS.items():
        made = [[cut(name, params, embedder, text) for text in texts] for embedder in (first, default_embedder())]
        scores = [np.array([100 * pk(*pair) for pair in zip(truth, cuts, strict=True)]) for cuts in made]
        shares = [sum(len(own) - 1 for own in cuts) / sum(len(own) - 1 for own in truth) for cuts in made]
        cells = [f"{own.mean():.1f} ({share:.2f})" for own, share in zip(scores, shares, strict=True)]
        print_row(label, *cells, difference(scores[1], scores[0]))
    print()


def cut(name: str, params: Mapping[str, Any], embedder: StaticEmbedder, text: SegmentedText) -> Ints:
    """Return a chunker's cuts before size limits; "K" stands for the true number of segments."""
    numbers = {key: len(text.cuts) - 1 for key, value in params.items() if value == "K"}
    chunker: Any = create(name, experimental=True, embedder=embedder, **{**params, **numbers})
    cuts: Ints = chunker.segmentation(text.units).cuts
    return cuts


def print_row(*cells: str) -> None:
    """Print a row of a Markdown table."""
    print(f"| {' | '.join(cells)} |", flush=True)


def load(path: Path) -> StaticEmbedder:
    """Load a table that `tools/build_embedding.py` wrote."""
    with np.load(path, allow_pickle=False) as table:
        rows = np.multiply(table["q"], table["s"].astype(np.float32)[:, None], dtype=np.float32)
    return StaticEmbedder(default_embedder().tokenizer, rows)


def main() -> None:
    """Rank, cut, time, and print."""
    parser = argument_parser(__doc__)
    parser.add_argument("--first", type=Path, required=True, help="the first version's table")
    parser.add_argument("--set", nargs="+", default=list(SETS), dest="names", help="folders with questions")
    parser.add_argument("--texts", type=int, help="maximum number of segmented texts")
    parser.add_argument("--minilm", action="store_true", help="also rank by MiniLM and its hybrid")
    args = parser.parse_args()
    first = load(args.first)
    corpora = {name: read(args.data, name) for name in args.names}
    print_recall(corpora, rankers(first, minilm=args.minilm))
    print_cuts(read_folder(args.data / "choi" / "3-11")[: args.texts], first)


if __name__ == "__main__":
    main()
