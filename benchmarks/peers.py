"""Chunkers of other libraries as evaluation candidates, each built from one size, and a reimplementation of Chroma's.

Chunkers that accept a token counter or an embedder get those of the evaluation. They need the extra `peers`.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass
from functools import cache, lru_cache, partial
from importlib.metadata import version
from itertools import pairwise
from typing import Any, NamedTuple, TypeAlias

import numpy as np

from advchunk.evaluation import Candidate, external
from advchunk.models.counters import as_counter
from advchunk.models.embedders import as_embedder
from advchunk.models.identity import identity
from advchunk.records import Floats, Ints

Split: TypeAlias = Callable[[str], Iterable[str]]
Maker: TypeAlias = Callable[[int | None], Candidate]


def peers(embedder: Any = None) -> dict[str, Maker]:
    """Return a function for each library that builds its candidate: of a size without overlap, or with its defaults
    (None).
    """
    return {label: partial(make_peer, label, embedder) for label in PEERS}


def make_peer(label: str, embedder: Any, size: int | None) -> Candidate:
    """Return the candidate of a library at a size."""
    package, _ = PEERS[label]
    fingerprint = f"{package} {version(package)}, {identity(embedder)}, {size}"
    params = {} if size is None else {"max_tokens": size}
    return external(label, Splitter(label, embedder, size), fingerprint=fingerprint, **params)


@dataclass(frozen=True)
class Splitter:
    """A splitter that is built where it runs, so that it can run in another process."""

    label: str
    embedder: Any
    size: int | None

    def __call__(self, text: str) -> Iterable[str]:
        """Return the texts of the chunks."""
        return _build(self)(text)


@lru_cache(maxsize=64)
def _build(splitter: Splitter) -> Split:
    _, split = PEERS[splitter.label]
    return split(_tools(splitter.embedder), splitter.size)


class Tools(NamedTuple):
    """The shared token counter and embedder, both cached across sizes."""

    count: Callable[[str], int]
    embed_texts: Callable[[tuple[str, ...]], Floats]


@lru_cache(maxsize=1)
def _tools(embedder: Any) -> Tools:
    counter, model = as_counter(None), as_embedder(embedder)
    return Tools(cache(counter), lru_cache(maxsize=32)(model.embed))


def langchain_recursive(tools: Tools, size: int | None) -> Split:
    """Split at coarse separators before fine ones; by default 4,000 characters with an overlap of 200."""
    from langchain_text_splitters import RecursiveCharacterTextSplitter

    if size is None:
        return RecursiveCharacterTextSplitter().split_text
    return RecursiveCharacterTextSplitter(chunk_size=size, chunk_overlap=0, length_function=tools.count).split_text


def langchain_semantic(tools: Tools, size: int | None) -> Split:
    """Cut at the largest distances between neighbors: above the 95th percentile, or as many as the size requires."""
    from langchain_experimental.text_splitter import SemanticChunker

    class Embeddings:
        def embed_documents(self, texts: Sequence[str]) -> Any:
            return tools.embed_texts(tuple(texts))  # numpy rows work where the interface expects lists

    embeddings: Any = Embeddings()

    def split(text: str) -> list[str]:
        number = None if size is None else max(tools.count(text) // size, 1)
        return SemanticChunker(embeddings, number_of_chunks=number).split_text(text)

    return split


def llamaindex_sentence(tools: Tools, size: int | None) -> Split:
    """Fill chunks with sentences; by default 1,024 tokens with an overlap of 200."""
    from llama_index.core.node_parser import SentenceSplitter

    own: dict[str, Any] = {} if size is None else {"chunk_size": size, "chunk_overlap": 0}
    return SentenceSplitter(tokenizer=lambda text: [0] * tools.count(text), **own).split_text


def llamaindex_semantic(tools: Tools, size: int | None) -> Split:
    """Cut where neighbors are less similar than an integer percentile: the 95th, or the one that the size requires."""
    from llama_index.core import Document
    from llama_index.core.embeddings import BaseEmbedding
    from llama_index.core.node_parser import SemanticSplitterNodeParser

    class Embedding(BaseEmbedding):
        def _get_text_embeddings(self, texts: list[str]) -> Any:
            return list(tools.embed_texts(tuple(texts)))

        def _get_text_embedding(self, text: str) -> Any:
            return self._get_text_embeddings([text])[0]

        def _get_query_embedding(self, query: str) -> Any:
            return self._get_text_embedding(query)

        async def _aget_query_embedding(self, query: str) -> Any:
            return self._get_text_embedding(query)

    def split(text: str) -> list[str]:
        parser = SemanticSplitterNodeParser(embed_model=Embedding(embed_batch_size=2048))
        if size is not None:
            share = tools.count(text) / size / max(len(parser.sentence_splitter(text)), 1)
            parser.breakpoint_percentile_threshold = min(max(round(100 * (1 - share)), 0), 100)
        return [node.get_content() for node in parser.get_nodes_from_documents([Document(text=text)])]

    return split


def chonkie_recursive(tools: Tools, size: int | None) -> Split:
    """Split at coarse delimiters before fine ones; by default 2,048 characters."""
    from chonkie import RecursiveChunker

    return _split_to_texts(RecursiveChunker(**_chonkie(tools, size)))


def chonkie_sentence(tools: Tools, size: int | None) -> Split:
    """Fill chunks with sentences; by default 2,048 characters."""
    from chonkie import SentenceChunker

    return _split_to_texts(SentenceChunker(**_chonkie(tools, size)))


def chonkie_semantic(tools: Tools, size: int | None) -> Split:
    """Cut at minima of the smoothed similarity of a sentence and those before; by default 2,048 tokens at most."""
    from chonkie import SemanticChunker
    from chonkie.embeddings import BaseEmbeddings

    class Embeddings(BaseEmbeddings):
        def embed(self, text: str) -> Any:
            return self.embed_batch([text])[0]

        def embed_batch(self, texts: list[str]) -> Any:
            return list(tools.embed_texts(tuple(texts))) if texts else []

        @property
        def dimension(self) -> int:
            return len(self.embed("a"))

        def get_tokenizer(self) -> Any:
            return tools.count

    # chunk_size is a limit that it rarely reaches; threshold is the share of minima that it cuts at.
    own: dict[str, Any] = (
        {} if size is None else {"threshold": float(np.clip(50 / size, 0.01, 0.99)), "chunk_size": 2 * size}
    )
    return _split_to_texts(SemanticChunker(embedding_model=Embeddings(), **own))


def _chonkie(tools: Tools, size: int | None) -> dict[str, Any]:
    """Return the parameters for a size in tokens; chonkie also needs a tokenizer that can split into characters."""
    from chonkie.tokenizer import CharacterTokenizer

    class Tokens(CharacterTokenizer):
        def count_tokens(self, text: str) -> int:
            return tools.count(text)

        def count_tokens_batch(self, texts: Sequence[str]) -> list[int]:
            return list(map(tools.count, texts))

    return {} if size is None else {"tokenizer": Tokens(), "chunk_size": size}


def _split_to_texts(chunker: Callable[[str], Any]) -> Split:
    return lambda text: [chunk.text for chunk in chunker(text)]


def semchunk(tools: Tools, size: int | None) -> Split:
    """Split at the most significant white space or punctuation, and merge what fits; no default, so 512 tokens."""
    from semchunk.semchunk import chunkerify

    split: Any = chunkerify(tools.count, 512 if size is None else size)
    return split  # type: ignore[no-any-return]


def semantic_text_splitter(tools: Tools, size: int | None) -> Split:
    """Fill chunks with the largest units that fit; no default, so the 1,000 characters of its documentation."""
    from semantic_text_splitter import TextSplitter

    return TextSplitter(1000).chunks if size is None else TextSplitter.from_callback(tools.count, size).chunks


def chroma_cluster(tools: Tools, size: int | None) -> Split:
    """Cluster adjacent pieces; by default 400 tokens in pieces of 50, otherwise pieces of an eighth of the size."""
    most = 400 if size is None else size
    return chroma(tools, most, max(most // 8, 1))


def chroma(tools: Tools, most: int, least: int) -> Split:
    """Return Chroma's ClusterSemanticChunker for its two sizes in tokens.

    The larger limits the number of pieces, each counted as ``least`` tokens: chunks are never counted again.

    References
    ----------
    Smith and Troynikov (2024), Evaluating Chunking Strategies for Retrieval, Chroma technical report.
    """
    pieces = chroma_recursive(tools, least)

    def split(text: str) -> list[str]:
        texts = list(pieces(text))
        if not texts:
            return []
        rows = tools.embed_texts(tuple(texts))
        cuts = clusters(near(rows, most // least), mean_similarity(rows)).tolist()
        return [" ".join(texts[a:b]) for a, b in pairwise(cuts)]

    return split


def chroma_recursive(tools: Tools, size: int) -> Split:
    """Return Chroma's RecursiveTokenChunker without overlap: LangChain's code with other separators."""
    from langchain_text_splitters import RecursiveCharacterTextSplitter

    separators = ["\n\n", "\n", ".", "?", "!", " ", ""]
    return RecursiveCharacterTextSplitter(
        separators, chunk_size=size, chunk_overlap=0, length_function=tools.count
    ).split_text


def chroma_200(embedder: Any) -> dict[str, Candidate]:
    """Return the two chunkers, of 200 tokens, for which Chroma published figures with MiniLM."""
    tools = _tools(embedder)
    return {
        label: external(label, split)
        for label, split in {
            "RecursiveTokenChunker, 200": chroma_recursive(tools, 200),
            "ClusterSemanticChunker, 200": chroma(tools, 200, 50),
        }.items()
    }


def near(rows: Floats, most: int) -> Floats:
    """Return the similarity of each piece to those after it: (n, most - 1), 0 beyond the last."""
    similarity = np.zeros((len(rows), max(most, 1) - 1))
    for d in range(1, min(len(rows), most)):
        similarity[:-d, d - 1] = np.einsum("ij,ij->i", rows[:-d], rows[d:], dtype=np.float64)
    return similarity


def mean_similarity(rows: Floats) -> float:
    """Return the mean similarity of all pairs of pieces; 0 for a single piece."""
    total, pairs = rows.sum(axis=0, dtype=np.float64), len(rows) * (len(rows) - 1)
    return float(total @ total - np.einsum("ij,ij->", rows, rows, dtype=np.float64)) / max(pairs, 1)


def clusters(near: Floats, mean: float) -> Ints:
    """Return the cuts (k + 1,) that maximize the similarity above the mean within clusters of limited length.

    One bug of the original is reproduced: if no cluster that ends at a piece has a positive gain, its best start stays
    at the initial value, 0. A text that begins with dissimilar pieces therefore begins with one cluster of any length.

    Parameters
    ----------
    near : (n, m - 1) similarity of each of n >= 1 pieces to those after it, for clusters of at most m pieces.
    mean : mean similarity of all pairs.
    """
    n, most = len(near), near.shape[1] + 1
    joined = np.concatenate([np.zeros((n, 1)), np.cumsum(near - mean, axis=1)], axis=1).tolist()
    best, start = [0.0] * (n + 1), [0] * (n + 1)
    for end in range(1, n + 1):
        held = 0.0
        for first in range(end - 1, max(end - most, 0) - 1, -1):
            held += joined[first][end - 1 - first]
            if held + best[first] > best[end]:
                best[end], start[end] = held + best[first], first
    cuts = [n]
    while cuts[-1]:
        cuts.append(start[cuts[-1]])
    return np.array(cuts[::-1], dtype=np.int64)


# The package, whose version is part of the fingerprint, and the function that builds the splitter.
PEERS: dict[str, tuple[str, Callable[[Tools, int | None], Split]]] = {
    "LangChain RecursiveCharacterTextSplitter": ("langchain-text-splitters", langchain_recursive),
    "LangChain SemanticChunker": ("langchain-experimental", langchain_semantic),
    "LlamaIndex SentenceSplitter": ("llama-index-core", llamaindex_sentence),
    "LlamaIndex SemanticSplitterNodeParser": ("llama-index-core", llamaindex_semantic),
    "chonkie RecursiveChunker": ("chonkie", chonkie_recursive),
    "chonkie SentenceChunker": ("chonkie", chonkie_sentence),
    "chonkie SemanticChunker": ("chonkie", chonkie_semantic),
    "semchunk": ("semchunk", semchunk),
    "semantic-text-splitter": ("semantic-text-splitter", semantic_text_splitter),
    "Chroma ClusterSemanticChunker": ("langchain-text-splitters", chroma_cluster),
}
