"""Arrow tables of documents in, tables of chunks out: by rows, whatever the batches."""

import json
import os
import sys
from datetime import date, timedelta
from decimal import Decimal

import pyarrow as pa
import pyarrow.parquet as pq
import pytest
from hypothesis import given
from hypothesis import strategies as st

from advchunk import ConfigurationError, Document, RecursiveChunker, create
from advchunk.retrieval import StoredRetriever
from advchunk.tables import chunk_batches, chunk_schema, read_chunks
from advchunk.tables.batches import repeated_ids
from hazards import die_at_poison

TEXTS = ["One two. Three four.", "", "# Tea\n\nGreen tea.\n\nMilk.", "Five six seven."]
TABLE = pa.table({"id": list("abcd"), "text": TEXTS, "year": [1, 2, 3, None]})


def chunked(table, chunker, **options):
    return pa.Table.from_batches(chunk_batches(table, chunker, **options), schema=chunk_schema())


@pytest.mark.parametrize("method", ["recursive", "mst-semantic", "hierarchical"])
def test_rows_are_the_chunks_of_one_call(method):
    chunker = create(method, max_tokens=5)
    results = chunker.chunk_many([Document(text, name) for name, text in zip("abcd", TEXTS, strict=True)])
    rows = chunked(TABLE.select(["id", "text"]), chunker).to_pylist()
    expected = [(chunk, chunks) for chunks in results for chunk in chunks]
    assert len(rows) == len(expected) > 4
    for row, (chunk, chunks) in zip(rows, expected, strict=True):
        assert row["chunk_id"] == chunk.id
        assert row["parent_id"] == (None if chunk.parent is None else chunks[chunk.parent].id)
        assert tuple((span["start"], span["end"]) for span in row["spans"]) == chunk.spans
        assert json.loads(row["metadata"]) == chunk.metadata
        for name in ("index", "level", "text", "context", "tokens"):
            assert row[name] == getattr(chunk, name)
        assert row["vector"] is row["error"] is None


@given(sizes=st.lists(st.integers(0, 3), max_size=6))
def test_batches_change_nothing(sizes):
    chunker = RecursiveChunker(max_tokens=5)
    starts = [0, *(sum(sizes[: i + 1]) for i in range(len(sizes)))]
    tables = [TABLE.slice(start, size) for start, size in zip(starts, sizes, strict=False)]
    batches = [batch for table in [*tables, TABLE.slice(sum(sizes))] for batch in table.to_batches()]
    assert chunked(batches, chunker).equals(chunked(TABLE, chunker))


def test_other_columns_are_metadata():
    table = TABLE.append_column("day", pa.array([date(2026, 1, 2)] * 4))
    rows = chunked(table, RecursiveChunker())
    assert json.loads(rows["metadata"][0].as_py()).items() >= {"year": 1, "day": "2026-01-02"}.items()
    rows = chunked(table, RecursiveChunker(), metadata=["day"])
    assert all(json.loads(value).keys() & {"day", "year"} == {"day"} for value in rows["metadata"].to_pylist())


def test_many_chunks_come_in_batches():
    table = pa.table({"id": ["a"], "text": ["One. " * 3000]})
    assert [len(batch) for batch in chunk_batches(table, RecursiveChunker(max_tokens=2))] == [1024, 1024, 952]


def test_each_bad_row_is_a_row_with_an_error_in_its_place():
    table = pa.table({"id": ["a", None, "a", "b", "c"], "text": ["One.", "Two.", "Three.", None, "Four."]})
    rows = chunked(table, RecursiveChunker())
    assert rows["document_id"].to_pylist() == ["a", None, "a", "b", "c"]
    assert rows["error"].to_pylist() == [
        None,
        "'id' must be a string that is not empty, or a whole number, got None",
        "'id' must be unique, got 'a' again",
        "'text' must be a string, got None",
        None,
    ]
    assert rows["text"].to_pylist() == ["One.", None, None, None, "Four."]
    with pytest.raises(ConfigurationError, match="got None"):
        list(chunk_batches(table, RecursiveChunker(), on_error="raise"))


def test_ids_that_other_batches_have_are_errors():
    errors = chunked(TABLE, RecursiveChunker(), repeated={"c"})["error"].to_pylist()
    assert errors == [None, "'id' must be unique, got 'c' again", None]
    assert repeated_ids(["a", "b", "a", None, None, "", "", 7, 7]) == {"a", "7"}


def test_a_document_that_fails_is_a_row_with_an_error():
    def fail(text):
        if "Three" in text:
            msg = "no\nmore"
            raise RuntimeError(msg)
        return [text]

    chunker = RecursiveChunker(sentence_splitter=fail, fallback=None, max_tokens=5)
    rows = chunked(TABLE, chunker)
    assert rows["error"].to_pylist()[0] == "RuntimeError: no"
    assert rows["error"].null_count == len(rows) - 1 >= 2
    with pytest.raises(RuntimeError):
        list(chunk_batches(TABLE, chunker, on_error="raise"))


def test_metadata_keeps_what_json_can_say():
    bare = pa.table({"id": ["a"], "text": ["One."]})
    values = {"price": Decimal("1.50"), "time": timedelta(hours=1), "rate": float("nan")}
    table = bare
    for name, value in values.items():
        table = table.append_column(name, pa.array([value]))
    metadata = json.loads(chunked(table, RecursiveChunker())["metadata"][0].as_py())
    assert [metadata[name] for name in values] == ["1.50", "1:00:00", None]
    table = bare.append_column("raw", pa.array([b"x"]))
    assert chunked(table, RecursiveChunker())["error"].to_pylist() == ["metadata must be JSON-able: not of type bytes"]


@pytest.mark.parametrize("kind", [pa.large_string(), pa.string_view(), pa.dictionary(pa.int32(), pa.string())])
def test_all_types_of_text_are_read(kind):
    table = pa.table({name: TABLE[name].cast(pa.string()).cast(kind) for name in ("id", "text")})
    assert chunked(table, RecursiveChunker()).equals(chunked(TABLE.select(["id", "text"]), RecursiveChunker()))


def test_ids_may_be_whole_numbers_and_one_batch_is_read_like_a_table():
    table = pa.table({"id": [7, 8], "text": ["One.", "Two."]})
    rows = chunked(table, RecursiveChunker())
    assert rows["document_id"].to_pylist() == ["7", "8"]
    assert rows["chunk_id"][0].as_py() == RecursiveChunker().chunk(Document("One.", "7"))[0].id
    assert chunked(*table.to_batches(), RecursiveChunker()).equals(rows)


def test_a_cell_that_is_broken_is_an_error_row():
    broken = pa.Array.from_buffers(
        pa.string(), 2, [None, pa.array([0, 4, 6], pa.int32()).buffers()[1], pa.py_buffer(b"One.\xff\xfe")]
    )
    errors = chunked(pa.table({"id": ["a", "b"], "text": broken}), RecursiveChunker())["error"].to_pylist()
    assert errors[0] is None
    assert errors[1].startswith("'text' must be a string, got UnicodeDecodeError")


@pytest.mark.slow
def test_a_document_that_kills_its_process_is_a_row_with_an_error(monkeypatch):
    monkeypatch.setenv("PYTHONPATH", os.pathsep.join(filter(None, sys.path)))
    table = pa.table({"id": ["a", "b", "c"], "text": ["One.", "POISON", "Two."]})
    rows = chunked(table, RecursiveChunker(tokenizer=die_at_poison), workers=2)
    assert rows["text"].to_pylist() == ["One.", None, "Two."]
    assert rows["error"][1].as_py().startswith("WorkerDied: 3 worker processes died of it")


@pytest.mark.parametrize("method", ["recursive", "hierarchical"])
def test_chunks_are_read_as_they_were_made(method):
    chunker = create(method, max_tokens=5, vectors="plain")
    results = chunker.chunk_many([Document(text, name) for name, text in zip("abcd", TEXTS, strict=True)])
    rows = chunked(TABLE.select(["id", "text"]), chunker)
    groups = dict(read_chunks(pa.concat_tables([rows.slice(0, 1), rows.slice(1)])))  # batches that cut a document
    assert groups == {name: chunks for name, chunks in zip("abcd", results, strict=True) if chunks}
    for chunks, own in zip(filter(None, results), groups.values(), strict=True):
        assert all((a.vector == b.vector).all() for a, b in zip(chunks, own, strict=True))


def test_an_index_is_filled_from_tables_of_chunks(tmp_path):
    rows = chunked(TABLE, RecursiveChunker(max_tokens=5, vectors="plain"))
    index = StoredRetriever(tmp_path / "my.index")
    for _ in range(2):  # the second time in place of what is there
        index.change(dict(read_chunks(rows)))
    assert [hit.document for hit in index.search("Green tea", 1)] == ["c"]
    with pytest.raises(ConfigurationError, match="must be together"):
        list(read_chunks(rows.slice(1)))
    with pytest.raises(ConfigurationError, match="must have the columns of chunk_schema"):
        list(read_chunks(TABLE))


def test_a_damaged_table_or_file_is_one_clear_error(tmp_path):
    rows = chunked(TABLE, RecursiveChunker(max_tokens=5))
    broken = pa.Array.from_buffers(
        pa.string(), 1, [None, pa.array([0, 2], pa.int32()).buffers()[1], pa.py_buffer(b"\xff\xfe")]
    )
    values = {
        "metadata": ["{", "[" * 5000, None],
        "text": [None, broken],
        "chunk_id": [None],
        "tokens": [-1],
        "spans": [None, [{"start": None, "end": 1}], [{"start": 5, "end": 2}]],
        "parent_id": ["x"],
    }
    for name, wrong in ((name, wrong) for name, some in values.items() for wrong in some):
        table = rows.slice(0, 1)
        column = wrong if isinstance(wrong, pa.Array) else pa.array([wrong], table.schema.field(name).type)
        with pytest.raises(ConfigurationError, match="the chunks of document 'a' must be as they were written"):
            list(read_chunks(table.set_column(table.schema.names.index(name), table.schema.field(name), [column])))
    pq.write_table(pa.table({"id": ["a"], "text": ["One. " * 5000]}), tmp_path / "a.parquet", use_dictionary=False)
    data = bytearray((tmp_path / "a.parquet").read_bytes())
    start = data.index(b"One. ")
    data[start - 40 : start + 40] = b"\xff" * 80
    (tmp_path / "a.parquet").write_bytes(data)
    with pytest.raises(ConfigurationError, match="batches must be of a file that is not damaged"):
        list(chunk_batches(pq.ParquetFile(tmp_path / "a.parquet").iter_batches(), RecursiveChunker()))
    for batches, options, rule in (
        (7, {}, "batches must be of pyarrow"),
        (TABLE, {"repeated": "a"}, "repeated must be"),
    ):
        with pytest.raises(ConfigurationError, match=rule):
            list(chunk_batches(batches, RecursiveChunker(), **options))


@pytest.mark.parametrize(
    ("table", "chunker", "says"),
    [
        (TABLE.drop("id"), RecursiveChunker(), "there must be a column 'id'"),
        (TABLE.drop("text"), RecursiveChunker(), "there must be a column 'text'"),
        (TABLE.set_column(0, "id", [[1.0, 2.0, 3.0, 4.0]]), RecursiveChunker(), "column 'id' must be text, got"),
        (TABLE.set_column(1, "text", [[1, 2, 3, 4]]), RecursiveChunker(), "column 'text' must be text, got"),
        (TABLE.rename_columns(["id", "text", "text"]), RecursiveChunker(), "names of columns must be unique"),
        (TABLE, "recursive", "chunker must be Chunker"),
        ([{"id": "a"}], RecursiveChunker(), "batches must be of pyarrow"),
        (TABLE, RecursiveChunker(vectors="units"), "vectors must not be 'units'"),
        (TABLE, create("graphrag", experimental=True), "not a corpus"),
    ],
)
def test_what_cannot_be_chunked_is_said(table, chunker, says):
    with pytest.raises(ConfigurationError, match=says):
        list(chunk_batches(table, chunker))


def test_datasets_map(tmp_path):
    import datasets

    chunker = RecursiveChunker(max_tokens=5)
    dataset = datasets.Dataset(TABLE).with_format("arrow")
    mapped = dataset.map(
        lambda table: chunked(table, chunker),
        batched=True,
        batch_size=2,
        remove_columns=dataset.column_names,
        features=datasets.Features.from_arrow_schema(chunk_schema()),
        cache_file_name=str(tmp_path / "mapped.arrow"),
    )
    assert mapped.with_format(None)["chunk_id"][:] == chunked(TABLE, chunker)["chunk_id"].to_pylist()
