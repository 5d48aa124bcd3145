"""``advchunk index``: keep the chunks of files in an index. What it reads, ``advchunk ask`` reads, too."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence, Set
from dataclasses import dataclass, field
from functools import partial
from pathlib import Path
from typing import Any, get_args

import click

from advchunk import __version__
from advchunk.chunkers import catalog
from advchunk.chunkers.base import Chunker
from advchunk.chunkers.sources import SourceChunker, SourceResult, SourceRun, keep_all
from advchunk.cli import contexts
from advchunk.cli.common import RESOURCE_OPTIONS, exit_on_termination, reason_of, report_errors, split_method
from advchunk.cli.files import list_inputs, read_input, report_inventory
from advchunk.cli.options import ChunkerCommand, create_chunker, options_but_sizes, parse_params
from advchunk.errors import require
from advchunk.readers.sources import Inventory
from advchunk.records import Chunk, Document
from advchunk.retrieval.retriever import Retriever
from advchunk.retrieval.search import SearchMode
from advchunk.retrieval.stored import StoredRetriever

METHOD = "recursive"
_MAX_TOKENS = 100  # of a chunk of this method
_BATCH = 5_000  # chunks that are written at once


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
    fallback: str | None, experimental: bool, encoding: str | None, **options: Any,
) -> None:  # fmt: skip
    """Keep the chunks of files in an index, which 'advchunk ask --index' and StoredRetriever search.

    Reads files and folders as 'advchunk chunk' does. The next call reads only files whose size or time has changed, or that were read with other settings, and forgets those that are gone from the folders it is given. It is safe to interrupt it: what was read is kept, and the next call continues.

    With --context, what is embedded and searched also says where each chunk belongs: in its document's own words or, with --llm, in a model's, which is asked once about each chunk; --estimate tells what this would cost for the files that would be read, and changes nothing.

    The exit code is 1 if a file fails.
    """
    with report_errors():
        contexts.check_estimate(estimate, options.get("context", False), options.get("llm"))
    reader, resources = make_reader(method, pairs, fallback, experimental, encoding, options, mode != "lexical")
    with report_errors(), exit_on_termination():
        is_new = estimate and not Path(into).exists()
        library = Library(
            Retriever() if is_new else StoredRetriever(into, mode=mode, language=options.get("language"), **resources)
        )
        if estimate:
            contexts.print_estimate(reader.enricher.estimate(library.unread(reader, files, into)))
            click.get_current_context().exit(1 if library.failed else 0)
        library.read(reader, files)
        chunks, documents = len(library.retriever), len(library.retriever.documents)
        click.echo(f"{into}: {chunks} chunks of {documents} document{'s' * (documents != 1)}")
    click.get_current_context().exit(1 if library.failed else 0)


@dataclass(frozen=True)
class FileReader:
    """Reads files and chunks them."""

    chunker: Chunker
    by_name: bool  # the format of a file is that of its name
    encoding: str | None
    enricher: Any = None  # adds contexts to chunks

    @property
    def settings(self) -> list[Any]:
        """JSON that changes when the chunks of a file may change."""
        own = [self.enricher.fingerprint()] if self.enricher else []
        return [__version__, self.chunker.fingerprint(), self.by_name, self.encoding, *own]

    def results(self, names: Sequence[str], inventory: Inventory) -> Iterator[tuple[str, SourceResult]]:
        """Yield each file with its result, or with that of each document in a file of documents or archive."""
        yield from self._run(
            names, inventory, contexts.enriching(self.enricher, self.chunker, _keep) if self.enricher else _keep
        )

    def chunked(self, names: Sequence[str], inventory: Inventory) -> Iterator[tuple[str, SourceResult]]:
        """Yield each file as `results` does, with its documents and their chunks, to which no contexts are added."""
        yield from self._run(names, inventory, keep_all)

    def _run(
        self, names: Sequence[str], inventory: Inventory, convert: Callable[[Document, list[Chunk], float], Any]
    ) -> Iterator[tuple[str, SourceResult]]:
        from tqdm import tqdm

        read = partial(read_input, by_name=self.by_name, encoding=self.encoding)
        files: Any = tqdm(names, unit="file", leave=False, disable=True if len(names) == 1 else None)
        for index, _, result in SourceRun(SourceChunker(self.chunker, convert, read), files, inventory).results():
            yield names[index], result


def make_reader(
    method: str,
    pairs: Sequence[str],
    fallback: str | None,
    experimental: bool,
    encoding: str | None,
    options: dict[str, Any],
    embeds: bool,
) -> tuple[FileReader, dict[str, Any]]:
    """Return the reader of files that the options of a command describe, and the embedder and tokenizer of a retriever.

    Parameters
    ----------
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
    reader = FileReader(chunker, "markup" not in params, encoding, enricher)
    return reader, {"embedder": embedder, "tokenizer": resources.get("tokenizer")}


def _keep(document: Document, chunks: list[Chunk], _: float) -> tuple[list[Chunk], str | None]:
    """Return the chunks of a document, and its text if its headings and tables can be read in it, and chunks are of it."""
    text = document.text
    is_source = not document.markup
    is_source &= all("".join(text[slice(*span)] for span in chunk.spans) == chunk.text for chunk in chunks)
    return chunks, text if is_source else None


class Library:
    """A retriever, and the files that it has read; a `StoredRetriever` notes them, so that they are read again only if they change."""

    def __init__(self, retriever: Retriever | StoredRetriever) -> None:
        self.retriever, self.failed = retriever, False
        notes = retriever.notes if isinstance(retriever, StoredRetriever) else {}
        self._files = {name: note for name, note in notes.items() if isinstance(note, dict) and "documents" in note}
        self._owners = {name: place for place, note in self._files.items() for name in note["documents"]}

    def read(self, reader: FileReader, files: Sequence[str]) -> None:
        """Read the files that have changed, in these files and folders, and forget those that are gone from the folders."""
        stored = self.retriever if isinstance(self.retriever, StoredRetriever) else None
        rule = "an index must be of a method with chunks of one level"
        require(stored is None or reader.chunker.is_flat, rule, reader.chunker.algorithm)
        inventory, index = Inventory(), "-" if stored is None else str(stored.path)
        names, states, changed = self._survey(reader, files, inventory, index)
        folders = [Path(file).absolute() for file in files if Path(file).is_dir()]
        absent = [place for place in self._files if place not in names]
        gone = [place for place in absent if any(map(Path(place).is_relative_to, folders))]
        self._take(reader, {names[place]: place for place in changed}, states, gone, inventory)
        report_inventory(inventory)
        if stored is not None:
            counts = f"{len(names) - len(changed)} unchanged, {len(changed)} read, {len(gone)} removed"
            click.echo(f"advchunk: files of {stored.path}: {counts}", err=True)

    def unread(self, reader: FileReader, files: Sequence[str], index: str) -> Iterator[tuple[Document, list[Chunk]]]:
        """Yield the documents that `read` would read, with their chunks, and report failures."""
        inventory = Inventory()
        names, _, changed = self._survey(reader, files, inventory, index)
        for _, result in reader.chunked([names[place] for place in changed], inventory):
            for failure in result.failures:
                self.failed = True
                click.echo(f"advchunk: {failure.source}: {reason_of(failure.error)}", err=True)
            yield from (pair for _, pair in result.documents)

    def _survey(
        self, reader: FileReader, files: Sequence[str], inventory: Inventory, index: str
    ) -> tuple[dict[str, str], dict[str, Any], list[str]]:
        """Return the names and the states of files by their places, and the places of those that have changed."""
        names = {_place(name): name for name in list_inputs(files, inventory, index=index)}
        states = {place: _state(name, reader) for place, name in names.items()}
        changed = [place for place in names if states[place] is None or states[place] != self._note(place)["state"]]
        return names, states, changed

    def _note(self, place: str) -> dict[str, Any]:
        note: dict[str, Any] = self._files.get(place) or {"state": None, "documents": []}
        return note

    def _take(
        self,
        reader: FileReader,
        places: dict[str, str],
        states: dict[str, Any],
        gone: Sequence[str],
        inventory: Inventory,
    ) -> None:
        """Read files by name, and write what is in them, each with its note, a batch at a time."""
        batch, unread, failures = _Batch(), {*places.values(), *gone}, list[tuple[str, str]]()
        for place in gone:
            self._forget(place, batch)
        for file, result in reader.results(list(places), inventory):
            place = places[file]
            if place in unread:
                if batch.size >= _BATCH:
                    self._write(batch)
                    batch = _Batch()
                self._forget(place, batch)
                self._files[place] = {"state": states[place], "documents": []}
                unread.remove(place)
            failed = [(failure.source, reason_of(failure.error)) for failure in result.failures]
            problems = [*failed, *self._accept(place, result, batch, unread)]
            if problems:
                self._files[place]["state"] = None
                failures += problems
            batch.notes[place] = self._files[place]
        self._write(batch)
        for name, reason in failures:
            click.echo(f"advchunk: {name}: {reason}", err=True)
        self.failed = bool(failures)

    def _accept(self, place: str, result: SourceResult, batch: _Batch, unread: Set[str]) -> Iterator[tuple[str, str]]:
        """Take the documents of a file, also from files that are still to be read; yield those that another file has."""
        for document, (chunks, text) in result.documents:
            owner = self._owners.get(document)
            if owner is not None and owner not in unread:
                yield document, "another document has the same name"
                continue
            if owner is not None:
                self._files[owner]["documents"].remove(document)
                batch.notes[owner] = self._files[owner]
            self._owners[document] = place
            self._files[place]["documents"].append(document)
            batch.chunks[document] = chunks
            if text is not None:
                batch.texts[document] = text

    def _forget(self, place: str, batch: _Batch) -> None:
        """Remove the documents of a file, which may be added again."""
        for document in self._files.pop(place, {}).get("documents", ()):
            del self._owners[document]
            batch.removed.append(document)
        batch.notes[place] = None

    def _write(self, batch: _Batch) -> None:
        if isinstance(self.retriever, StoredRetriever):
            if batch.notes:
                self.retriever.change(batch.chunks, texts=batch.texts, removed=batch.removed, notes=batch.notes)
        else:
            self.retriever.add_many(batch.chunks, batch.texts)


@dataclass(frozen=True)
class _Batch:
    """Documents and notes that are written at once."""

    chunks: dict[str, list[Chunk]] = field(default_factory=dict)
    texts: dict[str, str] = field(default_factory=dict)
    removed: list[str] = field(default_factory=list)
    notes: dict[str, Any] = field(default_factory=dict)

    @property
    def size(self) -> int:
        """The number of chunks."""
        return sum(map(len, self.chunks.values()))


def _place(name: str) -> str:
    """Return the place of a file, wherever the command is run; "-" for standard input."""
    return name if name == "-" else str(Path(name).absolute())


def _state(name: str, reader: FileReader) -> list[Any] | None:
    """Return the size and time of a file, which change when it does, and the settings; None for standard input, or without a file."""
    try:
        about = Path(name).stat()
    except OSError:
        return None
    return None if name == "-" else [about.st_size, about.st_mtime_ns, *reader.settings]
