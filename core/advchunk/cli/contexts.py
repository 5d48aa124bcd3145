"""The option ``--context``: say where each chunk belongs, by its document's own words or by a model."""

from typing import Any

import click

from advchunk import registry
from advchunk.chunkers import catalog
from advchunk.chunkers.base import Chunker
from advchunk.cli.common import report_errors
from advchunk.errors import require

_OF_THE_MODEL = ("llm", "llm_model", "cache")

context_option = click.option(
    "--context", is_flag=True,
    help="Add a sentence or two on each chunk's place in its document to its context: by the model --llm, else in its document's own words.",
)  # fmt: skip


estimate_option = click.option(
    "--estimate", is_flag=True, help="With --context and --llm, only tell what the model would be asked."
)


def check_estimate(estimate: bool, context: bool, llm: Any) -> None:
    """Raise `ConfigurationError` if there is nothing to estimate."""
    require(not estimate or (context and llm is not None), "--estimate needs --context and a model, --llm", llm)


def print_estimate(estimate: Any) -> None:
    """Print what a model would be asked (`advchunk.enrich.Estimate`)."""
    prompts = (
        f"{estimate.prompt_tokens:,} tokens of prompts, {estimate.prefix_tokens:,} of which a prefix cache may have"
    )
    click.echo(f"{estimate.requests:,} requests: {prompts}, and at most {estimate.completion_tokens:,} of answers")


def take_model(method: str, params: dict[str, Any], resources: dict[str, Any]) -> dict[str, Any]:
    """Return the options of the model that is asked about contexts, and remove those that the method does not take."""
    if "llm" not in resources:
        return {}
    model = {name: values[name] for values in (params, resources) for name in _OF_THE_MODEL if name in values}
    taken = catalog.describe(method)["resources"]
    if "llm" not in taken:
        resources.pop("llm")
        params.pop("llm_model", None)
    if not catalog.cuts_by_embeddings(method):
        resources.pop("cache", None)
    return model


def create_enricher(chunker: Chunker, model: dict[str, Any]) -> Any:
    """Return the enricher that adds contexts to the chunks of a chunker, or exit with an error message."""
    with report_errors():
        row = registry.find("enricher", "contextual")
        require(row is not None, "--context needs the package advchunk.enrich", "none")
        limits = {"tokenizer": chunker.counter, "max_tokens": chunker.max_tokens, "markup": chunker.markup}
        enricher = row.load()(**limits, **model)  # type: ignore[union-attr]
        enricher.load()
    return enricher
