"""Chunk the rows of Arrow tables."""

import json
from collections import deque
from collections.abc import Collection, Iterable, Iterator, Sequence
from datetime import date, time
from itertools import islice
from typing import Any, Literal, NamedTuple, TypeAlias

from advchunk.chunkers.base import Chunker
from advchunk.engine.runner import Failure
from advchunk.errors import ConfigurationError, first_line, import_extra, require
from advchunk.records import Chunk, Document, Span

OnRowError: TypeAlias = Literal["row", "raise"]

_ROWS = 1024  # chunks in a batch of the output


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
    return pa.schema(
        [
            ("document_id", pa.string()),
            ("chunk_id", pa.string()),
            ("parent_id", pa.string()),
            ("index", pa.int32()),
            ("level", pa.int16()),
            ("text", pa.string()),
            ("context", pa.string()),
            ("spans", spans),
            ("source_spans", spans),
            ("tokens", pa.int32()),
            ("metadata", pa.string()),
            ("vector", pa.list_(pa.float32())),
            ("error", pa.string()),
        ]
    )


def chunk_batches(
    batches: Any,
    chunker: Chunker,
    *,
    id: str = "id",
    text: str = "text",
    metadata: Sequence[str] | None = None,
    on_error: OnRowError = "row",
    repeated: Collection[str] = (),
) -> Iterator[Any]:
    """Yield record batches of chunks, in the order of the documents; every engine that speaks Arrow can call it.

    The chunks are those of `Chunker.chunk_many`, ids included, whatever the batches are, because each document must have an
    id of its own: ids of chunks depend on it. A blank document has no chunks, and no row.

    Parameters
    ----------
    batches : `pyarrow.RecordBatch` objects, or a `pyarrow.Table`; read as they are needed.
    chunker : any but ``graphrag``, which chunks a corpus, and not with ``vectors="units"``.
    id, text : names of string columns.
    metadata : names of columns for the documents' metadata; None takes all others. Dates become ISO 8601 text.
    on_error : how to handle a document that fails, or a row without an id of its own or without a text: "row" reports it as
        a row with ``error``; "raise" raises.
    repeated : ids that other batches have, too. Without it, of equal ids in one call only the first is chunked.

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
    """
    pa = import_extra("pyarrow", "arrow")
    require(not chunker.is_corpus_level, "chunk_batches chunks single documents, not a corpus", chunker)
    require(chunker.vectors != "units", "vectors must not be 'units', whose rows have no column", chunker.vectors)
    require(on_error in ("row", "raise"), "on_error must be 'row' or 'raise'", on_error)
    rows = _chunk_rows(_documents(batches, id, text, metadata, set(repeated)), chunker, on_error)
    while part := list(islice(rows, _ROWS)):
        yield pa.RecordBatch.from_pylist(part, schema=chunk_schema())


def repeated_ids(batches: Iterable[Any], column: str) -> frozenset[str]:
    """Return the ids that occur more than once in a column of batches or tables."""
    seen, repeated = set[str](), set[str]()
    for batch in batches:
        for name in batch.column(column).to_pylist():
            (repeated if name in seen else seen).add(name)
    return frozenset(repeated - {None, ""})


def _documents(
    batches: Any, id_column: str, text_column: str, metadata: Sequence[str] | None, used: set[str]
) -> Iterator[Document | _Refused]:
    for batch in batches.to_batches() if hasattr(batches, "to_batches") else batches:
        names = batch.schema.names
        others = (
            [name for name in names if name not in (id_column, text_column)] if metadata is None else list(metadata)
        )
        for name in (id_column, text_column, *others):
            require(name in names, f"there must be a column {name!r}", names)
        for name in (id_column, text_column):
            require(
                _is_text(batch.schema.field(name).type), f"column {name!r} must be text", batch.schema.field(name).type
            )
        columns = [batch.column(name).to_pylist() for name in (id_column, text_column, *others)]
        for source, text, *values in zip(*columns, strict=True):
            if not source:
                yield _Refused(source, f"{id_column!r} must be a string that is not empty, got {source!r}")
            elif source in used:
                yield _Refused(source, f"{id_column!r} must be unique, got {source!r} again")
            elif text is None:
                yield _Refused(source, f"{text_column!r} must be a string, got None")
            else:
                yield _document(source, text, dict(zip(others, values, strict=True)))
            used.add(source)


def _document(source: str, text: str, metadata: dict[str, Any]) -> Document | _Refused:
    try:
        return Document(text, source, metadata=json.loads(json.dumps(metadata, default=_date)))
    except TypeError as error:
        return _Refused(source, f"metadata must be JSON-able: {error}")


def _date(value: Any) -> str:
    if isinstance(value, date | time):
        return value.isoformat()
    msg = f"not of type {type(value).__name__}"
    raise TypeError(msg)


def _is_text(kind: Any) -> bool:
    types = import_extra("pyarrow", "arrow").types
    return bool(types.is_string(kind) or types.is_large_string(kind) or types.is_string_view(kind))


def _chunk_rows(
    documents: Iterable[Document | _Refused], chunker: Chunker, on_error: OnRowError
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
            yield error_row(item.id, item.reason)

    def collect(failure: Failure) -> None:
        errors[failure.index] = failure.error

    results = chunker.stream(read(), on_error=collect if on_error == "row" else "raise")
    for index, chunks in enumerate(results):
        yield from refused()
        document = pending.popleft()
        if error := errors.pop(index, None):
            yield error_row(document.id, f"{type(error).__name__}: {first_line(error)}")
        else:
            yield from (_row(document.id, chunk, chunks) for chunk in chunks)
    yield from refused()


def error_row(document_id: str | None, reason: str) -> dict[str, Any]:
    """Return the row of a document that failed."""
    return {"document_id": document_id, "error": reason}


def _row(document_id: str | None, chunk: Chunk, chunks: Sequence[Chunk]) -> dict[str, Any]:
    return {
        "document_id": document_id,
        "chunk_id": chunk.id,
        "parent_id": None if chunk.parent is None else chunks[chunk.parent].id,
        "index": chunk.index,
        "level": chunk.level,
        "text": chunk.text,
        "context": chunk.context,
        "spans": _spans(chunk.spans),
        "source_spans": _spans(chunk.source_spans),
        "tokens": chunk.tokens,
        "metadata": json.dumps(chunk.metadata, sort_keys=True, ensure_ascii=False),
        "vector": chunk.vector,
    }


def _spans(spans: Iterable[Span]) -> list[dict[str, int]]:
    return [{"start": start, "end": end} for start, end in spans]
