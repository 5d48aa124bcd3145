"""Measure speed where people wait, beside other libraries. See SPEED.md.

python benchmarks/bench.py [--data DIR] [--out build/bench] [--only SECTION ...]

Writes figures.json and table.md, and prints the table. DIR has texts, *.md or *.txt; without it they are
those of the tests. The tasks of a section do the same work in one process, in turn; a ratio is the median over the
turns of a task's processor time by that of the first row, or of the fastest other library, as the section says.

"model" embeds with a transformer (``--model``), "workers" takes ``--processes``, and "growth" chunks the texts,
repeated up to each of ``--lengths``, by every chunker that needs no language model, each in a process of its own.
"""

from __future__ import annotations

import argparse
import json
import logging
import os
import re
import subprocess
import sys
import tempfile
import time
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from functools import partial
from pathlib import Path
from typing import Any, NamedTuple, cast

import numpy as np
import peers as others
from figures import circumstances
from runner import argument_parser, peak_mb, table, time_tasks

import advchunk
from advchunk.chunkers import catalog
from advchunk.errors import require
from advchunk.models.counters import as_counter
from advchunk.models.embedders import as_embedder
from advchunk.retrieval import Retriever
from advchunk.text.scripts import count_words
from algorithms import ALGORITHMS

ROOT = Path(__file__).parents[1]
SPLITTERS = ("LangChain RecursiveCharacterTextSplitter", "LlamaIndex SentenceSplitter", "chonkie RecursiveChunker",
             "semchunk", "semantic-text-splitter")  # fmt: skip
SEMANTIC = ("LangChain SemanticChunker", "LlamaIndex SemanticSplitterNodeParser", "chonkie SemanticChunker")
OURS = ("universal-semantic", "mst-semantic", "semantic-threshold", "optimal-semantic")
UNITS: dict[str, tuple[Any, int]] = {"characters": (len, 1000), "words": ("words", 200), "tokens": ("tokens", 256)}
MODULES = ("numpy", "advchunk", "advchunk.chunkers.by_size", "langchain_text_splitters", "langchain_advchunk.splitters",
           "llama_index.core.node_parser", "llamaindex_advchunk.node_parsers")  # fmt: skip
PLAIN_SENTENCE = re.compile(r"(?<=[.?!])\s+")  # as LangChain splits
SLICE = 4_000  # characters of each text, for a transformer
LENGTHS = (100_000, 1_000_000, 10_000_000)  # characters, for growth
LONGEST = 120.0  # seconds: a longer run of growth is left out
WITHOUT_MODELS = [name for name in catalog.names() if not ALGORITHMS[name].models]


class Row(NamedTuple):
    """A task, its seconds, and the ratio to what its section compares with."""

    section: str
    task: str
    seconds: float
    ratio: float | None


def rows_of(section: str, tasks: Mapping[str, Callable[[], object]], repeat: int, base: Sequence[str]) -> Iterator[Row]:
    """Time tasks in turn; ratios are to the fastest of the base."""
    turns = time_tasks(tasks, repeat)
    fastest = min((turns[task] for task in base), key=np.median)
    for task, seconds in turns.items():
        yield Row(section, task, min(seconds), float(np.median(np.divide(seconds, np.maximum(fastest, 1e-6)))))


def same_work(texts: Sequence[str], args: argparse.Namespace) -> Iterator[Row]:
    """Chunk the same texts to the same size, counted in characters, words, and tokens, and prose without a mark."""
    prose = [re.sub(r"[^\w\s.,]|\s+", " ", text) for text in texts]
    works = {**{unit: (unit, texts) for unit in UNITS}, "characters, prose": ("characters", prose)}
    for title, (unit, some) in works.items():
        count, size = UNITS[unit]
        splits: dict[str, Any] = {label: splitter(label, count, size) for label in SPLITTERS}
        for name in ("recursive", "sliding-window"):
            splits[name] = advchunk.create(name, max_tokens=size, overlap_tokens=0, tokenizer=count).chunk
        tasks = {label: partial(split_all, split, some) for label, split in splits.items()}
        yield from rows_of(f"size in {title}", tasks, args.repeat, SPLITTERS)


def split_all(split: Callable[[Any], Iterable[object]], texts: Iterable[Any]) -> None:
    """Split all texts."""
    for text in texts:
        list(split(text))


def splitter(label: str, count: Any, size: int) -> Callable[[str], Iterable[Any]]:
    """Return the splitter of a library in the fastest way that it has, without counts of the texts of earlier calls."""
    counter = count_words if count == "words" else count if callable(count) else as_counter(count)
    split: Callable[[str], Iterable[Any]] = others.PEERS[label][1](others.Tools(counter, cast("Any", None)), size)
    if label == "semantic-text-splitter" and count is len:
        from semantic_text_splitter import TextSplitter

        return TextSplitter(size).chunks
    if label == "semchunk":
        from semchunk.semchunk import chunkerify

        return cast("Callable[[str], list[str]]", chunkerify(counter, size, memoize=False))
    if label == "chonkie RecursiveChunker":
        from chonkie import RecursiveChunker

        split = RecursiveChunker(chunk_size=size) if count is len else split
        return partial(_without_cache, RecursiveChunker._estimate_token_count, split)
    return split


def _without_cache(cached: Any, split: Callable[[str], Iterable[Any]], text: str) -> Iterable[Any]:
    cached.cache_clear()
    return split(text)


def semantic(texts: Sequence[str], args: argparse.Namespace) -> Iterator[Row]:
    """Chunk with the built-in embedder, by our chunkers and by other libraries at their defaults."""
    model = as_embedder(None)
    tools = others.Tools(as_counter(None), lambda batch: model.embed(list(batch)))
    splits: dict[str, Any] = {label: others.PEERS[label][1](tools, None) for label in SEMANTIC}
    splits |= {name: advchunk.create(name, embedder=model).chunk for name in OURS}
    sentences = [PLAIN_SENTENCE.split(text) for text in texts]
    tasks: dict[str, Callable[[], object]] = {"embedding alone": partial(split_all, model.embed, sentences)}
    tasks |= {label: partial(split_all, split, texts) for label, split in splits.items()}
    yield from rows_of("semantic, built-in embedder", tasks, args.repeat, SEMANTIC)


def model(texts: Sequence[str], args: argparse.Namespace) -> Iterator[Row]:
    """Chunk the beginnings of the texts with a transformer; ratios are to embedding the same sentences alone."""
    encoder = as_embedder(None if args.model == "default" else args.model)
    chunkers = {name: advchunk.create(name, embedder=encoder) for name in OURS}
    short = [text[:SLICE] for text in texts]
    sentences = [sentence for text in short for sentence in PLAIN_SENTENCE.split(text)]
    tasks: dict[str, Callable[[], object]] = {"embedding alone": lambda: encoder.embed(sentences)}
    tasks |= {name: partial(chunker.chunk_many, short) for name, chunker in chunkers.items()}
    yield from rows_of(f"semantic, {args.model}", tasks, args.repeat, ["embedding alone"])


def small(texts: Sequence[str], args: argparse.Namespace) -> Iterator[Row]:
    """Chunk 200 characters a hundred times, and documents of 1,000 characters with their metadata, places, and ids."""
    from langchain_core.documents import Document as LangChainDocument
    from langchain_text_splitters import RecursiveCharacterTextSplitter
    from llama_index.core import Document as LlamaIndexDocument
    from llama_index.core.node_parser import SentenceSplitter

    from langchain_advchunk import RecursiveSplitter
    from llamaindex_advchunk import RecursiveNodeParser

    ours, short = advchunk.create("recursive", max_tokens=400, tokenizer=len), [" ".join(texts)[:200]] * 100
    splits: dict[str, Any] = {label: splitter(label, len, 400) for label in SPLITTERS} | {"recursive": ours.chunk}
    tasks: dict[str, Callable[[], object]] = {
        label: partial(split_all, split, short) for label, split in splits.items()
    }
    yield from rows_of("100 calls, 200 characters", tasks, args.repeat, SPLITTERS)
    parts = [(text, {"number": i}) for i, text in enumerate(documents(texts, args.documents))]
    of_core = [advchunk.Document(text, str(row["number"]), metadata=row) for text, row in parts]
    of_langchain = [LangChainDocument(text, metadata=row) for text, row in parts]
    of_llamaindex = [LlamaIndexDocument(text=text, metadata=row) for text, row in parts]
    langchain = RecursiveCharacterTextSplitter(chunk_size=400, chunk_overlap=0, add_start_index=True)
    llamaindex = SentenceSplitter(chunk_size=400, chunk_overlap=0, tokenizer=list)
    in_langchain = RecursiveSplitter(max_tokens=400, length_function=len)
    in_llamaindex = RecursiveNodeParser(max_tokens=400, tokenizer=len)
    tasks = {
        SPLITTERS[0]: lambda: langchain.split_documents(of_langchain),
        SPLITTERS[1]: lambda: llamaindex.get_nodes_from_documents(of_llamaindex),
        "recursive": lambda: ours.chunk_many(of_core),
        "recursive in LangChain": lambda: in_langchain.split_documents(of_langchain),
        "recursive in LlamaIndex": lambda: in_llamaindex.get_nodes_from_documents(of_llamaindex),
    }
    title = f"{args.documents:,} documents of 1,000 characters"
    yield from rows_of(title, tasks, args.repeat, SPLITTERS[:2])


def documents(texts: Sequence[str], number: int) -> list[str]:
    """Return parts of the texts of 1,000 characters, no two of which are equal."""
    whole = "\n\n".join(texts)
    starts = (at % max(len(whole) - 1000, 1) for at in range(0, 997 * number, 997))
    return [f"{i} {whole[at : at + 1000]}" for i, at in enumerate(starts)]  # with a dot, it would begin a list


def questions(texts: Sequence[str], args: argparse.Namespace) -> Iterator[Row]:
    """Ask 20 questions of an index in a file: the first one after it is loaded, and then by search and by passages."""
    asked = [sentence for text in texts for sentence in PLAIN_SENTENCE.split(text) if 40 < len(sentence) < 120]
    asked = asked[:: max(len(asked) // 20, 1)][:20]
    chunker, named = advchunk.create("recursive"), [advchunk.Document(t, str(i)) for i, t in enumerate(texts)]
    with tempfile.TemporaryDirectory() as folder:
        Retriever({document.id: chunker.chunk(document) for document in named}).save(
            path := Path(folder) / "texts.index"
        )
        start, retriever = time.process_time(), Retriever.load(path)
        retriever.passages(asked[0], budget=500)
        yield Row("questions", "load, and the first passages", time.process_time() - start, None)
        tasks: dict[str, Callable[[], object]] = {
            "20 searches": lambda: [retriever.search(question) for question in asked],
            "20 times passages": lambda: [retriever.passages(question, budget=500) for question in asked],
        }
        yield from rows_of("questions", tasks, args.repeat, ["20 searches"])


def workers(texts: Sequence[str], args: argparse.Namespace) -> Iterator[Row]:
    """Chunk documents of 1,000 characters in one process, and in several, start-up included: seconds of the clock. No
    number of processes takes less than the calling process, whose processor seconds follow.
    """
    parts, chunker, alone = documents(texts, args.documents * 10), advchunk.create("recursive"), 0.0
    for number in (1, args.processes):
        start, before = time.perf_counter(), time.process_time()
        for _ in chunker.stream(parts, workers=number):
            pass
        seconds, own = time.perf_counter() - start, time.process_time() - before
        alone = alone or seconds
        yield Row(f"workers, {len(parts):,} documents", f"{number} processes", seconds, seconds / alone)
    yield Row(f"workers, {len(parts):,} documents", "the calling process of these", own, own / alone)


def imports(_: Sequence[str], args: argparse.Namespace) -> Iterator[Row]:
    """Import each package in a fresh process."""
    script = "import time; start = time.process_time(); import {}; print(time.process_time() - start)"
    turns = {name: [float(_python("-c", script.format(name))) for _ in range(args.repeat)] for name in MODULES}
    for name, seconds in turns.items():
        yield Row("import", name, min(seconds), min(seconds) / min(turns["numpy"]))


def _python(*args: str) -> str:
    return subprocess.run([sys.executable, *args], capture_output=True, check=True, text=True).stdout


def growth(_: Sequence[str], args: argparse.Namespace) -> Iterator[Row]:
    """Chunk longer and longer texts: the ratio is the time per character, relative to that of the shortest."""
    for name in WITHOUT_MODELS:
        first = last = 0.0  # seconds a character
        for length in sorted(args.lengths):
            if last * length < LONGEST:
                command = [__file__, "--one", name, str(length), "--data", str(args.data)]
                seconds, memory = json.loads(_python(*command))
                last = seconds / length
                first = first or last
                yield Row(
                    f"growth, {length:,} characters", f"{name} ({memory:.0f} bytes a character)", seconds, last / first
                )


def chunk_once(name: str, length: int, data: Path) -> tuple[float, float]:
    """Chunk a text of a length in this process; return the processor seconds, and the most bytes a character."""
    logging.disable(logging.WARNING)  # windows are logged
    whole = "\n\n".join(read_texts(data))
    text = (whole * (length // len(whole) + 1))[:length]
    markup = {} if name == "biomedical-abstract" else {"markup": "markdown"}  # a reader of its own
    chunker = advchunk.create(name, experimental=True, fallback=None, **markup)
    chunker.chunk(text[:30_000])  # import modules and load models
    before, start = peak_mb(), time.process_time()
    chunker.chunk(text)
    return time.process_time() - start, (peak_mb() - before) * 2**20 / length


def read_texts(folder: Path) -> list[str]:
    """Return the Markdown and plain texts in a folder and those below."""
    paths = sorted(path for path in folder.rglob("*") if path.suffix in (".md", ".txt"))
    require(bool(paths), "there must be a text, *.md or *.txt, in the folder", str(folder))
    return [path.read_text("utf-8") for path in paths]


SECTIONS: dict[str, Callable[[Sequence[str], argparse.Namespace], Iterator[Row]]] = {
    "same_work": same_work, "semantic": semantic, "model": model, "small": small, "questions": questions,
    "workers": workers, "imports": imports, "growth": growth,
}  # fmt: skip


def main() -> None:
    """Measure, write, and print."""
    parser = argument_parser(__doc__, data=None)
    parser.add_argument("--data", type=Path, default=ROOT / "tests" / "data")
    parser.add_argument("--out", type=Path, default=ROOT / "build" / "bench")
    parser.add_argument("--repeat", type=int, default=5, help="measurements of each time")
    parser.add_argument(
        "--documents", type=int, default=1000, help="of 1,000 characters, for small; workers take ten times"
    )
    parser.add_argument("--lengths", type=int, nargs="+", default=LENGTHS, help="in characters, for growth")
    parser.add_argument("--model", default="minilm", help="an embedder, for model")
    parser.add_argument("--processes", type=int, default=os.cpu_count(), help="for workers")
    parser.add_argument("--only", nargs="+", choices=SECTIONS, default=SECTIONS, metavar="SECTION")
    parser.add_argument("--one", nargs=2, help=argparse.SUPPRESS)
    args = parser.parse_args()
    if args.one:
        print(json.dumps(chunk_once(args.one[0], int(args.one[1]), args.data)))
        return
    texts = read_texts(args.data)
    rows = [row for section in args.only for row in SECTIONS[section](texts, args)]
    figures = {
        **circumstances(), "load": round(os.getloadavg()[0], 2), "characters": sum(map(len, texts)),
        "rows": [row._asdict() for row in rows],
    }  # fmt: skip
    cells = [
        (row.section, row.task, f"{row.seconds:.4f}", "" if row.ratio is None else f"{row.ratio:.2f}") for row in rows
    ]
    args.out.mkdir(parents=True, exist_ok=True)
    (args.out / "figures.json").write_text(json.dumps(figures, indent=1), "utf-8")
    (args.out / "table.md").write_text(printed := table(("", "task", "s", "ratio"), cells), "utf-8")
    print(printed, end="")


if __name__ == "__main__":
    main()
