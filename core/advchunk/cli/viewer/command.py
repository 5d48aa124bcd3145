"""``advchunk view``: show chunks as a page."""

from collections.abc import Callable, Iterable
from functools import partial
from pathlib import Path
from typing import Any

import click

from advchunk.chunkers import catalog
from advchunk.cli.common import reason_of, report_errors, split_method
from advchunk.cli.files import list_inputs, open_output, read_input, report_inventory
from advchunk.cli.options import ChunkerCommand, budget_option, chunker_options, set_up
from advchunk.errors import ConfigurationError, MissingExtra, require
from advchunk.readers.sources import FileSource, Inventory, read_sources
from advchunk.readers.writing import Content
from advchunk.records import Document
from advchunk.retrieval import PassageCutter


@click.command("view", cls=ChunkerCommand)
@click.argument("files", metavar="FILE...", nargs=-1, required=True)
@click.option(
    "-m", "--method", "methods", metavar="NAME[:K=V][,NAME]", default=catalog.default_name("mst-semantic"), show_default=True,  # noqa: E501
    help="Chunking method; several are shown side by side.",
)  # fmt: skip
@click.option("-o", "--out", metavar="PATH", default="chunks.html", show_default=True, help="The page to write.")
@click.option(
    "--question", metavar="TEXT", default="", help="Show what answers a question, and the passages cut for it."
)
@budget_option
@click.option("--open", "in_browser", is_flag=True, help="Open the page in a browser.")
@chunker_options(sizes=True)
def view_command(
    files: tuple[str, ...], methods: str, out: str, question: str, budget: int, in_browser: bool, pairs: tuple[str, ...],  # noqa: E501
    fallback: str | None, experimental: bool, encoding: str | None, content: Content, hidden: bool, **options: Any,
) -> None:  # fmt: skip
    """Write a page that shows the chunks of files: the text in color, sizes, scores, and where methods differ.

    With --question, it also shows how much evidence there is for each sentence, and which chunks the passages for the
    question cross.

    The page needs nothing else, and no network. An option that some of the methods do not have applies to the others.
    """
    from advchunk.cli.viewer import View

    options = {name: value for name, value in options.items() if value is not None}
    with report_errors():
        accepted = {text: _options_of(text) for text in filter(None, map(str.strip, methods.split(",")))}
        require(bool(accepted), "--method must name a method", methods)
        named = [*options, *(pair.partition("=")[0] for pair in pairs)]
        unused = sorted(set(named) - set().union(*accepted.values(), ["markup"]))
        require(not unused, f"options must be those of {' or '.join(accepted)}", unused)
    chunkers = {
        text: set_up(
            text, [pair for pair in pairs if pair.partition("=")[0] in own], fallback, experimental,
            {name: value for name, value in options.items() if name in own},
        ).chunker
        for text, own in accepted.items()
    }  # fmt: skip
    first = next(iter(chunkers.values()))
    inventory = Inventory()
    names = list_inputs(files, inventory, out)
    documents, failures = list[Document](), list[str]()
    read = partial(
        read_input, first, by_name="markup" not in options, encoding=encoding, content=content, hidden=hidden
    )
    for file in names:
        documents += _read(read, file, inventory, failures)
    if failures and not documents:
        raise click.ClickException("\n".join(failures))
    for failure in failures:
        click.echo(f"advchunk: {failure}", err=True)
    report_inventory(inventory)
    explanations = {name: [chunker.explain(document) for document in documents] for name, chunker in chunkers.items()}
    cutter = PassageCutter(language=options.get("language"), tokenizer=first.counter)
    title = ", ".join(_distinct(Path(file).name for file in names))
    with report_errors():
        page = View(explanations, title=title, question=question, budget=budget, cutter=cutter).html
    with open_output(out) as target:
        target.write(page)
    if out != "-":
        click.echo(out)
        if in_browser:
            click.launch(Path(out).resolve().as_uri())
    if failures:
        click.get_current_context().exit(1)


def _read(
    read: Callable[[FileSource], list[Document]], file: str, inventory: Inventory, failures: list[str]
) -> list[Document]:
    """Read the sources of a file, and add the name of each that fails, with the reason, to ``failures``."""
    documents, name, sources = list[Document](), file, read_sources(file, inventory)
    while True:
        try:
            if (source := next(sources, None)) is None:
                return documents
            name = source.name
            own = read(source)
            inventory.settle(
                name, {document.metadata["encoding"] for document in own if "encoding" in document.metadata}
            )
            documents += own
        except (OSError, ConfigurationError, MissingExtra) as error:
            inventory.settle(name, is_failed=True)
            failures.append(f"{name}: {reason_of(error)}")


def _options_of(text: str) -> set[str]:
    """Return the names of the parameters and resources that a method NAME[:K=V] has."""
    method, _ = split_method(text)
    about = catalog.describe(method)
    unused = set() if catalog.cuts_by_embeddings(method) else {"embedder", "cache"}
    return {*about["parameters"], *about["resources"], "fallback"} - unused


def _distinct(names: Iterable[str]) -> list[str]:
    """Return the first names, and how many more there are."""
    every = list(dict.fromkeys(names))
    return every[:3] + ([f"and {len(every) - 3} more"] if len(every) > 3 else [])
