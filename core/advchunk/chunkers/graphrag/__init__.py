"""GraphRAG: a corpus under communities of the entities that its chunks mention, with summaries."""

from advchunk.registry import Registration

REGISTRATIONS = (
    Registration(
        kind="chunker",
        name="graphrag",
        path="advchunk.chunkers.graphrag.chunker:GraphRAGChunker",
        summary="Arrange the chunks of a corpus under communities of the entities that they mention, with summaries.",
        source="Edge et al. 2024 (GraphRAG), Leiden (Traag et al. 2019); ours: extraction by rules, tree",
        extra="graphrag",
        experimental=True,
    ),
)
