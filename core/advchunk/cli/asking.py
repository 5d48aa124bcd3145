"""``advchunk ask``: print the passages of files that answer a question."""

import json
import os
import re
import textwrap
from collections.abc import Callable, Sequence
from functools import partial
from itertools import groupby
from pathlib import Path
from typing import Any, get_args

import click

from advchunk.cli import options as shared
from advchunk.cli.files import open_output
from advchunk.cli.indexing import METHOD, make_reader, read_files
from advchunk.errors import require
from advchunk.readers import formats
from advchunk.retrieval.cutting import PassageCutter
from advchunk.retrieval.index_file import is_index
from advchunk.retrieval.library import Library
from advchunk.retrieval.passages import Passage, PassageOrder
from advchunk.retrieval.retriever import Retriever
from advchunk.retrieval.search import SearchMode
from advchunk.retrieval.stored import StoredRetriever
from advchunk.text.detection import AUTO
from advchunk.text.search_terms import query_words, split_words, word_terms

_to_json = partial(json.dumps, ensure_ascii=False)


@click.command("ask", cls=shared.ChunkerCommand)
@click.argument("files", metavar="FILE...", nargs=-1)
@click.argument("question")
@shared.budget_option
@click.option(
    "-f", "--format", "form", type=click.Choice(["text", "json", "jsonl", "markdown"]), default="text", show_default=True,  # noqa: E501
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
    "--mode", type=click.Choice(get_args(SearchMode)),
    help="Search by words (lexical), by vectors (dense), or by both, which is the default.",
)  # fmt: skip
@click.option(
    "--index", metavar="PATH", help="Search this index; with FILES, keep them there, and read only what has changed."
)
@click.option("--color/--no-color", default=None, help="Use colors or not; by default, in a terminal.")
@shared.method_option(METHOD)
@shared.chunker_options(context=True)
def ask_command(
    files: tuple[str, ...], question: str, budget: int, form: str, order: PassageOrder, min_tokens: int,
    max_passages: int | None, whole_chunks: bool, mode: SearchMode | None, index: str | None, color: bool | None,
    method: str, **options: Any,
) -> None:  # fmt: skip
    """Print the passages of files that answer a question.

    Reads files and folders as 'advchunk chunk' does, and standard input if FILE is -. Passages are cut when the
    question is known: the best sentences fill the budget, and those that touch are one passage. Each has its place in
    the file. In a terminal, the words of the question have a color.

    Chunks only help to find them. With the method recursive they have 100 tokens; -p max_tokens=N sets another size.

    With --index, what was read is kept in a file, as 'advchunk index' does, and all that is kept there is searched.
    Without FILES, nothing is read. An index in place of FILE is searched, too. If a file fails, or nothing is found,
    the exit code is 1.
    """
    if index is None and len(files) == 1 and is_index(Path(files[0])):
        index, files = files[0], ()
    with shared.report_errors():
        _check_arguments(files, question, index)
        rule = "--whole-chunks must be used without --min-tokens and --max-passages"
        require(not (whole_chunks and (min_tokens or max_passages)), rule, min_tokens or max_passages)
    reader, resources = make_reader(method, options, embeds=mode != "lexical")
    resources["cutter"] = PassageCutter(min_tokens=min_tokens, max_passages=max_passages)
    language = options.get("language")
    with shared.report_errors(), shared.exit_on_termination():
        retriever = (
            StoredRetriever(index, mode=mode, language=language, **resources)
            if index
            else Retriever(mode=mode or "hybrid", language=language or AUTO, **resources)
        )
        failed = bool(files) and read_files(Library(retriever), reader, files)
        passages = retriever.passages(question, budget, order=order, whole_chunks=whole_chunks)
        is_known = bool(passages) or bool(len(retriever) and retriever.search(question, 1))
    is_asked = _word_filter(question)
    with open_output("-") as file:
        click.echo(_FORMATS[form](passages, is_asked, budget), file, nl=False, color=color)
    if not len(retriever):
        click.echo("advchunk: there is no text to search", err=True)
    elif not is_known:
        click.echo("advchunk: no word of the question is in the files", err=True)
    elif passages and not any(is_asked(word) for passage in passages for word in split_words(passage.text)):
        click.echo("advchunk: no word of the question is in these passages, which vectors alone have found", err=True)
    click.get_current_context().exit(failed or not passages)


def _check_arguments(files: Sequence[str], question: str, index: str | None) -> None:
    """Raise `ConfigurationError` if the question, which is the last argument, or the files are missing."""
    may_be_file = len(os.fsencode(question)) < 256 and (not files or formats.is_supported(question))
    is_file = may_be_file and Path(question).exists()
    require(not is_file, "the last argument must be the question, after the files", question)
    require(bool(split_words(question)), "the question must have a word", question)
    if not files:
        require(index is not None, "files must come before the question, or - for standard input", question)
        require(Path(str(index)).is_file(), "without files, --index must name an index that exists", index)


def _word_filter(question: str) -> Callable[[str], bool]:
    """Return a function that says if a word is of the question, or has half the pieces of one."""
    asked = [own for own in map(word_terms, query_words(question)) if own.stem]

    def is_asked(word: str) -> bool:
        stem, pieces = word_terms(word)
        return any(
            stem == own.stem or 2 * len({*pieces} & {*own.pieces}) > max(len(pieces), len(own.pieces)) for own in asked
        )

    return is_asked


def _highlight(text: str, is_asked: Callable[[str], bool]) -> str:
    forms = list[str]()
    for word in filter(is_asked, {*split_words(text)}):
        form = re.escape(word).replace("'", "['’]")
        # A pair of characters of a script without spaces is a word wherever it stands.
        forms.append(form if split_words(word * 2) != [word * 2] else rf"(?<!\w){form}(?!\w)")
    if not forms:
        return text
    matches = re.finditer(f"(?=({'|'.join(sorted(forms, key=len, reverse=True))}))", text)
    colored = {i for match in matches for i in range(*match.span(1))}
    runs = ((is_in, "".join(text[i] for i in own)) for is_in, own in groupby(range(len(text)), colored.__contains__))
    return "".join(click.style(part, fg="red", bold=True) if is_in else part for is_in, part in runs)


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
    heads = [re.sub(r"[\\`*<\[\]]|(?<!\w)_|_(?!\w)", r"\\\g<0>", passage.citation) for passage in passages]
    rows = enumerate(zip(heads, passages, strict=True), 1)
    return "\n".join(f"**{rank}. {head}**\n\n{passage.prompt_text.strip()}\n" for rank, (head, passage) in rows)


def _record(passage: Passage) -> dict[str, Any]:
    names = ("document", "spans", "citation", "heading", "page", "lines", "score", "tokens", "text", "context")
    return {name: getattr(passage, name) for name in names} | {"chunk_ids": [hit.chunk.id for hit in passage.hits]}


_FORMATS: dict[str, Callable[[Sequence[Passage], Callable[[str], bool], int], str]] = {
    "text": _format_text, "markdown": _format_markdown,
    "json": lambda passages, *_: _to_json([_record(passage) for passage in passages], indent=2) + "\n",
    "jsonl": lambda passages, *_: "".join(_to_json(_record(passage)) + "\n" for passage in passages),
}  # fmt: skip
