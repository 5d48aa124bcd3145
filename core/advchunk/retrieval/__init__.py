"""Retrieve chunks by vectors and words, over one or several levels, re-rank them by their neighbors, and assemble passages with citations.

>>> from advchunk import RecursiveChunker
>>> from advchunk.retrieval import Retriever
>>> guide = RecursiveChunker(max_tokens=8).chunk("Boil the water. Add green tea. Wait two minutes. Pour it into cups.")
>>> Retriever({"guide.txt": guide}).search("How long should I wait?", k=1)[0].chunk.text
'Wait two minutes. '
"""

from typing import TYPE_CHECKING

from advchunk.lazy import lazy_names

if TYPE_CHECKING:
    from advchunk.retrieval.dense import VectorIndex
    from advchunk.retrieval.levels import ChunkHierarchy, add_sections, merge_upward
    from advchunk.retrieval.lexical import LexicalIndex, PartedIndex
    from advchunk.retrieval.neighbors import rerank_by_neighbors
    from advchunk.retrieval.passages import Hit, Passage, assemble_passages
    from advchunk.retrieval.places import Places
    from advchunk.retrieval.rankings import Ranking, fuse
    from advchunk.retrieval.retriever import Retriever
    from advchunk.retrieval.search import Search, combine
    from advchunk.retrieval.vectors import aadd_vectors, add_vectors

__all__ = [
    "ChunkHierarchy",
    "Hit",
    "LexicalIndex",
    "PartedIndex",
    "Passage",
    "Places",
    "Ranking",
    "Retriever",
    "Search",
    "VectorIndex",
    "aadd_vectors",
    "add_sections",
    "add_vectors",
    "assemble_passages",
    "combine",
    "fuse",
    "merge_upward",
    "rerank_by_neighbors",
]
__getattr__, __dir__ = lazy_names(
    __name__,
    {
        "ChunkHierarchy": ".levels",
        "Hit": ".passages",
        "LexicalIndex": ".lexical",
        "PartedIndex": ".lexical",
        "Passage": ".passages",
        "Places": ".places",
        "Ranking": ".rankings",
        "Retriever": ".retriever",
        "Search": ".search",
        "VectorIndex": ".dense",
        "aadd_vectors": ".vectors",
        "add_sections": ".levels",
        "add_vectors": ".vectors",
        "assemble_passages": ".passages",
        "combine": ".search",
        "fuse": ".rankings",
        "merge_upward": ".levels",
        "rerank_by_neighbors": ".neighbors",
    },
)
