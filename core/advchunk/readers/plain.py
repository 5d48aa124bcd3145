"""Read plain text, in which nothing is markup."""

from advchunk.records import Block


def blocks(text: str) -> tuple[Block, ...]:  # noqa: ARG001
    """Return no blocks: all characters are prose."""
    return ()
