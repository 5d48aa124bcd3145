"""The command line ``advchunk``: a module for chunking, one for what methods there are, one for which of them to take."""

from __future__ import annotations

import click

from advchunk import __version__
from advchunk.cli.chunking import chunk
from advchunk.cli.judging import evaluate, questions, recommend
from advchunk.cli.methods import describe, list_

_EXAMPLES = """\b
Examples:
  advchunk chunk notes.md
  advchunk chunk docs/*.md --format jsonl --out chunks.jsonl
  advchunk chunk notes.md --method recursive --param max_tokens=300
  cat notes.md | advchunk chunk --format jsonl | head -1
  advchunk describe mst-semantic
  advchunk recommend docs/
  advchunk evaluate --data docs/ --out report/
"""


@click.group(epilog=_EXAMPLES, context_settings={"help_option_names": ["-h", "--help"]})
@click.version_option(__version__, message="%(prog)s %(version)s")
def main() -> None:
    """Cut text into chunks for retrieval."""


for command in (chunk, list_, describe, evaluate, recommend, questions):
    main.add_command(command)
