"""``advchunk chunk``: chunk files, in constant memory."""

import json
import re
import textwrap
from collections.abc import Callable, Iterable, Iterator
from contextlib import closing
from dataclasses import fields
from functools import partial
from typing import Any

import click

from advchunk.chunkers.base import check_processes
from advchunk.chunkers.catalog import default_name
from advchunk.chunkers.frameworks import flatten_spans
from advchunk.chunkers.sources import NameSet, SourceChunker, SourceRun, document_name, enrich_and_convert, keep_all
from advchunk.cli import options as shared
from advchunk.cli.files import list_inputs, open_output, open_resumable, read_input, report_inventory
from advchunk.errors import require
from advchunk.readers.sources import FileSource, Inventory, is_jsonl
from advchunk.records import Chunk, Document

_to_json = partial(json.dumps, ensure_ascii=False)
_BLACK = 16  # of the 256 colors, as are the light ones that chunks take in turn
_BACKGROUNDS = (153, 223, 194, 225, 229, 195)


@click.command("chunk", cls=shared.ChunkerCommand)
@click.argument("files", metavar="[FILE]...", nargs=-1)
@shared.method_option(default_name("mst-semantic"))
@click.option(
    "-f", "--format", "form", type=click.Choice(["text", "json", "jsonl"]), default="text", show_default=True,
    help="Output format.",
)  # fmt: skip
@click.option("-o", "--out", metavar="PATH", default="-", help="Output file, written only if the run completes.")
@shared.chunker_options(sizes=True, context=True)
@shared.estimate_option
@click.option("--explain", is_flag=True, help="Show why each chunk ends; same as -p add_scores=true.")
@click.option("--workers", metavar="N", type=click.IntRange(1), default=1, help="Number of processes that chunk.")
@click.option("--jsonl", is_flag=True, help="Read every FILE as JSON lines, one document each.")
@click.option("--resume", is_flag=True, help="Keep the output of an interrupted run, and continue it when run again.")
@click.option("--quiet", is_flag=True, help="Hide the progress bar.")
def chunk_command(
    files: tuple[str, ...], method: str, form: str, out: str, estimate: bool, explain: bool, workers: int, jsonl: bool,
    resume: bool, quiet: bool, **options: Any,
) -> None:  # fmt: skip
    """Chunk files of any format that has a reader.

    Reads standard input if there is no FILE, or if FILE is -. A folder stands for the files in it and below, without
    hidden ones, links, and the output of advchunk; a .zip or .tar file, for those in it. At the end, the inventory says
    what was read, what was read as plain text, what was skipped, and what is not in UTF-8. The encoding of a text is
    found unless --encoding names it. Files that fail are reported and skipped, and the exit code is 1.

    The file name determines the format: Markdown, HTML, PDF, Office files, tables, mail, captions, source code and more
    (docs/guides/files.md), some with an extra, which an error names. Of .xml, .json and .nbib, the content decides,
    and .txt files may be transcripts; files of other names are plain text. Standard input is Markdown. Override it with
    --markup NAME, or detect the format of all files with --markup auto.

    Each line of a .jsonl file is a document: {"id": ..., "text": ...}, Markdown unless --markup says otherwise; all
    other keys are its metadata.

    With --context, each chunk says where it belongs, in its document's own words; with --llm, a model is asked once
    about each chunk (-p llm_model=NAME), and --cache keeps its answers. --estimate tells what this would cost.

    With --resume, which needs --format jsonl and --out, the output is PATH.*.partial until the run is complete. The
    same command continues it; what failed before is tried again.
    """
    with shared.report_errors():
        require(not resume or (form == "jsonl" and out != "-"), "--resume needs --format jsonl and --out", out)
    options["pairs"] += ("add_scores=true",) * explain
    chunker, enricher, reading = shared.set_up(method, {**options, "estimate": estimate})
    with shared.report_errors():
        check_processes(chunker, workers)
    convert = partial(enrich_and_convert, enricher, chunker, _FORMATS[form]) if enricher else _FORMATS[form]
    process = SourceChunker(chunker, keep_all if estimate else convert, partial(read_input, **reading))
    inventory = Inventory()
    names = list_inputs(files, inventory, out)
    run = SourceRun(process, names, inventory, jsonl or None, workers=workers)
    done, failed = set[int](), list[str]()
    if estimate and enricher:
        shared.print_estimate(enricher.estimate(_texts(run, done, failed, quiet=quiet)))
    else:
        settings = [part.fingerprint() for part in (chunker, enricher) if part]
        with open_resumable(out, done, *settings) if resume else open_output(out) as file:
            hide = quiet or file.isatty()  # a bar would mix with chunks in a terminal
            for text in _FRAMES[form](_texts(run, done, failed, quiet=hide)):
                click.echo(text, file, nl=False)
        report_inventory(inventory)
    click.get_current_context().exit(1 if failed or not names else 0)


def _texts(run: SourceRun, done: set[int], failed: list[str], *, quiet: bool) -> Iterator[Any]:
    """Yield the output of each document without its name in ``done``, a set of hashes; report and list failures."""
    from tqdm import tqdm

    of_lines = any(is_jsonl(name) if run.of_lines is None else run.of_lines for name in run.files)
    unit, total = ("doc", None) if of_lines else ("file", len(run.files))
    hide = quiet or total == 1
    bar, seen = tqdm(total=total, unit=unit, disable=True if hide else None), NameSet()  # None: but on a terminal

    def report(name: str, reason: str) -> None:
        failed.append(name)
        bar.clear()
        click.echo(f"advchunk: {name}: {reason}", err=True)

    def is_done(document: str) -> bool:
        """Return True if a document was written by the run that this one continues, or has the name of another."""
        if not seen.add(document):
            report(document, "another document has the same name")
            return True
        was_done = hash(document) in done
        done.discard(hash(document))
        return was_done

    def skip(source: FileSource) -> bool:
        name = document_name(source)
        is_skipped = hash(name) in done and is_done(name)
        bar.update(is_skipped)
        return is_skipped

    run.skip = skip if done else run.skip
    with bar, closing(run.results()) as results:
        for _, _, result in results:
            for failure in result.failures:
                report(failure.source, shared.reason_of(failure.error))
            yield from (text for document, text in result.documents if not is_done(document))
            bar.update()


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
    paint = partial(click.style, fg=_BLACK, bg=_BACKGROUNDS[c.index % len(_BACKGROUNDS)])
    colored = [re.sub(r"\S[^\r\n]*", lambda line: paint(line[0]), passage.strip("\r\n")) for passage in c.passages]
    passages = [textwrap.indent(passage, "    ") for passage in colored]
    body = click.style("\n    [...]\n", dim=True).join(passages)
    reason = c.metadata.get("cut")
    score = f" {c.metadata['cut_score']}" if "cut_score" in c.metadata else ""
    cut = [click.style(f"  -- {reason}{score}", fg="yellow")] if reason else []
    return "\n".join(["  ".join(facts), *context, body, *cut, ""])


def _format_text(document: Document, chunks: list[Chunk], seconds: float) -> str:
    tokens = [c.tokens for c in chunks]
    sizes = f", tokens min {min(tokens)} mean {sum(tokens) / len(tokens):.0f} max {max(tokens)}" if tokens else ""
    counts = f"{len(chunks)} chunk{'s' * (len(chunks) != 1)}, {len(document.text)} characters"
    summary = click.style(f"{document.id}: {counts}{sizes}, {seconds:.2f} s", bold=True)
    return "\n".join([*map(_format_chunk, chunks), summary, "", ""])


_FORMATS: dict[str, Callable[[Document, list[Chunk], float], str]] = {
    "text": _format_text, "json": _format_json, "jsonl": _format_jsonl,
}  # fmt: skip
_FRAMES: dict[str, Callable[[Iterable[str]], Iterable[str]]] = {"text": iter, "json": _list_json, "jsonl": iter}
