"""`llamaindex_advchunk` under the name by which LlamaIndex's integrations are imported: `llama_index.node_parser.advchunk`."""

from llamaindex_advchunk import *  # noqa: F403
from llamaindex_advchunk import __all__  # noqa: F401
