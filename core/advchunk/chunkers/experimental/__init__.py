"""Chunkers whose results may change in any release, which must be allowed (`chunkers.gate`)."""

from advchunk.registry import Registration, lazy_names

__getattr__, __dir__, __all__ = lazy_names(__name__, {
    ".edus": "Edus",
    ".topics": "TopicModel",
})  # fmt: skip

REGISTRATIONS = (
    Registration(
        kind="chunker",
        name="texttiling",
        path="advchunk.chunkers.experimental.texttiling:TextTilingChunker",
        summary="Cut at deep valleys of lexical cohesion.",
        source="Hearst 1997, over sentences",
        experimental=True,
    ),
    Registration(
        kind="chunker",
        name="c99",
        path="advchunk.chunkers.experimental.c99:C99Chunker",
        summary="Split the text recursively where the density of locally ranked word similarity grows most.",
        source="Choi 2000",
        experimental=True,
    ),
    Registration(
        kind="chunker",
        name="bayesseg",
        path="advchunk.chunkers.experimental.bayesseg:BayesSegChunker",
        summary="Find the exact segmentation whose segments most likely each have a word distribution of their own.",
        source="Eisenstein & Barzilay 2008; Utiyama & Isahara 2001",
        experimental=True,
    ),
    Registration(
        kind="chunker",
        name="lda-topic",
        path="advchunk.chunkers.experimental.lda:LDATopicChunker",
        summary="Cut where the topic distributions before and after a gap differ most.",
        source="Riedl & Biemann 2012 (TopicTiling); Blei et al. 2003",
        extra="lda",
        experimental=True,
    ),
    Registration(
        kind="chunker",
        name="semantic-cluster",
        path="advchunk.chunkers.experimental.clusters:SemanticClusterChunker",
        summary="Cluster sentences by their vectors, and cut where the cluster changes.",
        source="Ward 1963, also of neighbors only; HDBSCAN (Campello et al. 2013)",
        extra="cluster",
        experimental=True,
    ),
    Registration(
        kind="chunker",
        name="graph-partition",
        path="advchunk.chunkers.experimental.partition:GraphPartitionChunker",
        summary="Find communities of similar sentences, and cut where the community changes.",
        source="Louvain (Blondel et al. 2008), Leiden (Traag et al. 2019)",
        extra="graph",
        experimental=True,
    ),
    Registration(
        kind="chunker",
        name="llm-chaptering",
        path="advchunk.chunkers.experimental.chaptering.chunker:LLMChapteringChunker",
        summary="Cut where a chat model begins a section, if the text is less coherent there.",
        source="ours: numbered lines, answers in headings; after Duarte et al. 2024 (LumberChunker)",
        extra="llm",
        experimental=True,
        needs="llm",
    ),
    Registration(
        kind="chunker",
        name="discourse",
        path="advchunk.chunkers.experimental.discourse:DiscourseSegmenterChunker",
        summary="Start a segment at every strong connective, and between them group clauses to a target so that "
        "they cohere.",
        source="ours: after Marcu 2000; connectives after Prasad et al. 2008",
        experimental=True,
    ),
    Registration(
        kind="splitter",
        name="edus",
        path="advchunk.chunkers.experimental.edus:Edus",
        summary="elementary discourse units: clauses",
    ),
)
