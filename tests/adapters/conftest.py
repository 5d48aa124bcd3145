"""Runs the asynchronous tests that frameworks ship, without a plugin, and makes folders that other users can be let
into."""

import asyncio
import logging
import tempfile
from inspect import iscoroutinefunction
from pathlib import Path

import pytest


@pytest.hookimpl(tryfirst=True)
def pytest_pyfunc_call(pyfuncitem):
    if not iscoroutinefunction(pyfuncitem.obj):
        return None
    names = pyfuncitem._fixtureinfo.argnames
    asyncio.run(pyfuncitem.obj(**{name: pyfuncitem.funcargs[name] for name in names}))
    return True


@pytest.fixture
def warnings(caplog):
    """Return what was logged."""
    caplog.set_level(logging.WARNING, "advchunk")
    return lambda: [record.getMessage() for record in caplog.records if record.name == "advchunk"]


@pytest.fixture
def tmp_path():
    """A folder that is not one of pytest's.

    Root runs Postgres as another user, and each pytest that starts closes the parent of its folders to other users.
    """
    with tempfile.TemporaryDirectory() as folder:
        yield Path(folder)
