"""Damaged files of every format give documents, or one error that is ours."""

import io
import logging
import zipfile
from random import Random

import mutations
import pytest

from advchunk import AutoChunker, ConfigurationError, MissingExtra


@pytest.mark.slow
@pytest.mark.parametrize("suffix", mutations.files())
def test_damaged_files_are_read_or_refused(suffix):
    data, random, read, refused = mutations.files()[suffix], Random(1), 0, list[bytes]()
    logging.disable()
    try:
        for own in [data, *(mutations.mutate(data, random) for _ in range(30))]:
            chunker = AutoChunker(experimental=True)
            try:
                read += sum(len(chunker.chunk(document)) for document in chunker.read_documents(f"x{suffix}", data=own))
            except (ConfigurationError, MissingExtra):
                refused.append(own)
    finally:
        logging.disable(logging.NOTSET)
    assert read > 0
    assert data not in refused


def test_a_mutation_changes_a_file_or_a_member_of_it():
    random, data = Random(0), mutations.files()[".docx"]
    changed = [mutations.mutate(data, random) for _ in range(20)]
    assert data not in changed
    whole = [own for own in changed if zipfile.is_zipfile(io.BytesIO(own))]
    assert len(whole) >= 5
