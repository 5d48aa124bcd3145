# Written by tools/write_stubs.py from the lazy names and the registrations.
from advchunk.cli.group import main as main
from advchunk.registry import Registration

REGISTRATIONS: tuple[Registration, ...]
