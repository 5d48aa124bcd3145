# Written by tools/write_stubs.py from the lazy names and the registrations.
from advchunk.cli.viewer.page import View as View
from advchunk.registry import Registration

REGISTRATIONS: tuple[Registration, ...]
