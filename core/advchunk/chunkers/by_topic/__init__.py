"""Chunkers that cut where the meaning changes: by embeddings, or by a causal language model."""

from advchunk.registry import Registration

REGISTRATIONS = (
    Registration(
        kind="chunker",
        name="semantic-threshold",
        path="advchunk.chunkers.by_topic.threshold:SemanticThresholdChunker",
        summary="Cut where the distance between neighboring sentences is high for the document.",
        source="Kamradt 2024; LangChain's SemanticChunker, LlamaIndex's SemanticSplitter",
    ),
    Registration(
        kind="chunker",
        name="mst-semantic",
        path="advchunk.chunkers.by_topic.mst:MSTSemanticChunker",
        summary="Group paragraphs by a minimum spanning tree over semantic distance, position and length.",
        source="MST Semantic Chunker v2",
    ),
    Registration(
        kind="chunker",
        name="universal-semantic",
        path="advchunk.chunkers.by_topic.universal:UniversalSemanticChunker",
        summary="End a chunk at a change of topic once it has enough words, or when it is full.",
        source="Alexandria universal semantic chunking",
    ),
    Registration(
        kind="chunker",
        name="optimal-semantic",
        path="advchunk.chunkers.by_topic.optimal:OptimalSemanticChunker",
        summary="Find the exact segmentation whose topics best explain which sentences are similar and which words "
        "they share.",
        source="ours: exact dynamic programming, evidence estimated from the document",
    ),
    Registration(
        kind="chunker",
        name="hierarchical",
        path="advchunk.chunkers.by_topic.hierarchical:HierarchicalChunker",
        summary="Divide a document into sections, sections into chunks, and chunks into sentences; or into any "
        "other levels.",
        source="ours: any chunkers, coarse to fine; after LlamaIndex's HierarchicalNodeParser",
    ),
    Registration(
        kind="chunker",
        name="perplexity",
        path="advchunk.chunkers.by_topic.perplexity:PerplexityChunker",
        summary="Cut after each minimum of surprise, then join meta-chunks up to max_tokens.",
        source="Zhao et al. 2024 (Meta-Chunking, PPL chunking)",
        extra="transformers",
        needs="lm",
    ),
    Registration(
        kind="chunker",
        name="margin-sampling",
        path="advchunk.chunkers.by_topic.margin:MarginSamplingChunker",
        summary="Cut where a language model would rather split than keep, then join meta-chunks up to max_tokens.",
        source="Zhao et al. 2024 (Meta-Chunking, margin sampling)",
        extra="transformers",
        needs="lm",
    ),
)
