"""``advchunk chunk``: chunk files."""

import json
import re
import textwrap
import time
from collections import deque
from collections.abc import Callable, Iterable, Iterator
from dataclasses import fields
from functools import partial
from itertools import chain
from typing import Any, TypeAlias

import click

from advchunk.chunkers.base import Chunker
from advchunk.chunkers.frameworks import flatten_spans
from advchunk.cli.common import RESOURCE_OPTIONS, one_line
from advchunk.cli.files import expand_folder, open_output, read_input
from advchunk.cli.options import ChunkerCommand, chunker_options, create_chunker, parse_params
from advchunk.engine.runner import Failure
from advchunk.errors import ConfigurationError, MissingExtra
from advchunk.records import Chunk, Document

_Report: TypeAlias = Callable[[str, str], None]
_Result: TypeAlias = tuple[Document, list[Chunk], float]  # with the seconds since the previous document
_to_json = partial(json.dumps, ensure_ascii=False)
_BLACK = 16  # of the 256 colors, as are the light ones that chunks take in turn
_BACKGROUNDS = (153, 223, 194, 225, 229, 195)


@click.command("chunk", cls=ChunkerCommand)
@click.argument("files", metavar="[FILE]...", nargs=-1)
@click.option(
    "-m", "--method", metavar="NAME", default="mst-semantic", show_default=True,
    help="Chunking method; see 'advchunk list'.",
)  # fmt: skip
@click.option(
    "-f", "--format", "form", type=click.Choice(["text", "json", "jsonl"]), default="text", show_default=True,
    help="Output format.",
)  # fmt: skip
@click.option("-o", "--out", metavar="PATH", default="-", help="Output file, written only if the run completes.")
@chunker_options
@click.option("--explain", is_flag=True, help="Show why each chunk ends; same as -p add_scores=true.")
@click.option("--quiet", is_flag=True, help="Hide the progress bar.")
def chunk_command(
    files: tuple[str, ...], method: str, form: str, out: str, pairs: tuple[str, ...], fallback: str | None, explain: bool,
    experimental: bool, quiet: bool, encoding: str | None, **options: Any,
) -> None:  # fmt: skip
    """Chunk Markdown, HTML, XML, JSON, PDF, source code and text files.

    Reads standard input if there is no FILE, or if FILE is -. A folder stands for the files in it with the suffix of a format, except in hidden folders. Text must be UTF-8, or UTF-16 with its mark, unless --encoding names another; XML and HTML may declare theirs. Files that fail are reported and skipped, and the exit code is 1.

    The file name determines the format: .md, .markdown, .mdx, .qmd and .rmd are Markdown; .html, .htm and .xhtml are HTML; the content of .xml, .json and .nbib files is detected (TEI, JATS, PubMed, HTML, Docling, other XML); .py, .js, .ts, .java, .c, .cpp, .cs, .go, .rs, .rb, .php, .sql, .sh and the like are source code, with the extra "code"; all other files are plain text. Standard input is Markdown. Override it with --markup NAME, or detect the format of all files with --markup auto.
    """
    from tqdm import tqdm

    options = {name: value for name, value in options.items() if value is not None}
    resources = {name: options.pop(name) for name in RESOURCE_OPTIONS if name in options}
    params = parse_params(method, [*pairs, "add_scores=true"] if explain else pairs, options)
    chunker = create_chunker(method, fallback, experimental or None, params, resources)
    failed: list[str] = []
    files = tuple(chain.from_iterable(map(expand_folder, files)))
    with open_output(out) as file:
        # A bar would mix with chunks printed to a terminal.
        hide = True if quiet or len(files) < 2 or file.isatty() else None
        with tqdm(total=len(files), unit="file", disable=hide) as bar:

            def report(name: str, reason: str) -> None:
                failed.append(name)
                bar.clear()
                click.echo(f"advchunk: {name}: {reason}", err=True)

            read = partial(read_input, chunker, "markup" not in params, encoding)
            results = _chunk_files(chunker, files or ("-",), read, report, bar.update)
            for text in _WRITERS[form](results):
                click.echo(text, file, nl=False)
    click.get_current_context().exit(1 if failed else 0)


def _chunk_files(
    chunker: Chunker,
    names: Iterable[str],
    read: Callable[[str], list[Document]],
    report: _Report,
    advance: Callable[[], object],
) -> Iterator[_Result]:
    """Yield the chunks of each document of the files and report failures; model batches span files."""
    pending: deque[Document] = deque()  # read but not yet chunked
    failed: set[int] = set()

    def read_all() -> Iterator[Document]:
        for name in names:
            try:
                documents = read(name)
            except OSError as error:
                report(name, error.strerror or str(error))
            except (ConfigurationError, MissingExtra) as error:
                report(name, one_line(error))
            else:
                pending.extend(documents)
                yield from documents
                continue
            advance()

    def on_error(failure: Failure) -> None:
        failed.add(failure.index)
        report(failure.source, f"{type(failure.error).__name__}: {one_line(failure.error)}")

    start = time.perf_counter()
    for index, chunks in enumerate(chunker.stream(read_all(), on_error=on_error)):
        document = pending.popleft()
        now = time.perf_counter()
        if index not in failed:
            yield document, chunks, now - start
        start = now
        advance()


def _write_jsonl(results: Iterable[_Result]) -> Iterator[str]:
    for document, chunks, _ in results:
        yield "".join(_to_json({"document": document.id, **_record(c)}) + "\n" for c in chunks)


def _write_json(results: Iterable[_Result]) -> Iterator[str]:
    separator = "[\n"
    for document, chunks, _ in results:
        yield separator + _to_json({"document": document.id, "chunks": [_record(c) for c in chunks]})
        separator = ",\n"
    yield "[]\n" if separator == "[\n" else "\n]\n"


def _record(c: Chunk) -> dict[str, Any]:
    return {f.name: getattr(c, f.name) for f in fields(c) if f.name not in ("vector", "rows", "row_spans", "row_texts")}


def _write_text(results: Iterable[_Result]) -> Iterator[str]:
    for document, chunks, seconds in results:
        yield "\n".join([*map(_format_chunk, chunks), _format_summary(document, chunks, seconds), "", ""])


def _format_chunk(c: Chunk) -> str:
    """Format a chunk for reading: a line of facts, then its context and its indented passages, which have a color."""
    facts = [
        click.style(f"[{c.index}]", bold=True),
        click.style(flatten_spans(c.spans), fg="cyan"),
        f"{c.tokens} tokens",
        *([click.style(c.metadata["section"], fg="green")] if "section" in c.metadata else []),
        *([f"level {c.level}"] if c.level else []),
        *([f"in [{c.parent}]"] if c.parent is not None else []),
    ]
    context = [click.style(textwrap.indent(c.context, "  > "), dim=True)] if c.context else []
    color = _BACKGROUNDS[c.index % len(_BACKGROUNDS)]
    passages = [textwrap.indent(_color_lines(passage.strip("\r\n"), color), "    ") for passage in c.passages]
    body = click.style("\n    [...]\n", dim=True).join(passages)
    reason = c.metadata.get("cut")
    score = f" {c.metadata['cut_score']}" if "cut_score" in c.metadata else ""
    cut = [click.style(f"  -- {reason}{score}", fg="yellow")] if reason else []
    return "\n".join(["  ".join(facts), *context, body, *cut, ""])


def _color_lines(text: str, background: int) -> str:
    """Color the text of each line, and not the space before and after."""
    return re.sub(r"\S[^\r\n]*", lambda line: click.style(line[0], fg=_BLACK, bg=background), text)


def _format_summary(document: Document, chunks: list[Chunk], seconds: float) -> str:
    tokens = [c.tokens for c in chunks]
    sizes = f", tokens min {min(tokens)} mean {sum(tokens) / len(tokens):.0f} max {max(tokens)}" if tokens else ""
    counts = f"{len(chunks)} chunk{'s' * (len(chunks) != 1)}, {len(document.text)} characters"
    return click.style(f"{document.id}: {counts}{sizes}, {seconds:.2f} s", bold=True)


_WRITERS: dict[str, Callable[[Iterable[_Result]], Iterator[str]]] = {
    "text": _write_text, "json": _write_json, "jsonl": _write_jsonl,
}  # fmt: skip
