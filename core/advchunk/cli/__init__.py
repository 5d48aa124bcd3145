"""The ``advchunk`` command line."""

import os

import click

from advchunk import __version__
from advchunk.cli.chunking import chunk_command
from advchunk.cli.evaluation import evaluate_command, questions_command, recommend_command
from advchunk.cli.methods import describe_command, list_command
from advchunk.cli.viewing import view_command

_EXAMPLES = """\b
Examples:
  advchunk chunk notes.md
  advchunk chunk docs/*.md --format jsonl --out chunks.jsonl
  advchunk chunk notes.md --method recursive --max-tokens 300
  cat notes.md | advchunk chunk --format jsonl | head -1
  advchunk view notes.md --method mst-semantic,recursive
  advchunk describe mst-semantic
  advchunk recommend docs/
  advchunk evaluate --data docs/ --out report/
"""
_COMMANDS = [
    chunk_command,
    view_command,
    list_command,
    describe_command,
    evaluate_command,
    recommend_command,
    questions_command,
]


@click.group(commands=_COMMANDS, epilog=_EXAMPLES, context_settings={"help_option_names": ["-h", "--help"]})
@click.version_option(__version__, message="%(prog)s %(version)s")
@click.pass_context
def main(context: click.Context) -> None:
    """Split text into chunks for retrieval."""
    if os.environ.get("NO_COLOR"):  # see https://no-color.org
        context.color = False
