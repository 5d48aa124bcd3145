"""``advchunk index``: keep the chunks of files in an index. What it reads, ``advchunk ask`` reads, too."""

from __future__ import annotations

import os
from collections.abc import Iterable, Iterator, Sequence
from pathlib import Path
from typing import Any, get_args

import click

from advchunk import __version__
from advchunk.chunkers import catalog
from advchunk.cli import contexts
from advchunk.cli.common import RESOURCE_OPTIONS, exit_on_termination, reason_of, report_errors, split_method
from advchunk.cli.files import list_inputs, read_input, report_inventory
from advchunk.cli.options import ChunkerCommand, create_chunker, options_but_sizes, parse_params
from advchunk.engine.runner import Failure
from advchunk.readers.sources import Inventory
from advchunk.readers.writing import Content
from advchunk.records import Chunk, Document
from advchunk.retrieval.library import FileReader, Library
from advchunk.retrieval.retriever import Retriever
from advchunk.retrieval.search import SearchMode
from advchunk.retrieval.stored import StoredRetriever

METHOD = "recursive"
_MAX_TOKENS = 100  # of a chunk of this method


@click.command("index", cls=ChunkerCommand)
@click.argument("files", metavar="FILE...", nargs=-1, required=True)
@click.option("--into", metavar="PATH", required=True, help="The file of the index, which is made if it is absent.")
@click.option(
    "--mode", type=click.Choice(get_args(SearchMode)),
    help="What a new index can be searched by: words (lexical), vectors (dense), or both, which is the default.",
)  # fmt: skip
@click.option(
    "-m",
    "--method",
    metavar="NAME[:K=V]",
    default=METHOD,
    show_default=True,
    help="Chunking method; see 'advchunk list'.",
)
@contexts.context_option
@contexts.estimate_option
@options_but_sizes
def index_command(
    files: tuple[str, ...], into: str, mode: SearchMode | None, method: str, estimate: bool, pairs: tuple[str, ...],
    fallback: str | None, experimental: bool, encoding: str | None, content: Content, **options: Any,
) -> None:  # fmt: skip
    """Keep the chunks of files in an index, which 'advchunk ask --index' and StoredRetriever search.

    Reads files and folders as 'advchunk chunk' does. The next call reads only files whose size or time has changed, or that were read with other settings, and forgets those that are gone from the folders it is given. It is safe to interrupt it: what was read is kept, and the next call continues.

    With --context, what is embedded and searched also says where each chunk belongs: in its document's own words or, with --llm, in a model's, which is asked once about each chunk; --estimate tells what this would cost for the files that would be read, and changes nothing.

    The exit code is 1 if a file fails.
    """
    with report_errors():
        contexts.check_estimate(estimate, options.get("context", False), options.get("llm"))
    reader, resources = make_reader(
        method, pairs, fallback, experimental, (encoding, content), options, mode != "lexical"
    )
    with report_errors(), exit_on_termination():
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


def make_reader(
    method: str,
    pairs: Sequence[str],
    fallback: str | None,
    experimental: bool,
    reading: tuple[str | None, Content],
    options: dict[str, Any],
    embeds: bool,
) -> tuple[FileReader, dict[str, Any]]:
    """Return the reader of files that the options of a command describe, and the embedder and tokenizer of a retriever.

    Parameters
    ----------
    reading : the encoding of texts, and what is read of web pages.
    embeds : whether the retriever embeds, so that the embedder may be meant for it alone.
    """
    options = {name: value for name, value in options.items() if value is not None}
    resources = {name: options.pop(name) for name in RESOURCE_OPTIONS if name in options}
    context = options.pop("context", False)
    method, own = split_method(method)
    params = parse_params(method, [*own, *pairs], options)
    if method == METHOD:
        params.setdefault("max_tokens", _MAX_TOKENS)
    embedder = resources.get("embedder")
    model = contexts.take_model(method, params, resources) if context else {}
    with report_errors():
        if embeds and not catalog.cuts_by_embeddings(method):
            resources.pop("embedder", None)
    chunker = create_chunker(method, fallback, experimental or None, params, resources)
    enricher = contexts.create_enricher(chunker, model) if context else None
    reader = FileReader(chunker, "markup" not in params, *reading, enricher, read_input, _with_progress, __version__)
    return reader, {"embedder": embedder, "tokenizer": resources.get("tokenizer")}


def read_files(library: Library, reader: FileReader, files: Sequence[str]) -> bool:
    """Read files and folders into a library, print what was read and what failed, and return whether a file failed."""
    inventory = Inventory()
    index = str(library.retriever.path) if isinstance(library.retriever, StoredRetriever) else "-"
    names = list_inputs(files, inventory, index=index)
    changes = library.read(reader, names, inventory, filter(os.path.isdir, files))
    for name, error in changes.failures:
        click.echo(f"advchunk: {name}: {error if isinstance(error, str) else reason_of(error)}", err=True)
    report_inventory(inventory)
    if index != "-":
        counts = f"{changes.unchanged} unchanged, {changes.read} read, {changes.removed} removed"
        click.echo(f"advchunk: files of {index}: {counts}", err=True)
    return bool(changes.failures)


def _estimate(library: Library, reader: FileReader, files: Sequence[str], index: str) -> bool:
    """Print what a model would be asked about the files that would be read, and what failed; return whether a file failed."""
    inventory, failed = Inventory(), list[Failure]()

    def documents() -> Iterator[tuple[Document, list[Chunk]]]:
        for pairs, failures in library.unread(reader, list_inputs(files, inventory, index=index), inventory):
            for failure in failures:
                click.echo(f"advchunk: {failure.source}: {reason_of(failure.error)}", err=True)
            failed.extend(failures)
            yield from pairs

    contexts.print_estimate(reader.enricher.estimate(documents()))
    return bool(failed)


def _with_progress(names: Sequence[str]) -> Iterable[str]:
    from tqdm import tqdm

    files: Iterable[str] = tqdm(names, unit="file", leave=False, disable=True if len(names) == 1 else None)
    return files
