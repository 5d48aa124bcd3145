"""Settings and fixtures of all tests: sizes of hypothesis, the passes of the garbage collector, chunkers by name."""

import gc
import os
import socket
import subprocess
import sys
from functools import cache
from importlib.util import find_spec
from multiprocessing.process import BaseProcess
from pathlib import Path
from types import CodeType

import pytest
from hypothesis import HealthCheck, settings

from advchunk import GroupedParams, names
from advchunk.chunkers.registry import TABLE
from algorithms import ALGORITHMS
from front_ends import FRONT_ENDS, core, tilings
from planted import CATS, COURTS

# The machine may be busy with other tests.
settings.register_profile("advchunk", deadline=None, suppress_health_check=[HealthCheck.too_slow])
settings.register_profile("quick", settings.get_profile("advchunk"), max_examples=10)
settings.load_profile("advchunk")

os.environ["HF_HUB_OFFLINE"] = "1"
os.environ["OMP_NUM_THREADS"] = "1"  # for torch, as there are as many test processes as cores

TESTS = Path(__file__).parent
# What `make quick` leaves out: folders, what uses one of these names, and the cases of other chunkers than one of a kind.
SLOW_FOLDERS = {TESTS / "benchmarks", TESTS / "distributed"}
STARTERS = {"subprocess", "multiprocessing", "Popen", "Endpoint", "Redis", "smollm2"}
ONE_OF_A_KIND = {"recursive", "mst-semantic", "c99", "semantic-cluster", "hierarchical", "llm-chaptering"}


def pytest_collection_modifyitems(items):
    """Mark what `make quick` leaves out, as far as its code shows it."""
    for item in items:
        name = item.callspec.params.get("name") if hasattr(item, "callspec") else None
        if name in names() and name not in ONE_OF_A_KIND:
            item.add_marker("another_chunker")
        if item.path.parent in SLOW_FOLDERS or starts_something(item):
            item.add_marker("slow")


def starts_something(item):
    """Return whether a test, one of its fixtures, or a function of the tests that these call uses one of `STARTERS`."""
    fixtures = item._fixtureinfo.name2fixturedefs if hasattr(item, "_fixtureinfo") else {}
    functions = [getattr(item, "function", None), *(own.func for defined in fixtures.values() for own in defined)]
    return any(map(uses_a_starter, functions))


@cache
def uses_a_starter(function):
    waiting, seen = [function], set()
    while waiting:
        function = waiting.pop()
        code = getattr(function, "__code__", None)
        if code is None or code in seen or not is_of_a_test(code.co_filename):
            continue
        seen.add(code)
        used = set(names_in(code))
        if used & STARTERS:
            return True
        waiting += [function.__globals__[name] for name in used & function.__globals__.keys()]
    return False


def is_of_a_test(file):
    return file.startswith(str(TESTS)) and file != __file__


def names_in(code):
    """Yield the names that a function and those inside it look up."""
    yield from code.co_names
    for inner in code.co_consts:
        if isinstance(inner, CodeType):
            yield from names_in(inner)


@pytest.fixture(autouse=True)
def _starts_nothing_unless_slow(request, monkeypatch):
    """Fail a test that starts a process or a server without the mark ``slow``."""
    if "slow" not in request.keywords:
        for owner, name in (
            (subprocess.Popen, "__init__"),
            (BaseProcess, "start"),
            (socket.socket, "bind"),
            (os, "fork"),
        ):
            monkeypatch.setattr(owner, name, refuse)


def refuse(*args, **_):
    pytest.fail(f"this test starts a process or server: mark it with pytest.mark.slow {args}")


MANY = 50  # imported modules that make passes of the garbage collector slower
frozen = (None, 0)


def pytest_runtest_setup(item):
    """Exempt what is loaded by now, such as large libraries, from the passes of the garbage collector: they are slow."""
    global frozen  # noqa: PLW0603 - one heap, one state
    if (now := (item.path, len(sys.modules) // MANY)) != frozen:
        frozen = now
        gc.collect()
        gc.freeze()


@pytest.fixture(params=tilings())
def name(request):
    """Return the name of each chunker in turn, and of a chunker of several levels once for each."""
    return request.param


@pytest.fixture
def linear(name):
    """Return the parameters that make a chunker's chunks contiguous."""
    return {"contiguous": True} if issubclass(TABLE[name].chunker, GroupedParams) else {}


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
    bundled = Path(find_spec("llama_index.core").origin).parent / "_static" / "tiktoken_cache"
    monkeypatch.setenv("TIKTOKEN_CACHE_DIR", str(bundled))
