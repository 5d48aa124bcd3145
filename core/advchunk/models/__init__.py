"""Models and tokenizers: adapters with one interface for embedders, and one for counters."""
