"""Text as it is read: sentences, words, clauses, terms."""
