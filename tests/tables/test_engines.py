"""Real engines on this machine: Ray Data, LlamaIndex on Ray, Spark."""

import os
import shutil
import sys

import pyarrow as pa
import pytest

from advchunk import Document, RecursiveChunker
from advchunk.tables import chunk_batches, chunk_dataset, chunk_schema
from hazards import die_at_poison

TEXTS = [f"Text {i}. More of it." for i in range(8)]
TABLE = pa.table({"id": [f"d{i}" for i in range(8)], "text": TEXTS})


@pytest.fixture(scope="module")
def ray():
    import ray
    import ray.data

    os.environ["RAY_USAGE_STATS_ENABLED"] = "0"
    os.environ["PYTHONPATH"] = os.pathsep.join(filter(None, sys.path))
    ray.init(num_cpus=2, include_dashboard=False, object_store_memory=100_000_000, log_to_driver=False)
    context = ray.data.DataContext.get_current()
    context.enable_progress_bars = False
    context.execution_options.preserve_order = True
    yield ray
    ray.shutdown()


def one_process(**params):
    results = RecursiveChunker(**params).chunk_many(map(Document, TEXTS, TABLE["id"].to_pylist()))
    return [chunk.id for chunks in results for chunk in chunks]


@pytest.mark.filterwarnings("ignore")  # Ray's own
def test_ray(ray):
    """One test, since the cluster starts slowly."""
    dataset = ray.data.from_arrow(TABLE).repartition(3)
    rows = chunk_dataset(dataset, "recursive", max_tokens=4, batch_size=3).take_all()
    assert [row["chunk_id"] for row in rows] == one_process(max_tokens=4)

    repeated = TABLE.set_column(0, "id", [["d0", *(f"d{i}" for i in range(1, 7)), "d0"]])
    rows = chunk_dataset(ray.data.from_arrow(repeated), "recursive", batch_size=4).take_all()
    error = "'id' must be unique, got 'd0' again"
    assert [row["error"] for row in rows] == [error, *[None] * 6, error]

    poisoned = ray.data.from_arrow(TABLE.set_column(1, "text", [["POISON", *TEXTS[1:]]]))
    with pytest.raises(ray.exceptions.RayError):
        chunk_dataset(poisoned, "recursive", tokenizer=die_at_poison).take_all()


@pytest.mark.usefixtures("ray")
@pytest.mark.filterwarnings("ignore")
def test_llamaindex_on_ray():
    from llama_index.core import Document as LlamaIndexDocument
    from llama_index.core.ingestion import IngestionPipeline
    from llama_index.ingestion.ray import RayIngestionPipeline, RayTransformComponent

    from llamaindex_advchunk import RecursiveNodeParser

    documents = [LlamaIndexDocument(text=text, id_=f"d{i}") for i, text in enumerate(TEXTS)]
    parser = RayTransformComponent(transform_class=RecursiveNodeParser, transform_kwargs={"max_tokens": 4})
    nodes = RayIngestionPipeline(transformations=[parser]).run(documents=documents)
    expected = IngestionPipeline(transformations=[RecursiveNodeParser(max_tokens=4)]).run(documents=documents)
    assert [(node.node_id, node.start_char_idx, node.relationships) for node in nodes] == [
        (node.node_id, node.start_char_idx, node.relationships) for node in expected
    ]


@pytest.mark.skipif(not shutil.which("java"), reason="Spark needs Java, which tools/install_programs.sh installs")
@pytest.mark.filterwarnings("ignore")  # pyspark's own
def test_spark(monkeypatch):
    from pyspark.sql import SparkSession
    from pyspark.sql.pandas.types import from_arrow_schema

    def chunk(batches):
        yield from chunk_batches(batches, RecursiveChunker(max_tokens=4))

    monkeypatch.setenv("PYSPARK_PYTHON", sys.executable)
    path = os.pathsep.join(filter(None, sys.path))
    settings = {
        "spark.driver.bindAddress": "127.0.0.1",
        "spark.driver.host": "127.0.0.1",
        "spark.ui.enabled": "false",
        "spark.driver.extraJavaOptions": "-XX:TieredStopAtLevel=1 -XX:+UseSerialGC",  # quick to start
        "spark.sql.adaptive.enabled": "false",
        "spark.executorEnv.PYTHONPATH": path,
        "spark.log.level": "ERROR",
    }
    builder = SparkSession.builder.master("local[2]")
    for name, value in settings.items():
        builder = builder.config(name, value)
    spark = builder.getOrCreate()
    try:
        frame = spark.createDataFrame(TABLE.to_pylist(), "id string, text string").repartition(2)
        rows = frame.mapInArrow(chunk, from_arrow_schema(chunk_schema())).collect()
    finally:
        spark.stop()
    assert sorted(row.chunk_id for row in rows) == sorted(one_process(max_tokens=4))
