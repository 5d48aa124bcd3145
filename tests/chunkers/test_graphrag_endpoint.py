"""GraphRAG against a real server on loopback: whatever it answers, nothing of a corpus is lost, and no key is shown."""

import asyncio
import logging

import pytest

from advchunk import Document
from advchunk.chunkers.graphrag.chunker import GraphRAGChunker
from advchunk.models.endpoint import OpenAIChat
from chats import EntityReader
from conftest import CATS, COURTS
from servers import Endpoint, breaks_off, fails, reading, replies, resets, says

KEY = "sk-planted-0123456789abcdef"
DOCUMENTS = [Document("Ann Ames met Bob Bell. Bob Bell paid Ann Ames. " + CATS, "a"), Document(COURTS, "b")]


@pytest.fixture(autouse=True)
def key(monkeypatch):
    monkeypatch.setenv("OPENAI_API_KEY", KEY)


def chunker_at(endpoint):
    return GraphRAGChunker(llm=OpenAIChat(endpoint.url, "small", timeout=20, backoff=0.01, retries=1), max_tokens=32)


def sync(chunker):
    return chunker.chunk_corpus(DOCUMENTS)


def awaited(chunker):
    return asyncio.run(chunker.achunk_corpus(DOCUMENTS))


both = pytest.mark.parametrize("run", [sync, awaited])


def read(body):
    return says(EntityReader()("\n\n".join(message["content"] for message in body["messages"])))


@both
def test_a_model_at_an_endpoint_reads_and_summarizes(run):
    with Endpoint(reading(read)) as endpoint:
        corpus = run(chunker_at(endpoint))
    assert {summary.by for summary in corpus.summaries.values()} == {"model"}
    assert corpus.graph.entities["ann ame"].kind == "person"
    assert any("may be missing" in message for message in endpoint.prompts())


@both
@pytest.mark.parametrize(
    "step",
    [
        fails(500, "{key}"),
        fails(401, "{key}"),
        replies(200, "{key}"),
        says("No."),
        says(""),
        says("{}"),
        resets,
        breaks_off,
    ],
)
def test_a_corpus_survives_any_endpoint(run, step, caplog, tmp_path):
    plain = GraphRAGChunker(max_tokens=32, min_mentions=1).chunk_corpus(DOCUMENTS)
    with caplog.at_level(logging.DEBUG), Endpoint(step) as endpoint:
        corpus = run(chunker_at(endpoint))
    assert [chunk.embed_text for chunk in corpus.chunks] == [chunk.embed_text for chunk in plain.chunks]
    assert all(chunk.metadata["summary_status"] for chunk in corpus.chunks if not chunk.spans)
    assert all(leaf.extraction.status for leaves in corpus.leaves.values() for leaf in leaves)
    corpus.save(tmp_path / "corpus.json")
    assert KEY not in (tmp_path / "corpus.json").read_text() + caplog.text
