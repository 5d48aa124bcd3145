"""``advchunk list`` and ``advchunk describe``: what methods there are."""

from __future__ import annotations

import json
import re
import textwrap
from dataclasses import fields
from inspect import getdoc

import click

from advchunk.chunkers import registry
from advchunk.chunkers.base import Chunker
from advchunk.chunkers.params import Params
from advchunk.cli.common import NAMED, errors_said

_SECTION = re.compile(r"\n+(\w+)\n-{3,}\n")


@click.command("list")
@click.option("--group", type=click.Choice(["stable", "experimental"]), help="Only these.")
@click.option("-f", "--format", "form", type=click.Choice(["text", "json"]), default="text", show_default=True)
def list_(group: registry.ChunkerGroup | None, form: str) -> None:
    """List the methods, a line each."""
    rows = [{k: registry.describe(name)[k] for k in ("name", "group", "summary")} for name in registry.names(group)]
    if form == "json":
        click.echo(json.dumps(rows, indent=2))
        return
    wide = max((len(row["name"]) for row in rows), default=0)
    for row in rows:
        click.echo(f"{click.style(row['name'].ljust(wide), bold=True)}  {row['group']:<12}  {row['summary']}")


@click.command()
@click.argument("name")
@click.option("-f", "--format", "form", type=click.Choice(["text", "json"]), default="text", show_default=True)
def describe(name: str, form: str) -> None:
    """Describe a method and its parameters."""
    with errors_said():
        known = registry.describe(name)
    if form == "json":
        click.echo(json.dumps(known, indent=2, ensure_ascii=False))
        return
    origin = f"from {known['source']}" + (f"; needs advchunk[{known['extra']}]" if known["extra"] else "")
    click.echo(f"{click.style(name, bold=True)} ({known['group']}), {origin}\n")
    for warning in known["warnings"]:
        click.secho(f"{warning}\n", fg="yellow")
    prose, *rest = _SECTION.split(known["documentation"])
    click.echo(prose)
    documented = _documented(registry.TABLE[name].chunker)
    click.secho("\nParameters", bold=True)
    for param, default in known["parameters"].items():
        click.echo(f"\n  {click.style(param, bold=True)} = {json.dumps(default)}")
        click.echo(textwrap.fill(documented.get(param, ""), 100, initial_indent="    ", subsequent_indent="    "))
    resources = [f"--{name}" if name in NAMED else f"{name} (Python only)" for name in known["resources"]]
    click.echo(f"\n{click.style('Resources', bold=True)}\n\n  {', '.join(resources)}")
    for title, body in zip(rest[::2], rest[1::2], strict=True):
        if title != "Parameters":
            click.echo(f"\n{click.style(title, bold=True)}\n\n{textwrap.indent(body, '  ')}")


def _documented(chunker: type[Chunker]) -> dict[str, str]:
    """Return what the docstrings of a chunker and its bases say of each field, in one line."""
    found: dict[str, str] = {}
    for cls in reversed(chunker.__mro__):
        if not issubclass(cls, Params):
            continue
        sections = _SECTION.split(getdoc(cls) or "")
        body = dict(zip(sections[1::2], sections[2::2], strict=True)).get("Parameters", "")
        for entry in re.split(r"\n(?=\S)", body):
            names, colon, said = " ".join(entry.split()).partition(" : ")
            for name in names.split(", ") if colon else ():
                inherited = found.get(name, "").rstrip(".")
                found[name] = re.sub(r"as in `\w+`", lambda _: inherited, said)  # noqa: B023 - called at once
    return {f.name: found[f.name] for f in fields(chunker) if f.name in found}
