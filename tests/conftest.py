"""Shared fixtures: offline models, planted texts, and one interface to all three front ends."""

import os
from pathlib import Path
from typing import NamedTuple

import llama_index.core
import pytest
from hypothesis import settings
from langchain_core.documents import Document as LangChainDocument
from llama_index.core import Document as LlamaIndexDocument

import langchain_advchunk
import llamaindex_advchunk
from advchunk import Document, GroupedParams, OptimalSemanticChunker, names
from advchunk.chunkers.registry import TABLE
from stand_ins import STAND_INS

settings.register_profile("advchunk", deadline=None)  # the machine may be busy with other tests
settings.load_profile("advchunk")

os.environ["HF_HUB_OFFLINE"] = "1"

# Two topics in one paragraph, so that layout gives no hint.
CATS = (
    "The cat naps on the sofa. The kitten purrs and naps. A cat chases a mouse. Cats and kittens eat fish. "
    "My cat purrs on my lap. The kitten chases the cat. "
)
COURTS = (
    "The court heard the appeal. Judges ruled on the law. The court issued its ruling. A lawyer argued the law. "
    "The appeal went to the judge. The judge and the lawyer agreed. "
)
# Parameters with which each chunker separates them; a new chunker adds a line. The baselines only know sizes.
PLANTED = {
    "sliding-window": {"max_tokens": 45},
    "recursive": {"max_tokens": 45},
    "semantic-threshold": {"buffer_size": 0, "breakpoint_threshold_amount": 91.0},
    "mst-semantic": {"granularity": "sentence", "n_segments": 2},
    "universal-semantic": {"min_chunk_size": 20, "threshold_percentile": 10.0},
    "optimal-semantic": {},
    "perplexity": {"combine": False},
    "margin-sampling": {"window": None, "combine": False},
    "biomedical-abstract": {"max_tokens": 45, "overlap_tokens": 0},
    "auto": {"max_tokens": 45},
    "discourse": {"target_tokens": 40},
    "grobid-section": {},
    "layout-aware": {},
    "llm-chaptering": {},
    "texttiling": {"preset": "fine"},
    "c99": {"min_segment_length": 0},
    "bayesseg": {"min_segment_tokens": 0},
    "lda-topic": {"preset": "depth", "num_topics": 2},
    "semantic-cluster": {"n_clusters": 2},
    "graph-partition": {"preset": "neighbors"},
}


# Parameters with which experimental chunkers find shifts between synthetic topics, by the longest segment in sentences.
SHIFTS = {
    "discourse": lambda longest: {"max_tokens": 20_000, "target_tokens": 33 * longest},
    "grobid-section": lambda _: {"max_tokens": 20_000, "inner": OptimalSemanticChunker(penalty=1.0)},
    "layout-aware": lambda _: {"max_tokens": 20_000, "inner": OptimalSemanticChunker(penalty=1.0)},
    "llm-chaptering": lambda longest: {"support_width": 1, "support": 60.0} if longest <= 3 else {},
    "texttiling": lambda longest: {"preset": "fine", "spacing": 0, "block_size": max(longest // 4, 1)},
    "c99": lambda longest: {"min_segment_length": 0, "n_segments": None if longest > 3 else 6},
    "bayesseg": lambda _: {"min_segment_tokens": 0},
    "lda-topic": lambda longest: {"preset": "depth", "block_size": max(longest // 3, 2)},
    "semantic-cluster": lambda _: {"connectivity": "chain", "n_clusters": 6, "min_cluster_size": 1},
    "graph-partition": lambda longest: {"preset": "neighbors"} if longest > 3 else {"threshold": 0.5},
}


class Piece(NamedTuple):
    """A chunk in a common format for all front ends."""

    text: str
    spans: tuple
    tokens: int
    id: str


def spans_of(metadata, start, end):
    flat = metadata.get("spans", f"{start}-{end}")
    return tuple(tuple(map(int, span.split("-"))) for span in flat.split())


def adapter(name, package, suffix):
    return getattr(package, TABLE[name].chunker.__name__.removesuffix("Chunker") + suffix)


def core(name, texts, tokenizer=None, **params):
    documents = [Document(text, str(i)) for i, text in enumerate(texts)]
    results = TABLE[name].chunker(tokenizer=tokenizer, **{**STAND_INS.get(name, {}), **params}).chunk_many(documents)
    return [Piece(c.text, c.spans, c.tokens, c.id) for chunks in results for c in chunks]


def langchain(name, texts, tokenizer=None, **params):
    splitter = adapter(name, langchain_advchunk, "Splitter")(
        length_function=tokenizer, **{**STAND_INS.get(name, {}), **params}
    )
    documents = splitter.split_documents([LangChainDocument(text, id=str(i)) for i, text in enumerate(texts)])
    pairs = [(d, d.metadata) for d in documents]
    return [
        Piece(d.page_content, spans_of(m, m["start_index"], m["end_index"]), m["token_count"], d.id) for d, m in pairs
    ]


def llamaindex(name, texts, tokenizer=None, **params):
    parser = adapter(name, llamaindex_advchunk, "NodeParser")(
        tokenizer=tokenizer, **{**STAND_INS.get(name, {}), **params}
    )
    nodes = parser([LlamaIndexDocument(text=text, id_=str(i)) for i, text in enumerate(texts)])
    pairs = [(n, spans_of(n.metadata, n.start_char_idx, n.end_char_idx)) for n in nodes]
    return [Piece(n.text, spans, n.metadata["token_count"], n.node_id) for n, spans in pairs]


FRONT_ENDS = {"core": core, "langchain": langchain, "llamaindex": llamaindex}


@pytest.fixture(params=names())
def name(request):
    """Return the name of each chunker in turn."""
    return request.param


@pytest.fixture
def linear(name):
    """Return the parameters that make a chunker's chunks contiguous."""
    return {"contiguous": True} if issubclass(TABLE[name].chunker, GroupedParams) else {}


@pytest.fixture
def unwalled(name):
    """Return the parameters that turn off a chunker's hard stops, which keep chunks small."""
    return {"markup": "plain"} if name in ("grobid-section", "layout-aware") else {}


@pytest.fixture(params=FRONT_ENDS)
def split(request, name):
    """Return ``split(texts, **parameters) -> pieces`` for a chunker in each front end in turn."""
    return lambda texts, **params: FRONT_ENDS[request.param](name, texts, **params)


@pytest.fixture
def planted(name):
    """Return the two halves of a text, and parameters with which this chunker separates them."""
    return CATS, COURTS, PLANTED[name]


@pytest.fixture
def shifts(name):
    """Return ``shifts(longest) -> parameters`` that find shifts between synthetic topics."""
    return SHIFTS[name]


@pytest.fixture
def front_ends():
    """Return the three front ends by name."""
    return FRONT_ENDS


@pytest.fixture
def tiktoken_cache(monkeypatch):
    """Point tiktoken to the vocabulary bundled with llama_index, so that it needs no network."""
    bundled = Path(llama_index.core.__file__).parent / "_static" / "tiktoken_cache"
    monkeypatch.setenv("TIKTOKEN_CACHE_DIR", str(bundled))
