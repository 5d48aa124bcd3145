"""Measure speed and memory, relative to embedding alone and to other libraries. Prints JSON; see README.md.

python benchmarks/speed.py --data DIR [--only same_work small asked corpora mst many imports]
"""

from __future__ import annotations

import json
import os
import platform
import re
import resource
import statistics
import subprocess
import sys
import time
from collections.abc import Callable, Iterable, Mapping, Sequence
from functools import partial
from math import ceil, exp, log, log1p
from pathlib import Path
from typing import Any, Protocol, TypeAlias, cast

import numpy as np
import peers as others
from numpy.typing import NDArray
from runner import argument_parser
from scipy.spatial.distance import cosine as scipy_cosine

import advchunk
from advchunk.building.sizes import Limits
from advchunk.chunkers import catalog
from advchunk.chunkers.by_topic.mst.distances import MSTSemanticParams
from advchunk.engine import BATCH_SIZE
from advchunk.errors import require
from advchunk.models.counters import as_counter
from advchunk.models.embedders import as_embedder
from advchunk.models.static import default_embedder
from advchunk.records import Segmentation, Units
from advchunk.text.counters import CHARACTERS
from advchunk.text.scripts import count_words

Json: TypeAlias = dict[str, Any]
Rows: TypeAlias = NDArray[np.float32]
Task: TypeAlias = Callable[[], object]

PLAIN_SENTENCE = re.compile(r"(?<=[.?!])\s+")  # used by LangChain and universal chunking
SLICE = 4_000  # characters of each corpus, for a transformer
SHORT = 600  # characters of a short document
EDGE = 0.4  # a lambda that leaves many components for any number of pieces
SECONDS = 120  # time limit of one clustering
OURS: dict[str, tuple[str, dict[str, Any]]] = {
    "universal-semantic": ("universal-semantic", {}),
    "mst-semantic": ("mst-semantic", {}),
    "semantic-threshold": ("semantic-threshold", {}),
    "semantic-threshold, plain sentences": ("semantic-threshold", {"sentence_splitter": "plain"}),  # as the peers split
    "semantic-threshold, embed_buffer": ("semantic-threshold", {"embed_buffer": True}),
    "optimal-semantic": ("optimal-semantic", {}),
    "recursive": ("recursive", {}),
    "sliding-window": ("sliding-window", {}),
}
SECTIONS = ("same_work", "small", "asked", "corpora", "mst", "many", "imports")
HEAVY = ("numpy", "scipy", "regex", "markdown_it", "pydantic", "langchain_core", "llama_index.core",
         "nltk", "pandas", "tiktoken", "transformers", "torch")  # fmt: skip
# The modules with the classes, because names of the packages are imported on first use.
PACKAGES = ("numpy", "advchunk.chunkers.by_size", "langchain_text_splitters", "langchain_advchunk.splitters",
            "llama_index.core.node_parser", "llamaindex_advchunk.node_parsers")  # fmt: skip


# What a chunk's size is counted in, the counter, and the size.
UNITS: dict[str, tuple[Any, int]] = {"characters": (len, 1000), "words": ("words", 200), "tokens": ("tokens", 256)}
SPLITTERS = ("LangChain RecursiveCharacterTextSplitter", "LlamaIndex SentenceSplitter", "chonkie RecursiveChunker",
             "semchunk", "semantic-text-splitter")  # fmt: skip


class Embedder(Protocol):
    """The interface of the shared embedder."""

    def embed(self, texts: Sequence[str]) -> Any:
        """Return one row per text."""
        ...


EMBEDDERS: dict[str, Callable[[], Embedder]] = {
    "default": default_embedder,
    "minilm": lambda: as_embedder("minilm"),
}


def same_work(texts: Sequence[str], repeat: int) -> Json:
    """Chunk the same texts to the same size, counted in characters, words, and tokens, without an embedder."""
    return {unit: _same_work(texts, *UNITS[unit], repeat) for unit in UNITS}


def _same_work(texts: Sequence[str], count: Any, size: int, repeat: int) -> Json:
    splits: dict[str, Callable[[Any], Iterable[object]]] = {label: splitter(label, count, size) for label in SPLITTERS}
    for name in ("recursive", "sliding-window"):
        splits[name] = advchunk.create(name, max_tokens=size, overlap_tokens=0, tokenizer=count).chunk
    return time_tasks({label: partial(_map, split, texts) for label, split in splits.items()}, repeat)


def _map(split: Callable[[Any], Iterable[object]], texts: Iterable[Any]) -> None:
    for text in texts:
        list(split(text))


def splitter(label: str, count: Any, size: int) -> Callable[[str], Iterable[Any]]:
    """Return the splitter of a library, without counts of the texts of earlier calls.

    Characters and words are counted in the fastest way that it has.
    """
    count = count_words if count == "words" else count if callable(count) else as_counter(count)
    split: Callable[[str], Iterable[Any]] = others.PEERS[label][1](others.Tools(count, _no_vectors), size)
    if label == "semantic-text-splitter" and count is len:
        from semantic_text_splitter import TextSplitter

        split = TextSplitter(size).chunks
    elif label == "semchunk":
        from semchunk.semchunk import chunkerify

        split = cast("Callable[[str], list[str]]", chunkerify(count, size, memoize=False))
    elif label == "chonkie RecursiveChunker":
        from chonkie import RecursiveChunker

        split = RecursiveChunker(chunk_size=size) if count is len else split
        return partial(_without_cache, RecursiveChunker._estimate_token_count, split)
    return split


def _without_cache(cached: Any, split: Callable[[str], Iterable[Any]], text: str) -> Iterable[Any]:
    cached.cache_clear()
    return split(text)


def _no_vectors(_: object) -> Any:
    raise NotImplementedError


def small(texts: Sequence[str], number: int, repeat: int) -> Json:
    """Chunk a text of 200 characters a hundred times, and documents of 1,000 characters with their metadata and ids."""
    from langchain_core.documents import Document as LangChainDocument
    from langchain_text_splitters import RecursiveCharacterTextSplitter
    from llama_index.core import Document as LlamaIndexDocument
    from llama_index.core.node_parser import SentenceSplitter

    whole = " ".join(texts)
    parts = [whole[at % max(len(whole) - 1000, 1) :][:1000] for at in range(0, 997 * number, 997)]
    ours = advchunk.create("recursive", max_tokens=400, tokenizer=len)
    langchain = RecursiveCharacterTextSplitter(chunk_size=400, chunk_overlap=0, add_start_index=True)
    llamaindex = SentenceSplitter(chunk_size=400, chunk_overlap=0, tokenizer=list)
    metadata = [{"number": i} for i in range(number)]
    documents = [advchunk.Document(text, str(i), metadata=metadata[i]) for i, text in enumerate(parts)]
    of_langchain = [LangChainDocument(text, metadata=metadata[i]) for i, text in enumerate(parts)]
    of_llamaindex = [LlamaIndexDocument(text=text, metadata=metadata[i]) for i, text in enumerate(parts)]
    short = [whole[:200]] * 100
    return {
        "100 calls, 200 characters": time_tasks(
            {
                "recursive": partial(_map, ours.chunk, short),
                **{label: partial(_map, splitter(label, len, 400), short) for label in SPLITTERS},
            },
            repeat,
        ),
        f"{number:,} documents of 1,000 characters": time_tasks(
            {
                "recursive": lambda: ours.chunk_many(documents),
                "LangChain RecursiveCharacterTextSplitter": lambda: langchain.split_documents(of_langchain),
                "LlamaIndex SentenceSplitter": lambda: llamaindex.get_nodes_from_documents(of_llamaindex),
            },
            repeat,
        ),
    }


def asked(texts: Sequence[str]) -> Json:
    """Count what an embedder with a cache is asked for: new texts, the same texts, and texts with one edited
    paragraph.
    """
    counted = CountingEmbedder(default_embedder())
    chunker = advchunk.create("universal-semantic", embedder=counted, cache={})
    edited = [texts[0].replace("\n\n", " This is new.\n\n", 1), *texts[1:]]
    results: Json = {}
    for label, corpus in {"new": texts, "unchanged": texts, "one paragraph edited": edited}.items():
        counted.calls, counted.seen = 0, set()
        chunker.chunk_many(corpus)
        results[label] = {"texts": len(counted.seen), "calls": counted.calls}
    return results


def corpora(texts: Sequence[str], embedders: Sequence[str], repeat: int) -> Json:
    """Chunk the same texts with all chunkers, in one process with one embedder."""
    return {name: _corpora(texts, name, repeat) for name in embedders}


def _corpora(texts: Sequence[str], name: str, repeat: int) -> Json:
    texts = [text[:SLICE] for text in texts] if name == "minilm" else texts
    embedder = EMBEDDERS[name]()
    sentences = [PLAIN_SENTENCE.split(text) for text in texts]
    peer_tasks, own_tasks = peers(texts, embedder), our_tasks(texts, embedder)

    def embed_only() -> None:
        for batch in sentences:
            embedder.embed(batch)

    results = time_tasks({"embedding only": embed_only, **peer_tasks, **own_tasks}, repeat)
    base = results["embedding only"]["wall"]["min"]
    fastest = min(results[peer]["wall"]["min"] for peer in peer_tasks)
    for task in own_tasks:
        wall = results[task]["wall"]["min"]
        results[task] |= {
            "above embedding, s": round(wall - base, 4),
            "relative to embedding": round(wall / base, 2),
            "speedup over fastest peer": round(fastest / wall, 2),
        }
    return {"characters": sum(map(len, texts)), "sentences": sum(map(len, sentences)), **results}


def our_tasks(texts: Sequence[str], embedder: Embedder) -> dict[str, Task]:
    """Return tasks that chunk the texts with our chunkers, in the core and in both frameworks."""
    from langchain_core.documents import Document as LangChainDocument
    from llama_index.core import Document as LlamaIndexDocument

    from langchain_advchunk import MSTSemanticSplitter
    from llamaindex_advchunk import MSTSemanticNodeParser

    def chunker(name: str, params: dict[str, Any]) -> Task:
        needs: dict[str, Any] = {"embedder": embedder} if catalog.cuts_by_embeddings(name) else {}
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
    """Return tasks that chunk the texts with other libraries, at their defaults and with minimal wrappers."""
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
            return embedder.embed(texts)  # numpy rows: lists of floats would slow it down

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


def mst(sizes: Sequence[int], repeat: int) -> Json:
    """Compare the clustering of `mst-semantic` with the published loops."""
    return {"compared with the published loops": {str(n): _compare_with_published(n, repeat) for n in sizes}}


def _compare_with_published(n: int, repeat: int) -> Json:
    vectors, lengths = pieces(n)
    start = time.perf_counter()
    tree, adaptive = published(vectors, lengths)
    published_labels = [component_labels(tree, adaptive, n)]
    seconds = time.perf_counter() - start
    published_labels.append(component_labels(tree, EDGE, n))
    cluster = clusterer(vectors, lengths)
    own_labels = [cluster().figures["labels"], cluster(lambda_=EDGE).figures["labels"]]
    times = time_tasks({"adaptive": cluster, "fixed": lambda: cluster(lambda_=EDGE)}, repeat)
    return {
        "pairs": sum(n - d for d in range(1, max(5, int(n * 0.03)))),
        "published, s": round(seconds, 3),
        "ours, s": times["adaptive"]["wall"]["min"],
        "published / ours": round(seconds / times["adaptive"]["wall"]["min"], 1),
        f"ours with lambda_={EDGE}, s": times["fixed"]["wall"]["min"],
        "components": [len(set(labels.tolist())) for labels in own_labels],
        "equal labels": all(np.array_equal(a, b) for a, b in zip(own_labels, published_labels, strict=True)),
    }


def peak_mb() -> float:
    """Return the peak resident size of this process (on Linux, ``getrusage`` includes the parent's)."""
    status = Path("/proc/self/status")
    if status.exists():
        return int(re.findall(r"VmHWM:\s+(\d+)", status.read_text())[0]) / 1024
    return resource.getrusage(resource.RUSAGE_SELF).ru_maxrss / (2**20 if sys.platform == "darwin" else 2**10)


def pieces(n: int, d: int = 256) -> tuple[Rows, NDArray[np.int64]]:
    """Return unit vectors of passages on recurring topics, and their sizes in tokens.

    Cosines resemble those of paragraphs under MiniLM: .2 between topics, .45 within one.
    """
    rng = np.random.default_rng(n)
    topics = unit(rng.standard_normal((max(n // 40, 2), d), np.float32))
    topic = np.repeat(rng.integers(0, len(topics), n), rng.integers(1, 12, n))[:n]
    rows = np.empty((n, d), np.float32)
    for some in np.array_split(np.arange(n), ceil(n / 4096)):  # avoids a full copy, which would hide the peak
        noise = unit(rng.standard_normal((len(some), d), np.float32))
        rows[some] = unit(0.2**0.5 * np.eye(1, d) + 0.25**0.5 * topics[topic[some]] + 0.55**0.5 * noise)
    return rows, np.clip(rng.lognormal(3.7, 0.8, n), 3, 400).astype(np.int64)


def unit(rows: NDArray[Any]) -> Rows:
    """Scale rows to length 1, in place if possible."""
    rows /= np.linalg.norm(rows, axis=1, keepdims=True)
    return rows.astype(np.float32, copy=False)


def clusterer(vectors: Rows, lengths: NDArray[np.int64]) -> Callable[..., Segmentation]:
    """Return a function that only clusters these pieces."""
    n = len(lengths)
    units, limits = Units("x" * n, np.arange(n + 1), lengths), Limits(400, 0, 0, CHARACTERS)
    return lambda **params: advchunk.MSTSemanticChunker(preset="published", **params).segment(units, vectors, limits)


Edge: TypeAlias = tuple[float, int, int]


def published(vectors: Rows, lengths: NDArray[np.int64]) -> tuple[list[Edge], float]:
    """Return the tree and lambda of MST Semantic Chunker v2, computed pair by pair as in the published code.

    Like the published code, it calls scipy's cosine and recomputes the mean for every piece. Unlike it, each distance
    is computed only once.
    """
    p, n, rows = MSTSemanticParams(preset="published"), len(vectors), list(vectors.astype(np.float64))
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
    # In logarithms: for a long text the power of the mean overflows a float.
    power = (p.alpha_slope * mean + p.alpha_base) * log(mean) - p.lambda_decay / mean
    above, tree = list(range(n)), []
    for edge in sorted(edges):
        a, b = root(above, edge[1]), root(above, edge[2])
        if a != b:
            above[max(a, b)] = min(a, b)
            tree.append(edge)
    return tree, exp(min(power, 700.0))


def component_labels(tree: Iterable[Edge], greatest: float, n: int) -> NDArray[np.int64]:
    """Return the first piece of each piece's component, with the tree cut above ``greatest``."""
    above = list(range(n))
    for weight, i, j in tree:
        if weight <= greatest:
            a, b = root(above, i), root(above, j)
            above[max(a, b)] = min(a, b)
    return np.array([root(above, i) for i in range(n)])


def root(above: list[int], i: int) -> int:
    """Return the root of ``i``, halving the path to it."""
    while above[i] != i:
        above[i] = i = above[above[i]]
    return i


class CountingEmbedder:
    """An embedder that counts its calls and records its texts."""

    model_name = "benchmark"  # what its vectors are cached under

    def __init__(self, embedder: Embedder) -> None:
        self._embedder, self.calls, self.seen = embedder, 0, set[str]()

    def embed(self, texts: Sequence[str]) -> Any:
        """Embed the texts with the wrapped embedder."""
        self.calls += 1
        self.seen.update(texts)
        return self._embedder.embed(texts)


def many(texts: Sequence[str], number: int, repeat: int) -> Json:
    """Chunk many short documents, in one call and one at a time."""
    from langchain_core.documents import Document as LangChainDocument
    from llama_index.core import Document as LlamaIndexDocument

    from langchain_advchunk import MSTSemanticSplitter
    from llamaindex_advchunk import MSTSemanticNodeParser

    short = [text[at : at + SHORT] for text in texts for at in range(0, len(text), SHORT)][:number]
    counted = CountingEmbedder(default_embedder())
    split = MSTSemanticSplitter(embeddings=counted).split_documents
    parse = MSTSemanticNodeParser(embed_model=counted).get_nodes_from_documents
    results: Json = {"documents": len(short)}
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
            "one by one": lambda run=run, documents=documents: [run([document]) for document in documents],  # type: ignore[misc]
        }
        results[framework] = {
            "distinct units": distinct,
            "model calls": calls,
            "minimum model calls": ceil(distinct / BATCH_SIZE),
            **time_tasks(tasks, repeat),
        }
    return results


def imports(repeat: int) -> Json:
    """Import each package in a fresh process, and the framework it extends for comparison."""
    return {module: _time_import(module, repeat) for module in PACKAGES}


def _time_import(module: str, repeat: int) -> Json:
    script = (
        "import json, sys, time; began = time.perf_counter(); "
        f"import {module}; took = time.perf_counter() - began; "
        f"print(json.dumps([took, [name for name in {HEAVY} if name in sys.modules]]))"
    )
    log_progress(f"imports: {module}")
    runs = [
        json.loads(subprocess.run([sys.executable, "-c", script], capture_output=True, check=True, text=True).stdout)
        for _ in range(repeat)
    ]
    return {"s": round(min(took for took, _ in runs), 3), "loads": runs[0][1]}


def time_tasks(tasks: Mapping[str, Task], repeat: int) -> dict[str, Json]:
    """Time tasks in turn, again and again, after a round that warms caches: load on the machine strikes all alike."""
    wall: dict[str, list[float]] = {name: [] for name in tasks}
    cpu: dict[str, list[float]] = {name: [] for name in tasks}
    for turn in range(repeat + 1):
        for name, task in tasks.items():
            log_progress(f"{name}, {turn} of {repeat}")
            walls, cpus = time.perf_counter(), time.process_time()
            task()
            if turn:
                wall[name].append(time.perf_counter() - walls)
                cpu[name].append(time.process_time() - cpus)
    return {name: {"wall": _summary(wall[name]), "cpu": _summary(cpu[name])} for name in tasks}


def _summary(seconds: Sequence[float]) -> Json:
    turns = [round(turn, 5) for turn in seconds]
    return {"min": min(turns), "median": round(statistics.median(seconds), 5), "turns": turns}


def ratio(task: Json, peer: Json) -> float:
    """Return the processor time of a task relative to that of a peer: the median over the turns of `time_tasks`.

    Load on the machine comes and goes, and the two times of a turn have most of it in common.
    """
    turns = zip(task["cpu"]["turns"], peer["cpu"]["turns"], strict=True)
    return float(statistics.median(seconds / max(base, 1e-5) for seconds, base in turns))


def machine() -> Json:
    """Return a description of the machine and versions."""
    cpu = re.findall(r"model name\s*: (.+)", Path("/proc/cpuinfo").read_text()) if sys.platform == "linux" else []
    return {
        "cpu": cpu[0] if cpu else platform.processor(),
        "cores": os.cpu_count(),
        "load": round(os.getloadavg()[0], 2),
        "python": platform.python_version(),
        "numpy": np.__version__,
        "advchunk": advchunk.__version__,
    }


def read_texts(folder: Path) -> list[str]:
    """Return the Markdown and plain texts in a folder and those below."""
    paths = sorted(path for path in folder.rglob("*") if path.suffix in (".md", ".txt"))
    require(bool(paths), "there must be a text, *.md or *.txt, in the folder", str(folder))
    return [path.read_text("utf-8") for path in paths]


def log_progress(message: str) -> None:
    """Print a progress message to stderr."""
    print(message, file=sys.stderr)


def main() -> None:
    """Run the selected sections."""
    parser = argument_parser(__doc__, data=None)
    parser.add_argument("--data", type=Path, help="folder with *.md or *.txt; for all but mst and imports")
    parser.add_argument("--only", nargs="+", choices=SECTIONS, metavar="SECTION")
    parser.add_argument("--embedder", nargs="+", choices=list(EMBEDDERS), default=["default"])
    parser.add_argument("--repeat", type=int, default=5, help="measurements of each time")
    parser.add_argument(
        "--sizes", type=int, nargs="*", default=[300, 1000, 3000], help="pieces, compared with the published code"
    )
    parser.add_argument("--documents", type=int, default=1000, help="short documents")
    args = parser.parse_args()
    names = args.only or SECTIONS
    if args.data is None and {*names} - {"mst", "imports"}:
        parser.error("--data is needed, or --only mst imports")
    texts = read_texts(args.data) if args.data else []
    sections: dict[str, Callable[[], Json]] = {
        "same_work": lambda: same_work(texts, args.repeat),
        "small": lambda: small(texts, args.documents, args.repeat),
        "asked": lambda: asked(texts),
        "corpora": lambda: corpora(texts, args.embedder, args.repeat),
        "mst": lambda: mst(args.sizes, args.repeat),
        "many": lambda: many(texts, args.documents, args.repeat),
        "imports": lambda: imports(args.repeat),
    }
    print(json.dumps({"machine": machine(), **{name: sections[name]() for name in names}}, indent=1))


if __name__ == "__main__":
    main()
