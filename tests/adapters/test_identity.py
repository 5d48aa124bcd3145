"""What changed in an embedded text is indexed again, and nothing else is, in both frameworks."""

import asyncio
from collections import Counter

import pytest
from langchain_core.documents import Document
from langchain_core.indexing import InMemoryRecordManager, aindex, index
from langchain_core.vectorstores import InMemoryVectorStore
from llama_index.core import Document as LlamaDocument
from llama_index.core.ingestion import DocstoreStrategy, IngestionPipeline
from llama_index.core.schema import MetadataMode
from llama_index.core.storage.docstore import SimpleDocumentStore
from llama_index.core.vector_stores import SimpleVectorStore

from advchunk.enrich import ContextualEnricher
from langchain_advchunk import ChunkEnricher, DefaultEmbeddings, RecursiveSplitter, chunk_key, vectors_for
from llamaindex_advchunk import ChunkEnricher as NodeEnricher
from llamaindex_advchunk import DefaultEmbedding, RecursiveNodeParser

SPLITTER = RecursiveSplitter(max_tokens=20, include_context=True)
PARSER = RecursiveNodeParser(max_tokens=20, include_context=True)
GREEN, BLACK = (
    "Green tea is hot and some people drink it cold.\n\n",
    "Black tea is strong and many people add some milk.\n\n",
)
MILK, COWS = (
    "Milk is white and most people drink it cold.\n\n",
    "Cows give milk and eat grass and other green plants.\n\n",
)
TEA_SECTION, MILK_SECTION = f"# Tea\n\n{GREEN}{BLACK}", f"# Milk\n\n{MILK}{COWS}"
TEXT = TEA_SECTION + MILK_SECTION  # one chunk per sentence
EDITS = {  # the edited text and title, and the number of chunks of which the embedded text changes
    "nothing": ((TEXT, "A"), 0),
    "title": ((TEXT, "B"), 4),
    "heading": ((TEXT.replace("# Tea", "# Leaves"), "A"), 2),
    "body": ((TEXT.replace("strong", "bitter"), "A"), 1),
    "offsets": ((f"# Rain\n\nRain falls on hills and on towns and on fields.\n\n{TEXT}", "A"), 1),
    "order of sections": ((MILK_SECTION + TEA_SECTION, "A"), 0),
    "order of paragraphs": ((TEA_SECTION + f"# Milk\n\n{COWS}{MILK}", "A"), 2),  # one of them with its heading
}
edits = pytest.mark.parametrize(("edited", "changed"), EDITS.values(), ids=EDITS)


class Store:
    """An index of LangChain, and the texts in its vector store."""

    def __init__(self):
        self.records, self.vectors = InMemoryRecordManager("n"), InMemoryVectorStore(DefaultEmbeddings())
        self.records.create_schema()
        self.options = {"cleanup": "full", "source_id_key": "source", "key_encoder": chunk_key}

    def added(self, chunks):
        return index(chunks, self.records, self.vectors, **self.options)["num_added"]

    def added_async(self, chunks):
        return asyncio.run(aindex(chunks, self.records, self.vectors, **self.options))["num_added"]

    def texts(self):
        return Counter(entry["text"] for entry in self.vectors.store.values())


def split(text, title, splitter=SPLITTER):
    return splitter.split_documents([Document(text, id="d", metadata={"source": "s", "title": title})])


def texts(chunks):
    return Counter(chunk.page_content for chunk in chunks)


@edits
@pytest.mark.parametrize("added", [Store.added, Store.added_async])
def test_index_adds_again_only_what_an_edit_changed(edited, changed, added):
    store, new = Store(), split(*edited)
    assert added(store, split(TEXT, "A")) == 4
    assert added(store, new) == (texts(new) - texts(split(TEXT, "A"))).total() == changed
    assert store.texts() == texts(new)


class Scribe:
    """A chat model whose answers name its edition."""

    def __init__(self, edition):
        self.edition, self.model_name = edition, f"scribe {edition}"

    def __call__(self, prompt):
        return f"Edition {self.edition}."


def test_index_adds_again_the_chunks_whose_context_changed():
    chunks, store = split(TEXT, "A"), Store()
    editions = [ChunkEnricher(ContextualEnricher(llm=Scribe(i))).transform_documents(chunks) for i in (1, 2)]
    assert [store.added(version) for version in (chunks, editions[0], editions[0], editions[1])] == [4, 4, 0, 4]
    assert store.texts() == texts(editions[1])
    assert [chunk.id for chunk in editions[1]] == [chunk.id for chunk in chunks]
    assert all("Edition 2." in text for text in store.texts())


# LlamaIndex.


class Recording(DefaultEmbedding):
    """Counts the texts that are embedded."""

    _count: int = 0

    def _get_text_embeddings(self, texts):
        self._count += len(texts)
        return super()._get_text_embeddings(texts)


def pipeline(*transformations):
    return IngestionPipeline(
        transformations=[*transformations, Recording()],
        docstore=SimpleDocumentStore(),
        docstore_strategy=DocstoreStrategy.UPSERTS,
        vector_store=SimpleVectorStore(),
    )


def document(text, title, id_="d"):
    return LlamaDocument(text=text, id_=id_, metadata={"title": title})


def run(line, documents):
    return line.run(documents=documents)


def arun(line, documents):
    return asyncio.run(line.arun(documents=documents))


@edits
@pytest.mark.parametrize("run", [run, arun])
def test_a_pipeline_replaces_the_nodes_of_an_edited_document_alone(edited, changed, run):
    line, other = pipeline(PARSER), document("Other text.", "O", "other")
    assert len(run(line, [document(TEXT, "A"), other])) == 5
    before = {*line.vector_store.data.embedding_dict}
    nodes = run(line, [document(*edited), other])
    expected = PARSER([document(*edited)]) if edited != (TEXT, "A") else []
    assert [(node.node_id, node.hash) for node in nodes] == [(node.node_id, node.hash) for node in expected]
    stored = line.vector_store.data.embedding_dict
    current = PARSER([document(*edited), other])
    assert stored.keys() == {node.node_id for node in current}
    assert len(stored.keys() - before) == changed
    for node in current:
        text = node.get_content(MetadataMode.EMBED)
        assert stored[node.node_id] == pytest.approx(DefaultEmbedding().get_text_embedding(text))


def test_a_pipeline_with_an_enricher_stores_the_new_context():
    hashes = list[str]()
    for edition in (1, 2):
        line = pipeline(PARSER, NodeEnricher(enricher=ContextualEnricher(llm=Scribe(edition))))
        nodes = line.run(documents=[document(TEXT, "A")])
        assert {node.metadata["added_context"] for node in nodes} == {f"Edition {edition}."}
        assert line.run(documents=[document(TEXT, "A")]) == []
        hashes += [node.hash for node in nodes]
    assert len(set(hashes)) == 2 * len(nodes)


def test_the_sentences_of_a_chunk_keep_their_ids_wherever_it_is():
    (edited, _), _ = EDITS["offsets"]
    sources = [[Document(text, id="a")] for text in (TEXT, edited)]
    (_, before, _), (_, after, _) = (vectors_for(SPLITTER.split_documents(own), documents=own) for own in sources)
    assert len(before) > 3
    assert {row.id for row in before} < {row.id for row in after}
