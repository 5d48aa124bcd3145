"""`llamaindex_advchunk` under the name by which LlamaIndex's integrations are imported:
`llama_index.node_parser.advchunk`.
"""

from typing import Any

import llamaindex_advchunk


def __getattr__(name: str) -> Any:
    """Return a name of `llamaindex_advchunk`."""
    return getattr(llamaindex_advchunk, name)


def __dir__() -> list[str]:
    return dir(llamaindex_advchunk)
