"""Print the README's table of chunkers, made from the registry; --write puts it there, --check compares."""

from __future__ import annotations

import argparse
import re
from pathlib import Path

from advchunk.chunkers.registry import TABLE, params_of, summary

README = Path(__file__).parents[1] / "README.md"
PLACE = re.compile(r"(?<=<!-- chunkers -->\n).*?(?=<!-- /chunkers -->)", re.DOTALL)


def table() -> str:
    """Return a row a chunker, in the order of the registry."""
    rows = ["| name | classes | group | `max_tokens` | source | what it does |", "|---|---|---|---|---|---|"]
    for name, entry in TABLE.items():
        stem = entry.chunker.__name__.removesuffix("Chunker")
        does = summary(name).replace("``", "`")
        tokens = params_of(entry.chunker).max_tokens
        rows.append(f"| `{name}` | `{stem}` | {entry.group} | {tokens} | {entry.source} | {does} |")
    return "\n".join([*rows, ""])


def main() -> None:
    """Print, write or check."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--write", action="store_true", help="put it into README.md")
    parser.add_argument("--check", action="store_true", help="fail if README.md has another")
    given, text = parser.parse_args(), README.read_text(encoding="utf-8")
    written = PLACE.sub(lambda _: table(), text, count=1)
    if given.write:
        README.write_text(written, encoding="utf-8")
    elif given.check and written != text:
        parser.exit(1, "README.md has another table: run tools/readme_table.py --write\n")
    elif not given.check:
        print(table(), end="")


if __name__ == "__main__":
    main()
