"""``advchunk chunk``: chunk files, in constant memory."""

import json
import re
import sys
import textwrap
import time
from collections import deque
from collections.abc import Callable, Generator, Iterable, Iterator, Sequence
from contextlib import closing, contextmanager
from dataclasses import dataclass, fields
from functools import partial
from itertools import chain
from typing import IO, Any, NamedTuple

import click

from advchunk import registry
from advchunk.chunkers.base import Chunker
from advchunk.chunkers.catalog import default_name
from advchunk.chunkers.frameworks import flatten_spans
from advchunk.chunkers.parallel import share_models
from advchunk.cli.common import RESOURCE_OPTIONS, one_line, report_errors, split_method
from advchunk.cli.files import (
    FileInput,
    expand_folder,
    is_jsonl,
    iterate_sources,
    open_output,
    open_resumable,
    read_record,
    read_source,
)
from advchunk.cli.options import ChunkerCommand, chunker_options, create_chunker, parse_params
from advchunk.engine import drive
from advchunk.engine.runner import Failure, OnFailure
from advchunk.engine.workers import run_in_processes
from advchunk.errors import ConfigurationError, MissingExtra, WorkerDied, require
from advchunk.records import Chunk, Document

_to_json = partial(json.dumps, ensure_ascii=False)
_BLACK = 16  # of the 256 colors, as are the light ones that chunks take in turn
_BACKGROUNDS = (153, 223, 194, 225, 229, 195)


@click.command("chunk", cls=ChunkerCommand)
@click.argument("files", metavar="[FILE]...", nargs=-1)
@click.option(
    "-m", "--method", metavar="NAME[:K=V]", default=default_name("mst-semantic"), show_default=True,
    help="Chunking method; see 'advchunk list'.",
)  # fmt: skip
@click.option(
    "-f", "--format", "form", type=click.Choice(["text", "json", "jsonl"]), default="text", show_default=True,
    help="Output format.",
)  # fmt: skip
@click.option("-o", "--out", metavar="PATH", default="-", help="Output file, written only if the run completes.")
@chunker_options
@click.option("--explain", is_flag=True, help="Show why each chunk ends; same as -p add_scores=true.")
@click.option("--workers", metavar="N", type=click.IntRange(1), default=1, help="Number of processes that chunk.")
@click.option(
    "--engine", type=click.Choice(registry.names_of("engine")),
    help="Chunk Parquet and JSON Lines files in shards, into the folder --out; the same command resumes.",
)  # fmt: skip
@click.option("--jsonl", is_flag=True, help="Read every FILE as JSON lines, one document each.")
@click.option("--resume", is_flag=True, help="Keep the output of an interrupted run, and continue it when run again.")
@click.option("--quiet", is_flag=True, help="Hide the progress bar.")
def chunk_command(
    files: tuple[str, ...], method: str, form: str, out: str, pairs: tuple[str, ...], fallback: str | None, explain: bool,
    experimental: bool, workers: int, engine: str | None, jsonl: bool, resume: bool, quiet: bool, encoding: str | None, **options: Any,
) -> None:  # fmt: skip
    """Chunk Markdown, HTML, XML, JSON, PDF, source code and text files.

    Reads standard input if there is no FILE, or if FILE is -. A folder stands for the files in it with the suffix of a format, or .jsonl, except in hidden folders. Text must be UTF-8, or UTF-16 with its mark, unless --encoding names another; XML and HTML may declare theirs. Files that fail are reported and skipped, and the exit code is 1.

    The file name determines the format: .md, .markdown, .mdx, .qmd and .rmd are Markdown; .html, .htm and .xhtml are HTML; .vtt and .srt are captions; the content of .xml, .json and .nbib files is detected (TEI, JATS, PubMed, HTML, Docling, chats, other XML), and .txt files may be transcripts; .py, .js, .ts, .java, .c, .cpp, .cs, .go, .rs, .rb, .php, .sql, .sh and the like are source code, with the extra "code"; all other files are plain text. Standard input is Markdown. Override it with --markup NAME, or detect the format of all files with --markup auto.

    Each line of a .jsonl file is a document: {"id": ..., "text": ...}, Markdown unless --markup says otherwise; all other keys are its metadata. The memory needed does not depend on the number of lines, but for some 100 bytes a document to find ids that are used twice.

    With --resume, which needs --format jsonl and --out, the output is PATH.*.partial until the run is complete. The same command continues it; what failed before is tried again.
    """
    options = {name: value for name, value in options.items() if value is not None}
    resources = {name: options.pop(name) for name in RESOURCE_OPTIONS if name in options}
    method, own = split_method(method)
    params = parse_params(method, [*own, *pairs, *(["add_scores=true"] if explain else [])], options)
    if engine:
        with report_errors():
            others: dict[str, object] = {
                "--fallback": fallback, "--resume": resume, "--jsonl": jsonl, "--encoding": encoding, "--format json": form == "json",
            }  # fmt: skip
            rule = f"--engine cannot be combined with {', '.join(others)}"
            require(not any(others.values()), rule, [name for name, value in others.items() if value])
            require(bool(files) and out != "-", "--engine needs files and a folder, --out", out)
            _chunk_shards(
                files, out, method, format="jsonl" if form == "jsonl" else "parquet", engine=engine, workers=workers,
                progress=not quiet and sys.stderr.isatty(), experimental=experimental or None, **params, **resources,
            )  # fmt: skip
        return
    with report_errors():
        require(not resume or (form == "jsonl" and out != "-"), "--resume needs --format jsonl and --out", out)
    chunker = create_chunker(method, fallback, experimental or None, params, resources)
    with report_errors():
        rule = f"--workers must be 1 for {method}, which chunks all documents together"
        require(workers == 1 or not chunker.is_corpus_level, rule, workers)
    process = SourceChunker(chunker, _FORMATS[form], "markup" not in params, encoding)
    files = tuple(chain.from_iterable(expand_folder(name, jsonl=True) for name in files)) or ("-",)
    with open_resumable(out, chunker.fingerprint()) if resume else _open(out) as (file, done):
        # A bar would mix with chunks printed to a terminal.
        run = _Run(process, files, jsonl, done, workers, quiet=quiet or file.isatty())
        for text in _FRAMES[form](run.texts()):
            click.echo(text, file, nl=False)
    click.get_current_context().exit(1 if run.failed else 0)


def _chunk_shards(files: Sequence[str], out: str, method: str, **options: Any) -> None:
    engine = {row.name: row for row in registry.rows("engine")}[options["engine"]]
    counts = engine.load()(files, out, method, **options)
    click.echo(f"{out}: {counts.chunks} chunks, {counts.shards} shards ({counts.resumed} done before)", err=True)
    if counts.failures:
        click.echo(f"advchunk: {counts.failures} documents failed; see the column error", err=True)
        click.get_current_context().exit(1)


@contextmanager
def _open(out: str) -> Iterator[tuple[IO[str], set[int]]]:
    with open_output(out) as file:
        yield file, set()


class SourceResult(NamedTuple):
    """The documents of a source, each as its name and its converted chunks, and the failures, each with its reason."""

    documents: list[tuple[str, Any]]
    failures: list[tuple[str, str]]


@dataclass(frozen=True)
class SourceChunker:
    """Reads sources, chunks their documents, and converts the chunks; model batches span the sources.

    Parameters
    ----------
    convert : takes a document, its chunks, and the seconds that they took.
    by_name : take the format of a file from its name.
    """

    chunker: Chunker
    convert: Callable[[Document, list[Chunk], float], Any]
    by_name: bool
    encoding: str | None

    def __call__(self, sources: Iterable[FileInput]) -> list[SourceResult]:
        """Return the result of each source."""
        return list(self.stream(sources))

    def stream(self, sources: Iterable[FileInput]) -> Iterator[SourceResult]:
        """Yield the result of each source, in order, as soon as it is known."""
        pending = deque[
            tuple[SourceResult, deque[Document]]
        ]()  # results, and documents that are read but not yet chunked
        failures = dict[int, Failure]()

        def read_all() -> Iterator[Document]:
            for source in sources:
                documents, result = list[Document](), SourceResult([], [])
                try:
                    documents = read_source(self.chunker, self.by_name, self.encoding, source)
                except OSError as error:
                    result.failures.append((source.name, error.strerror or str(error)))
                except (ConfigurationError, MissingExtra) as error:
                    result.failures.append((source.name, one_line(error)))
                pending.append((result, deque(documents)))
                yield from documents

        def finished() -> Iterator[SourceResult]:
            while pending and not pending[0][1]:
                yield pending.popleft()[0]

        start = time.perf_counter()
        chunked = self._chunk(read_all(), lambda failure: failures.update({failure.index: failure}))
        for index, chunks in enumerate(chunked):
            yield from finished()
            result, documents = pending[0]
            document, now = documents.popleft(), time.perf_counter()
            if failure := failures.pop(index, None):
                reason = f"{type(failure.error).__name__}: {one_line(failure.error)}"
                result.failures.append((failure.source, reason))
            else:
                result.documents.append((document.id, self.convert(document, chunks, now - start)))
            start = now
            yield from finished()
        yield from finished()

    def _chunk(self, documents: Iterable[Document], on_failure: OnFailure) -> Iterator[list[Chunk]]:
        """Yield the chunks of each document; their names differ, so that ids are numbered within each."""
        if self.chunker.is_corpus_level:
            return self.chunker.stream(documents, on_error=on_failure)
        return (explanation.chunks for explanation in drive(self.chunker.jobs(documents, on_failure)))


class _Run:
    """The sources of a call, in one process or several, without the documents that are done.

    Parameters
    ----------
    done : hashes of the names of documents whose chunks are already written.
    quiet : hide the progress bar.
    """

    def __init__(
        self,
        process: SourceChunker,
        files: Sequence[str],
        jsonl: bool,
        done: set[int],
        workers: int,
        *,
        quiet: bool,
    ) -> None:
        from tqdm import tqdm

        self.failed = False
        self._process, self._done, self._seen, self._workers = process, done, set[int](), workers
        self._files = [(name, jsonl or is_jsonl(name)) for name in files]
        self._names = deque[str]()
        of_lines = any(of_lines for _, of_lines in self._files)
        unit, total = ("doc", None) if of_lines else ("file", len(files))
        hide = quiet or total == 1
        self._bar = tqdm(total=total, unit=unit, disable=True if hide else None)  # None hides it but on a terminal

    def texts(self) -> Iterator[str]:
        """Yield the chunks of each document, as text, and report failures."""
        with self._bar, closing(self._results()) as results:
            for result in results:
                name = self._names.popleft()
                documents, failures = ([], [(name, str(result))]) if isinstance(result, WorkerDied) else result
                for failure in failures:
                    self._report(*failure)
                for document, text in documents:
                    if not self._is_done(document):
                        yield text
                self._bar.update()

    def _results(self) -> Generator[SourceResult | WorkerDied, None, None]:
        if self._workers == 1:
            yield from self._process.stream(self._sources())
        else:
            prepare = share_models(self._process.chunker)
            yield from run_in_processes(self._process, self._sources(), self._workers, lambda s: s.size, prepare)

    def _sources(self) -> Iterator[FileInput]:
        """Yield the inputs that are to be chunked, and remember their names; a line is read only if its document may be done."""
        for name, of_lines in self._files:
            try:
                for source in iterate_sources(name, of_lines):
                    if self._done and self._skip(source):
                        self._bar.update()
                        continue
                    self._names.append(source.name)
                    yield source
            except OSError as error:
                self._report(name, error.strerror or str(error))

    def _skip(self, source: FileInput) -> bool:
        try:
            name = source.name if source.data is None else read_record(source.data).id
        except ConfigurationError:
            return False
        return hash(name) in self._done and self._is_done(name)

    def _is_done(self, document: str) -> bool:
        """Return True if a document was written by the run that this one continues, or has the name of another."""
        key = hash(document)
        if key in self._seen:
            self._report(document, "another document has the same name")
            return True
        self._seen.add(key)
        if key in self._done:
            self._done.remove(key)
            return True
        return False

    def _report(self, name: str, reason: str) -> None:
        self.failed = True
        self._bar.clear()
        click.echo(f"advchunk: {name}: {reason}", err=True)


def _format_jsonl(document: Document, chunks: list[Chunk], _: float) -> str:
    return "".join(_to_json({"document": document.id, **_record(c)}) + "\n" for c in chunks)


def _format_json(document: Document, chunks: list[Chunk], _: float) -> str:
    return _to_json({"document": document.id, "chunks": [_record(c) for c in chunks]})


def _list_json(texts: Iterable[str]) -> Iterator[str]:
    separator = "[\n"
    for text in texts:
        yield separator + text
        separator = ",\n"
    yield "[]\n" if separator == "[\n" else "\n]\n"


def _record(c: Chunk) -> dict[str, Any]:
    return {f.name: getattr(c, f.name) for f in fields(c) if f.name not in ("vector", "rows", "row_spans", "row_texts")}


def _format_text(document: Document, chunks: list[Chunk], seconds: float) -> str:
    return "\n".join([*map(_format_chunk, chunks), _format_summary(document, chunks, seconds), "", ""])


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


_FORMATS: dict[str, Callable[[Document, list[Chunk], float], str]] = {
    "text": _format_text, "json": _format_json, "jsonl": _format_jsonl,
}  # fmt: skip
_FRAMES: dict[str, Callable[[Iterable[str]], Iterable[str]]] = {"text": iter, "json": _list_json, "jsonl": iter}
