"""A key in the environment and a password in a URL, planted, and looked for wherever the chat half of the package
writes."""

from __future__ import annotations

import asyncio
import io
import json
import logging
import pickle
import traceback
from itertools import product
from pathlib import Path
from tempfile import TemporaryDirectory

import pytest
from langchain_core.documents import Document as LangChainDocument
from llama_index.core import Document as LlamaDocument
from llama_index.core.ingestion import IngestionPipeline

from advchunk import Document, LLMChapteringChunker, OpenAIChat, Span
from advchunk.enrich import ContextualEnricher, Rewriting, Summaries
from advchunk.evaluation import EvaluationTask, Question, Reference, candidate, compare, evaluate
from advchunk.evaluation.comparison import report
from langchain_advchunk import LLMChapteringSplitter
from langchain_advchunk.enrich import ChunkEnricher
from llamaindex_advchunk import LLMChapteringNodeParser
from llamaindex_advchunk.enrich import ChunkEnricher as NodeEnricher
from planted import CATS, COURTS
from servers import Endpoint, breaks_off, fails, replies, resets, says

KEY = "sk-planted-0123456789abcdef"
PASSWORD = "redis-planted-42"
TEXT = CATS + COURTS
REDIS = f"redis://someone:{PASSWORD}@127.0.0.1:1/0"  # where nothing listens

STEPS = {
    "chapters": says(f"## 1 {KEY}\n## 7 Courts and {KEY}"),
    "JSON": says(json.dumps({"needs": KEY, "says": KEY, "summary": KEY, "missing": [KEY], "stated": [], "text": KEY})),
    "an answer": says(f"Your key is {KEY}."),
    "a refusal": says(None, refusal=KEY),
    "HTTP 400": fails(400, "x" * 290 + KEY),
    "HTTP 401": fails(401, f"Incorrect API key provided: {KEY}"),
    "HTTP 500": replies(500, f"<p>{KEY}"),
    "garbage": replies(200, KEY),
    "cut off": breaks_off,
    "reset": resets,
}


@pytest.fixture(autouse=True)
def key(monkeypatch):
    monkeypatch.setenv("OPENAI_API_KEY", KEY)


def everything_said(error):
    """Return all that a traceback may show of an error and of what led to it."""
    log = io.StringIO()
    while error is not None:
        result = traceback.TracebackException.from_exception(error, capture_locals=True)
        log.write("".join(result.format()) + repr(error) + repr(error.__dict__))
        error = error.__cause__ or error.__context__
    return log.getvalue()


def chunked(llm, cache):
    chunker = LLMChapteringChunker(llm=llm, cache=cache)
    yield chunker
    yield chunker.fingerprint()
    yield chunker.chunk(Document(TEXT, "d"))
    yield asyncio.run(chunker.achunk(Document(TEXT, "d")))
    yield chunker.explain(TEXT)
    bare = LLMChapteringChunker(llm=llm, cache=cache, fallback=None)
    result = bare.chunk_many([Document(TEXT, "d")], on_error="collect")
    yield result
    for failure in result.failures:
        yield failure
        yield everything_said(failure.error)


def enriched(llm, cache):
    chunks = LLMChapteringChunker(llm=lambda _: "## 1 Cats\n## 7 Courts").chunk(TEXT)
    for kind in (ContextualEnricher, Summaries, Rewriting):
        enricher = kind(llm=llm, cache=cache)
        yield enricher
        yield enricher.fingerprint()
        result = enricher.enrich_many([(TEXT, chunks)], on_error="collect")
        yield result
        for failure in result.failures:
            yield failure
            yield everything_said(failure.error)
        try:
            asyncio.run(enricher.aenrich(TEXT, chunks, on_error="raise"))
        except (OSError, ValueError) as error:
            yield everything_said(error.with_traceback(error.__traceback__.tb_next))  # without this frame, which knows


def adapted(llm, cache):
    splitter, chunks = (
        LLMChapteringSplitter(llm=llm, cache=cache),
        ChunkEnricher(ContextualEnricher(llm=llm, cache=cache)),
    )
    yield splitter
    yield chunks
    yield chunks.transform_documents(splitter.split_documents([LangChainDocument(TEXT)]))
    parser = LLMChapteringNodeParser(llm=llm, cache=cache)
    nodes = NodeEnricher(enricher=Rewriting(llm=llm, cache=cache))
    yield from (parser, nodes, parser.to_json(), nodes.to_json())
    pipeline = IngestionPipeline(transformations=[parser, nodes])
    yield pipeline.run(documents=[LlamaDocument(text=TEXT)])
    yield str(pipeline.model_dump())


def judged(llm, cache):
    asked = [Question(f"Which? {i}", (Reference("d", Span(0, 20)),)) for i in range(2)]
    trial = EvaluationTask((Document(TEXT, "d"),), tuple(asked), budgets=(100,), budget=100)
    cache = None if cache == REDIS else cache
    ours = candidate("llm-chaptering", llm=llm, cache=cache, fallback="auto")
    outcomes = evaluate([candidate("recursive"), ours], trial)
    yield outcomes
    with TemporaryDirectory() as folder:
        report.write_report(folder, trial, compare(outcomes, "recursive"))
        yield from (path.read_text() for path in Path(folder).iterdir())


@pytest.mark.parametrize(
    ("use", "step", "kept"),
    [
        *product([chunked, enriched, adapted], STEPS, ["file"]),
        *product([judged], ["chapters", "a refusal", "HTTP 401", "garbage"], ["file"]),  # takes seconds
        *product([chunked, enriched, adapted, judged], ["chapters"], ["redis"]),
    ],
)
def test_a_secret_is_seen_nowhere(use, step, kept, tmp_path, caplog, capfd):
    caplog.set_level(logging.DEBUG)
    with Endpoint(STEPS[step]) as endpoint:
        llm = OpenAIChat(endpoint.url, "small", retries=1, backoff=0.01, timeout=20)
        made = list(use(llm, REDIS if kept == "redis" else str(tmp_path / "kept.db")))
        assert endpoint.headers[0]["authorization"] == f"Bearer {KEY}"
    seen = [f"{item!r} {item}" for item in [*made, llm]]
    if kept == "file":  # the URL of a Redis goes to other processes whole
        seen += [pickle.dumps(item).decode("latin-1") for item in [*made, llm]]
    seen += [path.read_bytes().decode("latin-1") for path in tmp_path.iterdir()]
    seen += [repr(vars(record)) + caplog.handler.format(record) for record in caplog.records]
    seen += capfd.readouterr()
    for secret in (KEY[:12], PASSWORD):
        assert [text for text in seen if secret in text] == []
