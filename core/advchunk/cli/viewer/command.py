"""``advchunk view``: show chunks as a page."""

from collections.abc import Callable, Iterable
from functools import partial
from pathlib import Path
from typing import Any

import click

from advchunk.chunkers import catalog
from advchunk.cli.files import list_inputs, open_output, read_input, report_inventory
from advchunk.cli.options import (
    ChunkerCommand,
    Setup,
    budget_option,
    chunker_options,
    reason_of,
    report_errors,
    set_up,
    split_method,
)
from advchunk.errors import ConfigurationError, MissingExtra, require
from advchunk.readers.sources import FileSource, Inventory, read_sources
from advchunk.records import Document
from advchunk.retrieval import PassageCutter

_OF_ALL = {"markup", "fallback", "experimental", "encoding", "content", "hidden", "pairs"}  # options of any method


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
    files: tuple[str, ...], methods: str, out: str, question: str, budget: int, in_browser: bool, **options: Any
) -> None:
    """Write a page that shows the chunks of files: the text in color, sizes, scores, and where methods differ.

    With --question, it also shows how much evidence there is for each sentence, and which chunks the passages for the
    question cross.

    The page needs nothing else, and no network. An option that some of the methods do not have applies to the others.
    """
    from advchunk.cli.viewer import View

    options, pairs = {name: value for name, value in options.items() if value is not None}, options["pairs"]
    with report_errors():
        accepted = {text: _options_of(text) for text in filter(None, map(str.strip, methods.split(",")))}
        require(bool(accepted), "--method must name a method", methods)
        named = {*options, *(pair.partition("=")[0] for pair in pairs)} - _OF_ALL
        unused = sorted(named - set().union(*accepted.values()))
        require(not unused, f"options must be those of {' or '.join(accepted)}", unused)
    setups = dict[str, Setup]()
    for text, own in accepted.items():
        given = {name: value for name, value in options.items() if name in own | _OF_ALL}
        setups[text] = set_up(text, {**given, "pairs": [pair for pair in pairs if pair.partition("=")[0] in own]})
    chunkers = {text: setup.chunker for text, setup in setups.items()}
    first, _, reading = next(iter(setups.values()))
    inventory = Inventory()
    names = list_inputs(files, inventory, out)
    documents, failures = list[Document](), list[str]()
    read = partial(read_input, first, **{**reading, "by_name": "markup" not in options})
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
    return {*about["parameters"], *about["resources"]} - unused


def _distinct(names: Iterable[str]) -> list[str]:
    """Return the first names, and how many more there are."""
    every = list(dict.fromkeys(names))
    return every[:3] + ([f"and {len(every) - 3} more"] if len(every) > 3 else [])
