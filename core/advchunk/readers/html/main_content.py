"""Of the blocks of a page, those of its main content, as trafilatura extracts it."""

import re
from collections.abc import Iterator, Sequence

from advchunk.errors import import_extra
from advchunk.readers.writing import TextBlock

_WORD = re.compile(r"\w+")
_SHINGLE = 4  # words
_LEAST = 0.6  # share of the runs of words of a block that are in the article
_REFERENCE = frozenset({"code", "table"})  # kinds that few articles have
_LAST = _REFERENCE | {"heading", "formula"}  # kinds that end a page with those


def main_blocks(blocks: Sequence[TextBlock], page: str) -> list[TextBlock]:
    """Return the blocks of the article of a page, most of whose runs of four words are in it; all if it has none.

    A block of two or three words must stand there; a heading counts if the block below it does. Of a page with code or
    a table, of which extractors lose sections, all is kept between the first and the last of these blocks.
    """
    article = _words(import_extra("trafilatura", "web").extract(page, include_comments=False) or "")
    shared, flat = {*_shingles(article)}, f" {' '.join(article)} "

    def is_main(block: TextBlock) -> bool:
        words = _words(block.text)
        if len(words) < _SHINGLE:
            return len(words) > 1 and f" {' '.join(words)} " in flat
        shingles = [*_shingles(words)]
        return sum(shingle in shared for shingle in shingles) >= _LEAST * len(shingles)

    places = [place for place, block in enumerate(blocks) if is_main(block)]
    if not places:
        return list(blocks)
    first, last = places[0], places[-1]
    if any(block.kind in _REFERENCE for block in blocks):
        while first and blocks[first - 1].kind == "heading":
            first -= 1
        last = max(last, *(place for place, block in enumerate(blocks) if block.kind in _LAST))
        return list(blocks[first : last + 1])
    kept = {*places}
    for place in reversed(range(last)):
        if blocks[place].kind == "heading" and place + 1 in kept:
            kept.add(place)
    return [blocks[place] for place in sorted(kept)]


def _words(text: str) -> list[str]:
    return _WORD.findall(text.lower())


def _shingles(words: Sequence[str]) -> Iterator[tuple[str, ...]]:
    return zip(*(words[i:] for i in range(_SHINGLE)), strict=False)
