"""The ``advchunk`` command line."""

import os
import sys
from io import TextIOWrapper
from typing import Any

import click

from advchunk import __version__, registry
from advchunk.cli.options import report_errors

_EXAMPLES = """\b
Examples:
  advchunk chunk notes.md
  advchunk chunk docs/*.md --format jsonl --out chunks.jsonl
  cat notes.md | advchunk chunk --format jsonl | head -1
  advchunk ask docs/ "How are tokens counted?" --budget 500
  advchunk view notes.md --method mst-semantic,recursive
  advchunk describe mst-semantic
  advchunk recommend docs/
  advchunk evaluate --data docs/ --out report/
"""


class _Commands(click.Group):
    def list_commands(self, ctx: click.Context) -> list[str]:  # noqa: ARG002
        return sorted(registry.names_of("command"))

    def get_command(self, ctx: click.Context, cmd_name: str) -> click.Command | None:  # noqa: ARG002
        row = registry.find("command", cmd_name)
        command: click.Command | None = row.load() if row else None
        return command

    def parse_args(self, ctx: click.Context, args: list[str]) -> list[str]:
        """Parse the arguments, which have no NUL, as from every shell."""
        if any("\0" in own for own in args):
            ctx.fail("arguments must have no NUL")
        return super().parse_args(ctx, args)

    def invoke(self, ctx: click.Context) -> Any:
        """Run a command, and report its errors."""
        if isinstance(sys.stdout, TextIOWrapper):
            sys.stdout.reconfigure(encoding="utf-8", errors="backslashreplace")  # names of files may have other bytes
        with report_errors():
            return super().invoke(ctx)


@click.group(cls=_Commands, epilog=_EXAMPLES, context_settings={"help_option_names": ["-h", "--help"]})
@click.version_option(__version__, message="%(prog)s %(version)s")
@click.pass_context
def main(context: click.Context) -> None:
    """Split text into chunks for retrieval."""
    if os.environ.get("NO_COLOR"):  # see https://no-color.org
        context.color = False
