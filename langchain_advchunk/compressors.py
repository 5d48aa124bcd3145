"""Passages for a question from the chunks of any retriever of LangChain."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from functools import partial
from typing import Annotated, Any

from langchain_core.callbacks import Callbacks
from langchain_core.documents import BaseDocumentCompressor, Document
from pydantic import BeforeValidator, Field, PrivateAttr, SkipValidation

from advchunk.errors import checked, is_integer, require
from advchunk.retrieval import PassageCutter, Ranking
from advchunk.retrieval.cutting import as_cutter
from advchunk.retrieval.passages import PassageOrder
from advchunk.retrieval.surroundings import CheckedSurroundings
from advchunk.retrieval.warning_log import WarningLog
from advchunk.text.detection import AUTO
from langchain_advchunk.collection import UNPLACED, document_name, read_hits, to_document, to_hit
from langchain_advchunk.settings import CheckedModel
from langchain_advchunk.surroundings import AnySource, surroundings_of


class PassageCompressor(CheckedModel, BaseDocumentCompressor):
    """Cuts what any retriever found again, for the question, into passages that fit a token budget (`PassageCutter`).

    It needs no model and no index, and the chunks may be those of any splitter: it is the ``base_compressor`` of a
    ``ContextualCompressionRetriever``. Let the retriever find more than fits into a prompt, such as 50 chunks: the
    first 200 are cut. With ``texts``, passages also include the text around them. The place of a chunk is read from
    our metadata (`chunk_spans`) or from ``start_index``, or is found in ``texts``. Chunks without a place, or without
    the name of a document, are cut alone, or joined where they overlap; a warning in the log says so once.

    Results have the metadata of the first chunk that they are from, and ``relevance_score``, ``citation``,
    ``token_count``, ``chunk_ids`` and, if the place is known, ``start_index`` and ``end_index``. ``page_content``
    begins with the headings above the passage, in ``token_count`` but not in these places. A key that the metadata has
    already is preceded by ``advchunk_``.

    Parameters
    ----------
    budget : tokens of all passages, >= 1.
    order : order of the passages: "rank", or "document" for reading order.
    texts : the texts of documents by their names, or the chunks around hits: a mapping, a function that returns None
        for a name that it does not know, the path of a folder, a ``BaseStore`` of strings or documents, the vector
        store itself (`StoreChunks`), any `advchunk.retrieval.Surroundings`, or several of these.
    document_key : metadata key of the name of a chunk's document, or a function that returns the name; None is the
        first of "source", "document_id", "doc_id" and "file_path".
    cutter : cuts the passages, and has the language and the tokenizer; None is ``PassageCutter()``.

    Raises
    ------
    ConfigurationError : parameters are out of range.

    >>> guide = "Boil the water. Add green tea. Wait two minutes. Pour it into cups."
    >>> chunk = Document("green tea. Wait two", metadata={"source": "guide", "start_index": 20})
    >>> compressor = PassageCompressor(budget=6, texts={"guide": guide})
    >>> (passage,) = compressor.compress_documents([chunk], "How long should I wait?")
    >>> passage.page_content, passage.metadata["citation"]
    ('Wait two minutes.', 'guide, characters 31-48')
    """

    budget: SkipValidation[int] = 1000
    order: PassageOrder = "rank"
    texts: SkipValidation[AnySource | None] = Field(default=None, repr=False)
    document_key: str | Callable[[Document], str] | None = None
    cutter: Annotated[Any, BeforeValidator(as_cutter)] = PassageCutter()

    _cutter: PassageCutter = PrivateAttr()
    _surroundings: CheckedSurroundings = PrivateAttr()
    _warnings: WarningLog = PrivateAttr(default_factory=WarningLog)

    def __init__(self, **kwargs: Any) -> None:
        """Take the parameters that the class documents."""
        super().__init__(**kwargs)
        require(is_integer(self.budget, 1), "budget must be a whole number >= 1", self.budget)
        self._surroundings = surroundings_of(self.texts, self.document_key, self._warnings)
        self._cutter = self.cutter.within(AUTO)
        self._cutter.cut("", ())  # loads the tokenizer at once, and in one thread

    @checked
    def compress_documents(
        self, documents: Sequence[Document], query: str, callbacks: Callbacks | None = None
    ) -> list[Document]:
        """Return passages for a query from documents, of which the best come first; these are not changed."""
        name = partial(document_name, key=self.document_key)
        hits = [to_hit(document, name) for document in documents]
        around = self._surroundings.read(hits, self._cutter.reach(hits))
        collection, alone = read_hits(hits, documents, name, self._cutter.counter, around)
        if alone:
            self._warnings.warn("places", UNPLACED, alone, len(documents))
        ranking = Ranking.from_hits(range(len(documents)))
        passages = collection.passages(query, ranking, self.budget, self._cutter.counter, self._cutter, self.order)
        return list(map(to_document, passages))
