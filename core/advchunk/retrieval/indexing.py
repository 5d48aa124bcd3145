"""Chunk documents into a retriever."""

from collections import Counter
from collections.abc import Iterable

from advchunk.chunkers.base import Chunker
from advchunk.chunkers.by_size import RecursiveChunker
from advchunk.errors import require
from advchunk.records import Document
from advchunk.retrieval.base import BaseRetriever
from advchunk.retrieval.locating import is_verbatim


def add_documents(retriever: BaseRetriever, documents: Iterable[Document], chunker: Chunker | None = None) -> None:
    """Chunk documents, each with an ``id`` of its own, and add them to a retriever, all or none, in place of those of
    the same names. The default chunker is ``RecursiveChunker(max_tokens=100)``.
    """
    documents = list(documents)
    nameless = [document.text[:60] for document in documents if not document.source]
    require(not nameless, "documents must have names or ids, by which they are replaced and removed", nameless[:1])
    twice = [name for name, count in Counter(document.source for document in documents).items() if count > 1]
    rule = "documents of one call must have different names: join the pages of a file first, or name each page"
    require(not twice, rule, twice[:1])
    chunker = RecursiveChunker(max_tokens=100) if chunker is None else chunker
    require(isinstance(chunker, Chunker), "chunker must be a chunker of the core, such as RecursiveChunker()", chunker)
    lists = dict(zip((document.source for document in documents), chunker.chunk_many(documents), strict=True))
    texts = {
        document.source: document.text
        for document in documents
        if all(is_verbatim(chunk, document.text) for chunk in lists[document.source])
    }
    retriever.add_many(lists, texts)
