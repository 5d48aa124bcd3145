"""The table of the systems of the five documents has a row for each chunker of a paper, and its comparisons run."""

import re

import papers
import pytest

from advchunk import registry
from advchunk.chunkers.catalog import chunker_class, names

MODULE = papers.published_tests()
COMPARED = [system for system in papers.SYSTEMS if "original" in system]


def test_every_chunker_of_a_paper_has_a_row():
    where = " ".join(system["where"] for system in papers.SYSTEMS)
    missing = [name for name in names() if "published" in chunker_class(name).presets
               and chunker_class(name).__name__ not in where]  # fmt: skip
    assert missing == []
    assert {system["original"] for system in COMPARED} == MODULE.ORIGINALS.keys()


def test_every_paper_that_a_chunker_cites_is_named():
    systems = " ".join(system["name"] + system["compared"] for system in papers.SYSTEMS)
    for row in registry.rows_of("chunker", ours=True):
        if "published" in chunker_class(row.name).presets:
            for author, year in re.findall(r"([A-Z]\w+)(?: et al\.| & \w+)? (\d{4})", row.source or ""):
                assert author in systems, (author, year)


def test_the_tests_of_a_row_are_there():
    assert all((papers.TESTS / test).exists() for system in papers.SYSTEMS for test in system["tests"])


@pytest.mark.parametrize("system", COMPARED, ids=lambda system: system["original"])
def test_the_preset_gives_all_chunks_of_the_original(system):
    published, default = papers.compare(system, MODULE, [MODULE.TEXTS["Markdown"]])
    common, total = map(int, published.split(" of "))
    assert common == total > 0
    assert int(default) <= total
