"""Scripts of users, as type checkers see them: `make check` fails if a mistake below is no longer an error."""

from langchain_core.documents import Document
from langchain_core.embeddings import DeterministicFakeEmbedding
from llama_index.core.embeddings import MockEmbedding

from advchunk import MSTSemanticChunker, RecursiveChunker
from langchain_advchunk import MSTSemanticSplitter, RecursiveSplitter
from llamaindex_advchunk import MSTSemanticNodeParser


def use_each_front_end() -> list[str]:
    """Pass resources of all kinds."""
    chunks = MSTSemanticChunker(max_tokens=300, embedder=lambda texts: [[1.0] for _ in texts]).chunk("Tea.")
    RecursiveChunker(tokenizer="words", sentence_splitter="plain", fallback=None)
    documents = MSTSemanticSplitter(DeterministicFakeEmbedding(size=4)).split_documents([Document("Tea.")])
    RecursiveSplitter(length_function=len).split_text("Tea.")
    nodes = MSTSemanticNodeParser(embed_model=MockEmbedding(embed_dim=4), max_tokens=9)([])
    return [*(chunk.text for chunk in chunks), *(d.page_content for d in documents), *(n.get_content() for n in nodes)]


def make_mistakes() -> None:
    """Pass a wrong embedder, a misspelled parameter, a wrong type."""
    MSTSemanticChunker(embedder=3)  # type: ignore[arg-type]
    MSTSemanticChunker(max_token=3)  # type: ignore[call-arg]
    MSTSemanticChunker(max_tokens="3")  # type: ignore[arg-type]
    RecursiveChunker(sentence_splitter="plane")  # type: ignore[arg-type]
    RecursiveChunker(tokenizer=3)  # type: ignore[arg-type]
    RecursiveChunker().chunk(3)  # type: ignore[arg-type]
    MSTSemanticSplitter(embeddings=3)  # type: ignore[arg-type]
    MSTSemanticSplitter(max_token=3)  # type: ignore[call-arg]
    MSTSemanticNodeParser(embed_model=3)  # type: ignore[arg-type]
    MSTSemanticNodeParser(max_tokens="many")  # type: ignore[arg-type]
    MSTSemanticNodeParser(max_token=3)  # type: ignore[call-arg]
