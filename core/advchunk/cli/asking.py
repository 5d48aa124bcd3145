"""``advchunk ask``: print the passages of files that answer a question."""

import json
import os
import re
import shutil
import textwrap
from collections import deque
from collections.abc import Callable, Iterable, Iterator, Sequence
from contextlib import suppress
from itertools import chain, groupby
from pathlib import Path
from secrets import token_hex
from typing import Any, get_args

import click

from advchunk import __version__
from advchunk.chunkers import catalog
from advchunk.cli.chunking import SourceChunker, SourceResult
from advchunk.cli.common import RESOURCE_OPTIONS, exit_on_termination, report_errors
from advchunk.cli.files import FileInput, expand_folder, is_jsonl, iterate_sources, open_output
from advchunk.cli.options import ChunkerCommand, create_chunker, options_but_sizes, parse_params
from advchunk.errors import require
from advchunk.models.atomic import open_atomic
from advchunk.readers import formats
from advchunk.records import Chunk, Document
from advchunk.retrieval.cutting import PassageCutter
from advchunk.retrieval.passages import Passage, PassageOrder
from advchunk.retrieval.retriever import Retriever
from advchunk.retrieval.search import SearchMode
from advchunk.text.terms import make_stemmer, searchable_words, stop_words

_METHOD, _MAX_TOKENS = "recursive", 100
_MANIFEST = "advchunk-index"  # has no suffix, so that it is no document of a folder


@click.command("ask", cls=ChunkerCommand)
@click.argument("files", metavar="FILE...", nargs=-1)
@click.argument("question")
@click.option(
    "-b", "--budget", metavar="N", type=click.IntRange(1), default=1000, show_default=True,
    help="Tokens of all passages together.",
)  # fmt: skip
@click.option(
    "-f", "--format", "form", type=click.Choice(["text", "json", "jsonl", "markdown"]), default="text", show_default=True,
    help="Output format.",
)  # fmt: skip
@click.option(
    "--order", type=click.Choice(get_args(PassageOrder)), default="rank", show_default=True,
    help="Best passages first, or as they stand in the documents.",
)  # fmt: skip
@click.option(
    "--min-tokens", metavar="N", type=click.IntRange(0), default=0, help="Tokens that a passage has at least."
)
@click.option("--max-passages", metavar="N", type=click.IntRange(1), help="Number of passages at most.")
@click.option("--whole-chunks", is_flag=True, help="Print the best chunks as they are.")
@click.option(
    "--mode", type=click.Choice(get_args(SearchMode)), default="hybrid", show_default=True,
    help="Search by words (lexical), by vectors (dense), or by both.",
)  # fmt: skip
@click.option("--index", metavar="FOLDER", help="Keep what was read here, and read only files that have changed.")
@click.option("--color/--no-color", default=None, help="Use colors or not; by default, in a terminal.")
@click.option(
    "-m", "--method", metavar="NAME", default=_METHOD, show_default=True, help="Chunking method; see 'advchunk list'."
)
@options_but_sizes
def ask_command(
    files: tuple[str, ...], question: str, budget: int, form: str, order: PassageOrder, min_tokens: int,
    max_passages: int | None, whole_chunks: bool, mode: SearchMode, index: str | None, color: bool | None, method: str,
    pairs: tuple[str, ...], fallback: str | None, experimental: bool, encoding: str | None, **options: Any,
) -> None:  # fmt: skip
    """Print the passages of files that answer a question.

    Reads files and folders as 'advchunk chunk' does, and standard input if FILE is -. Passages are cut when the question is known: the best sentences fill the budget, and those that touch are one passage. Each has its place in the file. In a terminal, the words of the question have a color.

    Chunks only help to find them. With the method recursive they have 100 tokens; -p max_tokens=N sets another size.

    With --index, all that was read is kept in a folder, which may be in a folder of documents. The next call with the same settings reads only files whose size or time has changed.

    The exit code is 1 if a file fails, or if nothing is found.
    """
    with report_errors():
        _check_arguments(files, question)
        rule = "--whole-chunks must be used without --min-tokens and --max-passages"
        require(not (whole_chunks and (min_tokens or max_passages)), rule, min_tokens or max_passages)
    options = {name: value for name, value in options.items() if value is not None}
    resources = {name: options.pop(name) for name in RESOURCE_OPTIONS if name in options}
    params = parse_params(method, pairs, options)
    if method == _METHOD:
        params.setdefault("max_tokens", _MAX_TOKENS)
    embedder = resources.get("embedder")
    with report_errors():
        if mode != "lexical" and not catalog.cuts_by_embeddings(method):
            resources.pop("embedder", None)
    chunker = create_chunker(method, fallback, experimental or None, params, resources)
    language, by_name = params.get("language", "en"), "markup" not in params
    shared: dict[str, Any] = {
        "embedder": embedder,
        "tokenizer": resources.get("tokenizer"),
        "cutter": PassageCutter(min_tokens=min_tokens, max_passages=max_passages),
    }
    settings = [__version__, chunker.fingerprint(), mode, language, embedder, by_name, encoding]
    with report_errors(), exit_on_termination():
        library = _Library(Retriever(mode=mode, language=language, **shared), Path(index) if index else None, settings)
        library.load(shared)
        library.read(SourceChunker(chunker, _keep, by_name, encoding), _documents_in(files, library.folder))
        passages = library.retriever.passages(question, budget, order=order, whole_chunks=whole_chunks)
        is_known = bool(passages) or bool(len(library.retriever) and library.retriever.search(question, 1))
    is_asked = _word_filter(question, language)
    with open_output("-") as file:
        click.echo(_FORMATS[form](passages, is_asked, budget), file, nl=False, color=color)
    if not len(library.retriever):
        click.echo("advchunk: there is no text to search", err=True)
    elif not is_known:
        click.echo("advchunk: no word of the question is in the files (stop words do not count)", err=True)
    elif passages and not any(is_asked(word) for passage in passages for word in searchable_words(passage.text)):
        click.echo("advchunk: no word of the question is in these passages, which vectors alone have found", err=True)
    click.get_current_context().exit(1 if library.failed or not passages else 0)


def _check_arguments(files: Sequence[str], question: str) -> None:
    """Raise `ConfigurationError` if the question, which is the last argument, or the files are missing."""
    is_file = (
        len(os.fsencode(question)) < 256 and Path(question).exists() and (not files or formats.is_supported(question))
    )
    require(not is_file, "the last argument must be the question, after the files", question)
    require(bool(searchable_words(question)), "the question must have a word", question)
    require(bool(files), "files must stand before the question, or - for standard input", question)


def _documents_in(files: Iterable[str], index: Path | None) -> list[str]:
    """Return the files to read, each once, without those of an index."""
    names = {Path(name).absolute(): name for file in files for name in expand_folder(file, jsonl=True)}
    apart = index and index.absolute()
    return [
        name
        for path, name in names.items()
        if path != apart and not any((place / _MANIFEST).is_file() for place in (path, *list(path.parents)[:2]))
    ]


def _keep(document: Document, chunks: list[Chunk], _: float) -> tuple[list[Chunk], str | None]:
    """Return the chunks of a document, and its text if its headings and tables can be read in it, and chunks are of it."""
    text = document.text
    is_source = not document.markup
    is_source &= all("".join(text[slice(*span)] for span in chunk.spans) == chunk.text for chunk in chunks)
    return chunks, text if is_source else None


class _Library:
    """A retriever, and the files that it has read, which may be kept in a folder.

    In the folder are a file of JSON, and a folder of `Retriever.save`, which is not changed once the file names it.

    Parameters
    ----------
    retriever : an empty one.
    folder : to keep it in, if any.
    settings : JSON; what was kept with others is not used.
    """

    def __init__(self, retriever: Retriever, folder: Path | None, settings: list[Any]) -> None:
        self.retriever, self.folder, self.failed = retriever, folder, False
        self._settings, self._saved = settings, ""
        self._files = dict[str, dict[str, Any]]()  # the state of each, None to read it again, and its documents

    def load(self, shared: dict[str, Any]) -> None:
        """Take what was kept in the folder, if it is complete; ``shared`` are arguments of `Retriever.load`."""
        if self.folder is None:
            return
        path = self.folder / _MANIFEST
        if self.folder.exists() and not path.exists():
            others = [item.name for item in self.folder.iterdir() if not item.name.startswith(".")]
            require(not others, "--index must be a new or empty folder, or one that 'advchunk ask' has made", others[0])
        with suppress(OSError, ValueError, KeyError, TypeError):  # if it is damaged, all is read again
            kept = json.loads(path.read_text(encoding="utf-8"))
            self._saved = kept["folder"] if re.fullmatch(r"\.[0-9a-f]{16}", kept["folder"]) else ""
            if self._saved and kept["settings"] == self._settings:
                self.retriever, self._files = Retriever.load(self.folder / self._saved, **shared), kept["files"]

    def read(self, process: SourceChunker, names: Sequence[str]) -> None:
        """Read the files that have changed, forget those that are not named, and keep the result."""
        states = {name: _state(name) for name in names}
        same = {name for name, entry in self._files.items() if entry["state"] and entry["state"] == states.get(name)}
        if process.chunker.is_corpus_level and len(same) < len({*names, *self._files}):
            same = set()
        gone = [name for name in self._files if name not in same]
        for document in chain.from_iterable(self._files.pop(name)["documents"] for name in gone):
            self.retriever.remove(document)
        changed = [name for name in names if name not in same]
        if changed:
            self._add(process, changed, states)
        if self.folder is None:
            return
        counts = f"{len(same)} unchanged, {len(changed)} read, {len({*gone} - {*names})} removed"
        click.echo(f"advchunk: files of {self.folder}: {counts}", err=True)
        if changed or gone:
            self._save()

    def _add(self, process: SourceChunker, names: Sequence[str], states: dict[str, Any]) -> None:
        taken, chunks, texts = {*self.retriever.documents}, dict[str, list[Chunk]](), dict[str, str]()
        failures = list[tuple[str, str]]()
        self._files |= {name: {"state": states[name], "documents": []} for name in names}
        for file, result in _results(process, names):
            before = len(failures)
            failures += result.failures
            for document, (group, text) in result.documents:
                if document in taken:
                    failures.append((document, "another document has the same name"))
                    continue
                taken.add(document)
                self._files[file]["documents"].append(document)
                chunks[document] = group
                texts |= {} if text is None else {document: text}
            if len(failures) > before:
                self._files[file]["state"] = None
        for name, reason in failures:
            click.echo(f"advchunk: {name}: {reason}", err=True)
        self.failed = bool(failures)
        self.retriever.add_many(chunks, texts)

    def _save(self) -> None:
        folder, before, self._saved = self.folder, self._saved, f".{token_hex(8)}"
        assert folder is not None
        try:
            self.retriever.save(folder / self._saved)
            with open_atomic(folder / _MANIFEST, encoding="utf-8") as file:
                json.dump({"folder": self._saved, "settings": self._settings, "files": self._files}, file)
        except BaseException:
            shutil.rmtree(folder / self._saved, ignore_errors=True)
            raise
        if before:
            shutil.rmtree(folder / before, ignore_errors=True)


def _results(process: SourceChunker, names: Sequence[str]) -> Iterator[tuple[str, SourceResult]]:
    """Yield each file, or each document of a file of documents, with its result."""
    from tqdm import tqdm

    files, unreadable = deque[str](), list[tuple[str, SourceResult]]()

    def sources() -> Iterator[FileInput]:
        for name in tqdm(names, unit="file", leave=False, disable=True if len(names) == 1 else None):
            try:
                for source in iterate_sources(name, is_jsonl(name)):
                    files.append(name)
                    yield source
            except OSError as error:
                unreadable.append((name, SourceResult([], [(name, error.strerror or str(error))])))

    for result in process.stream(sources()):
        yield files.popleft(), result
    yield from unreadable


def _state(name: str) -> list[Any] | None:
    """Return the place, size and time of a file, which change when it does; None for standard input, or if there is no such file."""
    try:
        about = Path(name).stat()
    except OSError:
        return None
    return None if name == "-" else [str(Path(name).absolute()), about.st_size, about.st_mtime_ns]


def _word_filter(question: str, language: str) -> Callable[[str], bool]:
    """Return a function that tells whether a word has the stem of one in the question that is no stop word."""
    stem, left_out = make_stemmer("snowball", language), stop_words("snowball", language)
    asked = {stem(word.lower()) for word in searchable_words(question) if word.lower() not in left_out}
    return lambda word: word.lower() not in left_out and stem(word.lower()) in asked


def _highlight(text: str, is_asked: Callable[[str], bool]) -> str:
    """Color the words of the question in a text."""
    words = [word for word in {*searchable_words(text)} if is_asked(word)]
    # A pair of characters of a script without spaces is a word wherever it stands.
    edges = {word: ("", "") if searchable_words(word * 2) != [word * 2] else (r"(?<!\w)", r"(?!\w)") for word in words}
    forms = [before + re.escape(word).replace("'", "['’]") + after for word, (before, after) in edges.items()]
    if not forms:
        return text
    matches = re.finditer(f"(?=({'|'.join(sorted(forms, key=len, reverse=True))}))", text)
    colored = {i for match in matches for i in range(*match.span(1))}
    runs = groupby(range(len(text)), colored.__contains__)
    parts = [(is_colored, "".join(text[i] for i in places)) for is_colored, places in runs]
    return "".join(click.style(part, fg="red", bold=True) if is_colored else part for is_colored, part in parts)


def _format_text(passages: Sequence[Passage], is_asked: Callable[[str], bool], budget: int) -> str:
    parts = list[str]()
    for rank, passage in enumerate(passages, 1):
        parts.append(f"[{rank}]  {click.style(passage.citation, bold=True)}  {passage.tokens} tokens")
        first, _, rest = passage.context.partition("\n")
        context = rest if passage.heading.startswith(first) else passage.context  # the citation has the headings
        parts += [click.style(textwrap.indent(context.strip(), "  > "), dim=True)] if context.strip() else []
        parts += [textwrap.indent(_highlight(passage.text.strip("\r\n"), is_asked), "    "), ""]
    number = f"{len(passages)} passage{'s' * (len(passages) != 1)}"
    tokens = sum(passage.tokens for passage in passages)
    summary = click.style(f"{number}, {tokens} of at most {budget} tokens", bold=True)
    return "\n".join([*parts, summary, ""]) if passages else ""


def _format_markdown(passages: Sequence[Passage], *_: object) -> str:
    def escape(text: str) -> str:
        return re.sub(r"[\\`*<\[\]]|(?<!\w)_|_(?!\w)", r"\\\g<0>", text)

    parts = [
        f"**{rank}. {escape(passage.citation)}**\n\n{passage.prompt_text.strip()}\n"
        for rank, passage in enumerate(passages, 1)
    ]
    return "\n".join(parts)


def _format_jsonl(passages: Sequence[Passage], *_: object) -> str:
    return "".join(json.dumps(_record(passage), ensure_ascii=False) + "\n" for passage in passages)


def _format_json(passages: Sequence[Passage], *_: object) -> str:
    return json.dumps([_record(passage) for passage in passages], ensure_ascii=False, indent=2) + "\n"


def _record(passage: Passage) -> dict[str, Any]:
    names = ("document", "spans", "citation", "heading", "page", "lines", "score", "tokens", "text", "context")
    return {name: getattr(passage, name) for name in names} | {"chunk_ids": [hit.chunk.id for hit in passage.hits]}


_FORMATS: dict[str, Callable[[Sequence[Passage], Callable[[str], bool], int], str]] = {
    "text": _format_text, "json": _format_json, "jsonl": _format_jsonl, "markdown": _format_markdown,
}  # fmt: skip
