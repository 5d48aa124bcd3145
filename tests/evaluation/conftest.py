"""Keep the garbage collection before each cost measurement fast, although tests load large libraries."""

import gc

import pytest


@pytest.fixture(scope="module", autouse=True)
def _frozen_heap():
    gc.collect()
    gc.freeze()
    yield
    gc.unfreeze()
