"""The ``advchunk`` command line."""

from advchunk.registry import Registration, lazy_names

__getattr__, __dir__, __all__ = lazy_names(__name__, {
    ".group": "main",
})  # fmt: skip

REGISTRATIONS = tuple(
    Registration(kind="command", name=name, path=f"advchunk.cli.{module}:{name}_command", summary=summary)
    for name, module, summary in (
        ("ask", "asking", "find passages that answer a question"),
        ("chunk", "chunking", "chunk files"),
        ("index", "indexing", "keep chunks of files in an index"),
        ("list", "methods", "list the methods"),
        ("describe", "methods", "document a method"),
    )
)
