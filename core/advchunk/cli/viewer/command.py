"""``advchunk view``: show chunks as a page."""

from collections.abc import Callable, Iterable
from functools import partial
from pathlib import Path
from typing import Any

import click

from advchunk.chunkers import catalog
from advchunk.cli import options as shared
from advchunk.cli.files import list_inputs, open_output, read_input, report_inventory
from advchunk.errors import ConfigurationError, MissingExtra, require
from advchunk.readers.sources import FileSource, Inventory, read_sources
from advchunk.records import Document
from advchunk.retrieval import PassageCutter

_OF_ALL = {"fallback", "experimental", *shared.READING_OPTIONS, "pairs"}  # options of any method


@click.command("view", cls=shared.ChunkerCommand)
@click.argument("files", metavar="FILE...", nargs=-1, required=True)
@click.option(
    "-m", "--method", "methods", metavar="NAME[:K=V][,NAME]", default=catalog.default_name("mst-semantic"), show_default=True,  # noqa: E501
    help="Chunking method; several are shown side by side.",
)  # fmt: skip
@click.option("-o", "--out", metavar="PATH", default="chunks.html", show_default=True, help="The page to write.")
@click.option(
    "--question", metavar="TEXT", default="", help="Show what answers a question, and the passages cut for it."
)
@shared.budget_option
@click.option("--open", "in_browser", is_flag=True, help="Open the page in a browser.")
@shared.chunker_options(sizes=True)
def view_command(
    files: tuple[str, ...], methods: str, out: str, question: str, budget: int, in_browser: bool, **options: Any
) -> None:
    """Write a page that shows the chunks of files.

    It has the text in color, sizes, scores, and where methods differ. With --question, it also shows how much evidence
    there is for each sentence, and which chunks the passages for the question cross. The page needs no network.
    An option that some of the methods do not have applies to the others.
    """
    from advchunk.cli.viewer import View

    options, pairs = {name: value for name, value in options.items() if value is not None}, options["pairs"]
    accepted = dict[str, set[str]]()
    with shared.report_errors():
        for text in filter(None, map(str.strip, methods.split(","))):
            method = text.partition(":")[0]
            about = catalog.describe(method)
            unused = set() if catalog.cuts_by_embeddings(method) else {"embedder", "cache"}
            accepted[text] = {*about["parameters"], *about["resources"]} - unused
        require(bool(accepted), "--method must name a method", methods)
        named = {*options, *(pair.partition("=")[0] for pair in pairs)} - _OF_ALL - {"markup"}
        others = sorted(named.difference(*accepted.values()))
        require(not others, f"options must belong to {' or '.join(accepted)}", others)
    setups = dict[str, shared.Setup]()
    for text, own in accepted.items():
        settings = {name: value for name, value in options.items() if name in own | _OF_ALL}
        settings["pairs"] = [pair for pair in pairs if pair.partition("=")[0] in own]
        setups[text] = shared.set_up(text, settings)
    chunkers = {text: setup.chunker for text, setup in setups.items()}
    first, _, reading = next(iter(setups.values()))
    inventory = Inventory()
    names = list_inputs(files, inventory, out)
    read = partial(read_input, first, **{**reading, "by_name": "markup" not in options})
    documents, failures = _read(read, names, inventory)
    for failure in failures:
        click.echo(f"advchunk: {failure}", err=True)
    report_inventory(inventory)
    if not documents:
        click.get_current_context().exit(1)
    cutter = PassageCutter(language=options.get("language"), tokenizer=first.counter)
    titles = list(dict.fromkeys(Path(file).name for file in names))
    title = ", ".join(titles[:3] + [f"and {len(titles) - 3} more"] * (len(titles) > 3))
    with shared.report_errors():
        explanations = {name: list(map(chunker.explain, documents)) for name, chunker in chunkers.items()}
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
    read: Callable[[FileSource], list[Document]], files: Iterable[str], inventory: Inventory
) -> tuple[list[Document], list[str]]:
    """Return the documents of files, and the name of each source that fails, with the reason."""
    documents, failures = list[Document](), list[str]()
    for file in files:
        name, sources = file, read_sources(file, inventory)
        while True:
            try:
                if (source := next(sources, None)) is None:
                    break
                name = source.name
                made = read(source)
                inventory.settle(name, {d.metadata["encoding"] for d in made if "encoding" in d.metadata})
                documents += made
            except (OSError, ConfigurationError, MissingExtra) as error:
                inventory.settle(name, is_failed=True)
                failures.append(f"{name}: {shared.reason_of(error)}")
    return documents, failures
