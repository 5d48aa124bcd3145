# Written by tools/write_stubs.py from the lazy names and the registrations.
from advchunk.chunkers.experimental.edus import Edus as Edus
from advchunk.chunkers.experimental.topics import TopicModel as TopicModel
from advchunk.registry import Registration

REGISTRATIONS: tuple[Registration, ...]
