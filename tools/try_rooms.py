"""Run the tests of each room with the kernel alone, in copies of the core; those of the kernel alone are in `make test`.

    python tools/try_rooms.py [ROOM]...

A test elsewhere that needs an absent room belongs to it, and is skipped (`tests/without_rooms.py`). Rooms do not import each
other (`tests/test_layering.py`), so that what a room passes with the kernel alone, it passes without any other room.
"""

import argparse
import json
import os
import re
import shutil
import subprocess
import sys
import tempfile
from collections.abc import Iterator, Sequence
from pathlib import Path
from typing import get_args

from advchunk import registry

ROOT = Path(__file__).resolve().parents[1]
CORE = ROOT / "core" / "advchunk"
KERNEL = {"chunkers", "cli", "engine", "models", "numerics", "readers", "retrieval", "text"}
ROOMS = sorted({path.parent.name for path in CORE.glob("*/__init__.py")} - KERNEL)


def names_in(rooms: Sequence[str]) -> Iterator[tuple[str, str]]:
    """Yield the names of rooms, and of what is in their tables, also in the adapters, each with its room."""
    for room in rooms:
        yield f"advchunk.{room}", room
    for kind in get_args(registry.Kind):
        for row in registry.rows(kind, ours=True):
            if (room := row.path.replace(":", ".").split(".")[1]) in rooms:
                yield row.name, room
                if kind == "chunker":
                    stem = row.attribute.removesuffix("Chunker")
                    yield from ((stem + suffix, room) for suffix in ("Chunker", "Splitter", "NodeParser"))


def copy_without(rooms: Sequence[str], folder: Path) -> None:
    """Copy the core into a folder, without some rooms."""
    copy = shutil.copytree(CORE, folder / "advchunk")
    for room in rooms:
        shutil.rmtree(copy / room)


def run_tests(*arguments: str, without: Sequence[str]) -> dict[str, int]:
    """Run tests without some rooms; return how many passed and were skipped, or raise `RuntimeError` with the output.

    Parameters
    ----------
    arguments : of pytest.
    without : the rooms that are deleted in a copy of the core.
    """
    command = [sys.executable, "-m", "pytest", "-q", "-p", "no:cacheprovider", "-p", "without_rooms", *arguments]
    with tempfile.TemporaryDirectory() as folder:
        copy_without(without, Path(folder))
        path = os.pathsep.join([folder, str(ROOT), str(ROOT / "tests")])
        environment = {**os.environ, "PYTHONPATH": path, "WITHOUT_ROOMS": json.dumps(dict(names_in(without)))}
        run = subprocess.run(command, env=environment, cwd=ROOT, capture_output=True, text=True, check=False)
    if run.returncode:
        raise RuntimeError(run.stdout + run.stderr)
    summary = run.stdout.splitlines()[-1]
    return {outcome: int(number) for number, outcome in re.findall(r"(\d+) (passed|skipped)", summary)}


def rooms_of(arguments: Sequence[str] | None = None) -> list[str]:
    """Return the rooms that a command line names: all where it names none."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("rooms", nargs="*", metavar="ROOM", help=", ".join(ROOMS))
    rooms = parser.parse_args(arguments).rooms  # argparse checks a default list as if it were one choice
    if unknown := set(rooms) - set(ROOMS):
        parser.error(f"no room is named {', '.join(sorted(unknown))}: the rooms are {', '.join(ROOMS)}")
    return rooms or ROOMS


def main() -> int:
    """Run the script."""
    failed = 0
    for room in rooms_of():
        try:
            print(room, run_tests(f"tests/{room}", without=[other for other in ROOMS if other != room]), flush=True)
        except RuntimeError as error:
            print(room, error, sep="\n", flush=True)
            failed += 1
    return failed


if __name__ == "__main__":
    sys.exit(main())
