"""The ids of chunks: stable from call to call, and unique within one."""

from collections.abc import Sequence
from hashlib import sha1
from json.encoder import encode_basestring_ascii

from advchunk.records import Chunk, evolve

_NAMESPACE = bytes.fromhex("6b211791b7da5f63b4050e7dd8bb81ea")  # uuid5(NAMESPACE_DNS, "advchunk")
_VARIANTS = dict(zip("0123456789abcdef", "89ab" * 4, strict=True))  # RFC 9562, section 5.5, also of the version, 5


def hashed_id(*parts: str | int) -> str:
    """Return the uuid5 of the parts, the same in every process."""
    # JSON escapes lone surrogates, which UTF-8 cannot encode, so every str has an id.
    quoted = ""
    for part in parts:
        quoted += f", {encode_basestring_ascii(part) if isinstance(part, str) else part}"
    text = sha1(_NAMESPACE + f"[{quoted[2:]}]".encode(), usedforsecurity=False).hexdigest()
    return f"{text[:8]}-{text[8:12]}-5{text[13:16]}-{_VARIANTS[text[16]]}{text[17:20]}-{text[20:32]}"


class IdGenerator:
    """Assigns chunk ids that are unique within a call and stable across calls.

    An id is uuid5 of (source, level, text to embed, occurrence among equal texts), without offsets or indices, so an
    edit changes only the ids of the chunks whose text or context it changes.
    """

    def __init__(self) -> None:
        self._used = set[int]()  # hashes of ids, because ids and texts would fill the memory
        self._next = dict[int, int]()  # occurrences of texts that were repeated

    def new_id(self, source: str, level: int, text: str) -> str:
        """Return the id of the next chunk of a document that has this level and this text to embed."""
        name = hashed_id(source, level, text, 0)
        first = last = hash(name)
        while last in self._used:
            self._next[first] = occurrence = self._next.get(first, 0) + 1
            name = hashed_id(source, level, text, occurrence)
            last = hash(name)
        self._used.add(last)
        return name

    def assign(self, source: str, chunks: Sequence[Chunk]) -> list[Chunk]:
        """Return chunks of one document with ``index`` and ``id``."""
        return [
            evolve(chunk, index=index, id=self.new_id(source, chunk.level, chunk.embed_text))
            for index, chunk in enumerate(chunks)
        ]

    def accept(self, source: str, chunks: list[Chunk]) -> list[Chunk]:
        """Return all chunks of a document with ids as if it were alone, or new ones if those were used here."""
        hashes = {hash(chunk.id) for chunk in chunks}
        if not self._used.isdisjoint(hashes):
            return self.assign(source, chunks)
        self._used |= hashes
        return chunks
