"""Chunk the rows of Arrow tables, and read tables of chunks."""

import json
from collections import Counter, deque
from collections.abc import Collection, Iterable, Iterator, Mapping, Sequence
from datetime import date, time, timedelta
from decimal import Decimal
from itertools import groupby, islice
from operator import itemgetter
from typing import Any, Literal, NamedTuple, TypeAlias
from uuid import UUID

from advchunk.chunkers.base import Chunker
from advchunk.engine.runner import OnError
from advchunk.errors import ConfigurationError, checked, first_line, import_extra, require
from advchunk.records import Chunk, Document, Span

OnRowError: TypeAlias = Literal["row", "raise"]

_ROWS = 1024  # chunks in a batch of the output
_SAME_NAMES = ("text", "tokens", "index", "context", "level", "vector")  # of columns and of fields of a chunk


class _Refused(NamedTuple):
    """A row of the input that is not a document."""

    id: str | None
    reason: str


def chunk_schema() -> Any:
    """Return the `pyarrow.Schema` of chunks.

    ``error`` is null but in the one row of a document that failed, in which only ``document_id`` is set beside it.
    ``metadata`` is a JSON object with sorted keys. ``vector`` is null unless the chunker has ``vectors=``.

    >>> chunk_schema().names[:4]
    ['document_id', 'chunk_id', 'parent_id', 'index']
    """
    pa = import_extra("pyarrow", "arrow")
    spans = pa.list_(pa.struct([("start", pa.int64()), ("end", pa.int64())]))
    ids = {name: pa.string() for name in ("document_id", "chunk_id", "parent_id")}
    texts = {"index": pa.int32(), "level": pa.int16(), "text": pa.string(), "context": pa.string()}
    places = {"spans": spans, "source_spans": spans, "tokens": pa.int32(), "metadata": pa.string()}
    return pa.schema({**ids, **texts, **places, "vector": pa.list_(pa.float32()), "error": pa.string()})


@checked
def chunk_batches(
    batches: Any,
    chunker: Chunker,
    *,
    id: str = "id",
    text: str = "text",
    metadata: Sequence[str] | None = None,
    on_error: OnRowError = "row",
    repeated: Collection[str] = (),
    workers: int = 1,
) -> Iterator[Any]:
    """Yield record batches of chunks, in the order of the documents, for any engine that exchanges Arrow data.

    The chunks are those of `Chunker.chunk_many`, ids included, whatever the batches are, because each document must
    have an id of its own: ids of chunks depend on it. A blank document has no chunks, and no row.

    Parameters
    ----------
    batches : `pyarrow.RecordBatch` objects, or a `pyarrow.Table`; read as they are needed.
    chunker : any but ``graphrag``, which chunks a corpus, and not with ``vectors="units"``.
    id, text : names of columns; ids are text or whole numbers.
    metadata : names of columns for the documents' metadata; None takes all others. Dates and times become ISO 8601
        text, decimals, UUIDs and durations text, and numbers that are not finite null; bytes are an error.
    on_error : "row" reports a document that fails, or lacks a text or an id of its own, in ``error``; "raise" raises.
    repeated : ids that other batches have, too. Without it, of equal ids in one call only the first is chunked.
    workers : number of processes that chunk, >= 1 (`Chunker.chunk_many`); a document that kills several is an error.

    Yields
    ------
    pyarrow.RecordBatch : of at most 1,024 chunks and at least 1, of the schema `chunk_schema`.

    Raises
    ------
    ConfigurationError : a missing column, one that is not text, or a chunker that this does not serve.

    >>> import pyarrow as pa
    >>> from advchunk import RecursiveChunker
    >>> table = pa.table({"id": ["a", "b"], "text": ["One two. Three four.", None]})
    >>> for batch in chunk_batches(table, RecursiveChunker(max_tokens=4)):
    ...     print(batch.select(["document_id", "text", "error"]).to_pylist()[1:])
    [{'document_id': 'a', 'text': 'Three four.', 'error': None}, {'document_id': 'b', 'text': None, 'error': "'text' must be a string, got None"}]
    """  # noqa: E501
    pa = import_extra("pyarrow", "arrow")
    require(not chunker.is_corpus_level, "chunk_batches chunks single documents, not a corpus", chunker)
    require(chunker.vectors != "units", "vectors must not be 'units', whose rows have no column", chunker.vectors)
    documents = _read_documents(batches, id, text, metadata, set(repeated))
    rows = _chunk_rows(documents, chunker, on_error, workers)
    while part := list(islice(rows, _ROWS)):
        yield pa.RecordBatch.from_pylist(part, schema=chunk_schema())


@checked
def read_chunks(batches: Any) -> Iterator[tuple[str, list[Chunk]]]:
    """Yield the id of each document in tables of `chunk_schema`, but failed ones, with its chunks, as they were made.

    Parameters
    ----------
    batches : `pyarrow.RecordBatch` objects, or a `pyarrow.Table`, in which the chunks of a document stand together.

    Raises
    ------
    ConfigurationError : a column is missing, chunks of a document are missing or elsewhere, or a value is damaged.

    >>> import pyarrow as pa
    >>> from advchunk import RecursiveChunker
    >>> table = pa.table({"id": ["a", "b"], "text": ["One two. Three four.", "Five."]})
    >>> for document, chunks in read_chunks(chunk_batches(table, RecursiveChunker(max_tokens=4))):
    ...     print(document, [chunk.text for chunk in chunks])
    a ['One two. ', 'Three four.']
    b ['Five.']
    """
    rows = (row for batch in _batches_of(batches) for row in _rows_of(batch) if row["error"] is None)
    for document, group in groupby(rows, itemgetter("document_id")):
        own = list(group)
        places = {row["chunk_id"]: place for place, row in enumerate(own)}
        is_whole = [row["index"] for row in own] == list(range(len(own)))
        require(is_whole, "the chunks of a document must be together in one file, in their order", document)
        try:
            chunks = [_chunk_of(row, places) for row in own]
        except (ValueError, TypeError, KeyError, AttributeError, RecursionError) as error:
            msg = f"the chunks of document {document!r} must be as they were written: {first_line(error)}"
            raise ConfigurationError(msg) from error
        yield document, chunks


def _rows_of(batch: Any) -> Iterator[dict[str, Any]]:
    names = chunk_schema().names
    missing = [name for name in names if name not in batch.schema.names]
    require(not missing, "a table must have the columns of chunk_schema()", missing)
    names.remove("vector")
    columns = (map(_cell, batch.column(name)) for name in names)
    for *values, vector in zip(*columns, batch.column("vector"), strict=True):
        array = vector.values.to_numpy(zero_copy_only=False) if vector.is_valid else None  # not a list of numbers
        yield {**dict(zip(names, values, strict=True)), "vector": array}


def _chunk_of(row: Mapping[str, Any], places: Mapping[str, int]) -> Chunk:
    """Return the chunk of a row of `_row`, with the place of its parent."""
    for value in row.values():
        if isinstance(value, Exception):  # of `_cell`
            raise value
    require(isinstance(row["text"], str) and row["chunk_id"], "a chunk must have a text and an id", row["chunk_id"])
    spans, source_spans = (tuple(Span(**span) for span in row[name]) for name in ("spans", "source_spans"))
    is_sound = all(0 <= start <= end for start, end in spans + source_spans) and min(row["tokens"], row["level"]) >= 0
    require(is_sound, "spans must be ascending, and tokens and levels not negative", row["chunk_id"])
    return Chunk(
        spans=spans,
        source_spans=source_spans,
        id=row["chunk_id"],
        parent=None if row["parent_id"] is None else places[row["parent_id"]],
        metadata=json.loads(row["metadata"]),
        **{name: row[name] for name in _SAME_NAMES},
    )


def _read_documents(
    batches: Any, id: str, text: str, metadata: Sequence[str] | None, used: set[str]
) -> Iterator[Document | _Refused]:
    """Yield the documents of record batches or a table, and add their ids to ``used``, which they must not be in."""
    for batch in _batches_of(batches):
        names = batch.schema.names
        require(len({*names}) == len(names), "names of columns must be unique", names)
        others = [name for name in names if name not in (id, text)] if metadata is None else list(metadata)
        for name in (id, text, *others):
            require(name in names, f"there must be a column {name!r}", names)
        for name, whole in ((id, True), (text, False)):
            kind = batch.schema.field(name).type
            require(_is_text(kind, whole=whole), f"column {name!r} must be text", kind)
        columns = (map(_cell, batch.column(name)) for name in (id, text, *others))
        for key, content, *values in zip(*columns, strict=True):
            source = str(key) if isinstance(key, int) and not isinstance(key, bool) else key
            if not isinstance(source, str) or not source:
                rule = f"{id!r} must be a string that is not empty, or a whole number, got {source!r}"
                yield _Refused(source if isinstance(source, str) else None, rule)
            elif source in used:
                yield _Refused(source, f"{id!r} must be unique, got {source!r} again")
            else:
                used.add(source)
                yield _document(source, content, text, dict(zip(others, values, strict=True)))


def _document(source: str, content: Any, column: str, values: Mapping[str, Any]) -> Document | _Refused:
    if not isinstance(content, str):
        return _Refused(source, f"{column!r} must be a string, got {content!r}")
    try:
        plain = json.dumps(values, default=_plain)
    except TypeError as error:
        return _Refused(source, f"metadata must be JSON-able: {error}")
    return Document(content, source, metadata=json.loads(plain, parse_constant=lambda _: None))


def _batches_of(batches: Any) -> Iterator[Any]:
    pa = import_extra("pyarrow", "arrow")
    batches = [batches] if isinstance(batches, pa.RecordBatch | pa.Table) else batches
    require(isinstance(batches, Iterable), "batches must be of pyarrow", type(batches).__name__)
    try:
        for batch in batches:
            require(isinstance(batch, pa.RecordBatch | pa.Table), "batches must be of pyarrow", type(batch).__name__)
            yield from batch.to_batches() if isinstance(batch, pa.Table) else [batch]
    except (pa.ArrowException, OSError) as error:  # of a file
        msg = f"batches must be of a file that is not damaged: {first_line(error)}"
        raise ConfigurationError(msg) from error


def _plain(value: Any) -> str:
    if isinstance(value, date | time):
        return value.isoformat()
    if isinstance(value, Decimal | UUID | timedelta):
        return str(value)
    msg = first_line(value) if isinstance(value, Exception) else f"not of type {type(value).__name__}"
    raise TypeError(msg)


def _cell(cell: Any) -> Any:
    """Return the value of a cell; an exception if Python has no value for it."""
    try:
        return cell.as_py()
    except (ValueError, OverflowError) as error:
        return error


def _is_text(kind: Any, *, whole: bool) -> bool:
    """Return True for types of text, and for those of whole numbers if they are allowed."""
    types = import_extra("pyarrow", "arrow").types
    kind = kind.value_type if types.is_dictionary(kind) else kind
    return str(kind) in ("string", "large_string", "string_view", "null") or (whole and types.is_integer(kind))


def repeated_ids(ids: Iterable[Any]) -> frozenset[str]:
    """Return the ids that occur more than once."""
    counts = Counter(str(name) for name in ids if name is not None and name != "")
    return frozenset(name for name, count in counts.items() if count > 1)


def _chunk_rows(
    documents: Iterable[Document | _Refused], chunker: Chunker, on_error: OnRowError, workers: int
) -> Iterator[dict[str, Any]]:
    pending: deque[Document | _Refused] = deque()  # read, and not yet answered
    errors: dict[int, Exception] = {}

    def read() -> Iterator[Document]:
        for item in documents:
            if isinstance(item, _Refused) and on_error == "raise":
                raise ConfigurationError(item.reason)
            pending.append(item)
            if isinstance(item, Document):
                yield item

    def refused() -> Iterator[dict[str, Any]]:
        while pending and isinstance(item := pending[0], _Refused):
            pending.popleft()
            yield {"document_id": item.id, "error": item.reason}

    keep: OnError = "raise" if on_error == "raise" else lambda failure: errors.update({failure.index: failure.error})
    results = chunker.stream(read(), on_error=keep, workers=workers)
    for index, chunks in enumerate(results):
        yield from refused()
        document = pending.popleft()
        if error := errors.pop(index, None):
            yield {"document_id": document.id, "error": f"{type(error).__name__}: {first_line(error)}"}
        else:
            yield from (_row(document.id, chunk, chunks) for chunk in chunks)
    yield from refused()


def _row(document_id: str | None, chunk: Chunk, chunks: Sequence[Chunk]) -> dict[str, Any]:
    return {
        "document_id": document_id,
        "chunk_id": chunk.id,
        "parent_id": None if chunk.parent is None else chunks[chunk.parent].id,
        "spans": chunk.spans,
        "source_spans": chunk.source_spans,
        "metadata": json.dumps(chunk.metadata, sort_keys=True, ensure_ascii=False),
        **{name: getattr(chunk, name) for name in _SAME_NAMES},
    }
