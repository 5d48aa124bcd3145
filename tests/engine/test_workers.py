import multiprocessing
import os
import subprocess
import sys
import time
import warnings
from dataclasses import replace
from functools import partial

import numpy as np
import pytest

from advchunk import ConfigurationError, Document, MSTSemanticChunker, RecursiveChunker, WorkerDied, create
from advchunk.engine import workers
from advchunk.engine.workers import run_in_processes
from processes import Deadly, count_words, die_until, read_environment
from servers import LONG

pytestmark = pytest.mark.slow

needs_signals = pytest.mark.skipif(not hasattr(os, "fork"), reason="processes are killed by signals")


@needs_signals
def test_results_are_in_order_whatever_dies(tmp_path, monkeypatch, caplog):
    monkeypatch.setattr(workers, "MAX_DEATHS", 2)
    monkeypatch.setattr(workers, "_FIRST_BATCH", 4)
    array = np.arange(10_000.0)
    items = ["a", "shared", "log b", "once", "c", "deadly", "d", "e"]
    results = list(run_in_processes(Deadly(tmp_path, array), iter(items), 2, lambda _: 1))
    assert results[:5] == ["A", (True, array.sum()), "LOG B", "ONCE", "C"]
    assert isinstance(results[5], WorkerDied)
    assert str(results[5]).startswith("2 worker processes died of it")
    assert results[6:] == ["D", "E"]
    assert [record.getMessage() for record in caplog.records] == ["said log b"]


def test_items_are_read_as_they_are_needed(tmp_path):
    read = []

    def items():
        for i in range(1000):
            read.append(i)
            yield "x"

    results = run_in_processes(Deadly(tmp_path), items(), 2, lambda _: 2**19)
    assert next(results) == "X"
    assert len(read) <= 8
    results.close()
    assert len(read) <= 8


@needs_signals
def test_a_process_killed_as_it_starts_is_started_again(tmp_path, monkeypatch):
    setup = partial(die_until, tmp_path, 2)
    results = list(run_in_processes(Deadly(tmp_path), ["a"], 1, len, setup))
    assert results == ["A"]
    monkeypatch.setattr(workers, "MAX_DEATHS", 2)
    with pytest.raises(ConfigurationError, match="were killed as they started"):
        list(run_in_processes(Deadly(tmp_path), ["a"], 1, len, partial(die_until, tmp_path, 9)))


def test_processes_divide_the_cores_unless_the_environment_says_how(monkeypatch):
    monkeypatch.setattr(os, "cpu_count", lambda: 9)
    monkeypatch.delenv("OMP_NUM_THREADS", raising=False)
    assert list(run_in_processes(read_environment, ["OMP_NUM_THREADS"], 2, len)) == ["4"]
    assert "OMP_NUM_THREADS" not in os.environ
    monkeypatch.setenv("OMP_NUM_THREADS", "7")
    assert list(run_in_processes(read_environment, ["OMP_NUM_THREADS"], 2, len)) == ["7"]


def test_errors_of_a_process_are_raised_with_its_traceback(tmp_path):
    with pytest.raises(AttributeError) as raised:
        list(run_in_processes(Deadly(tmp_path), [1], 1, lambda _: 1))
    assert "in _process" in raised.value.__notes__[0]
    with pytest.raises(ConfigurationError, match="documents must be picklable"):
        list(run_in_processes(Deadly(tmp_path), [lambda: 1], 1, lambda _: 1))


@needs_signals
def test_processes_end_with_a_caller_that_is_killed(tmp_path):
    with start(tmp_path, ["started", "endless"], "next(results)") as caller:
        assert caller.stdout.readline() == "STARTED\n"
        caller.kill()
        caller.communicate(timeout=LONG)  # until no process can write any more


SCRIPT = """
from pathlib import Path
from advchunk.engine.workers import run_in_processes
from processes import Deadly

if __name__ == "__main__":
    results = run_in_processes(Deadly(Path({folder!r})), {items}, 1, lambda _: 2**19)
    print(next(results), flush=True)
    {then}
"""


def start(folder, items, then=""):
    """Start a script that prints the first result."""
    script = folder / "script.py"
    script.write_text(SCRIPT.format(folder=str(folder), items=items, then=then))
    environment = {**os.environ, "PYTHONPATH": os.pathsep.join(filter(None, sys.path))}
    pipes = {"stdout": subprocess.PIPE, "stderr": subprocess.PIPE, "text": True}
    return subprocess.Popen([sys.executable, script], env=environment, **pipes)


def test_a_process_may_start_others_and_leave_as_if_it_were_the_callers(tmp_path):
    process = Deadly(tmp_path)
    assert list(run_in_processes(process, ["starts another"], 1, lambda _: 1)) == ["STARTS ANOTHER"]
    with pytest.raises(SystemExit, match="leaves"):
        list(run_in_processes(process, ["leaves"], 1, lambda _: 1))


@needs_signals
def test_processes_end_beside_a_process_that_the_caller_forked(tmp_path):
    results = run_in_processes(Deadly(tmp_path), ["a", "b"], 1, lambda _: 2**19)
    assert next(results) == "A"
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")  # the fork of a process with threads
        other = multiprocessing.get_context("fork").Process(target=time.sleep, args=(LONG,))
        other.start()
    try:
        assert list(results) == ["B"]
        assert other.is_alive()
    finally:
        other.kill()
        other.join()


def test_a_script_may_end_in_the_middle_of_a_call(tmp_path):
    with start(tmp_path, ["a", "b", "c", "d"] * 100) as caller:
        assert (*caller.communicate(timeout=LONG), caller.returncode) == ("A\n", "", 0)


TEXTS = [
    "Cats purr. Cats nap.",
    "Cats purr. Cats nap.",
    Document("Judges sit in court.", "law"),
    Document("This is unreadable.", "bad"),
    "",
    Document("Judges sit in court. They rule.", "law"),
    Document("This is odd.", "odd"),
    5,
]


@needs_signals
def test_chunks_ids_and_failures_are_those_of_one_process():
    chunker = RecursiveChunker(max_tokens=3, tokenizer=count_words, vectors="plain")
    alone = chunker.chunk_many(TEXTS, on_error="collect")
    done = []
    texts = [*TEXTS, Document("This is deadly.", "last")]
    many = chunker.chunk_many(iter(texts), on_error="collect", progress=done.append, workers=2)
    assert many[:-1] == alone
    assert many[-1] == []
    for chunks, expected in zip(many, alone, strict=False):
        for chunk, other in zip(chunks, expected, strict=True):
            np.testing.assert_array_equal(chunk.vector, other.vector)
    unreadable, odd, number, died = many.failures
    assert [(f.index, f.source) for f in many.failures[:3]] == [(f.index, f.source) for f in alone.failures]
    assert repr(unreadable.error) == repr(alone.failures[0].error)
    assert repr(odd.error) == "RuntimeError('OddError: 1 2')"
    assert repr(number.error) == repr(alone.failures[2].error)
    assert (died.place, type(died.error)) == ("document 8 ('last')", WorkerDied)
    assert done == [*range(1, 10)]


def test_a_failure_is_raised_with_its_place(caplog):
    chunker = RecursiveChunker(tokenizer=count_words, timeout=60)
    with pytest.raises(ValueError, match="cannot count this") as raised:
        chunker.chunk_many(TEXTS, workers=2)
    assert raised.value.__notes__ == ["in document 3 ('bad')"]
    fallback = RecursiveChunker(max_tokens=3)
    chunks = replace(chunker, fallback=fallback).chunk_many([Document("unreadable", "bad")], workers=2)
    assert chunks[0][0].metadata["fallback_from"] == "recursive"
    assert "document 0 ('bad'): recursive failed" in caplog.text


@pytest.mark.parametrize(
    ("make", "count", "says"),
    [
        (RecursiveChunker, 0, "workers must be a whole number >= 1, and at most 1024, got 0"),
        (RecursiveChunker, True + 0.5, "workers must be a whole number"),
        (RecursiveChunker, 1025, "workers must be a whole number >= 1, and at most 1024, got 1025"),
        (
            partial(RecursiveChunker, tokenizer=lambda text: len(text) + 1),
            2,
            "tokenizer must be picklable .* got function",
        ),
        (partial(MSTSemanticChunker, embedder=lambda texts: texts), 2, "embedder must be picklable"),
        (partial(create, "graphrag", experimental=True), 2, "workers must be 1 for graphrag"),
    ],
)
def test_errors_come_before_any_work(make, count, says):
    with pytest.raises(ConfigurationError, match=says):
        make().stream(["text"], workers=count)


@pytest.mark.parametrize("size", [1, 10**6])  # the second does not fit into a pipe
def test_a_script_without_a_guard_says_what_is_missing(tmp_path, size):
    script = tmp_path / "script.py"
    script.write_text(
        "from functools import partial\nfrom advchunk.engine.workers import run_in_processes\n"
        f"list(run_in_processes(partial(print, 'a' * {size}), ['text'], 2, len))\n"
    )
    run = subprocess.run([sys.executable, script], capture_output=True, text=True, check=False, timeout=60)
    last = run.stderr.strip().splitlines()[-1]
    assert last.startswith("advchunk.errors.ConfigurationError: a worker process failed as it")
