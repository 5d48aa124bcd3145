"""Measure whether tables and formulas stay whole in chunks. See STRUCTURE.md.

python benchmarks/tables.py --data DIR [--forms clean mineru] [--chunkers recursive ...] [--most 60000]

DIR holds folders of Markdown documents, each with `mineru/`, the same documents as a parser of PDFs wrote them. Prints
JSON.
"""

from __future__ import annotations

import argparse
import json
import re
import sys
import time
from collections import Counter
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from functools import partial
from itertools import pairwise
from pathlib import Path
from typing import Any, NamedTuple, TypeAlias, cast

import peers as others

from advchunk import create
from advchunk.records import Span, with_context

Json: TypeAlias = dict[str, Any]
Splitter: TypeAlias = Callable[[str], Iterable[tuple[str, str]]]
"""Returns the context and the text of each chunk."""

FORMS = ("clean", "mineru")
SIZES = (500, 1000, 2000)  # characters
OURS = ("recursive", "semantic-threshold", "universal-semantic", "optimal-semantic", "mst-semantic")


# An independent scanner of tables and formulas.


class Piece(NamedTuple):
    """A table or formula, with its rows; the first is its head."""

    kind: str
    span: Span
    rows: tuple[Span, ...] = ()


HTML = re.compile(r"<(/?)(table|tr)\b[^>]*>", re.IGNORECASE)
TABULAR = re.compile(r"\\(begin|end)\{(?:tabular[xy*]?|longtable\*?)\}")
ROW_END = re.compile(r"\\\\(?:\[[^\]]{0,20}\])?")
PIPES = re.compile(r"^\|.*\|[ \t]*\n\|[ :|-]+\|[ \t]*(?:\n\|.*\|[ \t]*)+", re.MULTILINE)
DISPLAY = re.compile(r"\$\$(?:[^$]|\\\$){1,5000}?\$\$|\\\[(?:(?!\\\]).){1,5000}?\\\]", re.DOTALL)
EQUATION = re.compile(r"\\(begin|end)\{(?:align|equation|gather|multline|eqnarray|alignat)\*?\}")
LETTERS = re.compile(r"[^\W_]+")


def scan(text: str) -> list[Piece]:
    """Return the tables of a text, and the formulas outside them.

    >>> [(piece.kind, len(piece.rows)) for piece in scan("<table><tr><td>a</td></tr><tr><td>1</td></tr></table> $$x$$")]
    [('table', 2), ('formula', 0)]
    """
    tables = [*_html_tables(text), *_latex_tables(text)]
    tables += [Piece("table", Span(*match.span()), tuple(_lines(match))) for match in PIPES.finditer(text)]
    tables = _outermost(tables)
    formulas = [
        Piece("formula", span)
        for span in (*_environments(text, EQUATION), *(Span(*match.span()) for match in DISPLAY.finditer(text)))
    ]
    return _outermost([*tables, *formulas])


def _outermost(pieces: Iterable[Piece]) -> list[Piece]:
    kept, end = list[Piece](), 0
    for piece in sorted(pieces, key=lambda piece: (piece.span.start, -piece.span.end)):
        if piece.span.start >= end:
            kept.append(piece)
            end = piece.span.end
    return kept


def _html_tables(text: str) -> Iterator[Piece]:
    depth, start, rows, row = 0, 0, list[Span](), -1
    for match in HTML.finditer(text):
        is_end, name = bool(match[1]), match[2].lower()
        if name == "table":
            depth += -1 if is_end else 1
            if not is_end and depth == 1:
                start, rows, row = match.start(), [], -1
            if is_end and depth == 0:
                yield Piece("table", Span(start, match.end()), tuple(rows))
            depth = max(depth, 0)
        elif depth == 1:
            if is_end and row >= 0:
                rows.append(Span(row, match.end()))
            row = -1 if is_end else match.start()


def _environments(text: str, pattern: re.Pattern[str]) -> Iterator[Span]:
    depth, start = 0, 0
    for match in pattern.finditer(text):
        start = match.start() if depth == 0 else start
        if depth == 1 and match[1] == "end":
            yield Span(start, match.end())
        depth = max(depth + (1 if match[1] == "begin" else -1), 0)


def _latex_tables(text: str) -> Iterator[Piece]:
    for span in _environments(text, TABULAR):
        body = text[slice(*span)]
        first = body.find("\n") + 1 or len(TABULAR.match(body)[0])  # type: ignore[index]  # it starts there
        ends = [first, *(match.end() for match in ROW_END.finditer(body, first))]
        rows = (Span(span.start + a, span.start + b) for a, b in pairwise(ends))
        yield Piece("table", span, tuple(row for row in rows if words(_content(text[slice(*row)]))))


def _lines(match: re.Match[str]) -> Iterator[Span]:
    at = match.start()
    for number, line in enumerate(match[0].splitlines(keepends=True)):
        if number != 1:
            yield Span(at, at + len(line))
        at += len(line)


def _content(row: str) -> str:
    """Return a row without tags and commands."""
    return re.sub(
        r"<[^<>]*>|\\multi(?:column|row)(?:\[[^\[\]]*\])?\{[^{}]*\}\{[^{}]*\}|\\[a-zA-Z]+(?:\{[\d-]*\})?", " ", row
    )


def words(text: str) -> list[str]:
    """Return the words and numbers of a text."""
    return LETTERS.findall(text.casefold())


# Chunkers.


def ours(name: str, size: int) -> Splitter:
    """Return one of our chunkers; the context, which is the heads of tables, is counted."""
    chunker = create(name, max_tokens=size, tokenizer="characters")
    return lambda text: [(chunk.context, chunk.text) for chunk in chunker.chunk(text)]


def plain(split: Callable[[str], Iterable[str]]) -> Splitter:
    """Return a splitter of texts without context."""
    return lambda text: [("", piece) for piece in split(text)]


def langchain(name: str, size: int) -> Splitter:
    """Return a splitter of LangChain."""
    import langchain_text_splitters as library

    if name == "ExperimentalMarkdownSyntaxTextSplitter":
        by_headings = library.ExperimentalMarkdownSyntaxTextSplitter(strip_headers=False)
        inner = library.RecursiveCharacterTextSplitter(chunk_size=size, chunk_overlap=0)
        return plain(
            lambda text: [
                part for piece in by_headings.split_text(text) for part in inner.split_text(piece.page_content)
            ]
        )
    return plain(getattr(library, name)(chunk_size=size, chunk_overlap=0).split_text)


def llamaindex(name: str, size: int) -> Splitter:
    """Return a node parser of LlamaIndex; that of Markdown has no size, so its sections are split by the one of
    sentences.
    """
    from llama_index.core import Document
    from llama_index.core.node_parser import MarkdownNodeParser, SentenceSplitter

    inner = SentenceSplitter(chunk_size=size, chunk_overlap=0, tokenizer=list, include_metadata=False)
    if name == "SentenceSplitter":
        return plain(inner.split_text)
    sections = MarkdownNodeParser()
    return plain(
        lambda text: [
            part
            for node in sections.get_nodes_from_documents([Document(text=text)])
            for part in inner.split_text(node.get_content())
        ]
    )


def chonkie(name: str, size: int) -> Splitter:
    """Return a chunker of chonkie; its table chunker gets the tables, and the recursive one the rest."""
    from chonkie import RecursiveChunker, TableChunker

    recursive = RecursiveChunker(tokenizer="character", chunk_size=size)
    if name == "RecursiveChunker":
        return plain(lambda text: [chunk.text for chunk in recursive.chunk(text)])
    tables = TableChunker(tokenizer="character", chunk_size=size)

    def split(text: str) -> Iterator[str]:
        at = 0
        for piece in (piece for piece in scan(text) if piece.kind == "table"):
            yield from (chunk.text for chunk in recursive.chunk(text[at : piece.span.start]))
            table = text[slice(*piece.span)]
            parts = [chunk.text for chunk in tables.chunk(table)] if table.startswith(("|", "<")) else []
            yield from parts or [chunk.text for chunk in recursive.chunk(table)]
            at = piece.span.end
        yield from (chunk.text for chunk in recursive.chunk(text[at:]))

    return plain(split)


def semantic_text_splitter(size: int) -> Splitter:
    """Return the splitter of Markdown of semantic-text-splitter."""
    from semantic_text_splitter import MarkdownSplitter

    return plain(MarkdownSplitter(size).chunks)


def docling(size: int) -> Splitter:
    """Return Docling's HybridChunker over its own reading of the Markdown text, counting characters."""
    from io import BytesIO

    from docling.backend.md_backend import MarkdownDocumentBackend
    from docling.datamodel.base_models import InputFormat
    from docling.datamodel.document import InputDocument
    from docling_core.transforms.chunker.hybrid_chunker import HybridChunker
    from docling_core.transforms.chunker.tokenizer.base import BaseTokenizer

    class Characters(BaseTokenizer):  # type: ignore[misc]  # where it is not installed
        def count_tokens(self, text: str) -> int:
            return len(text)

        def get_max_tokens(self) -> int:
            return size

        def get_tokenizer(self) -> Any:
            return len

    chunker = HybridChunker(tokenizer=Characters())

    def split(text: str) -> list[str]:
        source = BytesIO(text.encode())
        made = InputDocument(
            path_or_stream=source, format=InputFormat.MD, backend=MarkdownDocumentBackend, filename="a.md"
        )
        document = MarkdownDocumentBackend(in_doc=made, path_or_stream=source).convert()
        return [chunker.contextualize(chunk) for chunk in chunker.chunk(document)]

    return plain(split)


PEERS: Mapping[str, Callable[[int], Splitter]] = {
    **{f"LangChain {name}": partial(langchain, name) for name in (
        "RecursiveCharacterTextSplitter", "MarkdownTextSplitter", "ExperimentalMarkdownSyntaxTextSplitter",
    )},
    **{f"LlamaIndex {name}": partial(llamaindex, name) for name in ("SentenceSplitter", "MarkdownNodeParser")},
    **{f"chonkie {name}": partial(chonkie, name) for name in ("RecursiveChunker", "TableChunker")},
    "semchunk": lambda size: plain(others.semchunk(others.Tools(len, cast("Any", None)), size)),
    "semantic-text-splitter": semantic_text_splitter,
    "Docling HybridChunker": docling,
}  # fmt: skip


def splitter(name: str, size: int) -> Splitter:
    """Return a chunker by its name."""
    return PEERS[name](size) if name in PEERS else ours(name, size)


# Measurements.


def letters(text: str) -> str:
    """Return the letters and digits of a text, without tags and commands."""
    return "".join(words(_content(text)))


def ink(text: str) -> str:
    """Return a text without white space."""
    return "".join(text.split())


class Finder:
    """Finds texts in chunks by what a key leaves of them, most often in order.

    >>> finder = Finder(["a b", "| c |"], letters)
    >>> finder.has("A, B"), finder.has("bc"), finder.has("C")
    (True, False, True)
    """

    def __init__(self, chunks: Iterable[str], key: Callable[[str], str]) -> None:
        self._joined, self._key, self._at = "\0".join(map(key, chunks)), key, 0

    def has(self, text: str) -> bool:
        """Return True if one chunk has all of a text."""
        own = self._key(text)
        at = self._joined.find(own, self._at)
        at = at if at >= 0 else self._joined.find(own, 0, self._at + len(own))
        self._at = at if at >= 0 else self._at
        return at >= 0


def measure_whole(documents: Mapping[str, str], split: Splitter, size: int) -> Counter[str]:
    """Return counts of tables, formulas and rows that fit, of those in one chunk, and of pieces of tables with their
    head.
    """
    counts = Counter[str]()
    for text in documents.values():
        chunks = list(split(text))
        counts.update({"chunks": len(chunks), "chunks over": sum(len(with_context(*chunk)) > size for chunk in chunks)})
        texts = [piece for _, piece in chunks]
        finders, rows = {"table": Finder(texts, letters), "formula": Finder(texts, ink)}, Finder(texts, letters)
        for piece in scan(text):
            own = text[slice(*piece.span)]
            if not words(own):
                continue
            is_whole = len(own) <= size and finders[piece.kind].has(own)
            counts[f"{piece.kind}s that fit"] += len(own) <= size
            counts[f"whole {piece.kind}s"] += is_whole
            fitting = [text[slice(*row)] for row in piece.rows if row.end - row.start <= size]
            counts["rows that fit"] += len(fitting)
            counts["cut rows"] += 0 if is_whole else sum(not rows.has(row) for row in fitting)
            if len(own) > size and len(piece.rows) > 2:
                counts.update(_heads(text, piece, chunks))
    return counts


def _heads(text: str, table: Piece, chunks: Sequence[tuple[str, str]]) -> Counter[str]:
    """Return how many pieces a table that does not fit has, and how many with its head; a piece has one of its longer
    rows.
    """
    head = Counter(words(_content(text[slice(*table.rows[0])])))
    rows = [letters(text[slice(*row)]) for row in table.rows[1:]]
    rows = [row for row in rows if len(row) > 20]
    pieces = (
        [with_context(*chunk) for chunk in chunks if any(row in own for own in [letters(chunk[1])] for row in rows)]
        if head and rows
        else []
    )
    return Counter({"pieces": len(pieces), "pieces with head": sum(head <= Counter(words(piece)) for piece in pieces)})


def read_form(folder: Path, form: str, most: int | None = None) -> dict[str, str]:
    """Return the documents of a folder in a form, the first characters of each."""
    paths = sorted((folder / "mineru" if form == "mineru" else folder).glob("*.md"))
    return {path.name: path.read_bytes().decode()[:most] for path in paths}


def whole(folders: Sequence[Path], form: str, names: Sequence[str], most: int | None) -> Iterator[Json]:
    """Yield the figures of each chunker at each size."""
    documents = {
        f"{folder.name}/{name}": text for folder in folders for name, text in read_form(folder, form, most).items()
    }
    for name in names:
        for size in SIZES:
            yield {
                "form": form,
                "chunker": name,
                "size": size,
                **_timed(partial(_whole_of, documents, name, size)),
            }


def _whole_of(documents: Mapping[str, str], name: str, size: int) -> Mapping[str, Any]:
    return measure_whole(documents, splitter(name, size), size)


def _timed(measure: Callable[[], Mapping[str, Any]]) -> Json:
    start = time.process_time()
    try:
        figures: Json = dict(measure())
    except Exception as error:  # noqa: BLE001 - a peer that is not installed, or fails, is a row
        return {"error": f"{type(error).__name__}: {error}"[:300]}
    return {**figures, "seconds": round(time.process_time() - start, 1)}


def main() -> None:
    """Print the figures."""
    parser = argparse.ArgumentParser(description=(__doc__ or "").splitlines()[0])
    parser.add_argument("--data", type=Path, required=True)
    parser.add_argument("--forms", nargs="+", choices=FORMS, default=list(FORMS))
    parser.add_argument("--chunkers", nargs="+", default=[*OURS, *PEERS])
    parser.add_argument("--folders", nargs="+", default=["finance", "law", "manual", "textbook"])
    parser.add_argument("--most", type=int, default=60_000, help="characters of each document")
    options = parser.parse_args()
    folders = [options.data / name for name in options.folders if (options.data / name).is_dir()]
    rows = list[Json]()
    for form in options.forms:
        rows += whole(folders, form, options.chunkers, options.most)
        print(form, "done", file=sys.stderr)
    print(json.dumps(rows, indent=1))


if __name__ == "__main__":
    main()
