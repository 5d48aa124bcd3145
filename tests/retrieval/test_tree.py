"""A tree of chunks is navigated up to parents and down to children."""

import pytest

from advchunk import ChunkTree, ConfigurationError, HierarchicalChunker, RecursiveChunker

TEXT = """# Tea

Tea is old.

## Kinds

Green tea is steamed and light. Black tea is oxidized. It is strong. Many drink it with milk, and some with sugar.

They all come from one plant. Its leaves are picked by hand.

## Water

Boil it once.
"""


def test_a_tree_is_navigated_up_and_down():
    chunks = HierarchicalChunker(max_tokens=128).chunk(TEXT)
    tree = ChunkTree(chunks)
    leaf = next(chunk for chunk in tree.leaves() if chunk.text.startswith("Many drink"))
    root, middle, last = tree.path(leaf)
    assert last is leaf
    assert tree.parent(leaf) is middle is tree.up(leaf, 1)
    assert tree.up(leaf, 0) is root is tree.up(root, 0)
    assert tree.up(leaf, 2) is leaf
    assert tree.parent(root) is None
    assert root in tree.roots()
    assert tree.children(leaf) == [] == [chunk for chunk in tree.leaves() if tree.children(chunk)]
    assert tree.leaves(middle) == tree.children(middle) == tree.down(middle, 2) == tree.down(middle, 9)
    assert tree.down(root, 2) == [child for chunk in tree.children(root) for child in tree.children(chunk)]
    assert tree.down(leaf, 1) == [leaf]
    assert tree.levels() == [tree.roots(), [c for c in chunks if c.level == 1], tree.leaves()]
    flat = ChunkTree(RecursiveChunker(max_tokens=20).chunk(TEXT))
    assert flat.roots() == flat.leaves() == list(flat.chunks) == flat.levels()[0]
    assert ChunkTree([]).levels() == ChunkTree([]).leaves() == []


@pytest.mark.parametrize("part", [slice(1, None), slice(None, None, -1)])
def test_a_tree_needs_all_chunks_in_order(part):
    with pytest.raises(ConfigurationError, match="chunks must be all those of one document or corpus, each at"):
        ChunkTree(HierarchicalChunker(max_tokens=128).chunk(TEXT)[part])
