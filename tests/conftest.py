"""Settings and fixtures of all tests: sizes of hypothesis, the passes of the garbage collector, chunkers by name."""

import gc
import os
import socket
import subprocess
import sys
from importlib.util import find_spec
from multiprocessing.process import BaseProcess
from pathlib import Path

import pytest
from hypothesis import HealthCheck, is_hypothesis_test, settings

from advchunk import names
from advchunk.chunkers.catalog import chunker_class
from advchunk.chunkers.params import GroupedParams
from algorithms import ALGORITHMS
from front_ends import FRONT_ENDS, core, tilings
from planted import CATS, COURTS
from starters import LARGE, STARTERS, names_used

# The share of its examples that a test draws: of 100 by default, or of a number of its own, which stands for all three.
SHARES = {"quick": 0.1, "default": 0.2, "all": 2.0, "explore": 2.0}
for profile in SHARES:  # the examples are the same in each run, but "explore" looks for new ones
    is_fixed, slow = profile != "explore", [HealthCheck.too_slow]  # the machine may be busy with other tests
    settings.register_profile(
        profile, deadline=None, suppress_health_check=slow, max_examples=100, derandomize=is_fixed
    )
settings.load_profile("default")

os.environ["HF_HUB_OFFLINE"] = "1"
os.environ["OMP_NUM_THREADS"] = "1"  # for torch, as there are as many test processes as cores

# What is marked besides what marks itself: folders and files, and cases of chunkers that are much like one of these.
LONG_FOLDERS = {"benchmarks", "tables"}
LONG_FILES = {
    "test_notebooks.py", "test_four_places.py", "test_plugins.py", "test_serving.py", "test_store_faults.py",
    "test_report_browser.py",
}  # fmt: skip
ONE_OF_A_KIND = {"recursive", "mst-semantic", "c99", "llm-chaptering"}


def pytest_configure(config):
    """Let no test of `make quick` load a large library."""
    if is_quick(config):
        sys.meta_path.insert(0, NoLargeLibrary)


class NoLargeLibrary:
    """A finder that fails the test that imports a large library."""

    @staticmethod
    def find_spec(name, *_):
        if name in {"spacy", "torch"}:
            pytest.fail(f"a test that loads {name} must be marked with pytest.mark.slow")


def is_quick(config):
    return config.getoption("hypothesis_profile") == "quick"


def pytest_collection_modifyitems(items, config):
    """Mark tests as far as their code shows what they do, and scale the examples to the profile."""
    others = set(names()) - ONE_OF_A_KIND
    share = SHARES[config.getoption("hypothesis_profile") or "default"]
    for test in {item.obj for item in items if is_hypothesis_test(getattr(item, "obj", None))}:
        scale_examples(test, share)
    used = {item: names_used(item) for item in items}
    for item in items:
        if hasattr(item, "callspec") and item.callspec.params.get("name") in others:
            item.add_marker("another_chunker")
        if item.path.parent.name in LONG_FOLDERS or item.path.name in LONG_FILES or "postgres" in item.name:
            item.add_marker("long")
        if "long" in item.keywords or not STARTERS.isdisjoint(used[item]):
            item.add_marker("slow")
    items.sort(key=lambda item: LARGE.isdisjoint(used[item]))  # so that one process of several loads them


@pytest.hookimpl(wrapper=True)
def pytest_collection():
    """Collect without passes of the garbage collector: what is imported stays."""
    gc.disable()
    try:
        return (yield)
    finally:
        gc.enable()


def scale_examples(test, share):
    own = test._hypothesis_internal_use_settings
    examples = max(1, round(own.max_examples * share))
    test._hypothesis_internal_use_settings = settings(own, max_examples=examples)


@pytest.fixture(autouse=True)
def _starts_nothing_unless_slow(request, monkeypatch):
    """Fail a test that starts a process or a server without the mark ``slow``."""
    if "slow" not in request.keywords:
        monkeypatch.setattr(subprocess.Popen, "__init__", refuse)
        monkeypatch.setattr(BaseProcess, "start", refuse)
        monkeypatch.setattr(socket.socket, "listen", refuse)
        monkeypatch.setattr(os, "fork", refuse)


def refuse(*args, **_):
    pytest.fail(f"a test that starts a process or a server must be marked with pytest.mark.slow, got {args}")


MANY = 50  # imported modules that make passes of the garbage collector slower
frozen = (None, 0)


def pytest_runtest_setup(item):
    """Exempt what is loaded by now, such as large libraries, from the passes of the garbage collector: they are
    slow."""
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
    return {"contiguous": True} if issubclass(chunker_class(name), GroupedParams) else {}


@pytest.fixture
def unwalled(name):
    """Return the parameters that turn off a chunker's hard stops, or smaller sizes of finer levels, which keep chunks
    small."""
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
    if (params := ALGORITHMS[name].planted) is None:
        pytest.skip("it cuts by something other than topics")
    return CATS, COURTS, params


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
