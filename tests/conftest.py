"""Shared fixtures: offline models, planted texts, and one interface to all three front ends."""

import gc
import os
from pathlib import Path
from typing import NamedTuple

import llama_index.core
import pytest
from hypothesis import HealthCheck, settings
from langchain_core.documents import Document as LangChainDocument
from llama_index.core import Document as LlamaIndexDocument

import langchain_advchunk
import llamaindex_advchunk
from advchunk import Document, names
from advchunk.chunkers.catalog import chunker_class
from advchunk.chunkers.params import GroupedParams
from algorithms import ALGORITHMS
from stand_ins import STAND_INS

# The machine may be busy with other tests.
settings.register_profile("advchunk", deadline=None, suppress_health_check=[HealthCheck.too_slow])
settings.load_profile("advchunk")

os.environ["HF_HUB_OFFLINE"] = "1"
os.environ["OMP_NUM_THREADS"] = "1"  # for torch, as there are as many test processes as cores

# Two topics in one paragraph, so that layout gives no hint.
CATS = (
    "The cat naps on the sofa. The kitten purrs and naps. A cat chases a mouse. Cats and kittens eat fish. "
    "My cat purrs on my lap. The kitten chases the cat. "
)
COURTS = (
    "The court heard the appeal. Judges ruled on the law. The court issued its ruling. A lawyer argued the law. "
    "The appeal went to the judge. The judge and the lawyer agreed. "
)


class Tiling(str):
    """The name of a chunker, and one of its levels: the chunks of each level tile the text.

    The chunks of a corpus that tile its texts are those of its documents, at any level.
    """

    level = 0

    def at(self, level):
        """Return the name with a level."""
        tiling = Tiling(self)
        tiling.level = level
        return tiling

    def chunks(self, chunks):
        """Return those of the chunks that are at the level."""
        return leaves(chunks) if ALGORITHMS[self].corpus else [chunk for chunk in chunks if chunk.level == self.level]


def leaves(chunks):
    """Return the chunks that have a text, without the summaries of a corpus."""
    return [chunk for chunk in chunks if chunk.spans]


def numbered(name, results):
    """Return the lists of chunks that ``index`` and ``parent`` number: those of each document, or of all for a corpus."""
    return [[chunk for chunks in results for chunk in chunks]] if ALGORITHMS[name].corpus else results


def tilings():
    """Yield the name of each chunker with each of its levels."""
    for name in names():
        for level in range(levels := ALGORITHMS[name].levels):
            yield pytest.param(Tiling(name).at(level), id=f"{name}-{level}" if levels > 1 else name)


def possible(name, params):
    """Return parameters without overlap for a chunker of several levels, whose chunks cover their parents exactly."""
    return (
        {**params, "overlap_tokens": min(params.get("overlap_tokens", 0), 0)} if ALGORITHMS[name].levels > 1 else params
    )


class Piece(NamedTuple):
    """A chunk in a common format for all front ends."""

    text: str
    spans: tuple
    tokens: int
    id: str
    level: int
    parent: str | None


def spans_of(metadata, start, end):
    flat = metadata.get("spans", f"{start}-{end}")
    return tuple(tuple(map(int, span.split("-"))) for span in flat.split())


def adapter(name, package, suffix):
    return getattr(package, chunker_class(name).__name__.removesuffix("Chunker") + suffix)


def core(name, texts, tokenizer=None, **params):
    documents = [Document(text, str(i)) for i, text in enumerate(texts)]
    chunker = chunker_class(name)(tokenizer=tokenizer, **{**STAND_INS.get(name, {}), **possible(name, params)})
    results = chunker.chunk_many(documents)
    return [
        Piece(c.text, c.spans, c.tokens, c.id, c.level, None if c.parent is None else chunks[c.parent].id)
        for chunks in numbered(name, results)
        for c in chunks
    ]


def langchain(name, texts, tokenizer=None, **params):
    splitter = adapter(name, langchain_advchunk, "Splitter")(
        length_function=tokenizer, **{**STAND_INS.get(name, {}), **possible(name, params)}
    )
    documents = splitter.split_documents([LangChainDocument(text, id=str(i)) for i, text in enumerate(texts)])
    return [langchain_piece(document, texts) for document in documents]


def langchain_piece(document, texts):
    metadata = document.metadata
    spans = spans_of(metadata, metadata["start_index"], metadata["end_index"]) if "start_index" in metadata else ()
    text = "".join(texts[int(metadata["source_id"])][start:end] for start, end in spans)
    assert document.page_content.endswith(text)  # after its context
    return Piece(text, spans, metadata["token_count"], document.id, metadata["level"], metadata.get("parent_id"))


def llamaindex(name, texts, tokenizer=None, **params):
    parser = adapter(name, llamaindex_advchunk, "NodeParser")(
        tokenizer=tokenizer, **{**STAND_INS.get(name, {}), **possible(name, params)}
    )
    nodes = parser([LlamaIndexDocument(text=text, id_=str(i)) for i, text in enumerate(texts)])
    pairs = [
        (n, () if n.start_char_idx is None else spans_of(n.metadata, n.start_char_idx, n.end_char_idx)) for n in nodes
    ]
    return [
        Piece(
            n.text,
            spans,
            n.metadata["token_count"],
            n.node_id,
            n.metadata["level"],
            getattr(n.parent_node, "node_id", None),
        )
        for n, spans in pairs
    ]


FRONT_ENDS = {"core": core, "langchain": langchain, "llamaindex": llamaindex}


@pytest.fixture(scope="module", autouse=True)
def _frozen_heap():
    """Exempt what is loaded by now, such as large libraries, from the passes of the garbage collector: they are slow."""
    gc.collect()
    gc.freeze()


@pytest.fixture(params=tilings())
def name(request):
    """Return the name of each chunker in turn, and of a chunker of several levels once for each."""
    return request.param


@pytest.fixture
def linear(name):
    """Return the parameters that make a chunker's chunks contiguous."""
    return {"contiguous": True} if issubclass(chunker_class(name), GroupedParams) else {}


@pytest.fixture
def unwalled(name):
    """Return the parameters that turn off a chunker's hard stops, or smaller sizes of finer levels, which keep chunks small."""
    if ALGORITHMS[name].levels > 1:
        return {"levels": ["section", "recursive", "sentence"]}
    return {"markup": "plain"} if name in ("grobid-section", "layout-aware") else {}


@pytest.fixture
def split(name):
    """Return ``split(texts, **parameters) -> pieces`` for each level of each chunker in the core."""
    return lambda texts, **params: name.chunks(core(name, texts, **params))


@pytest.fixture(params=FRONT_ENDS)
def split_anywhere(request, name):
    """Return ``split(texts, **parameters) -> pieces`` for each chunker in each front end."""
    return lambda texts, **params: FRONT_ENDS[request.param](name, texts, **params)


@pytest.fixture
def planted(name):
    """Return the two halves of a text, and parameters with which this chunker separates them."""
    return CATS, COURTS, ALGORITHMS[name].planted


@pytest.fixture
def shifts(name):
    """Return ``shifts(longest) -> parameters`` that find shifts between synthetic topics."""
    return ALGORITHMS[name].shifts


@pytest.fixture
def front_ends():
    """Return the three front ends by name."""
    return FRONT_ENDS


@pytest.fixture
def tiktoken_cache(monkeypatch):
    """Point tiktoken to the vocabulary bundled with llama_index, so that it needs no network."""
    bundled = Path(llama_index.core.__file__).parent / "_static" / "tiktoken_cache"
    monkeypatch.setenv("TIKTOKEN_CACHE_DIR", str(bundled))
