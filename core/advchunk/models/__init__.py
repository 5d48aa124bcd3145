"""Models and tokenizers: what embeds and what counts, each behind one face."""
