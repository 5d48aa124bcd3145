"""Real engines on this machine: Ray Data, LlamaIndex on Ray, Spark."""

import os
import shutil
import sys

import pyarrow as pa
import pytest

from advchunk import Document, RecursiveChunker
from advchunk.tables import chunk_batches, chunk_dataset, chunk_schema, chunk_shards
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
    return [
        chunk.id
        for chunks in RecursiveChunker(**params).chunk_many(map(Document, TEXTS, TABLE["id"].to_pylist()))
        for chunk in chunks
    ]


@pytest.mark.filterwarnings("ignore")  # Ray's own
def test_ray(ray, tmp_path):
    """One test, since the cluster starts slowly."""
    dataset = ray.data.from_arrow(TABLE).repartition(3)
    rows = chunk_dataset(dataset, "recursive", max_tokens=4, batch_size=3).take_all()
    assert [row["chunk_id"] for row in rows] == one_process(max_tokens=4)

    poisoned = TABLE.set_column(0, "id", [["d0", "d0", *(f"d{i}" for i in range(2, 8))]]).set_column(
        1, "text", [[*TEXTS[:5], "POISON", *TEXTS[6:]]]
    )
    rows = chunk_dataset(
        ray.data.from_arrow(poisoned), "recursive", batch_size=4, max_deaths=1, tokenizer=die_at_poison
    ).take_all()
    assert [row["error"] for row in rows] == [
        *["'id' must be unique, got 'd0' again"] * 2, None, None, None, "its worker died 2 times", None, None
    ]  # fmt: skip

    pa.parquet.write_table(TABLE, tmp_path / "in.parquet", row_group_size=3)
    counts = chunk_shards(tmp_path / "in.parquet", tmp_path / "out", "recursive", engine="ray", max_tokens=4)
    result = pa.parquet.read_table(tmp_path / "out")
    assert counts == (3, 0, len(result), 0)
    assert result["chunk_id"].to_pylist() == one_process(max_tokens=4)


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
