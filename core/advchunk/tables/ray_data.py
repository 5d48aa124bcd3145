"""Chunk datasets of Ray Data."""

import hashlib
from collections.abc import Collection, Iterator, Sequence
from functools import partial
from typing import Any

from advchunk.chunkers.catalog import create
from advchunk.errors import import_extra, require
from advchunk.tables.batches import Columns, Refused, chunk_documents, chunk_schema, read_rows, repeated_ids
from advchunk.tables.deaths import Journal, ray_journal, survive

_BATCH = 64  # documents that a worker chunks together
_DEATHS = 3


def chunk_dataset(
    dataset: Any,
    method: str,
    *,
    id: str = "id",
    text: str = "text",
    metadata: Sequence[str] | None = None,
    concurrency: int | tuple[int, int] | None = None,
    num_cpus: float | None = None,
    num_gpus: float | None = None,
    batch_size: int = _BATCH,
    max_deaths: int = _DEATHS,
    check_ids: bool = True,
    **params: Any,
) -> Any:
    """Return a `ray.data.Dataset` of the chunks of a dataset of documents, as `chunk_batches` makes them.

    Each worker is an actor that creates the chunker, and loads its models, once. Rows are in the order of the documents
    only with ``ray.data.DataContext.get_current().execution_options.preserve_order``; their content, ids included, is that
    of one process. Ray sends statistics of use unless ``RAY_USAGE_STATS_ENABLED=0`` is set before ``ray.init``.

    Parameters
    ----------
    dataset : a `ray.data.Dataset` with a row for each document.
    method, **params : name and parameters of a chunker (`advchunk.create`). Name models instead of passing them.
    id, text, metadata : see `chunk_batches`.
    concurrency : workers, or their minimum and maximum; None allows as many as the cluster has CPUs.
    num_cpus : CPUs that a worker takes in Ray's account; None is .5, and 0 on a single CPU. With as many whole CPUs taken as
        there are, Ray can neither read nor write, and waits without an error.
    num_gpus : GPUs that a worker takes.
    batch_size : documents that a worker chunks together, >= 1. If a worker dies, its batch is done again.
    max_deaths : deaths of workers over one batch, >= 1, after which its documents are chunked one by one; one at which the
        worker dies again is reported as a row with ``error``.
    check_ids : read the ids first, into memory, to report equal ids wherever they are; False only reports those in one
        batch.

    Raises
    ------
    ConfigurationError : see `advchunk.create` and `chunk_batches`.
    MissingExtra : Ray is not installed.
    """
    ray = import_extra("ray", "ray")
    require(batch_size >= 1, "batch_size must be >= 1", batch_size)
    require(max_deaths >= 1, "max_deaths must be >= 1", max_deaths)
    create(method, **params)  # an invalid parameter is an error here and not on every worker
    cpus = int(ray.cluster_resources().get("CPU", 1))
    return dataset.map_batches(
        _Worker,
        fn_constructor_kwargs={
            "journal": ray_journal(),
            "repeated": repeated_ids(_ids(dataset, id)) if check_ids else (),
            "columns": Columns(id, text, metadata),
            "max_deaths": max_deaths,
            "method": method,
            "params": params,
        },
        batch_format="pyarrow",
        batch_size=batch_size,
        concurrency=concurrency or (1, cpus),
        num_cpus=num_cpus if num_cpus is not None else min(0.5, cpus - 1),
        num_gpus=num_gpus,
    )


def _ids(dataset: Any, column: str) -> Iterator[Any]:
    batches = dataset.select_columns([column]).iter_batches(batch_format="pyarrow", batch_size=None)
    return (name for batch in batches for name in batch.column(column).to_pylist())


class _Worker:
    """Chunks batches of documents."""

    def __init__(
        self,
        journal: Journal,
        repeated: Collection[str],
        columns: Columns,
        max_deaths: int,
        method: str,
        params: dict[str, Any],
    ) -> None:
        self._journal, self._repeated, self._columns, self._max_deaths = journal, repeated, columns, max_deaths
        self._chunk = partial(chunk_documents, chunker=create(method, **params))

    def __call__(self, rows: Any) -> Any:
        """Return the chunks of a table of documents: one table, since Ray counts on equal output if it calls again."""
        pa = import_extra("pyarrow", "arrow")
        documents = list(read_rows(rows, self._columns, set(self._repeated)))
        named = [(item.id, item.reason if isinstance(item, Refused) else item.text) for item in documents]
        key = hashlib.sha256(repr(named).encode("utf-8", "backslashreplace")).hexdigest()
        parts = survive(documents, self._chunk, self._journal, key, self._max_deaths)
        return pa.Table.from_batches(parts, schema=chunk_schema())
