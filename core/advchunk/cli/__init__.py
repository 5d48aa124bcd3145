"""The ``advchunk`` command line."""

from advchunk.registry import Registration, lazy_names

__getattr__, __dir__, __all__ = lazy_names(__name__, {
    ".group": "main",
})  # fmt: skip

REGISTRATIONS = (
    Registration(
        kind="command",
        name="ask",
        path="advchunk.cli.asking:ask_command",
        summary="find passages that answer a question",
    ),
    Registration(kind="command", name="chunk", path="advchunk.cli.chunking:chunk_command", summary="chunk files"),
    Registration(
        kind="command",
        name="index",
        path="advchunk.cli.indexing:index_command",
        summary="keep chunks of files in an index",
    ),
    Registration(kind="command", name="list", path="advchunk.cli.methods:list_command", summary="list the methods"),
    Registration(
        kind="command", name="describe", path="advchunk.cli.methods:describe_command", summary="document a method"
    ),
)
