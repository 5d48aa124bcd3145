"""Words as sparse vectors, in the interface of LlamaIndex's store for Qdrant."""

from __future__ import annotations

from collections.abc import Callable
from typing import TypeAlias

from advchunk.errors import checked
from advchunk.retrieval import SparseVector, SparseWords

SparseEncoder: TypeAlias = Callable[[list[str]], tuple[list[list[int]], list[list[float]]]]
"""A function from texts to the indices and the values of each."""


@checked
def qdrant_words(words: SparseWords) -> tuple[SparseEncoder, SparseEncoder]:
    """Return ``sparse_doc_fn`` and ``sparse_query_fn`` of LlamaIndex's ``QdrantVectorStore``.

    With ``rarity="store"``, also pass ``sparse_config=SparseVectorParams(modifier=Modifier.IDF)``, and only then: the
    store does not check it. It embeds the text of a node with all metadata that is not hidden from the embedder.

    >>> from advchunk.retrieval import SparseWords
    >>> encode_texts, encode_queries = qdrant_words(SparseWords(40, rarity="store"))
    >>> indices, values = encode_queries(["green tea"])
    >>> values
    [[0.2, 0.2, 0.2, 0.2, 0.2, 1.0, 0.2, 1.0]]
    """
    encode_texts: SparseEncoder = lambda texts: _columns(words.embed(texts))  # noqa: E731 - as LlamaIndex names them
    return encode_texts, lambda texts: _columns([words.embed_query(text) for text in texts])


def _columns(vectors: list[SparseVector]) -> tuple[list[list[int]], list[list[float]]]:
    return [vector.indices for vector in vectors], [vector.values for vector in vectors]
