"""The long runs, made short."""

import logging

import pytest

from scripts import run


@pytest.mark.slow
def test_all_runs_are_fine():
    printed = run("soak", "--calls", 20, "--minutes", 0.001, "--kills", 1)
    logging.disable(logging.NOTSET)
    assert "| kills | 1 kills, 0 times not whole |" in printed
