"""Measure speed and memory, beside the bare embedding and beside peers. JSON on stdout; see README.md.

python benchmarks/speed.py --data DIR [--only corpora mst many imports]
"""

from __future__ import annotations

import argparse
import json
import os
import platform
import re
import resource
import statistics
import subprocess
import sys
import time
import unicodedata
from collections.abc import Callable, Iterable, Mapping, Sequence
from math import ceil, exp, log, log1p
from pathlib import Path
from typing import Any, Protocol, TypeAlias

import numpy as np
from numpy.typing import NDArray
from scipy.spatial.distance import cosine as scipy_cosine

import advchunk
from advchunk.chunkers.mst.distances import MSTSemanticParams
from advchunk.engine import BATCH_SIZE
from advchunk.models.embedders import as_embedder
from advchunk.models.static import StaticEmbedder, default_embedder
from advchunk.sizes import Limits
from advchunk.text.counters import CHARACTERS

Json: TypeAlias = dict[str, Any]
Rows: TypeAlias = NDArray[np.float32]
Task: TypeAlias = Callable[[], object]

PLAIN_SENTENCE = re.compile(r"(?<=[.?!])\s+")  # LangChain's, and that of universal chunking
SLICE = 4_000  # characters of each corpus, for a transformer
SHORT = 600  # characters of a short document
EDGE = 0.4  # a lambda that leaves many components, whatever the number of pieces
SECONDS = 120  # that one clustering may take
OURS: dict[str, tuple[str, dict[str, Any]]] = {
    "universal-semantic": ("universal-semantic", {}),
    "mst-semantic": ("mst-semantic", {}),
    "semantic-threshold": ("semantic-threshold", {}),
    "semantic-threshold, plain sentences": ("semantic-threshold", {"sentence_splitter": "plain"}),  # as the peers'
    "semantic-threshold, embed_buffer": ("semantic-threshold", {"embed_buffer": True}),
    "optimal-semantic": ("optimal-semantic", {}),
    "recursive": ("recursive", {}),
    "sliding-window": ("sliding-window", {}),
}
HEAVY = ("numpy", "scipy", "regex", "sentencex", "markdown_it", "pydantic", "langchain_core", "llama_index.core",
         "nltk", "pandas", "tiktoken", "transformers", "torch")  # fmt: skip


class Embedder(Protocol):
    """What ours and the peers share."""

    def embed(self, texts: Sequence[str]) -> Any:
        """Return one row a text."""
        ...


class Recipe:
    """The same table, text by text: what an embedder is before anybody makes it fast."""

    _CJK = re.compile(r"([\u4e00-\u9fff\u3400-\u4dbf\uf900-\ufaff])")
    _WORD = re.compile(r"\w+|[^\w\s]")

    def __init__(self, fast: StaticEmbedder) -> None:
        self._table = fast.table
        self._ids = {token: i for i, token in enumerate(fast.tokenizer.vocabulary)}
        self._known: dict[str, list[int]] = {}

    def embed(self, texts: Sequence[str]) -> Rows:
        """Return unit rows."""
        rows = np.zeros((len(texts), self._table.shape[1]), np.float32)
        for row, text in zip(rows, texts, strict=True):
            if ids := self.encode(text):
                row[:] = self._table[ids].mean(axis=0)
        norms = np.linalg.norm(rows, axis=1, keepdims=True)
        return np.asarray(rows / np.where(norms > 0, norms, 1))

    def encode(self, text: str) -> list[int]:
        """Return the tokens of a text."""
        bare = "".join(c for c in unicodedata.normalize("NFD", text.lower()) if unicodedata.category(c) != "Mn")
        apart = self._CJK.sub(r" \1 ", bare).replace("_", " _ ")
        return [i for word in self._WORD.findall(apart) for i in self._word(word)]

    def _word(self, word: str) -> list[int]:
        if word not in self._known:
            ids, start = list[int](), 0
            while start < len(word):
                mark = "##" if start else ""
                ends = range(len(word), start, -1)
                end = next((end for end in ends if mark + word[start:end] in self._ids), None)
                if end is None:
                    ids = []
                    break
                ids.append(self._ids[mark + word[start:end]])
                start = end
            self._known[word] = ids
        return self._known[word]


EMBEDDERS: dict[str, Callable[[], Embedder]] = {
    "default": default_embedder,
    "recipe": lambda: Recipe(default_embedder()),
    "minilm": lambda: as_embedder("minilm"),
}


def corpora(texts: Sequence[str], embedders: Sequence[str], repeat: int) -> Json:
    """Chunk the same texts with everything, in one process with one embedder."""
    return {name: _corpora(texts, name, repeat) for name in embedders}


def _corpora(texts: Sequence[str], name: str, repeat: int) -> Json:
    texts = [text[:SLICE] for text in texts] if name == "minilm" else texts
    embedder = EMBEDDERS[name]()
    sentences = [PLAIN_SENTENCE.split(text) for text in texts]
    theirs, ours = peers(texts, embedder), our_tasks(texts, embedder)

    def bare() -> None:
        for some in sentences:
            embedder.embed(some)

    found = timed({"bare": bare, **theirs, **ours}, repeat)
    base = found["bare"]["wall"]["min"]
    fastest = min(found[peer]["wall"]["min"] for peer in theirs)
    for task in ours:
        wall = found[task]["wall"]["min"]
        found[task] |= {
            "over bare, s": round(wall - base, 4),
            "ours / bare": round(wall / base, 2),
            "fastest peer / ours": round(fastest / wall, 2),
        }
    return {"characters": sum(map(len, texts)), "sentences": sum(map(len, sentences)), **found}


def our_tasks(texts: Sequence[str], embedder: Embedder) -> dict[str, Task]:
    """Return the tasks of chunking the texts with ours, in the core and in both frameworks."""
    from langchain_core.documents import Document as LangChainDocument
    from llama_index.core import Document as LlamaIndexDocument

    from langchain_advchunk import MSTSemanticSplitter
    from llamaindex_advchunk import MSTSemanticNodeParser

    def chunker(name: str, params: dict[str, Any]) -> Task:
        needs: dict[str, Any] = {"embedder": embedder} if "embedder" in advchunk.describe(name)["resources"] else {}
        built = advchunk.create(name, **params, **needs)
        return lambda: [built.chunk(text) for text in texts]

    splitter, parser = MSTSemanticSplitter(embeddings=embedder), MSTSemanticNodeParser(embed_model=embedder)
    documents = [LangChainDocument(text) for text in texts]
    nodes = [LlamaIndexDocument(text=text) for text in texts]
    return {
        **{label: chunker(name, params) for label, (name, params) in OURS.items()},
        "mst-semantic in LangChain": lambda: [splitter.split_documents([document]) for document in documents],
        "mst-semantic in LlamaIndex": lambda: [parser.get_nodes_from_documents([node]) for node in nodes],
    }


def peers(texts: Sequence[str], embedder: Embedder) -> dict[str, Task]:
    """Return the tasks of chunking the texts with peers, at their defaults, in the thinnest wrappings."""
    from chonkie import SemanticChunker as ChonkieChunker
    from chonkie.embeddings import BaseEmbeddings
    from langchain_core.embeddings import Embeddings
    from langchain_experimental.text_splitter import SemanticChunker as LangChainChunker
    from llama_index.core import Document
    from llama_index.core.base.embeddings.base import BaseEmbedding
    from llama_index.core.node_parser import SemanticSplitterNodeParser

    count = default_embedder().tokenizer

    class InLangChain(Embeddings):
        def embed_documents(self, texts: list[str]) -> Any:
            return embedder.embed(texts)  # rows as they are: lists of floats would slow the peer down

        def embed_query(self, text: str) -> Any:
            return embedder.embed([text])[0]

    class InLlamaIndex(BaseEmbedding):
        def _get_text_embeddings(self, texts: list[str]) -> Any:
            return list(embedder.embed(texts))

        def _get_text_embedding(self, text: str) -> Any:
            return embedder.embed([text])[0]

        def _get_query_embedding(self, query: str) -> Any:
            return self._get_text_embedding(query)

        async def _aget_query_embedding(self, query: str) -> Any:
            return self._get_text_embedding(query)

    class InChonkie(BaseEmbeddings):
        dimension = int(embedder.embed(["a"]).shape[1])

        def embed(self, text: str) -> Any:
            return embedder.embed([text])[0]

        def embed_batch(self, texts: list[str]) -> Any:
            return list(embedder.embed(texts))

        def get_tokenizer(self) -> Any:
            return count.__call__

    langchain = LangChainChunker(InLangChain())
    llamaindex = SemanticSplitterNodeParser(embed_model=InLlamaIndex(embed_batch_size=BATCH_SIZE))
    chonkie = ChonkieChunker(InChonkie())
    documents = [Document(text=text) for text in texts]
    return {
        "LangChain SemanticChunker": lambda: [langchain.split_text(text) for text in texts],
        "LlamaIndex SemanticSplitter": lambda: [llamaindex.get_nodes_from_documents([node]) for node in documents],
        "chonkie SemanticChunker": lambda: [chonkie.chunk(text) for text in texts],
    }


def mst(sizes: Sequence[int], large: Sequence[int], repeat: int) -> Json:
    """Cluster given vectors: against the published double loop, then at sizes that it does not reach."""
    small = {str(n): _beside_published(n, repeat) for n in sizes}
    return {"beside the published loops": small, "large": {str(n): {c: _apart(n, c) for c in CASES} for n in large}}


def _beside_published(n: int, repeat: int) -> Json:
    vectors, lengths = pieces(n)
    began = time.perf_counter()
    tree, adaptive = published(vectors, lengths)
    theirs = [connected(tree, adaptive, n)]
    seconds = time.perf_counter() - began
    theirs.append(connected(tree, EDGE, n))
    cluster = clusterer(vectors, lengths)
    ours = [cluster().figures["labels"], cluster(lambda_=EDGE).figures["labels"]]
    found = timed({"adaptive": cluster, "fixed": lambda: cluster(lambda_=EDGE)}, repeat)
    return {
        "pairs": sum(n - d for d in range(1, max(5, int(n * 0.03)))),
        "published, s": round(seconds, 3),
        "ours, s": found["adaptive"]["wall"]["min"],
        "published / ours": round(seconds / found["adaptive"]["wall"]["min"], 1),
        f"ours with lambda_={EDGE}, s": found["fixed"]["wall"]["min"],
        "components": [len(set(labels.tolist())) for labels in ours],
        "equal labels": all(np.array_equal(a, b) for a, b in zip(ours, theirs, strict=True)),
    }


# What is asked of the clustering, from its number of pieces.
CASES: dict[str, Callable[[int], dict[str, Any]]] = {
    "adaptive lambda": lambda n: {},  # noqa: ARG005 - from some 700 pieces on it exceeds the mean: all connect
    "all pairs": lambda n: {"lambda_": 1e9},  # noqa: ARG005
    "many components": lambda n: {"lambda_": EDGE},  # noqa: ARG005
    "n_segments": lambda n: {"n_segments": max(n // 10, 1)},
    "tree on request": lambda n: {},  # noqa: ARG005
}


def _apart(n: int, case: str) -> Json:
    """Cluster in a process of its own, so that its peak memory is known."""
    say(f"mst: {n} pieces, {case}")
    command = [sys.executable, __file__, "--worker", str(n), case]
    try:
        done = subprocess.run(command, capture_output=True, check=False, timeout=SECONDS, text=True)
    except subprocess.TimeoutExpired:
        return {"over, s": SECONDS}
    found: Json = {"failed": done.stderr.splitlines()[-1:]} if done.returncode else json.loads(done.stdout)
    return found


def worker(n: int, case: str) -> Json:
    """Cluster ``n`` pieces; say how long it took and by how much the process grew."""
    cluster = clusterer(*pieces(n))
    clusterer(*pieces(50))().figures["tree"]()  # loads scipy
    before, began = peak_mb(), time.perf_counter()
    found = cluster(**CASES[case](n))
    labels = found.figures["labels"]
    edges = len(found.figures["tree"]().weight) if case == "tree on request" else None
    seconds, grown = time.perf_counter() - began, peak_mb() - before
    wanted = {"s": round(seconds, 3), "MB more": round(grown), "components": len(np.unique(labels))}
    return wanted if edges is None else wanted | {"edges": edges}


def peak_mb() -> float:
    """Return the greatest resident size this process ever had (Linux counts a parent's in ``getrusage``)."""
    status = Path("/proc/self/status")
    if status.exists():
        return int(re.findall(r"VmHWM:\s+(\d+)", status.read_text())[0]) / 1024
    return resource.getrusage(resource.RUSAGE_SELF).ru_maxrss / (2**20 if sys.platform == "darwin" else 2**10)


def pieces(n: int, d: int = 256) -> tuple[Rows, NDArray[np.int64]]:
    """Return unit vectors of passages on recurring topics, and their tokens.

    Pieces have about the cosines of paragraphs under MiniLM: .2 apart, .45 on one topic.
    """
    rng = np.random.default_rng(n)
    topics = unit(rng.standard_normal((max(n // 40, 2), d), np.float32))
    topic = np.repeat(rng.integers(0, len(topics), n), rng.integers(1, 12, n))[:n]
    rows = np.empty((n, d), np.float32)
    for some in np.array_split(np.arange(n), ceil(n / 4096)):  # no copy of it all, which would hide a peak
        noise = unit(rng.standard_normal((len(some), d), np.float32))
        rows[some] = unit(0.2**0.5 * np.eye(1, d) + 0.25**0.5 * topics[topic[some]] + 0.55**0.5 * noise)
    return rows, np.clip(rng.lognormal(3.7, 0.8, n), 3, 400).astype(np.int64)


def unit(rows: NDArray[Any]) -> Rows:
    """Scale rows to length 1, in place where that can be."""
    rows /= np.linalg.norm(rows, axis=1, keepdims=True)
    return rows.astype(np.float32, copy=False)


def clusterer(vectors: Rows, lengths: NDArray[np.int64]) -> Callable[..., advchunk.Segmentation]:
    """Return what clusters these pieces, and does nothing else."""
    n = len(lengths)
    units, limits = advchunk.Units("x" * n, np.arange(n + 1), lengths), Limits(400, 0, 0, CHARACTERS)
    return lambda **params: advchunk.MSTSemanticChunker(**params).segment(units, vectors, limits)


Edge: TypeAlias = tuple[float, int, int]


def published(vectors: Rows, lengths: NDArray[np.int64]) -> tuple[list[Edge], float]:
    """Return the tree and lambda of MST Semantic Chunker v2, pair by pair as it is published.

    What it publishes as code stands as it does there: the cosine of scipy, its one use of that library,
    and a mean taken anew for every piece. Each distance is computed once only.
    """
    p, n, rows = MSTSemanticParams(), len(vectors), list(vectors.astype(np.float64))
    tokens = lengths.tolist()
    reach = max(p.base_threshold, int(n * p.scaling_factor))
    cosine = {}
    for i in range(n):
        for j in range(i + 1, n):
            if j - i < reach:
                cosine[i, j] = float(scipy_cosine(rows[i], rows[j]))
    density = 1 - sum(cosine.values()) / len(cosine)
    fragmentation = sum(1 for size in tokens if size < np.mean(tokens) * p.short_factor) / n
    semantic = p.semantic_base + p.semantic_density * density
    locality = p.locality_base + exp(-p.locality_density * density - p.locality_fragmentation * fragmentation)
    vicinity = p.vicinity_base + p.vicinity_scale * exp(p.vicinity_rate * (fragmentation - p.vicinity_pivot))
    edges = []
    for (i, j), apart in cosine.items():
        d, left, right, reward = j - i, max(tokens[i], p.min_len), max(tokens[j], p.min_len), 0.0
        if d <= p.long_term_window and left < p.short_threshold and right < p.short_threshold:
            reward -= p.vicinity_reward * exp(-min(left, right) / p.short_threshold)
        if d == p.immediate_window and left < p.short_threshold:
            reward -= p.heading_reward * exp(-left / p.short_threshold)
        edges.append((apart * semantic + p.gamma * d * log1p(d / 2) * locality + reward * vicinity, i, j))
    mean = sum(weight for weight, _, _ in edges) / len(edges)
    # In logarithms: over a long text the mean is so large that its power is beyond a float.
    power = (p.alpha_slope * mean + p.alpha_base) * log(mean) - p.lambda_decay / mean
    above, tree = list(range(n)), []
    for edge in sorted(edges):
        a, b = root(above, edge[1]), root(above, edge[2])
        if a != b:
            above[max(a, b)] = min(a, b)
            tree.append(edge)
    return tree, exp(min(power, 700.0))


def connected(tree: Iterable[Edge], greatest: float, n: int) -> NDArray[np.int64]:
    """Return the first piece of each piece's component, with the tree cut above ``greatest``."""
    above = list(range(n))
    for weight, i, j in tree:
        if weight <= greatest:
            a, b = root(above, i), root(above, j)
            above[max(a, b)] = min(a, b)
    return np.array([root(above, i) for i in range(n)])


def root(above: list[int], i: int) -> int:
    """Find the set of ``i``, halving the path to it."""
    while above[i] != i:
        above[i] = i = above[above[i]]
    return i


class Counted:
    """An embedder that knows how often it was called, and with what."""

    def __init__(self, embedder: Embedder) -> None:
        self._embedder, self.calls, self.seen = embedder, 0, set[str]()

    def embed(self, texts: Sequence[str]) -> Any:
        """Pass on."""
        self.calls += 1
        self.seen.update(texts)
        return self._embedder.embed(texts)


def many(texts: Sequence[str], number: int, repeat: int) -> Json:
    """Chunk many short documents, in one call and one by one."""
    from langchain_core.documents import Document as LangChainDocument
    from llama_index.core import Document as LlamaIndexDocument

    from langchain_advchunk import MSTSemanticSplitter
    from llamaindex_advchunk import MSTSemanticNodeParser

    short = [text[at : at + SHORT] for text in texts for at in range(0, len(text), SHORT)][:number]
    counted = Counted(default_embedder())
    split = MSTSemanticSplitter(embeddings=counted).split_documents
    parse = MSTSemanticNodeParser(embed_model=counted).get_nodes_from_documents
    found: Json = {"documents": len(short)}
    runs: dict[str, tuple[Callable[[list[Any]], object], list[Any]]] = {
        "LangChain": (split, [LangChainDocument(text) for text in short]),
        "LlamaIndex": (parse, [LlamaIndexDocument(text=text) for text in short]),
    }
    for framework, (run, documents) in runs.items():
        counted.calls, counted.seen = 0, set()
        run(documents)
        calls, distinct = counted.calls, len(counted.seen)
        tasks: dict[str, Task] = {
            "in one call": lambda run=run, documents=documents: run(documents),  # type: ignore[misc]
            "one by one": lambda run=run, documents=documents: [run([one]) for one in documents],  # type: ignore[misc]
        }
        found[framework] = {
            "distinct units": distinct,
            "model calls": calls,
            "fewest model calls": ceil(distinct / BATCH_SIZE),
            **timed(tasks, repeat),
        }
    return found


def imports(repeat: int) -> Json:
    """Import each package in a fresh process, beside the framework it extends."""
    modules = ("numpy", "advchunk", "langchain_text_splitters", "langchain_advchunk", "llama_index.core.node_parser",
               "llamaindex_advchunk")  # fmt: skip
    return {module: _imported(module, repeat) for module in modules}


def _imported(module: str, repeat: int) -> Json:
    script = (
        "import json, sys, time; began = time.perf_counter(); "
        f"import {module}; took = time.perf_counter() - began; "
        f"print(json.dumps([took, [name for name in {HEAVY} if name in sys.modules]]))"
    )
    say(f"imports: {module}")
    runs = [
        json.loads(subprocess.run([sys.executable, "-c", script], capture_output=True, check=True, text=True).stdout)
        for _ in range(repeat)
    ]
    return {"s": round(min(took for took, _ in runs), 3), "loads": runs[0][1]}


def timed(tasks: Mapping[str, Task], repeat: int) -> dict[str, Json]:
    """Time tasks in turn, again and again, after a round that warms caches: load on the machine strikes all alike."""
    wall: dict[str, list[float]] = {name: [] for name in tasks}
    cpu: dict[str, list[float]] = {name: [] for name in tasks}
    for turn in range(repeat + 1):
        for name, task in tasks.items():
            say(f"{name}, {turn} of {repeat}")
            walls, cpus = time.perf_counter(), time.process_time()
            task()
            if turn:
                wall[name].append(time.perf_counter() - walls)
                cpu[name].append(time.process_time() - cpus)
    return {name: {"wall": _summary(wall[name]), "cpu": _summary(cpu[name])} for name in tasks}


def _summary(seconds: Sequence[float]) -> Json:
    return {"min": round(min(seconds), 5), "median": round(statistics.median(seconds), 5)}


def machine() -> Json:
    """Say where the figures come from."""
    cpu = re.findall(r"model name\s*: (.+)", Path("/proc/cpuinfo").read_text()) if sys.platform == "linux" else []
    return {
        "cpu": cpu[0] if cpu else platform.processor(),
        "cores": os.cpu_count(),
        "load": round(os.getloadavg()[0], 2),
        "python": platform.python_version(),
        "numpy": np.__version__,
        "advchunk": advchunk.__version__,
    }


def say(what: str) -> None:
    """Show progress."""
    print(what, file=sys.stderr)


def main() -> None:
    """Run the sections that are asked for."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--data", type=Path, help="folder with chroma/*.md; for corpora and many")
    parser.add_argument("--only", nargs="+", choices=["corpora", "mst", "many", "imports"], metavar="SECTION")
    parser.add_argument("--embedder", nargs="+", choices=list(EMBEDDERS), default=["default", "recipe"])
    parser.add_argument("--repeat", type=int, default=5, help="measurements of each time")
    parser.add_argument("--sizes", type=int, nargs="*", default=[300, 1000, 3000], help="pieces, beside published")
    parser.add_argument("--large", type=int, nargs="*", default=[30_000, 100_000], help="pieces, ours alone")
    parser.add_argument("--documents", type=int, default=1000, help="short documents")
    parser.add_argument("--worker", nargs=2, help=argparse.SUPPRESS)
    args = parser.parse_args()
    if args.worker:
        print(json.dumps(worker(int(args.worker[0]), args.worker[1])))
        return
    wanted = args.only or ["corpora", "mst", "many", "imports"]
    if args.data is None and {"corpora", "many"} & set(wanted):
        parser.error("--data is needed, or --only mst imports")
    texts = [path.read_text("utf-8") for path in sorted((args.data / "chroma").glob("*.md"))] if args.data else []
    sections: dict[str, Callable[[], Json]] = {
        "corpora": lambda: corpora(texts, args.embedder, args.repeat),
        "mst": lambda: mst(args.sizes, args.large, args.repeat),
        "many": lambda: many(texts, args.documents, args.repeat),
        "imports": lambda: imports(args.repeat),
    }
    print(json.dumps({"machine": machine(), **{name: sections[name]() for name in wanted}}, indent=1))


if __name__ == "__main__":
    main()
