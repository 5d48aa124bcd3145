"""Retrieve chunks by vectors and words, over one or several levels, re-rank them by their neighbors, and assemble
passages with citations.

>>> from advchunk import RecursiveChunker
>>> from advchunk.retrieval import Retriever
>>> guide = RecursiveChunker(max_tokens=8).chunk("Boil the water. Add green tea. Wait two minutes. Pour it into cups.")
>>> Retriever({"guide.txt": guide}).search("How long should I wait?", k=1)[0].chunk.text
'Wait two minutes. '
"""

from advchunk.registry import lazy_names

__getattr__, __dir__, __all__ = lazy_names(__name__, {
    ".cutting": "PassageCutter ScoredSentence",
    ".evidence": "WindowScoring",
    ".hierarchies": "ChunkHierarchy add_sections merge_upward",
    ".lexical_index": "LexicalIndex PartedIndex",
    ".neighbors": "rerank_by_neighbors",
    ".passages": "Hit Passage assemble_passages",
    ".rankings": "Ranking fuse",
    ".retriever": "Retriever",
    ".search": "Search combine",
    ".sparse_words": "SparseVector SparseWords",
    ".stored": "StoredRetriever",
    ".surroundings": "FolderTexts Neighborhood Surroundings as_surroundings",
    ".vector_index": "VectorIndex",
    "advchunk.building.positions": "ChunkPositions",
    "advchunk.chunkers.vectors": "aadd_vectors add_vectors",
})  # fmt: skip
