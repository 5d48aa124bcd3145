"""GraphRAG against a real server on loopback: whatever it answers, nothing of a corpus is lost, and no key is shown."""

import asyncio
import logging
import signal
import subprocess
import sys

import pytest

from advchunk import Document
from advchunk.chunkers.graphrag.chunker import GraphRAGChunker
from advchunk.models.endpoint import OpenAIChat
from chats import EntityReader
from planted import CATS, COURTS
from servers import Endpoint, breaks_off, fails, reading, replies, resets, says

pytestmark = pytest.mark.slow

PATIENCE = 240  # seconds for a process, on a busy machine
KEY = "sk-planted-0123456789abcdef"
DOCUMENTS = [
    Document("Ann Ames met Bob Bell. Bob Bell paid Ann Ames. " + CATS + " Ann Ames left.", "a"),
    Document(COURTS, "b"),
]


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
    assert {summary.by for summary in corpus.summaries} == {"model"}
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
def test_a_corpus_survives_any_endpoint(run, step, caplog):
    plain = GraphRAGChunker(max_tokens=32).chunk_corpus(DOCUMENTS)
    with caplog.at_level(logging.DEBUG), Endpoint(step) as endpoint:
        corpus = run(chunker_at(endpoint))
    assert [chunk.embed_text for chunk in corpus.chunks] == [chunk.embed_text for chunk in plain.chunks]
    assert all(chunk.metadata["summary_status"] for chunk in corpus.chunks if not chunk.spans)
    assert all(leaf.extraction.status for leaves in corpus.leaves.values() for leaf in leaves)
    assert KEY not in repr(corpus) + caplog.text


@pytest.mark.parametrize(
    "step",
    [
        fails(500, "{key}"),
        replies(200, "{key}"),
        says("I cannot help with that."),
        says('{"description": "Ann is'),
        says('{"description": {"text": 1}}'),
        resets,
        breaks_off,
    ],
)
def test_each_summary_of_a_model_may_fail(step, caplog):
    reader = EntityReader()

    def answer(body):
        prompt = "\n\n".join(message["content"] for message in body["messages"])
        return step if "<material>" in prompt else says(reader(prompt))

    with caplog.at_level(logging.DEBUG), Endpoint(reading(answer)) as endpoint:
        corpus = sync(chunker_at(endpoint))
    assert not any(leaf.extraction.status for leaves in corpus.leaves.values() for leaf in leaves)
    assert all(summary.status.startswith("failed: ") for summary in corpus.summaries)
    assert KEY not in repr(corpus) + caplog.text


RUN = """
import sys
from pathlib import Path
from advchunk import Document
from advchunk.chunkers.graphrag.chunker import GraphRAGChunker
from advchunk.models.endpoint import OpenAIChat
url, cache, path, *texts = sys.argv[1:]
chunker = GraphRAGChunker(llm=OpenAIChat(url, "small", concurrency=1), max_tokens=32, cache=cache)
corpus = chunker.chunk_corpus([Document(text, str(i)) for i, text in enumerate(texts)])
Path(path).write_text(repr(corpus))
"""


@pytest.mark.long
def test_a_process_that_is_killed_resumes_with_the_same_result(tmp_path):
    texts = [
        "Ann Ames met Bob Bell. Bob Bell paid Ann Ames. " * 6,
        "Carl Cole sued Dora Dunn. Dora Dunn met Carl Cole. " * 3,
    ]

    def run(endpoint, cache, path):
        return subprocess.Popen([sys.executable, "-c", RUN, endpoint.url, tmp_path / cache, tmp_path / path, *texts])

    def kill(body):
        if len(endpoint.asked) == total // 2:
            process.kill()
        return read(body)

    with Endpoint(reading(read)) as endpoint:
        assert run(endpoint, "other.db", "whole.txt").wait(PATIENCE) == 0
    total = len(endpoint.asked)
    with Endpoint(reading(kill)) as endpoint:
        process = run(endpoint, "kept.db", "resumed.txt")
        assert process.wait(PATIENCE) == -signal.SIGKILL
        assert not (tmp_path / "resumed.txt").exists()
        assert run(endpoint, "kept.db", "resumed.txt").wait(PATIENCE) == 0
    assert len(endpoint.asked) == total + 1  # the answer that was on its way is asked for again
    assert (tmp_path / "resumed.txt").read_bytes() == (tmp_path / "whole.txt").read_bytes()
