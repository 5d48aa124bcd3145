"""The simulation of a cluster, and the script that uses it."""

import subprocess
import sys
from pathlib import Path

import cluster
import numpy as np
import pytest


def test_equal_shards_on_workers_that_never_die_take_full_rounds():
    assert cluster.simulate(np.full(10, 2.0), 4, deaths=0, slow=0) == (6.0, 0.0)
    assert cluster.simulate(np.array([3.0, 1, 1, 1]), 2, deaths=0, slow=0) == (3.0, 0.0)


def test_a_slow_worker_ends_last():
    assert cluster.simulate(np.full(2, 1.0), 2, deaths=0, slow=1) == (cluster.SLOWDOWN, 0.0)


def test_deaths_lose_the_work_that_they_interrupt():
    times = np.full(400, 1.0)
    end, again = cluster.simulate(times, 20, deaths=0.1, slow=0)
    assert 20 < end < 30
    # A shard of one hour dies with probability p = 1 - exp(-.1), after .5 hours on average, and so on until it lives.
    p = 1 - np.exp(-0.1)
    assert again == pytest.approx(p / (1 - p) / 2, abs=0.03)


def test_the_script_prints_both_tables(tmp_path):
    for i in range(2):
        (tmp_path / f"{i}.txt").write_text("One two three. Four five six.\n\n" * 30)
    command = [
        sys.executable,
        Path(cluster.__file__),
        "--data",
        tmp_path,
        "--gigabytes",
        "0.01",
        "--shard",
        "1",
        "--only",
        "recursive",
    ]
    out = subprocess.run(command, capture_output=True, text=True, check=True).stdout
    assert out.count("| recursive |") == 2
    assert "10 shards of 1 MB" in out
