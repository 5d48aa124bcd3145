# Written by tools/write_stubs.py from the lazy names and the registrations.
from advchunk.chunkers.by_page.grobid_client import GrobidClient as GrobidClient
from advchunk.registry import Registration

REGISTRATIONS: tuple[Registration, ...]
