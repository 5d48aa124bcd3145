"""Sentences, clauses, words and terms of a text."""
