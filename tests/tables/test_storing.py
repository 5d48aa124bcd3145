"""Shards into an index or a store: each chunk once, whatever is killed, and vectors are those of the workers."""

import os
import subprocess
import sys
from pathlib import Path

import numpy as np
import pyarrow as pa
import pyarrow.dataset
import pyarrow.parquet
import pytest

from advchunk import ConfigurationError, Document, HierarchicalChunker, RecursiveChunker
from advchunk.models.static import StaticEmbedder
from advchunk.retrieval import StoredRetriever
from advchunk.retrieval.index_file import IndexFile
from advchunk.tables import chunk_batches, chunk_schema, chunk_shards, read_chunks, store_shards, storing
from advchunk.tables.folders import read_batches
from advchunk.tables.storing import put
from processes import write_to_folder

TEXTS = {f"d{i}": f"Tea number {i} is hot. Sailors drank it in 19{i}0. Naïve \u8336." for i in range(9)}
TABLE = pa.table({"id": [*TEXTS], "text": [*TEXTS.values()], "year": [*range(9)]})
OPTIONS = {"max_tokens": 9, "vectors": "plain"}


def documents():
    return [Document(text, name, metadata={"year": int(name[1:])}) for name, text in TEXTS.items()]


@pytest.fixture
def small_batches(monkeypatch):
    monkeypatch.setattr(storing, "_BATCH", 3)


@pytest.fixture
def folder(tmp_path):
    """Shards of three documents each."""
    inputs, out = tmp_path / "in", tmp_path / "chunks"
    inputs.mkdir()
    pa.parquet.write_table(TABLE, inputs / "a.parquet", row_group_size=3)
    chunk_shards(inputs, out, "recursive", workers=1, **OPTIONS)
    return out


def content(path):
    """Return all that an index has of its documents."""
    file = IndexFile(Path(path))
    with file.reading() as opened:
        return [
            (own.name, own.chunks, own.terms, np.concatenate(own.rows).tolist(), own.text)
            for own in file.documents(opened)
        ]


def expected(path):
    """Return the same for an index that was made at once."""
    chunker = RecursiveChunker(**OPTIONS)
    groups = dict(zip(TEXTS, chunker.chunk_many(documents()), strict=True))
    StoredRetriever(path).add_many(groups)
    return content(path)


@pytest.mark.parametrize(("chunker", "form"), [(RecursiveChunker, "jsonl"), (HierarchicalChunker, "parquet")])
def test_chunks_are_read_as_they_were_made(chunker, form, tmp_path):
    options = OPTIONS if chunker is RecursiveChunker else {"vectors": "plain"}
    own = chunker(**options)
    pa.parquet.write_table(TABLE, tmp_path / "a.parquet")
    chunk_shards(tmp_path / "a.parquet", tmp_path / "out", own.algorithm, workers=1, format=form, **options)
    (file,) = map(str, (tmp_path / "out").glob("part-*"))
    made = dict(zip(TEXTS, own.chunk_many(documents()), strict=True))
    read = dict(read_chunks(read_batches(file, chunk_schema())))
    assert read == made == dict(read_chunks(pa.Table.from_batches(chunk_batches(TABLE, own), schema=chunk_schema())))
    for name, chunks in made.items():
        for chunk, again in zip(chunks, read[name], strict=True):
            np.testing.assert_array_equal(again.vector, chunk.vector)


@pytest.mark.usefixtures("small_batches")
def test_an_index_has_what_one_call_would_add_and_nothing_twice(folder, tmp_path, monkeypatch):
    model = expected(tmp_path / "other.index")
    monkeypatch.setattr(StaticEmbedder, "embed", lambda *_: pytest.fail("the vectors are those of the shards"))
    path, done = tmp_path / "my.index", []
    assert store_shards(folder, path, progress=done.append) == (3, 0, sum(len(chunks) for _, chunks, *_ in model), 0)
    assert done == [1, 2, 3]
    before = content(path)
    assert before == model
    assert store_shards(folder, StoredRetriever(path)) == (3, 3, 0, 0)
    assert content(path) == before


KILLED = """
import os, signal, sys
from advchunk.tables import storing
from advchunk.retrieval import StoredRetriever

storing._BATCH, change, left = 3, StoredRetriever.change, int(sys.argv[3])

def killed(self, *args, **options):
    global left
    if left == 0:
        os.kill(os.getpid(), signal.SIGKILL)
    left -= 1
    return change(self, *args, **options)

StoredRetriever.change = killed
storing.store_shards(sys.argv[1], sys.argv[2])
"""


@pytest.mark.usefixtures("small_batches")
def test_a_run_that_was_killed_anywhere_ends_with_the_same_index(folder, tmp_path):
    path, model, lost = tmp_path / "my.index", expected(tmp_path / "other.index"), []
    writes = {"before all": 0, "in a shard": 1, "before its note": 3, "in the next": 6}
    for place, number in writes.items():
        path.unlink(missing_ok=True)
        run = subprocess.run([sys.executable, "-c", KILLED, folder, path, str(number)], check=False)
        assert run.returncode == -9, place
        lost.append(len(TEXTS) - len(StoredRetriever(path).documents))
        store_shards(folder, path)
        assert content(path) == model, place
    assert lost == sorted(lost, reverse=True)
    assert len({*lost}) > 1


def test_chunking_takes_each_shard_into_an_index(folder, tmp_path, monkeypatch):
    model, path = expected(tmp_path / "other.index"), tmp_path / "my.index"
    inputs, out = folder.parent / "in", tmp_path / "again"
    stopped = []

    def stop(index, shard):
        if len(stopped) == 1:
            raise KeyboardInterrupt
        stopped.append(shard)
        return put(index, shard)

    with monkeypatch.context() as patched:
        patched.setattr("advchunk.tables.shards.put", stop)
        with pytest.raises(KeyboardInterrupt):
            chunk_shards(inputs, out, "recursive", workers=1, into=path, **OPTIONS)
    assert StoredRetriever(path).documents == [*TEXTS][:3]
    counts = chunk_shards(inputs, out, "recursive", workers=1, into=path, **OPTIONS)
    assert counts.shards == 3
    assert content(path) == model
    assert chunk_shards(inputs, out, "recursive", workers=1, into=path, **OPTIONS) == (3, 3, 0, 0)
    path.unlink()
    chunk_shards(inputs, out, "recursive", workers=1, into=path, **OPTIONS)
    assert content(path) == model


@pytest.mark.parametrize("workers", [1, 2])
def test_a_store_has_each_chunk_once_and_notes_are_its_own(folder, tmp_path, monkeypatch, workers):
    monkeypatch.setenv("PYTHONPATH", os.pathsep.join(filter(None, sys.path)))
    monkeypatch.setenv("ADVCHUNK_STORE", str(tmp_path / "store"))
    (tmp_path / "store").mkdir()
    own = {"records": folder / "_stored", "workers": workers}
    counts = store_shards(folder, write_to_folder, **own)
    written = {path.name: path.read_text("utf-8") for path in (tmp_path / "store").iterdir()}
    groups = RecursiveChunker(**OPTIONS).chunk_many(documents())
    assert written == {
        chunk.id: f"{name}: {chunk.text}" for name, chunks in zip(TEXTS, groups, strict=True) for chunk in chunks
    }
    assert counts == (3, 0, len(written), 0)
    assert store_shards(folder, write_to_folder, **own) == (3, 3, 0, 0)
    os.utime(next(folder.glob("part-*")), ns=(1, 1))
    assert store_shards(folder, write_to_folder, **own)[:2] == (3, 2)
    assert store_shards(folder, write_to_folder, records=tmp_path / "others")[:2] == (3, 0)


@pytest.mark.usefixtures("small_batches")
def test_a_shard_counts_only_when_the_store_has_all_of_it(folder, tmp_path):
    taken = []

    def fail(documents):
        if taken:
            msg = "the store is full"
            raise OSError(msg)
        taken.append([*documents])

    with pytest.raises(OSError, match="is full"):
        store_shards(folder, fail, records=tmp_path / "records")
    assert 0 < len(taken[0]) < 3
    assert not [*(tmp_path / "records").iterdir()]
    again = []
    store_shards(folder, again.extend, records=tmp_path / "records")
    assert again == [*TEXTS]


def test_failed_documents_are_counted_and_have_no_chunks(tmp_path):
    table = TABLE.set_column(1, "text", [[None, *[*TEXTS.values()][1:]]])
    pa.parquet.write_table(table, tmp_path / "a.parquet")
    chunk_shards(tmp_path / "a.parquet", tmp_path / "out", "recursive", workers=1, format="jsonl", **OPTIONS)
    counts = store_shards(tmp_path / "out", tmp_path / "my.index")
    assert (counts.shards, counts.failures) == (1, 1)
    assert StoredRetriever(tmp_path / "my.index").documents == [*TEXTS][1:]


def test_what_cannot_be_stored_is_explained(folder, tmp_path):
    (tmp_path / "empty").mkdir()
    (tmp_path / "lines").mkdir()
    (tmp_path / "lines" / "a.jsonl").write_text("[]\n", "utf-8")
    rows = pa.dataset.dataset(folder).to_table()
    for name, table in [("half", rows.slice(1)), ("others", rows.drop_columns(["tokens"]))]:
        (tmp_path / name).mkdir()
        pa.parquet.write_table(table, tmp_path / name / "a.parquet")
    index = tmp_path / "my.index"
    for source, into, options, says in [
        (tmp_path / "empty", index, {}, "must have a Parquet or JSON Lines file"),
        (tmp_path / "none", index, {}, "an input must exist"),
        (tmp_path / "half", index, {}, "must be together in one file, in their order, got 'd0'"),
        (tmp_path / "others", index, {}, r"columns of chunk_schema\(\), got \['tokens'\]"),
        (tmp_path / "lines", index, {}, "every line must be an object of JSON"),
        (folder, index, {"records": tmp_path}, "records must be None"),
        (folder, index, {"workers": 2}, "workers must be 1 for an index"),
        (folder, print, {}, "records must be a folder"),
        (folder, 3, {}, "an index must be a path or a StoredRetriever"),
    ]:
        with pytest.raises(ConfigurationError, match=says):
            store_shards(source, into, **options)
    with pytest.raises(ConfigurationError, match="chunks of one level, got 'hierarchical'"):
        chunk_shards(folder.parent / "in", tmp_path / "out", "hierarchical", into=index)
    assert not (tmp_path / "out").exists()
