"""Measure whether questions about the rows of CSV files, and about the same records in JSON, find them. See STRUCTURE.md.

python benchmarks/records.py --data DIR [--forms csv json jsonl] [--only recursive ...] [--questions 100]

DIR holds CSV files, also in folders. Those of 30 to 4,000 rows with a column of names take part; a question asks for
the value of another column of a row, which it names by a name that no other row of any file has. Prints JSON lines.
"""

from __future__ import annotations

import csv
import json
import random
import re
import sys
from collections import Counter
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import replace
from functools import partial
from itertools import accumulate
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import Any, NamedTuple, TypeAlias

from runner import argument_parser

from advchunk import Chunk, create
from advchunk.chunkers.sources import chunk_files
from advchunk.models.counters import as_counter
from advchunk.records import Span, with_context
from advchunk.retrieval import Retriever
from tables import BUDGET, DEPTH, PEERS

Json: TypeAlias = dict[str, Any]
Split: TypeAlias = Callable[[Path], Iterable[tuple[str, Sequence[Chunk]]]]
"""Returns the documents in a file, each by its name with its chunks."""

SIZE = 1000  # characters
ROWS = range(30, 4001)
NAMES = 0.95  # of the values of a column of names have at least four letters, and are unique in it
GAP = 12  # words that may stand between two values of a record: names of columns, and punctuation
FORMS = ("csv", "json", "jsonl")
OURS = ("auto", "recursive", "mst-semantic", "optimal-semantic")
CUT = "recursive, cut at the question"
WORD = re.compile(r"[^\W_]+")


class Table(NamedTuple):
    """A table with the place of its column of names."""

    path: Path
    head: list[str]
    rows: list[list[str]]
    key: int


class Question(NamedTuple):
    """A question with the values of its row, and the name of the column that it asks for."""

    text: str
    values: list[str]
    column: str


def read_tables(folder: Path) -> Iterator[Table]:
    """Yield the tables that take part."""
    for path in sorted(folder.rglob("*.csv")):
        try:
            rows = list(csv.reader(path.read_text("utf-8").splitlines(keepends=True)))
        except ValueError:  # other encodings
            continue
        head, rows = rows[0] if rows else [], rows[1:]
        rows = [row for row in rows if len(row) == len(head)]
        columns = [[row[place] for row in rows] for place in range(len(head))]
        keys = [place for place, values in enumerate(columns) if _names(values)]
        if len(rows) in ROWS and keys and sum(len(name) > 2 for name in head) > 2:
            yield Table(path, head, rows, keys[0])


def _names(values: Sequence[str]) -> bool:
    named = sum(sum(map(str.isalpha, value)) >= 4 for value in values)
    return min(named, len(set(values))) >= NAMES * len(values)


def ask(tables: Sequence[Table], most: int) -> list[Question]:
    """Return questions about all tables by turns, of rows and columns drawn at random."""
    chance = random.Random(0)
    seen = Counter(" ".join(words(value)) for table in tables for row in table.rows for value in row)
    drawn = [chance.sample(table.rows, len(table.rows)) for table in tables]
    questions = list[Question]()
    for turn in range(max(ROWS)):
        for table, rows in zip(tables, drawn, strict=True):
            row = rows[turn] if turn < len(rows) else []
            if not row or seen[" ".join(words(row[table.key]))] > 1:
                continue
            asked = [
                i for i, name in enumerate(table.head) if i != table.key and len(name) > 2 and row[i] not in ("", "NA")
            ]
            if asked and len(questions) < most:
                column = table.head[chance.choice(asked)]
                questions.append(Question(f"What is the {column} of {row[table.key]}?", row, column))
    return questions


def write_form(table: Table, form: str, folder: Path) -> Path:
    """Write a table in a form, as common programs do, and return its path."""
    path = folder / f"{table.path.stem}.{form}"
    records = [
        {name or "row": _number(value) for name, value in zip(table.head, row, strict=True)} for row in table.rows
    ]
    if form == "csv":
        path.write_bytes(table.path.read_bytes())
    elif form == "json":
        path.write_text(json.dumps(records, indent=2, ensure_ascii=False), "utf-8")
    else:
        path.write_text("".join(json.dumps(record, ensure_ascii=False) + "\n" for record in records), "utf-8")
    return path


def _number(value: str) -> Any:
    try:
        number = json.loads(value)
    except ValueError:
        return value
    return number if str(number) == value and not isinstance(number, list | dict) else value


def words(text: str) -> list[str]:
    """Return the words of a text in lower case.

    >>> words('"Make": "Acura-Integra", 15.9')
    ['make', 'acura', 'integra', '15', '9']
    """
    return WORD.findall(text.casefold())


def has_record(text: str, values: Sequence[str]) -> bool:
    """Return whether all values of a row are in a text in their order, with little between them.

    >>> has_record("make: Acura, price: 15.9", ["Acura", "15.9"]), has_record("Acura, 12.9", ["Acura", "15.9"])
    (True, False)
    """
    return in_order(words(" ".join(values)), words(text))


def in_order(sought: Sequence[str], present: Sequence[str]) -> bool:
    """Return whether words are among others in their order, with little between them."""
    if not set(sought) <= set(present):
        return False
    for start in (place for place, word in enumerate(present) if word == sought[0]):
        place = start
        for word in sought[1:]:
            try:
                place = present.index(word, place + 1, place + 2 + GAP)
            except ValueError:
                break
        else:
            return True
    return False


# Chunks of files.


def ours(name: str) -> Split:
    """Return one of our chunkers behind our readers."""
    chunker = create(name, max_tokens=SIZE, tokenizer="characters")

    def split(path: Path) -> Iterator[tuple[str, Sequence[Chunk]]]:
        for document, chunks in chunk_files(path, chunker, on_error="raise"):
            yield document.id, chunks

    return split


def plain(split: Callable[[Path], Iterable[str]]) -> Split:
    """Return the chunks of texts; their places only order them."""

    def chunks(path: Path) -> Iterator[tuple[str, Sequence[Chunk]]]:
        texts = list(split(path))
        edges = [0, *accumulate(map(len, texts))]
        yield (
            path.name,
            [
                Chunk(text, (Span(at, at + len(text)),), 0, i)
                for i, (at, text) in enumerate(zip(edges[:-1], texts, strict=True))
            ],
        )

    return chunks


def _split_text(name: str, text: str) -> Iterator[str]:
    return (piece for _, piece in PEERS[name](SIZE)(text))


def _as_text(name: str) -> Split:
    return plain(lambda path: _split_text(name, path.read_text("utf-8")))


def _markitdown(name: str) -> Split:
    from markitdown import MarkItDown

    return plain(lambda path: _split_text(name, MarkItDown().convert_local(path).markdown))


def _langchain_loader(name: str, **params: Any) -> Split:
    from langchain_community import document_loaders
    from langchain_text_splitters import RecursiveCharacterTextSplitter

    splitter = RecursiveCharacterTextSplitter(chunk_size=SIZE, chunk_overlap=0)
    loader = getattr(document_loaders, name)
    return plain(
        lambda path: [piece.page_content for piece in splitter.split_documents(loader(str(path), **params).load())]
    )


def _langchain_json(path: Path) -> list[str]:
    from langchain_text_splitters import RecursiveJsonSplitter

    splitter = RecursiveJsonSplitter(max_chunk_size=SIZE)
    return splitter.split_text(json.loads(path.read_text("utf-8")), convert_lists=True)


def _llamaindex_reader(name: str, **params: Any) -> Split:
    from llama_index.core.node_parser import SentenceSplitter
    from llama_index.readers import file

    reader = getattr(file, name)(**params)
    splitter = SentenceSplitter(chunk_size=SIZE, chunk_overlap=0, tokenizer=list, include_metadata=False)
    return plain(lambda path: [node.get_content() for node in splitter(reader.load_data(path))])


def _llamaindex_json(path: Path) -> list[str]:
    from llama_index.core import Document
    from llama_index.core.node_parser import JSONNodeParser, SentenceSplitter

    splitter = SentenceSplitter(chunk_size=SIZE, chunk_overlap=0, tokenizer=list, include_metadata=False)
    nodes = JSONNodeParser()([Document(text=path.read_text("utf-8"))])
    return [text for node in nodes for text in splitter.split_text(node.get_content())]


def _unstructured(path: Path) -> list[str]:
    from unstructured.chunking.title import chunk_by_title
    from unstructured.partition.auto import partition

    chunks = chunk_by_title(partition(str(path)), max_characters=SIZE, new_after_n_chars=SIZE)
    return [chunk.text for chunk in chunks]


TEXT_SPLITTERS = ("LangChain RecursiveCharacterTextSplitter", "LlamaIndex SentenceSplitter", "chonkie RecursiveChunker")
AS_TEXT: Mapping[str, Callable[[], Split]] = {f"text, {name}": partial(_as_text, name) for name in TEXT_SPLITTERS}
MARKITDOWN = {
    f"markitdown, {name}": partial(_markitdown, name)
    for name in ("LangChain MarkdownTextSplitter", "chonkie TableChunker")
}
PIPELINES: Mapping[str, Mapping[str, Callable[[], Split]]] = {
    "csv": {
        "LangChain CSVLoader, RecursiveCharacterTextSplitter": partial(
            _langchain_loader, "CSVLoader", encoding="utf-8"
        ),
        "LlamaIndex CSVReader by row, SentenceSplitter": partial(_llamaindex_reader, "CSVReader", concat_rows=False),
        "LlamaIndex PandasCSVReader, SentenceSplitter": partial(_llamaindex_reader, "PandasCSVReader"),
        "unstructured, chunk_by_title": lambda: plain(_unstructured),
        **MARKITDOWN,
        **AS_TEXT,
    },
    "json": {
        "LangChain JSONLoader, RecursiveCharacterTextSplitter": partial(
            _langchain_loader, "JSONLoader", jq_schema=".[]", text_content=False
        ),
        "LangChain RecursiveJsonSplitter": lambda: plain(_langchain_json),
        "LlamaIndex JSONNodeParser, SentenceSplitter": lambda: plain(_llamaindex_json),
        "unstructured, chunk_by_title": lambda: plain(_unstructured),
        **AS_TEXT,
    },
    "jsonl": {
        "LangChain JSONLoader, RecursiveCharacterTextSplitter": partial(
            _langchain_loader, "JSONLoader", jq_schema=".", text_content=False, json_lines=True
        ),
        **AS_TEXT,
    },
}


# Measurements.


def hits(retriever: Retriever, question: str) -> Iterator[str]:
    """Yield the best chunks up to the budget."""
    room = BUDGET
    for hit in retriever.search(question, DEPTH):
        if hit.chunk.tokens <= room:
            room -= hit.chunk.tokens
            yield hit.chunk.embed_text


def passages(retriever: Retriever, question: str) -> Iterator[str]:
    """Yield passages that are cut from the best chunks, up to the budget."""
    yield from (with_context(passage.context, passage.text) for passage in retriever.passages(question, BUDGET))


def measure(
    paths: Sequence[Path], tables: Sequence[Table], questions: Sequence[Question], split: Split, cut: bool = False
) -> Json:
    """Return how many rows are whole in a chunk, and how many questions find their row, and the name of the column with it.

    Parameters
    ----------
    cut : ask for passages that are cut at the question, instead of chunks.
    """
    counter = as_counter(None)
    chunks, errors, rows, whole = dict[str, list[Chunk]](), list[str](), 0, 0
    for path, table in zip(paths, tables, strict=True):
        try:
            documents = {
                name: [replace(chunk, tokens=counter(chunk.embed_text)) for chunk in own] for name, own in split(path)
            }
        except Exception as error:  # noqa: BLE001 - a library that fails on a file has no chunks of it
            errors.append(f"{path.name}: {type(error).__name__}: {str(error)[:100]}")
            documents = {}
        chunks |= documents
        texts = [chunk.text for own in documents.values() for chunk in own]
        looked_at = table.rows[:: len(table.rows) // 20]
        rows += len(looked_at)
        whole += sum(any(has_record(text, row) for text in texts) for row in looked_at)
    retriever, with_row, with_column = Retriever(chunks), 0, 0
    for question in questions:
        answers = [
            text for text in (passages if cut else hits)(retriever, question.text) if has_record(text, question.values)
        ]
        with_row += bool(answers)
        with_column += any(set(words(question.column)) <= set(words(text)) for text in answers)
    sizes = [chunk.tokens for own in chunks.values() for chunk in own]
    return {
        "rows": rows, "whole": whole, "questions": len(questions), "found": with_row, "with column": with_column,
        "errors": errors, "chunks": len(sizes), "tokens per chunk": round(sum(sizes) / max(len(sizes), 1)),
    }  # fmt: skip


def main() -> None:
    """Measure and print."""
    parser = argument_parser(__doc__)
    parser.add_argument("--forms", nargs="+", default=FORMS, choices=FORMS)
    parser.add_argument("--only", nargs="+", help="names of chunkers, or beginnings of names of pipelines")
    parser.add_argument("--questions", type=int, default=100)
    args = parser.parse_args()
    tables = list(read_tables(args.data))
    if not tables:
        sys.exit(f"No table takes part in {args.data}.")
    questions = ask(tables, args.questions)
    for form in args.forms:
        pipelines: dict[str, Callable[[], Split]] = {
            **{name: partial(ours, name) for name in OURS},
            CUT: partial(ours, "recursive"),
            **PIPELINES[form],
        }
        with TemporaryDirectory() as folder:
            paths = [write_form(table, form, Path(folder)) for table in tables]
            for name, make in pipelines.items():
                if args.only is None or name.startswith(tuple(args.only)):
                    row: dict[str, object] = {"form": form, "chunker": name, "files": len(tables)}
                    try:
                        row |= measure(paths, tables, questions, make(), name == CUT)
                    except ImportError as error:
                        row["error"] = str(error)
                    print(json.dumps(row), flush=True)


if __name__ == "__main__":
    main()
