"""``advchunk list`` and ``advchunk describe``: show the available methods."""

import json
import re
import textwrap

import click

from advchunk.chunkers import catalog
from advchunk.chunkers.docstrings import parameter_docs
from advchunk.chunkers.params import ChunkerGroup
from advchunk.cli.options import RESOURCE_OPTIONS, RESOURCE_PARAMS, format_option, report_errors

_SECTION = re.compile(r"\n+(\w+)\n-{3,}\n")


@click.command("list")
@click.option("--group", type=click.Choice(["stable", "experimental"]), help="Show only this group.")
@format_option
def list_command(group: ChunkerGroup | None, form: str) -> None:
    """List the available methods."""
    rows = [{k: catalog.describe(name)[k] for k in ("name", "group", "summary")} for name in catalog.names(group)]
    if form == "json":
        click.echo(json.dumps(rows, indent=2))
        return
    width = max((len(row["name"]) for row in rows), default=0)
    for row in rows:
        click.echo(f"{click.style(row['name'].ljust(width), bold=True)}  {row['group']:<12}  {row['summary']}")


@click.command("describe")
@click.argument("name")
@format_option
def describe_command(name: str, form: str) -> None:
    """Show a method's documentation and parameters."""
    with report_errors():
        method = catalog.describe(name)
    if form == "json":
        click.echo(json.dumps(method, indent=2, ensure_ascii=False))
        return
    origin = f"from {method['source']}" + (f"; needs advchunk[{method['extra']}]" if method["extra"] else "")
    click.echo(f"{click.style(name, bold=True)} ({method['group']}), {origin}\n")
    for warning in method["warnings"]:
        click.secho(f"{warning}\n", fg="yellow")
    prose, *sections = _SECTION.split(method["documentation"])
    click.echo(prose)
    docs = parameter_docs(catalog.chunker_class(name).__doc__ or "")
    click.secho("\nParameters", bold=True)
    for param, default in method["parameters"].items():
        click.echo(f"\n  {click.style(param, bold=True)} = {json.dumps(default)}")
        click.echo(textwrap.indent(textwrap.fill(docs.get(param, ""), 96), "    "))
    if method["presets"]:
        click.secho("\nPresets", bold=True)
    for preset, values in method["presets"].items():
        settings = ", ".join(f"{param} = {json.dumps(value)}" for param, value in values.items())
        click.echo(f"\n  {click.style(preset, bold=True)}: {settings}")
    ways = {name: f"--{name}" for name in RESOURCE_OPTIONS} | {name: f"-p {name}=NAME" for name in RESOURCE_PARAMS}
    resources = [ways.get(name, f"{name} (Python only)") for name in method["resources"]]
    click.echo(f"\n{click.style('Resources', bold=True)}\n\n  {', '.join(resources)}")
    for title, body in zip(sections[::2], sections[1::2], strict=True):
        if title != "Parameters":
            click.echo(f"\n{click.style(title, bold=True)}\n\n{textwrap.indent(body, '  ')}")
