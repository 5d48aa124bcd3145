"""Navigate the chunks of a hierarchy: up to parents, down to children."""

from collections.abc import Sequence

from advchunk.errors import checked, require
from advchunk.records import Chunk


class ChunkTree:
    r"""The chunks of one document, or of one corpus, at all levels, linked by ``Chunk.parent``.

    A chunk is recognized by its ``index``, so a copy can be looked up, too. All flat chunks are roots and leaves.

    Parameters
    ----------
    chunks : all chunks of a document, in order; of `GraphRAGChunker`, those of all documents of a call.

    Raises
    ------
    ConfigurationError : a chunk is not at its index, or before its parent, as in a part of a tree, or in several trees.

    Examples
    --------
    >>> from advchunk import HierarchicalChunker
    >>> tree = ChunkTree(HierarchicalChunker().chunk("# Tea\n\nBoil water. Add tea.\n\n# Milk\n\nWarm it."))
    >>> leaf = tree.leaves()[1]
    >>> leaf.text, tree.up(leaf, 0).text, [chunk.level for chunk in tree.path(leaf)]
    ('Add tea.\n\n', '# Tea\n\nBoil water. Add tea.\n\n', [0, 1, 2])
    """

    @checked
    def __init__(self, chunks: Sequence[Chunk]) -> None:
        self.chunks = tuple(chunks)
        self._children: list[list[int]] = [[] for _ in self.chunks]
        for place, chunk in enumerate(self.chunks):
            above = chunk.parent
            rule = "chunks must be all those of one document or corpus, each at its index and after its parent"
            require(chunk.index == place and (above is None or 0 <= above < place), rule, chunk)
            if above is not None:
                self._children[above].append(place)

    @checked
    def parent(self, chunk: Chunk) -> Chunk | None:
        """Return the chunk above; None for a root."""
        return None if chunk.parent is None else self.chunks[chunk.parent]

    @checked
    def children(self, chunk: Chunk) -> list[Chunk]:
        """Return the chunks below, in reading order; none for a leaf."""
        return [self.chunks[place] for place in self._children[chunk.index]]

    def path(self, chunk: Chunk) -> list[Chunk]:
        """Return the chunks from the root to the chunk itself."""
        above = self.parent(chunk)
        return [chunk] if above is None else [*self.path(above), chunk]

    def up(self, chunk: Chunk, level: int) -> Chunk:
        """Return the chunk at a level above that contains the chunk; itself if it is at that level or higher."""
        above = self.parent(chunk)
        return chunk if above is None or chunk.level <= level else self.up(above, level)

    @checked
    def down(self, chunk: Chunk, level: int) -> list[Chunk]:
        """Return the chunks at a level below that the chunk contains; itself at that level or lower, or if a leaf."""
        below = self.children(chunk) if chunk.level < level else []
        return [leaf for child in below for leaf in self.down(child, level)] or [chunk]

    def roots(self) -> list[Chunk]:
        """Return the chunks without a parent, in reading order."""
        return [chunk for chunk in self.chunks if chunk.parent is None]

    def leaves(self, chunk: Chunk | None = None) -> list[Chunk]:
        """Return the chunks without children, in reading order; those below a chunk, or all."""
        tops = self.roots() if chunk is None else [chunk]
        return [leaf for top in tops for leaf in self.down(top, len(self.chunks))]

    def levels(self) -> list[list[Chunk]]:
        """Return the chunks of each level, coarsest first; those of a `HierarchicalChunker` tile the text at each."""
        numbers = sorted({chunk.level for chunk in self.chunks})
        return [[chunk for chunk in self.chunks if chunk.level == number] for number in numbers]
