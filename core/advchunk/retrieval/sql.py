"""Chunks in a table of a relational database, around hits."""

from __future__ import annotations

import asyncio
import json
import re
import sys
from collections.abc import Iterator, Mapping, Sequence
from contextlib import closing, contextmanager
from dataclasses import dataclass
from typing import Any, Literal, TypeAlias, get_args

from advchunk.errors import require
from advchunk.records import Chunk, Span
from advchunk.retrieval.passages import Hit
from advchunk.retrieval.surroundings import Neighborhood, ranges_around

ParamStyle: TypeAlias = Literal["qmark", "numeric", "named", "format", "pyformat"]

_MOST_RANGES = 300  # of a query: databases limit the depth of expressions, and the number of parameters
_NAME = re.compile(r"[^\W\d]\w*")
_MARKS: dict[ParamStyle, str] = {"qmark": "?", "numeric": ":{}", "named": ":p{}", "format": "%s", "pyformat": "%s"}


@dataclass(frozen=True, kw_only=True)
class SqlTable:
    """A table of chunks, a row each, from which the chunks around hits are read with one query.

    Works with any connection of DB-API 2, such as those of sqlite3 and psycopg. Values are bound, and names are quoted. An index
    on the columns of document and start makes it fast at any size::

        table = SqlTable(connect=lambda: sqlite3.connect("chunks.db"), table="chunks", document="source")

    Parameters
    ----------
    connect : returns a new connection, which is closed after each query, from any thread; or a connection, which stays open,
        and whose transactions are the user's.
    table : its name, preceded by that of its schema and a "." if need be.
    document, start, end, text, id : columns: the name of a chunk's document, the offsets of its text there, the text, and its
        id, None if there is none. A row whose text is not as long as its offsets say is not used.
    metadata : column of the chunk's metadata, as JSON, from which citations have headings, lines and pages; None if there is none.
    paramstyle : of parameters; None is that of the connection's module.
    quote : the character around names, "`" for MySQL.

    Raises
    ------
    ConfigurationError : a name is not one of letters, digits and underscores.
    """

    connect: Any
    table: str
    document: str = "document"
    start: str = "start"
    end: str = "end"
    text: str = "text"
    id: str | None = "id"
    metadata: str | None = None
    paramstyle: ParamStyle | None = None
    quote: str = '"'

    def __post_init__(self) -> None:
        can_connect = callable(self.connect) or hasattr(self.connect, "cursor")
        require(can_connect, "connect must be a connection of DB-API 2, or a function that returns one", self.connect)
        columns = {"document": self.document, "start": self.start, "end": self.end, "text": self.text}
        optional = {"id": self.id, "metadata": self.metadata}
        for name, value in {"table": self.table, **columns, **optional}.items():
            parts = str(value).split(".") if name == "table" else [value]
            valid = all(isinstance(part, str) and _NAME.fullmatch(part) for part in parts)
            rule = f"{name} must be a name of letters, digits and underscores"
            require(valid or (name in optional and value is None), rule, value)
        styles = get_args(ParamStyle)
        require(self.paramstyle in (None, *styles), f"paramstyle must be one of {styles} or None", self.paramstyle)
        require(self.quote in ('"', "`"), "quote must be a double quote or a backtick", self.quote)

    @property
    def name(self) -> str:
        """The name of the table, for messages."""
        return f"the table {self.table!r}"

    def read(self, hits: Sequence[Hit], reach: float) -> Neighborhood:
        """Return the chunks that are within ``reach`` characters of hits, as far as these have places."""
        ranges = ranges_around(((hit.document, hit.chunk.spans) for hit in hits if hit.chunk.spans), reach)
        if not ranges:
            return Neighborhood()
        chunks = list[Hit]()  # one that is in the ranges of two queries is there twice, which does no harm
        with self._connected() as connection:
            for first in range(0, len(ranges), _MOST_RANGES):
                part = ranges[first : first + _MOST_RANGES]
                values = [value for document, span in part for value in (document, span.end, span.start)]
                query, parameters = self._query(self._style(connection), values)
                with closing(connection.cursor()) as cursor:
                    cursor.execute(query, parameters)
                    chunks += map(_to_hit, cursor.fetchall())
        return Neighborhood(chunks)

    async def aread(self, hits: Sequence[Hit], reach: float) -> Neighborhood:
        """Await `read`, in another thread; a connection that stays open is used in the calling thread, as some must be."""
        if hasattr(self.connect, "cursor"):
            return self.read(hits, reach)
        return await asyncio.to_thread(self.read, hits, reach)

    @contextmanager
    def _connected(self) -> Iterator[Any]:
        if hasattr(self.connect, "cursor"):  # a connection, which may be callable, too
            yield self.connect
        else:
            with closing(self.connect()) as connection:
                yield connection

    def _style(self, connection: Any) -> ParamStyle:
        """Return the style of parameters, which the module of a connection states."""
        for cls in type(connection).__mro__:
            style = getattr(sys.modules.get(cls.__module__.partition(".")[0]), "paramstyle", None)
            if self.paramstyle or style:
                return self.paramstyle or style  # type: ignore[return-value]  # PEP 249
        require(False, "paramstyle must be given for a connection whose module states none", connection)
        return "qmark"

    def _query(self, style: ParamStyle, values: Sequence[Any]) -> tuple[str, Any]:
        """Return a query for three values a range, and its parameters."""
        marks = [_MARKS[style].format(i) for i in range(1, len(values) + 1)]
        document, start, end, text = map(self._quoted, (self.document, self.start, self.end, self.text))
        others = ["NULL" if name is None else self._quoted(name) for name in (self.id, self.metadata)]
        columns = ", ".join([document, start, end, text, f"{others[0]} AS a", f"{others[1]} AS b"])
        places = " OR ".join(
            f"({document} = {marks[i]} AND {start} < {marks[i + 1]} AND {end} > {marks[i + 2]})"
            for i in range(0, len(marks), 3)
        )
        table = ".".join(map(self._quoted, self.table.split(".")))
        query = f"SELECT {columns} FROM {table} WHERE {places}"  # names are checked, and values bound
        return query, {f"p{i}": value for i, value in enumerate(values, 1)} if style == "named" else tuple(values)

    def _quoted(self, name: str) -> str:
        return f"{self.quote}{name}{self.quote}"


def _to_hit(row: Any) -> Hit:
    document, start, end, text, own_id, metadata = row.values() if isinstance(row, Mapping) else row
    values = json.loads(metadata) if isinstance(metadata, (str, bytes)) else metadata or {}
    chunk = Chunk(text, (Span(start, end),), 0, id="" if own_id is None else str(own_id), metadata=values)
    return Hit(chunk, document, 0.0)
