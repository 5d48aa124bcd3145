"""Print the table of chunkers from the registry; --write updates the guide that has it, --check compares."""

from __future__ import annotations

import argparse
import re
from pathlib import Path

from advchunk.chunkers.catalog import chunker_class, describe, names

GUIDE = Path(__file__).parents[1] / "docs" / "guides" / "chunkers.md"
PLACE = re.compile(r"(?<=<!-- chunkers -->\n).*?(?=<!-- /chunkers -->)", re.DOTALL)


def table() -> str:
    """Return the table, with one row per chunker in registry order."""
    rows = ["| name | classes | group | `max_tokens` | what it does |", "|---|---|---|---|---|"]
    for name in names():
        facts, stem = describe(name), chunker_class(name).__name__.removesuffix("Chunker")
        tokens = facts["parameters"]["max_tokens"]
        rows.append(f"| `{name}` | `{stem}` | {facts['group']} | {tokens} | {facts['summary']} |")
    return "\n".join([*rows, ""])


def main() -> None:
    """Print, write, or check the table."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--write", action="store_true", help="update the guide")
    parser.add_argument("--check", action="store_true", help="fail if the guide differs")
    args, text = parser.parse_args(), GUIDE.read_text(encoding="utf-8")
    updated = PLACE.sub(lambda _: table(), text, count=1)
    if args.write:
        GUIDE.write_text(updated, encoding="utf-8")
    elif args.check and updated != text:
        parser.exit(1, "docs/guides/chunkers.md is out of date: run make tables\n")
    elif not args.check:
        print(table(), end="")


if __name__ == "__main__":
    main()
