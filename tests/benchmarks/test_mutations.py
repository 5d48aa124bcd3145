"""Damaged files of every format give documents, or one error that is ours."""

import io
import logging
import zipfile
from random import Random

import mutations
import pytest

from advchunk.readers.sources import FileSource


@pytest.mark.parametrize("suffix", mutations.files())
def test_damaged_files_give_chunks_or_an_error(suffix):
    data, random = mutations.files()[suffix], Random(1)
    logging.disable()
    try:
        files = [data, *(mutations.mutate(data, random) for _ in range(15))]
        outcomes = [mutations.outcome(FileSource(f"x{suffix}", own)) for own in files]
    finally:
        logging.disable(logging.NOTSET)
    assert outcomes[0] == "read"
    assert "silent" not in outcomes


def test_a_mutation_changes_a_file_or_a_member_of_it():
    random, data = Random(0), mutations.files()[".docx"]
    changed = [mutations.mutate(data, random) for _ in range(20)]
    assert data not in changed
    whole = [own for own in changed if zipfile.is_zipfile(io.BytesIO(own))]
    assert len(whole) >= 5
