"""Embedders that declare their languages, and what cuts and searches in others."""

import numpy as np
import pytest

from advchunk import (
    MSTSemanticChunker,
    OptimalSemanticChunker,
    RecursiveChunker,
    SemanticThresholdChunker,
    UniversalSemanticChunker,
)
from advchunk.chunkers import base
from advchunk.errors import ConfigurationError
from advchunk.models.embedders import HybridEmbedder, as_embedder
from advchunk.models.hashed_words import HashedWords
from advchunk.models.static import default_embedder
from advchunk.retrieval import Retriever, Search, StoredRetriever

CHUNKERS = [MSTSemanticChunker, OptimalSemanticChunker, SemanticThresholdChunker, UniversalSemanticChunker]
TEXTS = {
    "ru": "Кошка спит на диване весь день. Кошка любит рыбу и молоко. Рыбу и молоко кошка ест утром. "
    "Суд отклонил жалобу компании. Компания подала жалобу в другой суд. Другой суд рассмотрит жалобу весной. ",
    "th": "แมวนอนบนโซฟาทั้งวัน แมวชอบกินปลาและดื่มนม ศาลยกคำร้องของบริษัท บริษัทยื่นคำร้องต่อศาลอื่นในปีนี้ ",
    "zh": "猫整天睡在沙发上。猫喜欢吃鱼和喝牛奶。猫早上吃鱼。法院驳回了公司的上诉。公司向另一法院提出上诉。法院将在春天审理上诉。",
}
ENGLISH = (
    "The cat sleeps on the sofa all day. The cat likes fish and milk. The court rejected the appeal of the company. "
)


class Counting:
    """Counts the texts that it embeds, and may declare languages."""

    model_name = "counting"

    def __init__(self, languages=None):
        self.texts, self.languages = [], languages

    def embed(self, texts):
        self.texts += texts
        return default_embedder().embed(texts)


def test_embedders_declare_their_languages():
    assert as_embedder().knows("en-GB")
    assert not as_embedder().knows("de")
    assert as_embedder(HybridEmbedder()).languages == {"en"}
    assert as_embedder(Counting()).knows("xx")
    assert as_embedder(lambda texts: np.ones((len(texts), 1))).languages is None
    assert as_embedder(Counting(["pt-BR", "es"])).languages == {"pt", "es"}
    for wrong in ("en", [1], 5):
        with pytest.raises(ConfigurationError, match="languages of an embedder must be a collection of codes"):
            as_embedder(Counting(wrong))


@pytest.mark.parametrize("chunker", CHUNKERS)
@pytest.mark.parametrize("code", TEXTS)
def test_a_text_in_another_language_is_cut_by_its_words_and_said_once(chunker, code, caplog):
    text, model = TEXTS[code] * 20, Counting({"en"})
    base._report_language.cache_clear()
    chunks, _ = chunker(embedder=model).chunk_many([text, text])
    messages = [record.getMessage() for record in caplog.records if "does not know" in record.getMessage()]
    assert len(messages) == 1, chunks
    assert f"in {code!r}, a language that the embedder, counting, does not know" in messages[0]
    assert model.texts == []
    words = chunker(embedder=HashedWords(2048, code), tokenizer=default_embedder().tokenizer).chunk(text)
    own = chunker(embedder=model, tokenizer=default_embedder().tokenizer).chunk(text)
    assert [chunk.spans for chunk in own] == [chunk.spans for chunk in words]
    spans = sorted(span for chunk in chunks for span in chunk.spans)
    assert "".join(text[start:end] for start, end in spans).strip() == text.strip()


@pytest.mark.parametrize("chunker", CHUNKERS)
@pytest.mark.parametrize(
    ("languages", "text"), [({"en"}, ENGLISH * 40), (None, TEXTS["ru"] * 8), ({"ru"}, TEXTS["ru"] * 8)]
)
def test_nothing_is_said_of_a_language_that_is_known_or_not_declared(chunker, languages, text, caplog):
    model = Counting(languages)
    chunker(embedder=model).chunk(text)
    assert "does not know" not in caplog.text
    assert model.texts


@pytest.mark.parametrize("make", [lambda _: Retriever(), lambda path: StoredRetriever(path / "index.db")])
def test_a_hybrid_search_in_another_language_is_by_words_and_neighbors(make, tmp_path, caplog):
    chunker = RecursiveChunker(max_tokens=40)
    texts = {"ru": TEXTS["ru"], "zh": TEXTS["zh"], "en": ENGLISH}
    chunks = {code: chunker.chunk(text) for code, text in texts.items()}
    both, words = make(tmp_path), Retriever(chunks, mode="lexical")
    both.add_many(chunks)
    for question in ("Какой суд рассмотрит жалобу весной?", "公司向哪个法院提出上诉？"):
        assert both.rank(question).chunks.tolist() == words.rank(question).chunks.tolist()
    assert caplog.text.count("a hybrid search is by words alone") == 1
    question = "Which animal rests on the couch?"
    assert both.rank(question).chunks.tolist() != words.rank(question).chunks.tolist()


def langchain_results(code, question, **options):
    from langchain_core.documents import Document
    from langchain_core.vectorstores import InMemoryVectorStore

    from langchain_advchunk import AdvchunkRetriever, DefaultEmbeddings, RecursiveSplitter

    text = Document(TEXTS[code], metadata={"source": code})
    chunks = RecursiveSplitter(max_tokens=12).split_documents([text])
    store = InMemoryVectorStore.from_documents(chunks, DefaultEmbeddings())
    retriever = AdvchunkRetriever(vectorstore=store, chunks=chunks, k=3, **options)
    return [chunk.page_content for chunk in retriever.invoke(question)]


def llamaindex_results(code, question, **options):
    from llama_index.core import Document, VectorStoreIndex

    from llamaindex_advchunk import AdvchunkRetriever, DefaultEmbedding, RecursiveNodeParser

    nodes = RecursiveNodeParser(max_tokens=12).get_nodes_from_documents([Document(text=TEXTS[code], id_=code)])
    index = VectorStoreIndex(nodes, embed_model=DefaultEmbedding())
    return [hit.text for hit in AdvchunkRetriever(index, similarity_top_k=3, **options).retrieve(question)]


@pytest.mark.parametrize("results", [langchain_results, llamaindex_results])
def test_the_retrievers_of_frameworks_search_by_words_where_vectors_say_nothing(results, caplog):
    code, question = "ru", "Какой суд рассмотрит жалобу весной?"
    assert results(code, question) == results(code, question, search=Search("lexical"))
    assert caplog.text.count("a hybrid search is by words alone") == 1


@pytest.mark.parametrize("mode", ["dense", "hybrid"])
def test_a_short_question_is_in_the_language_of_the_texts(mode, caplog):
    chunks = RecursiveChunker(max_tokens=12).chunk(f"{ENGLISH}The millers sleep in church, since they work at night.")
    retriever = Retriever({"a": chunks}, mode=mode)
    assert "millers" in retriever.search("Why do millers sleep in church?", 1)[0].chunk.text
    assert caplog.messages == []
    retriever.search("Warum schlafen die Leute in der Kirche?", 1)
    assert ["queries in 'de'" in message for message in caplog.messages] == [True] * (mode == "dense")
