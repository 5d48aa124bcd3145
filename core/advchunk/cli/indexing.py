"""``advchunk index``: keep the chunks of files in an index. What it reads, ``advchunk ask`` reads, too."""

import os
from collections.abc import Iterable, Iterator, Sequence
from pathlib import Path
from typing import Any, get_args

import click

from advchunk import __version__
from advchunk.cli import options as shared
from advchunk.cli.files import list_inputs, read_input, report_inventory
from advchunk.engine.runner import Failure
from advchunk.errors import require
from advchunk.readers.sources import Inventory
from advchunk.records import Chunk, Document
from advchunk.retrieval.index_file import IndexFile
from advchunk.retrieval.library import FileReader, Library
from advchunk.retrieval.retriever import Retriever
from advchunk.retrieval.search import SearchMode
from advchunk.retrieval.stored import StoredRetriever

METHOD = "recursive"
_MAX_TOKENS = 100  # of a chunk of this method


@click.command("index", cls=shared.ChunkerCommand)
@click.argument("files", metavar="FILE...", nargs=-1, required=True)
@click.option("--into", metavar="PATH", help="The file of the index, created if it does not exist.")
@click.option(
    "--mode", type=click.Choice(get_args(SearchMode)),
    help="What a new index can be searched by: words (lexical), vectors (dense), or both, which is the default.",
)  # fmt: skip
@shared.method_option(METHOD)
@shared.estimate_option
@shared.chunker_options(context=True)
def index_command(
    files: tuple[str, ...], into: str | None, mode: SearchMode | None, method: str, estimate: bool, **options: Any
) -> None:
    """Keep the chunks of files in an index.

    'advchunk ask --index' and StoredRetriever search it. Reads files and folders as 'advchunk chunk' does. The next
    call reads only files whose size or time has changed, or that were read with other settings, and forgets those that
    are gone from the folders it is given. After an interruption, the next call continues.

    With --context, what is embedded and searched also says where each chunk belongs: in its document's own words or,
    with --llm, in a model's, which is asked once about each chunk; --estimate tells what this would cost for the files
    that would be read, and changes nothing.

    'advchunk index check PATH' prints what is damaged. The exit code is 1 if a file fails, or an index is damaged.
    """
    if into is None:
        with shared.report_errors(), shared.exit_on_termination():
            require(len(files) == 2 and files[0] == "check", "--into must name the file of the index", None)
            click.get_current_context().exit(_check(Path(files[1])))
    reader, resources = make_reader(method, {**options, "estimate": estimate}, embeds=mode != "lexical")
    with shared.report_errors(), shared.exit_on_termination():
        is_new = estimate and not Path(into).exists()
        library = Library(
            Retriever() if is_new else StoredRetriever(into, mode=mode, language=options.get("language"), **resources)
        )
        if estimate:
            click.get_current_context().exit(_estimate(library, reader, files, into))
        failed = read_files(library, reader, files)
        chunks, documents = len(library.retriever), len(library.retriever.documents)
        click.echo(f"{into}: {chunks} chunks of {documents} document{'s' * (documents != 1)}")
    click.get_current_context().exit(failed)


def _check(path: Path) -> bool:
    """Print what is damaged in an index, and return whether anything is."""
    require(path.is_file(), "an index to check must be a file", str(path))
    with IndexFile(path).reading() as index:
        damages = list(index.damages())
        for name, reason in damages:
            click.echo(f"advchunk: {name or path}: {reason}", err=True)
        if not damages:
            click.echo(f"{path}: {len(index)} chunks of {len(index.places.documents)} documents are whole")
    return bool(damages)


def make_reader(method: str, options: dict[str, Any], *, embeds: bool) -> tuple[FileReader, dict[str, Any]]:
    """Return the reader of files that the options describe (`set_up`), and the models of a retriever."""
    setup = shared.set_up(method, options, defaults={METHOD: {"max_tokens": _MAX_TOKENS}}, embeds=embeds)
    how: dict[str, Any] = {"read": read_input, "progress": _with_progress, "version": __version__}
    reader = FileReader(setup.chunker, enricher=setup.enricher, **setup.reading, **how)
    return reader, {name: options.get(name) for name in ("embedder", "tokenizer")}


def read_files(library: Library, reader: FileReader, files: Sequence[str]) -> bool:
    """Read files and folders into a library, print what was read and what failed, and return whether a file failed."""
    inventory = Inventory()
    index = str(library.retriever.path) if isinstance(library.retriever, StoredRetriever) else "-"
    names = list_inputs(files, inventory, index=index)
    changes = library.read(reader, names, inventory, filter(os.path.isdir, files))
    for name, error in changes.failures:
        click.echo(f"advchunk: {name}: {error if isinstance(error, str) else shared.reason_of(error)}", err=True)
    report_inventory(inventory)
    if index != "-":
        counts = f"{changes.unchanged} unchanged, {changes.read} read, {changes.removed} removed"
        click.echo(f"advchunk: files of {index}: {counts}", err=True)
    return bool(changes.failures)


def _estimate(library: Library, reader: FileReader, files: Sequence[str], index: str) -> bool:
    """Print what a model would be asked about the files that would be read; return whether one of them failed."""
    inventory, failed = Inventory(), list[Failure]()

    def documents() -> Iterator[tuple[Document, list[Chunk]]]:
        for pairs, failures in library.unread(reader, list_inputs(files, inventory, index=index), inventory):
            for failure in failures:
                click.echo(f"advchunk: {failure.source}: {shared.reason_of(failure.error)}", err=True)
            failed.extend(failures)
            yield from pairs

    shared.print_estimate(reader.enricher.estimate(documents()))
    return bool(failed)


def _with_progress(names: Sequence[str]) -> Iterable[str]:
    from tqdm import tqdm

    files: Iterable[str] = tqdm(names, unit="file", leave=False, disable=True if len(names) == 1 else None)
    return files
