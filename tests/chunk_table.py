"""A table of chunks in a database, as the guide to retrieval shows it."""

import json
from contextlib import closing

from advchunk import Chunk, Span
from advchunk.retrieval import Hit, Neighborhood

COLUMNS = 'document TEXT, "start" INTEGER, "end" INTEGER, "text" TEXT, id TEXT, metadata TEXT'
QUERY = (
    'SELECT document, "start", "end", "text", id, metadata FROM chunks WHERE document = ? AND "start" < ? AND "end" > ?'
)


class ChunkTable:
    """The chunks around hits, from a table.

    ``connect`` returns a connection that is closed after a question; ``mark`` is how its driver writes a parameter.
    """

    name = "the table 'chunks'"

    def __init__(self, connect, mark="?"):
        self.connect, self.mark = connect, mark

    def read(self, hits, reach):
        with closing(self.connect()) as connection:
            rows = [row for hit in hits if hit.chunk.spans for row in self.rows_around(connection, hit, reach)]
        return Neighborhood([self.to_hit(*row) for row in rows])

    def rows_around(self, connection, hit, reach):
        cursor = connection.cursor()
        values = (hit.document, hit.chunk.end + reach, hit.chunk.start - reach)
        cursor.execute(QUERY.replace("?", self.mark), values)
        return cursor.fetchall()

    def to_hit(self, document, start, end, text, own_id, metadata):
        chunk = Chunk(text, (Span(start, end),), 0, id=own_id or "", metadata=json.loads(metadata or "{}"))
        return Hit(chunk, document, 0.0)


def fill(connection, rows, mark="?"):
    """Make the table of rows as `COLUMNS` has them."""
    cursor = connection.cursor()
    cursor.execute(f"CREATE TABLE chunks ({COLUMNS})")
    cursor.executemany(f"INSERT INTO chunks VALUES ({', '.join([mark] * 6)})", list(rows))
    connection.commit()
