"""What tests give to chunkers that are not tested as they come: models that they cannot do without, and verbatim text."""

from chats import Editor
from lm import Words

STAND_INS = {
    "perplexity": {"lm": Words()},
    "margin-sampling": {"lm": Words()},
    "biomedical-abstract": {"normalize": False, "include_context": False},
    "grobid-section": {"markup": "markdown"},
    "layout-aware": {"markup": "markdown", "split_tables": True, "hard_stops": "section"},
    "llm-chaptering": {"llm": Editor()},
}
