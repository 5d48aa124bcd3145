"""A key in the environment and a password in a URL, planted, and looked for wherever the chat half of the package
writes."""

import asyncio
import io
import json
import logging
import pickle
import traceback
from dataclasses import replace
from itertools import product
from pathlib import Path
from tempfile import TemporaryDirectory

import numpy as np
import pytest
from click.testing import CliRunner
from langchain_core.documents import Document as LangChainDocument
from llama_index.core import Document as LlamaDocument
from llama_index.core.ingestion import IngestionPipeline

from advchunk import (
    Document,
    LLMChapteringChunker,
    OpenAIChat,
    OpenAIEmbedder,
    PerplexityChunker,
    RecursiveChunker,
    Span,
)
from advchunk.cli import main
from advchunk.engine import ChatRequest
from advchunk.enrich import ContextualEnricher, Rewriting, Summaries
from advchunk.errors import mask
from advchunk.evaluation import EvaluationTask, Question, Reference, candidate, compare, evaluate
from advchunk.evaluation.comparison import report
from advchunk.models.identity import identity
from advchunk.retrieval import Retriever, StoredRetriever
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
    yield (splitter := LLMChapteringSplitter(llm=llm, cache=cache))
    yield (chunks := ChunkEnricher(ContextualEnricher(llm=llm, cache=cache)))
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


@pytest.mark.parametrize("key", ["sk-proj-abc123def456", "ghp_0a1b2c3d4e5f6g7h", "AKIAIOSFODNN7EXAMPLE"])
def test_what_looks_like_a_key_is_masked(key):
    assert mask(f"no access with {key}, asiapacific2024sales") == "no access with ***, asiapacific2024sales"


PLANTED, HEADER = "planted-9876543210", "planted-header-42"
ADDRESSES = [
    form.format(PLANTED)
    for form in (
        "http://user:{}@127.0.0.1:1/v1",
        "http://{}@127.0.0.1:1/v1",
        "https://127.0.0.1:1/v1?api_key={}",
        "https://127.0.0.1:1/v1?X-Amz-Signature={}",
        "redis://:{}@a:b",
    )
]


def echoes(handler):
    """Refuse a request with all of its headers."""
    fails(400, f"bad {dict(handler.headers)}")(handler)


def complete(llm):
    raise llm.complete([ChatRequest((("user", "u"),))])[0]


def failing(address, url, path):
    """Return calls that fail, with secrets in all that they are given."""

    def refuse(_):
        msg = f"no answer from {address}, Authorization: Bearer {PLANTED}"
        raise OSError(msg)

    refuse.model_name = address
    settings = {"retries": 0, "options": {"extra_headers": {"X-Api-Key": HEADER, "Authorization": f"Bearer {HEADER}"}}}
    embedder = OpenAIEmbedder(url, "m", **settings)
    chunks = [replace(chunk, vector=np.ones(3, np.float32)) for chunk in RecursiveChunker().chunk("Tea is hot.")]
    Retriever({"a": chunks}, embedder=embedder).save(path)
    chunked = RecursiveChunker(vectors="plain", embedder=refuse, cache={}, fallback=None)
    return [
        lambda: RecursiveChunker(vectors="plain", embedder=address).chunk(TEXT),
        lambda: RecursiveChunker(tokenizer=address).chunk(TEXT),
        lambda: RecursiveChunker(vectors="plain", cache=REDIS + "?no=1").chunk(TEXT),
        lambda: PerplexityChunker(lm=address).chunk(TEXT),
        lambda: LLMChapteringChunker(llm=address).chunk(TEXT),
        lambda: ContextualEnricher(llm=address),
        lambda: embedder.embed(["a"]),
        lambda: complete(OpenAIChat(url, "m", **settings)),
        lambda: StoredRetriever(path),  # of another embedder
        lambda: [repr(embedder), embedder.identity, chunked, chunked.fingerprint(), identity(refuse)],
        lambda: chunked.chunk_many([TEXT], on_error="skip"),
        lambda: CliRunner().invoke(main, ["chunk", "README.md", "-m", "mst-semantic", "--embedder", address]).output,
    ]


@pytest.mark.parametrize("address", ADDRESSES)
def test_no_failing_call_shows_what_it_was_given(address, tmp_path, caplog, capfd):
    caplog.set_level(logging.DEBUG)
    seen = []
    with Endpoint(echoes) as endpoint:
        for call in failing(address, endpoint.url, tmp_path / "my.index"):
            try:
                seen.append(str(call()))
            except (OSError, ValueError) as error:
                seen.append("".join(traceback.format_exception(error)) + repr(error))
    assert endpoint.headers[0]["x-api-key"] == HEADER
    assert sum("Traceback" in text for text in seen) == 9
    seen += [repr(vars(record)) + caplog.handler.format(record) for record in caplog.records]
    seen += [*capfd.readouterr(), *(path.read_bytes().decode("latin-1") for path in tmp_path.iterdir())]
    assert [text for text in seen if any(secret in text for secret in (PLANTED, HEADER, PASSWORD))] == []
