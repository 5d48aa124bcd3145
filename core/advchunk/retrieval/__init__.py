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
    from advchunk.building.positions import ChunkPositions
    from advchunk.chunkers.vectors import aadd_vectors, add_vectors
    from advchunk.retrieval.cutting import PassageCutter, ScoredSentence
    from advchunk.retrieval.evidence import WindowScoring
    from advchunk.retrieval.hierarchies import ChunkHierarchy, add_sections, merge_upward
    from advchunk.retrieval.lexical_index import LexicalIndex, PartedIndex
    from advchunk.retrieval.neighbors import rerank_by_neighbors
    from advchunk.retrieval.passages import Hit, Passage, assemble_passages
    from advchunk.retrieval.rankings import Ranking, fuse
    from advchunk.retrieval.retriever import Retriever
    from advchunk.retrieval.search import Search, combine
    from advchunk.retrieval.sparse_words import SparseVector, SparseWords
    from advchunk.retrieval.sql import SqlTable
    from advchunk.retrieval.stored import StoredRetriever
    from advchunk.retrieval.surroundings import FolderTexts, Neighborhood, Surroundings, as_surroundings
    from advchunk.retrieval.vector_index import VectorIndex

__all__ = [
    "ChunkHierarchy",
    "ChunkPositions",
    "FolderTexts",
    "Hit",
    "LexicalIndex",
    "Neighborhood",
    "PartedIndex",
    "Passage",
    "PassageCutter",
    "Ranking",
    "Retriever",
    "ScoredSentence",
    "Search",
    "SparseVector",
    "SparseWords",
    "SqlTable",
    "StoredRetriever",
    "Surroundings",
    "VectorIndex",
    "WindowScoring",
    "aadd_vectors",
    "add_sections",
    "add_vectors",
    "as_surroundings",
    "assemble_passages",
    "combine",
    "fuse",
    "merge_upward",
    "rerank_by_neighbors",
]
__getattr__, __dir__ = lazy_names(
    __name__,
    {
        "ChunkHierarchy": ".hierarchies",
        "ChunkPositions": "advchunk.building.positions",
        "FolderTexts": ".surroundings",
        "Hit": ".passages",
        "LexicalIndex": ".lexical_index",
        "Neighborhood": ".surroundings",
        "PartedIndex": ".lexical_index",
        "Passage": ".passages",
        "PassageCutter": ".cutting",
        "Ranking": ".rankings",
        "Retriever": ".retriever",
        "ScoredSentence": ".cutting",
        "Search": ".search",
        "SparseVector": ".sparse_words",
        "SparseWords": ".sparse_words",
        "SqlTable": ".sql",
        "StoredRetriever": ".stored",
        "Surroundings": ".surroundings",
        "VectorIndex": ".vector_index",
        "WindowScoring": ".evidence",
        "aadd_vectors": "advchunk.chunkers.vectors",
        "add_sections": ".hierarchies",
        "add_vectors": "advchunk.chunkers.vectors",
        "as_surroundings": ".surroundings",
        "assemble_passages": ".passages",
        "combine": ".search",
        "fuse": ".rankings",
        "merge_upward": ".hierarchies",
        "rerank_by_neighbors": ".neighbors",
    },
    {"Places": "advchunk.building.positions:ChunkPositions"},
)
