"""Chapters by a chat model: the chunker, the parsing of answers, the prompt."""
