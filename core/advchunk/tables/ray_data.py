"""Chunk datasets of Ray Data."""

from collections.abc import Mapping, Sequence
from typing import Any

from advchunk.chunkers.catalog import create
from advchunk.errors import import_extra, require
from advchunk.tables.batches import chunk_batches, chunk_schema, repeated_ids

_RETRIES = 3  # of a batch whose worker died; Ray's own default is to try for ever


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
    batch_size: int = 64,
    check_ids: bool = True,
    **params: Any,
) -> Any:
    """Return a `ray.data.Dataset` of the chunks of a dataset of documents, as `chunk_batches` makes them.

    Each worker is an actor that creates the chunker, and loads its models, once. Rows are in the order of the documents
    only with ``ray.data.DataContext.get_current().execution_options.preserve_order``; their content, ids included, is
    that of one process. If a worker dies, Ray chunks its batch again, up to three times; then the run fails with Ray's
    error. Ray sends usage statistics unless ``RAY_USAGE_STATS_ENABLED=0`` is set before ``ray.init``.

    Parameters
    ----------
    dataset : a `ray.data.Dataset` with a row for each document.
    method, **params : name and parameters of a chunker (`advchunk.create`). Name models instead of passing them.
    id, text, metadata : see `chunk_batches`.
    concurrency : workers, or their minimum and maximum; None allows as many as the cluster has CPUs.
    num_cpus : CPUs that a worker takes in Ray's account; None is .5, and 0 on a single CPU. With as many whole CPUs
        taken as there are, Ray can neither read nor write, and waits without an error.
    num_gpus : GPUs that a worker takes.
    batch_size : documents that a worker chunks together, >= 1.
    check_ids : read the ids first, into memory, to report equal ids anywhere; False reports those in one batch only.

    Raises
    ------
    ConfigurationError : see `advchunk.create` and `chunk_batches`.
    MissingExtra : Ray is not installed.
    """
    ray = import_extra("ray", "ray")
    require(batch_size >= 1, "batch_size must be >= 1", batch_size)
    create(method, **params)  # an invalid parameter is an error here and not on every worker
    options: dict[str, Any] = {"id": id, "text": text, "metadata": metadata}
    if check_ids:
        ids = dataset.select_columns([id]).iter_batches(batch_format="pyarrow", batch_size=None)
        options["repeated"] = repeated_ids(name for batch in ids for name in batch.column(id).to_pylist())
    cpus = int(ray.cluster_resources().get("CPU", 1))
    return dataset.map_batches(
        _Worker,
        fn_constructor_args=(method, params, options),
        batch_format="pyarrow",
        batch_size=batch_size,
        concurrency=concurrency or (1, cpus),
        num_cpus=num_cpus if num_cpus is not None else min(0.5, cpus - 1),
        num_gpus=num_gpus,
        max_task_retries=_RETRIES,
    )


class _Worker:
    """Chunks batches of documents."""

    def __init__(self, method: str, params: Mapping[str, Any], options: Mapping[str, Any]) -> None:
        self._chunker, self._options = create(method, **params), options

    def __call__(self, documents: Any) -> Any:
        """Return the chunks of a table of documents: one table, since Ray counts on equal output if it calls again."""
        pa = import_extra("pyarrow", "arrow")
        return pa.Table.from_batches(chunk_batches(documents, self._chunker, **self._options), schema=chunk_schema())
