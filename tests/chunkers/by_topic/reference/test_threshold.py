"""Semantic threshold against LangChain's SemanticChunker and LlamaIndex's SemanticSplitterNodeParser.

Peers and ours get the same sentences and the same vectors; the cuts must be the same.
"""

import hashlib
from itertools import pairwise

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from advchunk.chunkers.by_topic.threshold import SemanticThresholdChunker
from advchunk.text import sentences

pytest.importorskip("langchain_experimental")
pytest.importorskip("llama_index.core")

RULES = {"percentile": 80.0, "standard_deviation": 0.9, "interquartile": 0.6, "gradient": 80.0}


def vector(text):
    """Any vector, but always the same for the same words."""
    digest = hashlib.sha256(" ".join(text.split()).encode()).digest()
    return np.random.default_rng(int.from_bytes(digest[:8])).normal(size=6) + 0.5


def rows(texts):
    return [vector(text).tolist() for text in texts]


def langchain(text, **params):
    import warnings

    with warnings.catch_warnings():
        warnings.simplefilter("ignore", DeprecationWarning)
        from langchain_experimental.text_splitter import SemanticChunker
    from langchain_core.embeddings import Embeddings

    class Hashed(Embeddings):
        def embed_documents(self, texts):
            return rows(texts)

        def embed_query(self, text):
            return rows([text])[0]

    return SemanticChunker(Hashed(), **params).split_text(text)


def llamaindex(text, **params):
    from llama_index.core import Document
    from llama_index.core.embeddings import BaseEmbedding
    from llama_index.core.node_parser import SemanticSplitterNodeParser

    class Hashed(BaseEmbedding):
        def _get_text_embedding(self, text):
            return rows([text])[0]

        def _get_query_embedding(self, query):
            return rows([query])[0]

        async def _aget_query_embedding(self, query):
            return rows([query])[0]

    def split(text):
        return sentences.plain_sentences(text).strings()

    parser = SemanticSplitterNodeParser(embed_model=Hashed(), sentence_splitter=split, **params)
    return [node.text.strip() for node in parser.get_nodes_from_documents([Document(text=text)])]


def ours(text, **params):
    chunker = SemanticThresholdChunker(
        embedder=rows,
        sentence_splitter="plain",
        markup="plain",
        embed_buffer=True,
        max_tokens=10**6,
        layout_weight=0.0,
        **params,
    )
    return [chunk.text.strip() for chunk in chunker.chunk(text)]


# More sentences than are in a buffer, lest buffers be equal; LangChain cuts two by the gradient without a look.
texts = st.tuples(st.integers(6, 40), st.integers(0, 10**6)).map(
    lambda drawn: " ".join(f"Sentence {i} of {drawn[1]} {'.!?'[i % 3]}" for i in range(drawn[0]))
)
few = settings(max_examples=25)


@pytest.mark.slow
@pytest.mark.parametrize("buffer_size", [0, 1, 2])
@pytest.mark.parametrize("rule", RULES)
def test_langchain_rules(rule, buffer_size):
    @few
    @given(texts)
    def check(text):
        params = {"breakpoint_threshold_type": rule, "breakpoint_threshold_amount": RULES[rule]}
        assert ours(text, buffer_size=buffer_size, **params) == langchain(text, buffer_size=buffer_size, **params)

    check()


@pytest.mark.parametrize("rule", RULES)
def test_langchain_default_amounts(rule):
    text = " ".join(f"Number {i}." for i in range(200)) + " Quite. Something. Else."
    assert ours(text, breakpoint_threshold_type=rule) == langchain(text, breakpoint_threshold_type=rule)


@few
@given(texts, st.integers(1, 45), st.sampled_from([0, 1, 2]))
def test_langchain_number_of_chunks(text, number, buffer_size):
    actual = ours(text, n_segments=number, buffer_size=buffer_size)
    expected = langchain(text, number_of_chunks=number, buffer_size=buffer_size)
    sentences = text.count("Sentence")
    assert len(actual) == min(number, sentences)
    if number >= sentences:
        assert len(expected) == sentences - 1  # LangChain never parts all
    else:  # now and then its percentile is just under the distance it means, and so cuts there too
        assert actual == expected or (len(actual) == len(expected) - 1 and is_finer(expected, actual))


def is_finer(fine, coarse):
    """Tell whether all cuts of ``coarse`` are cuts of ``fine``."""
    return set(ends(coarse)) <= set(ends(fine))


def ends(chunks):
    return np.cumsum([len(chunk) + 1 for chunk in chunks]).tolist()


@few
@given(texts, st.sampled_from([50, 80, 95]), st.sampled_from([0, 1, 2]))
def test_llamaindex_percentile(text, amount, buffer_size):
    expected = llamaindex(text, breakpoint_percentile_threshold=amount, buffer_size=buffer_size)
    assert ours(text, breakpoint_threshold_amount=amount, buffer_size=buffer_size) == expected


@pytest.mark.parametrize("reach", [1, 3])
def test_averaged_buffers_weigh_every_sentence_by_its_tokens(reach):
    """What the default does instead of embedding each buffer."""
    sentences = [f"{'so ' * (i % 4)}{i}. " for i in range(12)]
    text = "".join(sentences)
    chunker = SemanticThresholdChunker(embedder=rows, sentence_splitter="plain", tokenizer="words", buffer_size=reach)
    unit = [vector(s) / np.linalg.norm(vector(s)) for s in sentences]
    weighted = [len(sentence.split()) * row for sentence, row in zip(sentences, unit, strict=True)]
    mean = [sum(weighted[max(i - reach, 0) : i + reach + 1]) for i in range(len(unit))]
    cosine = [a @ b / np.linalg.norm(a) / np.linalg.norm(b) for a, b in pairwise(mean)]
    assert chunker.explain(text).figures["distances"] == pytest.approx(1 - np.array(cosine), abs=1e-6)
