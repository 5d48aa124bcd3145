"""Compare passages that are cut when the question is known with chunks of fixed sizes, and with other ways to use hits.
See RETRIEVAL.md.

python benchmarks/question_time.py --data DIR [--sets chroma ohr/law ...] [--embedder minilm] [--only index store]
    [--every 1] [--store DIR] [--processes N]
python benchmarks/question_time.py --data DIR --only coverage scorer units [--scorer minilm] [--sets ...] [--every 1]

DIR holds a folder for each set, with texts and questions.jsonl. Every row returns passages or chunks that are whole and
within the budget, and is scored by the characters of the answers in them. The rows:

index  chunks of 60, 130, 260 and 512 tokens at most, by the default pipeline (words and vectors, re-ranked by
neighbors); the best of
       these sizes, chosen for each set and budget afterwards; all four, fused by rank (several indexes, as AI21's);
       question time over the chunks of 130
store  the first 50 hits by vectors of LangChain's chunks of 800 characters: as they are; re-ranked by words, and by
       neighbors, too; with the chunk on either side of each (as SCAR, arXiv 2606.16661); their sentences by LangChain's
       EmbeddingsFilter, by LlamaIndex's SentenceEmbeddingOptimizer, by trimwise, by BM25 (as Lucene's
       UnifiedHighlighter); the best sentences with two on either side (as QASC, arXiv 2605.22834); cut again, with
       nothing around them, and with the texts

coverage  the best coverage of a passage for each question, with and without the documents that answer it
scorer  question time by words alone in 200 tokens, and what the cosines of a model add, by thirds of the share of the
       question's words that the sentences of the answer have
units  the same for the vectors of sentences that an index keeps (``vectors="units"``), with ``--embedder``

The time of a question is that of search and of what follows in 1,000 tokens, with the questions one after another; that
of indexing is the time to split, to embed, and to build the index.
"""

from __future__ import annotations

import json
import multiprocessing
import os
import pickle
import sys
import time
from collections import defaultdict
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from concurrent.futures import ProcessPoolExecutor
from dataclasses import dataclass, field, replace
from functools import cached_property, partial
from pathlib import Path
from typing import Any

import numpy as np
from runner import argument_parser, difference
from runner import table as markdown

from advchunk import Chunk, Document, RecursiveChunker, Span
from advchunk.building.positions import count_tokens
from advchunk.chunkers.vectors import Vectors
from advchunk.evaluation import Question, read_corpus, read_questions
from advchunk.evaluation.metrics.statistics import paired_difference
from advchunk.models.cache import with_cache
from advchunk.models.embedders import as_embedder
from advchunk.records import Floats
from advchunk.retrieval import (
    ChunkPositions,
    Hit,
    LexicalIndex,
    PassageCutter,
    Ranking,
    Retriever,
    VectorIndex,
    assemble_passages,
    rerank_by_neighbors,
)
from advchunk.text.search_terms import query_terms, term_counts
from advchunk.text.sentences import sentences

SETS = (
    "chroma", "ohr/law", "ohr/manual", "ohr/textbook", "ohr/finance", "qmsum", "covidqa", "xquad/en", "xquad/de",
)  # fmt: skip
EVERY = {"covidqa": 2, "xquad/en": 4, "xquad/de": 4}  # questions of large sets that are used
BUDGETS = (200, 500, 1000, 2000, 4000)
BUDGET = 1000  # in which questions are timed
SIZES = (60, 130, 260, 512)
SIZE = 130
DEPTH = 200  # chunks that are ranked
LEAST = (0.3, 0.4, 0.5, 0.6, 0.7, 0.8)  # coverage of a passage that is kept
HITS = 50
CHARACTERS = 800
QUESTION_TIME, BEST = "question time", "best of these sizes, chosen afterwards"
FUSED = "the four sizes, fused by rank"
AS_IS, CUT, CUT_WITH_TEXTS = "hits as they are", "cut again, nothing around", "cut again, with the texts"


@dataclass(frozen=True)
class Piece:
    """A text that is returned, with its place."""

    document: str
    spans: tuple[Span, ...]
    tokens: int


Row = Callable[[int], Callable[[int], Sequence[Piece]]]
"""Returns for a question a function that returns the pieces for a budget, so that each question is ranked once."""


@dataclass
class Set:
    """The documents and questions of a set."""

    name: str
    documents: Sequence[Document]
    questions: Sequence[Question]
    embedder: Any
    kinds: Sequence[str] = ()
    indexing: dict[str, float] = field(default_factory=dict)

    @classmethod
    def read(cls, folder: Path, name: str, embedder: Any, every: int) -> Set:
        """Read every so many questions of a set; what a PDF parser wrote of its documents is left out."""
        documents = [document for document in read_corpus(folder / name) if "mineru/" not in document.id]
        path = folder / name / "questions.jsonl"
        questions = read_questions(path, documents)
        lines = [json.loads(line) for line in path.read_text(encoding="utf-8").split("\n") if line.strip()]
        kinds = [line.get("kind", "text") for line in lines]
        return cls(name, documents, questions[::every], embedder, kinds[::every])

    @property
    def language(self) -> str:
        """The code of the language of the set."""
        return self.name.rpartition("/")[2] if self.name.startswith("xquad/") else "en"

    def vector(self, i: int) -> Floats:
        """Return the vector of a question."""
        row: Floats = self.embedder.for_questions().embed([self.questions[i].text])[0]
        return row

    @cached_property
    def texts(self) -> dict[str, str]:
        """The texts of the documents by name."""
        return {document.id: document.text for document in self.documents}

    def shared_words(self, question: Question) -> float:
        """Return the share of the words of a question that are in the sentences of its answer."""
        asked, terms = query_terms(question.text).keys(), set[str]()
        for name, (start, end) in question.references:
            edges = sentences(self.texts[name], language=self.language).edges
            first, last = edges[edges <= start][-1], edges[edges >= end][0]
            terms.update(term_counts(self.texts[name][first:last])[0])
        return len(asked & terms) / max(len(asked), 1)


def pieces_of(passages: Sequence[Any]) -> list[Piece]:
    """Return passages as pieces."""
    return [Piece(p.document, p.spans, p.tokens) for p in passages]


def scores(pieces: Sequence[Piece], question: Question) -> tuple[float, float, float, float, float]:
    """Return recall, precision, IoU, the number of pieces, and their tokens."""
    answers = defaultdict[str, list[Span]](list)
    for name, span in question.references:
        answers[name].append(span)
    references = {name: _union(spans) for name, spans in answers.items()}
    returned = defaultdict[str, list[Span]](list)
    for piece in pieces:
        returned[piece.document] += piece.spans
    length = sum(span.end - span.start for piece in pieces for span in piece.spans)
    hit = sum(
        max(0, min(a.end, b.end) - max(a.start, b.start))
        for name, spans in references.items()
        for a in spans
        for b in _union(returned[name])
    )
    total = sum(span.end - span.start for spans in references.values() for span in spans)
    tokens = sum(piece.tokens for piece in pieces)
    return hit / total, hit / max(length, 1), hit / (length + total - hit), len(pieces), tokens


def _union(spans: Sequence[Span]) -> list[Span]:
    merged = list[Span]()
    for start, end in sorted(spans):
        if merged and start <= merged[-1].end:
            merged[-1] = Span(merged[-1].start, max(end, merged[-1].end))
        else:
            merged.append(Span(start, end))
    return merged


def fill(ranked: Iterable[Piece], budget: int) -> list[Piece]:
    """Return the first pieces that fit into a budget, without those that do not fit, up to twenty in a row."""
    taken, room, refused = list[Piece](), budget, 0
    for piece in ranked:
        if piece.tokens <= room:
            taken.append(piece)
            room, refused = room - piece.tokens, 0
        elif (refused := refused + 1) == 20:
            break
    return taken


# An index of ours.


def retriever_of(data: Set, size: int = SIZE, cutter: PassageCutter | None = None, **chunking: Any) -> Retriever:
    """Return the index of chunks of a size."""
    chunker = RecursiveChunker(max_tokens=size, language=data.language, embedder=data.embedder, **chunking)
    groups = chunker.chunk_many(data.documents)
    by_name = {document.id: group for document, group in zip(data.documents, groups, strict=True)}
    return Retriever(by_name, embedder=data.embedder, language=data.language, cutter=cutter)


def index_rows(data: Set) -> dict[str, Row]:
    """Return the rows of chunks of fixed sizes, and of question time."""
    retrievers = dict[int, Retriever]()
    for size in SIZES:
        start = time.perf_counter()
        retrievers[size] = retriever_of(data, size)
        data.indexing[f"chunks of {size}"] = time.perf_counter() - start
    data.indexing[FUSED] = sum(data.indexing.values())
    data.indexing[QUESTION_TIME] = data.indexing[f"chunks of {SIZE}"]

    def ranked(size: int, i: int) -> list[Hit]:
        return retrievers[size].search(data.questions[i].text, DEPTH)

    def assembled(hits: Sequence[Hit]) -> Callable[[int], Sequence[Piece]]:
        return lambda budget: pieces_of(assemble_passages(hits, budget, data.embedder.counter))

    def fused(i: int) -> list[Hit]:
        """Rank the chunks of 130 by the sum of 1 / (60 + rank) of the best chunk of each size that overlaps them."""
        own, totals = ranked(SIZE, i), defaultdict[str, float](float)
        for size in SIZES:
            best = dict[str, float]()
            for rank, other in enumerate(ranked(size, i)):
                for hit in own:
                    overlaps = hit.chunk.start < other.chunk.end and other.chunk.start < hit.chunk.end
                    if hit.document == other.document and overlaps:
                        best.setdefault(hit.chunk.id, 1 / (60 + rank))
            for key, value in best.items():
                totals[key] += value
        hits = [replace(hit, score=totals[hit.chunk.id]) for hit in own]
        return sorted(hits, key=lambda hit: -hit.score)

    rows: dict[str, Row] = {
        f"chunks of {size}": (lambda i, size=size: assembled(ranked(size, i)))  # type: ignore[misc]
        for size in SIZES
    }
    rows[FUSED] = lambda i: assembled(fused(i))
    rows[QUESTION_TIME] = lambda i: lambda budget: pieces_of(retrievers[SIZE].passages(data.questions[i].text, budget))
    return rows


# Hits of a store.


class Store:
    """The chunks of LangChain's splitter with their vectors, and the first hits of each question."""

    def __init__(self, data: Set) -> None:
        from langchain_text_splitters import RecursiveCharacterTextSplitter

        begin = time.perf_counter()
        splitter = RecursiveCharacterTextSplitter(chunk_size=CHARACTERS, chunk_overlap=0, add_start_index=True)
        chunks, self.names = list[Chunk](), list[str]()
        for document in data.documents:
            for part in splitter.create_documents([document.text]):
                start = part.metadata["start_index"]
                chunks.append(Chunk(part.page_content, (Span(start, start + len(part.page_content)),), 0))
                self.names.append(document.id)
        self.data, self.chunks = data, count_tokens(chunks, data.embedder.counter)
        self.positions = ChunkPositions.of(self.chunks, self.names)
        self.vectors = VectorIndex([row[None] for row in data.embedder.embed([chunk.text for chunk in chunks])])
        self.seconds = time.perf_counter() - begin

    def ranking(self, i: int) -> Ranking:
        """Return the first hits of a question by vectors."""
        return self.vectors.search(self.data.vector(i), HITS)

    def hits(self, ranking: Ranking) -> list[Hit]:
        """Return the chunks of a ranking."""
        pairs = zip(ranking.chunks.tolist(), ranking.scores.tolist(), strict=True)
        return [Hit(self.chunks[i], self.names[i], score) for i, score in pairs]

    def by_words(self, i: int) -> Ranking:
        """Rank the hits of a question by BM25."""
        numbers = np.sort(self.ranking(i).chunks)
        words = LexicalIndex([self.chunks[n].text for n in numbers.tolist()])
        ranking = Ranking.from_scores(words.scores(self.data.questions[i].text))
        return Ranking(numbers[ranking.chunks], ranking.scores)

    def expanded(self, i: int) -> list[Hit]:
        """Return hits with the chunk on either side of each right after it."""
        hits, seen, ranking = list[Hit](), set[int](), self.ranking(i)
        for n, score in zip(ranking.chunks.tolist(), ranking.scores.tolist(), strict=True):
            for other in (n, n - 1, n + 1):
                if 0 <= other < len(self.chunks) and self.names[other] == self.names[n] and other not in seen:
                    seen.add(other)
                    hits.append(Hit(self.chunks[other], self.names[other], score))
        return hits

    def sentences(self, i: int) -> list[Hit]:
        """Return the sentences of the hits of a question, unranked."""
        parts = list[Hit]()
        for hit in self.hits(self.ranking(i)):
            edges = sentences(hit.chunk.text, language=self.data.language).edges + hit.chunk.start
            text = self.data.texts[hit.document]
            spans = [Span(a, b) for a, b in zip(edges[:-1].tolist(), edges[1:].tolist(), strict=True)]
            parts += [Hit(Chunk(text[slice(*span)], (span,), 0), hit.document, 0.0) for span in spans]
        chunks = count_tokens([part.chunk for part in parts], self.data.embedder.counter)
        return [Hit(chunk, part.document, 0.0) for chunk, part in zip(chunks, parts, strict=True)]


def store_rows(data: Set) -> dict[str, Row]:
    """Return the rows of what is done with the hits of a store."""
    store, counter = Store(data), data.embedder.counter

    def assembled(hits: Callable[[int], list[Hit]]) -> Row:
        def row(i: int) -> Callable[[int], Sequence[Piece]]:
            own = hits(i)
            return lambda budget: pieces_of(assemble_passages(own, budget, counter))

        return row

    def by_cosine(i: int) -> list[Hit]:
        parts = store.sentences(i)
        scores = data.embedder.embed([part.chunk.text for part in parts]) @ data.vector(i)
        return [Hit(parts[n].chunk, parts[n].document, float(scores[n])) for n in np.argsort(-scores, kind="stable")]

    def by_bm25(i: int) -> list[Hit]:
        parts = store.sentences(i)
        scores = LexicalIndex(part.chunk.text for part in parts).scores(data.questions[i].text)
        return [Hit(parts[n].chunk, parts[n].document, float(scores[n])) for n in np.argsort(-scores, kind="stable")]

    def seeds(i: int) -> list[Hit]:
        """Return the best sentences by cosine, each followed by two on either side."""
        parts = store.sentences(i)
        scores = data.embedder.embed([part.chunk.text for part in parts]) @ data.vector(i)
        ranked, seen = list[Hit](), set[int]()
        for n in np.argsort(-scores, kind="stable").tolist():
            for other in (n, n - 1, n + 1, n - 2, n + 2):
                near = 0 <= other < len(parts) and parts[other].document == parts[n].document
                if near and other not in seen and abs(parts[other].chunk.start - parts[n].chunk.start) < CHARACTERS:
                    seen.add(other)
                    ranked.append(Hit(parts[other].chunk, parts[other].document, float(scores[n])))
        return ranked

    rows = {
        AS_IS: assembled(lambda i: store.hits(store.ranking(i))),
        "re-ranked by words": assembled(lambda i: store.hits(store.by_words(i))),
        "and by neighbors among them": assembled(
            lambda i: store.hits(rerank_by_neighbors(store.by_words(i), store.positions, hits_only=True))
        ),
        "with the chunk on either side": assembled(store.expanded),
        "sentences by cosine": assembled(by_cosine),
        "LangChain EmbeddingsFilter": _embeddings_filter(store),
        "LlamaIndex SentenceEmbeddingOptimizer": _sentence_optimizer(store),
        "trimwise": _trimwise(store),
        "sentences by BM25": assembled(by_bm25),
        "best sentences and two on either side": assembled(seeds),
        CUT: _cut(store, None),
        CUT_WITH_TEXTS: _cut(store, data.texts),
    }
    data.indexing.update(dict.fromkeys(rows, store.seconds))
    return rows


def _cut(store: Store, texts: Mapping[str, str] | None) -> Row:
    """Return the hits, cut again, with what stands around them in the texts."""
    cutter = PassageCutter(language=store.data.language, tokenizer=store.data.embedder.counter)

    def row(i: int) -> Callable[[int], Sequence[Piece]]:
        question, hits = store.data.questions[i].text, store.hits(store.ranking(i))
        return lambda budget: pieces_of(cutter.cut(question, hits, budget, texts=texts))

    return row


def _embeddings_filter(store: Store) -> Row:
    """Return LangChain's pipeline: the hits, split at sentences of about 300 characters, by the cosine of each
    piece.
    """
    from langchain_classic.retrievers.document_compressors import DocumentCompressorPipeline, EmbeddingsFilter
    from langchain_core.documents import Document as LangChainDocument
    from langchain_core.embeddings import Embeddings
    from langchain_text_splitters import RecursiveCharacterTextSplitter

    embedder, data = store.data.embedder, store.data

    class Model(Embeddings):
        def embed_documents(self, texts: list[str]) -> Any:
            return embedder.embed(texts)

        def embed_query(self, text: str) -> Any:
            return embedder.for_questions().embed([text])[0]

    splitter = RecursiveCharacterTextSplitter(
        chunk_size=300, chunk_overlap=0, separators=["\n\n", "\n", ". ", " ", ""], keep_separator="end"
    )
    chain = DocumentCompressorPipeline(transformers=[splitter, EmbeddingsFilter(embeddings=Model(), k=10_000)])

    def row(i: int) -> Callable[[int], Sequence[Piece]]:
        hits = store.hits(store.ranking(i))
        documents = [
            LangChainDocument(hit.chunk.text, metadata={"name": hit.document, "start": hit.chunk.start}) for hit in hits
        ]
        parts: list[Any] = list(chain.compress_documents(documents, data.questions[i].text))
        parts.sort(key=lambda part: -part.state["query_similarity_score"])
        texts = [(part.metadata["name"], part.metadata["start"], part.page_content) for part in parts]
        pieces = [*_located(texts, data)]
        return lambda budget: fill(pieces, budget)

    return row


def _sentence_optimizer(store: Store) -> Row:
    """Return LlamaIndex's postprocessor: the best half of the sentences of each hit, in the order of the hits."""
    from llama_index.core.embeddings import BaseEmbedding
    from llama_index.core.postprocessor import SentenceEmbeddingOptimizer
    from llama_index.core.schema import NodeWithScore, QueryBundle, TextNode

    embedder, data = store.data.embedder, store.data

    class Model(BaseEmbedding):
        def _get_query_embedding(self, query: str) -> Any:
            return embedder.for_questions().embed([query])[0].tolist()

        async def _aget_query_embedding(self, query: str) -> Any:
            return self._get_query_embedding(query)

        def _get_text_embedding(self, text: str) -> Any:
            return embedder.embed([text])[0].tolist()

        def _get_text_embeddings(self, texts: list[str]) -> Any:
            return embedder.embed(texts).tolist()

    optimizer = SentenceEmbeddingOptimizer(
        embed_model=Model(),
        percentile_cutoff=0.5,
        context_before=0,
        context_after=0,
        tokenizer_fn=lambda text: sentences(text, language=data.language).strings(),
    )

    def row(i: int) -> Callable[[int], Sequence[Piece]]:
        parts = list[tuple[str, int, str]]()
        for hit in store.hits(store.ranking(i)):
            own = sentences(hit.chunk.text, language=data.language).strings()
            node = NodeWithScore(node=TextNode(text=hit.chunk.text), score=hit.score)
            try:
                (kept,) = optimizer.postprocess_nodes([node], query_bundle=QueryBundle(data.questions[i].text))
            except ValueError:  # "Optimizer returned zero sentences", for a node of one
                kept = NodeWithScore(node=TextNode(text=hit.chunk.text))
            text = kept.node.get_content()
            parts += [(hit.document, hit.chunk.start, part) for part in own if part in text]
        pieces = [*_located(parts, data)]
        return lambda budget: fill(pieces, budget)

    return row


def _trimwise(store: Store) -> Row:
    """Return the hits, trimmed to one budget by trimwise as it is without a model, which ranks by tokens of tiktoken.

    The tokens are those of cl100k_base, which LlamaIndex brings, in place of o200k_base, which is a download.
    """
    import llama_index.core
    from trimwise import TrimConfig, Trimmer

    os.environ["TIKTOKEN_CACHE_DIR"] = str(Path(llama_index.core.__file__).parent / "_static" / "tiktoken_cache")
    trimmer, counter = Trimmer(TrimConfig(token_encoding="cl100k_base")), store.data.embedder.counter

    def row(i: int) -> Callable[[int], Sequence[Piece]]:
        question, hits = store.data.questions[i].text, store.hits(store.ranking(i))
        texts = [hit.chunk.text for hit in hits]

        def pieces(budget: int) -> list[Piece]:
            trimmed = trimmer.trim_context(texts, budget, query=question, token_counter=counter)
            kept = ((hits[part.source_index], part) for part in trimmed.sources if part.spans)
            return [
                Piece(hit.document, tuple(_shifted(part.spans, hit.chunk.start)), part.output_count)
                for hit, part in kept
            ]

        return pieces

    return row


def _shifted(spans: Iterable[Any], start: int) -> Iterator[Span]:
    return (Span(start + span.start, start + span.end) for span in spans)


def _located(parts: Iterable[tuple[str, int, str]], data: Set) -> Iterator[Piece]:
    """Yield parts of hits at their places: name, start of the hit, text of the part."""
    for name, start, text in parts:
        at = data.texts[name].find(text, start)
        spans = (Span(at, at + len(text)),) if at >= 0 else ()
        yield Piece(name, spans, int(data.embedder.counter(text)))


# Passages that answer, and a model beside the words.


def coverage_row(data: Set) -> list[Any]:
    """Return the AUROC of a set, and the percentages of questions of which a passage is kept, with the documents that
    answer and without them.
    """
    retriever, cutter, best = retriever_of(data), PassageCutter(tokenizer=data.embedder.counter), list[list[float]]()
    for question in data.questions:
        hits, answering = retriever.search(question.text, 2 * DEPTH), {name for name, _ in question.references}
        others = [hit for hit in hits if hit.document not in answering]
        cuts = [cutter.cut(question.text, own[:DEPTH], BUDGET) for own in (hits, others)]
        best.append([max((passage.coverage for passage in passages), default=0.0) for passages in cuts])
    there, absent = np.array(best).T
    area = (there[:, None] > absent).mean() + (there[:, None] == absent).mean() / 2
    pairs = [(there >= least, absent >= least) for least in LEAST]
    cells = (f"{100 * own.mean():.0f} / {100 * other.mean():.0f}" for own, other in pairs)
    return [data.name, len(data.questions), f"{area:.3f}", *cells]


def scorer_rows(sets: Sequence[Set], scorer: Any = None, vectors: Vectors = "none") -> list[list[Any]]:
    """Return the recall by words alone, and what a scorer, or the vectors of the index, add: to all questions of each
    set, and of all, and to each third by `Set.shared_words`.
    """
    parts = list[list[Floats]]()  # words alone, and both: (2, questions) each
    for data in sets:
        cutters = [PassageCutter(scorer_weight=0.0), PassageCutter(scorer=scorer)]
        recalls = [
            [100 * scores(pieces_of(retriever.passages(asked.text, 200)), asked)[0] for asked in data.questions]
            for retriever in [retriever_of(data, cutter=cutter, vectors=vectors) for cutter in cutters]
        ]
        order = np.argsort([data.shared_words(question) for question in data.questions], kind="stable")
        parts.append([np.array(recalls)[:, own] for own in (order, *np.array_split(order, 3))])
    parts.append([np.concatenate(own, axis=1) for own in zip(*parts, strict=True)])
    return [
        [name, own[0].shape[1], f"{own[0][0].mean():.1f}", *(difference(both, words) for words, both in own)]
        for name, own in zip([*(data.name for data in sets), "**all**"], parts, strict=True)
    ]


PARTS: Mapping[str, Callable[[Set], dict[str, Row]]] = {"index": index_rows, "store": store_rows}


# Tables.


@dataclass(frozen=True)
class Scores:
    """The scores of one row on one set: (questions, budgets, 5), seconds of each question, and of indexing a
    megabyte.
    """

    values: Floats
    seconds: Floats
    indexing: float

    def of(self, budget: int, column: int = 0) -> Floats:
        """Return one score of each question."""
        own: Floats = self.values[:, BUDGETS.index(budget), column]
        return own


Results = Mapping[str, Mapping[str, Scores]]
"""Scores by set and row."""


def measure(folder: Path, name: str, part: str, embedder: str | None, every: int) -> dict[str, Scores]:
    """Return the scores of all rows of a part on a set."""
    data = Set.read(folder, name, as_embedder(embedder), every)
    megabytes = sum(len(text.encode()) for text in data.texts.values()) / 1e6
    results = dict[str, Scores]()
    for label, row in PARTS[part](data).items():
        values, seconds = list[list[tuple[float, ...]]](), list[float]()
        for i, question in enumerate(data.questions):
            start = time.perf_counter()
            answer = row(i)
            answer(BUDGET)
            seconds.append(time.perf_counter() - start)
            values.append([scores(answer(budget), question) for budget in BUDGETS])
        results[label] = own = Scores(np.array(values), np.array(seconds), data.indexing[label] / megabytes)
        print(name, label, np.round(100 * own.values[:, :, 0].mean(axis=0), 1), file=sys.stderr, flush=True)
    return results


def kept(store: Path | None, *job: Any) -> dict[str, Scores]:
    """Return what `measure` returns, which a store keeps for the next call."""
    _, name, part, *_ = job
    path = store and store / f"{part}-{name.replace('/', '-')}.pickle"
    if path and path.exists():
        own: dict[str, Scores] = pickle.loads(path.read_bytes())
        return own
    own = measure(*job)
    if path:
        path.write_bytes(pickle.dumps(own))
    return own


def with_best(results: dict[str, Scores]) -> dict[str, Scores]:
    """Return the results with the best fixed size for each budget, chosen afterwards."""
    sizes = [results[f"chunks of {size}"] for size in SIZES]
    best = [max(sizes, key=lambda own: own.of(budget).mean()) for budget in BUDGETS]
    values = np.stack([own.values[:, n] for n, own in enumerate(best)], axis=1)
    return {**results, BEST: replace(best[BUDGETS.index(BUDGET)], values=values)}


def table(title: str, results: Results, ours: str) -> str:
    """Return for each budget the recall of each row, and the difference of ours to it, bold if its interval excludes
    0.
    """
    lines = list[str]()
    names = list(results)
    for budget in BUDGETS:
        lines += [
            f"\n## {title} in {budget:,} tokens\n",
            f"| | {' | '.join(names)} |",
            "| --- " * (len(names) + 1) + "|",
        ]
        for label in next(iter(results.values())):
            cells = list[str]()
            for name in names:
                own, reference = results[name][label].of(budget), results[name][ours].of(budget)
                cell = f"{100 * own.mean():.1f}"
                if label != ours:
                    mean, low, high, _ = paired_difference(reference, own, resamples=1999)
                    difference = f"{100 * mean:+.1f}"
                    cell += f" ({f'**{difference}**' if low > 0 or high < 0 else difference})"
                cells.append(cell)
            lines.append(f"| {f'**{label}**' if label == ours else label} | {' | '.join(cells)} |")
    return "\n".join(lines)


def kinds_table(kinds: Mapping[str, Sequence[str]], results: Results, budget: int = 500) -> str:
    """Return the recall by the kind of the question."""
    lines = [
        f"## By kind of question in {budget} tokens\n",
        "| set | kind | questions | best fixed size | question time |",
    ]
    lines.append("| --- " * 5 + "|")
    for name, of_questions in kinds.items():
        if len(set(of_questions)) > 1:
            for kind in sorted(set(of_questions)):
                own = np.array([k == kind for k in of_questions])
                best, ours = (100 * results[name][label].of(budget)[own].mean() for label in (BEST, QUESTION_TIME))
                lines.append(f"| {name} | {kind} | {own.sum()} | {best:.1f} | {ours:.1f} |")
    return "\n".join(lines)


def cost_table(results: Results) -> str:
    """Return recall, the time of a question, and that of indexing: means over the sets, of medians over questions."""
    lines = ["## Cost\n", "| | recall in 200 tokens | in 1,000 | ms a question | indexing, s/MB |", "| --- " * 5 + "|"]
    for label in next(iter(results.values())):
        rows = [own[label] for own in results.values()]
        few, many = (100 * np.mean([row.of(budget).mean() for row in rows]) for budget in (200, BUDGET))
        milliseconds = 1e3 * np.mean([np.median(row.seconds) for row in rows])
        lines.append(
            f"| {label} | {few:.1f} | {many:.1f} | {milliseconds:.1f} | {np.mean([row.indexing for row in rows]):.2f} |"
        )
    return "\n".join(lines)


def main() -> None:
    """Run, compare, and print."""
    parser = argument_parser(__doc__)
    parser.add_argument("--sets", nargs="+", default=list(SETS))
    parser.add_argument("--embedder", help="minilm, or a model name; by default the embedded one")
    parser.add_argument(
        "--only", nargs="+", choices=("index", "store", "coverage", "scorer", "units"), default=[*PARTS]
    )
    parser.add_argument("--scorer", default="minilm", help="an embedder beside the words")
    parser.add_argument("--store", type=Path, help="folder for scores, to resume from")
    parser.add_argument("--every", type=int, default=1, help="use every so many questions")
    parser.add_argument("--processes", type=int, default=1)
    args = parser.parse_args()
    if args.store:
        args.store.mkdir(parents=True, exist_ok=True)
    every = {name: args.every * EVERY.get(name, 1) for name in args.sets}
    scored = "words alone", "all questions", "that share fewest words", "the middle third", "that share most"
    extra: dict[str, tuple[Callable[[Sequence[Set]], list[list[Any]]], Sequence[Any]]] = {
        "coverage": (lambda sets: list(map(coverage_row, sets)), ("AUROC", *LEAST)),
        "scorer": (lambda sets: scorer_rows(sets, scorer=with_cache(as_embedder(args.scorer), {})), scored),
        "units": (partial(scorer_rows, vectors="units"), scored),
    }
    for of, (rows, head) in extra.items():
        if of in args.only:
            embedder = with_cache(as_embedder(args.embedder), {})  # as a set is indexed twice
            sets = [Set.read(args.data, name, embedder, every[name]) for name in args.sets]
            print(f"## {of}\n\n{markdown(('set', 'questions', *head), rows(sets))}", flush=True)
    jobs = [
        (args.data, name, part, args.embedder, every[name]) for part in PARTS if part in args.only for name in args.sets
    ]
    with ProcessPoolExecutor(args.processes, mp_context=multiprocessing.get_context("spawn")) as pool:
        measured = dict(zip(jobs, pool.map(partial(kept, args.store), *zip(*jobs, strict=True)), strict=True))
    results = {part: {name: own for (_, name, of, *_), own in measured.items() if of == part} for part in PARTS}
    if index := {name: with_best(own) for name, own in results["index"].items()}:
        kinds = {name: Set.read(args.data, name, None, every[name]).kinds for name in args.sets}
        print(table("An index of ours", index, QUESTION_TIME), kinds_table(kinds, index), sep="\n\n")
    if store := results["store"]:
        print(table("Hits of a store", store, CUT_WITH_TEXTS))
    if measured:
        print(cost_table({name: index.get(name, {}) | store.get(name, {}) for name in args.sets}))


if __name__ == "__main__":
    main()
