"""Words as sparse vectors, in the interfaces of LangChain's stores."""

from __future__ import annotations

from typing import TYPE_CHECKING

from advchunk.errors import checked, require
from advchunk.retrieval import SparseWords

if TYPE_CHECKING:
    from langchain_milvus.utils.sparse import BaseSparseEmbedding
    from langchain_qdrant.sparse_embeddings import SparseEmbeddings

_NO_WORDS, _NO_QUESTION = 0, 1  # indices, which a word has in one of 2^30 cases


@checked
def qdrant_words(words: SparseWords) -> SparseEmbeddings:
    """Return the ``sparse_embedding`` of LangChain's ``QdrantVectorStore``.

    With ``rarity="store"``, the collection must have its sparse vectors with ``modifier=Modifier.IDF``, else without:
    neither LangChain nor Qdrant checks it.

    >>> from advchunk.retrieval import SparseWords
    >>> qdrant_words(SparseWords(40, rarity="store")).embed_query("green tea").values
    [0.2, 0.2, 0.2, 0.2, 0.2, 1.0, 0.2, 1.0]
    """
    from langchain_qdrant.sparse_embeddings import SparseEmbeddings, SparseVector

    class QdrantWords(SparseEmbeddings):
        def embed_documents(self, texts: list[str]) -> list[SparseVector]:
            return [SparseVector(**vector._asdict()) for vector in words.embed(texts)]

        def embed_query(self, text: str) -> SparseVector:
            return SparseVector(**words.embed_query(text)._asdict())

    return QdrantWords()


@checked
def milvus_words(words: SparseWords) -> BaseSparseEmbedding:
    """Return an ``embedding_function`` of LangChain's ``Milvus``, which may stand beside that of vectors.

    Its index must have the ``metric_type`` "IP". Milvus refuses empty vectors: a text or a question without words has
    one that matches no other.

    Raises `advchunk.ConfigurationError` if the store should weight the words, which Milvus does not.
    """
    from langchain_milvus.utils.sparse import BaseSparseEmbedding

    require(words.rarity == "texts", "rarity must be 'texts', as Milvus does not weight words", words.rarity)

    class MilvusWords(BaseSparseEmbedding):
        def embed_documents(self, texts: list[str]) -> list[dict[int, float]]:
            return [dict(zip(*vector, strict=True)) or {_NO_WORDS: 1.0} for vector in words.embed(texts)]

        def embed_query(self, query: str) -> dict[int, float]:
            return dict(zip(*words.embed_query(query), strict=True)) or {_NO_QUESTION: 1.0}

    return MilvusWords()
