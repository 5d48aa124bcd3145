"""The table of seeded faults, and the tool that seeds them."""

from collections import Counter
from pathlib import Path

import pytest
import seeded_faults
from seeded_faults import Fault, read_faults, read_sources, table, try_faults

ROOT = Path(__file__).parents[1]


def test_every_fault_has_a_place_in_the_source_and_tests_that_should_catch_it():
    faults, sources = read_faults(), read_sources(ROOT)
    assert len(faults) == len({fault.slip for fault in faults}) == 60
    for fault in faults:
        path, seeded = fault.place(sources)
        compile(seeded, path, "exec")
        assert seeded != sources[path]
        assert fault.selection(ROOT)


@pytest.mark.parametrize("text", ["a = 2\n", "a = 1\nb = a = 1\n"])
def test_a_fault_without_one_place_is_an_error(text):
    fault = Fault(kind="sizes", slip="too much", old="a = 1", new="a = 3", tests="test_a.py")
    with pytest.raises(LookupError, match="too much"):
        fault.place({Path("a.py"): text})


@pytest.fixture
def checkout(tmp_path, monkeypatch):
    """Return a checkout of one module, of which a test that is not run checks ``low``."""
    (tmp_path / "core").mkdir()
    (tmp_path / "core" / "a.py").write_text("low, high = 1, 2\n")
    (tmp_path / "tests").mkdir()
    (tmp_path / "tests" / "test_a.py").touch()

    def run_tests(root, selection):
        assert selection in ([str(root / "tests" / "test_a.py")], ["test_low"])
        assert root != tmp_path
        return "" if (root / "core" / "a.py").read_text().startswith("low, high = 1") else "test_low", 0.5

    monkeypatch.setattr(seeded_faults, "run_tests", run_tests)
    return tmp_path


def test_a_fault_is_caught_or_not(checkout):
    faults = [
        Fault(kind="sizes", slip="low", old="high = 1, 2", new="high = 0, 2", tests="test_*.py"),
        Fault(kind="spans", slip="high", old="no such piece", new="", before="1, 2", then="1, 3", tests="test_a.py"),
    ]
    low, high = try_faults(checkout, faults)
    assert low == {"kind": "sizes", "slip": "low", "caught": True, "by": "test_low", "seconds": 0.5}
    assert (high["slip"], high["caught"], high["by"]) == ("high", False, "")
    assert (checkout / "core" / "a.py").read_text() == "low, high = 1, 2\n"
    assert [*table({"before": [low, high], "after": [low, high]})][2:] == [
        "| sizes | 1 | 1 | 1 |",
        "| spans | 1 | 0 | 0 |",
        "| all | 2 | 1 | 1 |",
    ]


def test_tests_that_fail_without_a_fault_are_an_error(checkout):
    (checkout / "core" / "a.py").write_text("low, high = 0, 2\n")
    fault = Fault(kind="sizes", slip="high", old="0, 2", new="0, 3", tests="test_a.py")
    with pytest.raises(RuntimeError, match="test_low fails without a fault"):
        list(try_faults(checkout, [fault]))


def test_kinds_are_those_that_were_found():
    kinds = Counter(fault.kind for fault in read_faults())
    assert {"spans", "sizes", "ids", "metadata", "growth", "sentences", "retrieval"} <= kinds.keys()
