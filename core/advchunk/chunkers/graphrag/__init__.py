"""GraphRAG: a corpus as a tree of communities of the entities that it mentions, with a summary of each."""
